"""Widen what rules found by the open form, and judge both by learned weights. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

import msgspec

from lamina.engines.claims import Claim, judge, open_form, open_verbs, spoken, values, words
from lamina.engines.claims.open_phrases import DENIED, ENDED, Candidate
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import MASK, Clause

Judge = Callable[[list[str], float], float]
FLOOR = 0.55  # what is less sure is not even worth a question
EVEN = 0.5  # how sure what nothing is known of is
RULE = "open"  # the name of the rule, with the shape behind it
CHANGE = f"{RULE} {open_verbs.CHANGE}"
DEEDS = frozenset({"did", "plan", "goal"})
RELATIVES = frozenset({"partner", "child", "parent", "sibling", "relative"})
# Shapes of "my landlord Mr. Okafor", which may stand in a request.
NAMING = frozenset("my_named the_named a_named their_named apposed".split())


def widened(
    said: Said,
    clauses: Sequence[Clause],
    found: Sequence[Claim],
    hearsay: Set[int],
    is_talk: bool,
    judged: Judge,
) -> list[Claim]:
    """Judge the claims that rules found, and add those of the open form; rules win.

    Rules were written with talks in view, so talks cannot teach how sure they are: messages can,
    but not for denials, whose labels say too little of what is denied.
    """
    claims = [claim if is_talk or claim.negated else _judged(claim, judged) for claim in found]
    more: list[Claim] = []
    is_readable = said.plain.isascii() or bool(spoken.ENGLISH.search(said.plain))
    for one in open_form.candidates(said.plain, clauses, is_talk) if is_readable else ():
        value = said.plain[slice(*one.value)]
        if MASK in value or one.clause.start in hearsay or _is_unsaid(one) or _is_junk(one, value):
            continue
        is_change = one.shape == open_verbs.CHANGE
        if not is_change and any(_covers(claim, one, said.speaker) for claim in found):
            continue
        sure = judged(judge.of_candidate(one, value, is_talk), EVEN)
        if sure >= FLOOR:
            more.append(_claim(said, one, sure, is_talk))
    for claim in sorted(more, key=lambda claim: -claim.confidence):
        if claim.rule == CHANGE or not any(_says_same(claim, other) for other in claims):
            claims.append(claim)
    return claims


def _is_unsaid(one: Candidate) -> bool:
    """Tell if a candidate is asked or supposed; but who somebody is may be told in passing."""
    is_named = one.shape in NAMING
    return one.clause.doubted or (one.clause.asks and not is_named)


def _is_junk(one: Candidate, value: str) -> bool:
    """Tell if a value names nothing: a pronoun, a filler, a deed without an object."""
    if one.attribute not in DEEDS:
        return values.is_empty(value)
    verb, _, rest = value.lower().partition(" ")
    return values.is_vague(rest) and verb not in words.ALONE


def _covers(claim: Claim, one: Candidate, speaker: str) -> bool:
    """Tell if the words of a candidate are those of a claim already."""
    is_inside = claim.start <= one.value[0] and one.value[1] <= claim.end
    return is_inside and claim.subject == (one.subject or speaker)


def _claim(said: Said, one: Candidate, sure: float, is_talk: bool) -> Claim:
    subject = one.subject
    if is_talk and subject[:1].islower():
        subject = f"{said.speaker}'s {subject}"  # whose mother is meant
    topic, status = one.shape.partition(":")[0], one.status
    claim = said.claim(
        subject or said.speaker,
        _related(one.attribute),
        one.value,
        one.where,
        sure,
        f"{RULE} {topic}",
        negated=status == DENIED,
        within=one.clause,
        replaces=said.plain[slice(*one.replaces)] if one.replaces else None,
        is_over=status == ENDED,
    )
    return _sure(claim, sure)


def _related(attribute: str) -> str:
    """Name a relative as the rules do: a sister is a sibling."""
    kind, _, noun = attribute.partition(":")
    related = words.RELATION.get(noun, "") if kind == "has" else ""
    return related if related in RELATIVES else attribute


def _judged(claim: Claim, judged: Judge) -> Claim:
    return _sure(claim, judged(judge.of_claim(claim), claim.confidence))


def _sure(claim: Claim, sure: float) -> Claim:
    return msgspec.structs.replace(claim, confidence=sure)


def _says_same(claim: Claim, other: Claim) -> bool:
    """Tell if half of the words of the shorter value are in the other."""
    if claim.subject != other.subject:
        return False
    mine, theirs = values.stems(claim.value), values.stems(other.value)
    return 2 * len(mine & theirs) >= min(len(mine), len(theirs))
