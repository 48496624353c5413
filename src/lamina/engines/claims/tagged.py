"""Propose what the network alone reads in a message, where no shape fits. Pure.

"dad had his hip done, still on crutches" has no shape that the open form knows, but the network
sees that "crutches" are a value of dad's. What such a value is called cannot be known, so the claim
is kept in the speaker's words, as a note about a person that replaces nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lamina.engines.claims import Claim, values
from lamina.engines.claims.open_phrases import DENIED, ENDED, PLANNED
from lamina.engines.claims.open_words import (
    ADVERB,
    ARTICLE,
    ASIDES,
    BE,
    HAVE,
    MY,
    NAME,
    NUMBER,
    OTHER,
    PLAIN,
    PREPOSITION,
    SELF,
    THEIR,
    THEY,
    YOUR,
    Word,
    split,
)
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import MASK, Clause
from lamina.engines.claims.tagger import STATUSES, Tags

RULE = "tagged"
NOTE, PLAN = "other", "plan"
LIKELY = 0.35  # how likely a word must be part of a value for one to begin there
INSIDE = 0.5  # and for one to go on
MOST_WORDS = 9  # of a value: more is a sentence
UNTOLD = 3  # words up to which a value is not understood by itself
BEFORE = 4  # words before it that are looked at for what it is of
LINKS = frozenset({ARTICLE, PREPOSITION, BE, HAVE, ADVERB, MY, THEIR})
CONTENT = frozenset({PLAIN, NAME, NUMBER})
NAMES = frozenset({PLAIN, NAME})  # a name may be written small
PERSONS = frozenset({SELF, MY, THEY, THEIR, OTHER, YOUR})
OTHERS = frozenset({THEY, THEIR, YOUR})


class Tagged(NamedTuple):
    """A value that the network sees: its words, its status, and whom it is about."""

    first: int
    last: int  # behind the last word
    status: str
    about: int  # 0 for the speaker, else the number of a word, counted from 1
    clause: Clause
    near: str  # the kind of the last word before it in its sentence that stands for a person


def proposals(tags: Tags, said: Said, clauses: Sequence[Clause]) -> Iterator[tuple[Tagged, Claim]]:
    """Make a claim of each value that the network sees, in the speaker's words."""
    for one in _values(tags, clauses):
        subject = _subject(tags, one, said)
        begin, end = tags.words[one.first].start, tags.words[one.last - 1].end
        value = said.plain[begin:end]
        if not subject or one.clause.doubted or MASK in value or values.is_empty(value):
            continue
        if one.status == DENIED or (not one.about and one.near in OTHERS):
            continue  # a note denies nothing; "his name is Kyle" is of somebody who was not named
        span = (_understood(tags.words, one), end)
        if _is_bare(said.plain, one, *span):
            continue
        yield (
            one,
            said.claim(
                subject,
                PLAN if one.status == PLANNED else NOTE,
                span,
                span,
                LIKELY,
                RULE,
                negated=one.status == "denied",
                within=one.clause,
                is_over=one.status == ENDED,
            ),
        )


def _values(tags: Tags, clauses: Sequence[Clause]) -> Iterator[Tagged]:
    """List the values that the network sees, each with the clause that it begins in."""
    likely, count = tags.statuses.sum(axis=1), len(tags.statuses)
    place = 0
    while place < count:
        first, place = place, place + 1
        if likely[first] < LIKELY:
            continue
        while place < count and likely[place] >= INSIDE and tags.begins[place] < INSIDE:
            place += 1
        start = tags.words[first].start
        clause = next((one for one in clauses if one.start <= start < one.end), None)
        if clause and place - first <= MOST_WORDS:
            status = STATUSES[int(tags.statuses[first:place].mean(axis=0).argmax())]
            about = int(tags.about(first).argmax())
            near = _near(tags.words[:first], clause, clauses)
            yield Tagged(first, place, status, about, clause, near)


def _near(before: Sequence[Word], clause: Clause, clauses: Sequence[Clause]) -> str:
    sentence = next(one.start for one in clauses if one.sentence == clause.sentence)
    said = (word for word in reversed(before) if word.start >= sentence)
    return next((word.kind for word in said if word.kind in PERSONS), "nobody")


def _understood(words: Sequence[Word], one: Tagged) -> int:
    """Find where the words begin that say what a short value is of: "cab is a DAF XF 480"."""
    if one.last - one.first <= UNTOLD:
        for place in range(one.first - 1, max(0, one.first - BEFORE) - 1, -1):
            word = words[place]
            if word.start < one.clause.start or place == one.about - 1:
                break
            if word.kind in CONTENT:
                return word.start
            if word.kind not in LINKS:
                break
    return words[one.first].start


def _is_bare(plain: str, one: Tagged, start: int, end: int) -> bool:
    """Tell if a short value is all that its clause says: "tea, please" states nothing."""
    around = f"{plain[one.clause.start : start]} {plain[end : one.clause.end]}".lower()
    is_told = any(word.text not in ASIDES for word in split(around) if word.text[0].isalnum())
    return one.last - one.first <= UNTOLD and not is_told


def _subject(tags: Tags, one: Tagged, said: Said) -> str:
    """Name whom a value is about; empty where the network points at no name."""
    if not one.about:
        return said.speaker
    first = last = one.about - 1
    if tags.words[last].kind not in NAMES:
        return ""
    while tags.words[last].kind == NAME and first and tags.words[first - 1].kind == NAME:
        first -= 1
    return said.plain[tags.words[first].start : tags.words[last].end]
