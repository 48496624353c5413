"""The correction of a fact (V9): a whole sentence or the bare value."""

from __future__ import annotations

import pytest
from msgspec import structs

from lamina.engines import correction, facts
from lamina.errors import InvalidInput
from tests.cases import every
from tests.unit.engines.claimed import claim
from tests.unit.engines.test_facts import source


def known(attribute: str, value: str, *, negated: bool = False, subject: str = "Ana") -> facts.Fact:
    said = structs.replace(claim(attribute, value, negated=negated), subject=subject)
    return facts.made("fact1", said, source(1), facts.decide([], said, source(1)))


@every(
    ("fact", "given", "value"),
    [
        (known("lives_in", "Porto"), "Braga", "Braga"),
        (known("lives_in", "Porto"), "Ana lives in Braga", "Braga"),
        (known("lives_in", "Porto"), "ana LIVES in Braga.", "Braga"),
        (known("lives_in", "Porto"), "I live in Braga.", "Braga"),
        (known("lives_in", "Porto"), "I moved to Braga", "Braga"),
        (known("lives_in", "Porto", subject="Ana Silva"), "Ana lives in Braga", "Braga"),
        (known("lives_in", "Porto", subject="User"), "The user lives in Braga", "Braga"),
        (known("likes", "tea"), "green tea", "green tea"),
        (known("likes", "tea"), "Ana likes green tea", "green tea"),
        (known("likes", "tea"), "Green tea.", "Green tea."),
        (known("dislikes", "opera"), "tea", "tea"),
        (known("did", "went to Rome"), "went to Milan with my sister Mia", None),
        (known("name", "Ana Silva"), "Ana Costa", "Ana Costa"),
        (known("favourite:colour", "red"), "Ana's favourite colour is blue", "blue"),
        (known("has:dentist", "Bo"), "Ana's dentist is Carla", "Carla"),
        (known("likes", "tea"), "people who are kind", "people who are kind"),
        (known("likes", "tea"), "She Loves You", "She Loves You"),
        (known("likes", "tea"), "The Who", "The Who"),
        (known("likes", "tea"), "Ana likes it when it rains", "it when it rains"),
        (known("partner", "Bo"), "Will Smith", "Will Smith"),
        (known("instruction:language", "German"), "German when I write German", None),
        (known("other", "on crutches"), "I am without crutches, today", None),
    ],
)
def test_a_sentence_and_a_value_say_the_same(
    fact: facts.Fact, given: str, value: str | None
) -> None:
    """V9: what is given is the value, or a sentence that gives it; none becomes part of it."""
    read = correction.read(fact, given)
    assert (read.subject, read.attribute, read.value) == (
        fact.subject,
        fact.attribute,
        given if value is None else value,
    )
    assert read.rule == correction.RULE
    assert read.at == fact.valid_from


def test_a_denial_stays_one_unless_the_sentence_says_otherwise() -> None:
    """V9: the value of a denial is denied; a sentence says itself whether it denies."""
    denial = known("lives_in", "Porto", negated=True)
    assert correction.read(denial, "Braga").negated
    assert not correction.read(denial, "Ana lives in Braga").negated
    assert correction.read(known("lives_in", "Porto"), "I don't live in Porto any more").negated
    assert correction.read(known("likes", "tea"), "Ana dislikes tea").attribute == "dislikes"


@pytest.mark.parametrize(
    "given", ["Ben lives in Braga", "Ana works at Acme", "I like tea", "Ana resides yonder"]
)
def test_what_is_about_something_else_is_no_correction(given: str) -> None:
    """V9: another person or attribute, or a sentence that cannot be read, is an error that says
    how to write it."""
    with pytest.raises(InvalidInput, match=r"Ana lives in ….*the value alone"):
        correction.read(known("lives_in", "Porto"), given)


@every(
    ("fact", "given"),
    [
        (known("lives_in", "Porto"), "she hates it there"),
        (known("lives_in", "Porto"), "She hates Porto"),
        (known("lives_in", "Porto"), "she's in Braga"),
        (known("lives_in", "Porto"), "not Porto, the city was too loud"),
        (known("lives_in", "Porto"), "with him in Braga"),
        (known("lives_in", "Porto"), "Braga, but she hates it"),
        (known("employer", "Acme"), "that was last year"),
        (known("goal", "run a marathon"), "she gave that up"),
    ],
)
def test_a_sentence_that_cannot_be_read_is_no_value(fact: facts.Fact, given: str) -> None:
    """V9: a text with a subject and its verb, or a pronoun, is no bare value: it would be stored
    as "Ana lives in she hates it there"."""
    with pytest.raises(InvalidInput, match=r"cannot be read as 'Ana .*the value alone"):
        correction.read(fact, given)
