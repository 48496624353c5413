"""Quote memories for a model: each with a label, all within one fence of limited size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lamina.model.record import Record, iso
from lamina.text import fence, words

LABEL = re.compile(r"[\[\];|]")  # delimiters of labels, which no name may contain
WIDTH = 200  # of one part of a label
ELLIPSIS = "…"


def entry(label: Iterable[str], text: str) -> str:
    """Quote a text below a label, with a mark before each line."""
    body = fence.tamed(words.reveal(text)).strip()
    return "\n".join([f"[{'; '.join(label)}]", *(f"| {line}" for line in body.splitlines())])


def named(name: str, values: Sequence[str]) -> list[str]:
    """Format a part of a label with names that others chose; nothing if there are none."""
    if not values:
        return []
    return [f"{name} {LABEL.sub(' ', fence.tamed(words.one_line(', '.join(values), WIDTH)))}"]


def fitted(entries: Sequence[str], room: int) -> tuple[str, int]:
    """Fence as many entries as fit, in order; return the text and their number.

    The first is cut if it does not fit by itself.
    """
    left = room - len(fence.fenced(""))
    kept: list[str] = []
    for one in entries:
        if len(one) + 1 > left:
            if not kept:
                kept.append(one[: left - len(ELLIPSIS)].rstrip(" |\n") + ELLIPSIS)
            break
        kept.append(one)
        left -= len(one) + 1
    return fence.fenced("\n".join(kept)) if kept else "", len(kept)


def unfenced(record: Record) -> dict[str, str]:
    """Select what may be outside the fence: names that we chose, and no text of a memory."""
    fields = {"id": record.id, "occurred_at": iso(record.occurred_at)}
    for name in ("layer", "kind", "state", "trust"):
        fields[name] = str(getattr(record, name))
    return fields
