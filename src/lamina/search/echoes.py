"""Find records that only repeat the question (Q5): hooks store questions, which answer nothing.

A record with the same words is an echo, no matter who asked it. A record with other words is an
echo if

- a user said it, or it has no speaker,
- it is a question and nothing else, with or without a question mark,
- it is about what is asked now, and
- it contains nothing of the kind that is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lamina.model.record import Record, Trust
from lamina.search.question import Question
from lamina.search.request import Column, Request
from lamina.search.segments import ABOUT_WHAT, GREETING, HELPERS, PLEA, WORDS
from lamina.store.index.catalogue import Mask, Rows
from lamina.text import cues, words
from lamina.text.patterns import bounded

ABOUT = 0.5  # the least share of the question's words in an echo with other words
LONGEST = 30  # words; a longer text also states something
MOST = 1000  # characters of them
BESIDE = 10  # records to check beyond the wanted hits, since hits after an echo may still move
# A single sentence that asks for something unknown: "where does she live?" states nothing.
ONLY_ASKS = bounded(
    rf"{GREETING}(?:{PLEA})?{ABOUT_WHAT}(?:{WORDS})\b[^.!?\n]*\?\W*", re.IGNORECASE, MOST
)
# The same without a question mark, judged by word order. "What I did was to ask", "when I lived
# there" and "remind me when I am home" state something; so may text after a comma, a colon or a
# dash.
WHOM = "i|we|you|he|she|it|they|there|my|our|your|his|her|its|their|the|this|that|these|those"
INVERTED = (
    rf"(?:(?:{WORDS})(?:['’](?:s|re|d)| (?:{HELPERS}))"
    r"|how (?:to|many|much|long|old|often|far|come)|who(?:se)?"
    rf"|(?:which|what|how)(?: (?!(?:{WHOM}|{HELPERS})\b)[\w-]+){{1,4}}? (?:{HELPERS}) (?:{WHOM}))"
    r"\b(?!.* (?:is|are|was|were)\b)"
)
BEGGED = rf"{PLEA}{ABOUT_WHAT}(?!when\b)(?:{WORDS})\b"
UNMARKED = bounded(
    rf"{GREETING}(?:{BEGGED}|(?:{PLEA})?{ABOUT_WHAT}{INVERTED})"
    r"(?:[\w\s'’\"`/]|(?<=\w)-(?=\w))*[.!]*",
    re.IGNORECASE,
    MOST,
)


def of(
    request: Request,
    question: Question,
    held: Mapping[str, Mask],
    rows: Rows,
    score: Column,
    cost: float,
) -> Column:
    """Return 1 for each row that is an echo of the question, else 0.

    `held` marks the rows that contain each word, `score` is the score of each row if it is no echo,
    and `cost` is what an echo loses.
    """
    catalogue, query = request.look.catalogue, request.query
    asks: Mask = catalogue["signs"][rows] & cues.ASKS > 0
    shared = _count_shared(held, len(rows))
    number = len(question.words)
    is_short = catalogue["length"][rows] <= len(words.analyse(query).split())
    is_echo: Mask = asks & (shared == number) & is_short
    is_about = ~is_echo & (shared > 0) & (shared >= ABOUT * number)
    unread = is_about & _could_only_ask(request, question, rows)
    repeated = None
    if request.has_outside and (cues.QUESTION.search(query) or only_asks(query)):
        repeated = query
    reading = np.flatnonzero(unread & asks)
    # Nearly every short note could be a question without a question mark. Only those that would be
    # among the hits are read, repeatedly, until no unread one would be among them.
    unread &= ~asks
    while True:
        is_echo[reading] = _tell_nothing(request, rows[reading], repeated)
        unread[reading] = False
        best = np.argsort(cost * is_echo - score, kind="stable")[: request.limit + BESIDE]
        reading = best[unread[best]]
        if not len(reading):
            return is_echo.astype(np.float64)


def _count_shared(held: Mapping[str, Mask], number: int) -> NDArray[np.int64]:
    """Count the words of the question that each row contains."""
    shared = np.zeros(number, np.int64)
    for has_word in held.values():
        shared += has_word
    return shared


def only_asks(content: str) -> bool:
    """Tell whether a text asks and states nothing, with or without a question mark."""
    content = content.strip()
    return bool(ONLY_ASKS.fullmatch(content) or UNMARKED.fullmatch(content))


def repeats(content: str, query: str) -> bool:
    """Tell whether a text has the words of a query, followed by at most a number.

    Punctuation does not count. A number makes a difference if the query asks for one or for a date.
    """
    spoken, asked = words.row(content[:MOST]), words.row(query)
    ends_alike = spoken[-1:] == asked[-1:]
    wants_number = cues.wanted(query) & (cues.NUMBER | cues.DATE)
    if spoken and not ends_alike and spoken[-1].isdigit() and not wants_number:
        spoken.pop()
    return spoken == asked


def _could_only_ask(request: Request, question: Question, rows: Rows) -> Mask:
    """Mark short texts of a user or without a speaker that contain nothing of the kind asked for.

    Of external texts, any short one could be an echo.
    """
    catalogue = request.look.catalogue
    signs, length = catalogue["signs"][rows], catalogue["length"][rows]
    is_users = (signs & cues.USER > 0) | (catalogue["speaker"][rows] == 0)
    shows_nothing = signs & (question.wanted | cues.ASSISTANT) == 0
    could: Mask = is_users & shows_nothing & (length <= LONGEST)
    if request.has_outside:
        longest = max(LONGEST, 2 * len(words.row(request.query)))
        could |= request.is_outside(rows) & (length <= longest)
    return could


def _tell_nothing(request: Request, rows: Rows, query: str | None) -> list[bool]:
    """Mark the rows that only ask, or that are external and repeat a query that asks."""
    if not len(rows):
        return []
    records = request.look.records(rows.tolist(), request.chosen)
    return [row in records and _tells_nothing(records[row], query) for row in rows.tolist()]


def _tells_nothing(record: Record, query: str | None) -> bool:
    if only_asks(record.content):
        return True
    return query is not None and record.trust is Trust.EXTERNAL and repeats(record.content, query)
