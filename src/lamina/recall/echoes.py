"""Questions that were asked before (Q5): agents' hooks keep what users ask, and a question tells nobody the answer.

One of the same words is an echo, whoever asked it. One of other words is an echo when a user or nobody asked it, it is a
question and nothing else, it is about what is asked now, and it shows nothing of the kind that is asked for.
"""

from __future__ import annotations

import re

import numpy as np

from lamina import signs, text
from lamina.recall import bm25
from lamina.recall.ask import Ask, Column
from lamina.recall.question import Question
from lamina.store.catalogue import Mask, Rows

ABOUT = 0.5  # the share of the question's words that one of other words has at least
LONGEST = 30  # words; whoever says more tells something, too
# A single sentence that asks for what it does not know: nobody tells anything by "where does she live?".
ONLY_ASKS = re.compile(
    r"\W*(?:(?:hey|hi|hello|so|and|but|ok|okay|well|please|again|sorry|quick question)\b\W*)*"
    r"(?:(?:(?:can|could|would|will|do|did) (?:you|we|i|anyone|anybody|someone|somebody) (?:please |still |even )*"
    r"(?:tell|remind|say|show|know|remember|recall)|tell|remind)(?: (?:me|us))?(?: again)?\W+)?"
    r"(?:(?:in|at|on|to|from|for|with|by|of|about|since|until) )?"
    r"(?:who|whom|whose|what|when|where|which|why|how)\b[^.!?\n]*\?\W*",
    re.IGNORECASE,
)


def of(ask: Ask, question: Question, words: bm25.Matches, rows: Rows) -> Column:
    """1 for an echo of the question, else 0."""
    catalogue, number = ask.look.catalogue, len(question.words)
    asks: Mask = catalogue["signs"][rows] & signs.ASKS > 0
    shared = np.zeros(len(rows), np.int64)
    for word in question.words:
        if word in words.holders:
            shared += bm25.held(words.holders[word], rows)
    is_echo: Mask = asks & (shared == number) & (catalogue["length"][rows] <= len(text.analyse(ask.query).split()))
    about = asks & ~is_echo & (shared > 0) & (shared >= ABOUT * number)
    other = np.flatnonzero(about & _could_only_ask(ask, question, rows))
    is_echo[other] = _only_asks(ask, rows[other])
    return is_echo.astype(np.float64)


def _could_only_ask(ask: Ask, question: Question, rows: Rows) -> Mask:
    """Short texts of a user or of nobody that show nothing of the kind that is asked for."""
    catalogue = ask.look.catalogue
    own = catalogue["signs"][rows]
    plain = (own & signs.USER > 0) | (catalogue["speaker"][rows] == 0)
    could: Mask = plain & (own & (question.wanted | signs.ASSISTANT) == 0) & (catalogue["length"][rows] <= LONGEST)
    return could


def _only_asks(ask: Ask, rows: Rows) -> list[bool]:
    if not len(rows):
        return []
    found = ask.look.records(rows.tolist(), ask.chosen)
    return [row in found and ONLY_ASKS.fullmatch(found[row].content) is not None for row in rows.tolist()]
