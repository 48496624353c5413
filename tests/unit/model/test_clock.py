"""Times and ids."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput
from lamina.model import clock as clocks
from tests.cases import every
from tests.conftest import START, Desk, Ticking, size

NEW_YORK = timezone(timedelta(hours=-5))
MOMENTS = st.datetimes(
    datetime(1000, 1, 1), datetime(2999, 12, 31, 23, 59, 59, 999999), timezones=st.just(UTC)
)
SEQUENCES = st.integers(1, 2**40)


@every(
    ("value", "expected"),
    [
        (START, START),
        (datetime(2026, 5, 1, 3, 0, tzinfo=NEW_YORK), START),
        ("2026-05-01T08:00:00Z", START),
        ("2026-05-01T10:00:00+02:00", START),
        ("20260501T080000Z", START),
        (START.timestamp(), START),
        (int(START.timestamp()), START),
        (0, clocks.EPOCH),
        (-1.5, datetime(1969, 12, 31, 23, 59, 58, 500000, tzinfo=UTC)),
        ("1000-01-01T00:00:00Z", clocks.EARLIEST),
        ("2999-12-31T23:59:59.999999Z", clocks.LATEST - clocks.MICROSECOND),
    ],
)
def test_moments_are_read_in_three_forms(value: object, expected: datetime) -> None:
    """R1, R4: an aware datetime, ISO-8601 with an offset, or epoch seconds, all become UTC."""
    found = clocks.moment(value)
    assert found == expected
    assert found.tzinfo is UTC


@every(
    "value",
    [
        datetime(2026, 5, 1, 8, 0),
        "2026-05-01T08:00:00",
        "2026-05-01",
        "yesterday",
        "",
        "\0",
        "\ud800",
        math.nan,
        math.inf,
        -math.inf,
        True,
        False,
        None,
        [],
        b"2026-05-01T08:00:00Z",
        1.7e12,
        -1e11,
        1e300,
        10**18,
        10**400,
        -(10**5000),
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))),
        "0999-12-31T23:59:59.999999Z",
        "3000-01-01T00:00:00Z",
    ],
)
def test_naive_and_absurd_times_are_errors(value: object) -> None:
    """R1: a time without a zone, outside the years 1000 to 2999, or no time at all is a typed error
    that names the field."""
    with pytest.raises(InvalidInput, match=r"^since "):
        clocks.moment(value, "since")


@given(MOMENTS)
def test_microseconds_come_back(when: datetime) -> None:
    """R1: times keep their microseconds through the form in which they are stored,
    before 1970 too."""
    assert clocks.from_micros(clocks.to_micros(when)) == when


@pytest.mark.parametrize("answer", [datetime(2026, 1, 1), None, "noon"])
def test_a_clock_must_know_its_zone(desk: Desk, answer: object) -> None:
    """R1: a clock that answers naively, or nonsense, is refused when the handle is opened."""
    with pytest.raises(InvalidInput, match="clock"):
        desk.agent(clock=lambda: answer)


def test_a_clock_elsewhere_is_turned_to_utc(desk: Desk) -> None:
    """R1: all times are UTC, whatever the zone of the clock."""
    record = desk.agent(clock=lambda: datetime(2026, 5, 1, 3, 0, tzinfo=NEW_YORK)).remember("x")
    assert record.created_at == record.occurred_at == START
    assert record.created_at.tzinfo is UTC


def made_id(store: str, agent: str, seq: int, when: datetime) -> str:
    ids = clocks.Ids(store, agent)
    return ids.make(ids.prefix(when), seq)


@given(
    st.lists(st.tuples(SEQUENCES, MOMENTS), unique_by=lambda pair: pair[0], min_size=2, max_size=50)
)
def test_ids_are_unique_whatever_the_clock_says(pairs: list[tuple[int, datetime]]) -> None:
    """R1, Q6: no two sequence numbers of a store share an id, nor its last 12 characters."""
    made = [made_id("store", "sky", seq, when) for seq, when in pairs]
    assert all(clocks.is_id(one) for one in made)
    assert len({one[14:] for one in made}) == len(made)


@given(SEQUENCES, st.integers(0, 59), MOMENTS)
def test_ids_are_unique_at_any_distance(seq: int, power: int, when: datetime) -> None:
    """R1, Q6: numbers that lie far apart do not meet again; 2^60 of them have an id
    of their own."""
    assert (
        made_id("store", "sky", seq, when)[14:]
        != made_id("store", "sky", seq + 2**power, when)[14:]
    )


@given(SEQUENCES, SEQUENCES, MOMENTS)
def test_ids_from_before_1970_come_first(first: int, second: int, when: datetime) -> None:
    """R1: a clock before 1970 makes ids that sort before all later ones."""
    before = min(when, clocks.EPOCH)
    assert made_id("store", "sky", first, before)[:10] == "0" * 10
    assert made_id("store", "sky", first, before) < made_id("store", "sky", second, START)


@given(
    SEQUENCES, SEQUENCES, MOMENTS, st.timedeltas(timedelta(milliseconds=1), timedelta(days=3650))
)
def test_ids_sort_by_time(first: int, second: int, when: datetime, later: timedelta) -> None:
    """R1: the text of an id sorts as its time does, from 1970 on."""
    when = max(when.replace(year=min(when.year, 2900), day=1), clocks.EPOCH)
    assert made_id("store", "sky", first, when) < made_id("store", "sky", second, when + later)


@given(SEQUENCES, MOMENTS)
def test_ids_are_derived_and_not_drawn(seq: int, when: datetime) -> None:
    """Q6: the same store, agent, sequence and clock give the same id; another store or
    agent gives another."""
    made = made_id("store", "sky", seq, when)
    assert made == made_id("store", "sky", seq, when)
    assert made not in (made_id("other", "sky", seq, when), made_id("store", "milton", seq, when))
    assert clocks.tag_of(made) == clocks.agent_tag("sky") != clocks.agent_tag("milton")


@pytest.mark.parametrize(
    "value", ["", "0" * 25, "0" * 27, "I" * 26, "A" * 26, "u" * 26, "0" * 25 + "\n", "０" * 26]
)
def test_other_texts_are_no_ids(value: str) -> None:
    """R1: 26 characters of one alphabet, nothing else."""
    assert not clocks.is_id(value)


WALKS = {
    "back a year": [START, START - timedelta(days=365)],
    "forward ten": [START, START + timedelta(days=3650), START],
    "frozen": [START, START, START],
    "epoch": [clocks.EPOCH, clocks.EPOCH],
    "before 1970": [datetime(1900, 1, 1, tzinfo=UTC), datetime(1800, 1, 1, tzinfo=UTC)],
    "the bounds": [clocks.EARLIEST, clocks.LATEST - timedelta(days=1), clocks.EARLIEST],
}


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS.keys())
def test_a_clock_that_jumps_harms_nothing(desk: Desk, clock: Ticking, walk: list[datetime]) -> None:
    """R1, Q6: whatever the clock does, sequences rise, ids differ, searches answer, and
    the chain verifies."""
    op = desk.operator()
    made = []
    for when in walk:
        clock.set(when)
        made += [op.remember("tea"), *op.remember_many([{"content": "tea"}] * 2)]
        assert len(op.search("tea")) == len(made)
    assert [record.seq for record in made] == list(range(1, len(made) + 1))
    assert len({record.id for record in made}) == len(made)
    assert all(report.ok for report in op.audit_verify().values())


def test_a_clock_that_breaks_later_stores_nothing(desk: Desk, clock: Ticking) -> None:
    """R1: a clock that leaves the years 1000 to 2999 while the handle is open is a typed error, and
    nothing is stored."""
    mem = desk.agent()
    before = size(mem)
    clock.set(datetime(3000, 1, 1, tzinfo=UTC))
    with pytest.raises(InvalidInput, match="clock"):
        mem.remember("x")
    assert size(mem) == before
