"""One test of many cases checks each of them, and tells all that fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lamina import Memory
from tests.cases import GOLDEN, check_all, every, golden
from tests.conftest import Desk, contents


def failure(test: Callable[..., None], *given: object, **more: object) -> str:
    with pytest.raises(pytest.fail.Exception) as caught:
        test(*given, **more)
    return str(caught.value)


def test_all_failures_are_told_at_once() -> None:
    """The first failure hides no other, and each is shown with its case and message."""

    def check(one: int, other: int) -> None:
        assert one == other, f"not {one}"

    message = failure(check_all, [(1, 1), (2, 3), (4, 4), (5, 6)], check)
    assert message.startswith("2 of 4 cases fail")
    assert "case 2: (2, 3)\n    AssertionError: not 2" in message
    assert "case 4: (5, 6)\n    AssertionError: not 5" in message


def test_errors_and_missing_errors_are_failures() -> None:
    """An unexpected error and an expected one that does not come both fail their case."""

    def check(text: str) -> None:
        with pytest.raises(ValueError, match="literal"):
            int(text)

    message = failure(check_all, ["1", "x", None], check)
    assert message.startswith("2 of 3 cases fail")
    assert "DID NOT RAISE" in message
    assert "TypeError" in message


def test_no_cases_are_a_failure() -> None:
    """A list that has become empty checks nothing, and says so."""
    with pytest.raises(AssertionError, match="there are no cases"):
        check_all([], print)


def test_stacked_lists_are_multiplied() -> None:
    """As with `parametrize`, every value meets every other one."""
    seen = []

    @every("one", [1, 2])
    @every(("two", "three"), [(3, 4), (5, 6)])
    def test(one: int, two: int, three: int) -> None:
        seen.append((one, two, three))

    test()
    assert seen == [(1, 3, 4), (1, 5, 6), (2, 3, 4), (2, 5, 6)]


@every("text", ["tea", "coffee"])
def test_every_case_has_a_store_of_its_own(
    desk: Desk, mem: Memory, tmp_path: Path, text: str
) -> None:
    """What one case stores, no other case sees."""
    assert list(tmp_path.iterdir()) == [desk.home]
    mem.remember(text)
    assert contents(desk.operator().list()) == [text]


@every("path", [path for path in GOLDEN.rglob("*") if path.suffix in (".jsonl", ".txt")])
def test_every_golden_file_can_be_read(path: Path) -> None:
    """Lines of JSON and plain lines are cases."""
    assert len(golden(str(path.relative_to(GOLDEN)))) == path.read_bytes().count(b"\n")
