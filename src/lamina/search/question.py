"""Read a question: its words, the speakers it names, the days it means, the answer it wants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina.search import content
from lamina.search.request import MICROS_PER_DAY, Request
from lamina.search.segments import asks, unopened
from lamina.store.index.catalogue import day_number
from lamina.text import cues, dates, persons
from lamina.text.words import WORD, asked, first_name, terms

MOST_SPANS = 16
LITTLE = 1.0  # the content of a question that says little
# Words with which a question asks for anything at all about a person.
SAYING = frozenset(
    "anything everything know known said say says something speak spoke"
    " talk talked tell things think told".split()
)


class Span(msgspec.Struct, frozen=True):
    """Days that a question means, as day numbers; `until` is exclusive."""

    since: int
    until: int
    exact: bool


class Beside(NamedTuple):
    """Text of a prompt other than its question, and the weight of its words, from 0 to 1."""

    text: str
    share: float


class Question:
    """A question, interpreted with regard to the visible records."""

    def __init__(self, request: Request, *, boosts: bool, beside: Sequence[Beside] = ()) -> None:
        self.request = request
        self.beside = beside
        self._boosts = boosts

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The words that name a speaker of a visible record, in order."""
        if not self._boosts:
            return ()
        words = WORD.findall(self.request.query)
        if any(word[0].isupper() for word in words[1:]):  # the first word begins a sentence
            words = [word for word in words if word[0].isupper()]
        names = dict.fromkeys(name for word in words if (name := first_name(word)))
        speaks = self.request.speaks
        return tuple(name for name in names if name not in cues.ROLES and speaks(name))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words to search for: without opening, names and dates, if there is anything else."""
        words, named = self.request.words, self._named
        kept = set(terms(self._unopened))
        if self.spans:
            kept &= set(terms(self._undated))
        return tuple(word for word in words if word not in named and word in kept) or words

    @cached_property
    def _unopened(self) -> str:
        """The question without its opening, such as "hey, remind me"."""
        return unopened(self.request.query)

    @cached_property
    def _named(self) -> frozenset[str]:
        """The words in the names of speakers, as spelled in the index."""
        return frozenset(term for name in self.names for term in terms(name))

    @cached_property
    def _undated(self) -> str:
        """The question without its dates."""
        kept, place = [], 0
        for mention in self._mentions:
            kept.append(self.request.query[place : mention.place])
            place = mention.place + len(mention.phrase)
        return " ".join([*kept, self.request.query[place:]])

    @cached_property
    def bare(self) -> str:
        """The question without its opening and the names of speakers.

        Their vectors would hide what it is about.
        """
        if not self.names:
            return self._unopened
        pattern = r"\b(?:" + "|".join(map(re.escape, self.names)) + r")(?:['’]s)?(?!\w)"
        bare = re.sub(pattern, " ", self._unopened, flags=re.IGNORECASE)
        return bare if WORD.search(bare) else self._unopened

    @cached_property
    def topic(self) -> tuple[str, ...]:
        """The words that say what the question is about; none in "what did Ana say?"."""
        ignored = self._named | SAYING
        return tuple(word for word in self.words if word not in ignored)

    @cached_property
    def content(self) -> float:
        """The total content of the topic's words, independent of the store."""
        return sum(map(content.weight, self.topic))

    @cached_property
    def shares(self) -> dict[str, float]:
        """The weight of each word beside the question, unless it is one of the question's own."""
        own = frozenset(self.request.words)
        shares: dict[str, float] = {}
        for beside in self.beside:
            for word in terms(beside.text):
                if word not in own:
                    shares[word] = max(beside.share, shares.get(word, 0.0))
        return shares

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The days that the question means; for future ones, memories can mention them."""
        spans = dict.fromkeys(
            Span(day_number(mention.start), day_number(mention.end), not mention.relative)
            for mention in self._mentions
        )
        return tuple(spans)[:MOST_SPANS]

    @cached_property
    def is_of_days_alone(self) -> bool:
        """True if it says little besides the days that it means: "what is on 21 November?"."""
        beside = (word for word in terms(self._undated) if word not in self._named | SAYING)
        return bool(self.spans) and sum(map(content.weight, beside)) < LITTLE

    @cached_property
    def _mentions(self) -> tuple[dates.Mention, ...]:
        return dates.find(self.request.query, self.request.now) if self._boosts else ()

    @cached_property
    def wanted(self) -> int:
        """The cues of an answer, such as a number or a date."""
        return cues.wanted(self.request.query)

    @cached_property
    def wrong_role(self) -> int:
        """The cue of the role whose turns are not asked for.

        The assistant's, or the user's when the question asks what the assistant said.
        """
        return cues.USER if self._is_of_assistant else cues.ASSISTANT

    @cached_property
    def is_for_help(self) -> bool:
        """True if it asks for help or advice, so that standing wishes apply."""
        return not self.names and not self.spans and cues.asks_for_help(self.request.query)

    @property
    def least(self) -> int:
        """The minimal number of hits, whatever the evidence.

        Requests for help, and questions about the user who asks, are answered better with what is
        known about that person, in any words. Questions about the world and nonsense need evidence.
        """
        query = self.request.query
        is_own = persons.tells_of_speaker(query, asked(query))
        return self.request.least if is_own or (self.is_for_help and not asks(query)) else 0

    @cached_property
    def is_for_several(self) -> bool:
        """True if it counts, compares or lists things, which may be mentioned in several places."""
        return cues.asks_for_several(self.request.query)

    @cached_property
    def is_of_user(self) -> bool:
        """True if it is about the user who asks, or about what an assistant told that user."""
        query = self.request.query
        return bool(asks(query)) and (persons.asks_of_self(query) or self._is_of_assistant)

    @cached_property
    def _is_of_assistant(self) -> bool:
        """True if it asks what the assistant said."""
        return cues.about_assistant(self.request.query)

    @cached_property
    def is_of_both(self) -> bool:
        """True if it asks about the conversations themselves, in which both roles speak."""
        return cues.about_conversations(self.request.query)

    def days(self, occurred: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert times to day numbers."""
        days: NDArray[np.int64] = occurred // int(MICROS_PER_DAY)
        return days
