"""Score the visible records by the words of a question: BM25 with binary term frequencies.

Repetitions of a word within one memory do not count. That is faster, and works better on
conversations (docs/decisions/0007).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina.search.request import Request
from lamina.store.index.catalogue import Mask, Rows, Turns
from lamina.store.index.reached import Reach
from lamina.text import cues

Dense = NDArray[np.float32]

NOWHERE: Rows = np.zeros(0, np.int64)
SATURATION = 1.2
LENGTH = 0.5  # with words that count once, the best of a flat field
# A word in more than this share of the records tells little and is ignored if there are rarer ones.
COMMON = 0.2
NEVER_COMMON = 10
SPREAD = 20_000  # a word in more records tells too little to examine all their neighbours
# The weight of a word in the turn 1, 2 or 3 places before or after; and in those before if the
# previous turn asks a question, since an answer depends on the question.
NEAR = (0.60, 0.45, 0.35)
ASKED = (0.90, 0.60, 0.35)
# The share that passes to the next turn of the same speaker: in a log of prompts alone, unlike in a
# conversation, turns do not explain each other.
SAME_SPEAKER = 0.3
REMEMBERED = 4096  # pairs of numbers


class Matches(msgspec.Struct, frozen=True):
    """The relevance of every row, and the counts behind it.

    The weight of a word is the larger of those among all visible records and among own ones, so
    that external copies cannot make a word of an own memory common.
    """

    score: Dense  # one number for each row of the catalogue
    total: int  # the number of visible records that count
    holders: dict[str, Rows]  # the visible rows that contain each word, if there are any
    own_total: int  # the number of visible records that are not external
    own: dict[str, int]  # how many of these contain each word; empty if no record is external
    numbers: dict[str, int]  # how many of the records that count contain each word

    def rarity(self, word: str) -> float:
        """Return the weight of a word in a record of average length."""
        return self._most_of(_rarity, word)

    def rareness(self, word: str) -> float:
        """Return how unlikely it is that a record contains a word by chance.

        It is smoothed, so that one record is enough.
        """
        return self._most_of(_rareness, word)

    def _most_of(self, worth: Callable[[int, int], float], word: str) -> float:
        """Return the larger of a word's weights among all visible records and among own ones."""
        among_all = worth(self.numbers.get(word, 0), self.total)
        if not self.own.get(word):
            return among_all
        return max(among_all, worth(self.own[word], self.own_total))

    def telling(self) -> dict[str, Rows]:
        """Return the holders of the words that are not common; of all words if all are common."""
        most, own = _uncommon(self.total), _uncommon(self.own_total)
        telling = {
            word: rows
            for word, rows in self.holders.items()
            if self.numbers[word] <= most or 0 < self.own.get(word, 0) <= own
        }
        return telling or self.holders


@lru_cache(REMEMBERED)
def _rarity(number: int, total: int) -> float:
    """Return the weight of a word that `number` of `total` records contain."""
    return float(np.log1p((total - number + 0.5) / (number + 0.5)))


def _rareness(number: int, total: int) -> float:
    return math.log((total + 20) / (number + 1))


def _uncommon(total: int) -> float:
    """Return the largest number of records that may contain a word that is not common."""
    return max(NEVER_COMMON, COMMON * total)


def held(holders: Rows, rows: Rows) -> Mask:
    """Mark the rows that are among the holders of a word; use that these are sorted."""
    is_held: Mask = holders.take(holders.searchsorted(rows), mode="clip") == rows
    return is_held


def match(request: Request, words: Sequence[str] | None = None) -> Matches:
    """Score all records by the words of the query, or by some of them.

    Records that the filter hides do not count, not even in the statistics.
    """
    matches = _unscored(request, request.words if words is None else words)
    values = _values(request, matches, matches.holders)
    for rows, worth in zip(matches.holders.values(), values, strict=True):
        matches.score[rows] += worth
    return matches


def around(
    request: Request, words: Sequence[str], shares: Mapping[str, float] | None = None
) -> Matches:
    """Score like `match`, but also count words of neighbouring turns with smaller weights.

    Words in `shares` count only with that share.
    """
    shares = shares or {}
    matches = _unscored(request, [*words, *shares])
    telling = matches.telling()
    reached = _reached(request, matches, telling, shares)
    for word in telling:
        rows, worth = reached[word]
        matches.score[rows] += worth
    return matches


def _unscored(request: Request, words: Sequence[str]) -> Matches:
    """Look up the visible holders of each word; all scores are still 0."""
    allowed, has_outside = request.allowed, request.has_outside
    holders: dict[str, Rows] = {}
    numbers: dict[str, int] = {}
    own: dict[str, int] = {}
    for word in words:
        rows = request.look.holding(word)
        visible = rows[allowed[rows]]
        number, own_number = request.holders(word, visible)
        if number or len(visible):
            numbers[word] = number
        if number and has_outside:
            own[word] = own_number
        if len(visible):
            holders[word] = visible
    score = np.zeros(len(allowed), np.float32)
    return Matches(score, request.total, holders, request.own_total, own, numbers)


def counted(request: Request, words: Sequence[str]) -> Matches:
    """Weigh words by statistics of the whole store, without reading records."""
    numbers = {word: request.holders(word, NOWHERE)[0] for word in words}
    score = np.zeros(0, np.float32)
    return Matches(score, request.total, {}, request.own_total, {}, numbers)


def _values(request: Request, matches: Matches, holders: Mapping[str, Rows]) -> list[Dense]:
    """Compute the weight of each word in each record that contains it: less in a long one."""
    if not holders:
        return []
    numbers = [len(rows) for rows in holders.values()]
    rarity = np.repeat([matches.rarity(word) * (SATURATION + 1) for word in holders], numbers)
    lengths = request.look.catalogue["length"].take(np.concatenate([*holders.values()]))
    norm = SATURATION * (1 - LENGTH + LENGTH * lengths / request.usual_length)
    values = (rarity / (1 + norm)).astype(np.float32)
    return [values[first:end] for first, end in pairwise(accumulate(numbers, initial=0))]


def _reached(
    request: Request, matches: Matches, holders: Mapping[str, Rows], shares: Mapping[str, float]
) -> dict[str, Reach]:
    """Find the rows to which each word gives weight, and how much.

    Questions repeat words: what is found is kept until a record changes.
    """
    known, number = request.look.catalogue.reached, request.visible.number
    keys = {word: (number, word, shares.get(word, 1.0)) for word in holders}
    reached = {word: kept for word, key in keys.items() if (kept := known.get(key))}
    new = {word: rows for word, rows in holders.items() if word not in reached}
    for word, found in _spread(request, matches, new, shares):
        reached[word] = found
        known.keep(keys[word], found)
    return reached


def _spread(
    request: Request, matches: Matches, holders: Mapping[str, Rows], shares: Mapping[str, float]
) -> Iterator[tuple[str, Reach]]:
    """Pass the weights of words on to neighbouring turns, unless a word is too common.

    Yield the rows that each word reaches, some several times, and the largest weight of each.
    """
    values = dict(zip(holders, _values(request, matches, holders), strict=True))
    for word in shares.keys() & values.keys():
        values[word] *= np.float32(shares[word])
    # Without neighbours there is nothing to pass on.
    reach = SPREAD if request.look.catalogue.has_neighbours else 0
    near = {word: rows for word, rows in holders.items() if matches.numbers[word] <= reach}
    best = np.zeros_like(matches.score)
    passed = _passed(request, [*near.values()], [values[word] for word in near])
    for word, (rows, worth) in zip(near, passed, strict=True):
        np.maximum.at(best, rows, worth)
        yield word, (rows, best[rows])
        best[rows] = 0
    for word in holders.keys() - near.keys():
        yield word, (holders[word], values[word].copy())  # a view would keep those of all words


def _passed(
    request: Request, holders: Sequence[Rows], values: Sequence[Dense]
) -> Iterator[tuple[Rows, Dense]]:
    """Yield for each word the rows that contain it and their neighbours, with its weights there.

    Row 0 stands for all turns that are not there, and gets nothing.
    """
    if not holders:
        return
    catalogue = request.look.catalogue
    passing = passes(catalogue)
    start = np.concatenate(holders), np.concatenate(values)
    found = [start]
    for pointers, is_after in ((catalogue.after, True), (catalogue.before, False)):
        reached, worth = start
        for near, asked in zip(NEAR, ASKED, strict=True):
            giver, reached = reached, pointers.take(reached).astype(np.int64)
            worth = worth * passing.take(giver if is_after else reached)
            share = np.where(_is_answer(request, reached), asked, near) if is_after else near
            found.append((reached, (share * worth).astype(np.float32)))
    rows, weights = map(np.array, zip(*found, strict=True))
    if not request.sees_all:
        weights *= request.allowed.take(rows)
    for first, end in pairwise(accumulate(map(len, holders), initial=0)):
        yield rows[:, first:end].ravel(), weights[:, first:end].ravel()


def passes(turns: Turns) -> Dense:
    """Return the share that passes between each turn and the next; 0 if there is none."""
    return turns.once("passes", None, lambda: _passes(turns))


def _passes(turns: Turns) -> Dense:
    speakers = turns["speaker"]
    after = turns.after[: len(speakers)]
    share: Dense = np.where(speakers == speakers[after], SAME_SPEAKER, 1).astype(np.float32)
    share[after == 0] = 0
    return share


def _is_answer(request: Request, rows: Rows) -> Mask:
    """Mark the turns after a visible question."""
    turns = request.look.catalogue
    is_answer = turns.once("answers", None, lambda: _answers(turns)).take(rows)
    return is_answer if request.sees_all else is_answer & request.allowed[turns.before[rows]]


def _answers(turns: Turns) -> Mask:
    """Mark all turns after a question, except an assistant's, which are mostly no answers."""
    signs = turns["signs"]
    asked = signs[turns.before[: len(signs)]] & cues.ASKS > 0
    answers: Mask = asked & (signs & cues.ASSISTANT == 0)
    return answers
