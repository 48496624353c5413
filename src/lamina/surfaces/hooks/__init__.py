"""The hooks that an agent calls around its messages: context before one, capture after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamina.surfaces.hooks.hooks import Hooks
    from lamina.surfaces.hooks.switches import Switches

__all__ = ["Hooks", "Switches"]


def __getattr__(name: str) -> Any:
    """Load a class on first use: the command line starts often, and needs neither."""
    if name == "Hooks":
        from lamina.surfaces.hooks.hooks import Hooks

        return Hooks
    if name == "Switches":
        from lamina.surfaces.hooks.switches import Switches

        return Switches
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
