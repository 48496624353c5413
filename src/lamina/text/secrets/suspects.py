"""Check many texts at once for possible secrets; `detection` then examines these. Pure.

A text that is not marked contains nothing that `detection.in_text` would find, and names no secret.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from itertools import compress

from lamina.text import screening
from lamina.text.screening import Marks, Parts, Screen
from lamina.text.secrets import detection, folding, patterns, phrases, seeds


@functools.cache
def _names() -> Parts:
    """Return the parts of names of secrets."""
    return Parts(phrases.PARTS)


@functools.cache
def _values() -> Parts:
    """Return signs that link a name to a value, or are part of one: without them none is given."""
    return Parts((*"0123456789", *screening.SIGNS, " -"))


@functools.cache
def _alone() -> Parts:
    """Return parts that always need to be examined."""
    return Parts(("phrase", "words", "://", *folding.SPOKEN))


@functools.cache
def _seeds() -> Parts:
    return Parts(seeds.listed())


def holding(screen: Screen) -> Marks:
    """Mark the texts that may contain a secret."""
    marks = screen.holding(_names()) & screen.holding(_values())
    marks |= screen.holding(_alone())
    marks |= screen.with_long_words(patterns.SHORTEST_TOKEN)
    marks |= screen.with_two_alone()
    marks |= screen.with_words_in_row(_seeds(), seeds.FEWEST)
    return marks


def among(labels: Collection[str], names: Collection[str]) -> set[str]:
    """Collect the labels that may contain a secret, and the names that may also announce one.

    They are short and few, so that examining those that are marked costs little.
    """
    written = [*labels, *names]
    screen = Screen(written)
    found = {text for text in compress(written, holding(screen)) if detection.in_text(text)}
    naming = compress(names, screen.holding(_names())[len(labels) :])
    return found | {name for name in naming if phrases.may_name(name.lower())}
