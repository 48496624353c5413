"""A turn that is being read: the speaker's own words, and claims made from them. Pure."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import NamedTuple

from lamina.engines.claims import Claim, Turn
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.values import Span
from lamina.text import dates
from lamina.text.hints import Hinted
from lamina.text.patterns import LONGEST, bounded
from lamina.text.words import first_name

UNQUOTED = str.maketrans("", "", '"“”„')
YEARS = bounded(r"\b(?:from )?((?:19|20)\d\d) ?(?:to|until|till|-|–) ?((?:19|20)\d\d)\b", re.I)
UNTIL = bounded(r"\b(?:until|till|up to)\b", re.I)
DATED = frozenset({"did", "plan", "visited"})
# Words that say since or until when a state holds, and are not part of it.
SINCE = bounded(r"\b(?:since|as of|starting)\s", re.I)
LIMITED = bounded(
    r"[\s,]{1,3}(?:ever )?(?P<limit>(?:since|as of|starting|until|till|up to)\s.{1,60})\Z", re.I
)
LEAP = (2, 29)  # a day that may not exist in the next year
FARTHEST = 14  # characters between such a word and its day
ANOTHER = re.compile(r"[,;]|\b(?:and|but|or)\b")  # what follows is about something else


class Said(NamedTuple):
    """A turn, with the parts that are the speaker's own."""

    turn: Turn
    plain: str  # the text, with everything masked that is not the speaker's own
    speaker: str  # empty if unknown
    number: int  # the index of the turn in the session

    def part(self, clause: Clause) -> str:
        return self.plain[clause.start : clause.end]

    def search(self, pattern: Hinted, clause: Clause) -> re.Match[str] | None:
        """Search for a pattern in a clause alone."""
        return pattern.search(self.part(clause)) if pattern.may_be_in(self.plain) else None

    def claim(
        self, about: str, attribute: str, value: str | Span, span: Span,
        confidence: float, rule: str,
        *, negated: bool = False, replaces: str | None = None, within: Clause | None = None,
        is_over: bool = False,
    ) -> Claim:  # fmt: skip
        """Make a claim about a person; the value may be given as a span of the turn."""
        begin = span[0] if isinstance(value, str) else value[0]
        if not isinstance(value, str):
            value = self._unlimited(self.turn.text[slice(*value)].translate(UNQUOTED), attribute)
        if attribute == "nickname" and " " in value and first_name(value) == first_name(about):
            attribute = "name"
        at = self._time(within, attribute, (begin, span[1])) if within else self.turn.at
        since = until = None
        if at < self.turn.at and attribute not in DATED:
            at, since = self.turn.at, at
        if within and is_over:
            at, until = self._past(within)
        start, end = self._tight(*span)
        value, confidence, replaces = value.strip(), round(confidence, 2), replaces or None
        return Claim(
            about, attribute, value, start, end, at, confidence, rule, negated, replaces,
            until=until, since=since,
        )  # fmt: skip

    def words(self, clause: Clause, match: re.Match[str], value: Span = (-1, -1)) -> Span:
        """Return the span in the turn of a match in a clause, extended to a value if given."""
        start, end = clause.start + match.start(), clause.start + match.end()
        return (min(start, value[0]), max(end, value[1])) if value[0] >= 0 else (start, end)

    def _tight(self, start: int, end: int) -> Span:
        """Strip the spaces at the ends of a span."""
        part = self.plain[start:end]
        return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())

    def _past(self, clause: Clause) -> tuple[datetime, datetime]:
        """Find when a past state began and ended: "from 2020 to 2023", "until May", or just now."""
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

    def _time(self, clause: Clause, attribute: str, span: Span) -> datetime:
        """Find the day that a clause mentions, or else return when it was said."""
        if attribute in DATED:
            for mention in dates.find(self.part(clause), self.turn.at):
                if attribute == "plan":
                    return self._midnight(_to_come(mention, self.turn.at.date()))
                if mention.start <= self.turn.at.date():
                    return self._midnight(mention.start)
            return self.turn.at
        return self._since(clause, span)

    def _since(self, clause: Clause, span: Span) -> datetime:
        """Find since when a state holds: "at Siemens since March", "since March I work at …"."""
        now, behind = self.turn.at, self.plain[span[0] : clause.end]
        other = ANOTHER.search(behind, span[1] - span[0])
        found = SINCE.search(behind, 0, other.start() if other else len(behind))
        rest = behind[found.start() :] if found else ""
        if not found and (found := SINCE.match(self.plain, clause.start, span[0])):
            rest = self.plain[found.start() : span[0]]
        day = _day(rest, now)
        if day is None:
            return now
        if day > now.date() and rest[:5].lower() == "since":
            day = date(day.year - 1, day.month, 1)  # "since October", said in May
        return self._midnight(day)

    def _midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), self.turn.at.tzinfo)

    def _unlimited(self, value: str, attribute: str) -> str:
        """Cut off words that say since or until when something holds: "Dr. Silva since 2022"."""
        found = LIMITED.search(value[-LONGEST:]) if attribute not in DATED else None
        if not found or not _day(found["limit"], self.turn.at):
            return value
        return value[: len(value) - len(found.group())] or value


def _to_come(mention: dates.Mention, today: date) -> date:
    """Find the day of a plan: "12 June" without a year is the next one."""
    day = mention.start
    is_open = not mention.relative and str(day.year) not in mention.phrase
    if not is_open or mention.end > today or (day.month, day.day) == LEAP:
        return day
    return day.replace(year=day.year + 1)


def _day(limit: str, now: datetime) -> date | None:
    """Find the day of "since March 2024", if it follows directly."""
    first = dates.find(limit[:LONGEST], now)[:1]
    return next((one.start for one in first if one.place <= FARTHEST), None)
