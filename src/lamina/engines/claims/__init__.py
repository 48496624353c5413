"""Claims: statements about people, read out of conversations by rules. Pure."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Turn(msgspec.Struct, frozen=True, gc=False):
    """One turn of a conversation."""

    text: str
    speaker: str | None
    at: datetime
    project: str | None = None  # in which it was said


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A statement of a turn about a person, with the words that say it."""

    subject: str  # a name as the conversation has it
    attribute: str
    value: str  # empty, if `negated`, denies any value
    start: int  # the words in the turn's text that say it: text[start:end]
    end: int
    at: datetime  # since when it holds: when it was said, or the day that it speaks of
    confidence: float  # how often this rule is right, 0 to 1
    rule: str  # which rule found it
    negated: bool = False
    replaces: str | None = None  # the value that it says held before
    corrects: bool = False  # it takes back what was said: that had never been so
    until: datetime | None = None  # when a state that is over ended; `at` is when it began
    project: str | None = None  # the only one in which it holds
    reason: str = ""  # why it was decided, in the speaker's words
    since: datetime | None = None  # when it began, if the words say so: `at` is when it was said
