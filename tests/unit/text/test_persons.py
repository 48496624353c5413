"""Whom a text speaks of."""

from __future__ import annotations

from lamina.text import persons, words
from tests.cases import every


@every(
    ("question", "expected"),
    [
        ("What did I buy?", True),
        ("what's my dentist's name", True),
        ("When do we leave?", True),
        ("Wo habe ich geparkt?", True),
        ("我的护照在哪里？", True),
        ("Tell me the capital of Mongolia", False),
        ("Which countries are in the EU?", False),
        ("What did Ana buy?", False),
        ("", False),
    ],
)
def test_a_question_about_whoever_asks(question: str, expected: bool) -> None:
    """Q7: a question is about its user by a subject or an owner, in any language of the list; a
    polite "me" and initials are none."""
    assert persons.asks_of_self(question) is expected


@every(
    ("text", "of_speaker", "to_other"),
    [
        ("I met Ana", True, False),
        ("you met me", True, True),
        ("Ana met Ben", False, False),
        ("你好", False, True),
    ],
)
def test_who_speaks_to_whom(text: str, of_speaker: bool, to_other: bool) -> None:
    """A text tells of its speaker, or speaks to somebody, by its pronouns."""
    asked = words.asked(text)
    assert persons.tells_of_speaker(text, asked) is of_speaker
    assert persons.speaks_to_other(text, asked) is to_other
