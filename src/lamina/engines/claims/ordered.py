"""Use the network for instructions: how likely pieces are to stand, and pieces of no shape. Pure.

"We write commit messages in the imperative" does not have the shape of an order. If the network is
sure about such a sentence, it becomes a piece, which `standing.py` judges like any other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from lamina.engines.claims.imperatives import AT_LAST, FRONT, NEVER, TAIL, Piece, tidied
from lamina.engines.claims.open_words import NOT
from lamina.engines.claims.sentences import Clause, by_sentence
from lamina.engines.claims.tagger import Tags

KIND = "tagged"  # of a piece that only the network finds
FEATURE = "network"
SEEN = 0.5  # the minimal probability that the words of a sentence are an instruction
FEWEST = 3  # words; fewer say nothing
# "Our teacher told us never to …": somebody else's order.
REPORTED = re.compile(r"\b(?:told|said|says|asked|asks|taught|wrote|wants|wanted)\b", re.I)
UNLIKELY = 0.02  # probabilities of the network are clipped to this distance from 0 and 1


def likely(tags: Tags, piece: Piece) -> Mapping[str, float]:
    """Return how likely the words of a piece are a standing instruction, by the network."""
    share = min(1 - UNLIKELY, max(UNLIKELY, _share(tags, piece.start, piece.end)))
    return {FEATURE: round(math.log(share / (1 - share)), 3)}


def _share(tags: Tags, start: int, end: int) -> float:
    first, last = tags.span(start, end)
    return float(tags.orders()[first:last].mean()) if first < last else 0.0


def pieces(tags: Tags, clauses: Sequence[Clause], found: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the sentences without pieces that the network classifies as instructions."""
    plain = tags.plain
    spans = [(some[0].start, some[-1].end) for some in by_sentence(clauses)]
    for place, (start, end) in enumerate(spans):
        if any(piece.place == place for piece in found) or _is_none(plain, start, end):
            continue
        if _share(tags, start, end) >= SEEN:
            following = plain[slice(*spans[place + 1])] if place + 1 < len(spans) else ""
            yield _piece(plain, (start, end), place, len(spans), following, tags)


def _is_none(plain: str, start: int, end: int) -> bool:
    """Tell if a sentence cannot be an instruction, whatever the network says."""
    is_asked, is_short = plain[end : end + 1] == "?", len(plain[start:end].split()) < FEWEST
    is_reported = bool(REPORTED.search(plain, start, end))
    return is_asked or is_short or is_reported or bool(NEVER.match(plain, _head(plain, start, end)))


def _head(plain: str, start: int, end: int) -> int:
    front = FRONT.match(plain, start, end)
    return front.end() if front and front.end() < end else start


def _piece(
    plain: str, span: tuple[int, int], place: int, number: int, following: str, tags: Tags
) -> Piece:
    start, end = span
    front, head = FRONT.match(plain, start, end), _head(plain, start, end)
    stop = tidied(plain, head, end, TAIL)
    first, last = tags.span(head, end)
    words = tags.words[first:last]
    return Piece(
        start=head,
        head=head,
        end=stop if stop > head else end,
        kind=KIND,
        negated=any(word.kind == NOT or word.text == "no" for word in words),
        verb=words[0].text if words else "",
        onward=bool(front and front["onward"]) or bool(AT_LAST.search(plain, head, end)),
        condition="",
        project="",
        after="",
        place=place,
        sentences=number,
        asks=False,
        joined=False,
        sentence=plain[start:end],
        following=following,
        plain=plain,
    )
