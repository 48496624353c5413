"""Check lines of the fail-safe: anyone who can write the file can write a valid checksum."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from lamina.errors import LaminaError
from lamina.failsafe.line import Line
from lamina.home import operator_key
from lamina.home.folder import user_name
from lamina.model import clock
from lamina.model.record import Draft, Role, Trust
from lamina.model.rules import Drafter, lowest_trust

GIVEN = (
    "content",
    "kind",
    "layer",
    "tags",
    "importance",
    "confidence",
    "metadata",
    "evidence",
    "source",
    "speaker",
    "session",
)
MOST_BYTES = 1 << 28
UNPROVEN = (
    "it says that an operator has written it,"
    " and this home has an operator key, which no line can show"
)


class Allowed(NamedTuple):
    """The rules for lines: which users and kinds they may have, and how large they may be."""

    home: Path
    agent: str
    kinds: tuple[str, ...]
    max_bytes: int

    def is_unproven(self, line: Line) -> bool:
        """Return whether a line claims to be an operator's, although this home asks for a key."""
        return line.actor.role is Role.OPERATOR and operator_key.is_set(self.home)

    def drafted(self, line: Line) -> tuple[Draft | None, str | None]:
        """Check a line: return a draft and any reason to doubt it, or None and what is wrong."""
        given = line.payload
        assert given is not None
        if clock.tag_of(line.id) != clock.agent_tag(self.agent):
            return None, "it is of another agent"
        try:
            user_name(given.user)
            return self._drafted(line, given)
        except LaminaError as error:
            return None, error.message

    def _drafted(self, line: Line, given: Draft) -> tuple[Draft, str | None]:
        item: dict[str, Any] = {name: getattr(given, name) for name in GIVEN}
        item |= {"at": given.occurred_at, "trust": given.trust.value, "key": given.key}
        if self.is_unproven(line):
            item["trust"] = lowest_trust((given.trust, Trust.AGENT)).value
        why = UNPROVEN if self.is_unproven(line) else None
        try:
            return Drafter(line.actor, given.user, self.kinds, self.max_bytes).draft(
                item, given.run_id
            ), why
        except LaminaError as error:
            why = error.message
        return Drafter(line.actor, given.user, (*self.kinds, given.kind), MOST_BYTES).draft(
            item, given.run_id
        ), why
