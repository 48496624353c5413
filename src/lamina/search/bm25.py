"""How well the words of a question match: BM25 over the visible records, in which a word is there or not.

How often a word is repeated within one memory does not count. That is faster to find out, and on conversations it is
better (docs/decisions/0007).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina.search.request import Ask
from lamina.store.index.catalogue import Mask, Rows
from lamina.text import cues

Dense = NDArray[np.float32]

SATURATION = 1.2
LENGTH = 0.5  # with words that count once, the best of a flat field
# A word in more than this share of the records tells little; it is left out when there are rarer ones.
COMMON = 0.2
NEVER_COMMON = 10
SPREAD = 20_000  # a word in more records than this tells too little to look at all their neighbours
NEAR = (
    0.60,
    0.45,
    0.35,
)  # what a word counts that stands in the turn 1, 2, 3 places before or after
ASKED = (
    0.90,
    0.60,
    0.35,
)  # ... before, when the turn before asks a question: an answer lives on what was asked


class Matches(msgspec.Struct, frozen=True):
    """The relevance of every row, and what it is made of.

    A word is worth what it is worth among all visible records, or among those that are not from outside, whichever is more:
    copies from outside make no word common that an own memory holds.
    """

    score: Dense  # one number for each row of the catalogue
    total: int  # how many records are visible
    holders: dict[str, Rows]  # the visible rows that hold each word, for words that any holds
    own_total: int  # how many of the visible records are not from outside
    own: dict[str, int]  # how many of them hold each word; empty when none is from outside

    def rarity(self, word: str) -> float:
        """What a word is worth in a record of the usual length."""
        worth = _rarity(len(self.holders.get(word, ())), self.total)
        return max(worth, _rarity(self.own[word], self.own_total)) if self.own.get(word) else worth

    def rareness(self, word: str) -> float:
        """How little is to be expected of chance when a record holds a word; smooth, so that one record is enough."""
        worth = _rareness(len(self.holders.get(word, ())), self.total)
        return (
            max(worth, _rareness(self.own[word], self.own_total)) if self.own.get(word) else worth
        )

    def telling(self) -> dict[str, Rows]:
        """The holders of words that are not common; of all, when every word is."""
        most, own = _most(self.total), _most(self.own_total)
        telling = {
            word: rows
            for word, rows in self.holders.items()
            if len(rows) <= most or 0 < self.own.get(word, 0) <= own
        }
        return telling or self.holders


def _rarity(number: int, total: int) -> float:
    """What a word is worth that so many of some records hold."""
    return float(np.log1p((total - number + 0.5) / (number + 0.5)))


def _rareness(number: int, total: int) -> float:
    return math.log((total + 20) / (number + 1))


def _most(total: int) -> float:
    """In how many of some records a word may be that is not common."""
    return max(NEVER_COMMON, COMMON * total)


def held(holders: Rows, rows: Rows) -> Mask:
    """Which of some rows are among the holders of a word; those ascend, so it need not look at all of them."""
    places = np.minimum(np.searchsorted(holders, rows), len(holders) - 1)
    found: Mask = holders[places] == rows
    return found


def match(ask: Ask) -> Matches:
    """Score all records by the words of the question. What the filter hides counts for nothing, not even as a number."""
    matches = _held(ask, ask.words)
    for word, rows in matches.holders.items():
        matches.score[rows] += _values(ask, matches, word, rows)
    return matches


def around(ask: Ask, words: Sequence[str]) -> Matches:
    """The same, where a word also counts that stands in a neighbouring turn of the conversation, if less."""
    matches = _held(ask, words)
    best = np.zeros_like(matches.score)
    for word, rows in matches.telling().items():
        values = _values(ask, matches, word, rows)
        if len(rows) > SPREAD:
            matches.score[rows] += values
            continue
        best[rows] = values
        touched = [rows, *_spread(ask, best, rows, values)]
        for some in touched:
            matches.score[some] += best[some]
            best[some] = 0
    return matches


def _held(ask: Ask, words: Sequence[str]) -> Matches:
    allowed = ask.allowed
    holders = {
        word: found[allowed[found]] for word in words if len(found := ask.look.holding(word))
    }
    holders = {word: rows for word, rows in holders.items() if len(rows)}
    own = (
        {word: int((~ask.is_outside(rows)).sum()) for word, rows in holders.items()}
        if ask.has_outside
        else {}
    )
    return Matches(np.zeros(len(allowed), np.float32), len(ask.rows), holders, len(ask.own), own)


def _values(ask: Ask, matches: Matches, word: str, rows: Rows) -> Dense:
    """What a word is worth in each record that holds it: less in a long one."""
    norm = SATURATION * (
        1 - LENGTH + LENGTH * ask.look.catalogue["length"][rows] / ask.usual_length
    )
    values: Dense = (matches.rarity(word) * (SATURATION + 1) / (1 + norm)).astype(np.float32)
    return values


def _spread(ask: Ask, best: Dense, rows: Rows, values: Dense) -> Iterator[Rows]:
    """Hand a word's worth on to the neighbours of those that hold it; yields the rows that got some."""
    catalogue = ask.look.catalogue
    for pointers, is_after in ((catalogue.after, True), (catalogue.before, False)):
        reached, worth = rows, values
        for near, asked in zip(NEAR, ASKED, strict=True):
            reached = pointers[reached].astype(np.int64)
            there = reached > 0
            if not there.any():
                break
            reached, worth = reached[there], worth[there]
            share = np.where(_answers(ask, reached), asked, near) if is_after else near
            seen = ask.allowed[reached]
            best[reached[seen]] = np.maximum(best[reached[seen]], (share * worth)[seen])
            yield reached[seen]


def _answers(ask: Ask, rows: Rows) -> Mask:
    """Whether the turn before asks a question; what an assistant says is mostly no answer to one."""
    catalogue = ask.look.catalogue
    before = catalogue.before[rows]
    asked = (catalogue["signs"][before] & cues.ASKS > 0) & ask.allowed[before]
    answers: Mask = asked & (catalogue["signs"][rows] & cues.ASSISTANT == 0)
    return answers
