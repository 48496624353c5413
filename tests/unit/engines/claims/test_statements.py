"""What a sentence states: one thing in many words, and nothing where nothing is stated."""

from __future__ import annotations

import pytest

from lamina.engines.claims import attributes
from lamina.engines.claims.rule import ROLE
from lamina.engines.claims.statements import PHRASES, RULES
from tests.cases import every, golden

from .holding import claims, holds, said

# What somebody says, about whom, which attribute, and its value; an empty one: nothing of that is
# known.
STATED = golden("engines/statements.jsonl")
# More of one turn at once.
ALL = (
    ("I'm a nurse and I live in Hull.", {("Ann", "job", "nurse"), ("Ann", "lives_in", "Hull")}),
    ("My sister Mia moved to Rome.", {("Ann", "sibling", "Mia"), ("Mia", "lives_in", "Rome")}),
    ("I love hiking and my brother Sam hates it.", {("Ann", "likes", "hiking"), ("Ann", "sibling", "Sam")}),
    ("I speak French and German.", {("Ann", "language", "French"), ("Ann", "language", "German")}),
    ("We explored the coast, baked bread and went on a hike.",
     {("Ann", "visited", "coast"), ("Ann", "did", "baked bread"), ("Ann", "did", "went on a hike")}),
    ("My son Felix, who lives in Zurich, is 30.", {("Ann", "child", "Felix"), ("Felix", "lives_in", "Zurich")}),
)  # fmt: skip
# No claims: questions, suppositions, hedges, jokes, praise, talk about the talk, moods, wisdom,
# what others say.
SURE = 0.6  # unless the settings say otherwise
SILENT = golden("engines/no_statements.txt")


@every(("words", "subject", "attribute", "wanted"), STATED)
def test_a_statement_is_understood_in_many_words(
    words: str, subject: str, attribute: str, wanted: str
) -> None:
    """S1: identity, work, places, people, tastes, possessions, health, plans and habits are
    claimed; hedges and quotes not."""
    assert holds(words, subject, attribute, wanted), claims(words)


@pytest.mark.parametrize(("words", "wanted"), ALL)
def test_one_turn_may_claim_several_things(words: str, wanted: set[tuple[str, str, str]]) -> None:
    """S1: every clause is read, and each claim has its own subject."""
    assert wanted <= said(words)


@every("words", SILENT)
def test_what_states_nothing_claims_nothing(words: str) -> None:
    """S1: no fact is made of questions, hypotheticals, hedges, kind words, moods and hearsay."""
    assert not [one for one in claims(words) if one.confidence >= SURE]


def test_an_attribute_that_is_denied_may_be_another() -> None:
    """S1: who does not like something dislikes it; who does not any more has only stopped."""
    assert said("I don't like mushrooms.") == {("Ann", "dislikes", "mushrooms")}
    assert said("I don't like mushrooms any more.") == {("Ann", "likes", "-mushrooms")}


def test_every_rule_has_a_name_of_its_own_and_a_confidence_between_none_and_sure() -> None:
    """S6: a threshold of confidence chooses rules, and a fact can name the one that made it."""
    rules = {one.name: one for rules in RULES.values() for one in rules}
    named = [*rules, *(one.name for one in PHRASES)]
    assert len(named) == len(set(named))
    assert all(0 < one.confidence < 1 for one in rules.values())
    assert all(0 < one.confidence < 1 for one in PHRASES)


def test_every_attribute_of_a_rule_is_known() -> None:
    """S2: facts know how each attribute reads."""
    found = {one.attribute for rules in RULES.values() for one in rules} | {
        one.attribute for one in PHRASES
    }
    assert all(attributes.known(name) for name in found - {attributes.FAVOURITE, ROLE})
