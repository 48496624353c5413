"""Judge whether an instruction stands or is for once: a linear model over what it says. Pure.

`python -m benchmarks.instructions --train` finds the weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from lamina.engines.claims.imperatives import MANNER, ONWARD, TASK, Piece
from lamina.text.patterns import bounded

# Where work goes on: "in this repo" is said for good.
PLACE = r"(?:repo|repository|project|codebase|chat|thread|conversation|team|company|house)\b"
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
        rf"\b(?:this(?! {PLACE})|these|(?<!from )here|attached|above|below|following|previous|last"
        r"|current)\b"
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
        r"\b(?:to|for|in|on|into|about|from|between|of|at) (?:the|that|it|him|her|a|an"
        rf"|this(?! {PLACE})|my (?!answers|mails|emails))\b",
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
ONCE = frozenset({"a", "the", "number", "of one", "to one", "name", "about", "this", "now"})
UNIVERSAL = ("always", "every", "onward", "unless")
# Cues that may be in the condition as well as in the order.
WHOLE = frozenset({"when", "always", "every", "unless", "this", "onward"})
BARE = re.compile(
    r"\w+\s(?:\w+(?:-\w+)?\s)?\w+s\b|\w+\s(?:in|with|without|as|to)\s(?!the|this|a|an|it|my)\w",
    re.I,
)


def features(piece: Piece, likely: Mapping[str, float]) -> dict[str, float]:
    """List what a piece has that tells for or against its standing.

    `likely` has what the network says of its words.
    """
    named = (BIAS, *_shape(piece), *_cues(piece), *_surroundings(piece))
    return {**dict.fromkeys(named, 1.0), **likely}


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
    is_universal = not found.isdisjoint(UNIVERSAL)
    # "Always attach a summary to the report": what speaks for once says little beside "always".
    yield from (f"{name} always" if is_universal and name in ONCE else name for name in found)
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
    if piece.joined and _is_universal(piece.sentence):
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
    "this": -2.61,
    "a": -1.71,
    "number": -1.5,
    "now": -1.41,
    "the": -1.38,
    "bias": -1.16,
    "verb task": -1.13,
    "of one": -1.12,
    "to one": -1.07,
    "kind asked": -0.98,
    "kind phrase": -0.94,
    "now after": -0.91,
    "this always": -0.89,
    "number always": -0.83,
    "many words": -0.78,
    "asks": -0.62,
    "role": -0.58,
    "about": -0.55,
    "few words": -0.51,
    "name": -0.5,
    "the always": -0.45,
    "verb other": -0.45,
    "phrase without": -0.35,
    "ordinal": -0.32,
    "kind order": -0.3,
    "now always": -0.3,
    "joined universal": -0.28,
    "colon": -0.18,
    "kind wanted": -0.16,
    "about always": -0.11,
    "a always": -0.1,
    "my": -0.06,
    "negated order": -0.06,
    "file": -0.04,
    "name always": -0.01,
    "negated wished": 0.05,
    "negated phrase": 0.18,
    "of one always": 0.22,
    "negated wanted": 0.24,
    "verb both": 0.36,
    "negated": 0.41,
    "condition when": 0.43,
    "kind norm": 0.43,
    "to one always": 0.55,
    "project": 0.77,
    "kind allowed": 0.8,
    "bare object": 0.87,
    "bare style": 0.92,
    "with me": 0.94,
    "max": 0.95,
    "unless": 1.03,
    "negated bare": 1.11,
    "kind wished": 1.12,
    "every": 1.2,
    "always after": 1.26,
    "style": 1.32,
    "only": 1.38,
    "called": 1.72,
    "verb manner": 1.86,
    "when": 2.05,
    "onward": 2.16,
    "always": 2.22,
    "condition": 2.22,
    "yours": 2.45,
    "always next": 2.51,
}


def sure(
    piece: Piece, likely: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS
) -> float:
    """Judge how likely it is that an instruction stands."""
    if _is_about_me(piece):
        return 0.0
    told = features(piece, likely)
    total = math.fsum(weights.get(name, 0.0) * much for name, much in told.items())
    return 1 / (1 + math.exp(-total))
