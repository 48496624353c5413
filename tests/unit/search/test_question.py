"""What a question says beside its words: names, days, roles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from lamina import Memory
from lamina.model.record import State
from lamina.search.question import Question
from lamina.search.request import Request
from lamina.store.index.catalogue import day_number
from lamina.store.tables.records import Filter
from lamina.text import cues
from tests.conftest import START, Desk, move

TODAY = day_number(START.date())


@contextmanager
def question(handle: Memory, query: str, *, boosts: bool = True, **more: Any) -> Iterator[Question]:
    chosen = Filter(user=handle.user, states=(State.ACTIVE,), **more)
    with handle._scope.store.index.snapshot() as look:
        yield Question(Request(look, query, chosen, START, 10), boosts=boosts)


@pytest.fixture
def talk(mem: Memory) -> Memory:
    mem.remember_conversation(
        [
            {"text": "hello", "speaker": name}
            for name in ("Ana", "Ben Miller", "Dr. Weiß", "José", "田中さん", "user", "assistant")
        ],
        "s",
    )
    mem.remember("Zoe was here")
    return mem


@pytest.mark.parametrize(
    ("query", "names", "words", "bare"),
    [
        ("What did Ana say about tea?", ("ana",), ("say", "tea"), "What did   say about tea?"),
        ("Ana's tea", ("ana",), ("tea",), "  tea"),
        ("Ana’s tea", ("ana",), ("tea",), "  tea"),
        ("what did ana say?", ("ana",), ("say",), "what did   say?"),
        ("Did Ben tell Ana?", ("ben", "ana"), ("tell",), "Did   tell  ?"),
        ("Did Miller call?", (), ("miller", "call"), "Did Miller call?"),
        ("Anastasia and Benjamin", (), ("anastasia", "benjamin"), "Anastasia and Benjamin"),
        ("Zoe", (), ("zoe",), "Zoe"),
        ("Ana", ("ana",), ("ana",), "Ana"),
        ("Ana Ben", ("ana", "ben"), ("ana", "ben"), "Ana Ben"),
        ("what did the user say", (), ("user", "say"), "what did the user say"),
        ("tea", (), ("tea",), "tea"),
    ],
)
def test_names(
    talk: Memory, query: str, names: tuple[str, ...], words: tuple[str, ...], bare: str
) -> None:
    """Q5: a word is a name when somebody of that name speaks; names are who, not what, unless there
    is nothing else."""
    with question(talk, query) as asked:
        assert (asked.names, asked.words, asked.bare) == (names, words, bare)


@pytest.mark.parametrize(
    ("query", "name"), [("Did Weiss call?", "weiss"), ("jose and tea", "jose"), ("José?", "jose")]
)
def test_names_in_every_spelling(talk: Memory, query: str, name: str) -> None:
    """Q5, Q8: titles, accents and case make no difference to a name."""
    with question(talk, query) as asked:
        assert asked.names == (name,)


def test_a_capital_tells_a_name_from_a_word(mem: Memory) -> None:
    """Q5: where a question has capitals, only these can be names; where it has none,
    every word can."""
    mem.remember_conversation(
        [{"text": "x", "speaker": "Will"}, {"text": "x", "speaker": "May"}], "s"
    )
    for query, names in (
        ("Will it rain?", ("will",)),
        ("When will Ana come?", ()),
        ("will may come", ("will", "may")),
        ("What may Will do?", ("will",)),
    ):
        with question(mem, query) as asked:
            assert asked.names == names


def test_names_are_of_visible_records(desk: Desk) -> None:
    """R12, Q5: somebody who speaks only in memories that the filter hides is nobody."""
    op, ana = desk.operator(), desk.agent(user="ana")
    hidden = op.remember("x", speaker="Cleo")
    move(op, hidden.id, state=State.TOMBSTONED)
    desk.agent(user="ben").remember("x", speaker="Dora")
    ana.remember("x", speaker="Emil", tags=["t"])
    with question(ana, "Cleo Dora Emil") as asked:
        assert asked.names == ("emil",)
    with question(ana, "Cleo Dora Emil", tags=("other",)) as asked:
        assert asked.names == ()


@pytest.mark.parametrize(
    ("query", "spans"),
    [
        ("what happened yesterday?", [(TODAY - 1, TODAY, False)]),
        ("tea on 3 April 2026", [(TODAY - 28, TODAY - 27, True)]),
        ("tea on 3 June 2026", [(TODAY + 33, TODAY + 34, True)]),
        ("tea tomorrow", [(TODAY + 1, TODAY + 2, False)]),
        ("tea", []),
    ],
)
def test_days(talk: Memory, query: str, spans: list[tuple[int, int, bool]]) -> None:
    """Q5: the days that a question means, also those to come, of which a memory can speak; a date is
    exact, a word like yesterday is not."""
    with question(talk, query) as asked:
        assert [(span.since, span.until, span.exact) for span in asked.spans] == spans


def test_without_boosts_a_question_is_its_words(talk: Memory) -> None:
    """Q5: the setting `recall.boosts` turns names and days off."""
    with question(talk, "What did Ana say yesterday?", boosts=False) as asked:
        assert (asked.names, asked.spans) == ((), ())
        assert asked.words == ("ana", "say", "yesterday")
        assert asked.bare == "What did Ana say yesterday?"


def test_roles_and_wants(talk: Memory) -> None:
    """Q5: a question about what the assistant said is not about the user's turns, every other not
    about the assistant's."""
    with question(talk, "Remind me when it was") as asked:
        assert (asked.wrong_role, asked.wanted) == (cues.USER, cues.DATE)
    with question(talk, "Where did I go?") as asked:
        assert (asked.wrong_role, asked.wanted) == (cues.ASSISTANT, cues.PLACE)


def test_days_of_times(talk: Memory) -> None:
    """Q5: midnight begins a day, also before 1970."""
    day = 86_400_000_000
    with question(talk, "tea") as asked:
        assert asked.days(np.array([0, day - 1, day, -1, -day, -day - 1])).tolist() == [
            0,
            0,
            1,
            -1,
            -1,
            -2,
        ]


@pytest.mark.parametrize(
    "query", [".*", "(", "[a", "\\", "Ana(", "a|b", "Ana.*+?", "^$", "{1,99999}", "(?P<x>"]
)
def test_a_question_is_no_pattern(talk: Memory, query: str) -> None:
    """Q7: signs that mean something in a pattern mean nothing in a question."""
    with question(talk, query) as asked:
        assert isinstance(asked.bare, str)
        assert asked.spans == ()
