"""The verbs of a handle: remember, get, list, history, and what bad input leaves behind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina import Memory, Operator
from lamina.errors import Conflict, InvalidInput, LaminaError, NotFound, Refused, StoreUnavailable
from lamina.model import rules
from lamina.model.clock import Ids
from lamina.model.record import Layer, State, Trust
from tests.cases import every
from tests.conftest import CONTRACTS, START, STORE_ID, Desk, Ticking, contents, move, size, verified
from tests.unit.strategies import JSON, TEXTS

UNKNOWN = "0" * 26


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """One store for every example of a property."""
    with Desk(tmp_path_factory.mktemp("shelf")) as desk:
        yield desk.agent()


def test_a_memory_with_everything(desk: Desk, clock: Ticking) -> None:
    """R1, R2: each given field is in the record, the others have their defaults, and times come
    from the clock."""
    mem = desk.agent(user="ana")
    first = mem.remember("first")
    clock.set(START + timedelta(days=1))
    record = mem.remember(
        "Ana drinks tea",
        kind="fact",
        layer="episodic",
        tags=["Tea"],
        importance=0.75,
        metadata={"category": "x"},
        evidence=[first.id, "https://example.org"],
        source="chat",
        speaker="Ana",
        session="s1",
        at="2020-01-01T00:00:00+01:00",
        key="k1",
        confidence=0.5,
    )
    assert record.to_dict() == {
        "id": record.id,
        "seq": 2,
        "agent": "sky",
        "user": "ana",
        "layer": "episodic",
        "state": "active",
        "kind": "fact",
        "content": "Ana drinks tea",
        "importance": 0.75,
        "score": 7,
        "confidence": 0.5,
        "trust": "agent",
        "source": "chat",
        "tags": ["tea"],
        "metadata": {"category": "x"},
        "evidence": [first.id, "https://example.org"],
        "speaker": "Ana",
        "session": "s1",
        "run_id": None,
        "occurred_at": "2019-12-31T23:00:00.000000Z",
        "created_at": "2026-05-02T08:00:00.000000Z",
        "updated_at": "2026-05-02T08:00:00.000000Z",
        "promoted_at": None,
        "valid_from": None,
        "valid_to": None,
        "last_verified": None,
        "supersedes": [],
        "superseded_by": None,
    }
    assert mem.get(record.id) == record


def test_a_memory_with_nothing(mem: Memory) -> None:
    """R2, R5: without anything else, a text is an active short-term crumb of importance 0.5 that
    happened now."""
    record = mem.remember("x")
    assert (record.layer, record.state, record.kind, record.importance) == (
        Layer.SHORT_TERM,
        State.ACTIVE,
        "crumb",
        0.5,
    )
    assert record.occurred_at == record.created_at == record.updated_at
    assert (record.tags, record.metadata, record.evidence, record.user) == ((), {}, (), None)


def test_remember_short(mem: Memory) -> None:
    """L1: remember_short takes content, tags, importance and the other fields."""
    record = mem.remember_short("x", ["garmin"], 0.9, kind="data", key="k")
    assert (record.layer, record.tags, record.importance, record.kind) == (
        "short_term",
        ("garmin",),
        0.9,
        "data",
    )
    assert mem.remember_short("x", key="k") == record


@every("score", range(11))
def test_a_score_is_stored_as_importance(mem: Memory, score: int) -> None:
    """R4: a score comes back as the same score beside the exact importance."""
    record = mem.get(mem.remember("x", score=score).id)
    assert (record.score, record.importance) == (score, score / 10)


@pytest.mark.parametrize("layer", [layer for layer in CONTRACTS if layer != "short_term"])
def test_who_may_write_long_term_memory(desk: Desk, layer: str) -> None:
    """R2, R7, V7: an operator writes every layer with its contract; an agent writes episodes, and
    is refused the rest."""
    assert desk.operator().remember("x", layer=layer, metadata=CONTRACTS[layer]).layer == layer
    mem = desk.agent()
    if layer == "episodic":
        assert mem.remember("x", layer=layer).trust is Trust.AGENT
        return
    before = size(mem)
    with pytest.raises(Refused, match="an agent cannot write"):
        mem.remember("x", layer=layer, metadata=CONTRACTS[layer])
    assert size(mem) == before


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
def test_content_comes_back_to_the_byte(shelf: Memory, content: str) -> None:
    """R8: what is stored is what was given: no trimming, no normal form, no lost line end."""
    try:
        record = shelf.remember(content)
    except InvalidInput:
        assert not any(c.isalnum() and c not in "\u3164\u115f\u1160\uffa0" for c in content)
        return
    assert record.content == content
    assert shelf.get(record.id).content.encode() == content.encode()


@given(st.dictionaries(TEXTS, JSON, max_size=5))
def test_metadata_comes_back_as_given(shelf: Memory, metadata: dict[str, Any]) -> None:
    """R6: any JSON value round-trips, whatever its keys."""
    record = shelf.remember("x", metadata=metadata)
    assert record.metadata == metadata
    assert shelf.get(record.id) == record


def test_common_metadata_comes_back(mem: Memory) -> None:
    """R6: category, tags, tool, status, escalated_to, workflow, retry and source
    round-trip as given."""
    given_: dict[str, Any] = {
        "category": "A",
        "tags": ["B", "B "],
        "tool": "t",
        "status": "pending",
        "escalated_to": None,
    }
    given_ |= {"workflow": "Not a slug", "retry": 3, "source": "web"}
    record = mem.remember("x", metadata=given_)
    assert mem.get(record.id).metadata == given_
    assert record.trust is Trust.AGENT


class Word(str):
    """A text of a class of its own."""


def test_a_text_of_another_class_is_a_text(mem: Memory) -> None:
    """R1: texts that other libraries return, such as numpy's or markupsafe's, are stored
    like any text."""
    record = mem.remember(
        Word("x"), key=Word("k"), source=Word("chat"), speaker=Word("Ana"), tags=[Word("t")]
    )
    assert mem.get(record.id) == record


BAD: dict[str, dict[str, Any]] = {
    "empty": {"content": ""},
    "blank": {"content": " \n"},
    "invisible": {"content": "\u200b\u3164"},
    "nul": {"content": "a\0b"},
    "half pair": {"content": "a\ud800"},
    "no text": {"content": 5},
    "nothing": {"content": None},
    "too long": {"content": "é" * (2**19) + "a"},
    "importance text": {"importance": "high"},
    "importance NaN": {"importance": math.nan},
    "importance inf": {"importance": math.inf},
    "importance 1.1": {"importance": 1.1},
    "importance -0.1": {"importance": -0.1},
    "importance bool": {"importance": True},
    "importance and score": {"importance": 0.5, "score": 5},
    "score 11": {"score": 11},
    "confidence 2": {"confidence": 2},
    "kind": {"kind": "recipe"},
    "layer": {"layer": "attic"},
    "working": {"layer": "working"},
    "semantic": {"layer": "semantic", "metadata": CONTRACTS["semantic"]},
    "tags text": {"tags": "tea"},
    "tags number": {"tags": [5]},
    "tags invisible": {"tags": ["\u200b"]},
    "metadata list": {"metadata": []},
    "metadata NaN": {"metadata": {"a": math.nan}},
    "metadata set": {"metadata": {"a": {1}}},
    "metadata key": {"metadata": {5: 1}},
    "metadata big": {"metadata": {"a": "x" * 2**18}},
    "metadata deep": {
        "metadata": {"a": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}
    },
    "evidence unknown": {"evidence": [UNKNOWN]},
    "evidence word": {"evidence": ["x"]},
    "evidence text": {"evidence": "https://example.org"},
    "source": {"source": ""},
    "speaker": {"speaker": "a\nb"},
    "session": {"session": 5},
    "key": {"key": "x" * 257},
    "key used": {"key": "used"},
    "naive": {"at": datetime(2026, 1, 1)},
    "naive text": {"at": "2026-01-01"},
    "year 999": {"at": "0999-01-01T00:00:00Z"},
    "year 3000": {"at": datetime(3000, 1, 1, tzinfo=UTC)},
    "milliseconds": {"ts": 1.7e12},
    "ts bool": {"ts": True},
    "ts huge": {"ts": 10**400},
    "two times": {"ts": 1, "timestamp": "2026-01-01T00:00:00Z"},
    "trust": {"trust": "high"},
    "user": {"user": "ben"},
    "state": {"state": "active"},
    "run": {"run_id": UNKNOWN},
    "unknown field": {"colour": "red"},
}


@pytest.fixture(scope="module")
def bin_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """One store in which nothing may be left behind."""
    with Desk(tmp_path_factory.mktemp("bin")) as desk:
        mem = desk.agent()
        mem.remember("first", key="used")
        yield mem


@every("name", BAD)
def test_bad_input_stores_nothing(bin_: Memory, name: str) -> None:
    """R4, R8, I: each bad call is a typed error, and not one record or event more is
    in the store."""
    before = size(bin_)
    with pytest.raises(LaminaError):
        bin_.remember(**{"content": "x", **BAD[name]})
    assert size(bin_) == before


@every("name", BAD)
def test_one_bad_item_stores_none(bin_: Memory, name: str) -> None:
    """R4, I: a bad item in the middle of many is a typed error that names it, and none of
    them is stored."""
    before = size(bin_)
    with pytest.raises(LaminaError) as caught:
        bin_.remember_many([{"content": "a"}, {"content": "x", **BAD[name]}, {"content": "b"}])
    assert size(bin_) == before
    assert caught.value.details.get("item") == 1
    assert caught.value.message.startswith("item 1: ")


@pytest.mark.parametrize(
    "items", [["text"], [None], [[]], {"content": "x"}, "text", None, 5], ids=repr
)
def test_many_are_mappings(bin_: Memory, items: Any) -> None:
    """I: what is no list of memories is a typed error."""
    before = size(bin_)
    with pytest.raises(InvalidInput):
        bin_.remember_many(items)
    assert size(bin_) == before


READS: dict[str, Callable[[Memory], object]] = {
    "limit 0": lambda mem: mem.search("x", limit=0),
    "limit -1": lambda mem: mem.search("x", limit=-1),
    "limit 10001": lambda mem: mem.list(limit=10_001),
    "limit bool": lambda mem: mem.search("x", limit=True),
    "limit text": lambda mem: mem.search("x", limit="5"),  # type: ignore[arg-type]
    "query number": lambda mem: mem.search(5),  # type: ignore[arg-type]
    "query none": lambda mem: mem.search(None),  # type: ignore[arg-type]
    "query long": lambda mem: mem.search("x" * 65_537),
    "ranker": lambda mem: mem.search("x", ranker="magic"),
    "layers text": lambda mem: mem.search("x", layers="semantic"),
    "layers unknown": lambda mem: mem.list(layers=["attic"]),
    "states unknown": lambda mem: mem.list(states=["alive"]),
    "kinds unknown": lambda mem: mem.search("x", kinds=["recipe"]),
    "kinds text": lambda mem: mem.list(kinds="fact"),
    "tags text": lambda mem: mem.list(tags="tea"),
    "tags number": lambda mem: mem.list(tags=[5]),  # type: ignore[list-item]
    "tags generator": lambda mem: mem.list(tags=iter(["a"])),  # type: ignore[arg-type]
    "since naive": lambda mem: mem.list(since=datetime(2026, 1, 1)),
    "until text": lambda mem: mem.search("x", until="now"),
    "get none": lambda mem: mem.get(None),  # type: ignore[arg-type]
    "get number": lambda mem: mem.get(5),  # type: ignore[arg-type]
    "get half pair": lambda mem: mem.get("\ud800"),
    "get nul": lambda mem: mem.get("a\0"),
    "get empty": lambda mem: mem.get(""),
    "get sql": lambda mem: mem.get("' OR 1=1 --"),
    "history half pair": lambda mem: mem.history("\ud800"),
    "history unknown": lambda mem: mem.history(UNKNOWN),
    "search run": lambda mem: mem.search("x", run_id="\ud800"),
    "search run number": lambda mem: mem.search("x", run_id=5),  # type: ignore[arg-type]
    "search run list": lambda mem: mem.search("x", run_id=["0"] * 26),  # type: ignore[arg-type]
}


@every("name", READS)
def test_bad_questions_are_typed_errors(bin_: Memory, name: str) -> None:
    """Q7, I: a question that makes no sense is InvalidInput or NotFound, never a
    crash or `unavailable`."""
    with pytest.raises((InvalidInput, NotFound)):
        READS[name](bin_)


def test_a_filter_that_repeats_itself_is_answered(bin_: Memory) -> None:
    """Q3: a filter says which values; how often it says one makes no difference, and no limit of
    SQLite shows."""
    assert contents(bin_.list(kinds=["crumb"] * 40_000, layers=["short_term"] * 40_000)) == [
        "first"
    ]


def test_the_same_key_stores_once(desk: Desk, mem: Memory) -> None:
    """L1: a retry with the same key and text returns the same record, makes no event, and works
    from another handle."""
    first = mem.remember("x", key="k", tags=["a"])
    before = size(mem)
    assert mem.remember("x", key="k") == first
    assert desk.agent().remember("x", key="k", importance=0.9) == first
    assert size(mem) == before == (1, 1)


def test_a_key_for_another_text_is_a_conflict(mem: Memory) -> None:
    """L1, I: the same key with another text stores nothing and says which record has it."""
    first = mem.remember("x", key="k")
    with pytest.raises(Conflict, match="another text") as caught:
        mem.remember("y", key="k")
    assert caught.value.details["record"] == first.id
    assert size(mem) == (1, 1)


def test_keys_are_each_users_own(desk: Desk) -> None:
    """L1, R12: ana's key is free for ben and for nobody in particular."""
    made = [desk.agent(user=user).remember(f"for {user}", key="k") for user in ("ana", "ben", None)]
    assert len({record.id for record in made}) == 3
    assert [
        desk.agent(user=user).remember(f"for {user}", key="k") for user in ("ana", "ben", None)
    ] == made


def test_a_key_twice_in_one_batch(mem: Memory) -> None:
    """L1: within one batch the second use of a key returns the first's record; with another text
    nothing is stored."""
    items = [{"content": "x", "key": "k"}, {"content": "y"}, {"content": "x", "key": "k"}]
    first, other, again = mem.remember_many(items)
    assert (first, other.content) == (again, "y")
    assert size(mem) == (2, 1)
    with pytest.raises(Conflict):
        mem.remember_many([{"content": "a", "key": "j"}, {"content": "b", "key": "j"}])
    assert size(mem) == (2, 1)


def test_a_batch_that_is_retried(mem: Memory) -> None:
    """L1: a batch half of which was stored before stores the other half."""
    mem.remember_many([{"content": str(n), "key": str(n)} for n in range(3)])
    again = mem.remember_many([{"content": str(n), "key": str(n)} for n in range(6)])
    assert [record.seq for record in again] == [1, 2, 3, 4, 5, 6]
    assert size(mem) == (6, 2)


@every("keys", [False, True])
@every("number", [0, 1, 499, 500, 501, 1001])
def test_many_are_one_transaction(op: Operator, number: int, keys: bool) -> None:
    """R1, P4: many memories have rising sequences, and as many events as their size needs."""
    items = [{"content": f"m {n}", **({"key": str(n)} if keys else {})} for n in range(number)]
    made = op.remember_many(items)
    assert [record.seq for record in made] == list(range(1, number + 1))
    assert size(op) == (number, math.ceil(number / 500))
    assert sum(len(event.changes) for event in op.audit_log()) == number
    assert verified(op)


def test_each_change_is_an_event(op: Operator, clock: Ticking) -> None:
    """P4, V5: an event says what was done, by whom, when, through which surface, with values before
    and after."""
    record = op.remember("x", importance=0.3)
    move(op, record.id, importance=0.4)
    move(op, record.id, state=State.TOMBSTONED)
    events = op.history(record.id)
    assert [event.action for event in events] == ["remember", "test", "test"]
    assert [event.seq for event in events] == [1, 2, 3]
    assert [event.changes[0].after for event in events[1:]] == [
        {"importance": 0.4},
        {"state": "tombstoned"},
    ]
    assert [event.changes[0].before for event in events[1:]] == [
        {"importance": 0.3},
        {"state": "active"},
    ]
    assert [event.changes[0].previous for event in events] == [None, 1, 2]
    assert events[0].at == record.created_at < events[1].at < events[2].at
    assert (events[1].actor, events[1].surface) == ("operator:tester", "test")


def test_history_tells_only_of_its_record(mem: Memory) -> None:
    """P4, R12: an event that changed many records shows the one that was asked about."""
    made = mem.remember_many([{"content": "a"}, {"content": "b"}])
    for record in made:
        ((change,),) = [event.changes for event in mem.history(record.id)]
        assert change.record == record.id


@every("trust", [None, *Trust])
@every("source", [None, "chat", "web:https://example.org", "tool"])
@every("role", ["agent", "operator"])
def test_trust_is_the_handles(desk: Desk, role: str, source: str | None, trust: str | None) -> None:
    """V8: trust comes from the handle and the source; what the caller says can only lower it."""
    record = getattr(desk, role)().remember("x", source=source, trust=trust)
    expected = Trust(role) if source in (None, "chat") else Trust.EXTERNAL
    assert record.trust is (
        expected if trust is None else rules.lowest_trust([expected, Trust(trust)])
    )


def test_actor_and_surface_come_from_the_handle(desk: Desk) -> None:
    """V7, P4: who acts is decided when a handle is opened."""
    op = desk.operator(actor="ana", surface="cli")
    (event,) = op.history(op.remember("x").id)
    assert (event.actor, event.surface) == ("operator:ana", "cli")
    assert not hasattr(desk.agent(), "audit_log")


@pytest.mark.parametrize(
    "actor", ["\ud800", "a\0b", "x" * 10_000], ids=["half pair", "nul", "long"]
)
def test_a_strange_actor_is_kept_or_refused(desk: Desk, actor: str) -> None:
    """P4, I: a name that cannot be written into the trail is a typed error, not a crash of the
    first write."""
    try:
        op = desk.operator(actor=actor)
        record = op.remember("x")
    except LaminaError:
        return
    assert op.history(record.id)[0].actor == f"operator:{actor}"
    assert verified(op)


def test_list_is_newest_first_and_filtered(desk: Desk, clock: Ticking) -> None:
    """I, Q3: newest first by when it happened; layers, states, kinds, any of the tags, since ≤ t <
    until, and a limit."""
    op = desk.operator()
    days = [START + timedelta(days=n) for n in range(4)]
    made = op.remember_many(
        [
            {"content": "old", "at": days[0], "tags": ["A"], "kind": "fact"},
            {"content": "new", "at": days[3], "tags": ["b"]},
            {"content": "middle", "at": days[1], "tags": ["a", "b"], "layer": "episodic"},
            {"content": "hidden", "at": days[2]},
        ]
    )
    move(op, made[3].id, state=State.TOMBSTONED)
    assert contents(op.list()) == ["new", "middle", "old"]
    assert contents(op.list(states=None)) == ["new", "hidden", "middle", "old"]
    assert contents(op.list(states=["tombstoned"])) == ["hidden"]
    assert contents(op.list(layers=["episodic"])) == ["middle"]
    assert contents(op.list(kinds=["fact"])) == ["old"]
    assert contents(op.list(tags=[" A ", "c"])) == ["middle", "old"]
    assert contents(op.list(since=days[1], until=days[3])) == ["middle"]
    assert contents(op.list(limit=1)) == ["new"]
    assert op.list(since=days[3], until=days[0]) == []


def test_equal_times_are_listed_by_sequence(mem: Memory) -> None:
    """R1: there is a total order even within one microsecond."""
    mem.remember_many([{"content": str(n), "at": START} for n in range(5)])
    assert contents(mem.list()) == ["4", "3", "2", "1", "0"]


def test_ids_follow_from_store_agent_and_sequence(desk: Desk) -> None:
    """Q6: the store's id can be given, and then every id is known."""
    record = desk.agent().remember("x")
    ids = Ids(STORE_ID, "sky")
    assert record.id == ids.make(ids.prefix(record.created_at), 1)


def test_a_reopened_store_goes_on(desk: Desk) -> None:
    """R1, B1: sequences go on where they ended, and everything is there."""
    with desk.agent() as mem:
        first = mem.remember("x")
    mem = desk.agent()
    assert mem.get(first.id) == first
    assert mem.remember("y").seq == 2


def test_a_closed_handle_says_so(desk: Desk) -> None:
    """I: a handle is a context manager; afterwards it is a typed error to use it, and closing again
    is none."""
    with desk.operator() as op:
        record = op.remember("x")
    op.close()
    calls: list[Callable[[], object]] = [
        op.list,
        op.audit_verify,
        lambda: op.remember("y"),
        lambda: op.search("x"),
    ]
    calls.append(lambda: op.get(record.id))
    for call in calls:
        with pytest.raises(StoreUnavailable, match="closed"):
            call()
    assert contents(desk.agent().list()) == ["x"]


def missing(op: Operator) -> None:
    with pytest.raises(NotFound):
        op.get(UNKNOWN)


LOOKS: dict[str, Callable[[Operator, str], object]] = {
    "get": lambda op, record_id: op.get(record_id),
    "list": lambda op, record_id: op.list(limit=1),
    "search": lambda op, record_id: op.search("x", limit=1),
    "history": lambda op, record_id: op.history(record_id),
    "runs": lambda op, record_id: op.runs(),
    "status": lambda op, record_id: op.status(),
    "audit_log": lambda op, record_id: op.audit_log(1),
    "audit_reads": lambda op, record_id: op.audit_reads(1),
    "audit_head": lambda op, record_id: op.audit_head(),
    "audit_verify": lambda op, record_id: op.audit_verify(),
    "backup": lambda op, record_id: op.backup(),
    "export": lambda op, record_id: op.export(),
    "unknown": lambda op, record_id: missing(op),
    "key": lambda op, record_id: op.remember("x", key="k"),
}


@every("verb", LOOKS)
def test_no_look_freezes_the_view(desk: Desk, op: Operator, verb: str) -> None:
    """L1, Q6: whatever was looked at before, a handle sees what it and others write afterwards."""
    record = op.remember("x", key="k")
    op.run("task")
    op.search("x")
    LOOKS[verb](op, record.id)
    mine, other = op.remember("mine"), desk.agent().remember("other")
    assert (op.get(mine.id), op.get(other.id)) == (mine, other)
    assert contents(op.list(limit=2)) == ["other", "mine"]
    assert len(op.search("mine other")) == 2
    assert op.audit_reads(1)[0].note["query"] == "mine other"


def test_status_counts(desk: Desk, op: Operator) -> None:
    """H1: the status says what is there, by layer and state, and how many bytes each part has."""
    op.remember_many([{"content": "a"}, {"content": "b", "layer": "episodic"}])
    op.run("task")
    status = op.status()
    assert status["records"] == {
        "short_term": {"active": 1},
        "episodic": {"active": 1},
        "working": {"active": 1},
    }
    assert (status["agent"], status["store"], status["events"], status["open_runs"]) == (
        "sky",
        STORE_ID,
        2,
        1,
    )
    assert status["bytes"]["memory.db"] > 0
    assert status["problems"] == []


def test_the_public_door(desk: Desk) -> None:
    """I: lamina.open and lamina.operator take agent, user, home and clock in this order, and
    settings by name."""
    with (
        lamina.open(
            "sky", "ana", desk.home, desk.clock, settings={"kinds.extra": ["recipe"]}
        ) as mem,
        lamina.operator("sky", None, str(desk.home), desk.clock, "ben") as op,
    ):
        record = mem.remember("soup", kind="recipe")
        assert (record.user, record.agent) == ("ana", "sky")
        assert op.get(record.id) == record
        assert str(op.actor) == "operator:ben"
        assert type(mem) is Memory


def test_verbs_of_operators_are_told_to_agents(desk: Desk) -> None:
    """H2: a verb that only operators have says where it is; to programs that ask, the handle of an
    agent does not have it."""
    agent = desk.agent()
    with pytest.raises(
        AttributeError,
        match=r"confirm is for operators; lamina\.operator\(\) opens a handle that has it",
    ):
        agent.confirm("x")  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'Memory' object has no attribute 'nonsense'"):
        agent.nonsense  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(agent, "erase")
    own = [name for name in vars(Operator) if not name.startswith("_")]
    for name in own:
        with pytest.raises(AttributeError, match=f"{name} is for operators"):
            getattr(agent, name)
