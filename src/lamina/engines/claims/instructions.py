"""Read standing instructions: what the speaker wants the assistant always or never to do. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from lamina.engines.claims import Claim, imperatives, ordered, standing
from lamina.engines.claims.attributes import INSTRUCTION
from lamina.engines.claims.imperatives import Piece
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import MASK, Clause
from lamina.engines.claims.tagger import Tags
from lamina.engines.claims.topics import topic
from lamina.text.patterns import bounded

RULE = "instruction"
# What stands between the halves of one instruction: nothing else is said there.
BETWEEN = bounded(r"[\s,;:–—-]*(?:(?:and|but|or|nor|so|then|also|please)\b[\s,]*)*", re.I)
LIKELY = 0.5  # what is less likely to stand is for once


class Order(NamedTuple):
    """What stands in a turn, and what it is about."""

    start: int
    end: int
    place: int  # which sentence of the turn it is in
    topic: str
    sure: float


def given(said: Said, clauses: Sequence[Clause], tags: Callable[[], Tags]) -> Iterator[Claim]:
    """Claim what a speaker wants from now on; the confidence is how likely it is to stand."""
    for one in _joined(said.plain, _standing(clauses, tags())):
        span = one.start, one.end
        yield said.claim(said.speaker, INSTRUCTION + one.topic, span, span, one.sure, RULE)


def _standing(clauses: Sequence[Clause], tags: Tags) -> Iterator[Order]:
    for piece in pieces(clauses, tags):
        sure = standing.sure(piece, ordered.likely(tags, piece))
        if sure >= LIKELY and MASK not in piece.text:
            name = topic(piece.order, piece.project, piece.condition)
            yield Order(piece.start, piece.end, piece.place, name, sure)


def _joined(plain: str, orders: Iterable[Order]) -> Iterator[Order]:
    """Join what one sentence says of one topic: "use uv, never pip" is a single instruction.

    Apart, the second half would replace the first. Where anything else stands between them, they
    stay apart: it may be a quotation, somebody else's wish, or "no, wait".
    """
    last: Order | None = None
    for one in sorted(orders):
        if last and _continues(plain, last, one):
            last = last._replace(end=max(last.end, one.end), sure=max(last.sure, one.sure))
            continue
        if last:
            yield last
        last = one
    if last:
        yield last


def _continues(plain: str, last: Order, one: Order) -> bool:
    is_alike = (last.place, last.topic) == (one.place, one.topic)
    return is_alike and bool(BETWEEN.fullmatch(plain, last.end, max(last.end, one.start)))


def pieces(clauses: Sequence[Clause], tags: Tags) -> list[Piece]:
    """List what asks for something by its shape, then what the network alone sees."""
    found = list(imperatives.pieces(tags.plain, clauses))
    return [*found, *ordered.pieces(tags, clauses, found)]
