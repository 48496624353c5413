"""Searching through a mirror: it names candidates and nothing more; whatever it says, an answer is
the store's own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Memory, Operator
from lamina.errors import InvalidInput, StoreUnavailable
from lamina.mirrors import MirrorRequest, Position
from lamina.model.record import Hits, Layer, Record
from lamina.search.mirror import CANDIDATES, PAGE, PAGES, PAUSE, MirrorSearch
from lamina.store.tables import outbox
from tests.conftest import Desk, Ticking

SAID = [
    "I drink green tea in the morning",
    "The car is in the garage",
    "Ana plays the violin on Sundays",
    "Coffee keeps me awake at night",
    "The garage needs a new door",
]
QUESTIONS = [
    "what do I drink?",
    "where is the car?",
    "who plays music?",
    "garage door",
    "zebra crossing",
]


class Scripted:
    """A mirror that says what it was told to, about as far as it was told to have come."""

    def __init__(self, position: Position | None, names: Any = ()) -> None:
        self.at = position
        self.names = names
        self.asked: list[MirrorRequest] = []
        self.error: Exception | None = None

    def position(self) -> Position | None:
        return self.at

    def candidates(self, asked: MirrorRequest) -> list[str]:
        self.asked.append(asked)
        if self.error is not None:
            raise self.error
        return self.names  # type: ignore[no-any-return]


class Slow(Scripted):
    """A mirror that does not answer before it is let go."""

    def __init__(self, position: Position | None) -> None:
        super().__init__(position)
        self.free = threading.Event()

    def candidates(self, asked: MirrorRequest) -> list[str]:
        self.free.wait()
        return super().candidates(asked)


def head(memory: Memory) -> Position:
    return outbox.head(memory._scope.store.database)


def through(memory: Memory, mirror: Scripted, patience: float = 10.0) -> MirrorSearch:
    """Let the searches of a handle go through a mirror."""
    via = memory._scope.recall.__dict__["mirror"] = MirrorSearch("scripted", mirror, patience)
    return via


@contextmanager
def directly(memory: Memory) -> Iterator[None]:
    """Search the store itself for a while."""
    via = memory._scope.recall.__dict__.pop("mirror")
    yield
    memory._scope.recall.__dict__["mirror"] = via


def said(hits: Hits) -> list[tuple[str, float, dict[str, float]]]:
    return [(hit.record.id, hit.score, dict(hit.parts)) for hit in hits]


def problems(memory: Memory) -> list[str]:
    found: list[str] = memory.status()["problems"]
    return [problem for problem in found if "mirror" in problem]


@pytest.fixture
def still(desk: Desk) -> Ticking:
    """A clock that stands, so that two answers can be compared."""
    desk.clock.step = timedelta(0)
    return desk.clock


@pytest.fixture
def made(op: Operator, still: Ticking) -> list[Record]:
    return [op.remember(text) for text in SAID]


@pytest.mark.parametrize("ranker", ["hybrid", "semantic"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_scores_are_our_own(op: Operator, made: list[Record], question: str, ranker: str) -> None:
    """Q5: when a mirror names everything, hits, scores and their parts are what the store would
    have said."""
    mirror = Scripted(head(op), [record.id for record in made])
    through(op, mirror)
    found = op.search(question, ranker=ranker)
    with directly(op):
        assert said(found) == said(op.search(question, ranker=ranker))
    assert (len(mirror.asked), found.notes, problems(op)) == (1, (), [])


def test_what_is_asked(op: Operator, made: list[Record]) -> None:
    """B2: the mirror is told the question, its vector and the filters, and is asked for
    a few hundred."""
    mirror = Scripted(head(op))
    through(op, mirror)
    since = made[0].occurred_at
    op.search("tea", layers=["short_term"], kinds=["crumb"], tags=["x"], since=since, until=since)
    [asked] = mirror.asked
    assert (asked.text, asked.limit, asked.user) == ("tea", CANDIDATES, None)
    assert (asked.layers, asked.kinds, asked.tags) == ((Layer.SHORT_TERM,), ("crumb",), ("x",))
    assert (asked.since, asked.until) == (since, since)
    assert asked.vector is not None
    assert sum(value * value for value in asked.vector) == pytest.approx(1, abs=0.01)


def test_words_are_the_stores_own(op: Operator, made: list[Record]) -> None:
    """Q3: what holds a word of the question is found, whatever a mirror knows of meaning; nothing
    else is, unless named."""
    through(op, Scripted(head(op), []))
    assert [hit.record.content for hit in op.search("violin")] == [SAID[2]]
    assert op.search("automobile").outcome == "nothing_relevant"
    through(op, Scripted(head(op), [made[1].id]))
    assert [hit.record.content for hit in op.search("automobile")] == [SAID[1]]


def test_meaning_alone_is_the_mirrors(op: Operator, made: list[Record]) -> None:
    """Q4: a search by nothing but meaning finds what the mirror names."""
    through(op, Scripted(head(op), [made[3].id]))
    assert [hit.record.content for hit in op.search("coffee or green tea", ranker="semantic")] == [
        SAID[3]
    ]
    through(op, Scripted(head(op), []))
    assert op.search("green tea", ranker="semantic").outcome == "nothing_relevant"


def test_writes_are_read_at_once(op: Operator, made: list[Record]) -> None:
    """L1: what was written after the mirror's position is found, and what was changed or dropped
    since is as it is now."""
    mirror = Scripted(head(op), [record.id for record in made])
    through(op, mirror)
    new = op.remember("Tea with honey is for colds")
    op.forget(made[0].id)
    op.correct(made[3].id, "Coffee and tea keep me awake", "said so")
    found = op.search("tea")
    assert new.id in {hit.record.id for hit in found}
    assert {hit.record.content for hit in found} == {new.content, "Coffee and tea keep me awake"}
    assert (found.notes, problems(op)) == ((), [])


class Ahead(Scripted):
    """A mirror that learns of a memory while it is asked, before whoever asks can know it."""

    def __init__(self, position: Position, names: list[str], write: Callable[[], Record]) -> None:
        super().__init__(position, names)
        self.write = write

    def candidates(self, asked: MirrorRequest) -> list[str]:
        return [*super().candidates(asked), self.write().id]


def test_one_that_is_ahead(desk: Desk, op: Operator, made: list[Record]) -> None:
    """B2: what was written while a search looked is neither found nor strange; the next search
    finds it."""
    other = desk.operator()
    mirror = Ahead(head(op), [made[0].id], lambda: other.remember("Peppermint tea"))
    through(op, mirror)
    found = op.search("green tea")
    assert ([hit.record.id for hit in found], found.notes, problems(op)) == ([made[0].id], (), [])
    assert "Peppermint tea" in {hit.record.content for hit in op.search("tea")}


UNKNOWN = "01m7jab40h61zr2nzsb4q5tb45"
# Everything that a mirror should not say, made of the ids of our own memories.
HOSTILE: dict[str, Callable[[list[str]], Any]] = {
    "an unknown id": lambda own: [*own, UNKNOWN],
    "a million ids": lambda own: own * 200_000,
    "numbers": lambda own: [1, 2, 3],
    "nothing": lambda own: None,
    "a text": lambda own: own[0],
    "no id": lambda own: [*own, "'; DROP TABLE records; --"],
    "a mapping": lambda own: {own[0]: 1},
    "half a pair": lambda own: ["\ud800"],
    "what cannot be compared": lambda own: [own],
}


def check_hostile(op: Operator, names: Any) -> None:
    """A mirror that says this is not believed: the answer is the store's own, and the status tells
    of it."""
    through(op, Scripted(head(op), names))
    found = op.search("green tea")
    with directly(op):
        assert said(found) == said(op.search("green tea"))
    assert found[0].record.content == SAID[0]
    assert "the store has answered" in found.notes[0]
    assert problems(op)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_mirror(op: Operator, made: list[Record], kind: str) -> None:
    """B2, P2: whatever a mirror says, nothing leaks, the answer is the store's own, and the status
    tells of it."""
    check_hostile(op, HOSTILE[kind]([record.id for record in made]))


def test_another_agents_memories(desk: Desk, op: Operator, made: list[Record]) -> None:
    """P2: an id of another agent is an unknown one."""
    foreign = desk.operator("other").remember("green tea of another agent")
    check_hostile(op, [foreign.id, made[0].id])


def test_forgotten_memories(op: Operator, made: list[Record]) -> None:
    """R3: what was forgotten before the mirror's position comes back by no mirror."""
    secret = op.remember("green tea hides a secret")
    op.forget(secret.id)
    check_hostile(op, [secret.id, made[0].id])


def test_another_users_memories(desk: Desk, op: Operator, still: Ticking) -> None:
    """R12: a mirror that names what belongs to another user gives nothing away."""
    ana, bob = desk.agent(user="ana"), desk.agent(user="bob")
    own, foreign = ana.remember("Ana likes tea"), bob.remember("Bob likes tea")
    through(ana, Scripted(head(ana), [foreign.id, own.id]))
    found = ana.search("who likes tea?")
    assert [hit.record.id for hit in found] == [own.id]
    assert any(
        "1 memories that are not there or were not asked for" in problem
        for problem in problems(ana)
    )


def test_duplicates_count_once(op: Operator, made: list[Record]) -> None:
    """B2: an id that is named often is one candidate."""
    through(op, Scripted(head(op), [made[0].id] * CANDIDATES))
    assert [hit.record.id for hit in op.search("tea")] == [made[0].id]


def test_strange_ids_are_counted(op: Operator, made: list[Record], still: Ticking) -> None:
    """B2: the status says how many were named in all, and what to run."""
    through(op, Scripted(head(op), [UNKNOWN, UNKNOWN[:-1] + "6"]))
    for _ in range(2):
        op.search("tea")
        still.jump(PAUSE)
    told = [problem for problem in problems(op) if "named 4 memories" in problem]
    assert told == [
        (
            "the mirror scripted named 4 memories that are not there or were not asked for; run "
            "`lamina mirror verify`"
        )
    ]


@pytest.mark.parametrize(
    "error",
    [
        StoreUnavailable("it is down"),
        RuntimeError("it is down"),
        OSError("it is down"),
        KeyError("it is down"),
    ],
)
def test_one_that_is_down(
    op: Operator, made: list[Record], still: Ticking, error: Exception
) -> None:
    """B2: the store answers, the answer and the status say why; it is asked again after a while,
    and then all is well."""
    mirror = Scripted(head(op), [record.id for record in made])
    mirror.error = error
    through(op, mirror)
    for _ in range(3):
        found = op.search("tea")
        assert found[0].record.id == made[0].id
        assert "it is down" in found.notes[0]
    assert (len(mirror.asked), len(problems(op))) == (1, 1)
    still.jump(PAUSE)
    mirror.error = None
    assert op.search("tea").notes == ()
    assert (len(mirror.asked), problems(op)) == (2, [])


def test_one_that_is_slow(op: Operator, made: list[Record], still: Ticking) -> None:
    """B2: nobody waits longer than agreed, and no second question is put to one that has not
    answered the first."""
    mirror = Slow(head(op))
    via = through(op, mirror, patience=0.01)
    found = op.search("tea")
    assert "did not answer within 0.01 seconds" in found.notes[0]
    still.jump(PAUSE)
    assert "still busy" in op.search("tea").notes[0]
    mirror.free.set()
    assert via._call is not None
    via._call.join()
    assert len(mirror.asked) == 1


@pytest.mark.parametrize(
    "position",
    [None, Position("another"), Position("5" * 32, 10_000, "ab"), Position("5" * 32, 1, "ab")],
)
def test_one_of_another_history(
    op: Operator, made: list[Record], position: Position | None
) -> None:
    """B2: a mirror that is not made yet, or follows another store or another history,
    is not believed."""
    through(op, Scripted(position, [made[1].id]))
    found = op.search("tea")
    assert found[0].record.id == made[0].id
    assert "lamina mirror sync" in found.notes[0]


def test_one_that_is_far_behind(op: Operator, made: list[Record]) -> None:
    """B2: the store answers rather than read thousands of changes for each question."""
    through(op, Scripted(head(op), [made[0].id]))
    for _ in range(PAGES):
        op.remember_many([{"content": f"cup {number}"} for number in range(PAGE)])
    assert "it is far behind" in op.search("green tea").notes[0]


@pytest.mark.parametrize(
    "filters",
    [
        {"as_of": "2026-06-01T00:00:00Z"},
        {"known_at": "2026-06-01T00:00:00Z"},
        {"states": ["superseded"]},
        {"all_tags": ["a", "b"]},
        {"metadata": {"a": 1}},
        {"session": "s1"},
        {"ranker": "keyword"},
        {"ranker": "exact"},
        {"ranker": "overlap"},
    ],
)
def test_what_a_mirror_cannot_answer(
    op: Operator, made: list[Record], filters: dict[str, Any]
) -> None:
    """Q3: the past, other states and what mirrors do not hold are asked of the store alone."""
    mirror = Scripted(head(op))
    through(op, mirror)
    found = op.search("tea", **filters)
    with directly(op):
        assert said(found) == said(op.search("tea", **filters))
    assert mirror.asked == []


def test_a_mirror_that_is_off(desk: Desk) -> None:
    """B2: the setting that names a mirror which is off is an error that says what to do."""
    memory = desk.agent(settings={"recall.via": "chroma"})
    memory.remember("tea")
    with pytest.raises(InvalidInput, match=r"mirrors\.chroma is off"):
        memory.search("tea")


IDS = st.one_of(
    st.integers(0, len(SAID) - 1),
    st.text(max_size=30),
    st.none(),
    st.binary(max_size=3),
    st.just(UNKNOWN),
)


@settings(max_examples=25)
@given(names=st.lists(IDS, max_size=12), question=st.sampled_from(QUESTIONS))
def test_any_answer_of_a_mirror(
    tmp_path_factory: pytest.TempPathFactory, names: list[Any], question: str
) -> None:
    """B2, Q6: an answer has only what the store has, whatever a mirror names; asked twice, it is
    the same."""
    with Desk(tmp_path_factory.mktemp("home"), Ticking(step=timedelta(0))) as desk:
        op = desk.operator()
        made = op.remember_many([{"content": text} for text in SAID])
        ids = [made[one].id if isinstance(one, int) else one for one in names]
        through(op, Scripted(head(op), ids))
        found = op.search(question)
        through(op, Scripted(head(op), ids))
        assert said(found) == said(op.search(question))
        with directly(op):
            whole = op.search(question)
        allowed = {hit.record.id for hit in whole}
        assert {hit.record.id for hit in found} <= {record.id for record in made}
        if found.notes:
            assert {hit.record.id for hit in found} == allowed
