"""Lamina: a layered, local-first, reviewable memory for AI agents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lamina.clock import Clock
from lamina.errors import Conflict, Corrupt, InvalidInput, LaminaError, NotFound, Refused, StoreUnavailable
from lamina.handles import connect
from lamina.memory import Memory
from lamina.model import Change, Event, Hit, Hits, Layer, Record, Role, State, Trust
from lamina.runs import Run

if TYPE_CHECKING:
    from lamina.operators import Operator

__version__ = "0.1.0"


def open(
    agent: str | None = None,
    user: str | None = None,
    home: Path | str | None = None,
    clock: Clock | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
) -> Memory:
    """An agent's handle: remember, search, propose."""
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
    """An operator's handle: what an agent can do, and what only a person may. A home may ask for its operator key."""
    return cast("Operator", connect(Role.OPERATOR, agent, user, home, clock, actor, settings=settings, key=key))


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
    "Record",
    "Refused",
    "Run",
    "State",
    "StoreUnavailable",
    "Trust",
    "open",
    "operator",
]


def __getattr__(name: str) -> Any:
    """`Operator` is loaded when it is first asked for."""
    if name == "Operator":
        from lamina.operators import Operator

        return Operator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
