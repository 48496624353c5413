"""What one invocation of the command line knows: its options, its handle, and how to show things."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from lamina.errors import InvalidInput, LaminaError, NotFound, Refused
from lamina.failsafe.outage import Outage
from lamina.failsafe.spool import Spool, spool
from lamina.home import operator_key
from lamina.home.folder import AGENT_NAME, Home
from lamina.home.settings import load
from lamina.memory.agent import Memory
from lamina.memory.opening import (
    agent_label,
    before_restore,
    begin_anew,
    chosen_agent,
    connect,
    home_path,
    restore,
)
from lamina.memory.operator import Operator
from lamina.memory.shared import Guest
from lamina.model.clock import is_part, system_clock
from lamina.model.record import Actor, Role
from lamina.surfaces.cli import output
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.store.upkeep.restore import Outlook

Function = TypeVar("Function", bound=Callable[..., Any])
EXIT_FAILSAFE = 5
ELLIPSIS = "…."
# Commands that only look: they make no memory for an agent whose name is misspelt.
LOOKING = frozenset(
    (
        "list",
        "inspect",
        "search",
        "context",
        "status",
        "facts",
        "timeline",
        "pending",
        "export",
        "backup",
        "reindex",
        "index",
        "erasures",
        "grants",
        "runs list",
        "audit log",
        "audit verify",
        "audit head",
        "review list",
        "archive list",
        "archive search",
        "profile show",
        "project show",
        "world list",
        "world show",
        "mirror status",
        "mirror verify",
    )
)
NAMED = 10  # of the agents of a home


class Session:
    """Options of the program, and the handle that its command works with."""

    def __init__(self, home: Path | None, agent: str | None, user: str | None, json: bool) -> None:
        self.json = json
        self.tells_outage = False  # whether the answer itself says that the store is away
        self._home = home
        self._agent = agent
        self._user = user
        self._memory: Memory | None = None
        self._is_new = False
        self._key: str | None = os.environ.get(operator_key.VARIABLE) or None

    @property
    def home(self) -> Home:
        return Home(home_path(self._home))

    @property
    def agent(self) -> str:
        return chosen_agent(self._agent)

    def memory(self, *, replay: bool = True) -> Memory:
        """The handle, opened when a command first needs it, with the authority of whoever runs the program."""
        if self._memory is None:
            self._check_bounds()
            self._is_new = self.agent not in self.home.agents()
            self._refuse_unknown()
            given = (self._role(), self._agent, self._user, self._home)
            self._memory = connect(*given, surface="cli", key=self._key, replay=replay)
        return self._memory

    def spool(self) -> Spool:
        """The fail-safe of the agent, as it is: nothing is opened or replayed."""
        self._check_bounds()
        return spool(self.home.agent_folder(self.agent), load(self.home.path)["preset"])

    def agent_handle(self, surface: str) -> Memory:
        """A handle of its own with an agent's authority and no more, whoever has started the program."""
        self._check_bounds()
        return connect(Role.AGENT, self._agent, self._user, self._home, surface=surface)

    def viewer(self, shared_by: str | None) -> Memory | Guest:
        """What a command looks at: this agent's own memory, or what another one shares with it."""
        return self.memory() if shared_by is None else self.memory().shared(shared_by)

    def full_id(self, given: str, shared_by: str | None = None) -> str:
        """The id that was typed, or whose beginning or end was: in any case, and with an ellipsis before it as in tables."""
        return self.viewer(shared_by).full_id(given.lower().lstrip(ELLIPSIS))

    def evidence(self, given: Sequence[str]) -> list[str]:
        """References as they were typed, with ids in full; what is no part of an id stays as it is."""
        return [
            self.full_id(one) if is_part(one.lower().lstrip(ELLIPSIS)) else one for one in given
        ]

    def _role(self) -> Role:
        """Whoever has no key where operators need one may do what an agent may."""
        locked = operator_key.is_set(self.home.path) and self._key is None
        return Role.AGENT if locked else role()

    def scheduler(self) -> Memory:
        """A handle for the jobs: they concern all users, and run with the authority of the system."""
        from lamina.memory.jobs import ACTOR

        self._check_bounds()
        return connect(
            Role.SYSTEM,
            self._agent,
            None,
            self._home,
            actor=ACTOR.name,
            surface=ACTOR.surface,
            scoped=False,
        )

    def _check_bounds(self) -> None:
        """Refuse any other agent or user where the environment says who the agent is and serves."""
        if role() is not Role.AGENT:
            return
        actor = Actor(Role.AGENT, agent_label(chosen_agent()), "cli")
        for what, asked in (("agent", self.agent), ("user", self._user)):
            own = os.environ.get(f"LAMINA_{what.upper()}")
            if own and asked not in (None, own):
                attempt = f"open another {what}'s memory"
                self.home.log_violation(system_clock(), actor, attempt, asked)
                raise NotFound(f"there is no {what} {shown(asked)} here")

    def _refuse_unknown(self) -> None:
        """A person who only looks at an agent that is not here has misspelt its name: nothing is made for that."""
        if (
            not self._is_new
            or not _only_looks()
            or role() is Role.AGENT
            or not AGENT_NAME.fullmatch(self.agent)
        ):
            return
        names = [*self.home.agents()]
        if (
            not names or load(self.home.path)["store.url"]
        ):  # on a server are agents that have no folder here
            return
        more = [*names[:NAMED], *(["…"] if len(names) > NAMED else [])]
        raise NotFound(
            f"there is no agent {self.agent} in {self.home.path}, which has {', '.join(more)}; choose one with --agent"
        )

    def operator(self, verb: str) -> Operator:
        """The handle for a verb that only a person may use."""
        self.check_operator(verb)
        return cast(Operator, self.memory())

    def before_restore(self, folder: Path) -> Outlook:
        """What restoring a backup would mean."""
        return before_restore(folder, self.agent, self._home, surface="cli", key=self._key)

    def restore(self, folder: Path, progress: Callable[[int, int], None]) -> dict[str, Any]:
        """Put a backup in the place of the store, whatever has become of that."""
        return restore(
            folder, self.agent, self._home, surface="cli", progress=progress, key=self._key
        )

    def damage(self) -> str | None:
        """Why the store cannot be read, if it is damaged."""
        from lamina.store.upkeep.restore import damage

        return damage(self.home.agent_folder(self.agent), self.agent, load(self.home.path))

    def begin_anew(self) -> dict[str, Any]:
        """Set a damaged store aside, and begin an empty one."""
        return begin_anew(self.agent, self._home, surface="cli", key=self._key)

    def other_agents(self) -> str:
        """Who else has a memory here, for whoever finds nothing: a name may be misspelt."""
        others = [name for name in self.home.agents() if name != self.agent]
        return f"; this home also has the agents {', '.join(others)}" if others else ""

    def check_operator(self, verb: str) -> None:
        """Refuse a verb that only a person may use, before anything is opened."""
        if role() is not Role.OPERATOR:
            raise Refused(
                f"{verb} is for operators, and LAMINA_ROLE=agent says that this is an agent"
            )
        if not operator_key.is_set(self.home.path):
            return
        if self._key is None and sys.stdin.isatty():
            self._key = str(click.prompt("operator key", hide_input=True, err=True))
        operator_key.check(self.home.path, self._key)

    def close(self) -> None:
        if self._memory is None:
            return
        memory, self._memory = self._memory, None
        if memory.outage is not None and not self._is_told(memory.outage):
            output.attention(str(memory.outage), err=True)
        memory.close()
        if memory.wrote and self._is_new and (others := self.other_agents()):
            output.attention(f"this is the first memory of {shown(self.agent)}{others}", err=True)
        if memory.wrote and memory.settings["maintenance"] == "auto":
            from lamina.surfaces.maintenance import start_if_due

            try:
                with self.scheduler() as scheduler:
                    start_if_due(scheduler.orchestrator(), self.home.path, self.agent)
            except LaminaError as error:  # what was asked for is done; this is only told
                output.attention(error.message, err=True)

    def _is_told(self, outage: Outage) -> bool:
        """Whether the answer or the error that ends the command says it anyway."""
        failure = sys.exc_info()[1]
        return self.tells_outage or (
            isinstance(failure, LaminaError) and outage.cause in failure.message
        )


def _only_looks() -> bool:
    """Whether the command that runs makes nothing, and looks at the agent's own memory."""
    context = click.get_current_context(silent=True)
    if context is None or context.params.get("shared_by"):
        return False
    return context.command_path.partition(" ")[2] in LOOKING


shared_by = click.option(
    "--shared-by", metavar="AGENT", help="what this agent shares, instead of one's own"
)


def role() -> Role:
    """The authority of this shell: the person's, unless the environment says that an agent runs it."""
    name = os.environ.get("LAMINA_ROLE") or "operator"
    if name not in ("operator", "agent"):
        raise InvalidInput(f"LAMINA_ROLE={name!r} is neither operator nor agent")
    return Role(name)


def command(group: click.Group, name: str, example: str) -> Callable[[Function], click.Command]:
    """Register a command whose help ends with an example and which takes --json, like all of them."""

    def register(function: Function) -> click.Command:
        made = group.command(name, epilog=f"Example:  {example}")(click.pass_obj(function))
        made.params.append(
            click.Option(
                ["--json"],
                is_flag=True,
                expose_value=False,
                callback=_set_json,
                help="print JSON for programs",
            )
        )
        return made

    return register


def _set_json(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().obj.json = True
