"""Questions that were asked before (Q5): agents' hooks keep what users ask, and a question tells nobody the answer.

One of the same words is an echo, whoever asked it. One of other words is an echo when a user or nobody asked it, it is a
question and nothing else, with a question mark or without, it is about what is asked now, and it shows nothing of the kind
that is asked for.
"""

from __future__ import annotations

import re

import numpy as np

from lamina.model.record import Record, Trust
from lamina.search import bm25
from lamina.search.question import Question
from lamina.search.request import Ask, Column
from lamina.store.index.catalogue import Mask, Rows
from lamina.text import cues
from lamina.text import words as text
from lamina.text.patterns import bounded

ABOUT = 0.5  # the share of the question's words that one of other words has at least
LONGEST = 30  # words; whoever says more tells something, too
MOST = 1000  # characters of them
BESIDE = 10  # more than the hits that are wanted: what comes after an echo may still move
WORDS = "who|whom|whose|what|when|where|which|why|how"
HELPERS = "do|does|did|is|are|was|were|can|could|should|would|will|have|has|had|am|must|may|might"
# What somebody says before the question itself: "hey, can you please tell me again".
GREETING = (
    r"\W*(?:(?:hey|hi|hello|so|and|but|ok|okay|well|please|again|sorry|quick question)\b\W*)*"
)
BEGGING = (
    r"(?:(?:can|could|would|will|do|did) (?:you|we|i|anyone|anybody|someone|somebody) (?:please |still |even )*"
    r"(?:tell|remind|say|show|know|remember|recall)|tell|remind)(?: (?:me|us))?(?: again)?\W+"
)
ABOUT_WHAT = r"(?:(?:in|at|on|to|from|for|with|by|of|about|since|until) )?"
# A single sentence that asks for what it does not know: nobody tells anything by "where does she live?".
ONLY_ASKS = bounded(
    rf"{GREETING}(?:{BEGGING})?{ABOUT_WHAT}(?:{WORDS})\b[^.!?\n]*\?\W*", re.IGNORECASE, MOST
)
# The same without a question mark, where the order of the words has to say it. "What I did was to ask", "when I lived there"
# and "remind me when I am home" tell something; so may what stands behind a comma, a colon or a dash.
WHOM = "i|we|you|he|she|it|they|there|my|our|your|his|her|its|their|the|this|that|these|those"
INVERTED = (
    rf"(?:(?:{WORDS})(?:['’](?:s|re|d)| (?:{HELPERS}))|how (?:to|many|much|long|old|often|far|come)|who(?:se)?"
    rf"|(?:which|what|how)(?: (?!(?:{WHOM}|{HELPERS})\b)[\w-]+){{1,4}}? (?:{HELPERS}) (?:{WHOM}))\b(?!.* (?:is|are|was|were)\b)"
)
BEGGED = rf"{BEGGING}{ABOUT_WHAT}(?!when\b)(?:{WORDS})\b"
UNMARKED = bounded(
    rf"{GREETING}(?:{BEGGED}|(?:{BEGGING})?{ABOUT_WHAT}{INVERTED})(?:[\w\s'’\"`/]|(?<=\w)-(?=\w))*[.!]*",
    re.IGNORECASE,
    MOST,
)


def of(
    ask: Ask, question: Question, words: bm25.Matches, rows: Rows, score: Column, cost: float
) -> Column:
    """1 for an echo of the question, else 0. `score` is what each row has without that, and `cost` what an echo loses."""
    catalogue, number = ask.look.catalogue, len(question.words)
    asks: Mask = catalogue["signs"][rows] & cues.ASKS > 0
    is_question = ask.has_outside and (
        bool(cues.QUESTION.search(ask.query)) or only_asks(ask.query)
    )
    shared = np.zeros(len(rows), np.int64)
    for word in question.words:
        if word in words.holders:
            shared += bm25.held(words.holders[word], rows)
    is_echo: Mask = (
        asks
        & (shared == number)
        & (catalogue["length"][rows] <= len(text.analyse(ask.query).split()))
    )
    about = ~is_echo & (shared > 0) & (shared >= ABOUT * number)
    could = about & _could_only_ask(ask, question, rows)
    look = np.flatnonzero(could & asks)
    # Nearly every short note could ask without a question mark. Only what would be among the hits is worth reading.
    could &= ~asks
    while True:
        is_echo[look] = _asking(ask, rows[look], ask.query if is_question else None)
        could[look] = False
        best = np.argsort(cost * is_echo - score, kind="stable")[: ask.limit + BESIDE]
        look = best[could[best]]
        if not len(look):
            return is_echo.astype(np.float64)


def only_asks(said: str) -> bool:
    """Whether a text asks for something and tells nothing, with a question mark or without."""
    said = said.strip()
    return bool(ONLY_ASKS.fullmatch(said) or UNMARKED.fullmatch(said))


def repeats(said: str, query: str) -> bool:
    """Whether a text is a question over again: the same words, whatever signs, and at most a number behind them."""
    words, asked = text.row(said[:MOST]), text.row(query)
    if (
        words[-1:] != asked[-1:]
        and words[-1:]
        and words[-1].isdigit()
        and not cues.wanted(query) & (cues.NUMBER | cues.DATE)
    ):
        words.pop()
    return words == asked


def _could_only_ask(ask: Ask, question: Question, rows: Rows) -> Mask:
    """Short texts of a user or of nobody that show nothing of the kind that is asked for; from outside any short ones."""
    catalogue = ask.look.catalogue
    own = catalogue["signs"][rows]
    plain = (own & cues.USER > 0) | (catalogue["speaker"][rows] == 0)
    could: Mask = (
        plain
        & (own & (question.wanted | cues.ASSISTANT) == 0)
        & (catalogue["length"][rows] <= LONGEST)
    )
    if ask.has_outside:
        could |= ask.is_outside(rows) & (
            catalogue["length"][rows] <= max(LONGEST, 2 * len(text.row(ask.query)))
        )
    return could


def _asking(ask: Ask, rows: Rows, query: str | None) -> list[bool]:
    """Which of some rows tell nothing: they ask, or from outside repeat a query that asks."""
    if not len(rows):
        return []
    found = ask.look.records(rows.tolist(), ask.chosen)
    return [row in found and _tells_nothing(found[row], query) for row in rows.tolist()]


def _tells_nothing(record: Record, query: str | None) -> bool:
    if only_asks(record.content):
        return True
    return query is not None and record.trust is Trust.EXTERNAL and repeats(record.content, query)
