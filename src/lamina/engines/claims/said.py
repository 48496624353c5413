"""A turn while it is read, and how claims are made of its words. Pure."""

from __future__ import annotations

import re
from datetime import datetime, time
from typing import NamedTuple

from lamina.engines.claims import Claim, Turn
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.values import Span
from lamina.text import dates
from lamina.text import words as text

UNQUOTED = str.maketrans("", "", '"“”„')
DATED = frozenset({"did", "plan", "visited"})


class Said(NamedTuple):
    """What somebody said, and what of it is their own."""

    turn: Turn
    plain: str  # the text, with everything masked that is somebody else's
    speaker: str  # empty when nobody knows
    number: int  # which turn of the session it is

    def part(self, clause: Clause) -> str:
        return self.plain[clause.start : clause.end]

    def claim(
        self, about: str, attribute: str, value: str | Span, span: Span, confidence: float, rule: str,
        *, negated: bool = False, replaces: str | None = None, within: Clause | None = None,
    ) -> Claim:  # fmt: skip
        """A claim about somebody; its value may be given as words of the turn."""
        words = (
            value if isinstance(value, str) else self.turn.text[slice(*value)].translate(UNQUOTED)
        )
        if (
            attribute == "nickname"
            and " " in words
            and text.first_name(words) == text.first_name(about)
        ):
            attribute = "name"
        at = self._time(within, attribute) if within else self.turn.at
        start, end = self._tight(*span)
        return Claim(
            about,
            attribute,
            words.strip(),
            start,
            end,
            at,
            round(confidence, 2),
            rule,
            negated,
            replaces or None,
        )

    def words(self, clause: Clause, match: re.Match[str], value: Span = (-1, -1)) -> Span:
        """Where the words of a match in a clause stand in the turn, with those of a value."""
        start, end = clause.start + match.start(), clause.start + match.end()
        return (min(start, value[0]), max(end, value[1])) if value[0] >= 0 else (start, end)

    def _tight(self, start: int, end: int) -> Span:
        """A span without the spaces at its ends."""
        said = self.plain[start:end]
        return start + len(said) - len(said.lstrip()), end - len(said) + len(said.rstrip())

    def _time(self, clause: Clause, attribute: str) -> datetime:
        """The day that a clause speaks of, or when it was said."""
        if attribute in DATED:
            for mention in dates.find(self.part(clause), self.turn.at):
                if attribute == "plan" or mention.start <= self.turn.at.date():
                    return datetime.combine(mention.start, time(), self.turn.at.tzinfo)
        return self.turn.at
