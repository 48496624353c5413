"""Judge whether an instruction is standing or for once, with a linear model. Pure.

`python -m benchmarks.instructions --train` trains the weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from lamina.engines.claims.imperatives import MANNER, ONWARD, TASK, Piece
from lamina.text.patterns import bounded

# Places of ongoing work: "in this repo" makes an instruction permanent.
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
    "only": re.compile(
        r"\bonly\b|, not\b|\bnot\b(?! the)|\binstead of\b|\brather than\b|\bover\b|>", re.I
    ),
}
# Cues of one word.
WORDS: Mapping[str, frozenset[str]] = {
    "the": frozenset("the that those it them him her his its their".split()),
    "a": frozenset("a an one two three four five ten some another".split()),
}
# The style of answers: format, language, units.
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
WORD = re.compile(r"[\w-]+")
FEW = 4  # words
BIAS = "bias"
VERBS = {
    (True, True): "both",
    (True, False): "manner",
    (False, True): "task",
    (False, False): "other",
}
UNIVERSAL = ("always", "every", "onward", "unless")
# Cues that may be in the condition as well as the order.
WHOLE = frozenset({"when", "always", "every", "unless", "this", "onward"})


def features(piece: Piece, likely: Mapping[str, float]) -> dict[str, float]:
    """Return the features of a piece.

    `likely` has the feature from the network.
    """
    named = (BIAS, *_shape(piece), *_cues(piece), *_surroundings(piece))
    return {**dict.fromkeys(named, 1.0), **likely}


def _shape(piece: Piece) -> Iterator[str]:
    """Yield the features of the kind of order."""
    yield f"kind {piece.kind}"
    if piece.negated:
        yield "negated"
    if piece.kind in ("order", "asked", "wished", "allowed"):
        manner, task = piece.verb in MANNER, piece.verb in TASK
        yield f"verb {VERBS[manner, task]}"


def _cues(piece: Piece) -> Iterator[str]:
    """Yield the cues in the words of a piece."""
    order, whole = piece.order, piece.text
    words = frozenset(WORD.findall(order.lower()))
    called = bool(CALLED.match(order))
    found = {name for name, listed in WORDS.items() if not listed.isdisjoint(words)}
    for name, pattern in CUES.items():
        if pattern.search(whole if name in WHOLE else order):
            found.add(name)
    if called:
        found.discard("to one")  # "call me Sam" is not addressed to anybody else
    yield from found
    is_bare = found.isdisjoint(("this", "the"))
    if "only" in found and is_bare and piece.verb in MANNER:
        yield "only manner"  # "use uv instead of pip"
    if called:
        yield "called"
    if piece.negated and is_bare:
        yield "negated bare"
    if not STYLE.isdisjoint(words):
        yield "style"
        if is_bare:
            yield "bare style"


def _surroundings(piece: Piece) -> Iterator[str]:
    """Yield the features of the text around the order."""
    if piece.onward:
        yield "onward"
    if piece.project:
        yield "project"
    if piece.condition:
        yield "condition"
        if CUES["when"].search(piece.condition) or CUES["every"].search(piece.condition):
            yield "condition when"
    if piece.after and _is_universal(piece.after):
        yield "always after"
    if piece.after and (CUES["this"].search(piece.after) or CUES["now"].search(piece.after)):
        yield "now after"
    if len(piece.following.split()) <= FEW and _is_universal(piece.following):
        yield "always next"


def _is_universal(text: str) -> bool:
    return any(CUES[name].search(text) for name in UNIVERSAL)


def _is_about_me(piece: Piece) -> bool:
    """Tell if a wish is not about the listener's actions: "I prefer window seats"."""
    if piece.kind != "wanted":
        return False
    is_style = not STYLE.isdisjoint(WORD.findall(piece.order.lower()))
    return not (is_style or CUES["yours"].search(piece.order))


# Trained by `python -m benchmarks.instructions --train`.
WEIGHTS: Mapping[str, float] = {
    "this": -1.19,
    "now": -0.75,
    "kind phrase": -0.7,
    "number": -0.52,
    "verb task": -0.46,
    "kind tagged": -0.42,
    "a": -0.39,
    "verb other": -0.39,
    "kind asked": -0.38,
    "of one": -0.3,
    "kind order": -0.25,
    "bias": -0.13,
    "now after": -0.13,
    "the": 0.0,
    "condition": 0.04,
    "kind wanted": 0.06,
    "negated bare": 0.07,
    "to one": 0.08,
    "verb both": 0.17,
    "only": 0.28,
    "negated": 0.34,
    "style": 0.34,
    "kind wished": 0.37,
    "kind allowed": 0.48,
    "every": 0.53,
    "always after": 0.56,
    "bare style": 0.57,
    "when": 0.57,
    "kind norm": 0.83,
    "unless": 0.88,
    "verb manner": 0.91,
    "only manner": 0.93,
    "project": 0.96,
    "network": 1.01,
    "always next": 1.04,
    "always": 1.05,
    "yours": 1.15,
    "called": 1.18,
    "condition when": 1.38,
    "onward": 1.74,
}


def sure(
    piece: Piece, likely: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS
) -> float:
    """Return the probability that an instruction is standing."""
    if _is_about_me(piece):
        return 0.0
    told = features(piece, likely)
    total = math.fsum(weights.get(name, 0.0) * much for name, much in told.items())
    return 1 / (1 + math.exp(-total))
