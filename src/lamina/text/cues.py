"""Cues: what a text could answer (a date, a number, a name), as bits of one number, and what a
question asks for. Pure.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamina.text.calendar_words import MONTH_OR_SHORT, NUMBERS, SHORT_MONTHS, WEEKDAY
from lamina.text.patterns import bounded

if TYPE_CHECKING:
    from lamina.text.screening import Parts, Screen

DATE, NUMBER, PLACE, NAME, ASKS, USER, ASSISTANT, WISH = (1 << bit for bit in range(8))

# Speakers that are roles, not persons.
ROLES = {
    "user": USER,
    "human": USER,
    "assistant": ASSISTANT,
    "ai": ASSISTANT,
    "system": ASSISTANT,
    "tool": ASSISTANT,
}

PERIOD = f"(?:week|month|year|night|weekend|summer|winter|spring|fall|autumn|{WEEKDAY})"
# Looser than `dates`: it checks whether a text could mention a time, not which. It expects
# lower-cased text, which is twice as fast.
TIMES = re.compile(
    rf"\b(?:yesterday|today|tonight|tomorrow|(?:last|next|this|past) {PERIOD}\w*"
    rf"|\w+ (?:day|week|month|year)s? (?:ago|later)|(?:19|20)\d\d|{WEEKDAY}"
    rf"|\d{{1,2}}(?::\d\d)? ?[ap]\.?m|{MONTH_OR_SHORT} \d{{1,2}}|\d{{1,2}}(?:st|nd|rd|th)"
    r"|(?:in|since|during|for|over) (?:the )?(?:\w+ )?"
    rf"(?:days|weeks|months|years|{MONTH_OR_SHORT}))\b",
)
COUNT_WORDS = (
    *NUMBERS[2:],
    *"dozen twice couple hundred thousand first second third".split(),
)
COUNTED = re.compile(rf"\d|\b(?:{'|'.join(COUNT_WORDS)})\b")
PLACES = re.compile(r"\b(?:in|at|to|from|near|around|visit\w*) (?:the )?[A-Z]\w+")
NAMES = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")
# What somebody wants from now on: a standing instruction or a preference. For lower-cased text.
WISHES = re.compile(
    r"(?:\A|[.!?\n] ?)(?:please |and |so )?(?:always|never) \w"
    r"|\b(?:from now on|going forward|by default|in future|as a rule|my preference)\b"
    r"|\b(?:when|whenever|if|every time|each time|any ?time) i ask\b"
    r"|\bi(?:['’]d|(?: \w+)?) (?:prefer|rather)\b"
)
WISH_PARTS = tuple("always never now forward default future rule ask prefer rather".split())
# The text ends with a question; a remark in brackets may follow.
QUESTION = bounded(r"\?[\"')\]\s]*(?:\[[^\]]*\])?\s*\Z", longest=200)
# A text without digits that TIMES matches contains one of these, and one that COUNTED matches
# contains one of COUNT_WORDS. Most texts contain none, and checking for these is faster.
WITHIN = ("day", "morrow", "night")  # other words end with these
TIME_PARTS = (
    *WITHIN,
    *"last next this past ago later weeks months years".split(),
    *SHORT_MONTHS,
)
DIGIT = re.compile(r"\d")

# What a question asks for, judged by its words; the first match counts.
WANTED = tuple(
    (re.compile(pattern, re.IGNORECASE), cue)
    for cue, pattern in (
        (DATE, r"\b(?:when|(?:what|which) (?:date|day|month|year)|what time|how long ago)\b"),
        (NUMBER, r"\bhow (?:many|much|old|long|far|often)\b"),
        (NUMBER, r"\bwhat (?:number|percentage|age)\b|\btotal\b"),
        (PLACE, r"\bwhere\b|\b(?:what|which) (?:city|country|state|place|town|location)\b"),
        (NAME, r"\bwho\b|\bwhose\b|\bwhom\b|\bname of\b"),
    )
)
SAYING = (
    r"(?:said|say|told|tell|recommend\w*|suggest\w*|mention\w*|gave|give|provid\w*|list\w*"
    r"|describ\w*|explain\w*|wrote|write|advis\w*|propos\w*|shared?|created?|made|came|had|were"
    r"|used|talked)"
)
# The question is about what the assistant said, not about what the user told it.
SAID_BY_ASSISTANT = re.compile(
    rf"\b(?:you|the assistant|ai) (?:\w+ ){{0,2}}?{SAYING}\b"
    r"|\b(?:we|our) (?:\w+ ){0,2}?"
    r"(?:talked|discuss\w*|spoke|conversation|chat|discussion|session)\b"
    r"|\bremind me\b(?!.{0,40}\b(?:I|my|mine|we)\b)"
    r"|\byour (?:\w+ )?(?:suggestion|recommendation|answer|advice|list|response|reply)s?\b",
    re.IGNORECASE,
)
# About the conversations themselves: "in which order did I bring that up in our conversations".
CONVERSATIONS = re.compile(
    r"\b(?:our|all|these|those) (?:\w+ )?(?:conversations|chats|discussions|sessions|talks)\b",
    re.IGNORECASE,
)
REQUEST = re.compile(
    r"\b(?:can|could|would|will|should|do|please) you (?:please )?"
    r"(?:recommend|suggest|give|tell|list|provide|describe|explain|write|share|create|make)\b",
    re.IGNORECASE,
)
# HELP: it asks for help or advice, to which wishes apply. PAST: it asks about what was said or
# done, to which they do not.
HELP = re.compile(
    r"\b(?:how (?:do|can|could|should|would|might|to)|(?:can|could|would|will) you|suggest"
    r"|recommend|advise|help me|should (?:i|we)|what (?:are|would|should|is the best)|which|tips"
    r"|ideas|advice)\b",
    re.IGNORECASE,
)
PAST = re.compile(
    r"\b(?:did|have|had|was|were) (?:i|we|my|our|you)\b"
    r"|\b(?:i|we|you) (?:\w+ )?(?:\w+ed|said|told|brought|made|had|gave)\b",
    re.IGNORECASE,
)
# It asks about a former state, not the present one.
BEFORE = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|earlier|before|first|initial(?:ly)?|original(?:ly)?"
    r"|used? to|back then)\b"
    r"|(?:\b(?:my|our|your|his|her|its|their)|['’]s) old\b",
    re.IGNORECASE,
)
# It counts, compares or lists things, or asks what somebody has done so far: "which books", "where
# has she been", "the phone or the laptop".
HELPER = "is|are|was|were|does|did|do|has|have|had|can|could|would|will"
PLURAL = rf"(?!(?:{HELPER})\b)[a-z-]+[^\Ws]s"
SEVERAL = bounded(
    r"\bhow (?:many|much|often)\b|\b(?:total|altogether|number of)\b"
    r"|\bor\b|\bbetween\b.+\band\b|\bamong\b|\bcompared (?:to|with)\b|\bthan\b|\bboth\b"
    r"|\bin common\b|\b(?:order|sequence) of\b|\bearliest\b"
    rf"|\b(?:what|which) (?:(?!(?:{HELPER})\b)[a-z-]+ ){{0,3}}?{PLURAL}"
    rf" (?:{HELPER}|that|to|for|of)\b"
    r"|\b(?:what|where|who|which)\b.* (?:has|have) \w+ (?:\w+ )?\w+(?:ed|en|ne)\b",
    re.IGNORECASE,
)
LONGEST = 20_000  # characters that are examined


def of(text: str, speaker: str | None) -> int:
    """Return the cues of a memory."""
    text = text[:LONGEST] if len(text) > LONGEST else text
    lowered = text.lower()
    has_digit = DIGIT.search(lowered) is not None
    is_timed = has_digit or any(map(lowered.__contains__, TIME_PARTS))
    is_counted = has_digit or any(map(lowered.__contains__, COUNT_WORDS))
    is_wish = any(map(lowered.__contains__, WISH_PARTS))
    words = _of_words(lowered, is_timed, is_counted, is_wish)
    return words | _of_signs(text) | _of_speaker(speaker)


def _of_words(lowered: str, is_timed: bool, is_counted: bool, is_wish: bool) -> int:
    """Return the cues of time, number and wishes, given which of them are possible."""
    cues = DATE if is_timed and TIMES.search(lowered) else 0
    cues |= NUMBER if is_counted and COUNTED.search(lowered) else 0
    return cues | WISH if is_wish and WISHES.search(lowered) else cues


def _of_signs(text: str) -> int:
    """Return the cues given by capitals and question marks."""
    cues = 0
    if not text[1:].islower():  # a capital further on
        cues = (PLACE if PLACES.search(text) else 0) | (NAME if NAMES.search(text) else 0)
    return cues | ASKS if "?" in text and ends_asking(text) else cues


def _of_speaker(speaker: str | None) -> int:
    return ROLES.get(speaker.casefold(), 0) if speaker else 0


def of_all(texts: Sequence[str], speakers: Sequence[str | None], screen: Screen) -> list[int]:
    """Return the cues of many memories; the screen was built from their texts."""
    cues = [_of_speaker(speaker) for speaker in speakers]
    timed, counted, wishing = map(screen.holding, _parts())
    telling = timed | counted | wishing | screen.with_capitals() | screen.with_sign("?")
    for place in telling.nonzero()[0].tolist():
        text = texts[place][:LONGEST]
        held = (bool(timed[place]), bool(counted[place]), bool(wishing[place]))
        cues[place] |= _of_words(text.lower(), *held) | _of_signs(text)
    return cues


@functools.cache
def _parts() -> tuple[Parts, Parts, Parts]:
    """Return parts of the words for time, number and wishes; most are the beginning of a word."""
    from lamina.text.screening import Parts

    digits = "0123456789"
    beginnings = (part for part in TIME_PARTS if part not in WITHIN)
    numbers = Parts(digits, COUNT_WORDS)
    return Parts((*digits, *WITHIN), beginnings), numbers, Parts((), WISH_PARTS)


def ends_asking(text: str) -> bool:
    """Tell if a text ends with a question."""
    start = max(0, len(text) - QUESTION.longest)
    return text.find("?", start) >= 0 and QUESTION.search(text, start) is not None


def wanted(question: str) -> int:
    """Return the cue that an answer to the question has; 0 if its words do not tell."""
    return next((cue for pattern, cue in WANTED if pattern.search(question)), 0)


def about_assistant(question: str) -> bool:
    """Tell if a question asks what the assistant said."""
    return bool(SAID_BY_ASSISTANT.search(REQUEST.sub(" ", question)))


def about_conversations(question: str) -> bool:
    """Tell if a question asks about the conversations themselves."""
    return bool(CONVERSATIONS.search(question))


def asks_for_help(question: str) -> bool:
    """Tell if a question asks for help or advice, not about what was said or done."""
    if not HELP.search(question) or PAST.search(question):
        return False
    return not about_assistant(question) and not about_conversations(question)


def asks_for_several(question: str) -> bool:
    """Tell if a question counts, compares or lists things; False for a very long one."""
    return SEVERAL.search(question) is not None


def about_before(question: str) -> bool:
    """Tell if a question asks for a former state instead of the present one."""
    return bool(BEFORE.search(question))
