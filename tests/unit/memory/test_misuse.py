"""Verbs that are called with the wrong arguments say so in plain words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lamina import InvalidInput, Operator
from lamina.errors import WrongCall
from lamina.memory.misuse import explained
from tests.cases import every
from tests.conftest import size

Use = Callable[[Any], object]


@every(
    ("use", "message"),
    [
        (lambda op: op.remember(), "remember needs content; it takes content, kind, "),
        (lambda op: op.get(), "get needs record_id"),
        (lambda op: op.search("x", limits=3), "has no argument limits; .*did you mean limit"),
        (lambda op: op.facts(1, 2, 3, 4, 5), "facts takes 4 arguments in order, and not 5"),
        (lambda op: op.remember("x", content="y"), "remember was given content twice"),
        (lambda op: op.correct("x"), "correct needs text and reason"),
        (lambda op: op.status(1), "status takes 0 arguments"),
        (lambda op: op.prune(older=3), "prune has no argument older; it takes layers, older_than"),
        (lambda op: op.prunable(older=3), "prunable has no argument older"),
        (lambda op: op.world.set_tool(), "set_tool needs definition"),
        (lambda op: op.run("task").note(), "note needs content"),
        (lambda op: op.run("task").search("x", limits=3), "search has no argument limits"),
    ],
)
def test_a_wrong_call_names_the_verb_and_what_it_takes(
    op: Operator, use: Use, message: str
) -> None:
    """R1, H1: no internal name is in the message; it is bad input, and a TypeError as in all of
    Python; nothing is stored."""
    with pytest.raises(WrongCall, match=message) as caught:
        use(op)
    assert isinstance(caught.value, InvalidInput)
    assert isinstance(caught.value, TypeError)
    assert "()" not in str(caught.value)
    assert size(op)[0] <= 1  # a run notes its task


def test_a_mistake_of_ours_stays_one() -> None:
    """A TypeError further in is not blamed on the caller."""

    @explained
    class Handle:
        def verb(self, value: object) -> int:
            return len(value)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len") as caught:
        Handle().verb(5)
    assert not isinstance(caught.value, WrongCall)
