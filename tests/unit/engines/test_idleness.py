"""Idle or not (S5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lamina.engines import idleness
from lamina.engines.idleness import ENOUGH, QUIET, SHORT, is_idle
from tests.unit.engines.samples import MIDNIGHT

NOW = datetime(2026, 5, 1, 3, 30, tzinfo=UTC)
UNKNOWN = [0] * 24
OFFICE = [0] * 8 + [50] * 10 + [0] * 6


@pytest.mark.parametrize(
    ("silence", "by_hour", "idle"),
    [
        (None, UNKNOWN, True),
        (timedelta(0), UNKNOWN, False),
        (QUIET - timedelta(microseconds=1), UNKNOWN, False),
        (QUIET, UNKNOWN, True),
        (-timedelta(days=3), UNKNOWN, True),
        (SHORT, OFFICE, True),
        (SHORT - timedelta(microseconds=1), OFFICE, False),
        (SHORT, [count // 100 for count in OFFICE], False),
        (SHORT, [ENOUGH] * 24, False),
    ],
)
def test_silence_or_a_quiet_hour_is_idle(
    silence: timedelta | None, by_hour: list[int], idle: bool
) -> None:
    """S5: ten minutes of silence always are; one is enough in hours in which little is ever
    written, once that is known."""
    last = None if silence is None else NOW - silence
    assert is_idle(NOW, last, by_hour) is idle


def test_a_busy_hour_needs_the_long_silence() -> None:
    """S5: at noon in an office a minute of silence means nothing."""
    noon = NOW.replace(hour=12)
    assert not is_idle(noon, noon - SHORT, OFFICE)
    assert is_idle(noon, noon - QUIET, OFFICE)


@pytest.mark.parametrize(
    ("seconds", "writes", "idle"),
    [(600, 0, True), (599, 0, False), (60, 200, True), (59, 200, False), (60, 199, False)],
)
def test_ten_minutes_or_one_in_a_quiet_hour(seconds: int, writes: int, idle: bool) -> None:
    """S5: the hours of the day tell something from two hundred writes on."""
    by_hour = [0] * 12 + [writes] + [0] * 11
    assert idleness.is_idle(MIDNIGHT, MIDNIGHT - timedelta(seconds=seconds), by_hour) is idle


@pytest.mark.parametrize(("here", "quiet"), [(2, True), (3, False)])
def test_an_hour_is_quiet_below_a_quarter_of_its_share(here: int, quiet: bool) -> None:
    """S5: of 288 writes an hour has twelve as its share, of which three are a quarter and
    no longer little."""
    assert idleness.is_quiet_hour(0, [here, 288 - here, *[0] * 22]) is quiet
