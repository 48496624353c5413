"""The memories that a model reads before a task: few, bounded, fenced as data, with origin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard

import msgspec

from lamina.errors import InvalidInput
from lamina.model.record import Hit, Layer
from lamina.model.rules import one_of
from lamina.text import fence, words

LIMITS = {Layer.PROFILE: 3, Layer.PROCEDURAL: 3, Layer.SEMANTIC: 3}
LEAST = 200  # fewer characters hold no fence with anything in it
MOST = 1_000_000
ELLIPSIS = "…"
LABEL = re.compile(r"[\[\];|]")  # what labels are made of: no name may hold it


class Context(msgspec.Struct, frozen=True):
    """The text for the model, and the hits that are in it. It grants no permission.

    It widens no scope either. `notes` say what could not be used to find the hits; `is_whole` is
    false when that was the store itself.
    """

    text: str
    items: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    is_whole: bool = True

    def __str__(self) -> str:
        return self.text


def limits(given: object) -> dict[Layer, int]:
    """Check how many memories of each layer are wanted at most; None means the usual numbers."""
    if given is None:
        return LIMITS
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"limits {words.shown(given)} is not a mapping of layers to numbers,"
            " such as {'profile': 3}"
        )
    wanted = {one_of(Layer, layer, "layer"): number for layer, number in given.items()}
    for layer, number in wanted.items():
        if not _is_whole_number(number, 0, 100):
            raise InvalidInput(
                f"the limit {words.shown(number)} of {layer} is not a whole number from 0 to 100"
            )
        if layer is Layer.WORKING:
            raise InvalidInput("working memory is seen within its run only; it is in no context")
    return wanted


def room(characters: object) -> int:
    """Check how long the text may be, its fence included."""
    if not _is_whole_number(characters, LEAST, MOST):
        raise InvalidInput(
            f"max_chars {words.shown(characters)} is not a whole number from {LEAST} to {MOST:,}"
        )
    return characters


def _is_whole_number(value: object, least: int, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def make_context(
    hits: Sequence[Hit],
    most: int,
    notes: Iterable[str] = (),
    shared_by: str | None = None,
    *,
    is_whole: bool = True,
) -> Context:
    """Make a context of as many hits as fit, in their order; without any, its text is empty.

    A hit that is too long for its share of the room is cut.
    """
    left = most - len(fence.fenced(""))
    items: list[str] = []
    used: list[Hit] = []
    for place, hit in enumerate(hits):
        item = shown(hit, shared_by)
        share = left // (len(hits) - place)  # a long one leaves room for those that follow
        if len(item) > share:
            item = _cut(item, min(left, max(share, LEAST)))
        if not item:
            continue
        items.append(item)
        used.append(hit)
        left -= len(item) + 1
    text = fence.fenced("\n".join(items)) if items else ""
    return Context(text, tuple(used), tuple(dict.fromkeys(notes)), is_whole)


def shown(hit: Hit, shared_by: str | None = None) -> str:
    """Show one memory: a label with its origin, then its text, with a mark before each line."""
    record = hit.record
    day = record.occurred_at.date().isoformat()
    label = [f"{record.layer} {record.id}", f"trust {record.trust}", day]
    origins = {"shared by": shared_by, "source": record.source, "speaker": record.speaker}
    for name, value in origins.items():
        if value is not None:
            label.append(f"{name} {LABEL.sub(' ', fence.tamed(words.one_line(value, 60)))}")
    if hit.duplicates:
        label.append(f"{words.counted(hit.duplicates, 'near-copy', 'near-copies')} not shown")
    body = fence.tamed(words.reveal(record.content)).strip()
    return "\n".join([f"[{'; '.join(label)}]", *(f"| {line}" for line in body.splitlines())])


def _cut(item: str, room: int) -> str:
    """Cut an item that is too long; to nothing when its label and some words do not fit."""
    label = item.index("\n")
    if room < label + 40:
        return ""
    return item[: room - len(ELLIPSIS)].rstrip(" |\n") + ELLIPSIS
