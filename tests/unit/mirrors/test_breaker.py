"""When a server that did not answer is asked again."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import StoreUnavailable
from lamina.mirrors.breaker import FIRST_WAIT, LONGEST_WAIT, Breaker, Outage, after_failure, is_open
from lamina.model.clock import to_micros
from tests.conftest import START, Ticking

NOW = to_micros(START)


@given(failures=st.integers(0, 200), now=st.integers(0, 1 << 55))
def test_waits_grow_up_to_a_limit(failures: int, now: int) -> None:
    """B4: each failure in a row doubles the wait, from half a second to four."""
    known = Outage(failures, now, "down") if failures else None
    made = after_failure(known, now, "down")
    assert made.failures == failures + 1
    assert made.until - now == min(FIRST_WAIT * 2**failures, LONGEST_WAIT)


@given(later=st.integers(-(1 << 40), 1 << 40))
def test_it_opens_for_its_wait_alone(later: int) -> None:
    """B4: nobody asks before the wait is over, everybody after it; a clock that was set back does
    not lock us out."""
    made = after_failure(None, NOW, "down")
    assert is_open(made, NOW + later) == (FIRST_WAIT - LONGEST_WAIT <= later < FIRST_WAIT)
    assert not is_open(None, NOW + later)


@given(
    failures=st.integers(-(1 << 63), (1 << 64) - 1), until=st.integers(-(1 << 63), (1 << 64) - 1)
)
def test_an_edited_count_does_no_harm(
    tmp_path_factory: pytest.TempPathFactory, failures: int, until: int
) -> None:
    """B4: whatever the file says, one more failure can be noted, and nobody waits longer than the
    longest wait."""
    path = tmp_path_factory.mktemp("breaker") / "outage"
    path.write_bytes(msgspec.json.encode(Outage(failures, until, "down")))
    clock = Ticking(step=timedelta())
    breaker = Breaker(path, clock)
    breaker.failed("down")
    clock.jump(timedelta(microseconds=LONGEST_WAIT))
    breaker.check()


def test_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    """B4: something else in the place of the file is not read."""
    os.mkfifo(tmp_path / "outage")
    Breaker(tmp_path / "outage", Ticking()).check()


def test_processes_share_it(tmp_path: Path) -> None:
    """B4: what one handle has found out, another knows, with what went wrong; an answer ends
    it for both."""
    clock = Ticking(step=timedelta())
    one, other = (Breaker(tmp_path / "outage", clock) for _ in range(2))
    one.failed("Weaviate does not answer")
    with pytest.raises(
        StoreUnavailable, match="Weaviate does not answer; it is tried again in a moment"
    ):
        other.check()
    clock.jump(timedelta(seconds=0.5))
    other.check()
    other.failed("still not")
    with pytest.raises(StoreUnavailable, match="still not"):
        one.check()
    other.answered()
    one.check()
    assert list(tmp_path.iterdir()) == []


def test_another_address_is_another_server(tmp_path: Path) -> None:
    """B2, B3: what was found out about a wrong address says nothing about the one that
    is set now."""
    clock = Ticking(step=timedelta())
    wrong, right = (
        Breaker(tmp_path / "outage", clock, f"http://{name}:8000") for name in ("hots", "host")
    )
    wrong.failed("hots cannot be reached")
    right.check()
    with pytest.raises(StoreUnavailable, match="hots"):
        wrong.check()


def test_a_damaged_file_is_no_outage(tmp_path: Path) -> None:
    """B4: what cannot be read says nothing."""
    (tmp_path / "outage").write_bytes(b"\xff{")
    breaker = Breaker(tmp_path / "outage", Ticking(step=timedelta()))
    breaker.check()
    breaker.failed("down")
    with pytest.raises(StoreUnavailable):
        breaker.check()


def test_without_a_folder_each_handle_knows_for_itself(tmp_path: Path) -> None:
    """B4: a home that cannot be written keeps no word of it, and nothing breaks."""
    breaker = Breaker(tmp_path / "nowhere" / "outage", Ticking(step=timedelta()))
    breaker.failed("down")
    with pytest.raises(StoreUnavailable):
        breaker.check()
    breaker.answered()
    breaker.check()
