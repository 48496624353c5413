"""Tell of many texts at once which may hold a secret; `detection` looks closer at these. Pure.

What is not marked here holds nothing that `detection.in_text` would find, and names no secret.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence

from lamina.text import screening
from lamina.text.screening import Marks, Parts, Screen
from lamina.text.secrets import folding, patterns, phrases, seeds


@functools.cache
def _names() -> Parts:
    """The parts of names of secrets."""
    return Parts(phrases.PARTS)


@functools.cache
def _values() -> Parts:
    """What stands before a value, or is one: without it a name gives nothing away."""
    return Parts((*"0123456789", *screening.SIGNS, " -"))


@functools.cache
def _alone() -> Parts:
    """What needs a closer look whatever stands beside it."""
    return Parts(("phrase", "words", "://", *folding.SPOKEN))


@functools.cache
def _seeds() -> Parts:
    return Parts(seeds.listed())


def in_texts(texts: Sequence[str]) -> list[bool]:
    """Tell of each text whether it may hold a secret."""
    return [mark for screen in screening.screens(texts) for mark in _holding(screen).tolist()]


def among(texts: Collection[str], names: Collection[str]) -> set[str]:
    """Collect the texts that may hold a secret, and the names that may be names of one."""
    return {*_marked([*texts], naming=False), *_marked([*names], naming=True)}


def _marked(texts: Sequence[str], *, naming: bool) -> Iterator[str]:
    for place, screen in enumerate(screening.screens(texts)):
        marks = _holding(screen)
        if naming:
            marks |= screen.holding(_names())
        for position in marks.nonzero()[0].tolist():
            yield texts[place * screening.AT_ONCE + position]


def _holding(screen: Screen) -> Marks:
    """Mark the texts that may hold a secret."""
    marks = screen.holding(_names()) & screen.holding(_values())
    marks |= screen.holding(_alone())
    marks |= screen.with_long_words(patterns.SHORTEST_TOKEN)
    marks |= screen.with_two_alone()
    marks |= screen.with_words_in_row(_seeds(), seeds.FEWEST)
    return marks
