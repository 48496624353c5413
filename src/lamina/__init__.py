"""Lamina: a layered, local-first, reviewable memory for AI agents."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lamina.errors import (
        Conflict,
        Corrupt,
        InvalidInput,
        LaminaError,
        NotFound,
        Refused,
        StoreUnavailable,
    )
    from lamina.memory.agent import Memory
    from lamina.memory.operator import Operator
    from lamina.memory.pool import Pool
    from lamina.memory.runs import Run
    from lamina.model.clock import Clock
    from lamina.model.record import Change, Event, Hit, Hits, Layer, Record, State, Trust

__version__ = "0.1.0"
# Names are imported on first use: the program must react to Ctrl-C before all of it is loaded.
_ORIGINS = {
    **dict.fromkeys(
        (
            "Conflict",
            "Corrupt",
            "InvalidInput",
            "LaminaError",
            "NotFound",
            "Refused",
            "StoreUnavailable",
        ),
        "errors",
    ),
    **dict.fromkeys(
        ("Change", "Event", "Hit", "Hits", "Layer", "Record", "State", "Trust"), "model.record"
    ),
    "Memory": "memory.agent",
    "Operator": "memory.operator",
    "Pool": "memory.pool",
    "Run": "memory.runs",
}


def open(
    agent: str | None = None,
    user: str | None = None,
    home: Path | str | None = None,
    clock: Clock | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
) -> Memory:
    """Open an agent's handle: remember, search, propose."""
    from lamina.memory.opening import connect
    from lamina.model.record import Role

    return connect(Role.AGENT, agent, user, home, clock, settings=settings)


def operator(
    agent: str | None = None,
    user: str | None = None,
    home: Path | str | None = None,
    clock: Clock | None = None,
    actor: str | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> Operator:
    """Open an operator's handle: all that an agent can do, and what only a person may decide.

    A home that has an operator key asks for it.
    """
    from lamina.memory.opening import connect
    from lamina.model.record import Role

    return cast(
        "Operator",
        connect(Role.OPERATOR, agent, user, home, clock, actor, settings=settings, key=key),
    )


def pool(
    home: Path | str | None = None,
    clock: Clock | None = None,
    *,
    most: int = 32,
    settings: Mapping[str, Any] | None = None,
) -> Pool:
    """Make a pool of agents' handles, of which at most so many stay open."""
    from lamina.memory.opening import connect
    from lamina.memory.pool import Pool
    from lamina.model.record import Role

    def opened(agent: str | None, user: str | None) -> Memory:
        return connect(Role.AGENT, agent, user, home, clock, settings=settings)

    return Pool(opened, most)


__all__ = [
    "Change",
    "Conflict",
    "Corrupt",
    "Event",
    "Hit",
    "Hits",
    "InvalidInput",
    "LaminaError",
    "Layer",
    "Memory",
    "NotFound",
    "Operator",
    "Pool",
    "Record",
    "Refused",
    "Run",
    "State",
    "StoreUnavailable",
    "Trust",
    "open",
    "operator",
    "pool",
]


def __getattr__(name: str) -> Any:
    """Import a public name, or the errors module, on first use."""
    if name in _ORIGINS:
        found = globals()[name] = getattr(importlib.import_module(f"lamina.{_ORIGINS[name]}"), name)
        return found
    if name == "errors":
        return importlib.import_module("lamina.errors")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
