"""A turn while it is read: its own words, and the claims made of them. Pure."""

from __future__ import annotations

import re
from datetime import datetime, time
from typing import NamedTuple

from lamina.engines.claims import Claim, Turn
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.values import Span
from lamina.text import dates
from lamina.text.patterns import bounded
from lamina.text.words import first_name

UNQUOTED = str.maketrans("", "", '"“”„')
YEARS = bounded(r"\b(?:from )?((?:19|20)\d\d) ?(?:to|until|till|-|–) ?((?:19|20)\d\d)\b", re.I)
UNTIL = bounded(r"\b(?:until|till|up to)\b", re.I)
DATED = frozenset({"did", "plan", "visited"})


class Said(NamedTuple):
    """A turn, and what of it is the speaker's own."""

    turn: Turn
    plain: str  # the text, with everything masked that is not the speaker's own
    speaker: str  # empty when unknown
    number: int  # which turn of the session it is

    def part(self, clause: Clause) -> str:
        return self.plain[clause.start : clause.end]

    def claim(
        self, about: str, attribute: str, value: str | Span, span: Span,
        confidence: float, rule: str,
        *, negated: bool = False, replaces: str | None = None, within: Clause | None = None,
        is_over: bool = False,
    ) -> Claim:  # fmt: skip
        """Make a claim about a person; its value may be given as a span of the turn."""
        if not isinstance(value, str):
            value = self.turn.text[slice(*value)].translate(UNQUOTED)
        if attribute == "nickname" and " " in value and first_name(value) == first_name(about):
            attribute = "name"
        at = self._time(within, attribute) if within else self.turn.at
        until = None
        if within and is_over:
            at, until = self._past(within)
        start, end = self._tight(*span)
        value, confidence, replaces = value.strip(), round(confidence, 2), replaces or None
        return Claim(
            about, attribute, value, start, end, at, confidence, rule, negated, replaces,
            until=until,
        )  # fmt: skip

    def words(self, clause: Clause, match: re.Match[str], value: Span = (-1, -1)) -> Span:
        """Find the span in the turn of a match in a clause, and of a value with it."""
        start, end = clause.start + match.start(), clause.start + match.end()
        return (min(start, value[0]), max(end, value[1])) if value[0] >= 0 else (start, end)

    def _tight(self, start: int, end: int) -> Span:
        """Strip a span of the spaces at its ends."""
        part = self.plain[start:end]
        return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())

    def _past(self, clause: Clause) -> tuple[datetime, datetime]:
        """Find when a state began and ended: "from 2020 to 2023", "until May", or just before."""
        now, part = self.turn.at, self.part(clause)
        if years := YEARS.search(part):
            first, last = (datetime(int(year), 1, 1, tzinfo=now.tzinfo) for year in years.groups())
            if first <= last <= now:
                return first, last
        if found := UNTIL.search(part):
            days = (one.start for one in dates.find(part[found.end() :], now))
            if (day := next(days, None)) and day <= now.date():
                ended = datetime.combine(day, time(), now.tzinfo)
                return ended, ended
        return now, now

    def _time(self, clause: Clause, attribute: str) -> datetime:
        """Find the day that a clause speaks of, or else when it was said."""
        if attribute in DATED:
            for mention in dates.find(self.part(clause), self.turn.at):
                if attribute == "plan" or mention.start <= self.turn.at.date():
                    return datetime.combine(mention.start, time(), self.turn.at.tzinfo)
        return self.turn.at
