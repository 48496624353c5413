"""What a question says beside its words: whom it names, when it means, what it wants to hear."""

from __future__ import annotations

import re
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina.search.request import MICROS_PER_DAY, Ask
from lamina.store.index.catalogue import day_number, mark
from lamina.text import cues, dates
from lamina.text import words as text

MOST_SPANS = 16
# Words that ask for anything at all about somebody.
SAYING = frozenset(
    "anything everything know known said say says something speak spoke talk talked tell things think told".split()
)


class Span(msgspec.Struct, frozen=True):
    """Days that a question means, as numbers; the last is not among them."""

    since: int
    until: int
    exact: bool


class Question:
    """A question, read against the visible records."""

    def __init__(self, ask: Ask, *, boosts: bool) -> None:
        self._ask = ask
        self._boosts = boosts

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The words that are the name of somebody who speaks in a visible record, in their order."""
        if not self._boosts:
            return ()
        words = text.WORD.findall(self._ask.query)
        if any(word[0].isupper() for word in words[1:]):  # the first one begins a sentence
            words = [word for word in words if word[0].isupper()]
        some = self._ask.some
        speakers, allowed = self._ask.look.catalogue["speaker"][some], self._ask.allowed[some]
        folded = dict.fromkeys(
            name for word in words if (name := text.first_name(word)) and name not in cues.ROLES
        )
        return tuple(
            name for name in folded if bool((allowed & (speakers == np.uint64(mark(name)))).any())
        )

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words to look for. Those that say who spoke or when are none of them, unless there is nothing else."""
        named = {term for name in self.names for term in text.terms(name)}
        said = set(text.terms(self._undated)) if self.spans else set(self._ask.words)
        return (
            tuple(word for word in self._ask.words if word not in named and word in said)
            or self._ask.words
        )

    @cached_property
    def _undated(self) -> str:
        """The question without its dates."""
        kept, place = [], 0
        for mention in self._mentions:
            kept.append(self._ask.query[place : mention.place])
            place = mention.place + len(mention.phrase)
        return " ".join([*kept, self._ask.query[place:]])

    @cached_property
    def bare(self) -> str:
        """The question without the names of speakers: their vectors would hide what it is about."""
        if not self.names:
            return self._ask.query
        pattern = r"\b(?:" + "|".join(map(re.escape, self.names)) + r")(?:['’]s)?(?!\w)"
        bare = re.sub(pattern, " ", self._ask.query, flags=re.IGNORECASE)
        return bare if text.WORD.search(bare) else self._ask.query

    @cached_property
    def topic(self) -> tuple[str, ...]:
        """The words that say what the question is about; none in "what did Ana say?"."""
        named = {term for name in self.names for term in text.terms(name)}
        return tuple(word for word in self.words if word not in named and word not in SAYING)

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The days that the question means, as far as they have begun."""
        today = self._ask.now.date()
        begun = [mention for mention in self._mentions if mention.start <= today]
        spans = dict.fromkeys(
            Span(day_number(one.start), day_number(one.end), not one.relative) for one in begun
        )
        return tuple(spans)[:MOST_SPANS]

    @cached_property
    def _mentions(self) -> tuple[dates.Mention, ...]:
        return dates.find(self._ask.query, self._ask.now) if self._boosts else ()

    @cached_property
    def wanted(self) -> int:
        return cues.wanted(self._ask.query)

    @cached_property
    def wrong_role(self) -> int:
        """Whose turns the question is not about: the assistant's, or the user's when it asks what the assistant said."""
        return cues.USER if cues.about_assistant(self._ask.query) else cues.ASSISTANT

    def days(self, occurred: NDArray[np.int64]) -> NDArray[np.int64]:
        """Times as numbers of days."""
        days: NDArray[np.int64] = occurred // int(MICROS_PER_DAY)
        return days
