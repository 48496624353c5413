"""Recurring days: which words mean them, on which days they fall, and which words only look so."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lamina.text import recurrences
from lamina.text.words import terms
from tests.cases import every

ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = [date(2026, 1, 1) + timedelta(days=number) for number in range(365)]
MONDAYS = [day for day in YEAR if day.weekday() == 0]
FIRSTS = [day for day in YEAR if day.day == 1]
LASTS = [day for day in YEAR if (day + timedelta(days=1)).day == 1]
MAY = [date(2026, 5, 3)]
PHRASES = [
    ("the team meets every Monday at nine", MONDAYS),
    ("EACH MONDAY: water the plants", MONDAYS),
    ("on Mondays we sync", MONDAYS),
    ("jeden Montag Müll rausbringen", MONDAYS),
    ("Müll kommt montags", MONDAYS),
    ("swim every Monday and Thursday", [day for day in YEAR if day.weekday() in (0, 3)]),
    ("jeden Montag, Mittwoch und Freitag", [day for day in YEAR if day.weekday() in (0, 2, 4)]),
    ("on Tuesdays or Sundays", [day for day in YEAR if day.weekday() in (1, 6)]),
    ("pay the rent on the first of the month", FIRSTS),
    ("the 1st of every month", FIRSTS),
    ("every month on the first", FIRSTS),
    ("am Ersten des Monats", FIRSTS),
    ("am 1. jedes Monats", FIRSTS),
    ("the last day of the month", LASTS),
    ("the 31st of each month", LASTS),
    ("am Letzten des Monats", LASTS),
    ("monthly on the 15th", [day for day in YEAR if day.day == 15]),
    ("the second Monday of the month", [day for day in MONDAYS if 8 <= day.day <= 14]),
    ("last Monday of every month", [d for d in MONDAYS if (d + timedelta(days=7)).day <= 7]),
    ("every year on 3 May", MAY),
    ("each year on the third of May", MAY),
    ("every May 3rd", MAY),
    ("call Ana on 3 May every year", MAY),
    ("May 3 each year", MAY),
    ("annually on the 3rd of May", MAY),
    ("jedes Jahr am 3. Mai", MAY),
    ("jeden 3. Mai", MAY),
    ("am 3. Mai jedes Jahr", MAY),
    ("every 29 February", [date(2026, 2, 28)]),
    ("every year on 14 Sept", [date(2026, 9, 14)]),
    ("jeden 1. März", [date(2026, 3, 1)]),
    ("every Monday until 1 February 2026", [day for day in MONDAYS if day <= date(2026, 2, 1)]),
]


def days_of(text: str) -> list[date]:
    found = recurrences.find(text, ANCHOR)
    return [day for day in YEAR if any(one.falls_on(day) for one in found)]


@every(("text", "days"), PHRASES)
def test_the_days_that_are_meant(text: str, days: list[date]) -> None:
    """L12: words of English and German that mean recurring days mean just these."""
    assert days_of(text) == days


@every(
    "text",
    [
        "",
        "every day",
        "every other Monday",
        "every second Monday",
        "we met every Monday",
        "not every Monday",
        "on Monday",
        "everyMonday",
        "every Mondayish thing",
        "the first week of the month",
        "every 3 May 2026",
        "every May",
        "40th of every month",
        "every ſunday",
    ],
)
def test_what_recurs_not(text: str) -> None:
    """L12: what names no day for certain, is over or happens once does not recur."""
    assert recurrences.find(text, ANCHOR) == ()


@every(("text", "days"), PHRASES)
def test_hints_miss_nothing(text: str, days: list[date]) -> None:
    """L12: a text that means a day holds words by which it is found on that day."""
    held = set(terms(text))
    for day in days:
        hints = [
            [{terms(word)[0] for word in words} for words in h] for h in recurrences.hints(day)
        ]
        assert any(all(words & held for words in hint) for hint in hints)


def test_hints_spare_what_is_said_often() -> None:
    """L12: "last month" is a common phrase and no day; it is looked at on the last day alone."""
    held = set(terms("I moved to Porto last month"))
    found = [
        day
        for day in (date(2026, 11, number) for number in range(1, 31))
        if any(
            all({terms(word)[0] for word in words} & held for words in hint)
            for hint in recurrences.hints(day)
        )
    ]
    assert found == [date(2026, 11, 30)]


PIECES = st.sampled_from(
    "every each on the first last 3 3rd 31st . of month year Monday mondays montags jeden jedes Jahr"
    " am Monats May mai märz and , until June İ ſ annually".split()
)


@given(
    st.lists(PIECES, max_size=12).map(" ".join) | st.text(), st.datetimes(timezones=st.just(UTC))
)
def test_any_text(text: str, anchor: datetime) -> None:
    """L12: no text is an error; what is found quotes the text, and none overlaps another."""
    free = 0
    for one in recurrences.find(text, anchor):
        assert text[one.place :].startswith(one.phrase)
        assert one.place >= free
        free = one.place + len(one.phrase)
        one.falls_on(anchor.date())
