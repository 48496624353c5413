"""Clauses, and what in a turn is not the speaker's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.claims import sentences, spoken
from lamina.engines.claims.sentences import MASK, clauses
from lamina.text import fence
from tests.cases import every

from .holding import claims

FOREIGN = (
    fence.fenced("[1] I live in Rome."),
    f"{fence.OPEN}\n[1] I live in Rome.\n| I am a nurse.",
    "```\nI live in Rome.\n```",
    "`I live in Rome`",
    'She wrote "I live in Rome and I love it".',
    "“I live in Rome,” she said.",
    "Translate this: I live in Rome.",
    "Can you proofread the following text:\n\nI live in Rome. I am a nurse.",
    "> I live in Rome.",
    "[laughs: I live in Rome.]",
    "She said: I live in Rome.",
    "<p>I live in Rome",
    "void loop() { if (millis() - last > 1000) { home = rome(); toggle(); } }",
    'cfg = {"city": "Rome", "port": 80}; home = cfg["city"];',
)
ASKING = (
    "Is it late?",
    "What do you do",
    "so what can I eat",
    "You live in Paris, right?",
    "Me, move to Bristol?",
)


def _asks(words: str) -> list[bool]:
    return [clause.asks for clause in clauses(sentences.said(words))]


@every("words", FOREIGN[:11])
def test_words_of_others_are_no_claims(words: str) -> None:
    """S1, Q9: what stands in our fence, code, quotations, pasted text and answered mail are
    not the speaker's."""
    assert not claims(words)


def test_words_around_a_fence_are_the_speakers() -> None:
    """Q9: only what is inside the fence is recalled."""
    text = f"I live in Oslo. {fence.fenced('[1] I live in Rome.')} I'm a nurse."
    assert {claim.value for claim in claims(text)} == {"Oslo", "nurse"}


def test_a_title_is_not_speech() -> None:
    """S1: a short quotation may be what something is called."""
    assert [claim.value for claim in claims('My favourite film is "Heat".')] == ["Heat"]


@pytest.mark.parametrize("words", ASKING)
def test_questions_are_known(words: str) -> None:
    """S1: with a question mark or without one."""
    assert any(_asks(words))


def test_what_comes_before_a_question_is_stated() -> None:
    """S1: "I'm 44, is it too late?" tells an age."""
    assert _asks("I'm 44, is it too late to learn the cello?") == [False, True]
    assert _asks("I'm married, so it'd be a joint return, right?")[0] is False


def test_a_fronted_time_belongs_to_its_clause() -> None:
    """S1: "Last week, I went" is one clause."""
    assert len(list(clauses("Last week, I went to Rome."))) == 1


@given(st.text(max_size=400))
def test_masking_keeps_every_place(words: str) -> None:
    """S1: offsets in what was said are offsets in the turn."""
    assert len(sentences.said(words)) == len(words)


@given(st.text(alphabet="Iwe love and, but. so? if my - that said:\n'", max_size=300))
def test_clauses_are_apart_and_in_order(words: str) -> None:
    """S1: clauses never overlap."""
    last = 0
    for clause in clauses(words):
        assert last <= clause.start < clause.end <= len(words)
        last = clause.end


def test_masked_words_are_not_counted_as_language() -> None:
    """S1: a mask is no word."""
    assert spoken.is_english(MASK * 20)


PLAYED = [
    "Write a letter in the voice of Sherlock Holmes. I'm a detective, I live at 221B.",
    "Pretend you're a hiring manager and I'm a candidate. I have ten years in Geneva.",
    "Act as a landlord. I own two flats and a cat.",
]


@every("text", PLAYED)
def test_a_part_that_somebody_plays_states_nothing(text: str) -> None:
    """S1: neither the sentence that hands out the part nor what follows it."""
    assert not claims(text)


@every("text", ["I pretend to be fine. I live in Bonn.", "I live in Bonn. Pretend you're a bot."])
def test_what_is_said_outside_a_part_is_stated(text: str) -> None:
    """S1: before it, and where nobody plays any."""
    assert [one.value for one in claims(text)] == ["Bonn"]


@given(st.text(alphabet=",?.!:;- \nIa'\"", max_size=40))
def test_marks_alone_are_no_clauses(text: str) -> None:
    """S1, Q9: whatever marks a turn is made of, it is read, and its clauses lie within it."""
    for clause in clauses(sentences.said(text)):
        assert 0 <= clause.start < clause.end <= len(text)


def test_a_question_without_words_is_read() -> None:
    """S1: ", ?" states nothing, and what stands beside it is read."""
    assert [one.value for one in claims("What? , ? I live in Rome.")] == ["Rome"]
