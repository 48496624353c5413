"""Who does what in a clause."""

from __future__ import annotations

from lamina.engines.claims import sentences
from lamina.engines.claims.predicates import Predicate, parse
from lamina.engines.claims.statements import VERBS
from tests.cases import every, golden

# A clause, whom it is about, and its verbs with their auxiliaries; a dash before a denied one.
PARSED = golden("engines/predicates.jsonl")


def _shown(one: Predicate) -> str:
    return f"{'-' * one.negated}{one.kind} {one.word}"


@every(("words", "subject", "verbs"), PARSED)
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
