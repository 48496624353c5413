"""The context (C1): memories that are put before the next prompt. Pure: all input is passed in."""

from lamina.search.context.bounds import LEAST, LIMITS, MOST, limits, room
from lamina.search.context.builder import build, build_limited, build_within, fit
from lamina.search.context.item import Context, Gathered, Item, Section

__all__ = [
    "LEAST",
    "LIMITS",
    "MOST",
    "Context",
    "Gathered",
    "Item",
    "Section",
    "build",
    "build_limited",
    "build_within",
    "fit",
    "limits",
    "room",
]
