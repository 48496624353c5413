"""Whether there is an answer at all (Q7): raw values, which unlike scores do not depend on the best of a bad lot."""

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
NAMED = 0.1  # who asks about somebody that speaks here does not ask at random
USUAL = 0.5  # how much of the likeness to all memories is taken off: some questions are a little like everything
# What chance reaches in a store of one memory, and how that grows with their number.
NOISE, GROWTH = 0.225, 0.037
UNLIKE = 0.2  # what likeness brings by chance; less is asked for where there is no embedder
WHOLE = 0.999
ALIKE = 0.25  # a memory that shares no word with the question, nor do its neighbours, must at least mean the like


class Crowd(NamedTuple):
    """Records among which a candidate may stand out, so many that chance has to be reckoned with."""

    members: Mask  # which of the candidates are of them
    total: int
    usual: float  # how near they all are to the question


class Evidence:
    """Why the candidates of a question could be answers to it."""

    def __init__(self, question: Question, words: Matches, rows: Rows, cosine: Column) -> None:
        self._named = NAMED if question.names else 0.0
        self._shared = words.score[rows] > 0
        self._cosine = cosine
        self._covered = _covered(question.topic, words, rows)
        around = words.score[rows] / max(sum(words.rarity(word) for word in question.topic), 1.0)
        self._weight: Column = cosine + COVERED * self._covered + AROUND * np.minimum(1, around)

    def add_time(self, time: Column) -> None:
        """How well each fits the days that the question means."""
        self._shared |= time > 0
        self._weight += TIMELY * time

    def add_speaker(self, who: Column) -> None:
        """Whose words each is, for a question that is about nothing but a person."""
        self._shared |= who > 0
        self._covered = np.maximum(self._covered, who)

    def confidence(self, score: Column, crowds: Sequence[Crowd]) -> float:
        """By how much the best evidence is above chance, in the crowd where it stands out most."""
        return round(max(self._confidence(score, crowd) for crowd in crowds), 6)

    def _confidence(self, score: Column, crowd: Crowd) -> float:
        """The same in one crowd. One that holds every word of the question always is above chance."""
        chance = (
            NOISE + GROWTH * math.log(max(1, crowd.total)) - (0.0 if self._cosine.any() else UNLIKE)
        )
        members = np.flatnonzero(crowd.members)
        if not len(members):
            return -chance
        best = members[np.argsort(-score[members], kind="stable")[:BEST]]
        whole = 1.0 if (self._covered[members] > WHOLE).any() else 0.0
        return float(self._weight[best].max()) - USUAL * crowd.usual + whole + self._named - chance

    def is_meant(self) -> Mask:
        """Which are worth showing beside an answer: those that share a word, the time or the meaning."""
        meant: Mask = self._shared | (self._cosine >= ALIKE)
        return meant


def _covered(topic: Sequence[str], words: Matches, rows: Rows) -> Column:
    """The share of the question's words that each row holds itself, by how rare they are."""
    worth = {word: words.rareness(word) for word in topic}
    covered = np.zeros(len(rows))
    for word, value in worth.items():
        if word in words.holders:
            covered += value * held(words.holders[word], rows)
    total = sum(worth.values())
    return covered / total if total else covered
