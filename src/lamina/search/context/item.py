"""The parts of a context: items, each with its section and the reason why it is included."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from lamina.model.record import Hit, Outdated, Record


class Section(StrEnum):
    """The sections of a context, in order."""

    ALWAYS = "always"  # instructions and the profile, whatever is asked
    KNOWN = "known"  # what holds now, and what was explicitly remembered
    SAID = "said"  # what somebody said


class Item(msgspec.Struct, frozen=True):
    """A memory in a context: why it is included, and what shares its line.

    `others` are facts that rest on the same `saying` as this one. `outdated` is what does
    not hold of what was said. An item with a `bound` topic was not found by the prompt.
    """

    hit: Hit
    section: Section
    why: str
    others: tuple[Record, ...] = ()
    saying: Record | None = None
    outdated: Outdated | None = None
    bound: bool = False

    @property
    def record(self) -> Record:
        return self.hit.record

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all memories in the line."""
        beside = (*self.others, *(() if self.saying is None else (self.saying,)))
        return (self.record.id, *(record.id for record in beside))

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.record.id, "section": self.section.value, "why": self.why}


class Context(msgspec.Struct, frozen=True):
    """The text for the model, and the hits in it. It grants no permission and widens no scope.

    `reasons` say why each hit is included. `notes` say what could not be used to find the hits;
    `is_whole` is false if that was the store itself.
    """

    text: str
    items: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    is_whole: bool = True
    reasons: tuple[Item, ...] = ()

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the context as plain JSON values."""
        fields: dict[str, Any] = {
            "text": self.text,
            "items": [
                {**hit.to_dict(), "section": item.section.value, "why": item.why}
                for hit, item in zip(self.items, self.reasons, strict=True)
            ],
        }
        return {**fields, "notes": list(self.notes)} if self.notes else fields


class Gathered(msgspec.Struct, frozen=True):
    """The input for a context: everything that was looked up for one prompt.

    `standing` comes first whatever is asked, `bound` maps hits to the topic that they constrain,
    and `told` are the memories that the session was given before.
    """

    goal: str
    standing: tuple[Hit, ...] = ()
    bound: tuple[tuple[Hit, str], ...] = ()
    found: tuple[Hit, ...] = ()
    told: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    shared_by: str | None = None
    is_whole: bool = True
