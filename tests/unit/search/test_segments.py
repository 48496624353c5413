"""Prompts in segments: where sentences end in every script, and which of them ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.search.segments import LONGEST, MOST, Asks, asks, split, unopened
from lamina.text.words import WORD


def texts(prompt: str) -> list[str]:
    return [segment.text for segment in split(prompt)]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Hi! Where is it? Thanks.", ["Hi!", "Where is it?", "Thanks."]),
        ("one line\nanother\n\n- a third", ["one line", "another", "- a third"]),
        ("She said “no.” Why?", ["She said “no.”", "Why?"]),
        ("Wait... what?! Really", ["Wait...", "what?!", "Really"]),
        ("你好！护照放在哪里？谢谢。", ["你好！", "护照放在哪里？", "谢谢。"]),
        ("مرحبا! متى الموعد؟ شكرا", ["مرحبا!", "متى الموعد؟", "شكرا"]),
        ("Καλημέρα! Πού είναι; Ευχαριστώ", ["Καλημέρα!", "Πού είναι;", "Ευχαριστώ"]),
        ("नमस्ते। दवा कहाँ है? धन्यवाद।", ["नमस्ते।", "दवा कहाँ है?", "धन्यवाद।"]),
        ("She met Ben. Where?", ["She met Ben.", "Where?"]),
        ("same line\nsame line\nother line", ["same line", "other line"]),
        ("While I wait: where is my key?", ["While I wait", "where is my key?"]),
        (
            "Nothing about the log - what did Ben say?",
            ["Nothing about the log", "what did Ben say?"],
        ),
        ("Ben: where does he live now?", ["Ben: where does he live now?"]),
        ("What is the ratio: two to one or not?", ["What is the ratio: two to one or not?"]),
    ],
)
def test_sentences_and_lines(prompt: str, expected: list[str]) -> None:
    """C2, Q8: a prompt is split at the ends of sentences of every script and at lines; what is said
    twice counts once."""
    assert texts(prompt) == expected


@pytest.mark.parametrize(
    "prompt",
    [
        "what did Dr. Weiss say to Mrs. Smith and J. Doe, e.g. on 3.5.2026?",
        "  tea  ",
        "version 2.0.1 of app.py",
        "a; b",
        "tea or coffee: which?",
        "The plan: tea at nine.",
        "?",
        "",
        "...",
    ],
)
def test_one_sentence_stays_as_it_is(prompt: str) -> None:
    """C2, Q6: short forms and numbers end no sentence, and a prompt of one is not changed."""
    assert texts(prompt) == [prompt]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where is it?", Asks.MARKED),
        ("it is where? ", Asks.MARKED),
        ('she said "where?"', Asks.MARKED),
        ("护照放在哪里？", Asks.MARKED),
        ("متى الموعد؟", Asks.MARKED),
        ("Πού είναι το κλειδί;", Asks.MARKED),
        ("hey, so tell me about it", Asks.BEGINS),
        ("Where I can find it", Asks.BEGINS),
        ("please list all of them", Asks.BEGINS),
        ("a list; with a semicolon;", Asks.NOT),
        ("I like tea", Asks.NOT),
        ("Whatever", Asks.NOT),
    ],
)
def test_what_asks(text: str, expected: Asks) -> None:
    """C2, Q8: a question mark of any script asks most clearly, then the words of a question or of a
    request at the beginning."""
    assert asks(text) is expected


@pytest.mark.parametrize("place", [0, 100, 200])
def test_questions_are_kept_of_many_lines(place: int) -> None:
    """C2: of hundreds of lines the question and what stands beside it stay, wherever they are."""
    lines = [f"INFO job {number} done" for number in range(200)]
    lines[place:place] = ["I look for the roof.", "What did it cost?"]
    kept = texts("\n".join(lines))
    assert len(kept) == MOST
    assert "What did it cost?" in kept
    assert "I look for the roof." in kept


def test_what_is_too_long_for_a_sentence_is_cut() -> None:
    """C2: a run-on without an end is cut at commas, or between words, and loses none of them."""
    spoken = " ".join(f"word{number}{',' * (number % 7 == 0)}" for number in range(300))
    pieces = texts(spoken[:2000])
    assert len(pieces) > 5
    assert " ".join(pieces).split() == spoken[:2000].split()
    assert all(len(piece) <= LONGEST for piece in texts("字" * 1500))


@given(st.text(max_size=400))
def test_any_text_can_be_split(prompt: str) -> None:
    """C2, Q7: whatever is typed, there is a segment, every one has a word if the prompt has any,
    and there are never too many."""
    segments = split(prompt)
    assert 1 <= len(segments) <= MOST
    assert len(segments) == 1 or all(WORD.search(segment.text) for segment in segments)


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        ("hey, remind me, where do I work?", "where do I work?"),
        ("Could you please tell me again what my job is?", "what my job is?"),
        ("quick question: is Ana home", "is Ana home"),
        ("do you remember in which city I live?", "in which city I live?"),
        ("remind me to call Ana", "remind me to call Ana"),
        ("tell me about the garden", "tell me about the garden"),
        ("hey Ana", "hey Ana"),
        ("where do I work?", "where do I work?"),
        ("", ""),
    ],
)
def test_the_opening_of_a_question(prompt: str, question: str) -> None:
    """C2, Q7: greetings and pleas before a question are left out, if a question follows them."""
    assert unopened(prompt) == question
