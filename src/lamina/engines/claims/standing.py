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
        r"|month|time)|(?:mon|tues|wednes|thurs|fri|satur|sun)day(?:'s)?|just gave|instead"
        r"|now(?! on)"
        r"|in a hurry)\b",
        re.I,
    ),
    "the": re.compile(r"\b(?:the|that|those|it|them|him|her|his|its|their)\b", re.I),
    "of one": re.compile(
        r"\b(?:to|for|in|on|into|about|from|between|of|at) (?:the|this|that|it|him|her|a|an"
        r"|my (?!answers|mails|emails))\b",
        re.I,
    ),
    "a": re.compile(
        r"\b(?:an?|one|two|three|four|five|ten|some|another)\b(?! (?:time|rule)\b)", re.I
    ),
    "to one": re.compile(
        r"\b(?:[Tt]o|[Ww]ith|[Ff]rom|[Ff]or|[Tt]ell|[Aa]sk) (?:him|her|them|[A-Z][a-z]+)\b"
    ),
    "number": re.compile(r"\b\d+\b"),
    "ordinal": re.compile(r"\b(?:first|second|third|last|next|other|latest|original)\b", re.I),
    "name": re.compile(r"(?<=\w )[A-Z][a-z]+"),
    "file": re.compile(r"\w\.(?:py|js|ts|md|txt|csv|pdf|go|rs|java|json|ya?ml)\b|\w/[\w-]{1,40}/"),
    "about": re.compile(r"\b(?:about|how|what|why|whether|who|where|that says)\b", re.I),
    "only": re.compile(
        r"\bonly\b|, not\b|\bnot\b(?! the)|\binstead of\b|\brather than\b|\bover\b|>", re.I
    ),
    "max": re.compile(
        r"\b(?:under|max|at most|maximum|no more than|up to|below|less than|over|longer than)\b",
        re.I,
    ),
    "my": re.compile(r"\b(?:my|our)\b", re.I),
    "colon": re.compile(r":"),
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
    r"|use (?:my (?:first|last|full|nick) ?name|they/them|she/her|he/him))",
    re.I,
)
ROLE = bounded(r"(?:act|pretend|imagine|you are|suppose|play)\b", re.I)
WORD = re.compile(r"[\w-]+")
FEW, MANY = 4, 14  # words
BIAS = "bias"
UNIVERSAL = ("always", "every", "onward", "unless")
# Cues that may be in the condition as well as in the order.
WHOLE = frozenset({"when", "always", "every", "unless", "this", "onward"})
BARE = re.compile(
    r"\w+\s(?:\w+(?:-\w+)?\s)?\w+s\b|\w+\s(?:in|with|without|as|to)\s(?!the|this|a|an|it|my)\w",
    re.I,
)


def features(piece: Piece) -> Iterator[str]:
    """Name what a piece has that tells for or against its standing."""
    order, whole = piece.order, piece.text
    yield BIAS
    yield f"kind {piece.kind}"
    if piece.negated:
        yield "negated"
        yield f"negated {piece.kind}"
    if piece.kind in ("order", "asked", "wished", "allowed"):
        manner, task = piece.verb in MANNER, piece.verb in TASK
        yield "verb " + (
            "both" if manner and task else "manner" if manner else "task" if task else "other"
        )
        if piece.verb.endswith("ing"):
            yield "verb ing"
    for name, pattern in CUES.items():
        if pattern.search(whole if name in WHOLE else order):
            yield name
    if piece.onward:
        yield "onward"
    if piece.negated and CUES["this"].search(order) is None and CUES["the"].search(order) is None:
        yield "negated bare"
    if piece.kind == "phrase" and not any(CUES[name].search(piece.sentence) for name in UNIVERSAL):
        yield "phrase without"
    if piece.condition:
        yield "condition"
        if CUES["when"].search(piece.condition) or CUES["every"].search(piece.condition):
            yield "condition when"
    if CUES["always"].search(piece.after) or CUES["every"].search(piece.after):
        yield "always after"
    if CUES["this"].search(piece.after) or CUES["now"].search(piece.after):
        yield "now after"
    if piece.project:
        yield "project"
    if _has_style(order):
        yield "style"
        if not (CUES["the"].search(order) or CUES["this"].search(order)):
            yield "bare style"
    if BARE.match(order):
        yield "bare object"
    if CALLED.match(order):
        yield "called"
    if ROLE.match(order):
        yield "role"
    words = len(order.split())
    if words <= FEW:
        yield "few words"
    if words >= MANY:
        yield "many words"
    if piece.asks:
        yield "asks"
    if piece.joined:
        yield "joined"
        if any(CUES[name].search(piece.sentence) for name in UNIVERSAL):
            yield "joined universal"
    if len(piece.following.split()) <= FEW and any(
        CUES[name].search(piece.following) for name in UNIVERSAL
    ):
        yield "always next"


def _has_style(order: str) -> bool:
    return not STYLE.isdisjoint(WORD.findall(order.lower()))


def _is_about_me(piece: Piece) -> bool:
    """Tell if a wish is not about what the listener does: "I prefer window seats"."""
    is_ours = _has_style(piece.order) or CUES["yours"].search(piece.order)
    return piece.kind == "wanted" and not is_ours


# Found by `python -m benchmarks.instructions --train`.
WEIGHTS: Mapping[str, float] = {
    "this": -1.67,
    "bias": -1.43,
    "number": -1.24,
    "now": -1.21,
    "a": -1.15,
    "kind phrase": -1.14,
    "verb task": -1.03,
    "of one": -1.01,
    "to one": -0.93,
    "phrase without": -0.69,
    "the": -0.63,
    "kind asked": -0.57,
    "asks": -0.56,
    "about": -0.54,
    "name": -0.48,
    "few words": -0.39,
    "kind wanted": -0.33,
    "many words": -0.32,
    "colon": -0.26,
    "joined": -0.26,
    "verb other": -0.24,
    "ordinal": -0.19,
    "kind order": -0.17,
    "role": -0.13,
    "my": -0.08,
    "negated order": -0.08,
    "now after": -0.07,
    "verb ing": -0.03,
    "file": -0.02,
    "negated wished": 0.03,
    "negated wanted": 0.05,
    "verb both": 0.24,
    "max": 0.36,
    "kind allowed": 0.39,
    "always after": 0.41,
    "project": 0.44,
    "negated": 0.72,
    "negated phrase": 0.72,
    "bare object": 0.79,
    "kind wished": 0.83,
    "condition when": 0.87,
    "unless": 0.89,
    "style": 0.91,
    "kind norm": 0.95,
    "with me": 0.96,
    "only": 1.01,
    "negated bare": 1.09,
    "bare style": 1.16,
    "called": 1.28,
    "when": 1.51,
    "verb manner": 1.52,
    "every": 1.55,
    "joined universal": 1.59,
    "condition": 1.68,
    "yours": 1.73,
    "onward": 2.51,
    "always": 2.54,
    "always next": 2.58,
}


def sure(piece: Piece, weights: Mapping[str, float] = WEIGHTS) -> float:
    """Judge how likely it is that an instruction stands."""
    if _is_about_me(piece):
        return 0.0
    total = sum(weights.get(name, 0.0) for name in set(features(piece)))
    return 1 / (1 + math.exp(-total))
