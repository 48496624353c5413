"""The changes of a proposal word by word, as the reviewer in the terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from rich.text import Text

from lamina.engines.review import Proposal
from lamina.surfaces.cli.reviewer import comparison, texts, wording

KINDS = {
    comparison.REMOVED: "removed",
    comparison.GONE: "removed",
    comparison.ADDED: "added",
    comparison.NEW: "added",
    texts.HIDDEN: "hidden",
}


class Piece(NamedTuple):
    """Some words of one kind."""

    text: str
    kind: str | None


class Row(NamedTuple):
    """A line in its present and its proposed form; either may be missing."""

    before: Sequence[Piece] | None
    after: Sequence[Piece] | None


def rows(proposal: Proposal) -> list[Row]:
    """Pair the present lines with those of the proposal."""
    proposed, replaced = wording.saying(proposal.record), proposal.replaces
    if not replaced:
        return [Row(None, pieces(texts.safe(line))) for line in proposed]
    if len(replaced) == 1:
        pairs = comparison.aligned(wording.saying(replaced[0]), proposed)
    else:
        pairs = [comparison.gathered([wording.saying(record) for record in replaced], proposed)]
    return [Row(pieces(before), pieces(after)) for before, after in pairs]


def pieces(line: Text | None) -> list[Piece] | None:
    """Split a line where its marks change; if there are several marks, the last counts."""
    if line is None:
        return None
    kinds = [KINDS.get(str(line.style))] * len(line.plain)
    for start, end, style in line.spans:
        mark = KINDS.get(str(style))
        kinds[start:end] = [mark or kind for kind in kinds[start:end]]
    start, split = 0, []
    for kind, run in groupby(kinds):
        end = start + len([*run])
        split.append(Piece(line.plain[start:end], kind))
        start = end
    return split
