"""Claims: statements about people, extracted from conversations by rules. Pure."""

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
    """A statement in a turn about a person, with the words that state it."""

    subject: str  # a name, as written in the conversation
    attribute: str
    value: str  # empty, if `negated`, denies any value
    start: int  # the words in the turn's text that state it: text[start:end]
    end: int
    at: datetime  # when it begins to hold: when it was said, or the day that it mentions
    confidence: float  # how often this rule is right, 0 to 1
    rule: str  # which rule found it
    negated: bool = False
    replaces: str | None = None  # the former value that it mentions
    corrects: bool = False  # it corrects an earlier claim that was never true
    until: datetime | None = None  # the end of a past state; `at` is its beginning
    project: str | None = None  # the only one in which it holds
    reason: str = ""  # the reason for a decision, in the speaker's words
    since: datetime | None = None  # when it began, if the words say so; `at` is when it was said
