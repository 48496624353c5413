"""Read standing instructions: what the speaker wants the assistant always or never to do. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lamina.engines.claims import Claim, imperatives, ordered, standing
from lamina.engines.claims.attributes import INSTRUCTION
from lamina.engines.claims.imperatives import Piece
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import MASK, Clause
from lamina.engines.claims.tagger import Tags
from lamina.engines.claims.topics import topic

RULE = "instruction"
LIKELY = 0.5  # what is less likely to stand is for once


def given(said: Said, clauses: Sequence[Clause], tags: Callable[[], Tags]) -> Iterator[Claim]:
    """Claim what a speaker wants from now on; the confidence is how likely it is to stand."""
    for piece in pieces(clauses, tags()):
        sure = standing.sure(piece, ordered.likely(tags(), piece))
        if sure >= LIKELY and MASK not in piece.text:
            attribute = INSTRUCTION + topic(piece.order, piece.project)
            span = piece.start, piece.end
            yield said.claim(said.speaker, attribute, span, span, sure, RULE)


def pieces(clauses: Sequence[Clause], tags: Tags) -> list[Piece]:
    """List what asks for something by its shape, then what the network alone sees."""
    found = list(imperatives.pieces(tags.plain, clauses))
    return [*found, *ordered.pieces(tags, clauses, found)]
