"""Attributes: how a fact reads."""

from __future__ import annotations

import pytest

from lamina.engines.claims import attributes
from tests.cases import check_all

READ = {
    ("lives_in", "Porto"): "Ana lives in Porto",
    ("favourite:tea", "oolong"): "Ana's favourite tea is oolong",
    ("has:dentist", "Dr. Silva"): "Ana's dentist is Dr. Silva",
    ("does:use … for carts", "Postgres"): "Ana uses Postgres for carts",
    ("does:study", "law"): "Ana studies law",
    ("does:play", "chess"): "Ana plays chess",
    ("does:teach", "maths"): "Ana teaches maths",
    ("instruction:language", "answer in German"): "Ana wants: answer in German",
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
