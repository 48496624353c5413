"""Read a prompt (C2): judge its segments, and make one question from those that count.

The segment that asks for something counts in full. Other segments count as far as memories support
them, and so does a question about which far less is known than about another one: "I am looking
back at our talk about the roof. What did it cost?" needs both sentences, but a greeting or the
questions in a pasted transcript should not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from lamina.search import content
from lamina.search.question import Beside, Question
from lamina.search.request import Request
from lamina.search.segments import Asks, Segment, split
from lamina.text.words import terms

# The number of segments that are judged in full, and of those that ask; chosen by words alone.
JUDGED, ASKING = 5, 8
RICH = 1.0  # the least content of a segment that says what it asks for
EMPTY = 0.1  # less than this is a greeting
ASIDE = 0.10  # subtracted from the evidence of a segment beside one that asks
UNPROMPTED = 0.10  # subtracted if none of several sentences asks: one may match by chance
BESIDE = 0.9  # the maximal weight of the words in such a segment
SPREAD = 0.5  # the difference in evidence between full weight and none
LEAST = 0.05
NEARLY = 0.2  # a question with this much less evidence than the best still counts in full
# A prompt with less content may be a follow-up, which is read together with the last sentences
# before it.
WHOLE = 2.0
TURNS, SENTENCES = 3, 6


class Judged(msgspec.Struct, frozen=True):
    """A segment as a question of its own, whether it is rich, and the confidence in an answer."""

    question: Question
    is_rich: bool
    confidence: float


def context(request: Request, segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Return the last sentences before a follow-up: "and what should I pack for him?".

    Return none if the prompt itself says what it is about.
    """
    told = max(sum(map(content.weight, terms(segment.text))) for segment in segments)
    if told >= WHOLE:
        return ()
    before = [one for text in request.following[-TURNS:] for one in split(text)]
    own = {segment.text for segment in segments}
    return tuple(Segment(one.text, Asks.NOT) for one in before[-SENTENCES:] if one.text not in own)


def read(
    request: Request,
    segments: Sequence[Segment],
    judge: Callable[[Question], float],
    *,
    boosts: bool,
) -> tuple[Question, float]:
    """Make one question from a prompt's segments; return it with the confidence in an answer."""
    questions = [Question(request.asking(one.text), boosts=boosts) for one in segments]
    is_rich = _are_rich(segments, questions)
    any_rich = any(is_rich)
    judged = [
        Judged(
            questions[place],
            is_rich[place],
            judge(questions[place]) - ASIDE * (any_rich and not is_rich[place]),
        )
        for place in _chosen(segments, questions, is_rich)
    ]
    best = max(one.confidence for one in judged)
    shares = [_share(one, best, any_rich=any_rich) for one in judged]
    main = " ".join(
        one.question.request.query for one, share in zip(judged, shares, strict=True) if share >= 1
    )
    beside = [
        Beside(one.question.request.query, share)
        for one, share in zip(judged, shares, strict=True)
        if LEAST <= share < 1
    ]
    if not any(segment.asks for segment in segments) and not request.following:
        best -= UNPROMPTED
    return Question(request.asking(main), boosts=boosts, beside=beside), round(best, 6)


def _are_rich(segments: Sequence[Segment], questions: Sequence[Question]) -> list[bool]:
    """Mark the segments that ask for something; if some have a question mark, only these."""
    asking = [
        segment.asks if question.content >= RICH or question.names else Asks.NOT
        for segment, question in zip(segments, questions, strict=True)
    ]
    clearest = max(asking)
    return [bool(asks) and asks == clearest for asks in asking]


def _share(one: Judged, best: float, *, any_rich: bool) -> float:
    """Return the weight of the words in a segment, from 0 to 1."""
    if one.is_rich:  # one of two questions may be part of pasted text
        return min(1.0, max(0.0, 1 - (best - one.confidence - NEARLY) / SPREAD))
    if any_rich:
        return BESIDE * min(1.0, max(0.0, (one.confidence + ASIDE) / SPREAD))
    return min(1.0, max(0.0, 1 - (best - one.confidence) / SPREAD))


def _chosen(
    segments: Sequence[Segment], questions: Sequence[Question], is_rich: Sequence[bool]
) -> list[int]:
    """Return the places of the segments to judge, in order.

    Prefer those that ask, then those just before them, to which "where was that?" refers, and then
    those about which most is known.
    """
    telling = [
        place
        for place, question in enumerate(questions)
        if question.content >= EMPTY or question.names or question.spans
    ]
    telling = telling or [*range(len(questions))]
    most = max(JUDGED, min(ASKING, sum(is_rich)))
    if len(telling) <= most:
        return telling
    asked_next = [*(one.asks is Asks.MARKED for one in segments[1:]), False]
    best = sorted(
        telling,
        key=lambda place: (
            not is_rich[place],
            not (is_rich[place] or asked_next[place]),
            -_known(questions[place]),
        ),
    )
    return sorted(best[:most])


def _known(question: Question) -> float:
    """Return how much of a segment a single visible memory contains at most."""
    look, allowed = question.request.look, question.request.allowed
    held = [(look.holding(word), content.weight(word)) for word in question.topic]
    held = [(rows, weight) for rows, weight in held if len(rows)]
    if not held:
        return 0.0
    rows = np.concatenate([rows for rows, _ in held])
    weights = np.repeat([weight for _, weight in held], [len(rows) for rows, _ in held])
    mass = np.bincount(rows, weights * allowed[rows])
    return round(float(mass.max()), 9)
