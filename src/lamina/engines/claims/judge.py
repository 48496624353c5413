"""Judge how sure a claim is: the weights of its features, learned from labelled texts. Pure.

Two of them are numbers, which the network of `tagger.py` gives: how likely the words of the claim
are a value of its status, and how likely it is about whom the claim names. The others say how it
was read. `python -m benchmarks.learning` learns the weights, which are shipped beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

import msgspec

from lamina.engines.claims import Claim, attributes, words
from lamina.engines.claims.open_phrases import Candidate
from lamina.engines.claims.open_verbs import LATER
from lamina.engines.claims.tagged import Tagged
from lamina.engines.claims.tagger import STATUSES, Tags
from lamina.text.words import STOP_WORDS, tokens

Features = Mapping[str, float]

WEIGHTS = Path(__file__).with_name("judge.json")
LEAST, MOST = 0.02, 0.98  # nothing is certain
PRONOUNS = frozenset("it this that these those you your them him her one ones me us there".split())
PREPOSITIONS = frozenset("in at on with for from to by as into near behind over about".split())
TIMES = frozenset(
    "day days week weeks month months year years hour hours minute minutes today tonight morning"
    " evening night time".split()
)
FRESH = ("new ", "current ", "latest ")  # what one has whose thing is one of these
BY = "by "  # before the name of a rule
TALK = "talk "  # before a feature: its weight where people talk to each other, besides
WORDY = 6  # spaces in a long value
TAGGED_WORDS = 6  # up to which the words of a value are counted
PLANS = frozenset({"plan", "goal", "decision"})
UNLIKELY = 0.01  # what the network says is taken for no surer than this, either way
LONG = (1, 2, 3, 5, 7)  # lengths of values in words, up to which they are counted together


@cache
def weights() -> Mapping[str, float]:
    return msgspec.json.decode(WEIGHTS.read_bytes(), type=dict[str, float])


def judged(
    named: Sequence[str],
    features: Callable[[], Features],
    before: float,
    known: Mapping[str, float] | None = None,
) -> float:
    """Judge how sure a claim is, if it was so sure before; `named` are features that it has.

    A rule that the labels say nothing of is as sure as it was, and all its `features` are not asked
    for: what the network says of a few words tells little of a rule that looks at what was said
    earlier.
    """
    known = weights() if known is None else known
    rules = [name for name in named if name.startswith(BY)]
    if rules and known.keys().isdisjoint(rules):
        return min(MOST, max(LEAST, before))
    return confidence(features(), before, known)


def confidence(
    features: Features, before: float, known: Mapping[str, float] | None = None
) -> float:
    """Compute how sure a claim with some features is, if it was so sure before."""
    known = weights() if known is None else known
    score = math.log(before / (1 - before))
    score += math.fsum(known[name] * much for name, much in features.items() if name in known)
    return round(min(MOST, max(LEAST, 1 / (1 + math.exp(-score)))), 2)


def of_candidate(one: Candidate, value: str) -> list[str]:
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
    if one.attribute.removeprefix(attributes.HAS).startswith(FRESH):
        own.append("fresh")
    return own


def of_tagged(one: Tagged, claim: Claim, *, is_foreign: bool) -> list[str]:
    """List the features of a claim that the network alone reads."""
    whose = "other" if one.about else "self"
    return [
        "tagged",
        f"tagged {one.status}",
        f"tagged about {whose}",
        f"tagged {whose} near {one.near}",
        f"tagged words {min(one.size, TAGGED_WORDS)}",
        *(["tagged several"] if len(one.values) > 1 else []),
        f"tagged {'asks' if one.clause.asks else 'says'}",
        *(["tagged foreign"] if is_foreign else []),
        *_of_value(claim.value, "tagged"),
    ]


def of_claim(claim: Claim) -> list[str]:
    """List the features of a claim that a rule made."""
    family = attributes.of(claim.attribute).family
    is_named = claim.value[:1].isupper()
    return [
        "rule",
        f"family {family}",
        f"{BY}{claim.rule} {'named' if is_named else ''}",
        *(["ended"] if claim.until else []),
        *(["long rule"] if claim.value.count(" ") > WORDY else []),
    ]


def features(named: Sequence[str], likely: Features, *, is_talk: bool) -> Features:
    """Join features that a claim has or has not with those that are numbers.

    What the network says counts as much as it tells of claims that were read in the same way, which
    the first name says. Where people talk to each other, each feature counts a second time, under a
    name of its own.
    """
    numbers = {f"{named[0]} {name}": much for name, much in likely.items()}
    own = {**dict.fromkeys(named, 1.0), **numbers}
    return {**own, **{TALK + name: much for name, much in own.items()}} if is_talk else own


def of_tags(
    tags: Tags, claim: Claim, speaker: str, now: datetime, values: Sequence[tuple[int, int]] = ()
) -> Features:
    """Tell how likely the network takes a claim's words for values of its status and subject.

    `values` has the words of the values, where they are known.
    """
    places = [n for span in values or [tags.span(*_where(tags, claim))] for n in range(*span)]
    if not places:
        return {}
    columns = [STATUSES.index(status) for status in statuses(claim, now)]
    likely = tags.statuses[places][:, columns].sum(axis=1)
    start = places[0]
    about = tags.about(start)
    meant = float(about[0])
    if claim.subject != speaker and (names := tokens(claim.subject)):
        named = [n for n, word in enumerate(tags.words, 1) if word.text in names]
        meant = float(about[named].sum())
    return {
        "value": _odds(float(likely.mean())),
        "weakest": _odds(float(likely.min())),
        "begins": _odds(float(tags.begins[start])),
        "about": _odds(meant),
    }


def _where(tags: Tags, claim: Claim) -> tuple[int, int]:
    """Find the value of a claim among its words: "Ana" is not in "manager"."""
    value, text = claim.value.lower(), tags.lowered
    place = text.find(value, max(0, claim.start - 5)) if value else -1
    while 0 <= place <= claim.end:
        end = place + len(value)
        around = text[max(0, place - 1) : place], text[end : end + 1]
        if not any(map(str.isalnum, around)):
            return place, end
        place = text.find(value, place + 1)
    return claim.start, claim.end


def _odds(likely: float) -> float:
    bounded = min(1 - UNLIKELY, max(UNLIKELY, likely))
    return round(math.log(bounded / (1 - bounded)), 3)


def statuses(claim: Claim, now: datetime) -> tuple[str, ...]:
    """Name the statuses that a claim may have in the eyes of a reader."""
    if claim.until is not None:
        return ("ended",)
    if claim.negated:
        return ("ended", "denied")  # a denial of what was known ends it
    is_planned = claim.attribute in PLANS or claim.at > now
    return ("planned",) if is_planned else ("holds",)


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
