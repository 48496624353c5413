"""What holds comes before what no longer does, in every ranker that is asked for both."""

from __future__ import annotations

import itertools
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Memory, Operator
from lamina.model.record import Hits, Outdated, Record, State
from lamina.search import RANKERS
from lamina.text.words import normalise
from tests.cases import every
from tests.conftest import FULL, START, Desk, Ticking, contents, move, supersede
from tests.unit.search.test_mirror import Scripted, head, through

ALL = tuple(State)
EARLY = START - timedelta(days=900)
TEXT = "Ana drinks green tea in the garden"


def states(hits: Hits) -> list[State]:
    return [hit.record.state for hit in hits]


def make_stale(memory: Memory, record: Record, state: State) -> None:
    """Give a record a state in which it is not active."""
    if state is State.SUPERSEDED:
        supersede(memory, record.id, memory.remember("something newer", importance=0.0).id)
    elif state is State.TOMBSTONED:
        move(memory, record.id, state=state)


@every("ranker", RANKERS)
@every("state", [State.SUPERSEDED, State.TOMBSTONED])
@every("limit", [1, 2, 10])
def test_the_same_text(mem: Memory, ranker: str, state: State, limit: int) -> None:
    """Q2-Q5, [lat]: an old, unimportant active record comes before a new, important stale one of
    the same text, also when only one is asked for."""
    active = mem.remember(f"{TEXT}.", importance=0.0, at=EARLY)
    make_stale(mem, mem.remember(TEXT.upper() + ".", importance=1.0), state)
    mem.remember("the car is in the garage", importance=1.0)
    found = mem.search("who drinks green tea?", ranker=ranker, states=ALL, limit=limit)
    assert found[0].record.id == active.id
    assert states(found)[:2] == [State.ACTIVE, state][:limit]


@every("ranker", RANKERS)
@every("limit", [1, 5])
def test_the_same_slot(op: Operator, ranker: str, limit: int) -> None:
    """Q2-Q5, [lat]: the value that a profile's key has now comes before the one that it had, even
    when the question is in the words of the former."""
    source = op.remember("Ana told me", importance=0.0)
    op.upsert_user_profile({"drink": "green tea with milk"}, evidence_ids=[source.id])
    op.upsert_user_profile({"drink": "coffee"}, evidence_ids=[source.id])
    found = op.search("drink: green tea with milk", ranker=ranker, states=ALL, limit=limit)
    assert contents(found)[:2] == ["drink: coffee", "drink: green tea with milk"][:limit]
    plain = op.search("drink: green tea with milk", ranker=ranker, limit=limit)
    assert State.ACTIVE in states(plain) or not plain


@every("ranker", RANKERS)
def test_many_stale_copies(mem: Memory, ranker: str) -> None:
    """Q2-Q5, [lat]: no number of stale copies takes the place of the one that holds."""
    active = mem.remember(TEXT, importance=0.0, at=EARLY)
    newer = mem.remember("something newer", importance=0.0)
    for copy in mem.remember_many([{"content": TEXT, "importance": 1.0} for _ in range(320)]):
        supersede(mem, copy.id, newer.id)
    found = mem.search("green tea", ranker=ranker, states=ALL, limit=3)
    assert found[0].record.id == active.id
    assert states(found)[1:] == [State.SUPERSEDED] * 2


def test_stale_copies_from_outside(desk: Desk, op: Operator) -> None:
    """V8, [lat]: where near-copies from outside are folded, an active one stands for them."""
    active = op.remember(TEXT, importance=0.0, at=EARLY, trust="external")
    make_stale(op, op.remember(TEXT, importance=1.0, trust="external"), State.TOMBSTONED)
    found = op.search("green tea", states=ALL, ranker="keyword")
    assert [hit.record.id for hit in found] == [active.id]
    assert found[0].duplicates == 1


def test_how_it_is_explained(mem: Memory) -> None:
    """Q6: in a sum of parts, `current` is what an active record lacked; a formula stays as it is."""
    mem.remember(TEXT, importance=0.0, at=EARLY)
    make_stale(mem, mem.remember(TEXT, importance=1.0), State.TOMBSTONED)
    for ranker in ("hybrid", "keyword"):
        held, stale = mem.search("green tea", ranker=ranker, states=ALL)
        assert held.score == stale.score
        assert held.parts["current"] > 0
        assert "current" not in stale.parts
    for ranker in ("overlap", "exact"):
        held, stale = mem.search("green tea", ranker=ranker, states=ALL)
        alone = mem.search("green tea", ranker=ranker)[0]
        assert "current" not in held.parts
        assert alone.parts.keys() == held.parts.keys()
        assert abs(alone.score - held.score) < 0.01
    held, stale = mem.search("green tea", ranker="overlap", states=ALL)
    assert held.score < stale.score


@every("ranker", RANKERS)
def test_others_users_stand_for_nothing(desk: Desk, ranker: str) -> None:
    """R12: another user's active record of the same text changes no order."""
    op, ana, ben = desk.operator(), desk.agent(user="ana"), desk.agent(user="ben")
    ben.remember(TEXT, importance=0.0, at=EARLY)
    make_stale(op, ana.remember(TEXT, importance=1.0), State.TOMBSTONED)
    assert states(ana.search("green tea", ranker=ranker, states=ALL)) == [State.TOMBSTONED]
    found = op.search("green tea", ranker="overlap", states=ALL)
    assert states(found) == [State.TOMBSTONED, State.ACTIVE]


@every("ranker", ["hybrid", "semantic"])
def test_with_a_mirror(op: Operator, ranker: str) -> None:
    """M2: a mirror knows active records alone, so the store finds the stale ones, in the same
    order."""
    active = op.remember(TEXT, importance=0.0, at=EARLY)
    make_stale(op, op.remember(TEXT, importance=1.0), State.TOMBSTONED)
    mirror = Scripted(head(op), [active.id])
    through(op, mirror)
    found = op.search("who drinks green tea?", ranker=ranker, states=ALL, limit=2)
    assert states(found) == [State.ACTIVE, State.TOMBSTONED]
    assert not mirror.asked


MEMORIES = st.lists(
    st.tuples(
        st.sampled_from(["green tea", "Green  tea", "tea", "green tea in the garden", "coffee"]),
        st.sampled_from([State.ACTIVE, State.SUPERSEDED, State.TOMBSTONED]),
        st.sampled_from([0.0, 0.5, 1.0]),
        st.integers(0, 400),
    ),
    min_size=1,
    max_size=8,
)


@given(MEMORIES, st.sampled_from(RANKERS), st.sampled_from(["green tea", "tea garden", "coffee"]))
@settings(max_examples=200 if FULL else 25, deadline=None)
def test_any_memories(
    tmp_path_factory: object, memories: list[tuple[str, State, float, int]], ranker: str, query: str
) -> None:
    """Q2-Q6, [lat]: nothing active comes after something stale of the same text, and a shorter
    answer is the beginning of a longer one."""
    folder = tmp_path_factory.mktemp("any")  # type: ignore[attr-defined]
    with Desk(folder, Ticking(step=timedelta(0))) as desk:
        mem = desk.agent()
        for content, state, importance, days in memories:
            at = START - timedelta(days=days)
            make_stale(mem, mem.remember(content, importance=importance, at=at), state)
        whole = mem.search(query, ranker=ranker, states=ALL, limit=20)
        for before, after in itertools.combinations([hit.record for hit in whole], 2):
            if normalise(before.content) == normalise(after.content):
                assert before.state is State.ACTIVE or after.state is not State.ACTIVE
        if ranker not in ("hybrid", "semantic"):
            ids = [hit.record.id for hit in whole]
            for limit in range(1, len(ids)):
                found = mem.search(query, ranker=ranker, states=ALL, limit=limit)
                assert [hit.record.id for hit in found] == ids[:limit]


HOME, NOW_HOME, BOSS = "I live in Munich.", "I live in Hamburg now.", "My manager is Tom."
WHERE, WHO = "where do I live?", "who is my manager?"


def told(op: Operator) -> None:
    """Let Mia tell where she lives, and who her manager is; then sleep."""
    for day, said in enumerate((HOME, NOW_HOME, BOSS)):
        at = START - timedelta(days=9 - day)
        op.remember(said, layer="episodic", speaker="Mia", session=f"s{day}", at=at)
    op.sleep()


def fact(op: Operator, word: str) -> str:
    """The id of the active fact with a word."""
    (found,) = [one.id for one in op.list(layers=["semantic"]) if word in one.content]
    return found


def marks(hits: Hits) -> dict[str, Outdated | None]:
    return {hit.record.content: hit.outdated for hit in hits}


def test_what_holds_comes_before_a_saying_that_it_corrected(op: Operator) -> None:
    """Q5, C3: once a fact is corrected, it comes before the turn that it rests on, and every turn
    says what holds in its place."""
    told(op)
    op.correct(fact(op, "Hamburg"), "Mia lives in Berlin", "wrong city")
    hits = op.search(WHERE)
    assert contents(hits)[:3] == ["Mia lives in Berlin", NOW_HOME, HOME]
    now = ("Mia lives in Berlin",)
    assert marks(hits) == {
        "Mia lives in Berlin": None,
        NOW_HOME: Outdated(("Hamburg",), now=now),
        HOME: Outdated(("Munich",), now=now),
    }
    assert hits[1].to_dict()["outdated"] == {
        "values": ["Hamburg"],
        "rejected": [],
        "now": ["Mia lives in Berlin"],
    }
    assert "outdated" not in hits[0].to_dict()


@every("ranker", RANKERS)
@every("verb", ["reject", "rollback", "forget"])
def test_a_rejected_fact_marks_its_saying(desk: Desk, ranker: str, verb: str) -> None:
    """C3, V4: the turn of a fact that was rejected, rolled back or forgotten says so in every
    ranker and in a context, until that is undone."""
    op = desk.operator()
    told(op)
    getattr(op, verb)(fact(op, "Tom"), reason="not so")
    assert marks(op.search(WHO, ranker=ranker)).get(BOSS) == Outdated(rejected=("Tom",))
    assert f"{BOSS} (rejected: Tom)" in op.context(WHO).text
    op.undo(op.audit_log(1)[0].seq)
    assert marks(op.search(WHO, ranker=ranker))[BOSS] is None
    assert "rejected" not in op.context(WHO).text


def test_what_a_turn_does_not_say_is_not_rejected_in_it(op: Operator) -> None:
    """C3: a correction that is rolled back leaves no mark on the turn that says something else."""
    told(op)
    berlin = op.correct(fact(op, "Hamburg"), "Mia lives in Berlin", "wrong city")
    op.rollback(berlin.id, "it was right")
    assert marks(op.search(WHERE))[NOW_HOME] is None


def test_a_look_back_is_not_marked(op: Operator, clock: Ticking) -> None:
    """Q10: what was true or known at a time is not marked with what holds now."""
    told(op)
    before = clock.now
    op.correct(fact(op, "Hamburg"), "Mia lives in Berlin", "wrong city")
    assert not any(marks(op.search(WHERE, known_at=before)).values())
    assert not any(marks(op.search(WHERE, as_of=START - timedelta(days=8))).values())


def test_marks_show_nothing_of_another_user(desk: Desk) -> None:
    """R12, C3: what replaced a saying is named only to a user who may see it."""
    op = desk.operator()
    op.remember(HOME, layer="episodic", speaker="Mia")
    op.sleep()
    hers = desk.operator(user="ana").remember("Mia lives in Berlin")
    supersede(op, fact(op, "Munich"), hers.id)
    assert marks(op.search(WHERE))[HOME] == Outdated(("Munich",), now=(hers.content,))
    assert not any(marks(desk.operator(user="ben").search(WHERE)).values())
