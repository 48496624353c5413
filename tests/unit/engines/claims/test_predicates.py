"""Who does what in a clause."""

from __future__ import annotations

import pytest

from lamina.engines.claims import sentences
from lamina.engines.claims.predicates import Predicate, parse
from lamina.engines.claims.statements import VERBS

# A clause, whom it is about, and its verbs with their auxiliaries; a dash before a denied one.
PARSED = (
    ("I live in Rome", "self", "plain live"),
    ("I don't live in Rome", "self", "-do live"),
    ("I've never lived in Rome", "self", "-have lived"),
    ("im vegan", "self", "am vegan"),
    ("I'm no longer a pilot", "self", "-am a"),
    ("Last week I went to Rome", "self", "plain went"),
    ("We've been working on it", "self", "been working"),
    ("I used to dance", "self", "former dance"),
    ("I got promoted to manager", "self", "got promoted"),
    ("I can't stand olives", "self", "can't stand"),
    ("I'd love to go", "self", "would love"),
    ("I have a dog", "self", "plain have"),
    ("Moved to Lisbon", "self", "plain moved"),
    ("Working as a driver now", "self", "am working"),
    ("Working as a driver is fun", "", ""),
    ("Tom and I broke up", "self", "plain broke"),
    ("My kids and I finished it", "self", "plain finished"),
    ("My sister Mia lives in Rome", "kin", "plain lives"),
    ("She's left Acme and works at Initech", "she", "have left, plain works"),
    ("We baked bread, sold it and went home", "self", "plain baked, plain sold, plain went"),
    ("I'm running and swimming", "self", "am running, am swimming"),
    ("I'll sell the car and buy a bike", "self", "will sell"),
    ("Gonna explore more and volunteer at shelters", "self", "plain gonna"),
    ("The book I read was good", "", ""),
    ("You live in Rome", "", ""),
    ("It was good", "", ""),
)


def _shown(one: Predicate) -> str:
    return f"{'-' * one.negated}{one.kind} {one.word}"


@pytest.mark.parametrize(("words", "subject", "verbs"), PARSED)
def test_subject_auxiliaries_and_verbs_are_found(words: str, subject: str, verbs: str) -> None:
    """S1: rules hang on the verb, so that one row serves every person and tense."""
    [clause] = list(sentences.clauses(words))
    parsed = parse(words, clause, VERBS, frozenset())
    assert (parsed.subject.kind if parsed.subject else "") == subject
    assert ", ".join(_shown(one) for one in parsed.predicates) == verbs


def test_any_more_ends_what_is_denied() -> None:
    """S2: "I don't work there any more" tells of an end, "I don't work there" of a denial."""
    for words, ended in (("I don't smoke any more", True), ("I don't smoke", False)):
        [clause] = list(sentences.clauses(words))
        [predicate] = parse(words, clause, VERBS, frozenset()).predicates
        assert (predicate.negated, predicate.ended) == (True, ended)
