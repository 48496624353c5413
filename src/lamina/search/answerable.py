"""Decide whether the store has an answer at all (Q7, C8).

Raw values are compared, since scores are relative to the best record, even if that is bad. Words
have fixed weights, since the words of a topic are common in a store about that topic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lamina.search import content
from lamina.search.question import Question
from lamina.search.request import Column
from lamina.store.index.catalogue import Mask

# The weights of evidence: the share of the topic that a candidate covers, how much that is, the
# right days, and the whole topic. A long text contains more words by chance.
COVERED, MASS, TIMELY, WHOLE = 0.28, 0.28, 0.15, 0.12
LONG = 0.012
UNASKED = 0.04  # for turns of the role that is not asked about: an assistant talks about everything
ENOUGH = 4.0  # more content than this is no stronger evidence
LITTLE = 0.3  # the least content of a topic for computing shares
TELLING = 0.5  # a whole topic with less content than this occurs by chance
NAMED = 0.40  # a question that names a speaker of this store is unlikely to be random
DAY = 0.40  # and so is one only about a day of which something is known
OWN = 0.27  # and one about the user who asks, if that user speaks: "what did I buy?"
POOR = 0.08  # for a question that says little about what it asks for
OF_DAY = 0.7  # how well a memory fits a day on which it was said, or that it mentions
# The evidence that chance produces in a store of one memory, and its growth with their number.
NOISE, GROWTH = 0.21, 0.055
EQUAL = 0.05  # several candidates this close to the best are not there by chance
UNLIKE = 0.14  # the share of similarity in chance; subtracted if there is no embedder
# The least similarity of a memory if neither it nor its neighbours share a word; half of it is
# enough for turns of a person whom the question names.
ALIKE = 0.25


class Crowd(NamedTuple):
    """Records among which a candidate may stand out; the more there are, the larger is chance."""

    members: Mask  # the candidates that belong to it
    total: int
    usual: float  # the similarity of ordinary texts to the question


class Evidence:
    """The reasons why candidates could be answers to a question."""

    def __init__(
        self,
        question: Question,
        held: Mapping[str, Mask],
        shared: Mask,
        length: Column,
        cosine: Column,
    ) -> None:
        self._question = question
        self._shared = shared
        self._cosine = cosine
        self._alike: Column = np.full(len(shared), ALIKE)
        self._known = NAMED if question.names else 0.0
        self._held, self._is_whole = _held(question.topic, held, len(shared))
        self._is_whole &= question.content >= TELLING
        self._weight: Column = (
            cosine
            + COVERED * self._held / max(question.content, LITTLE)
            + MASS * np.minimum(self._held, ENOUGH) / ENOUGH
            - LONG * length
        )

    def add_time(self, time: Column) -> None:
        """Add how well each candidate fits the days that the question means."""
        self._shared |= time > 0
        self._weight += TIMELY * time
        if self._question.is_of_days_alone and (time >= OF_DAY).any():
            self._known = max(self._known, DAY)

    def add_role(self, is_unasked: Column) -> None:
        """Reduce the evidence of turns by the role that is not asked about."""
        self._weight -= UNASKED * is_unasked

    def add_user(self) -> None:
        """Add that the question is about its user, who is a speaker in this store."""
        self._known = max(self._known, OWN)

    def add_speaker(self, who: Column) -> None:
        """Add who said each candidate: all that a question without a topic asks for."""
        self._alike[who > 0] /= 2
        if not self._question.topic:
            self._shared |= who > 0
            self._is_whole |= who > 0

    def confidence(self, crowds: Sequence[Crowd]) -> float:
        """Return how far the best evidence exceeds chance, in the crowd where that is most."""
        return round(max(map(self._confidence, crowds)), 6)

    def _confidence(self, crowd: Crowd) -> float:
        """Compute the confidence in one crowd."""
        chance = NOISE + POOR * max(0.0, 1 - self._question.content)
        chance -= self._known
        chance -= 0.0 if self._cosine.any() else UNLIKE
        weights = (self._weight + WHOLE * self._is_whole)[crowd.members]
        if not len(weights):
            return -chance - GROWTH * math.log(max(1, crowd.total))
        best = float(weights.max())
        equals = int((weights >= best - EQUAL).sum())
        return best - crowd.usual - chance - GROWTH * math.log(max(1.0, crowd.total / equals))

    def is_related(self) -> Mask:
        """Mark the candidates worth showing: they share a word, the time or the meaning."""
        related: Mask = self._shared | (self._cosine >= self._alike)
        return related


def _held(topic: Sequence[str], held: Mapping[str, Mask], number: int) -> tuple[Column, Mask]:
    """Compute how much of the topic each row itself contains, and whether that is all of it."""
    mass = np.zeros(number)
    is_whole = np.full(number, bool(topic))
    for word in topic:
        if word not in held:
            is_whole[:] = False
            continue
        has_word = held[word]
        mass += content.weight(word) * has_word
        is_whole &= has_word
    return mass, is_whole
