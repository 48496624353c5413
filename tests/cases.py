"""Many cases in one test: all of them are checked, and all that fail are listed at once."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import wraps
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Desk, Ticking

GOLDEN = Path(__file__).parent / "golden"
FRESH = ("tmp_path", "clock", "desk", "mem", "op")  # fixtures that every case has for itself
SHOWN = 200  # characters of a case
# What surrounds a case with fixtures of its own, such as a database where stores are not files.
around: Callable[[], AbstractContextManager[None]] = nullcontext


def golden(name: str) -> list[Any]:
    """Read the cases of a file in tests/golden: a line of JSON or, in a `.txt`, of text is one."""
    lines = (GOLDEN / name).read_text("utf-8").split("\n")[:-1]
    if name.endswith(".txt"):
        return lines
    return [tuple(row) if isinstance(row, list) else row for row in map(json.loads, lines)]


def check_all(cases: Iterable[object], check: Callable[..., None]) -> None:
    """Check every case, and fail once with all that failed.

    A tuple is passed as positional arguments, a mapping as named ones, anything else as
    the only one.
    """
    __tracebackhide__ = True
    checked, failures = 0, []
    for checked, case in enumerate(cases, 1):
        try:
            if isinstance(case, Mapping):
                check(**case)
            else:
                check(*(case if isinstance(case, tuple) else (case,)))
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - all are listed
            problem = f"{type(error).__name__}: {error}".replace("\n", "\n    ")
            failures.append(f"case {checked}: {ascii(case)[:SHOWN]}\n    {problem}")
    assert checked, "there are no cases"
    if failures:
        pytest.fail("\n".join((f"{len(failures)} of {checked} cases fail", *failures)), False)


def every(names: str | Sequence[str], values: Iterable[Any]) -> Callable[..., Callable[..., None]]:
    """Let one test check all values, written like `pytest.mark.parametrize` and stacked like it.

    Of the fixtures, those in `FRESH` are new for each case; all others are shared by the cases.
    """
    listed = (names,) if isinstance(names, str) else tuple(names)
    rows = [(value,) if isinstance(names, str) else tuple(value) for value in values]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        return _looped(getattr(test, "_checked", test), [(listed, rows), *_axes(test)])

    return decorate


Axis = tuple[tuple[str, ...], list[tuple[Any, ...]]]


def _axes(test: Callable[..., None]) -> list[Axis]:
    return list(getattr(test, "_axes", ()))


def _looped(test: Callable[..., None], axes: list[Axis]) -> Callable[..., None]:
    """Make one test of a function and everything that its arguments shall be."""
    asked = inspect.signature(test).parameters
    taken = {name for names, _ in axes for name in names}
    fixtures = [name for name in asked if name not in taken]
    fresh = [name for name in fixtures if name in FRESH]
    outer = dict.fromkeys(["tmp_path"] * bool(fresh) + [n for n in fixtures if n not in FRESH])

    @wraps(test)
    def loop(**shared: Any) -> None:
        __tracebackhide__ = True
        folders = iter(range(1_000_000))

        def check(**case: Any) -> None:
            with ExitStack() as stack:
                given = {name: value for name, value in shared.items() if name in asked}
                if fresh:
                    given |= _fresh(stack, shared["tmp_path"] / f"case-{next(folders)}", fresh)
                test(**given, **case)

        check_all((_named(axes, rows) for rows in product(*(rows for _, rows in axes))), check)

    loop.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in outer]
    )
    loop._checked, loop._axes = test, axes  # type: ignore[attr-defined]
    return loop


def _named(axes: list[Axis], rows: tuple[tuple[Any, ...], ...]) -> dict[str, Any]:
    pairs = zip((names for names, _ in axes), rows, strict=True)
    return {name: value for names, row in pairs for name, value in zip(names, row, strict=True)}


def _fresh(stack: ExitStack, folder: Path, names: Sequence[str]) -> dict[str, Any]:
    """Make the fixtures of one case as conftest.py makes them for a test."""
    stack.enter_context(around())
    folder.mkdir()
    clock = Ticking()
    desk = stack.enter_context(Desk(folder / "home", clock))
    made: dict[str, Callable[[], Any]] = {
        "tmp_path": lambda: folder,
        "clock": lambda: clock,
        "desk": lambda: desk,
        "mem": desk.agent,
        "op": desk.operator,
    }
    return {name: made[name]() for name in names}
