"""Split a prompt into segments (C2): sentences and lines, and tell which of them ask. Pure.

People greet, explain, paste logs and ask for a format; only part of that is the question.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from enum import IntEnum

import msgspec

from lamina.text.patterns import bounded
from lamina.text.words import WORD

MOST = 24  # segments of a prompt that are looked at
LONGEST = 400  # characters of a sentence; a longer one is cut at its commas
PIECE = 200  # characters of what it is cut into
FEW_WORDS = 3  # that are no question, and lead to none
# The end of a sentence: a sign with a space behind it, a sign of a script without spaces, a line.
# The sign ; is a question mark behind a Greek letter.
END = re.compile(
    r"[.!?…؟۔।\u037e][\"'”’)\]]{0,3}(?=\s)|(?<=[\u0370-\u03ff\u1f00-\u1fff]);(?=\s)"
    r"|[。！？｡\n]"
)
COMMA = re.compile(r"[,;:،、，；：](?=\s|[^\x00-\x7f])|\s[-–—]\s")
# The end of an introduction to a question: "while I wait for the train: where was it?".
LEADING = re.compile(r"(?::|\s[-–—])\s+")
# "Dr. Weiss", "J. Smith", "e.g. tea": a full stop after these does not end a sentence.
SHORT = bounded(r"(?:\b(?:[A-Z][a-z]|Mrs|Prof|\w)|\.\w)\Z", longest=5)
MARKS = bounded(r"[?？؟\u037e][\"'”’)\]\s]*\Z|[\u0370-\u03ff\u1f00-\u1fff];\s*\Z", longest=60)
WORDS = "who|whom|whose|what|when|where|which|why|how"
HELPERS = "do|does|did|is|are|was|were|can|could|should|would|will|have|has|had|am|must|may|might"
BEGGING = "tell|remind|list|show|give|find|explain|summari[sz]e|walk|describe|recall"
# Words before the question itself: "hey, can you please tell me again".
OPENERS = "hey|hi|hello|so|and|but|ok|okay|well|please|again|sorry|quick question"
GREETING = rf"\W*(?:(?:{OPENERS})\b\W*)*"
ASKING = bounded(rf"{GREETING}(?:{WORDS}|{HELPERS}|{BEGGING})\b", re.IGNORECASE, 200)
# A request for an answer before the question: "could you please tell me again".
PLEA = (
    r"(?:(?:can|could|would|will|do|did) (?:you|we|i|anyone|anybody|someone|somebody)"
    r" (?:please |still |even )*"
    r"(?:tell|remind|say|show|know|remember|recall)|tell|remind)(?: (?:me|us))?(?: again)?\W+"
)
ABOUT_WHAT = r"(?:(?:in|at|on|to|from|for|with|by|of|about|since|until) )?"
OPENING = bounded(
    rf"{GREETING}(?:{PLEA})?(?={ABOUT_WHAT}(?:{WORDS}|{HELPERS})\b)", re.IGNORECASE, 200
)


class Asks(IntEnum):
    """How clearly a segment asks."""

    NOT = 0
    BEGINS = 1  # like a question or a request: "tell me", but also "please find enclosed"
    MARKED = 2  # with a question mark


class Segment(msgspec.Struct, frozen=True):
    """A sentence or a line of a prompt."""

    text: str
    asks: Asks


def split(prompt: str) -> tuple[Segment, ...]:
    """Return the segments of a prompt in order; a prompt of one sentence unchanged.

    Repetitions are dropped. If there are too many segments, those that ask are kept, and then those
    nearest to a question, to the beginning or to the end: pasted text is mostly in between.
    """
    texts = dict.fromkeys(sentences(prompt))
    if len(texts) < 2:
        return (Segment(prompt, asks(prompt)),)
    segments = [Segment(text, asks(text)) for text in texts]
    if len(segments) <= MOST:
        return tuple(segments)
    known = [0, len(segments) - 1]
    known += [place for place, one in enumerate(segments) if one.asks is Asks.MARKED][:MOST]
    places = sorted(
        range(len(segments)),
        key=lambda place: (-segments[place].asks, min(abs(place - near) for near in known), place),
    )
    return tuple(segments[place] for place in sorted(places[:MOST]))


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of a text in order; very long ones in pieces."""
    for sentence in _sentences(text):
        for part in _asides(sentence):
            yield from _pieces(part)


def _asides(sentence: str) -> Iterator[str]:
    """Separate a question from what leads to it, where both are more than a few words.

    A name ("Ben: where does he live?") and what begins to ask stay with the question.
    """
    start = 0
    if asks(sentence) is Asks.MARKED and LEADING.search(sentence):
        words = [word.start() for word in WORD.finditer(sentence)]
        for mark in LEADING.finditer(sentence):
            before = bisect_left(words, mark.start()) - bisect_left(words, start)
            behind = len(words) - bisect_left(words, mark.end())
            lead = sentence[start : mark.start()]
            if min(before, behind) >= FEW_WORDS and asks(lead) is Asks.NOT:
                yield from _spoken(lead)
                start = mark.end()
    yield sentence[start:]


def asks(text: str) -> Asks:
    """Return how clearly a segment asks: by a question mark at its end, or by its beginning."""
    if MARKS.search(text, max(0, len(text) - MARKS.longest)):
        return Asks.MARKED
    return Asks.BEGINS if ASKING.match(text, 0, ASKING.longest) else Asks.NOT


def unopened(text: str) -> str:
    """Return a question without its opening, which says nothing: "hey, remind me, where is it?"."""
    opening = OPENING.match(text, 0, OPENING.longest)
    return text[opening.end() :] if opening else text


def _sentences(prompt: str) -> Iterator[str]:
    start = 0
    for end in END.finditer(prompt):
        place = end.start()
        if end.group() == "." and SHORT.search(prompt, max(start, place - SHORT.longest), place):
            continue
        yield from _spoken(prompt[start : end.end()])
        start = end.end()
    yield from _spoken(prompt[start:])


def _pieces(sentence: str) -> Iterator[str]:
    """Split what is too long for a sentence at its commas, or anywhere."""
    if len(sentence) <= LONGEST:
        yield sentence
        return
    ends = [mark.end() for mark in COMMA.finditer(sentence)]
    start = 0
    while len(sentence) - start > PIECE:
        fitting = [end for end in ends if start + PIECE // 2 <= end <= start + PIECE]
        end = fitting[-1] if fitting else sentence.rfind(" ", start, start + PIECE) + 1
        end = end if end > start else start + PIECE
        yield from _spoken(sentence[start:end])
        start = end
    yield from _spoken(sentence[start:])


def _spoken(text: str) -> Iterator[str]:
    """Yield a stripped text, if it contains a word."""
    if WORD.search(text):
        yield text.strip()
