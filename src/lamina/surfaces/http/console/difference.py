"""What a proposal would change, word by word: the comparison of the reviewer in the terminal, as pieces for a page. Pure."""

from __future__ import annotations

from collections.abc import Sequence
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
    """A line as it is now, and as it would be; either may be missing."""

    before: Sequence[Piece] | None
    after: Sequence[Piece] | None


def rows(proposal: Proposal) -> list[Row]:
    """The lines of what is now beside those of what would be."""
    proposed, replaced = wording.saying(proposal.record), proposal.replaces
    if not replaced:
        return [Row(None, pieces(texts.safe(one))) for one in proposed]
    if len(replaced) == 1:
        pairs = comparison.aligned(wording.saying(replaced[0]), proposed)
    else:
        pairs = [comparison.gathered([wording.saying(one) for one in replaced], proposed)]
    return [Row(pieces(before), pieces(after)) for before, after in pairs]


def pieces(made: Text | None) -> list[Piece] | None:
    """The words of a line with what is marked in it; the last mark counts."""
    if made is None:
        return None
    whole = KINDS.get(str(made.style))
    kinds = [whole] * len(made.plain)
    for start, end, style in made.spans:
        kind = KINDS.get(str(style))
        kinds[start:end] = [kind or one for one in kinds[start:end]]
    found: list[Piece] = []
    begun = 0
    for place in range(1, len(kinds) + 1):
        if place == len(kinds) or kinds[place] != kinds[begun]:
            found.append(Piece(made.plain[begun:place], kinds[begun]))
            begun = place
    return found
