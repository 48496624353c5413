"""Read standing instructions: what the assistant should always or never do. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from lamina.engines.claims import Claim, imperatives, ordered, revocations, standing
from lamina.engines.claims.attributes import INSTRUCTION
from lamina.engines.claims.imperatives import Piece
from lamina.engines.claims.revocations import Standing
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import MASK, Clause
from lamina.engines.claims.tagger import Tags
from lamina.engines.claims.topics import topic
from lamina.text.patterns import bounded

RULE = "instruction"
# The text between the parts of one instruction: nothing else is said there.
BETWEEN = bounded(r"[\s,;:–—-]*(?:(?:and|but|or|nor|so|then|also|please)\b[\s,]*)*", re.I)
LIKELY = 0.5  # less likely instructions are treated as one-time requests


class Order(NamedTuple):
    """A standing instruction in a turn, and its topic."""

    start: int
    end: int
    place: int  # the index of its sentence in the turn
    topic: str
    sure: float


def given(
    said: Said, clauses: Sequence[Clause], tags: Callable[[], Tags], known: Standing
) -> Iterator[Claim]:
    """Yield claims for standing instructions, and denials of those that the turn ends.

    The confidence of a claim is how likely the instruction is to stand. What ends an instruction
    is none itself.
    """
    phrases = list(revocations.phrases(said.plain, clauses))
    ends = list(revocations.revoked(said, phrases, known))
    yield from ends
    taken = [(one.start, one.end) for one in ends]
    taken += [(one.start, one.end) for one in phrases if one.is_no_rule(said.plain)]
    for one in _joined(said.plain, _standing(clauses, tags())):
        if not any(start < one.end and one.start < end for start, end in taken):
            span = one.start, one.end
            yield said.claim(said.speaker, INSTRUCTION + one.topic, span, span, one.sure, RULE)


def _standing(clauses: Sequence[Clause], tags: Tags) -> Iterator[Order]:
    for piece in pieces(clauses, tags):
        sure = standing.sure(piece, ordered.likely(tags, piece))
        if sure >= LIKELY and MASK not in piece.text:
            name = topic(piece.order, piece.project, piece.condition)
            yield Order(piece.start, piece.end, piece.place, name, sure)


def _joined(plain: str, orders: Iterable[Order]) -> Iterator[Order]:
    """Join the orders of one sentence about one topic: "use uv, never pip" is one instruction.

    Otherwise the second part would replace the first. They are not joined if there is other text
    between them: it may be a quotation, somebody else's wish, or "no, wait".
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
    """List the pieces with the shape of an order, then those that only the network detects."""
    found = list(imperatives.pieces(tags.plain, clauses))
    return [*found, *ordered.pieces(tags, clauses, found)]
