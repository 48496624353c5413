"""Replay: everything that waits comes into the store once and in its order, and what cannot be
believed waits for a person."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as profile
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lamina import Memory, Operator, StoreUnavailable
from lamina.failsafe.line import Item, Line, encoded
from lamina.failsafe.replay import Replay
from lamina.failsafe.spool import LONG, REJECTED, SHORT, Spool
from lamina.model.clock import agent_tag
from lamina.model.record import Actor, Draft, Layer, Role, State, Trust
from tests.conftest import FULL, START, Desk, Ticking, contents, verified
from tests.unit.failsafe.outages import AWAY, folder_of, outage

AGENT = Actor(Role.AGENT, "sky", "test")
OWN = "0" * 10 + agent_tag("sky") + "0" * 12


@pytest.fixture
def mem(desk: Desk) -> Memory:
    return desk.agent(settings=AWAY)


@pytest.fixture
def op(desk: Desk) -> Operator:
    return desk.operator(settings=AWAY)


def replay(handle: Memory) -> dict[str, Any]:
    return handle.replay_failsafe()


def test_the_event_tells_of_the_write(desk: Desk, mem: Memory, op: Operator) -> None:
    """B4, P4: the audit event is written at replay, by who remembered, with the time of the write;
    the chain verifies."""
    with outage(desk.home):
        kept = mem.remember("x")
        batch = mem.remember_many([{"content": "a"}, {"content": "b"}])
    done = replay(op)
    assert (done["stored"], done["known"], done["constrained"], done["rejected"]) == (3, 0, 0, 0)
    (event,) = op.history(kept.id)
    assert (event.action, event.actor, event.surface) == ("remember", "agent:sky", "python")
    told = event.details["replayed"]
    assert [(one["records"], one["written"]) for one in told] == [
        (1, kept.to_dict()["created_at"]),
        (2, batch[0].to_dict()["created_at"]),
    ]
    assert event.at > batch[0].created_at
    assert verified(op)


def test_replaying_again_changes_nothing(desk: Desk, mem: Memory, op: Operator) -> None:
    """B4: lines that are there already are not stored again, wherever they are by now."""
    with outage(desk.home):
        kept = [
            mem.remember(f"memory {number}", key=f"k{number}" if number % 2 else None)
            for number in range(4)
        ]
    copy = desk.home / "copy"
    shutil.copytree(folder_of(desk), copy)
    replay(mem)
    op.forget(kept[0].id)
    op.erase(kept[1].id)
    for path in copy.glob("*.jsonl"):
        shutil.copy(path, folder_of(desk) / path.name)
    before = op.audit_head()["events"]
    done = replay(mem)
    assert (done["stored"], done["known"]) == (0, 4)
    assert op.audit_head()["events"] == before
    assert contents(mem.list()) == ["memory 3", "memory 2"]


@pytest.mark.parametrize("names", [(SHORT,), (LONG,), (LONG, SHORT)])
def test_empty_files_are_nothing_to_replay(desk: Desk, mem: Memory, names: tuple[str, ...]) -> None:
    """B4: a disk that was full may leave a file with nothing in it; it is cleared away, and nothing
    waits for ever."""
    with outage(desk.home):
        mem.remember("x")
    for name in names:
        (folder_of(desk) / name).write_bytes(b"")
    assert replay(mem)["rejected"] == 0
    assert not any((folder_of(desk) / name).exists() for name in names)


def test_a_key_is_stored_once(desk: Desk, mem: Memory) -> None:
    """B4, L1: a key that the store knows by now with the same text is the same memory; with another
    it waits constrained."""
    with outage(desk.home):
        mem.remember("same", key="one")
        other = mem.remember("later", key="two")
    aside = desk.home / "aside"
    folder_of(desk).rename(aside)
    mem._parts.failsafe.is_behind = False
    first, second = mem.remember("same", key="one"), mem.remember("earlier", key="two")
    aside.rename(folder_of(desk))
    done = replay(mem)
    assert (done["stored"], done["known"], done["constrained"]) == (1, 1, 1)
    landed = mem.get(other.id)
    assert landed.state is State.CONSTRAINED
    assert landed.metadata["failsafe"]["record"] == second.id
    assert landed.metadata["failsafe"]["key"] == "two"
    assert "used for another text" in landed.metadata["failsafe"]["reason"]
    assert mem.remember("same", key="one").id == first.id
    assert mem.remember("earlier", key="two").id == second.id


def test_unknown_evidence_lands_constrained(desk: Desk, mem: Memory, op: Operator) -> None:
    """B4, P1: evidence is checked at replay; what was claimed is kept, and a person decides."""
    there = mem.remember("source")
    with outage(desk.home):
        good = mem.remember("rests on both", evidence=[there.id, "./notes.md"])
        bad = mem.remember("rests on nothing", evidence=["0" * 26, there.id])
    replay(mem)
    assert mem.get(good.id).state is State.ACTIVE
    landed = mem.get(bad.id)
    assert landed.state is State.CONSTRAINED
    assert landed.evidence == (there.id,)
    assert landed.metadata["failsafe"]["evidence"] == ["0" * 26]
    assert bad.id in [proposal.record.id for proposal in op.proposals()]
    assert op.confirm(bad.id).state is State.ACTIVE


def test_trust_is_no_higher_than_what_it_rests_on(desk: Desk, mem: Memory) -> None:
    """V6, B4: what was written in an outage is trusted as it would have been."""
    outside = mem.remember("from a page", source="web")
    with outage(desk.home):
        kept = mem.remember("so it is", evidence=[outside.id])
    replay(mem)
    assert mem.get(kept.id).trust is Trust.EXTERNAL


def test_a_note_of_a_closed_run_is_not_lost(desk: Desk, mem: Memory) -> None:
    """B4, R5: a note that comes too late for its run waits constrained, and does not open
    the run again."""
    run = mem.run("task")
    with outage(desk.home):
        note = run.note("found something")
    aside = desk.home / "aside"
    folder_of(desk).rename(aside)
    run.close()
    aside.rename(folder_of(desk))
    replay(mem)
    landed = mem.get(note.id)
    assert (landed.state, landed.layer) == (State.CONSTRAINED, Layer.SHORT_TERM)
    assert landed.metadata["failsafe"]["run"] == run.id
    assert mem.runs() == []


def test_rules_that_have_changed_constrain(desk: Desk) -> None:
    """B4: content that the settings of today do not allow is kept, and waits for a person."""
    liberal = desk.agent(settings={**AWAY, "kinds.extra": ["mood"]})
    with outage(desk.home):
        kept = liberal.remember("glad", kind="mood")
        long = liberal.remember("x" * 100)
    strict = desk.agent(settings={**AWAY, "content.max_bytes": 50})
    for record in (kept, long):
        assert strict.get(record.id).state is State.CONSTRAINED
    assert "unknown kind" in strict.get(kept.id).metadata["failsafe"]["reason"]


def forged(desk: Desk, draft: Draft, **more: Any) -> Line:
    """A line with a right checksum that nobody has given to the fail-safe."""
    fields = {
        "record_type": "memory_item",
        "id": OWN,
        "at": START,
        "order": 0,
        "batch": "b" * 16,
        "part": 1,
        "of": 1,
    }
    line = Line(**{**fields, "action": "remember", "actor": AGENT, "payload": draft, **more})
    folder_of(desk).mkdir(exist_ok=True)
    with (folder_of(desk) / SHORT).open("ab") as file:
        file.write(encoded(line, 1))
    return line


@pytest.mark.parametrize(
    "draft",
    [
        Draft("", Trust.AGENT),
        Draft("x", Trust.AGENT, layer=Layer.SEMANTIC),
        Draft("x", Trust.AGENT, importance=7.0),
        Draft("x", Trust.AGENT, layer=Layer.WORKING),
        Draft("x", Trust.AGENT, tags=("a\nb",)),
    ],
)
def test_what_cannot_be_a_record_is_laid_aside(desk: Desk, mem: Memory, draft: Draft) -> None:
    """B4: a payload that the rules cannot take is kept in `rejected.jsonl`, with file, line and
    reason, and told."""
    forged(desk, draft)
    assert replay(mem)["rejected"] == 1
    (told,) = (folder_of(desk) / REJECTED).read_text("utf-8").splitlines()
    assert json.loads(told).keys() == {"file", "line", "why", "text"}
    assert mem.list(states=None) == []
    assert any("could not be used" in problem for problem in mem.status()["problems"])


def test_no_line_raises_trust(desk: Desk, mem: Memory) -> None:
    """V6, B4: what an agent's line claims to be is what an agent may be."""
    line = forged(desk, Draft("believe me", Trust.OPERATOR, state=State.ACTIVE))
    replay(mem)
    assert mem.get(line.id).trust is Trust.AGENT


def test_edited_and_torn_lines_are_kept_aside(desk: Desk, mem: Memory) -> None:
    """B4: an edited line is never stored; it is reported with its file and line, and what is whole
    is stored."""
    with outage(desk.home):
        for number in range(3):
            mem.remember(f"memory {number}")
        mem.remember("episode", layer="episodic")
    path = folder_of(desk) / SHORT
    path.write_text(path.read_text("utf-8").replace("memory 1", "memory X"), "utf-8")
    with (folder_of(desk) / LONG).open("ab") as file:
        file.write(b'\xff{"record_type"')
    assert [(one["file"], one["line"]) for one in mem.failsafe_status()["broken"]] == [
        (LONG, 2),
        (SHORT, 2),
    ]
    done = replay(mem)
    assert (done["stored"], done["rejected"]) == (3, 2)
    assert contents(mem.list()) == ["episode", "memory 2", "memory 0"]
    aside = [
        json.loads(line) for line in (folder_of(desk) / REJECTED).read_text("utf-8").splitlines()
    ]
    assert [(one["file"], one["line"]) for one in aside] == [(LONG, 2), (SHORT, 2)]
    assert "memory X" in aside[1]["text"]
    assert "base64" in aside[0]


def test_a_commit_that_nobody_heard_of_counts_once(desk: Desk, mem: Memory) -> None:
    """B4: a write whose end was not heard is not stored again if the trail holds its event, and is
    if it does not."""
    stored = mem.remember("it did happen")
    head = mem._scope.store.head()
    spool = Spool(folder_of(desk))
    happened = {"event": head.seq, "hash": head.hash.hex()}
    draft = Draft(stored.content, Trust.AGENT)
    spool.keep([Item(stored.id, draft)], START, "remember", AGENT, happened)
    assert replay(mem)["known"] == 1
    lost = Draft("it did not", Trust.AGENT)
    spool.keep([Item(stored.id, lost)], START, "remember", AGENT, {**happened, "hash": "00" * 32})
    assert replay(mem)["stored"] == 1
    spool.keep([Item(stored.id, draft)], START, "remember", AGENT, {**happened, "hash": "00" * 32})
    assert replay(mem)["known"] == 1
    assert contents(mem.list()) == ["it did happen", "it did not"]


def test_what_was_rejected_does_not_come_back(desk: Desk, op: Operator) -> None:
    """V4, B4: a value that a person has rejected meanwhile is not believed because it was said in
    an outage."""
    fields: dict[str, Any] = {
        "layer": "profile",
        "metadata": {"profile_key": "drink", "value": "tea", "reason": "said so"},
    }
    with outage(desk.home):
        kept = op.remember("drink: tea", **fields)
    aside = desk.home / "aside"
    folder_of(desk).rename(aside)
    source = op.remember("Ana says tea")
    op.reject(desk.agent().propose_profile("drink", "tea", "she said", [source.id]).id, "no")
    aside.rename(folder_of(desk))
    replay(op)
    assert op.get(kept.id).state is not State.ACTIVE


def test_the_archive_is_erased_too(desk: Desk, mem: Memory, op: Operator) -> None:
    """P5: after an erasure the text is in no file of the home: not in the spool, not in its
    archive, not laid aside."""
    with outage(desk.home):
        secret = mem.remember("the marker is Zanzibarquux", metadata={"note": "line\nQuuxzanzi"})
        mem.remember("something else")
    path = folder_of(desk) / SHORT
    torn = path.read_bytes().splitlines(keepends=True)[0][:-5]
    path.write_bytes(path.read_bytes() + torn)
    replay(mem)
    assert (folder_of(desk) / REJECTED).exists()
    with outage(desk.home):
        mem.remember("again Zanzibarquux")
    op._parts.failsafe.is_behind = False
    certificate = op.erase(secret.id)
    assert certificate.is_complete, certificate.unreached
    for one in desk.home.rglob("*"):
        if one.is_file():
            assert b"zanzibarquux" not in one.read_bytes().lower(), one
            assert b"quuxzanzi" not in one.read_bytes().lower(), one
    assert "something else" in contents(mem.list())


def test_another_replay_is_not_disturbed(desk: Desk, mem: Memory) -> None:
    """B4: two do not replay at once; who writes meanwhile goes on."""
    with outage(desk.home):
        mem.remember("waits")
    with Spool(folder_of(desk)).replaying() as is_alone:
        assert is_alone
        with pytest.raises(StoreUnavailable, match="another process"):
            mem.replay_failsafe()
        assert mem.remember("goes on").stored_in == "store"
    assert mem.remember("and on").stored_in == "store"
    assert sorted(contents(mem.list())) == ["and on", "goes on", "waits"]


def test_what_comes_during_a_replay_is_replayed(desk: Desk, mem: Memory) -> None:
    """B4: the files move to the archive when all of them is stored, and not before."""
    spool = Spool(folder_of(desk))
    with outage(desk.home):
        mem.remember("first")
    came = iter(["second", "third"])

    def meanwhile(done: int, total: int) -> None:
        for text in came:
            spool.keep(
                [Item(mem._parts.failsafe.new_id(START), Draft(text, Trust.AGENT))],
                START,
                "remember",
                AGENT,
            )
            break

    assert mem.replay_failsafe(meanwhile)["stored"] == 3
    assert not spool.is_waiting()
    assert [record.content for record in sorted(mem.list(), key=lambda one: one.seq)] == [
        "first",
        "second",
        "third",
    ]


class Machine(RuleBasedStateMachine):
    """Writes, outages, crashes and replays in any order: everything acknowledged is there once, and
    in its order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.desk = Desk(self.folder / "home", Ticking())
        self.held: Any = None
        self.told: list[str] = []
        self.keys: dict[str, str] = {}

    @initialize()
    def opens(self) -> None:
        self.mem = self.desk.agent(settings=AWAY)

    @precondition(lambda self: self.held is None)
    @rule()
    def outage_begins(self) -> None:
        self.held = outage(self.desk.home)
        self.held.__enter__()

    @precondition(lambda self: self.held is not None)
    @rule()
    def outage_ends(self) -> None:
        self.held.__exit__(None, None, None)
        self.held = None

    @rule(layer=st.sampled_from(["short_term", "episodic"]), number=st.integers(1, 3))
    def writes(self, layer: str, number: int) -> None:
        texts = [f"memory {len(self.told) + place}" for place in range(number)]
        items = [
            {"content": text, "layer": layer if place else "episodic"}
            for place, text in enumerate(texts)
        ]
        kept = self.mem.remember_many(items)
        assert {one.stored_in for one in kept} == {"store" if self.held is None else "failsafe"}
        self.told += texts

    @rule(key=st.sampled_from("abc"))
    def writes_with_a_key(self, key: str) -> None:
        text = self.keys.setdefault(key, f"memory {len(self.told)}")
        self.mem.remember(text, key=key)
        if text not in self.told:
            self.told.append(text)

    @rule()
    def is_cut_off(self) -> None:
        """A process dies in the middle of a line."""
        if folder_of(self.desk).exists():
            with (folder_of(self.desk) / SHORT).open("ab") as file:
                file.write(b'{"record_type":"memory_item","id":"')

    @rule(reach=st.integers(0, 3))
    def replay_is_cut_off(self, reach: int) -> None:
        """A process dies after some of what waits was stored."""
        if self.held is not None:
            return
        spool = Spool(folder_of(self.desk))
        given = (self.mem._scope.clock, self.mem._scope.resilient.allowed, lambda _: None)
        cut = Replay(self.mem._scope.store, spool, *given)
        batches = list(dict.fromkeys(line.batch for line in spool.contents().lines))[:reach]
        for batch in batches:
            cut._take([line for line in spool.contents().lines if line.batch == batch])

    @rule()
    def comes_back(self) -> None:
        """Another process opens the store."""
        self.mem.close()
        self.mem = self.desk.agent(settings=AWAY)

    @invariant()
    def everything_is_there_once(self) -> None:
        if hasattr(self, "mem"):
            assert sorted(contents(self.mem.list(limit=1000))) == sorted(self.told)

    def teardown(self) -> None:
        if self.held is not None:
            self.outage_ends()
        if hasattr(self, "mem"):
            self.comes_back()
            assert not Spool(folder_of(self.desk)).is_waiting()
            stored = sorted(self.mem.list(limit=1000), key=lambda one: one.seq)
            assert {one.stored_in for one in stored} <= {"store"}
            assert contents(stored) == self.told
            assert verified(self.desk.operator())
        self.desk.__exit__(None, None, None)
        shutil.rmtree(self.folder)


TestMachine = Machine.TestCase
TestMachine.settings = profile(stateful_step_count=15, max_examples=200 if FULL else 20)
