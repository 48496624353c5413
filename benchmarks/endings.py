"""Measure how well Lamina recognises that a message says something known is over.

`claims/endings-*.jsonl` holds messages that mention something known, each with the value and
whether it is over. `python -m benchmarks.endings` asks the network about each (`mentions.likely`)
and prints precision and recall by how likely it must be, and how often an estimate is right. In the
held-out messages, a fact that ended or is denied is over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import messages
from benchmarks.claims import HERE
from benchmarks.labelled import ENDINGS, OVER
from lamina.engines.claims import mentions, sentences, tagger

HELD_OUT = tuple(HERE / "claims" / f"held-out{end}.jsonl" for end in ("", "-2", "-3"))
LEVELS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class Mention(NamedTuple):
    """The network's estimate for a value in a message, and whether it is over."""

    likely: float
    is_over: bool


def mentioned(path: Path) -> list[Mention]:
    """Ask about every value in a file that its message contains word for word."""
    rows = _written(path) if path in ENDINGS else _labelled(path)
    asked = ((_likely(text, value), is_over) for text, value, is_over in rows)
    return [Mention(likely, is_over) for likely, is_over in asked if likely is not None]


def _written(path: Path) -> Iterator[tuple[str, str, bool]]:
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        yield row["text"], row["value"], row["over"]


def _labelled(path: Path) -> Iterator[tuple[str, str, bool]]:
    """List the values of messages; what is over in one fact counts as over."""
    for message in messages.messages(path):
        told: dict[str, bool] = {}
        for fact in message.facts:
            told[fact.value] = told.get(fact.value, False) or fact.status in OVER
        yield from ((message.text, value, is_over) for value, is_over in told.items())


def _likely(text: str, value: str) -> float | None:
    plain = sentences.said(text)
    start = plain.lower().find(value.lower())
    if start < 0:
        return None
    tags = tagger.shipped().tag(plain, list(sentences.clauses(plain)), is_talk=False)
    first, last = tags.span(start, start + len(value))
    return mentions.likely(tags, (first, last)) if first < last else None


def row(listed: Sequence[Mention]) -> Iterator[str]:
    """Compute precision and recall by how likely a value must be over."""
    over = np.array([one.is_over for one in listed])
    likely = np.array([one.likely for one in listed])
    yield from (str(len(listed)), str(over.sum()), f"{_average(over, likely):.3f}")
    for level in LEVELS:
        chosen = likely >= level
        right = int((over & chosen).sum())
        yield f"{right / max(1, chosen.sum()):.2f} / {right / max(1, over.sum()):.2f}"


def _average(over: NDArray[np.bool_], likely: NDArray[np.float64]) -> float:
    """Compute the average precision: the mean share that is over, down to each that is."""
    ranked = over[np.argsort(-likely, kind="stable")].astype(float)
    shares = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return float((shares * ranked).sum() / max(1.0, ranked.sum()))


def main() -> None:
    table = Table(title="precision / recall, by how likely it is over", title_justify="left")
    for column in ("file", "values", "over", "average", *(f"{level:.2f}" for level in LEVELS)):
        table.add_column(column, justify="right")
    for path in (*ENDINGS, *HELD_OUT):
        table.add_row(path.stem, *row(mentioned(path)))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
