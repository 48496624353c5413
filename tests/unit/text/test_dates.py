"""Dates in text: which days a phrase means, and which words are no dates at all."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

from lamina.text import dates
from tests.cases import every, golden

WEDNESDAY = datetime(2023, 6, 14, 12, tzinfo=UTC)

# What stands by itself: the text, the phrase in it, the first day and the day after the last one.
STATED = golden("text/dates_stated.jsonl")

# What is seen from Wednesday, 14 June 2023.
RELATIVE = golden("text/dates_relative.jsonl")

NO_DATES = golden("text/no_dates.txt")


def at(day: str) -> date:
    return date.fromisoformat(day)


@every(("text", "phrase", "start", "end"), STATED)
def test_a_date_that_stands_by_itself(text: str, phrase: str, start: str, end: str) -> None:
    """Dates in full, without a year, of a month, season, year or decade; in the ways that people
    write them."""
    expected = dates.Mention(phrase, at(start), at(end), False, text.index(phrase))
    assert dates.find(text, WEDNESDAY) == (expected,)


@every(("text", "phrase", "start", "end"), RELATIVE)
def test_a_date_that_is_seen_from_the_anchor(text: str, phrase: str, start: str, end: str) -> None:
    """What is said of yesterday, a Friday or some weeks ago is resolved against
    the anchor's day."""
    expected = dates.Mention(phrase, at(start), at(end), True, text.index(phrase))
    assert dates.find(text, WEDNESDAY) == (expected,)


@every("text", NO_DATES)
def test_words_and_numbers_that_are_no_dates(text: str) -> None:
    """Verbs, versions, addresses, amounts, days that do not exist and what hangs on another event
    are left alone."""
    assert dates.find(text, WEDNESDAY) == ()


@every(
    ("text", "anchor", "start", "end"),
    [
        ("last Friday", "2023-06-16", "2023-06-09", "2023-06-10"),
        ("next Friday", "2023-06-16", "2023-06-23", "2023-06-24"),
        ("this Friday", "2023-06-16", "2023-06-16", "2023-06-17"),
        ("on Friday", "2023-06-16", "2023-06-23", "2023-06-24"),
        ("this weekend", "2023-06-18", "2023-06-17", "2023-06-19"),
        ("the weekend was fun", "2023-06-18", "2023-06-17", "2023-06-19"),
        ("last weekend", "2023-06-18", "2023-06-10", "2023-06-12"),
        ("last week", "2023-01-01", "2022-12-19", "2022-12-26"),
        ("last month", "2023-01-31", "2022-12-01", "2023-01-01"),
        ("next month", "2023-01-31", "2023-02-01", "2023-03-01"),
        ("the past month", "2023-03-31", "2023-02-28", "2023-04-01"),
        ("last summer", "2023-09-01", "2023-06-01", "2023-09-01"),
        ("this winter", "2023-02-10", "2022-12-01", "2023-03-01"),
        ("this winter", "2023-06-10", "2023-12-01", "2024-03-01"),
        ("next winter", "2023-01-10", "2023-12-01", "2024-03-01"),
        ("January 5", "2023-12-20", "2024-01-05", "2024-01-06"),
        ("December 28", "2023-01-03", "2022-12-28", "2022-12-29"),
        ("in May", "2023-01-10", "2022-05-01", "2022-06-01"),
        ("February 29", "1907-01-01", "1904-02-29", "1904-03-01"),
        ("a year ago", "2024-02-29", "2022-08-30", "2023-08-30"),
    ],
)
def test_the_edges_of_weeks_months_and_years(text: str, anchor: str, start: str, end: str) -> None:
    """What is last, this and next changes at midnight, on Mondays and at the end of months, seasons
    and years."""
    found = dates.find(text, datetime.fromisoformat(f"{anchor}T23:59:59+00:00"))
    assert [(mention.start, mention.end) for mention in found] == [(at(start), at(end))]


def test_today_is_the_day_on_the_calendar_of_the_anchor() -> None:
    """An anchor late in the evening of its own zone still is on that day."""
    evening = datetime(2023, 6, 14, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert dates.find("today", evening)[0].start == at("2023-06-14")


def test_several_dates_come_in_the_order_of_the_text() -> None:
    """Each date of a text is found once, where it stands."""
    text = (
        "Yesterday we moved the launch from May 7 to 2023-07-01; last Friday's plan of 2 weeks "
        "ago is void."
    )
    found = dates.find(text, WEDNESDAY)
    assert [mention.phrase for mention in found] == [
        "Yesterday",
        "May 7",
        "2023-07-01",
        "last Friday",
        "2 weeks ago",
    ]
    assert [mention.place for mention in found] == sorted(mention.place for mention in found)


@every("anchor", [datetime.min, datetime.max])
@every("text", [row[0] for row in STATED + RELATIVE])
def test_the_ends_of_the_calendar_are_no_error(text: str, anchor: datetime) -> None:
    """What would lie before the year 1 or after the year 9999 is no date."""
    for mention in dates.find(text, anchor.replace(tzinfo=UTC)):
        assert mention.start < mention.end
