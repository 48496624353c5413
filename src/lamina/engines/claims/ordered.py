"""Ask the network about instructions: how likely a piece stands, and what no shape fits. Pure.

"Replies in Polish" or "charts for me in blue and orange" have no shape of an order. Where the
network is sure of such words, they are a piece, which `standing.py` judges like any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from lamina.engines.claims.imperatives import AT_LAST, FRONT, TAIL, Piece, tidied
from lamina.engines.claims.open_words import BORDERS, NOT
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.tagger import Tags

KIND = "tagged"  # of a piece that the network alone sees
BEGINS, GOES_ON = 0.5, 0.3  # how likely its words must be part of an instruction
FEWEST = 3  # words: fewer say nothing
UNLIKELY = 0.02  # what the network says is taken for no surer than this, either way


def likely(tags: Tags, piece: Piece) -> Mapping[str, float]:
    """Tell how likely the network takes the words of a piece for an instruction that stands."""
    first, last = tags.span(piece.start, piece.end)
    if first >= last:
        return {}
    words = tags.orders()[first:last]
    return {"network": _odds(float(words.mean())), "network most": _odds(float(words.max()))}


def _odds(likely: float) -> float:
    bounded = min(1 - UNLIKELY, max(UNLIKELY, likely))
    return round(math.log(bounded / (1 - bounded)), 3)


def pieces(tags: Tags, clauses: Sequence[Clause], found: Sequence[Piece]) -> Iterator[Piece]:
    """Find what the network takes for an instruction, where no piece was found."""
    plain = tags.plain
    grouped = [list(some) for _, some in groupby(clauses, lambda clause: clause.sentence)]
    spans = [(some[0].start, some[-1].end) for some in grouped]
    for place, (start, end) in enumerate(spans):
        following = plain[slice(*spans[place + 1])] if place + 1 < len(spans) else ""
        for begin, stop in _stretches(tags, start, end):
            if not any(piece.start < stop and begin < piece.end for piece in found):
                yield _piece(tags, (begin, stop), (start, end), place, len(spans), following)


def _stretches(tags: Tags, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Find the stretches of a sentence that the network takes for instructions."""
    first, last = tags.span(start, end)
    orders, place = tags.orders(), first
    while place < last:
        begin, place = place, place + 1
        if orders[begin] < BEGINS or tags.words[begin].kind in BORDERS:
            continue
        while place < last and orders[place] >= GOES_ON:
            place += 1
        if place - begin >= FEWEST:
            at = tags.words[begin].start
            stop = tidied(tags.plain, at, tags.words[place - 1].end, TAIL)
            if stop > at:
                yield at, stop


def _piece(
    tags: Tags,
    span: tuple[int, int],
    around: tuple[int, int],
    place: int,
    number: int,
    following: str,
) -> Piece:
    plain, (start, end) = tags.plain, span
    first, last = tags.span(start, end)
    front = FRONT.match(plain, start, end)
    head = front.end() if front and front.end() < end else start
    return Piece(
        start=head,
        head=head,
        end=end,
        kind=KIND,
        negated=any(word.kind == NOT or word.text == "no" for word in tags.words[first:last]),
        verb=tags.words[first].text,
        onward=bool(front and front["onward"]) or bool(AT_LAST.search(plain, start, end)),
        condition="",
        project="",
        after=plain[end : around[1]],
        place=place,
        sentences=number,
        asks=plain[around[1] : around[1] + 1] == "?",
        joined=False,
        sentence=plain[slice(*around)],
        following=following,
        plain=plain,
    )
