"""Judge whether an instruction stands or is for once: a linear model over what it says. Pure.

`python -m benchmarks.instructions --train` finds the weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from lamina.engines.claims.imperatives import MANNER, ONWARD, TASK, Piece
from lamina.text.patterns import bounded

CUES: Mapping[str, re.Pattern[str]] = {
    "always": re.compile(
        r"\b(?:al{1,2}ways|never|ever|at all times|no exceptions|no matter)\b", re.I
    ),
    "every": re.compile(
        r"\b(?:every ?time|each time|any ?time|when ?ever|wherever|anything|everything|everywhere"
        r"|any (?:\w+ ){1,2}(?:you|we)|(?:every|each|all)(?! (?:of|the|these|those|this|item"
        r"|user|row|line|paragraph|word|day|type|kind|evening)\b)"
        r"|throughout|in general|goes for|per (?:answer|reply|message))\b",
        re.I,
    ),
    "onward": re.compile(rf"\b(?:{ONWARD}|on in)\b", re.I),
    "unless": re.compile(
        r"\b(?:unless|(?:until|if) i (?:say|ask|tell)|otherwise|even (?:if|when)|no more)\b", re.I
    ),
    "when": re.compile(
        r"\b(?:when|whenever|if|before|after) (?:i|you|we|u|someone|a|something)\b"
        r"|\bif (?:unsure|in doubt)\b",
        re.I,
    ),
    "yours": re.compile(
        r"\b(?:you|u) (?:ever )?(?:give|write|make|send|suggest|mention|answer|draft|recommend"
        r"|show|do|quote|don't|are not|aren't|reply|criticise|criticize)\b|\byour (?:answer|repl"
        r"|respon|tone|message|explanation|suggestion|sentence|code)",
        re.I,
    ),
    "with me": re.compile(r"\b(?:with|w/?|to|for|at) me\b", re.I),
    "this": re.compile(
        r"\b(?:this|these|(?<!from )here|attached|above|below|following|previous|last|current)\b"
        r"|\bthat (?:one|line|text|verse|box|bit|part|paragraph|sentence|file)\b",
        re.I,
    ),
    "now": re.compile(
        r"\b(?:this time|for now|today|tonight|tomorrow|right now|once more|again|asap|yet"
        r"|next (?:week"
        r"|month|time)|(?:mon|tues|wednes|thurs|fri|satur|sun)day(?:'s)?|just gave|instead(?! of)"
        r"|now(?! on)"
        r"|in a hurry)\b",
        re.I,
    ),
    "of one": re.compile(
        r"\b(?:to|for|in|on|into|about|from|between|of|at) (?:the|this|that|it|him|her|a|an"
        r"|my (?!answers|mails|emails))\b",
        re.I,
    ),
    "to one": re.compile(
        r"\b(?:[Tt]o|[Ww]ith|[Ff]rom|[Ff]or|[Tt]ell|[Aa]sk) (?:him|her|them|[A-Z][a-z]+)\b"
    ),
    "number": re.compile(r"\b\d+\b"),
    "name": re.compile(r"(?<=\w )[A-Z][a-z]+"),
    "file": re.compile(r"\w\.(?:py|js|ts|md|txt|csv|pdf|go|rs|java|json|ya?ml)\b|\w/[\w-]{1,40}/"),
    "only": re.compile(
        r"\bonly\b|, not\b|\bnot\b(?! the)|\binstead of\b|\brather than\b|\bover\b|>", re.I
    ),
    "colon": re.compile(r":"),
}
# Cues that are one word.
WORDS: Mapping[str, frozenset[str]] = {
    "the": frozenset("the that those it them him her his its their".split()),
    "a": frozenset("a an one two three four five ten some another".split()),
    "ordinal": frozenset("first second third last next other latest original".split()),
    "about": frozenset("about how what why whether who where".split()),
    "max": frozenset("under max maximum most below less over longer".split()),
    "my": frozenset("my our".split()),
}
# The manner of answers: what they look like, in which language, in which units.
STYLE = frozenset(
    "answer answers answrs reply replies response responses emoji emojis smileys unit units metric"
    " imperial celsius fahrenheit tone voice style messages hints short brief concise terse long"
    " blunt honest direct formal informal casual polite jargon slang bullet bullets paragraph"
    " paragraphs markdown heading headings table tables html latex spelling spellings grammar"
    " abbreviation abbreviations acronyms date dates time times clock 24-hour 24h utc prices"
    " currency dollars euros usd eur code snippet snippets example examples comment comments source"
    " sources citation citations references quote quotes marks dashes comma pleasantries"
    " apologise apologize apologising apologizing apologies apology disclaimer disclaimers intro"
    " intros outro outros preamble summary summaries question questions explanation explanations"
    " detail details detailed list lists step steps sentence sentences words lines language english"
    " german french spanish italian portuguese polish czech dutch swedish danish welsh japanese"
    " chinese russian korean arabic hindi turkish greek american british australian canadian recipe"
    " recipes meeting meetings calls appointments booking bookings calendar weekend weekends"
    " morning mornings evening evenings mondays tuesdays wednesdays thursdays fridays saturdays"
    " sundays tests commit commits imports plots formulas numbers mails emails letters letterhead"
    " name names pronouns tabs spaces columns spoilers adverbs passive tense".split()
)
CALLED = bounded(
    r"(?:always |just |don't |do not |never |dont )*(?:(?:call|address|name|refer to) me\b"
    r"(?! (?:an?|tomorrow|back|when|later|at|if|on|in|again|once)\b)"
    r"|use (?:my (?:first|last|full|nick) ?name|they/them|she/her|he/him))",
    re.I,
)
ROLE = bounded(r"(?:act|pretend|imagine|you are|suppose|play)\b", re.I)
WORD = re.compile(r"[\w-]+")
FEW, MANY = 4, 14  # words
BIAS = "bias"
VERBS = {
    (True, True): "both",
    (True, False): "manner",
    (False, True): "task",
    (False, False): "other",
}
NAMES = frozenset({"name", "to one"})  # of one who is to be called so, a name tells nothing
UNIVERSAL = ("always", "every", "onward", "unless")
# Cues that may be in the condition as well as in the order.
WHOLE = frozenset({"when", "always", "every", "unless", "this", "onward"})
BARE = re.compile(
    r"\w+\s(?:\w+(?:-\w+)?\s)?\w+s\b|\w+\s(?:in|with|without|as|to)\s(?!the|this|a|an|it|my)\w",
    re.I,
)


def features(piece: Piece) -> Iterator[str]:
    """Name what a piece has that tells for or against its standing."""
    yield BIAS
    yield from _shape(piece)
    yield from _cues(piece)
    yield from _surroundings(piece)


def _shape(piece: Piece) -> Iterator[str]:
    """Name what kind of order it is."""
    yield f"kind {piece.kind}"
    if piece.negated:
        yield "negated"
        yield f"negated {piece.kind}"
    if piece.kind in ("order", "asked", "wished", "allowed"):
        manner, task = piece.verb in MANNER, piece.verb in TASK
        yield f"verb {VERBS[manner, task]}"
    if BARE.match(piece.order):
        yield "bare object"
    if ROLE.match(piece.order):
        yield "role"
    number = len(piece.order.split())
    if number <= FEW:
        yield "few words"
    if number >= MANY:
        yield "many words"


def _cues(piece: Piece) -> Iterator[str]:
    """Name the words that tell."""
    order, whole = piece.order, piece.text
    words = frozenset(WORD.findall(order.lower()))
    called = bool(CALLED.match(order))
    found = {name for name, listed in WORDS.items() if not listed.isdisjoint(words)}
    for name, pattern in CUES.items():
        if not (called and name in NAMES) and pattern.search(whole if name in WHOLE else order):
            found.add(name)
    yield from found
    is_bare = found.isdisjoint(("this", "the"))
    if called:
        yield "called"
    if piece.negated and is_bare:
        yield "negated bare"
    if not STYLE.isdisjoint(words):
        yield "style"
        if is_bare:
            yield "bare style"


def _surroundings(piece: Piece) -> Iterator[str]:
    """Name what is said around the order."""
    if piece.onward:
        yield "onward"
    if piece.project:
        yield "project"
    if piece.asks:
        yield "asks"
    if piece.kind == "phrase" and not _is_universal(piece.sentence):
        yield "phrase without"
    if piece.condition:
        yield "condition"
        if CUES["when"].search(piece.condition) or CUES["every"].search(piece.condition):
            yield "condition when"
    if piece.after and _is_universal(piece.after):
        yield "always after"
    if piece.after and (CUES["this"].search(piece.after) or CUES["now"].search(piece.after)):
        yield "now after"
    if piece.joined:
        yield "joined"
        if _is_universal(piece.sentence):
            yield "joined universal"
    if len(piece.following.split()) <= FEW and _is_universal(piece.following):
        yield "always next"


def _is_universal(text: str) -> bool:
    return any(CUES[name].search(text) for name in UNIVERSAL)


def _is_about_me(piece: Piece) -> bool:
    """Tell if a wish is not about what the listener does: "I prefer window seats"."""
    if piece.kind != "wanted":
        return False
    is_style = not STYLE.isdisjoint(WORD.findall(piece.order.lower()))
    return not (is_style or CUES["yours"].search(piece.order))


# Found by `python -m benchmarks.instructions --train`.
WEIGHTS: Mapping[str, float] = {
    "this": -1.57,
    "bias": -1.43,
    "number": -1.23,
    "kind phrase": -1.12,
    "a": -1.1,
    "now": -1.08,
    "verb task": -1.06,
    "of one": -1.03,
    "to one": -0.85,
    "phrase without": -0.7,
    "name": -0.65,
    "the": -0.64,
    "asks": -0.59,
    "kind asked": -0.58,
    "about": -0.49,
    "few words": -0.38,
    "kind wanted": -0.33,
    "many words": -0.29,
    "ordinal": -0.26,
    "colon": -0.25,
    "joined": -0.24,
    "verb other": -0.23,
    "kind order": -0.17,
    "role": -0.13,
    "now after": -0.1,
    "my": -0.05,
    "negated order": -0.05,
    "file": -0.02,
    "negated wished": 0.03,
    "negated wanted": 0.05,
    "verb both": 0.24,
    "max": 0.29,
    "kind allowed": 0.38,
    "always after": 0.45,
    "project": 0.45,
    "negated phrase": 0.69,
    "negated": 0.72,
    "bare object": 0.83,
    "kind wished": 0.84,
    "condition when": 0.89,
    "style": 0.91,
    "unless": 0.93,
    "only": 0.94,
    "kind norm": 0.96,
    "with me": 0.97,
    "negated bare": 1.11,
    "bare style": 1.13,
    "called": 1.36,
    "verb manner": 1.51,
    "when": 1.53,
    "every": 1.55,
    "joined universal": 1.58,
    "condition": 1.7,
    "yours": 1.73,
    "always": 2.43,
    "always next": 2.58,
    "onward": 2.69,
}


def sure(piece: Piece, weights: Mapping[str, float] = WEIGHTS) -> float:
    """Judge how likely it is that an instruction stands."""
    if _is_about_me(piece):
        return 0.0
    total = sum(weights.get(name, 0.0) for name in set(features(piece)))
    return 1 / (1 + math.exp(-total))
