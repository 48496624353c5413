"""Judge how sure a claim is: the weights of its features, learned from labelled texts. Pure.

`python -m benchmarks.learning` learns the weights, which are shipped beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from lamina.engines.claims import Claim, attributes, words
from lamina.engines.claims.open_phrases import Candidate
from lamina.engines.claims.open_verbs import LATER
from lamina.text.words import STOP_WORDS

WEIGHTS = Path(__file__).with_name("judge.json")
LEAST, MOST = 0.02, 0.98  # nothing is certain
PRONOUNS = frozenset("it this that these those you your them him her one ones me us there".split())
PREPOSITIONS = frozenset("in at on with for from to by as into near behind over about".split())
TIMES = frozenset(
    "day days week weeks month months year years hour hours minute minutes today tonight morning"
    " evening night time".split()
)
TALK = "talk "  # before a feature: its weight where people talk to each other, besides
WORDY = 6  # spaces in a long value
LONG = (1, 2, 3, 5, 7)  # lengths of values in words, up to which they are counted together


@cache
def weights() -> Mapping[str, float]:
    return msgspec.json.decode(WEIGHTS.read_bytes(), type=dict[str, float])


def confidence(
    features: list[str], before: float, known: Mapping[str, float] | None = None
) -> float:
    """Compute how sure a claim with some features is, if it was so sure before."""
    known = weights() if known is None else known
    score = math.log(before / (1 - before))
    score += math.fsum(known[name] for name in features if name in known)
    return round(min(MOST, max(LEAST, 1 / (1 + math.exp(-score)))), 2)


def of_candidate(one: Candidate, value: str, is_talk: bool) -> list[str]:
    """List the features of a candidate of the open form."""
    topic, _, rest = one.shape.partition(":")
    tense, _, part = rest.partition(":")
    clause = one.clause
    own = [
        "open",
        f"topic {topic}",
        f"tense {tense}",
        f"part {part}",
        f"opener {one.opener}",
        *(["more"] if part.endswith("more") else []),
        f"{topic} {tense}",
        f"status {one.status}",
        f"link {clause.link}",
        f"verb {one.verb}",
        f"{topic.partition('_')[0]} {one.status}",
        *_of_value(value, topic.partition("_")[2] or topic),
    ]
    if clause.asks:
        own.append("asks")
    return [*own, *(TALK + name for name in own)] if is_talk else own


def of_claim(claim: Claim) -> list[str]:
    """List the features of a claim that a rule made of a message."""
    family = attributes.of(claim.attribute).family
    is_named = claim.value[:1].isupper()
    return [
        "rule",
        f"family {family}",
        f"rule {claim.rule} {'named' if is_named else ''}",
        *(["ended"] if claim.until else []),
        *(["long rule"] if claim.value.count(" ") > WORDY else []),
    ]


def _of_value(value: str, topic: str) -> list[str]:
    """List the features of a value."""
    listed = value.split()
    lowered = [word.lower().strip("'\".,!?") for word in listed]
    size = next((most for most in LONG if len(listed) <= most), 99)
    features = [f"words {size}"]
    if any(map(str.isdigit, value)):
        features += ["digit", f"digit {topic}"]
    if any(word[:1].isupper() for word in listed):
        features += ["capital", f"capital {topic}"]
    if lowered and lowered[0] in PREPOSITIONS:
        features.append("preposition")
    if not PRONOUNS.isdisjoint(lowered):
        features.append("pronoun")
    if not LATER.isdisjoint(lowered) or not TIMES.isdisjoint(lowered):
        features.append("time")
    if all(word in words.VAGUE or word in STOP_WORDS for word in lowered):
        features.append("vague")
    if lowered and lowered[-1].endswith("ing"):
        features.append("ends ing")
    if lowered and lowered[0].endswith("ed"):
        features.append("begins ed")
    if len(lowered) == 1 and not ("digit" in features or "capital" in features):
        features += ["bare", f"bare {topic}"]
    return features
