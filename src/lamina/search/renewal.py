"""What was told anew (Q5): a memory comes before the one that it renews, when they fit the question about as well.

Whoever had three of something in May and five in June means the five, and whoever moved lives in the new place. A memory
renews another when sleep has found that what it tells came after, or when the same voice later tells another number or
day, or says that something has changed. Nothing is hidden, and nothing is lifted over what fits much better
(docs/decisions/0019).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import permutations
from typing import NamedTuple

import numpy as np

from lamina.model import rules
from lamina.model.record import Record
from lamina.search import hits
from lamina.search.bm25 import Matches
from lamina.search.question import Question
from lamina.search.request import Ask, Column
from lamina.store.index.catalogue import Rows
from lamina.text import cues
from lamina.text import words as text

MOST = 5  # so many of the best are compared
# By how much the older one may fit better, when facts say what came after what, and when only the words do: another thing
# that is told in the same words fits worse than that.
KNOWN, RETOLD = 0.30, 0.20
MARGIN = 0.001
ASKED = 0.4  # a statement is about the question when it holds this share of what the question's words are worth
LONGEST = 4000  # characters that are looked at
SENTENCES = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
# Numbers that are written as words; "one", "first" and "second" mostly count nothing.
NUMBERS = (
    ("two", "twice", "couple"),
    ("three", "third", "thrice"),
    ("four", "fourth"),
    ("five", "fifth"),
    ("six", "sixth"),
    ("seven", "seventh"),
    ("eight", "eighth"),
    ("nine", "ninth"),
    ("ten", "tenth"),
    ("eleven", "eleventh"),
    ("twelve", "twelfth"),
)
SPELLED = {"once": "1", "single": "1"} | {
    word: str(number) for number, words in enumerate(NUMBERS, 2) for word in words
}
DAY = r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day(?=s?\b)"
VALUE = re.compile(rf"\d+(?:[.,:/-]\d+)*|\b(?:{'|'.join(SPELLED)})\b|{DAY}")
CHANGE = re.compile(
    r"\b(?:now|nowadays|these days|no longer|any ?more|any longer|instead|changed|switched|moved|became|become)\b",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """A sentence about what the question asks."""

    values: frozenset[str]  # its numbers and days of the week
    says_change: bool


class Told:
    """One of the best hits, and what it states about the question; it is read only when there is something to compare."""

    def __init__(self, place: int, record: Record, worth: Mapping[str, float]) -> None:
        self.place = place
        self.record = record
        self._worth = worth

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(statements(self.record.content, self._worth))

    @cached_property
    def may_renew(self) -> bool:
        """Whether anything in it could renew another: without a value or a word of change nothing does."""
        said = self.record.content[:LONGEST]
        return bool(VALUE.search(said.casefold()) or CHANGE.search(said))


def lifts(ask: Ask, question: Question, words: Matches, rows: Rows, score: Column) -> Column:
    """What each row's score lacks to come before what it renews. Who asks about a time, or about before, wants no news."""
    lifted = np.zeros(len(rows))
    if len(rows) < 2 or question.spans or cues.about_before(ask.query):
        return lifted
    score = np.round(score, hits.DIGITS)
    for old, new, most in _renewed(ask, _told(ask, question, words, rows, score)):
        if score[old] - score[new] <= most:
            lifted[new] = max(lifted[new], score[old] + lifted[old] + MARGIN - score[new])
    return lifted


def values(said: str) -> frozenset[str]:
    """The numbers and days of the week in a text, each in one spelling."""
    return frozenset(SPELLED.get(found, found) for found in VALUE.findall(said.casefold()))


def statements(content: str, worth: Mapping[str, float]) -> Iterator[Statement]:
    """The sentences that tell something about words of some worth, also by the sentence before: "The bakery? Twice."."""
    least = round(ASKED * sum(worth.values()), hits.DIGITS)
    before: frozenset[str] = frozenset()
    for sentence in SENTENCES.split(content[:LONGEST]):
        words = frozenset(text.terms(sentence))
        held = sum(value for word, value in worth.items() if word in words or word in before)
        if worth and round(held, hits.DIGITS) >= least and not cues.ends_asking(sentence):
            yield Statement(values(sentence), bool(CHANGE.search(sentence)))
        before = words


def renews(new: Statement, old: Statement, named: frozenset[str] = frozenset()) -> bool:
    """Whether a statement says anew what an older one says. A value that the question names is the one that it asks about."""
    if (old.values - new.values) & named:
        return False
    return new.says_change or not (new.values <= old.values or old.values <= new.values)


def _told(ask: Ask, question: Question, words: Matches, rows: Rows, score: Column) -> list[Told]:
    """The hits that could come first, the oldest before the others: what is lifted may be renewed itself."""
    best = hits.best_of(ask, rows, score, MOST)
    best = best[
        score[best] >= score[best[0]] - KNOWN
    ]  # mostly few, and often one alone: nothing to read
    if len(best) < 2:
        return []
    found = ask.look.records(rows[best].tolist(), ask.chosen)
    worth = {word: words.rareness(word) for word in words.holders if word in question.topic}
    told = [
        Told(place, found[number], worth)
        for place in best.tolist()
        if (number := int(rows[place])) in found
    ]
    return sorted(told, key=lambda one: one.record.occurred_at)


def _renewed(ask: Ask, told: Sequence[Told]) -> Iterator[tuple[int, int, float]]:
    """The places of two hits of which the second renews the first, and by how much the first may fit better."""
    ids = (
        [] if ask.chosen.guest else [one.record.id for one in told]
    )  # what is not shared must not order what is
    known = ask.look.successions(ids, ask.chosen.as_of or ask.now)
    named = values(ask.query)
    for old, new in permutations(told, 2):
        if not _may_renew(new.record, old.record) or (new.record.id, old.record.id) in known:
            continue
        if (old.record.id, new.record.id) in known:
            yield old.place, new.place, KNOWN
        elif _is_retold(old, new, named):
            yield old.place, new.place, RETOLD


def _may_renew(new: Record, old: Record) -> bool:
    """Whether both are of the same user, and the new one is trusted no less (V8)."""
    is_trusted = new.trust is old.trust or rules.lowest_trust((new.trust, old.trust)) is old.trust
    return new.user == old.user and is_trusted


def _is_retold(old: Told, new: Told, named: frozenset[str]) -> bool:
    """Whether the same voice tells anything anew at another time."""
    then, later = old.record, new.record
    is_later = later.occurred_at > then.occurred_at and (
        later.session is None or later.session != then.session
    )
    says_again = is_later and later.speaker == then.speaker and new.may_renew
    return says_again and any(
        renews(this, that, named) for this in new.statements for that in old.statements
    )
