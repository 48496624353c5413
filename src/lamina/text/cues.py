"""Signs that a text gives about what it could answer, as bits of one number; and what a question wants to hear. Pure."""

from __future__ import annotations

import re

from lamina.text.patterns import bounded

DATE, NUMBER, PLACE, NAME, ASKS, USER, ASSISTANT = (1 << place for place in range(7))

# Speakers that are a role and not a person.
ROLES = {
    "user": USER,
    "human": USER,
    "assistant": ASSISTANT,
    "ai": ASSISTANT,
    "system": ASSISTANT,
    "tool": ASSISTANT,
}

MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
# Looser than `dates`: it asks whether a text could tell a time, not which. In small letters: that is twice as fast.
TIMES = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow"
    rf"|(?:last|next|this|past) (?:week|month|year|night|weekend|summer|winter|spring|fall|autumn|{WEEKDAY})\w*"
    rf"|\w+ (?:day|week|month|year)s? (?:ago|later)|(?:19|20)\d\d|{WEEKDAY}|\d{{1,2}}(?::\d\d)? ?[ap]\.?m|{MONTH} \d{{1,2}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)|(?:in|since|during|for|over) (?:the )?(?:\w+ )?(?:days|weeks|months|years|{MONTH}))\b",
)
COUNTED = tuple(
    "two three four five six seven eight nine ten eleven twelve dozen twice couple hundred thousand first second third".split()
)
NUMBERS = re.compile(rf"\d|\b(?:{'|'.join(COUNTED)})\b")
PLACES = re.compile(r"\b(?:in|at|to|from|near|around|visit\w*) (?:the )?[A-Z]\w+")
NAMES = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")
# It ends with a question; a remark in brackets may follow.
QUESTION = bounded(r"\?[\"')\]\s]*(?:\[[^\]]*\])?\s*\Z", longest=200)
# A text without a digit holds one of these where TIMES fits, as it holds one of COUNTED where NUMBERS does; most hold none.
TIMELY = tuple("day morrow night last next this past ago later weeks months years".split())
TIMELY += tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())
DIGIT = re.compile(r"\d")

# What a question asks for, by its own words; the first that fits.
WANTED = tuple(
    (re.compile(pattern, re.IGNORECASE), sign)
    for pattern, sign in (
        (
            r"\b(?:when|what (?:date|day|time|month|year)|which (?:date|day|month|year)|how long ago)\b",
            DATE,
        ),
        (
            r"\bhow (?:many|much|old|long|far|often)\b|\bwhat (?:number|percentage|age)\b|\btotal\b",
            NUMBER,
        ),
        (r"\bwhere\b|\b(?:what|which) (?:city|country|state|place|town|location)\b", PLACE),
        (r"\bwho\b|\bwhose\b|\bwhom\b|\bname of\b", NAME),
    )
)
SAYING = (
    r"(?:said|say|told|tell|recommend\w*|suggest\w*|mention\w*|gave|give|provid\w*|list\w*|describ\w*|explain\w*|wrote|write"
    r"|advis\w*|propos\w*|shared?|created?|made|came|had|were|used|talked)"
)
# What the assistant said, and not what the user told it.
TOLD = re.compile(
    rf"\b(?:you|the assistant|ai) (?:\w+ ){{0,2}}?{SAYING}\b"
    r"|\b(?:we|our) (?:\w+ ){0,2}?(?:talked|discuss\w*|spoke|conversation|chat|discussion|session)\b"
    r"|\bremind me\b(?!.{0,40}\b(?:I|my|mine|we)\b)"
    r"|\byour (?:\w+ )?(?:suggestion|recommendation|answer|advice|list|response|reply)s?\b",
    re.IGNORECASE,
)
REQUEST = re.compile(
    r"\b(?:can|could|would|will|should|do|please) you (?:please )?"
    r"(?:recommend|suggest|give|tell|list|provide|describe|explain|write|share|create|make)\b",
    re.IGNORECASE,
)
# What was so once, and not what is so now.
BEFORE = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|earlier|before|first|initial(?:ly)?|original(?:ly)?|used? to|back then)\b"
    r"|(?:\b(?:my|our|your|his|her|its|their)|['’]s) old\b",
    re.IGNORECASE,
)
LONGEST = 20_000  # characters that are looked at


def of(text: str, speaker: str | None) -> int:
    """The signs of a memory."""
    text = text[:LONGEST] if len(text) > LONGEST else text
    found = ROLES.get(speaker.casefold(), 0) if speaker else 0
    lowered = text.lower()
    counts = DIGIT.search(lowered) is not None
    if (counts or any(map(lowered.__contains__, TIMELY))) and TIMES.search(lowered):
        found |= DATE
    if counts or (any(map(lowered.__contains__, COUNTED)) and NUMBERS.search(lowered)):
        found |= NUMBER
    if not text[1:].islower():  # a capital further on
        found |= (PLACE if PLACES.search(text) else 0) | (NAME if NAMES.search(text) else 0)
    return found | ASKS if ends_asking(text) else found


def ends_asking(text: str) -> bool:
    """Whether a text ends with a question."""
    start = max(0, len(text) - QUESTION.longest)
    return text.find("?", start) >= 0 and QUESTION.search(text, start) is not None


def wanted(question: str) -> int:
    """The sign of what would answer a question; 0 when it does not tell."""
    return next((sign for pattern, sign in WANTED if pattern.search(question)), 0)


def about_assistant(question: str) -> bool:
    """Whether a question asks what the assistant said."""
    return bool(TOLD.search(REQUEST.sub(" ", question)))


def about_before(question: str) -> bool:
    """Whether a question asks what was so before something else was."""
    return bool(BEFORE.search(question))
