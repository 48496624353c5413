"""What a model is given to read before a task: few memories, bounded, fenced as data, each with where it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from lamina.errors import InvalidInput
from lamina.model.record import Hit, Layer
from lamina.model.rules import one_of
from lamina.text import fence
from lamina.text import words as text

LIMITS = {Layer.PROFILE: 3, Layer.PROCEDURAL: 3, Layer.SEMANTIC: 3}
LEAST = 200  # fewer characters hold no fence with anything in it
MOST = 1_000_000
ELLIPSIS = "…"
LABEL = re.compile(r"[\[\];|]")  # what labels are made of: no name may hold it


class Context(msgspec.Struct, frozen=True):
    """The text for the model, and the hits that are in it. It grants no permission and widens no scope.

    `notes` say what could not be used to find them; `is_whole` is false when that was the store itself.
    """

    text: str
    items: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    is_whole: bool = True

    def __str__(self) -> str:
        return self.text


def limits(given: object) -> dict[Layer, int]:
    """How many memories of which layer at most."""
    if given is None:
        return LIMITS
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"limits {text.shown(given)} is not a mapping of layers to numbers, such as {{'profile': 3}}"
        )
    wanted = {one_of(Layer, layer, "layer"): number for layer, number in given.items()}
    for layer, number in wanted.items():
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 100:
            raise InvalidInput(
                f"the limit {text.shown(number)} of {layer} is not a whole number from 0 to 100"
            )
        if layer is Layer.WORKING:
            raise InvalidInput("working memory is seen within its run only; it is in no context")
    return wanted


def room(characters: object) -> int:
    """How long the text may be, its fence included."""
    if (
        isinstance(characters, bool)
        or not isinstance(characters, int)
        or not LEAST <= characters <= MOST
    ):
        raise InvalidInput(
            f"max_chars {text.shown(characters)} is not a whole number from {LEAST} to {MOST:,}"
        )
    return characters


def made(
    hits: Sequence[Hit],
    most: int,
    notes: Iterable[str] = (),
    shared_by: str | None = None,
    *,
    is_whole: bool = True,
) -> Context:
    """As many of the hits as fit, in their order; the last one may be cut. Without any, the text is empty."""
    left = most - len(fence.fenced(""))
    lines: list[str] = []
    used: list[Hit] = []
    for place, hit in enumerate(hits):
        item = shown(hit, shared_by)
        share = left // (len(hits) - place)  # a long one leaves room for those that follow
        if len(item) > share:
            item = _cut(item, min(left, max(share, LEAST)))
        if not item:
            continue
        lines.append(item)
        used.append(hit)
        left -= len(item) + 1
    return Context(
        fence.fenced("\n".join(lines)) if lines else "",
        tuple(used),
        tuple(dict.fromkeys(notes)),
        is_whole,
    )


def shown(hit: Hit, shared_by: str | None = None) -> str:
    """One memory: a line that says where it comes from, then its text, every line of it marked as such."""
    record = hit.record
    label = [
        f"{record.layer} {record.id}",
        f"trust {record.trust}",
        record.occurred_at.date().isoformat(),
    ]
    for name, value in (
        ("shared by", shared_by),
        ("source", record.source),
        ("speaker", record.speaker),
    ):
        if value is not None:
            label.append(f"{name} {LABEL.sub(' ', fence.tamed(text.one_line(value, 60)))}")
    if hit.duplicates:
        label.append(f"{text.counted(hit.duplicates, 'near-copy', 'near-copies')} not shown")
    body = fence.tamed(text.reveal(record.content)).strip()
    return "\n".join([f"[{'; '.join(label)}]", *(f"| {line}" for line in body.splitlines())])


def _cut(item: str, room: int) -> str:
    """An item that is too long, cut; nothing when even its label and some words do not fit."""
    label = item.index("\n")
    if room < label + 40:
        return ""
    return item[: room - len(ELLIPSIS)].rstrip(" |\n") + ELLIPSIS
