"""Relevance by words: the formula, what counts and what does not, and what
neighbouring turns lend."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Memory, Operator
from lamina.model.record import Layer, State
from lamina.search import bm25
from lamina.search.bm25 import ASKED, LENGTH, NEAR, SAME_SPEAKER, SATURATION
from lamina.search.request import Request
from lamina.store.index.reached import Reached
from lamina.store.tables.records import Filter
from tests.conftest import FULL, START, Desk, contents, move

NOW = START + timedelta(days=1)
WORDS = ("tea", "coffee", "garden", "piano", "river", "猫", "книги")


@contextmanager
def asking(handle: Memory, query: str, chosen: Filter | None = None) -> Iterator[Request]:
    with handle._scope.store.index.snapshot() as look:
        yield Request(
            look, query, chosen or Filter(user=handle.user, states=(State.ACTIVE,)), NOW, 10
        )


def scores(
    handle: Memory, query: str, chosen: Filter | None = None, *, around: bool = False
) -> dict[int, float]:
    """The rows with any relevance."""
    with asking(handle, query, chosen) as request:
        found = bm25.around(request, request.words) if around else bm25.match(request)
        return {int(row): float(found.score[row]) for row in np.flatnonzero(found.score)}


def expected(texts: list[list[str]], query: list[str]) -> dict[int, float]:
    """BM25 in which a word is there or not, over lists of words."""
    usual = max(1.0, sum(map(len, texts)) / len(texts))
    found: dict[int, float] = {}
    for number, words in enumerate(texts, 1):
        for word in query:
            holders = sum(word in other for other in texts)
            if word in words:
                rarity = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
                norm = SATURATION * (1 - LENGTH + LENGTH * len(words) / usual)
                found[number] = found.get(number, 0.0) + rarity * (SATURATION + 1) / (1 + norm)
    return found


@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=12),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True),
)
@settings(max_examples=300 if FULL else 30)
def test_the_formula(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], query: list[str]
) -> None:
    """Q3: rarity × saturation by length; how often a word is repeated in one memory does not count,
    but for its length."""
    with Desk(tmp_path_factory.mktemp("home")) as desk:
        mem = desk.agent()
        mem.remember_many([{"content": " ".join(words)} for words in texts])
        assert scores(mem, " ".join(query)) == pytest.approx(expected(texts, query), rel=1e-5)


def test_a_rare_word_is_worth_more(mem: Memory) -> None:
    """Q3: the memory with the rare word comes before those with the common one, a short one before
    a long one."""
    mem.remember_many([{"content": f"tea number {n}"} for n in range(20)])
    rare = mem.remember("a piano in the room")
    long = mem.remember("a piano in the room that has seen better days and is played by nobody now")
    found = scores(mem, "tea piano")
    assert sorted(found, key=lambda row: -found[row])[:2] == [rare.seq, long.seq]


def test_what_the_filter_hides_is_not_counted(desk: Desk, op: Operator) -> None:
    """R12, Q3: hidden memories make no word rarer or commoner, and no length more usual."""
    op.remember_many(
        [{"content": "green tea"}, {"content": "tea in the garden"}, {"content": "music"}]
    )
    before = scores(op, "tea garden")
    for record in op.remember_many([{"content": "tea garden " * 50}] * 20):
        move(op, record.id, state=State.TOMBSTONED)
    desk.agent(user="ben").remember_many([{"content": "tea"}] * 20)
    run = op.run("tea garden")
    run.note("garden")
    ana = desk.agent(user="ana")
    assert scores(ana, "tea garden") == before


def test_copies_from_outside_take_nothing_from_own_words(mem: Memory) -> None:
    """V8, Q3: however many texts from outside use a word, and however short they are, own memories
    that hold it are worth no less by it, and it does not become common."""
    own = mem.remember_many(
        [
            {"content": "the tea is in the garden"},
            {"content": "music all day"},
            {"content": "a red door"},
        ]
    )
    before = scores(mem, "tea garden")[own[0].seq]
    mem.remember_many(
        [{"content": f"tea garden {n}", "source": "web:x.example"} for n in range(500)]
    )
    assert scores(mem, "tea garden")[own[0].seq] >= before
    with asking(mem, "tea music door") as request:
        assert bm25.match(request).telling().keys() == {"tea", "music", "door"}


def test_what_is_kept_of_a_word_is_what_would_be_computed_anew(mem: Memory) -> None:
    """Q3: asked again, with another filter or share, or after a write, a word gives every
    memory and the turns around it what it would give at first."""
    chosen = Filter(states=(State.ACTIVE,)), Filter(states=(State.ACTIVE,), kinds=("fact",))
    for turn in range(12):
        mem.remember_many(
            [
                {
                    "content": f"{WORDS[turn % 5]} {WORDS[turn % 3]}{'?' * (turn % 2)}",
                    "session": f"s{turn % 2}",
                    "speaker": ("Ana", "Ben")[turn % 3 > 0],
                    "kind": kind,
                }
                for kind in ("fact", "crumb")
            ]
        )
        for one, share in [*itertools.product(chosen, (0.5, 0.25))] * 2:
            with asking(mem, "tea coffee garden", one) as request:
                asked = request, request.words, {"piano": share}
                said, catalogue = bm25.around(*asked).score, request.look.catalogue
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(catalogue, "reached", Reached())
                    anew = bm25.around(*asked).score
            assert said.tolist() == anew.tolist()


def test_rarity_is_of_visible_records(mem: Memory) -> None:
    """Q3: a word that nobody has is the rarest, one that everybody has is still worth something."""
    mem.remember_many([{"content": "tea"}] * 9 + [{"content": "tea piano"}])
    with asking(mem, "tea piano zebra") as request:
        found = bm25.match(request)
        worth = [found.rarity(word) for word in ("zebra", "piano", "tea")]
        assert worth == sorted(worth, reverse=True)
        assert worth[2] > 0
        assert (found.total, len(found.holders["tea"]), "zebra" in found.holders) == (10, 10, False)


TURNS: list[dict[str, Any]] = [
    {"text": "hello", "speaker": "Ana"},
    {"text": "good morning", "speaker": "Ben"},
    {"text": "Do you play the piano?", "speaker": "Ana"},
    {"text": "since school", "speaker": "Ben"},
    {"text": "fine", "speaker": "Ana"},
    {"text": "indeed", "speaker": "Ben"},
    {"text": "bye", "speaker": "Ana"},
    {"text": "farewell", "speaker": "Ben"},
]


def shares(handle: Memory, query: str, of: int, **more: Any) -> dict[int, float]:
    """What each row has of the worth of one of them, by its distance to it."""
    found = scores(handle, query, around=True, **more)
    return {row - of: round(score / found[of], 4) for row, score in found.items() if row != of}


def test_neighbours_share_a_word(mem: Memory) -> None:
    """Q5: up to three turns before and after, a word counts for less; after a question it counts
    for more."""
    mem.remember_conversation(TURNS, "s")
    assert shares(mem, "piano", 3) == {
        -2: NEAR[1],
        -1: NEAR[0],
        1: ASKED[0],
        2: NEAR[1],
        3: NEAR[2],
    }
    assert shares(mem, "farewell", 8) == {-3: NEAR[2], -2: NEAR[1], -1: NEAR[0], 1: NEAR[0]}


def test_an_assistant_answers_no_question(mem: Memory) -> None:
    """Q5: what an assistant says after a question has the share of any neighbour."""
    mem.remember_conversation(
        [{**turn, "speaker": ["user", "assistant"][n % 2]} for n, turn in enumerate(TURNS)], "s"
    )
    assert shares(mem, "piano", 3)[1] == NEAR[0]


def test_nobody_outside_the_conversation_shares(desk: Desk) -> None:
    """Q5, R12: sessions of the same name of two users are two, and notes without a session
    have no neighbours."""
    ana, ben = desk.agent(user="ana"), desk.agent(user="ben")
    for turn in TURNS[:4]:
        ana.remember(turn["text"], session="s")
        ben.remember(turn["text"] if "piano" not in turn["text"] else "drums", session="s")
        ana.remember(turn["text"].replace("piano", "drums"))
        ana.remember(turn["text"].replace("piano", "drums"), session="t")
    found = scores(desk.agent(), "piano", around=True)
    sessions = {
        (record.user, record.session)
        for record in desk.agent().list(limit=100)
        if record.seq in found
    }
    assert sessions == {("ana", "s")}


def test_hidden_neighbours_get_and_lend_nothing(op: Operator) -> None:
    """Q5, R3: a turn that was set aside lends its words to nobody, and is lent none."""
    made = op.remember_conversation(TURNS, "s")
    move(op, made[2].id, state=State.TOMBSTONED)
    assert scores(op, "piano", around=True) == {}
    move(op, made[2].id, state=State.ACTIVE)
    move(op, made[3].id, state=State.TOMBSTONED)
    assert set(scores(op, "piano", around=True)) == {1, 2, 3, 5, 6}


def test_a_word_counts_once_from_the_nearest(mem: Memory) -> None:
    """Q5: a turn whose neighbours hold the same word has the best share of it, not their sum, and
    its own in full."""
    turns = [("piano", "Ana"), ("violin", "Ben"), ("piano", "Ana"), ("x", "Ben")]
    mem.remember_conversation([{"text": text, "speaker": name} for text, name in turns], "s")
    mem.remember_many([{"content": "something else entirely"}] * 5)
    found = scores(mem, "piano", around=True)
    assert found[1] == found[3]
    assert found[2] == pytest.approx(NEAR[0] * found[1], rel=1e-5)


@pytest.mark.parametrize("speaker", ["user", None])
def test_a_speaker_who_goes_on_lends_little(mem: Memory, speaker: str | None) -> None:
    """Q5: in a log of prompts alone one does not explain the next; each step passes on a share of
    the one before, and other speakers pass on all."""
    turns = ["the piano", "a lamp", "a door"]
    mem.remember_conversation([{"text": text, "speaker": speaker} for text in turns], "s")
    mem.remember_many([{"content": "something else entirely"}] * 5)
    found = scores(mem, "piano", around=True)
    assert found[2] == pytest.approx(NEAR[0] * SAME_SPEAKER * found[1], rel=1e-5)
    assert found[3] == pytest.approx(NEAR[1] * SAME_SPEAKER**2 * found[1], rel=1e-5)


def test_a_prompt_does_not_stand_for_the_one_before(mem: Memory) -> None:
    """Q5: the prompt that tells of a failure comes first, and not what was typed after it."""
    for text in ("The deploy to staging failed with a timeout", "thanks, now add a dark mode"):
        mem.remember(text, session="s", speaker="user", layer="episodic")
    assert contents(mem.search("what failed on staging?"))[0].startswith("The deploy")


def test_words_beside_the_question_count_less(mem: Memory) -> None:
    """C2: a word of a share counts that share of its worth."""
    mem.remember_many([{"content": "tea"}, {"content": "piano"}, {"content": "a red door"}])
    with asking(mem, "tea") as request:
        found = bm25.around(request, ("tea",), {"piano": 0.5}).score
    assert found[2] == pytest.approx(0.5 * found[1], rel=1e-5)


def test_common_words_are_left_out_when_there_are_rarer_ones(mem: Memory) -> None:
    """Q5: a word that a fifth of all memories have decides nothing beside a rarer one; alone it is
    looked for."""
    mem.remember_many([{"content": f"tea {n}"} for n in range(60)])
    rare = mem.remember("piano")
    assert set(scores(mem, "tea piano", around=True)) == {rare.seq}
    assert len(scores(mem, "tea", around=True)) == 60
    assert len(scores(mem, "tea piano")) == 61


def test_few_holders_are_never_common(mem: Memory) -> None:
    """Q5: in a small store every word counts."""
    mem.remember_many([{"content": "tea"}] * 10 + [{"content": "piano"}])
    assert len(scores(mem, "tea piano", around=True)) == 11


def test_no_neighbour_is_a_match_of_its_own(mem: Memory) -> None:
    """Q3: the keyword ranker finds what holds a word, and no neighbour of it."""
    mem.remember_conversation(TURNS, "s")
    assert contents(mem.search("piano", ranker="keyword")) == ["Do you play the piano?"]


CHATS = (
    (
        "I moved to Porto in May and I'm looking for a good tram map.",
        "My sister Ana studies physics in Porto, and she likes the tram.",
        "I'm not sure which map to choose. Do you have any suggestions?",
    ),
    (
        "I bought a red bicycle last week, and I love it.",
        "I'm thinking about a lock for my bicycle. Any suggestions?",
        "My brother Leo works as a baker and starts at four in the morning.",
    ),
    (
        "I'm allergic to peanuts, so I always read the labels.",
        "We had dinner at Da Mauro. The risotto was superb.",
        "I'm planning a trip to Turin in June with my sister Ana.",
    ),
)


def chatted(mem: Memory) -> None:
    for number, said in enumerate(CHATS):
        turns = [{"speaker": "user", "text": text} for text in said]
        mem.remember_conversation(turns, session=f"s{number}")


def test_a_night_makes_no_word_rarer_or_more_common(op: Operator, mem: Memory) -> None:
    """C3: what sleep made of turns does not count when words are valued. Every turn that was said
    is worth the same after it, to the last digit."""
    chatted(mem)
    queries = ("a map of the tram in Porto", "suggestions for my bicycle", "Ana studies", "dinner")
    before = [scores(mem, query, around=True) for query in queries]
    assert all(before)
    op.sleep()
    after = [scores(mem, query, around=True) for query in queries]
    assert any(len(more) > len(some) for some, more in zip(before, after, strict=True))
    for some, more in zip(before, after, strict=True):
        assert {row: more[row] for row in some} == some


def test_what_sleep_made_counts_where_little_else_is_left(op: Operator, mem: Memory) -> None:
    """C3: where facts alone are searched, words are valued by these."""
    chatted(mem)
    op.sleep()
    facts = Filter(layers=(Layer.SEMANTIC,), states=(State.ACTIVE,))
    with asking(mem, "Ana", facts) as request:
        holders = [record for record in mem.list(layers=["semantic"]) if "Ana" in record.content]
        assert request.total == len(mem.list(layers=["semantic"]))
        assert bm25.match(request).numbers["ana"] == len(holders) > 0
