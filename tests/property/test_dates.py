"""Dates in any text whatsoever."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from lamina.text import dates

YEAR = re.compile("[0-9]{4}")
ANCHORS = st.datetimes(timezones=st.just(UTC))
PIECES = st.sampled_from(
    "last this next past coming on in by since the a an few couple of 0 1 2 7 12 13 29 30 "
    "31 32 999 2022 2023 9999 0000 99999"
    " day days week weeks weekend month months year years decade ago from now before after "
    "May may march August feb sept. dec"
    " Friday monday Tue winter fall summer early mid late yesterday today tomorrow night "
    "7th 1st 年 月 日 5月 7日 년"
    " ٣ ３ ² İ ſ é - / . : , T Z 12:00 'll went will ' ’s % ( ) –".split()
)
JUMBLES = st.builds(
    lambda gap, pieces: gap.join(pieces),
    st.sampled_from(["", " ", "  ", "-", "/", "."]),
    st.lists(PIECES),
)
TEXTS = st.text() | JUMBLES | st.lists(JUMBLES).map(" ".join)


@given(TEXTS, ANCHORS)
@example("İ last Friday", datetime(2023, 6, 14, tzinfo=UTC))
@example("laſt Friday in 3 weeKs", datetime(2023, 6, 14, tzinfo=UTC))
@example("this winter, 9999 decades ago", datetime(1, 1, 1, tzinfo=UTC))
def test_every_mention_is_where_it_says_and_none_overlap(text: str, anchor: datetime) -> None:
    """No text is an error; a mention quotes the text, means at least a day and begins after the one
    before it ends."""
    free = 0
    for mention in dates.find(text, anchor):
        assert mention.place >= free
        free = mention.place + len(mention.phrase)
        assert mention.phrase == text[mention.place : free] != ""
        assert mention.start < mention.end


@given(TEXTS, ANCHORS)
def test_no_date_is_passed_over(text: str, anchor: datetime) -> None:
    """A text that is left out at a glance holds no date: the rules find none in it either."""
    assert dates.find(text, anchor) == tuple(dates._mentions(text, anchor.date()))


@given(TEXTS, ANCHORS, ANCHORS)
def test_what_is_stated_in_full_does_not_depend_on_the_anchor(
    text: str, one: datetime, other: datetime
) -> None:
    """A phrase that names its year means the same days whenever it is read."""
    in_full = [
        {m for m in dates.find(text, anchor) if not m.relative and YEAR.search(m.phrase)}
        for anchor in (one, other)
    ]
    assert in_full[0] == in_full[1]


@given(st.dates(), ANCHORS)
def test_every_day_is_found_as_it_is_written(day: date, anchor: datetime) -> None:
    """Each day of the calendar but the very last is understood in its standard form."""
    found = dates.find(f"on {day.isoformat()}.", anchor)
    assert [mention.start for mention in found] == (
        [] if day.isoformat() == "9999-12-31" else [day]
    )
