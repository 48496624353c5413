"""Attributes: how a fact reads."""

from __future__ import annotations

import pytest

from lamina.engines.claims import attributes
from tests.cases import check_all, every

READ = {
    ("lives_in", "Porto"): "Ana lives in Porto",
    ("favourite:tea", "oolong"): "Ana's favourite tea is oolong",
    ("has:dentist", "Dr. Silva"): "Ana's dentist is Dr. Silva",
    ("does:use … for carts", "Postgres"): "Ana uses Postgres for carts",
    ("does:study", "law"): "Ana studies law",
    ("does:play", "chess"): "Ana plays chess",
    ("does:teach", "maths"): "Ana teaches maths",
    ("does:doing", "pottery"): "Ana is doing pottery",
    ("does:bring", "lunch"): "Ana brings lunch",
    ("instruction:language", "answer in German"): "Ana's instruction: answer in German",
    ("instruction:tone", "You can swear"): "Ana's instruction: You can swear",
    ("plan", "The launch is on 15 January"): "Ana's plan: The launch is on 15 January",
}


def test_facts_read_as_sentences() -> None:
    """S1: a fact reads as a sentence, whether its attribute is in the table or open."""

    def check(about: tuple[str, str], sentence: str) -> None:
        assert attributes.sentence("Ana", *about) == sentence

    check_all(READ.items(), check)


def test_open_attributes_need_a_word() -> None:
    """S1: a kind without a word of its own is no attribute."""
    assert not any(map(attributes.known, ("has:", "does:", "favourite:", "instruction:", "soul")))
    with pytest.raises(KeyError):
        attributes.of("soul")


@every(
    ("name", "value", "negated", "reads"),
    [
        ("does:be on", "Windows 11", False, "Ann is on Windows 11"),
        ("does:be on", "AWS", True, "Ann is not on AWS"),
        ("does:can finish", "Emma", True, "Ann cannot finish Emma"),
        ("does:have", "a van", False, "Ann has a van"),
        ("has:release train leaves …", "Thursdays", False, "Ann's release train leaves Thursdays"),
    ],
)
def test_what_is_said_openly_reads_as_a_sentence(
    name: str, value: str, negated: bool, reads: str
) -> None:
    """S1: a fact of any verb or noun is a sentence that a person can check."""
    assert attributes.sentence("Ann", name, value, negated=negated) == reads


def test_another_of_what_one_has_several_of_replaces_none() -> None:
    """S2: one has one dentist, and as many clients as one likes."""
    assert attributes.of("has:client").many
    assert not attributes.of("has:dentist").many
