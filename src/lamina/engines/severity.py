"""Classify what a text reports: a loss, a break-in, a recurring failure (L8). Pure.

A sentence reports something severe if it has three points: those of the event itself ("lost" has
two), and one for each sort of aggravation, such as what is affected, how much of it, and that it
lasts. An event that is negated, asked about, hypothetical, fictional or over does not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from lamina.engines import senses
from lamina.engines.senses import Event
from lamina.text.calendar_words import MONTHS
from lamina.text.words import STOP_WORDS

CRITICAL, IMPORTANT = 90, 70  # hundredths, at least
GRAVE_POINTS, NOTABLE_POINTS = 3, 2
NEAR = 3  # words: the reach of a negation
FIGURE = 4  # words after an event that are searched for a figure of speech
DELETED = Event("loss", 1)
TOKEN = re.compile(r"[a-z0-9][a-z0-9'-]*|[.!?\n,;:]")
ENDS, PARTS = frozenset(".!?\n"), frozenset(",;:")
YEAR = re.compile(r"20\d\d\Z")
# Too frequent to tell anything; another word of the phrase does.
FREQUENT = STOP_WORDS | set(
    "back been came can't cannot everything gave getting going got had last like made out over run"
    " someone times went won't working".split()
)


def _telling(phrase: str) -> str:
    """Return the word of a phrase that is probably the rarest in other texts."""
    return max(phrase.split(), key=lambda word: (word not in FREQUENT, len(word)))


# A text without any of these reports nothing. Marks are included, so that none need be stripped.
WORDS = frozenset(_telling(form) if " " in form else form for form in senses.EVENTS)
TELLING = frozenset(word + mark for word in WORDS for mark in ("", ".", ",", ":", ";", "!"))


class Report(NamedTuple):
    """The class of what a text reports, the words that show it, and its least importance."""

    name: str
    words: tuple[str, ...]
    least: int

    def __str__(self) -> str:
        return f"{self.name}: {' … '.join(self.words)}"


class Seen(NamedTuple):
    """An event in a sentence: its place, that of the next word, its words and its class."""

    place: int
    end: int
    words: str
    event: Event


def read(lowered: str) -> Report | None:
    """Return the most severe report in a lower-cased text; the first of several."""
    if TELLING.isdisjoint(lowered.split()):  # true for most texts
        return None
    sentences = list(_sentences(TOKEN.findall(lowered.replace("’", "'"))))
    found = (_report(one, sentences[place + 1 :]) for place, one in enumerate(sentences))
    return max(filter(None, found), key=lambda report: report.least, default=None)


def _sentences(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Split the tokens into sentences, each with the mark that ends it."""
    start = 0
    for place, token in enumerate(tokens, 1):
        if token in ENDS or place == len(tokens):
            if place - start > 1 or token not in ENDS:
                yield list(tokens[start:place])
            start = place


def _report(sentence: list[str], later: Sequence[list[str]]) -> Report | None:
    if senses.BEGINNINGS.isdisjoint(sentence):
        return None
    found = [seen for seen in _events(sentence) if _is_real(seen, sentence)]
    if not found or sentence[-1] == "?" or not senses.DONE.isdisjoint(_phrases(sentence, 0)):
        return None
    ended = senses.OVER.union(*(senses.OVER_FOR.get(seen.event.name, ()) for seen in found))
    taken = {seen.place for seen in found}
    if _is_over(sentence, ended, taken) or any(_is_over(one, ended) for one in later):
        return None
    serious = dict(_serious(sentence))
    reports = filter(None, (_judged(seen, found, serious) for seen in found))
    return max(
        (*reports, *_recurring(found, sentence)), key=lambda report: report.least, default=None
    )


def _phrases(sentence: list[str], place: int) -> list[str]:
    """List the phrases that begin at a place and may be in a table, longest first."""
    longest = min(senses.LONGEST.get(sentence[place], 0), len(sentence) - place)
    return [" ".join(sentence[place : place + length]) for length in range(longest, 0, -1)]


def _events(sentence: list[str]) -> Iterator[Seen]:
    behind = 0
    for place, word in enumerate(sentence):
        if place < behind or word not in senses.BEGINNINGS:
            continue
        phrase = next((one for one in _phrases(sentence, place) if one in senses.EVENTS), None)
        if phrase is not None:
            behind = place + phrase.count(" ") + 1
            for event in senses.EVENTS[phrase]:
                yield Seen(place, behind, phrase, event)


def _is_real(seen: Seen, sentence: list[str]) -> bool:
    """Tell if an event is real: not negated, hypothetical, fictional, or a figure of speech."""
    part = max((place for place in range(seen.place) if sentence[place] in PARTS), default=-1)
    before = sentence[part + 1 : seen.place]
    is_thought = not senses.THOUGHT.isdisjoint(before) and "not" not in before  # "could not be"
    return (
        not is_thought
        and senses.DENIALS.isdisjoint(before[-NEAR:])
        and not _is_meant(seen, sentence)
        and not _is_told(seen, sentence)
        and senses.NAMED.isdisjoint(sentence[seen.end : seen.end + 1])
        and senses.FIGURES.isdisjoint(sentence[seen.end : seen.end + FIGURE])
    )


def _is_meant(seen: Seen, sentence: list[str]) -> bool:
    """Tell if somebody deleted on purpose: "I deleted all drafts", "Dropped the old tables"."""
    if seen.event != DELETED:
        return False
    return not seen.place or sentence[seen.place - 1] in senses.MEANT


def _is_told(seen: Seen, sentence: list[str]) -> bool:
    """Tell if an event is part of a story: "the film about a fire", "lost all gold in a game"."""
    for place, word in enumerate(sentence):
        is_within = place < seen.place or "in" in sentence[max(seen.end, place - NEAR) : place]
        if word in senses.TOLD and is_within:
            return True
    return False


def _is_over(
    sentence: list[str], ended: frozenset[str], taken: Collection[int] = frozenset()
) -> bool:
    """Tell if a sentence says, outside the words of the events, that it is over or no problem.

    "Could not be repaired" says the opposite.
    """
    if not senses.LIGHT.isdisjoint(sentence):
        return True
    return any(
        place not in taken
        and not ended.isdisjoint(_phrases(sentence, place))
        and senses.DENIALS.isdisjoint(sentence[max(0, place - NEAR) : place])
        for place, word in enumerate(sentence)
        if word in senses.ENDINGS
    )


def _serious(sentence: list[str]) -> Iterator[tuple[str, tuple[int, str]]]:
    """Yield what makes events serious: the sort, with its place and words."""
    for place in reversed(range(len(sentence))):
        word = sentence[place]
        phrases = _phrases(sentence, place)
        if not senses.REPEATED.isdisjoint(phrases):  # "every Monday" does not mean all of something
            continue
        for phrase in phrases:
            for sort in senses.SORTS.get(phrase, ()):
                yield sort, (place, phrase)
        if YEAR.match(word) or (word in MONTHS and sentence[place - 1].isdigit()):
            yield "horizon", (place, word)
        if word in senses.MENDED:
            before = sentence[max(0, place - NEAR) : place]
            if not senses.DENIALS.isdisjoint(before):
                yield "lasting", (place, f"not {word}")


def _judged(
    seen: Seen, found: Sequence[Seen], serious: dict[str, tuple[int, str]]
) -> Report | None:
    """Add up the points of an event and of what makes it serious."""
    name = seen.event.name
    counted = senses.COUNTED.get(name, frozenset())
    shown = {
        place: words
        for sort, (place, words) in serious.items()
        if sort in counted and place != seen.place
    }
    grave = name in senses.GRAVE
    group = senses.GRAVE if grave else senses.NOTABLE
    others = {other.event.name for other in found if other.place != seen.place} & group - {name}
    points = seen.event.points + len(shown) + len(others)
    if points < (GRAVE_POINTS if grave else NOTABLE_POINTS) or name == "fault":
        return None
    shown[seen.place] = seen.words
    words = tuple(shown[place] for place in sorted(shown))
    return Report(name, words, CRITICAL if grave else IMPORTANT)


def _recurring(found: Sequence[Seen], sentence: list[str]) -> Iterator[Report]:
    """Yield reports of recurring faults: they form a pattern, however minor."""
    faults = [seen for seen in found if seen.event.name not in senses.NOTABLE]
    for place in range(len(sentence)) if faults else ():
        for phrase in senses.REPEATED.intersection(_phrases(sentence, place)):
            pair = sorted([(faults[0].place, faults[0].words), (place, phrase)])
            yield Report("recurrence", tuple(words for _, words in pair), IMPORTANT)
