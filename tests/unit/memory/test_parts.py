"""The parts of a handle: one table names them all."""

from __future__ import annotations

import threading
import typing
from concurrent.futures import ThreadPoolExecutor

import pytest

from lamina.memory import parts
from lamina.memory.parts import ORIGINS, Parts
from tests.conftest import Desk


def test_every_part_can_be_made_once(desk: Desk) -> None:
    """The table and the types name the same parts; each is made when it is first used, and stays."""
    assert set(typing.get_type_hints(Parts, include_extras=False, localns=_types())) == set(ORIGINS)
    made = desk.operator()._scope.parts
    for name, origin in ORIGINS.items():
        part = getattr(made, name)
        assert type(part).__name__ == origin.rpartition(".")[2]
        assert getattr(made, name) is part


def test_an_unknown_part_is_an_attribute_error(desk: Desk) -> None:
    """A misspelt part fails as any other attribute does, with its name."""
    with pytest.raises(AttributeError, match="'revieuws'"):
        desk.agent()._scope.parts.revieuws  # noqa: B018


def test_threads_share_every_part(desk: Desk) -> None:
    """B1: a part that several threads need at once is made once: it holds counts and open guests."""
    for _ in range(20):
        made = desk.agent()._scope.parts
        start = threading.Barrier(4)

        def first(parts: Parts = made, start: threading.Barrier = start) -> list[int]:
            start.wait()
            return [id(getattr(parts, name)) for name in ORIGINS]

        with ThreadPoolExecutor(4) as pool:
            seen = [one.result() for one in [pool.submit(first) for _ in range(4)]]
        assert seen[0] == seen[1] == seen[2] == seen[3]
        assert made.drafting._redaction is made.redaction
        assert made.drafting._importance is made.importance


def _types() -> dict[str, object]:
    return {
        origin.rpartition(".")[2]: object for origin in (*parts.ORIGINS.values(), "scope.Scope")
    }
