"""Read labelled messages and talks as the words, values and instructions that a network learns.

Each word begins a value, continues one, or is in none, and a value has one of four statuses; each
value is about the speaker or about somebody whom a word names. In addition, each word is part of a
standing instruction or not.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.claims import HERE, rows, stems
from lamina.engines.claims import open_words, sentences, tagger
from lamina.engines.claims.open_words import Word

Floats = NDArray[np.floating[Any]]

STANDING = HERE / "standing" / "messages.jsonl"  # has only instructions
FILES = (
    *sorted((HERE / "claims").glob("messages-*")),
    *sorted((HERE / "claims").glob("talks-*")),
    *sorted((HERE / "claims").glob("changes-*")),
    STANDING,
)
# Files whose labels have nearly everything that is stated; the others have only what lasts.
EXHAUSTIVE = frozenset(f"messages-{number}" for number in (5, 6, 7, 8, 9, 11))
ELSEWHERE = frozenset("1234")  # writers in STANDING whose messages are in other files
# The labels in these files say only whether what is mentioned is over.
ENDINGS = tuple(sorted((HERE / "claims").glob("endings-*")))
EVERY = (*FILES, *ENDINGS)
FOLDS = 3
HURRIED = 0.25  # share of texts that are also read as if typed in a hurry
MARKS_LEFT = 0.4  # share of punctuation marks that are left in them
LONGEST_VALUE = 10  # words, if a label has different words than the text
NOBODY = -1  # no word names whom it is about, but it is not the speaker
OVER = ("ended", "denied")  # statuses of what no longer holds
REFERRING = frozenset("you your he she they his her".split())


class Value(NamedTuple):
    """A labelled value: its words, its status, and the word that says whom it is about."""

    start: int
    end: int
    status: int
    about: int  # 0 for the speaker, otherwise the number of the word, counted from 1; or NOBODY


class Mention(NamedTuple):
    """The words of something known, and whether the text says that it is over."""

    start: int
    end: int
    is_over: bool


class Text(NamedTuple):
    """A turn in the form that the network reads, with its labels."""

    given: tagger.Inputs
    values: tuple[Value, ...] | None  # None if nobody has noted any
    orders: tuple[tuple[int, int], ...] | None  # the words of standing instructions
    is_exhaustive: bool = False
    mentions: tuple[Mention, ...] = ()


def texts(path: Path) -> Iterator[Text]:
    """Read a file of labelled messages or talks."""
    if path in ENDINGS:
        yield from _endings(path)
        return
    for row in rows(path):
        if row.get("writer") not in ELSEWHERE:
            yield text(row)._replace(is_exhaustive=path.stem in EXHAUSTIVE)


def plain() -> Iterator[Text]:
    """Read sentences of a few words, which no writer of messages would send alone."""
    yield from texts(HERE / "claims" / "plain.jsonl")


def text(row: Mapping[str, Any]) -> Text:
    """Find the labels of a turn among its words."""
    said, speaker = row["text"], row.get("speaker", "user")
    plain = sentences.said(said)
    words = open_words.split(plain)[: tagger.MOST_WORDS]
    clauses = list(sentences.clauses(plain))
    given = tagger.inputs(plain, words, clauses, is_talk="speaker" in row)
    values = tuple(_values(said, row["facts"], speaker, words)) if "facts" in row else None
    labels = row.get("instructions")
    found = labels and [located(said, label, words, None) for label in labels]
    orders = None if labels is None else tuple(span for span in found or () if span)
    return Text(given, values, orders)


def _endings(path: Path) -> Iterator[Text]:
    """Read messages that mention something known; nothing else in them is labelled."""
    told: dict[str, list[Mapping[str, Any]]] = {}
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        told.setdefault(row["text"], []).append(row)
    for said, listed in told.items():
        words = open_words.split(sentences.said(said))[: tagger.MOST_WORDS]
        spans = ((located(said, row["value"], words, None), row["over"]) for row in listed)
        mentions = tuple(Mention(*span, is_over) for span, is_over in spans if span)
        yield unlabelled(said, is_talk=False)._replace(mentions=mentions)


def unlabelled(said: str, is_talk: bool) -> Text:
    """Read a text that nobody has labelled."""
    return text({"text": said, **({"speaker": ""} if is_talk else {})})


def _values(
    said: str, facts: Iterable[Mapping[str, str]], speaker: str, words: Sequence[Word]
) -> Iterator[Value]:
    for fact in facts:
        cue = said.find(fact["cue"]) if fact.get("cue") else -1
        if span := located(said, fact["value"], words, cue if cue >= 0 else None):
            about = 0 if fact["about"] == speaker else _about(said, fact["about"], words, span[0])
            yield Value(*span, tagger.STATUSES.index(fact["status"]), about)


def _about(said: str, name: str, words: Sequence[Word], place: int) -> int:
    """Find the last word of a name, or otherwise a pronoun."""
    if span := located(said, name, words, words[place].start):
        return span[1]
    referring = (n for n, word in enumerate(words, 1) if word.text in REFERRING)
    return next(referring, NOBODY)


def located(
    said: str, value: str, words: Sequence[Word], near: int | None
) -> tuple[int, int] | None:
    """Find the words of a value: the nearest place that has it, or the most similar words."""
    places = [one.start() for one in re.finditer(re.escape(value.lower()), said.lower())]
    spans = []
    for place in places:
        inside = [
            number
            for number, word in enumerate(words)
            if word.start < place + len(value) and word.end > place
        ]
        if inside:
            away = abs(place - near) if near is not None else 0
            is_inexact = words[inside[0]].start != place
            spans.append((is_inexact, away, inside[0], inside[-1] + 1))
    if spans:
        return min(spans)[2:]
    return _most_alike(said, value, words)


def _most_alike(said: str, value: str, words: Sequence[Word]) -> tuple[int, int] | None:
    wanted, best, found = stems(value), 0.0, None
    for first in range(len(words)):
        for last in range(first + 1, min(len(words), first + LONGEST_VALUE) + 1):
            here = stems(said[words[first].start : words[last - 1].end])
            alike = len(here & wanted) / max(1, len(here | wanted))
            if alike > best:
                best, found = alike, (first, last)
    return found if best >= 0.5 else None


def hurried(text: Text, chance: random.Random) -> Text | None:
    """Change a text as if it was typed in a hurry; None if a value would be lost."""
    marks = {tagger.KINDS.index("mark"), tagger.KINDS.index("comma")}
    name, word = tagger.KINDS.index("name"), tagger.KINDS.index("word")
    given = text.given
    kept = [
        place
        for place, kind in enumerate(given.kinds)
        if kind not in marks or chance.random() < MARKS_LEFT
    ]
    places = {old: new for new, old in enumerate(kept)}
    values = []
    for value in text.values or ():
        inside = [places[place] for place in range(value.start, value.end) if place in places]
        if not inside:
            return None
        about = places.get(value.about - 1, NOBODY - 1) + 1 if value.about > 0 else value.about
        values.append(value._replace(start=inside[0], end=inside[-1] + 1, about=about))
    small = (0.0, 0.0)  # no capitals
    inputs = tagger.Inputs(
        [given.words[place] for place in kept],
        [word if given.kinds[place] == name else given.kinds[place] for place in kept],
        [given.endings[place] for place in kept],
        [(*small, *given.marks[place][2:]) for place in kept],
    )
    orders = text.orders and tuple(_kept(places, *span) for span in text.orders)
    noted = None if text.values is None else tuple(values)
    mentions = tuple(
        Mention(*_kept(places, one.start, one.end), one.is_over) for one in text.mentions
    )
    return Text(inputs, noted, orders, text.is_exhaustive, mentions) if kept else None


def with_hurried(texts: Iterable[Text], chance: random.Random) -> list[Text]:
    """List texts, and some of them again as if they had been typed in a hurry."""
    listed = list(texts)
    more = [hurried(one, chance) for one in listed if chance.random() < HURRIED]
    return [one for one in (*listed, *more) if one and one.given.words]


def _kept(places: Mapping[int, int], start: int, end: int) -> tuple[int, int]:
    """Find the words of a span that are left."""
    inside = [places[place] for place in range(start, end) if place in places]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


def fold(path: Path) -> int:
    """Return the fold of a file: the networks of other folds have been trained on it."""
    return int(path.stem.rpartition("-")[2] or 0) % FOLDS if path != STANDING else 0


class Target(NamedTuple):
    """The desired output for each word of a text, from labels or from a teacher."""

    classes: Floats  # a row for each word: the probability of each class
    orders: Floats  # the probability that each word is part of a standing instruction
    about: tuple[tuple[int, Floats], ...]  # where a value begins: the speaker, or which word
    over: Floats  # the probability that what each word names is over
    marked: Floats  # 1 for words for which that is given
    is_noted: bool = True  # whether anybody noted values
    is_instructed: bool = True  # whether anybody noted instructions


def target(text: Text) -> Target:
    """Convert the labels of a text."""
    count = len(text.given.words)
    classes, orders = np.zeros((count, tagger.CLASSES), np.float32), np.zeros(count, np.float32)
    named = np.zeros(count, np.int64)
    # The longest first: a value inside another one is what was meant there.
    for value in sorted(text.values or (), key=lambda value: value.start - value.end):
        named[value.start] = 1 + 2 * value.status
        named[value.start + 1 : value.end] = 2 + 2 * value.status
    classes[np.arange(count), named] = 1
    for start, end in text.orders or ():
        orders[start:end] = 1
    about = tuple(
        (value.start, np.eye(count + 1, dtype=np.float32)[value.about])
        for value in text.values or ()
        if value.about != NOBODY
    )
    over, marked = _over(text)
    is_noted, is_instructed = text.values is not None, text.orders is not None
    return Target(classes, orders, about, over, marked, is_noted, is_instructed)


def _over(text: Text) -> tuple[Floats, Floats]:
    """Mark the words that name something that is over, and the words for which this is known."""
    over, marked = np.zeros((2, len(text.given.words)), np.float32)
    noted = (
        (value.start, value.end, tagger.STATUSES[value.status] in OVER)
        for value in text.values or ()
    )
    for start, end, is_over in (*noted, *text.mentions):
        over[start:end], marked[start:end] = is_over, 1
    return over, marked


def blended(label: Target, told: Target, share: float) -> Target:
    """Weight the labels by a share, and what a teacher says by the rest."""
    own = share if label.is_noted else 0.0
    ordered = share if label.is_instructed else 0.0
    return Target(
        own * label.classes + (1 - own) * told.classes,
        ordered * label.orders + (1 - ordered) * told.orders,
        told.about,
        told.over + share * label.marked * (label.over - told.over),
        np.ones_like(label.marked),
    )


def mean(several: Sequence[Target]) -> Target:
    """Average what teachers say about a text, but take from the first whom values are about."""
    classes = np.stack([one.classes for one in several]).mean(axis=0, dtype=np.float32)
    orders, over = (
        np.stack(rows).mean(axis=0, dtype=np.float32).astype(np.float16)
        for rows in ([one.orders for one in several], [one.over for one in several])
    )
    return Target(classes.astype(np.float16), orders, several[0].about, over, several[0].marked)
