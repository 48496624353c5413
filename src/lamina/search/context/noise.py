"""Detect what never belongs in a context (C5, C8): small talk, mere questions, bookkeeping. Pure.

The content of a text is computed from its words (`search/content.py`), not looked up in a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lamina.embedders.wordllama import shared
from lamina.errors import EmbedderFailed
from lamina.model.record import Record
from lamina.search import content, echoes, segments
from lamina.text import cues, words

# Typical words of small talk: words similar in meaning count as small talk, too.
CHAT = tuple(
    "hello thanks bye morning welcome okay yes great sorry please continue haha wow hmm".split()
)
NEAR = 0.4
IDLE, IDLE_QUESTION = 0.6, 0.35  # the content of small talk, and of a question that asks nothing
SHORT = 400  # characters; longer texts are no small talk
LONGEST = 4000  # characters of a prompt that is compared with another
LITTLE = 1.0  # the content of "good to know" and "noted"
FAINT = 1.5  # the content of "I'll plan around that": several words, of which none ...
NAMES = 0.75  # ... names anything, as "tea", "moved to Porto" and "tabs" do
ASKING = 3.0  # the content of a question that states nothing besides
# "Is Ana in Porto?" and "tell me whether she is" are answered by a memory with the same words.
HELPERS = frozenset(
    "am are can could did do does had has have is may might must should was were will would".split()
)
WHETHER = frozenset(("if", "whether"))
SMALL = frozenset("a again an just now please the".split())  # words without a meaning of their own
KEPT = "hook"  # the source of prompts that a hook kept


def is_small_talk(prompt: str) -> bool:
    """Tell whether a prompt is a greeting, thanks or an acknowledgement that needs no search."""
    if len(prompt) > SHORT or cues.DIGIT.search(prompt):
        return False
    terms = words.terms(prompt)
    told = sum(
        content.weight(term)
        for term, near in zip(terms, _likeness_to_chat(terms), strict=True)
        if near < NEAR
    )
    asks = any(segment.asks for segment in segments.split(prompt))
    return told < (IDLE_QUESTION if asks else IDLE)


def tells_nothing(record: Record) -> bool:
    """Tell whether a turn is a mere acknowledgement, or a question that states nothing."""
    text = record.content
    if len(text) > SHORT:
        return False
    if echoes.only_asks(text):
        return True
    terms = words.terms(text)
    told = _weighed(terms)
    if told >= ASKING:
        return False
    if segments.asks(text) is segments.Asks.MARKED:
        return True
    names_nothing = told < FAINT and all(content.weight(term) < NAMES for term in terms)
    return (told < LITTLE or names_nothing) and not cues.DIGIT.search(text)


def _weighed(terms: Sequence[str]) -> float:
    """Add up the content of words until it exceeds all thresholds."""
    told = 0.0
    for term in terms:
        told += content.weight(term)
        if told >= ASKING:
            break
    return told


def is_bookkeeping(record: Record) -> bool:
    """Tell whether a record only summarises or counts turns that are memories themselves."""
    is_of_turns = bool(record.evidence) and "participants" in record.metadata
    return is_of_turns and (record.kind == "data" or record.metadata.get("origin") == "sleep")


def adds_nothing(record: Record, asked: Sequence[str]) -> bool:
    """Tell whether a memory only repeats these words; or, for a kept prompt, adds none."""
    if len(record.content) > LONGEST:
        return False
    said = words.asked(record.content)
    if said == tuple(asked):
        return True
    if record.source != KEPT:
        return False
    if segments.asks(record.content) is segments.Asks.MARKED or echoes.only_asks(record.content):
        return True
    if not asked or asked[0] in HELPERS or not WHETHER.isdisjoint(asked):
        return False
    rest = iter(asked)
    return all(word in rest for word in said if word not in SMALL)


def _likeness_to_chat(terms: Sequence[str]) -> list[float]:
    """Return each word's similarity to small talk; without vectors, only identical words count."""
    try:
        return [float(one) for one in (shared().embed(terms) @ _chat().T).max(axis=1)]
    except EmbedderFailed:
        return [float(term in CHAT) for term in terms]


@lru_cache(1)
def _chat() -> NDArray[np.float32]:
    return shared().embed(CHAT)
