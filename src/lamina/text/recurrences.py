"""Find recurring days: "every Monday", "on the first of the month". Pure.

Choices for ambiguous cases:

- A day that a month does not have is its last one: the 31st of every month, 29 February every year.
- "on Mondays" and "montags" are every Monday; "every other Monday" is left out as ambiguous, and so
is "every day", which is no date.
- Days in the past tense ("we met every Monday") do not recur, and what lasts until a day ends with
that day.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime
from functools import cache

import msgspec

from lamina.text import calendar_words, dates
from lamina.text.calendar_words import MONTHS, WEEKDAYS

GERMAN_WEEKDAYS = tuple("montag dienstag mittwoch donnerstag freitag samstag sonntag".split())
GERMAN_MONTHS = tuple(
    "januar februar märz april mai juni juli august september oktober november dezember".split()
)
ORDINALS = tuple("first second third fourth fifth sixth seventh eighth ninth tenth".split())
GERMAN_FIRST, GERMAN_LAST = "ersten", "letzten"
LAST = -1
EVERY = ("every", "each", "jeden", "jedes")
MONTHLY = ("month", "monthly", "monats")
YEARLY = (*EVERY, "yearly", "annually")
UNTIL = ("until", "till", "bis")
CONTEXT = 20  # characters before a date that tell whether it is an end

S, AFTER, BEFORE = dates.S, f"(?!{dates.LETTER})", f"(?<!{dates.LETTER})(?<!not )"
E = "(?:every|each)"
WEEKDAY = f"(?:{calendar_words.WEEKDAY}|{'|'.join(GERMAN_WEEKDAYS)})"
MONTH = f"(?P<month>{'|'.join(GERMAN_MONTHS)}|{calendar_words.MONTH_OR_SHORT})"
# "3", "3rd", "3." and "third"; a bare number only where a month follows.
NUMBER = "3[01]|[12][0-9]|0?[1-9]"
ORDINAL = (
    rf"(?P<day>(?:{NUMBER})(?=st|nd|rd|th|\.)|{'|'.join(ORDINALS)}|last|{GERMAN_FIRST}"
    rf"|{GERMAN_LAST})(?:st|nd|rd|th|\.)?"
)
DAY = rf"(?P<day>{NUMBER}|{'|'.join(ORDINALS)})(?:st|nd|rd|th|\.)?"
NO_YEAR = rf"(?!,?{S}[0-9]{{4}})"
DAY_MONTH = rf"{DAY}{S}(?:of{S})?{MONTH}{NO_YEAR}"
MONTH_DAY = rf"{MONTH}{S}(?:the{S})?{DAY}{NO_YEAR}"
AND = rf"(?:,{S}|{S}(?:and|or|und|oder|&){S})"
OF_MONTH = rf"of{S}(?:the|every|each){S}month"
# Words before a day of the year, or after it, that mean that it recurs every year.
EVERY_YEAR = rf"(?:{E}{S}(?:year{S})?|(?:yearly|annually){S})(?:on{S})?(?:the{S})?"
IN_EVERY_YEAR = rf"{S}(?:{E}{S}year|yearly|annually|jede[ns]{S}jahr(?:es)?)"
RULES = (
    rf"(?:{E}|jeden){S}(?P<weekdays>{WEEKDAY}(?:{AND}{WEEKDAY}){{0,6}})",
    rf"on{S}(?P<weekdays>{WEEKDAY}s(?:{AND}{WEEKDAY}s){{0,6}})",
    f"(?P<weekdays>(?:{'|'.join(GERMAN_WEEKDAYS)})s)",
    rf"{ORDINAL}(?:{S}day)?{S}{OF_MONTH}",
    rf"{ORDINAL}{S}(?P<weekdays>{WEEKDAY}){S}{OF_MONTH}",
    rf"(?:{E}{S}month|monthly){S}on{S}the{S}{ORDINAL}",
    rf"am{S}{ORDINAL}{S}(?:des|jedes|jeden){S}monats",
    rf"{EVERY_YEAR}{DAY_MONTH}",
    rf"{EVERY_YEAR}{MONTH_DAY}",
    rf"{DAY_MONTH}{IN_EVERY_YEAR}",
    rf"{MONTH_DAY}{IN_EVERY_YEAR}",
    rf"(?:jedes{S}jahr{S}am|jeden){S}{DAY_MONTH}",
)


class Recurrence(msgspec.Struct, frozen=True):
    """A phrase that means recurring days."""

    phrase: str  # the exact words in the text
    place: int  # where the phrase begins
    weekdays: frozenset[int] = frozenset()  # none means any
    nth: int = 0  # which of these weekdays in a month: the first, the last; 0 for all
    day: int = 0  # of the month, or the last
    month: int = 0
    end: date | None = None  # the day after the last one

    def falls_on(self, today: date) -> bool:
        """Tell whether a day is one of the recurring days."""
        length = monthrange(today.year, today.month)[1]
        if self.nth:
            is_last = today.day + 7 > length
            if not (is_last if self.nth == LAST else (today.day - 1) // 7 + 1 == self.nth):
                return False
        wanted = length if self.day == LAST else min(self.day, length)
        return (
            (not self.weekdays or today.weekday() in self.weekdays)
            and (not self.day or today.day == wanted)
            and (not self.month or today.month == self.month)
            and (self.end is None or today < self.end)
        )


def find(text: str, anchor: datetime) -> tuple[Recurrence, ...]:
    """Find the recurring days of a text in order; an end is resolved against the anchor's day."""
    found = sorted(
        (match for rule in _rules() for match in rule.finditer(text)),
        key=lambda match: (match.start(), -match.end()),
    )
    kept: list[Recurrence] = []
    for match in found:
        free = kept[-1].place + len(kept[-1].phrase) if kept else 0
        if match.start() >= free and not dates.is_past(match):
            kept.append(_read(match))
    if not kept:
        return ()
    end = min((one.end for one in dates.find(text, anchor) if _ends(text, one)), default=None)
    return tuple(msgspec.structs.replace(one, end=end) for one in kept)


def hints(day: date) -> Iterator[Sequence[Collection[str]]]:
    """Yield collections of words; a text that means the day contains one word of each.

    They save parsing all texts; `find` tells what a text really means.
    """
    weekday, month = day.weekday(), day.month - 1
    named = (WEEKDAYS[weekday], GERMAN_WEEKDAYS[weekday])
    yield EVERY, named
    yield [[f"{name}s" for name in named]]
    length = monthrange(day.year, day.month)[1]
    days = range(day.day, 32) if day.day == length else (day.day,)
    numbers = [f"{number}{ending}" for number in days for ending in ("", "st", "nd", "rd", "th")]
    first = (GERMAN_FIRST,) if day.day == 1 else ()
    last = ("last", GERMAN_LAST) if day.day == length else ()
    words = [*ORDINALS[day.day - 1 : day.day], *first, *last]  # "the last Friday" names its day
    yield MONTHLY, [*numbers, *words, *named]
    yield YEARLY, (MONTHS[month], MONTHS[month][:3], "sept", GERMAN_MONTHS[month])


def _ends(text: str, mention: dates.Mention) -> bool:
    """Tell whether a date is an end: "until June", "until the 5th of June"."""
    before = text[max(0, mention.place - CONTEXT) : mention.place].lower().rstrip()
    return mention.phrase.lower().startswith(UNTIL) or (
        before.removesuffix("the").rstrip().endswith(UNTIL)
    )


def _read(match: re.Match[str]) -> Recurrence:
    parts = match.groupdict()
    day = _number((parts.get("day") or "").lower())
    weekdays = frozenset(map(_weekday, re.findall(WEEKDAY, (parts.get("weekdays") or "").lower())))
    month = _month((parts.get("month") or "").lower())
    nth, day = (day, 0) if weekdays else (0, day)
    return Recurrence(match.group(), match.start(), weekdays, nth, day, month)


def _number(said: str) -> int:
    if said in ("last", GERMAN_LAST):
        return LAST
    if said in ORDINALS:
        return ORDINALS.index(said) + 1
    return 1 if said == GERMAN_FIRST else int(said or 0)


def _weekday(said: str) -> int:
    names = GERMAN_WEEKDAYS if said in GERMAN_WEEKDAYS else WEEKDAYS
    return names.index(said)


def _month(said: str) -> int:
    if not said:
        return 0
    if said in GERMAN_MONTHS:
        return GERMAN_MONTHS.index(said) + 1
    return calendar_words.SHORT_MONTHS.index(said[:3]) + 1


@cache
def _rules() -> tuple[re.Pattern[str], ...]:
    """Compile the rules. That is slow, and few processes need them."""
    return tuple(re.compile(f"{BEFORE}(?ia:{words}){AFTER}") for words in RULES)
