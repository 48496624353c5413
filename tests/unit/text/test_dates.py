"""Dates in text: which days a phrase means, and which words are no dates at all."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from lamina.text import dates

WEDNESDAY = datetime(2023, 6, 14, 12, tzinfo=UTC)

# What stands by itself: the text, the phrase in it, the first day and the day after the last one.
STATED = [
    ("Released 2023-05-07.", "2023-05-07", "2023-05-07", "2023-05-08"),
    ("at 2023-05-07T23:30:00Z it broke", "2023-05-07T23:30:00Z", "2023-05-07", "2023-05-08"),
    (
        "2023-05-07 12:00:01.5+02:00 start",
        "2023-05-07 12:00:01.5+02:00",
        "2023-05-07",
        "2023-05-08",
    ),
    ("see 2023/5/7", "2023/5/7", "2023-05-07", "2023-05-08"),
    ("2024-02-29", "2024-02-29", "2024-02-29", "2024-03-01"),
    ("0001-01-01", "0001-01-01", "0001-01-01", "0001-01-02"),
    ("What did Caroline do on 7 May 2023?", "7 May 2023", "2023-05-07", "2023-05-08"),
    ("on 7th of May, 2023", "7th of May, 2023", "2023-05-07", "2023-05-08"),
    ("May 7th, 2023", "May 7th, 2023", "2023-05-07", "2023-05-08"),
    ("December 1,2022 was", "December 1,2022", "2022-12-01", "2022-12-02"),
    ("the second week of April", "week of April", "2023-04-01", "2023-05-01"),
    ("the week of April 3", "April 3", "2023-04-03", "2023-04-04"),
    ("We moved in December. 3 kids came", "in December", "2022-12-01", "2023-01-01"),
    ("In May, 3 kids came", "In May", "2023-05-01", "2023-06-01"),
    ("MAY 7 2023", "MAY 7 2023", "2023-05-07", "2023-05-08"),
    ("Sept. 3, 2021", "Sept. 3, 2021", "2021-09-03", "2021-09-04"),
    ("dec 24 2022 eve", "dec 24 2022", "2022-12-24", "2022-12-25"),
    ("on Friday, May 5, 2023", "May 5, 2023", "2023-05-05", "2023-05-06"),
    ("on Friday 5 May", "5 May", "2023-05-05", "2023-05-06"),
    ("On Friday the 5th of May we met", "5th of May", "2023-05-05", "2023-05-06"),
    ("May 7 2000 people came", "May 7", "2023-05-07", "2023-05-08"),
    ("I got it on May 7", "May 7", "2023-05-07", "2023-05-08"),
    ("may 7, ok?", "may 7", "2023-05-07", "2023-05-08"),
    ("the 7th of may", "7th of may", "2023-05-07", "2023-05-08"),
    ("the conference is May 7-9, 2023", "May 7-9, 2023", "2023-05-07", "2023-05-10"),
    ("from 28 to 30 May", "28 to 30 May", "2023-05-28", "2023-05-31"),
    ("at 12:30 May 7", "May 7", "2023-05-07", "2023-05-08"),
    ("August 13", "August 13", "2023-08-13", "2023-08-14"),
    ("August 14", "August 14", "2022-08-14", "2022-08-15"),
    ("on Dec 24", "Dec 24", "2022-12-24", "2022-12-25"),
    ("February 29", "February 29", "2020-02-29", "2020-03-01"),
    ("May 2023", "May 2023", "2023-05-01", "2023-06-01"),
    ("in december of 2022", "december of 2022", "2022-12-01", "2023-01-01"),
    ("31 February 2023", "February 2023", "2023-02-01", "2023-03-01"),
    ("early May 2023", "early May 2023", "2023-05-01", "2023-05-11"),
    ("mid-May", "mid-May", "2023-05-11", "2023-05-21"),
    ("in late February", "late February", "2023-02-21", "2023-03-01"),
    ("What happened in July?", "in July", "2023-07-01", "2023-08-01"),
    ("in September", "in September", "2022-09-01", "2022-10-01"),
    ("what did i buy in may?", "in may", "2023-05-01", "2023-06-01"),
    ("in may i bought it", "in may", "2023-05-01", "2023-06-01"),
    ("In May she moved", "In May", "2023-05-01", "2023-06-01"),
    ("since March", "since March", "2023-03-01", "2023-04-01"),
    ("by the end of April", "end of April", "2023-04-01", "2023-05-01"),
    ("until Dec. 3", "Dec. 3", "2022-12-03", "2022-12-04"),
    ("in the summer of 2022", "summer of 2022", "2022-06-01", "2022-09-01"),
    ("Fall 2021", "Fall 2021", "2021-09-01", "2021-12-01"),
    ("winter 2022", "winter 2022", "2022-12-01", "2023-03-01"),
    ("in 2022, we", "in 2022", "2022-01-01", "2023-01-01"),
    ("mid-2019", "mid-2019", "2019-01-01", "2020-01-01"),
    ("music of the 1990s", "the 1990s", "1990-01-01", "2000-01-01"),
    ("13/5/2023", "13/5/2023", "2023-05-13", "2023-05-14"),
    ("5/13/2023", "5/13/2023", "2023-05-13", "2023-05-14"),
    ("05-05-2023", "05-05-2023", "2023-05-05", "2023-05-06"),
    ("am 7.5.2023 war", "7.5.2023", "2023-05-07", "2023-05-08"),
    ("am 07.05.2023.", "07.05.2023", "2023-05-07", "2023-05-08"),
    ("我们2023年5月7日见面", "2023年5月7日", "2023-05-07", "2023-05-08"),
    ("在5月7日3点", "5月7日", "2023-05-07", "2023-05-08"),
    ("2023年5月の旅行", "2023年5月", "2023-05-01", "2023-06-01"),
    ("2023년 5월 7일에", "2023년 5월 7일", "2023-05-07", "2023-05-08"),
]

# What is seen from Wednesday, 14 June 2023.
RELATIVE = [
    ("today", "today", "2023-06-14", "2023-06-15"),
    ("tonight's show", "tonight", "2023-06-14", "2023-06-15"),
    ("this morning", "this morning", "2023-06-14", "2023-06-15"),
    ("this  afternoon", "this  afternoon", "2023-06-14", "2023-06-15"),
    ("this evening", "this evening", "2023-06-14", "2023-06-15"),
    ("Yesterday I ran", "Yesterday", "2023-06-13", "2023-06-14"),
    ("last night", "last night", "2023-06-13", "2023-06-14"),
    ("tomorrow!", "tomorrow", "2023-06-15", "2023-06-16"),
    ("the day before yesterday", "the day before yesterday", "2023-06-12", "2023-06-13"),
    ("the day after tomorrow", "the day after tomorrow", "2023-06-16", "2023-06-17"),
    ("three days ago", "three days ago", "2023-06-11", "2023-06-12"),
    ("10 days ago", "10 days ago", "2023-06-04", "2023-06-05"),
    ("a couple of days ago", "a couple of days ago", "2023-06-11", "2023-06-14"),
    ("what did I do two weeks ago?", "two weeks ago", "2023-05-28", "2023-06-04"),
    ("a week ago", "a week ago", "2023-06-04", "2023-06-11"),
    ("a few weeks ago", "a few weeks ago", "2023-05-18", "2023-05-31"),
    ("2 weekends ago", "2 weekends ago", "2023-06-03", "2023-06-05"),
    ("a month ago", "a month ago", "2023-04-29", "2023-05-30"),
    ("a year ago", "a year ago", "2021-12-14", "2022-12-14"),
    ("2 days from now", "2 days from now", "2023-06-16", "2023-06-17"),
    ("see you in 3 weeks", "in 3 weeks", "2023-07-02", "2023-07-09"),
    ("the exam is in two days", "in two days", "2023-06-16", "2023-06-17"),
    ("last week", "last week", "2023-06-05", "2023-06-12"),
    ("this week", "this week", "2023-06-12", "2023-06-19"),
    ("NEXT WEEK", "NEXT WEEK", "2023-06-19", "2023-06-26"),
    ("the week before last", "week before last", "2023-05-29", "2023-06-05"),
    ("the month after next", "month after next", "2023-08-01", "2023-09-01"),
    ("last weekend", "last weekend", "2023-06-10", "2023-06-12"),
    ("this weekend", "this weekend", "2023-06-17", "2023-06-19"),
    ("the coming weekend", "coming weekend", "2023-06-17", "2023-06-19"),
    ("next weekend", "next weekend", "2023-06-24", "2023-06-26"),
    ("The weekend was fun", "The weekend", "2023-06-10", "2023-06-12"),
    ("plans for the weekend", "the weekend", "2023-06-17", "2023-06-19"),
    ("last month", "last month", "2023-05-01", "2023-06-01"),
    ("next month", "next month", "2023-07-01", "2023-08-01"),
    ("last year's tax", "last year", "2022-01-01", "2023-01-01"),
    ("this year", "this year", "2023-01-01", "2024-01-01"),
    ("over the past week", "past week", "2023-06-07", "2023-06-15"),
    ("the last 3 days", "last 3 days", "2023-06-11", "2023-06-15"),
    ("in the past two months", "past two months", "2023-04-14", "2023-06-15"),
    ("the next few days", "next few days", "2023-06-14", "2023-06-18"),
    ("last May", "last May", "2023-05-01", "2023-06-01"),
    ("last June", "last June", "2022-06-01", "2022-07-01"),
    ("next May", "next May", "2024-05-01", "2024-06-01"),
    ("this May", "this May", "2023-05-01", "2023-06-01"),
    ("last summer", "last summer", "2022-06-01", "2022-09-01"),
    ("last winter", "last winter", "2022-12-01", "2023-03-01"),
    ("this summer", "this summer", "2023-06-01", "2023-09-01"),
    ("next spring", "next spring", "2024-03-01", "2024-06-01"),
    ("last Friday", "last Friday", "2023-06-09", "2023-06-10"),
    ("last wednesday", "last wednesday", "2023-06-07", "2023-06-08"),
    ("this past Monday", "past Monday", "2023-06-12", "2023-06-13"),
    ("since Sunday", "since Sunday", "2023-06-11", "2023-06-12"),
    ("we meet next Friday", "next Friday", "2023-06-16", "2023-06-17"),
    ("next Wednesday", "next Wednesday", "2023-06-21", "2023-06-22"),
    ("this Wednesday", "this Wednesday", "2023-06-14", "2023-06-15"),
    ("we meet on Friday", "on Friday", "2023-06-16", "2023-06-17"),
    ("On Friday I went to the doctor", "On Friday", "2023-06-09", "2023-06-10"),
    ("What did I do on Friday?", "on Friday", "2023-06-09", "2023-06-10"),
    ("It was bad. We meet on Friday. She left.", "on Friday", "2023-06-16", "2023-06-17"),
    ("I talked to Ann, we will meet on Friday", "on Friday", "2023-06-16", "2023-06-17"),
    ("due by Fri", "by Fri", "2023-06-16", "2023-06-17"),
    ("on Friday next week", "next week", "2023-06-19", "2023-06-26"),
]

NO_DATES = """
I may go|may I come in?|this may be wrong|the last may be first|the state you are in may change|THIS MAY HELP|all 7 may go
march on|they march 10 miles a day|the last march was long|an august body|in august company|a friend named June|Mark and April
the cat sat on the mat|on sat|the sun is out|this sun|last mon|they wed|on the second|wait a second|the first of many|a fall
Python 1.2.3|v2023.5.7|10.0.0.1|192.168.1.20|24/7|1/2|555-123-4567|+49 30 2023-4455|5/7/2023|05-07-2023|ISBN 978-3-16-148410-0
the 90 day plan|90 days|a 5 year old|every day|day by day|Fridays|on Fridays|Friday|Monday morning blues|weekend|weekly
2022|room 2022|in 2048 bytes|in 2000 steps|increased by 2000%|in 2022-23|in 20223|over 2000 people|port 2023|x2023-05-07
2023-13-01|2023-02-30|2023-00-10|0000-01-01|9999-12-31|32 May|31 February|February 30|May 32|in May 32|June 31|0 May|99.99.2023
999999999999 days ago|9999 years ago|9999 decades ago|9999 years from now|1.5 years ago|half a year ago|twenty-two days ago
two days later|the Friday before|two weeks before the move|the last week of school|the last Friday of the month|recently
I wrote it in two days|first time in 3 years|for 3 weeks|days ago|a long time ago|last last last|the past|this fall under
１２月|٧ May|2023年|for i in range(2023): day += 1|days[0] - 7|if (month == 5 and day > 7)|sleep(1)|sha 2023a05b07|mayday|decade
May|in|on|last|3|marching 7|éMay 7|May 7é|May 7.5|may_7|2023-05-07-08|1.2.2023.4|1/2/3/2023
""".replace("\n", "|")


def at(day: str) -> date:
    return date.fromisoformat(day)


@pytest.mark.parametrize(("text", "phrase", "start", "end"), STATED)
def test_a_date_that_stands_by_itself(text: str, phrase: str, start: str, end: str) -> None:
    """Dates in full, without a year, of a month, season, year or decade; in the ways that people write them."""
    expected = dates.Mention(phrase, at(start), at(end), False, text.index(phrase))
    assert dates.find(text, WEDNESDAY) == (expected,)


@pytest.mark.parametrize(("text", "phrase", "start", "end"), RELATIVE)
def test_a_date_that_is_seen_from_the_anchor(text: str, phrase: str, start: str, end: str) -> None:
    """What is said of yesterday, a Friday or some weeks ago is resolved against the anchor's day."""
    expected = dates.Mention(phrase, at(start), at(end), True, text.index(phrase))
    assert dates.find(text, WEDNESDAY) == (expected,)


@pytest.mark.parametrize("text", [text for text in NO_DATES.split("|") if text])
def test_words_and_numbers_that_are_no_dates(text: str) -> None:
    """Verbs, versions, addresses, amounts, days that do not exist and what hangs on another event are left alone."""
    assert dates.find(text, WEDNESDAY) == ()


@pytest.mark.parametrize(
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
    """What is last, this and next changes at midnight, on Mondays and at the end of months, seasons and years."""
    found = dates.find(text, datetime.fromisoformat(f"{anchor}T23:59:59+00:00"))
    assert [(mention.start, mention.end) for mention in found] == [(at(start), at(end))]


def test_today_is_the_day_on_the_calendar_of_the_anchor() -> None:
    """An anchor late in the evening of its own zone still is on that day."""
    evening = datetime(2023, 6, 14, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert dates.find("today", evening)[0].start == at("2023-06-14")


def test_several_dates_come_in_the_order_of_the_text() -> None:
    """Each date of a text is found once, where it stands."""
    text = "Yesterday we moved the launch from May 7 to 2023-07-01; last Friday's plan of 2 weeks ago is void."
    found = dates.find(text, WEDNESDAY)
    assert [mention.phrase for mention in found] == [
        "Yesterday",
        "May 7",
        "2023-07-01",
        "last Friday",
        "2 weeks ago",
    ]
    assert [mention.place for mention in found] == sorted(mention.place for mention in found)


@pytest.mark.parametrize("anchor", [datetime.min, datetime.max])
@pytest.mark.parametrize("text", [row[0] for row in STATED + RELATIVE])
def test_the_ends_of_the_calendar_are_no_error(text: str, anchor: datetime) -> None:
    """What would lie before the year 1 or after the year 9999 is no date."""
    for mention in dates.find(text, anchor.replace(tzinfo=UTC)):
        assert mention.start < mention.end
