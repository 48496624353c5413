"""What searches keep of the words that were asked for: nobody can tell it from what was
read just now."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest

from lamina import Memory, Operator
from lamina.store.engine.sql import Connection
from lamina.store.index.catalogue import Rows
from lamina.store.index.postings import EACH, Holders, Postings
from lamina.store.tables import fulltext
from tests.conftest import Desk

WORDS = "tea garden walrus bakery march violin harbour ticket".split()
RANKERS = ("hybrid", "keyword", "exact", "overlap")


def said(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(2, 6)))


def answers(memory: Memory) -> list[object]:
    return [
        memory.search(word, ranker=ranker, limit=1000).to_dict()
        for word in WORDS
        for ranker in RANKERS
    ]


VERBS: dict[str, Callable[[Operator, random.Random], object]] = {
    "remember": lambda op, chance: op.remember(said(chance), importance=chance.random()),
    "remember many": lambda op, chance: op.remember_many(
        [{"content": said(chance)} for _ in range(5)]
    ),
    "correct": lambda op, chance: op.correct(
        chance.choice(op.list(limit=1000)).id, said(chance), "it was wrong"
    ),
    "forget": lambda op, chance: op.forget(chance.choice(op.list(limit=1000)).id),
    "erase": lambda op, chance: op.erase(chance.choice(op.list(limit=1000)).id),
    "promote": lambda op, _: op.run_once(),
    "archive": lambda op, chance: op.prune(
        layers=["short_term"], importance_below=chance.random() / 4
    ),
    "reindex": lambda op, _: op.reindex(),
}


@pytest.mark.parametrize("seed", range(3))
def test_what_is_kept_answers_like_what_is_read(desk: Desk, op: Operator, seed: int) -> None:
    """Q6: a handle that has asked before and one that has not answer alike, whatever another did to
    the memory meanwhile."""
    chance = random.Random(seed)
    op.remember_many([{"content": said(chance), "importance": chance.random()} for _ in range(40)])
    reader = desk.agent()
    answers(reader)
    for verb in [*chance.choices([*VERBS], k=12), *VERBS]:
        desk.clock.step = timedelta(seconds=1)
        VERBS[verb](op, chance)
        desk.clock.step = timedelta(0)  # how old a memory is counts, too
        with desk.agent() as fresh:
            assert answers(reader) == answers(fresh), verb


def test_an_index_that_was_made_anew_is_read_anew(desk: Desk, op: Operator) -> None:
    """Q3: who has asked while the index lacked its words finds them as soon as it is made anew."""
    op.remember("tea in the garden")
    with op._scope.store.database.atomic() as transaction:
        fulltext.words(transaction.cursor).clear(transaction.cursor)
    reader = desk.agent()
    assert reader.search("tea", ranker="keyword").outcome == "nothing_relevant"
    op.reindex()
    assert reader.search("tea", ranker="keyword").outcome == "found"


def test_only_what_is_new_is_read_again(op: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Speed: after another memory, the words of those before it are not read again; after a change,
    they are."""
    asked: list[int] = []
    holding = fulltext.holding

    def noted(connection: Connection, word: str, where: str, since: int) -> Rows:
        asked.append(since)
        return holding(connection, word, where, since)

    monkeypatch.setattr(fulltext, "holding", noted)
    made = op.remember_many([{"content": f"tea {number}"} for number in range(10)])
    for verb in (
        lambda: None,
        lambda: None,
        lambda: op.remember("more tea"),
        lambda: op.forget(made[0].id),
    ):
        verb()
        op.search("tea", ranker="keyword")
    assert asked == [0, made[-1].seq + 1, 0]


def test_what_is_kept_is_bounded(op: Operator) -> None:
    """Speed: the words that were asked for longest ago make room, also for words that nobody holds;
    the answers stay."""
    op.remember_many(
        [{"content": f"tea garden {'walrus' if number < 3 else 'march'}"} for number in range(10)]
    )
    connection, size, most = op._scope.store.database.reader(), 11, 2 * EACH + 14
    postings = Postings(most)
    expected = {word: fulltext.holding(connection, word).tolist() for word in WORDS}
    for word in ["tea", "walrus", "garden", "tea", "march", "bakery", "tea"]:
        assert postings.holding(connection, word, fulltext.SAID, size).tolist() == expected[word]
        assert postings._total == sum(held.size for held in postings._kept.values()) <= most
    assert [word for word, _ in postings._kept] == ["bakery", "tea"]


def test_holders_grow_in_place() -> None:
    """Speed: records are added behind the others, in room that is doubled; what was given to a
    search stays as it was."""
    held, given = Holders(), []
    for first in range(0, 100, 5):
        held.add(np.arange(first, first + 5), first + 5)
        given.append(held.rows)
    assert [rows.tolist() for rows in given] == [list(range(5 * (turn + 1))) for turn in range(20)]
    assert held.seen == 100
    assert held.size <= EACH + 200
    with pytest.raises(ValueError, match="read-only"):
        held.rows[0] = 7
