"""The parts of a handle: one table names them all."""

from __future__ import annotations

import typing

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


def _types() -> dict[str, object]:
    return {
        origin.rpartition(".")[2]: object for origin in (*parts.ORIGINS.values(), "scope.Scope")
    }
