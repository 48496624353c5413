"""Decide whether there is an answer at all (Q7).

It looks at raw values: scores are relative to the best record, even to the best of a bad lot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lamina.search.bm25 import Matches, held
from lamina.search.question import Question
from lamina.search.request import Column
from lamina.store.index.catalogue import Mask, Rows

BEST = 10  # so many of the best are looked at
COVERED, AROUND, TIMELY = 0.6, 0.2, 0.6
NAMED = 0.1  # a question that names a speaker of this store is not asked at random
# The share of the likeness to all memories that is taken off: some questions are a little like
# everything.
USUAL = 0.5
# The evidence that chance reaches in a store of one memory, and how it grows with their number.
NOISE, GROWTH = 0.225, 0.037
UNLIKE = 0.2  # what likeness brings by chance; less is needed where there is no embedder
WHOLE = 0.999
# A memory must be as near in meaning as this when neither it nor its neighbours share a word.
ALIKE = 0.25


class Crowd(NamedTuple):
    """Records among which a candidate may stand out; the more they are, the more chance reaches."""

    members: Mask  # the candidates that belong to it
    total: int
    usual: float  # the mean likeness of all its records to the question


class Evidence:
    """The reasons why candidates could be answers to a question."""

    def __init__(self, question: Question, words: Matches, rows: Rows, cosine: Column) -> None:
        self._named = NAMED if question.names else 0.0
        self._shared = words.score[rows] > 0
        self._cosine = cosine
        self._covered = _covered(question.topic, words, rows)
        around = words.score[rows] / max(sum(words.rarity(word) for word in question.topic), 1.0)
        self._weight: Column = cosine + COVERED * self._covered + AROUND * np.minimum(1, around)

    def add_time(self, time: Column) -> None:
        """Count how well each candidate fits the days that the question means."""
        self._shared |= time > 0
        self._weight += TIMELY * time

    def add_speaker(self, who: Column) -> None:
        """Count whose words each candidate is, for a question about nothing but a person."""
        self._shared |= who > 0
        self._covered = np.maximum(self._covered, who)

    def confidence(self, score: Column, crowds: Sequence[Crowd]) -> float:
        """Tell how far the best evidence is above chance, in the crowd where it stands out most."""
        return round(max(self._confidence(score, crowd) for crowd in crowds), 6)

    def _confidence(self, score: Column, crowd: Crowd) -> float:
        """Compute the confidence in one crowd.

        A candidate that holds every word of the question is always above chance.
        """
        unlike = 0.0 if self._cosine.any() else UNLIKE
        chance = NOISE + GROWTH * math.log(max(1, crowd.total)) - unlike
        members = np.flatnonzero(crowd.members)
        if not len(members):
            return -chance
        best = members[np.argsort(-score[members], kind="stable")[:BEST]]
        whole = 1.0 if (self._covered[members] > WHOLE).any() else 0.0
        return float(self._weight[best].max()) - USUAL * crowd.usual + whole + self._named - chance

    def is_related(self) -> Mask:
        """Mark the candidates worth showing: they share a word, the time or the meaning."""
        related: Mask = self._shared | (self._cosine >= ALIKE)
        return related


def _covered(topic: Sequence[str], words: Matches, rows: Rows) -> Column:
    """Compute the share of the topic's words that each row itself holds, weighted by rareness."""
    worth = {word: words.rareness(word) for word in topic}
    covered = np.zeros(len(rows))
    for word, value in worth.items():
        if word in words.holders:
            covered += value * held(words.holders[word], rows)
    total = sum(worth.values())
    return covered / total if total else covered
