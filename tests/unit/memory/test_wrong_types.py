"""Whatever is given to a verb: what it cannot take is an error of ours, which says so, and nothing
is stored."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from docs.generate import methods

from lamina import LaminaError, Memory, Operator
from lamina.memory.browsing import Browsing
from lamina.memory.runs import Run
from lamina.memory.shared import Guest
from lamina.memory.world import WorldModel
from tests.cases import every
from tests.conftest import Desk, size

WRONG = [
    None,
    "\ud800",
    b"tea",
    7,
    10**400,
    math.nan,
    ["x"],
    [None],
    [[]],
    {"x": 1},
    {1: object()},
    object(),
]
HANDLES = {
    "memory": Memory,
    "operator": Operator,
    "guest": Guest,
    "run": Run,
    "world": WorldModel,
    "browsing": Browsing,
}
ENDS_THE_HANDLE = ("close",)
# By what names a verb takes what its signature sums up as more, fields, filters or bounds.
MORE = {
    "bounds": ["layers", "older_than_days", "importance_below", "tags", "states"],
    "filters": [
        name
        for name in inspect.signature(Memory.search).parameters
        if name not in ("self", "query", "limit", "run_id")
    ],
    "more": ["score", "ts", "trust", "user", "unknown"],
    "fields": ["kind", "tags", "importance", "metadata", "evidence", "key", "unknown"],
}
VERBS = [
    (title, name)
    for title, kind in HANDLES.items()
    for name, function in methods(kind)
    if not (name in ENDS_THE_HANDLE and kind is not Run)
    and not (kind is Operator and getattr(Memory, name, None) is function)
    and len(inspect.signature(function).parameters) > 1
]


class Given:
    """What can be given to a verb: the right values of arguments by their names, each time new."""

    def __init__(self, op: Operator, folder: Path) -> None:
        self._op, self._folder, self._number = op, folder, count()

    def __getitem__(self, name: str) -> Any:
        number = next(self._number)
        right: dict[str, Callable[[], Any]] = {
            "record_id": lambda: (
                self._op.remember(f"Ana likes tea number {number}", tags=["tea"]).id
            ),
            "record_ids": lambda: [self._op.remember(f"Ana likes tea number {number}").id],
            "run_id": lambda: self._op.run("look around").id,
            "agent": lambda: "milton",
            "items": lambda: [{"content": "Ana likes tea"}],
            "turns": lambda: [{"speaker": "Ana", "text": "hello"}],
            "event_id": lambda: 1,
            "number": lambda: 1,
            "use": lambda: {"command": "make", "output": "TypeError: tea", "failed": True},
            "patch": lambda: {"drink": "tea"},
            "definition": lambda: {"name": "teapot", "description": "makes tea"},
            "definitions": lambda: [{"name": "teapot", "description": "makes tea"}],
            "config": lambda: {"url": "teapot.example"},
            "kind": lambda: "tool",
            "kept": list,
            "path": lambda: self._folder / str(number),
            "folder": lambda: self._folder / str(number),
        }
        return right.get(name, lambda: f"tea {number}")()


def handle(desk: Desk, op: Operator, title: str) -> Any:
    if title == "guest":
        return desk.agent("milton").shared("sky")
    if title == "run":
        return op.run("make tea")
    return {"memory": desk.agent(), "operator": op, "world": op.world, "browsing": op.browsing}[
        title
    ]


def attempts(
    function: Callable[..., Any], given: Given
) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Every argument with every wrong value, beside right values of those that are needed."""
    parameters = [
        one for name, one in inspect.signature(function).parameters.items() if name != "self"
    ]
    for wrong in parameters:
        for value in WRONG:
            needed = [one for one in parameters if one is not wrong and one.default is one.empty]
            fields = {
                one.name: given[one.name]
                for one in needed
                if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
            }
            if wrong.kind is wrong.VAR_POSITIONAL:
                yield f"*{wrong.name}: {value!r:.40}", (value,), fields
            elif wrong.kind is wrong.VAR_KEYWORD:
                for name in MORE[wrong.name]:
                    yield f"{name}: {value!r:.40}", (), {**fields, name: value}
            else:
                yield f"{wrong.name}: {value!r:.40}", (), {**fields, wrong.name: value}


@every(("title", "name"), VERBS)
def test_what_a_verb_cannot_take_is_an_error_of_ours(
    desk: Desk, tmp_path: Path, title: str, name: str
) -> None:
    """R4, I: nothing but a LaminaError comes out of a verb, whatever any of its arguments is, and
    then nothing is stored."""
    op = desk.operator()
    desk.agent("milton")
    op.remember("the boiler is old", tags=["house"])
    op.grant("milton", tag="house")
    given, held, found = Given(op, tmp_path), handle(desk, op, title), []
    for what, words, fields in attempts(getattr(HANDLES[title], name), given):
        if title == "run":  # the one before may be closed by now
            held = handle(desk, op, title)
        before = size(op)
        try:
            getattr(held, name)(*words, **fields)
        except LaminaError:
            if size(op) != before:
                found.append(f"{what}: stored something")
        except Exception as error:  # noqa: BLE001 - every one is a finding
            found.append(f"{what}: {error!r}")
    assert found == []


def test_the_verbs_are_those_of_the_program() -> None:
    """The list above is read from the program, and holds what it should."""
    assert {
        ("memory", "remember"),
        ("operator", "erase"),
        ("world", "remove"),
        ("memory", "rebuild_mirrors"),
    } <= set(VERBS)
    assert len(VERBS) > 50
