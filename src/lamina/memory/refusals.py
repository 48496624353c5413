"""Note refusals in the trail: who tried what without permission, with an open handle or before.

A refusal stays a refusal: if the trail cannot be written, nothing changes for the caller.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from lamina.errors import Forbidden, LaminaError
from lamina.home import settings as config
from lamina.home.folder import AGENT_NAME, Home, has_bytes, refuse_untrusted
from lamina.memory import spans
from lamina.memory.misuse import explaining
from lamina.model.clock import is_id
from lamina.store.core.store import FILE_NAME, READS_NAME
from lamina.store.tables.reads import ReadLog
from lamina.store.tables.refusals import MOST_RECORDS, Refusal

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

Handle = TypeVar("Handle", bound=type)
NOBODY = "unknown"  # a caller with no token, or one that opens nothing

log = logging.getLogger("lamina")


def recorded(handle: Handle) -> Handle:
    """Make every verb of a handle note its refusals in the trail.

    Calls with wrong arguments are explained, and each call is a span if spans are enabled.
    """
    for name in dir(handle):
        verb = getattr(handle, name)
        if not name.startswith("_") and callable(verb) and not hasattr(verb, "__wrapped__"):
            setattr(handle, name, _recorded(explaining(verb)))
    return handle


def _recorded(verb: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(verb)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        scope: Scope = self._scope
        try:
            if scope.tracer is None:
                return verb(self, *given, **named)
            return spans.traced(scope.tracer, scope.actor.role, verb, self, *given, **named)
        except Forbidden as error:
            if not error.is_noted:  # otherwise a verb called by this one has done so
                error.is_noted = True
                scope.refused(verb.__name__, error.lacks, _texts((*given, *named.values())))
            raise

    return call


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Yield the texts among the arguments of a verb, which may be ids of records."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (part for part in value[:MOST_RECORDS] if isinstance(part, str))


def visible(scope: Scope, texts: Iterable[str]) -> tuple[str, ...]:
    """Select the ids of records that this scope may see. The trail gets nothing else of a call."""
    ids = [text for text in texts if is_id(text)][:MOST_RECORDS]
    try:
        return tuple(record_id for record_id in ids if scope.seen(record_id) is not None)
    except LaminaError:  # the store is unavailable, which does not affect the refusal
        return ()


def leave(trail: ReadLog, refusal: Refusal, *, wait: bool = True) -> None:
    """Note a refusal in a trail. If it cannot be written, this is only logged."""
    try:
        trail.refuse(refusal, wait=wait)
    except LaminaError as error:
        log.warning("a refusal is not in the trail: %s", error.message)
    except Exception:  # whatever happens here, the caller is still refused
        log.exception("a refusal is not in the trail: %s", refusal.verb)


class Trails:
    """The trails of the agents of a home, for callers that are refused before a handle is open."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._open: dict[str, ReadLog] = {}

    def leave(
        self, agent: str, refusal: Refusal, *, wait: bool = False, is_logged: bool = False
    ) -> None:
        """Note a refusal in an agent's trail, if the agent has a memory here.

        Otherwise it goes to the home's log of violations, unless it is there already.
        """
        try:
            trail = self._trail(agent)
            if trail is None and is_logged:
                return
            if trail is None:
                attempt = f"{refusal.verb} without {refusal.lacks}"
                self._home.log_violation(refusal.at, refusal.actor, attempt, agent)
            else:
                leave(trail, refusal, wait=wait)
        except LaminaError as error:
            log.warning("a refusal is not in the trail: %s", error.message)

    def close(self) -> None:
        """Write the counts, and close every file."""
        for trail in self._open.values():
            try:
                trail.close()
            except LaminaError as error:
                log.warning("a refusal is not in the trail: %s", error.message)

    def _trail(self, agent: str) -> ReadLog | None:
        if not AGENT_NAME.fullmatch(agent):
            return None
        if agent not in self._open:
            folder = self._home.agent_folder(agent)
            values = config.load(self._home.path).placed(agent)
            if not values["store.url"] and not has_bytes(folder / FILE_NAME):
                return None  # a trail without a store would look as if the store had been lost
            for step in (self._home.path, folder.parent, folder):
                refuse_untrusted(step)
            patience = values["store.busy_timeout_ms"]
            self._open[agent] = ReadLog(folder / READS_NAME, agent, patience, strict=False)
        return self._open[agent]


def leave_once(home: Home, agent: str, refusal: Refusal, *, is_logged: bool = False) -> None:
    """Note a single refusal, durably, without an open handle."""
    trails = Trails(home)
    trails.leave(agent, refusal, wait=True, is_logged=is_logged)
    trails.close()
