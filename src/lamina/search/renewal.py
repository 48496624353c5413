"""Rank a memory above the older one that it updates (Q5) if both fit the question about as well.

A user who had three of something in May and five in June means the five, and one who has moved
lives in the new place. A memory updates another if sleep has found that its fact is the successor,
or if the same speaker later gives another number or day, or says that something has changed.
Nothing is hidden, and nothing is lifted over a hit that fits much better (docs/decisions/0019).
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
from lamina.search.request import Column, Request
from lamina.store.index.catalogue import Rows
from lamina.text import cues
from lamina.text.words import terms

MOST = 5  # number of best hits that are compared
READ = 100  # hits that are read with them
# By how much the older one may fit better if facts tell which came later, and if only the words do:
# a different thing in the same words differs more than that.
KNOWN, RETOLD = 0.33, 0.21
MARGIN = 0.001
# A statement is about the question if it contains this share of the weight of the question's words.
ASKED = 0.4
LONGEST = 4000  # characters that are examined
SENTENCES = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
# Numbers written as words; "one", "first" and "second" mostly do not count anything.
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
    r"\b(?:now|nowadays|these days|no longer|any ?more|any longer"
    r"|instead|changed|switched|moved|became|become)\b",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """A sentence about the subject of the question."""

    values: frozenset[str]  # its numbers and days of the week
    says_change: bool


class Candidate:
    """One of the best hits, and its statements, which are parsed only when they are compared."""

    def __init__(self, place: int, record: Record, worth: Mapping[str, float]) -> None:
        self.place = place
        self.record = record
        self._worth = worth

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(statements(self.record.content, self._worth))

    @cached_property
    def may_renew(self) -> bool:
        """Tell whether there is a value or a word of change, without which it updates nothing."""
        content = self.record.content[:LONGEST]
        return bool(VALUE.search(content.casefold()) or CHANGE.search(content))


def lifts(
    request: Request, question: Question, words: Matches, rows: Rows, score: Column
) -> Column:
    """Compute what to add to each row's score to rank it above what it updates.

    A question about a time, or about a former state, lifts nothing.
    """
    lifted = np.zeros(len(rows))
    if len(rows) < 2 or question.spans or cues.about_before(request.query):
        return lifted
    score = np.round(score, hits.DIGITS)
    candidates = _candidates(request, question, words, rows, score)
    for old, new, most in _renewals(request, candidates):
        if score[old] - score[new] <= most:
            lifted[new] = max(lifted[new], score[old] + lifted[old] + MARGIN - score[new])
    return lifted


def values(content: str) -> frozenset[str]:
    """Find the numbers and days of the week in a text, each in one spelling."""
    return frozenset(SPELLED.get(value, value) for value in VALUE.findall(content.casefold()))


def statements(content: str, worth: Mapping[str, float]) -> Iterator[Statement]:
    """Yield the sentences that state something and have words with enough weight.

    The previous sentence may contain the words: "The bakery? Twice."
    """
    least = round(ASKED * sum(worth.values()), hits.DIGITS)
    before: frozenset[str] = frozenset()
    for sentence in SENTENCES.split(content[:LONGEST]):
        words = frozenset(terms(sentence))
        held = sum(value for word, value in worth.items() if word in words or word in before)
        if worth and round(held, hits.DIGITS) >= least and not cues.ends_asking(sentence):
            yield Statement(values(sentence), bool(CHANGE.search(sentence)))
        before = words


def renews(new: Statement, old: Statement, named: frozenset[str] = frozenset()) -> bool:
    """Tell whether a statement updates an older one.

    An old value that the question names is what it asks about, and is not updated.
    """
    if (old.values - new.values) & named:
        return False
    return new.says_change or not (new.values <= old.values or old.values <= new.values)


def _candidates(
    request: Request, question: Question, words: Matches, rows: Rows, score: Column
) -> list[Candidate]:
    """Return the hits that could come first, oldest first: a lifted one may be updated itself."""
    foremost = hits.best_of(request, rows, score, max(MOST, min(request.limit, READ)))
    best = foremost[:MOST]
    best = best[score[best] >= score[best[0]] - KNOWN]
    if len(best) < 2:  # often a single one stands out, and nothing needs to be read
        return []
    # Read all hits at once: those that are lifted are among them.
    records = request.look.records(rows[foremost].tolist(), request.chosen)
    worth = {word: words.rareness(word) for word in words.holders if word in question.topic}
    candidates = [
        Candidate(place, records[row], worth)
        for place in best.tolist()
        if (row := int(rows[place])) in records
    ]
    return sorted(candidates, key=lambda candidate: candidate.record.occurred_at)


def _renewals(
    request: Request, candidates: Sequence[Candidate]
) -> Iterator[tuple[int, int, float]]:
    """Yield the places of an old and a new hit, and by how much the old one may fit better."""
    # For a guest, facts do not count: records that are not shared must not affect the order.
    ids = [] if request.chosen.guest else [candidate.record.id for candidate in candidates]
    known = request.look.successions(ids, request.chosen.as_of or request.now)
    named = values(request.query)
    for old, new in permutations(candidates, 2):
        if not _may_renew(new.record, old.record) or (new.record.id, old.record.id) in known:
            continue
        if (old.record.id, new.record.id) in known:
            yield old.place, new.place, KNOWN
        elif _is_retold(old, new, named):
            yield old.place, new.place, RETOLD


def _may_renew(new: Record, old: Record) -> bool:
    """Tell whether both are of the same user, and the new one is trusted no less (V8)."""
    is_trusted = new.trust is old.trust or rules.lowest_trust((new.trust, old.trust)) is old.trust
    return new.user == old.user and is_trusted


def _is_retold(old: Candidate, new: Candidate, named: frozenset[str]) -> bool:
    """Tell whether the same speaker updates a statement later, in another session."""
    then, later = old.record, new.record
    if later.occurred_at <= then.occurred_at or later.speaker != then.speaker:
        return False
    if later.session is not None and later.session == then.session:
        return False
    return new.may_renew and any(
        renews(this, that, named) for this in new.statements for that in old.statements
    )
