"""Find dates in text and resolve "7 May 2023" or "two weeks ago" relative to a given time. Pure.

Choices for ambiguous cases:

- The anchor's calendar day is "today". Weeks start on Monday; seasons are those of the northern
hemisphere, and winter begins in December.
- A date without a year is the latest one that begins at most 60 days ahead: memories are mostly of
  the past.
- "last Friday" is the latest before today, "next Friday" the first after today; "last May" and
  "last summer" are over.
- "on Friday", "this Friday" and "the weekend" are in the past if the sentence is in the past tense,
else in the future.
- "last week", "this month", "next year" are calendar units; "the past week" and "the last 3 days"
end today.
- "two weeks ago" is a week around that day, "two months ago" a month, "a few ..." twice as wide.
- 5/7/2023 is ambiguous, so it is no date; 7.5.2023 has the day first. Times of day and time zones
are ignored.
- Not recognised: "recently", hours, holidays, a bare weekday, month or year, and dates relative to
another event ("two days later").
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

import msgspec

from lamina.text import calendar_words
from lamina.text.calendar_words import NUMBERS, SHORT_MONTHS, SHORT_WEEKDAYS

if TYPE_CHECKING:
    from lamina.text.screening import Marks, Parts, Screen

Span = tuple[date, date]
Resolver = Callable[[re.Match[str], date], Span]

DAY = timedelta(days=1)
AHEAD = timedelta(days=60)  # how far in the future a date without a year may lie
CONTEXT = 60  # characters on either side of a phrase that are read for the tense

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
THIRDS = {"early": (1, 11), "mid": (11, 21), "late": (21, 0)}
COUNTS = NUMBERS
VAGUE = {"couple": 2, "few": 3, "several": 4}
TURNS = (
    dict.fromkeys(("last", "past", "since"), -1)
    | dict.fromkeys(("this", "on"), 0)
    | dict.fromkeys(("next", "coming", "by", "until", "till"), 1)
)
# How many days from today.
NAMED = {
    "yesterday": -1,
    "last night": -1,
    "last evening": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "tomorrow": 1,
    "this afternoon": 0,
    "this evening": 0,
    "day before yesterday": -2,
    "day after tomorrow": 2,
}
# Length in days and months, and how many days on either side are meant by "one ago".
UNITS = {
    "day": (1, 0, 0),
    "night": (1, 0, 0),
    "week": (7, 0, 3),
    "weekend": (7, 0, 0),
    "fortnight": (14, 0, 3),
    "month": (0, 1, 15),
    "year": (0, 12, 182),
    "decade": (0, 120, 1826),
}


class Mention(msgspec.Struct, frozen=True):
    """A phrase that means one or more days."""

    phrase: str  # the exact words in the text
    start: date  # the first day meant
    end: date  # the day after the last one
    relative: bool  # resolved against the anchor ("last Friday"), not absolute ("7 May")
    place: int  # where the words begin


def find(text: str, anchor: datetime) -> tuple[Mention, ...]:
    """Find the dates of a text in order, without overlap, relative to the anchor's day."""
    return _found(text, anchor.date())


@lru_cache(16)  # several claims are made of one clause
def _found(text: str, today: date) -> tuple[Mention, ...]:
    return tuple(_mentions(text, today)) if _may_hold_one(text.lower()) else ()


def _may_hold_one(lowered: str) -> bool:
    if FOUR_DIGITS.search(lowered) is not None or any(map(lowered.__contains__, HINTS)):
        return True
    # "mar" is part of many words; it is a month only as a separate word.
    return any(map(lowered.__contains__, NAMES)) and NAMED_ALONE.search(lowered) is not None


def may_hold(screen: Screen) -> Marks:
    """Mark the texts that may contain a date; `find` finds none in the others."""
    return screen.holding(_parts())


@cache
def _parts() -> Parts:
    from lamina.text.screening import Parts

    return Parts((*HINTS, *NAMES, "0000"))  # any four digits


def _mentions(text: str, today: date) -> Iterator[Mention]:
    position = 0
    rules = _any_rule()
    while found := rules.search(text, position):
        position = found.start() + 1
        if mention := _resolve(found, today):
            position = found.end()
            yield mention


def _resolve(found: re.Match[str], today: date) -> Mention | None:
    name = str(found.lastgroup)
    _, resolve = RULES[name]
    parts = _rule(name).match(found.string, found.start())
    assert parts, "a rule matches alone what it matches among others"
    try:
        start, end = resolve(parts, today)
    # 31 February, or a year out of range: the words match, but it is no date.
    except (ValueError, OverflowError):
        return None
    if start >= end:
        return None
    return Mention(parts.group(), start, end, name in RELATIVE, parts.start())


def _days(start: date, count: int = 1) -> Span:
    return start, start + count * DAY


def _months(start: date, count: int = 1) -> Span:
    return start, _shifted(start, count)


def _shifted(day: date, months: int) -> date:
    """Move a day by some months; in a shorter month, use its last day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _without_year(today: date, of_year: Callable[[int], Span]) -> Span:
    """Find the latest span that is not too far ahead; 29 February may be some years back."""
    of_year(2000)  # a day that does not exist in this leap year exists in no year
    for year in range(today.year + 1, today.year - 9, -1):
        with suppress(ValueError):
            span = of_year(year)
            if span[0] <= today + AHEAD:
                return span
    raise ValueError


def is_past(found: re.Match[str]) -> bool:
    """Tell if the sentence around a phrase is in the past tense."""
    before = SENTENCE_END.split(found.string[max(0, found.start() - CONTEXT) : found.start()])[-1]
    after = SENTENCE_END.split(found.string[found.end() : found.end() + CONTEXT])[0]
    sentence = f"{before} {after}".lower()
    return bool(PAST.search(sentence)) and not FUTURE.search(sentence)


def _month_of(found: re.Match[str]) -> tuple[int, int]:
    """Return the month that is named, and the number of months: a season lasts three."""
    name = found["month"].lower()
    if name in SEASONS:
        return SEASONS[name], 3
    return (int(name) if name.isdecimal() else SHORT_MONTHS.index(name[:3]) + 1), 1


def _count_of(found: re.Match[str]) -> tuple[int, bool]:
    """Return how many units are meant, and whether the number is vague."""
    words = (found["count"] or "one").lower()
    for word, count in VAGUE.items():
        if word in words:
            return count, True
    return (int(words) if words.isdecimal() else COUNTS.index(words)), False


def _moved(found: re.Match[str], today: date, turn: int) -> date:
    """Move today back or ahead by the units of a phrase."""
    steps = turn * _count_of(found)[0]
    days, months, _ = UNITS[found["unit"].lower()]
    return _shifted(today, steps * months) + steps * days * DAY


def _dated(found: re.Match[str], today: date) -> Span:
    """Resolve a day, several days, a month, a part of one, or a season, with or without a year."""
    parts = found.groupdict()
    month, count = _month_of(found)

    def of_year(year: int) -> Span:
        if parts.get("day"):
            last = int(parts.get("till") or parts["day"])
            return date(year, month, int(parts["day"])), date(year, month, last) + DAY
        start, end = _months(date(year, month, 1), count)
        first, after = THIRDS.get((parts.get("part") or "").lower(), (1, 0))
        return start.replace(day=first), start.replace(day=after) if after else end

    return of_year(int(parts["year"])) if parts.get("year") else _without_year(today, of_year)


def _either_first(found: re.Match[str], _: date) -> Span:
    one, two = int(found["one"]), int(found["two"])
    if one != two and max(one, two) <= 12:
        raise ValueError
    return _days(date(int(found["year"]), min(one, two), max(one, two)))


def _years(found: re.Match[str], _: date, count: int = 1) -> Span:
    return _months(date(int(found["year"]), 1, 1), 12 * count)


def _turned(found: re.Match[str], today: date) -> Span:
    """Resolve the last, this or the next month or season."""
    turn = TURNS[found["turn"].lower()]
    month, count = _month_of(found)
    if not turn:
        is_running_winter = count == 3 and month == 12 and today.month < 3
        return _months(date(today.year - is_running_winter, month, 1), count)
    spans = [_months(date(today.year + turn * distance, month, 1), count) for distance in range(3)]
    return next(span for span in spans if (span[0] > today if turn > 0 else span[1] <= today))


def _named_day(found: re.Match[str], today: date) -> Span:
    return _days(today + NAMED[" ".join(found["name"].lower().split())] * DAY)


def _away(found: re.Match[str], today: date, turn: int, is_doubtful: bool = False) -> Span:
    """Resolve a span around the day that is that many units away."""
    if is_doubtful and is_past(found):
        raise ValueError  # "I wrote it in two days" says how long it took
    day, unit = _moved(found, today, turn), found["unit"].lower()
    if unit == "weekend":
        return _calendar(unit, day, 0)
    radius, (_, is_vague) = UNITS[unit][2], _count_of(found)
    radius = (2 * radius or 1) if is_vague else radius
    return _days(day - radius * DAY, 2 * radius + 1)


def _stretch(found: re.Match[str], today: date) -> Span:
    """Resolve the days from a past day up to today, or from today up to a future day."""
    far = _moved(found, today, TURNS[found["turn"].lower()])
    return min(far, today), max(far, today) + DAY


def _period(found: re.Match[str], today: date, steps: int = 1) -> Span:
    return _calendar(found["unit"].lower(), today, steps * TURNS[found["turn"].lower()])


def _calendar(unit: str, today: date, turn: int) -> Span:
    if unit == "year":
        return _months(date(today.year + turn, 1, 1), 12)
    if unit == "month":
        return _months(_shifted(today.replace(day=1), turn))
    monday = today + (7 * turn - today.weekday()) * DAY
    return _days(monday, 7) if unit == "week" else _days(monday + 5 * DAY, 2)


def _this_weekend(found: re.Match[str], today: date) -> Span:
    return _calendar("weekend", today, -1 if today.weekday() < 5 and is_past(found) else 0)


def _weekday(found: re.Match[str], today: date) -> Span:
    turn = TURNS[found["turn"].lower()] or (-1 if is_past(found) else 1)
    distance = turn * (SHORT_WEEKDAYS.index(found["weekday"][:3].lower()) - today.weekday()) % 7
    return _days(today + turn * (distance or (0 if found["turn"].lower() == "this" else 7)) * DAY)


# A word ends where no letter of a European script follows; Chinese and Japanese write dates
# directly next to other words.
LETTER = "[0-9A-Za-z_\u00c0-\u024f\u0300-\u036f]"
END = f"(?:(?<=[月월日号號일])|(?!{LETTER}))"
S = r"[ \t\r\n\xa0\u202f]{1,4}"
W = "(?![0-9])"  # in rules that only a word can begin: saves many attempts at every number
YEAR = "(?P<year>(?:1[5-9]|20)[0-9]{2})"
ANY_MONTH = f"(?:{'|'.join(SHORT_MONTHS)})[a-z.]*"
DOT = rf"(?:(?:(?<![a-z]{{4}})|(?<=sept))\.(?={S}[0-9]))?"
MONTH = f"(?P<month>{calendar_words.MONTH_OR_SHORT})(?!{LETTER}){DOT}"
NO_DAY = rf"(?!{DOT}{S}(?:of{S}|the{S})?[0-9]|,{S}[0-9]{{4}})"
SEASON = f"(?P<month>{'|'.join(SEASONS)})"
# Some months are ordinary words as well: these need a capital letter, or a neighbour that the
# ordinary word cannot have.
IS_MONTH = (
    "(?=(?-i:May|March|August)(?![a-z])|(?!(?:may|mar|march|august)(?![a-z]))"
    r"|[a-z]+\s*(?:$|[^\w\s]|[0-9]{4}"
    rf"|(?:i|we|he|she|they|you|the|my|with|from|at|when|because|but)(?!{LETTER})))"
)
NUMBER = "(?P<day>3[01]|[12][0-9]|0?[1-9])(?:st|nd|rd|th)?"
TILL = rf"(?:(?:\s?[-–—]\s?|{S}to{S}){NUMBER.replace('day', 'till')})?"
# Not "in 2000 steps", "march 10 miles", "May 7.5" or "in 2022-23".
NO_COUNT = (
    rf"(?![-–.,:/]?[0-9]|\s?[%$€£°]|{S}(?:people|times|steps|words|lines|bytes|tokens|files|users"
    "|items|points|rows|pages|seconds|minutes|hours|days|weeks|months|years|percent|dollars|euros"
    "|miles|meters|metres|km|kg|ms|mb|gb)(?![a-z]))"
)
UNIT = "(?P<unit>day|night|week|fortnight|month|year|decade)"
# Not the end of "1.5 weeks ago", "twenty-two days ago", "half a year ago".
WHOLE = "(?<![0-9][.,])(?<![a-z]-)(?<!half )"
COUNT = (
    rf"{WHOLE}(?:(?P<count>[0-9]{{1,4}}|(?:a{S})?(?:couple(?:{S}of)?|few)|several"
    rf"|{'|'.join(COUNTS)})|an?)"
)
# Not "the last week of school", "this fall under".
NOT_OF = rf"(?!{S}(?:of|under|apart|into|short)(?![a-z]))"
WEEKDAY = f"(?P<weekday>{calendar_words.WEEKDAY}|(?-i:Tues?|Wed|Thu(?:rs?)?|Fri))"
# "on Friday, May 7" and "on Friday next week": the words that follow are more precise.
BEST = (
    rf"(?!,?{S}(?:the )?(?:[0-9]{{1,4}}(?:[snrt][tdh]|[./-][0-9]|{S}{ANY_MONTH})"
    rf"|{ANY_MONTH}{S}[0-9]|(?:last|next){S}week))"
)
SINCE = rf"in|during|since|until|till|by|(?:start|beginning|middle|end|rest|week|month){S}of"
CLOCK = (
    r"(?:[t ][0-2][0-9]:[0-5][0-9](?::[0-6][0-9](?:[.,][0-9]{1,9})?)?"
    r"(?: ?z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
ALONE, NN, NO_MORE = "(?<![0-9][-/.,:])", "[0-9]{1,2}", "(?![-/.]?[0-9])"

# The rules: which words form a date, and how to resolve it. At each place the first match is used.
STATED: dict[str, tuple[str, Resolver]] = {
    "year_first": (
        rf"{ALONE}(?P<year>[0-9]{{4}})[-/](?P<month>{NN})[-/](?P<day>{NN}){CLOCK}{NO_MORE}",
        _dated,
    ),
    "either_first": (rf"{ALONE}(?P<one>{NN})[/-](?P<two>{NN})[/-]{YEAR}{NO_MORE}", _either_first),
    "dotted": (rf"{ALONE}{NUMBER}\. ?(?P<month>1[0-2]|0?[1-9])\. ?{YEAR}{NO_MORE}", _dated),
    "eastern": (
        rf"(?:(?P<year>[0-9]{{4}}) ?[年년] ?)?(?P<month>{NN}) ?[月월]"
        rf"(?: ?(?P<day>{NN}) ?[日号號일])?",
        _dated,
    ),
    "day_month": (
        rf"{ALONE}{NUMBER}{TILL}{S}(?:of{S}|{IS_MONTH}){MONTH}(?:(?:,|,?{S}){YEAR}{NO_COUNT})?",
        _dated,
    ),
    "month_day": (
        rf"{W}{MONTH}{S}(?:the{S})?{NUMBER}{TILL}(?:(?:,|,?{S}){YEAR}{NO_COUNT}|{NO_COUNT})",
        _dated,
    ),
    "month_year": (
        rf"{W}(?:(?P<part>early|mid|late)[\s-])?{MONTH},?{S}(?:of{S})?{YEAR}{NO_COUNT}",
        _dated,
    ),
    "month": (
        rf"{W}(?:(?:{SINCE}){S}|(?P<part>early|mid|late)[\s-]){IS_MONTH}{MONTH}{NO_DAY}",
        _dated,
    ),
    "season": (rf"{W}{SEASON}{S}(?:of{S})?{YEAR}{NO_COUNT}", _dated),
    "year": (
        rf"{W}(?:{SINCE}|from|before|after|early|mid|late|year)(?:{S}|-){YEAR}{NO_COUNT}",
        _years,
    ),
    "decade": (rf"(?:the{S})?(?P<year>(?:1[5-9]|20)[0-9]0)['’]?s", partial(_years, count=10)),
}
RELATIVE: dict[str, tuple[str, Resolver]] = {
    "turned_month": (rf"{W}(?<!the )(?P<turn>last|this|next){S}{IS_MONTH}{MONTH}{NO_DAY}", _turned),
    "turned_season": (rf"{W}(?P<turn>last|past|this|next|coming){S}{SEASON}{NOT_OF}", _turned),
    "named": (rf"{W}(?:the{S})?(?P<name>{'|'.join(NAMED).replace(' ', S)})", _named_day),
    "ago": (rf"{COUNT}{S}{UNIT.replace('week', 'weekend|week')}s?{S}ago", partial(_away, turn=-1)),
    "from_now": (rf"{COUNT}{S}{UNIT}s?{S}from{S}(?:now|today)", partial(_away, turn=1)),
    "in_a_while": (
        rf"(?<!time )in{S}{COUNT}{S}{UNIT}s?{NOT_OF}",
        partial(_away, turn=1, is_doubtful=True),
    ),
    "stretch": (rf"{W}(?P<turn>last|past|next|coming){S}{COUNT}{S}{UNIT}s?{NOT_OF}", _stretch),
    "past": (rf"(?P<turn>past){S}(?P<count>){UNIT}{NOT_OF}", _stretch),
    "this_weekend": (
        rf"(?:the|this|(?:this{S})?coming){S}weekend(?!{S}(?:of|before|after)(?![a-z]))",
        _this_weekend,
    ),
    "period": (
        rf"{W}(?P<turn>last|past|this|next|coming){S}(?P<unit>weekend|week|month|year){NOT_OF}",
        _period,
    ),
    "skipped": (
        rf"{W}(?P<unit>weekend|week|month|year){S}(?:before|after){S}(?P<turn>last|next)",
        partial(_period, steps=2),
    ),
    "weekday": (rf"{W}(?P<turn>{'|'.join(TURNS)}){S}{WEEKDAY}(?!{LETTER}){NOT_OF}{BEST}", _weekday),
}
RULES = {
    name: (f"(?ia:{words}){END}", resolve) for name, (words, resolve) in (STATED | RELATIVE).items()
}


@cache
def _rule(name: str) -> re.Pattern[str]:
    """Compile one rule. That is slow, and most processes never need it."""
    return re.compile(RULES[name][0])


@cache
def _any_rule() -> re.Pattern[str]:
    """Compile all rules into one pattern that tells which of them matched."""
    nameless = [
        f"(?P<{name}>{re.sub(r'[?]P<[a-z]+>', '?:', words)})" for name, (words, _) in RULES.items()
    ]
    return re.compile(f"(?<!{LETTER})(?=[0-9A-Za-z])(?:{'|'.join(nameless)})")


# Every date contains one of these, or a year; most texts contain neither and need no pattern, which
# would be slower.
HINTS = tuple("월 月 day week month year morrow night noon rning ening".split())
NAMES = (*"tue wed thu fri".split(), *SHORT_MONTHS, *SEASONS)
NAMED_ALONE = re.compile(
    rf"(?<![a-z])(?:tues?|wed|thu(?:rs?)?|fri|{calendar_words.MONTH_OR_SHORT}"
    rf"|{'|'.join(SEASONS)})(?![a-z])"
)
FOUR_DIGITS = re.compile("[0-9]{4}")
SENTENCE_END = re.compile(r"[.!?]\s|\n")
FUTURE = re.compile(
    r"\b(?:will|won't|shall|going to|gonna|scheduled|planned|supposed|due|upcoming)\b|['’]ll\b"
)
PAST = re.compile(
    r"\b(?:did|didn't|was|wasn't|were|had|been|[a-z]+[^\We]ed|went|saw|got|met|came|took|made"
    r"|bought|ate|gave|told|said|sent|found|left|began|ran|won|lost|felt|held|kept|heard|wrote"
    r"|drove|flew|taught|thought|sold|paid|spent|built|broke)\b"
)
