"""Faults while people decide: a decision is made or not made, once, and every key of a profile
keeps its one value.

strace breaks one write system call of a decision: it kills the process there, or answers with an
error of the disk. A process that is forked for each of them has all its modules, so that only the
decision itself is traced.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from lamina import Layer, Record, State
from lamina.model.record import Change, Draft, Event, Trust
from lamina.store.tables import events, records
from lamina.text import words
from tests.conftest import TESTER, Ticking
from tests.faults.crowds import crowd
from tests.faults.opening import opened
from tests.property.states import NEXT

from . import tally
from .children.common import outcome
from .harness import AGENT, CALLS, Fault, Nursery, check_sound, copied, points, size, traced

KILLS = size(quick=1, full=1000)
ERRORS = size(quick=1, full=15)
REVIEWERS, VERBS = size(quick=3, full=12), size(quick=40, full=300)
Place = tuple[str | None, str]

# Decisions by the names of what they are about; the last is the one that is broken.
SCENES: dict[str, list[tuple[str, ...]]] = {
    "confirms a value": [("confirm", "water")],
    "confirms a summary": [("confirm", "summary")],
    "rejects": [("reject", "water", "not so")],
    "rolls back": [("rollback", "coffee")],
    "rolls back a summary": [("confirm", "summary"), ("rollback", "summary")],
    "corrects": [("correct", "coffee", "espresso", "more exactly")],
    "revokes": [("revoke", "radio", "it lies")],
    "undoes a confirmation": [("confirm", "summary"), ("undo",)],
    "undoes a rollback": [("rollback", "coffee"), ("undo",)],
    "undoes a correction": [("correct", "coffee", "espresso", "more exactly"), ("undo",)],
    "undoes a forgetting": [("forget", "coffee"), ("undo",)],
    "undoes a revocation": [("revoke", "radio", "it lies"), ("undo",)],
}
every_scene = pytest.mark.parametrize("name", SCENES)


class Standing(NamedTuple):
    """All that a decision may change: every record, and every event without its salts."""

    records: dict[str, Record]
    events: list[tuple[int, str, str, str | None, list[Any]]]

    @classmethod
    def of(cls, operator: lamina.Operator) -> Standing:
        found = operator.list(layers=list(Layer), states=None, limit=10_000)
        events = [
            (event.seq, event.action, event.actor, event.reason, steps(event))
            for event in operator.audit_log(10_000)
        ]
        return cls({record.id: record for record in found}, events)

    @property
    def places(self) -> Counter[Place]:
        """How many values are active for each key of each person."""
        return Counter(
            place
            for record in self.records.values()
            if (place := place_of(record)) and record.state == "active"
        )


def steps(event: Event) -> list[Any]:
    return [(change.record, change.before, change.after) for change in event.changes]


def place_of(record: Record) -> Place | None:
    """Where only one value can be active."""
    return (
        (record.user, words.normalise(record.metadata["profile_key"]))
        if record.layer is Layer.PROFILE
        else None
    )


class Base(NamedTuple):
    """A home to copy, the decision, how everything stands before and after it, and the calls that
    it makes."""

    home: Path
    order: dict[str, Any]
    before: Standing
    after: Standing
    calls: list[str]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("review_decider") as made:
        yield made


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> dict[str, Base]:
    folder = tmp_path_factory.mktemp("furnished")
    names = furnish(folder / "home")
    return {name: base_of(folder, names, name, nursery) for name in SCENES}


def furnish(home: Path) -> dict[str, str]:
    """A small store in which something waits, something holds, and something was superseded; ids by
    their names."""
    with lamina.operator(AGENT, home=home, clock=Ticking(), actor="ana") as operator:
        said = {
            source: operator.remember(f"what the {source} says", source=source).id
            for source in ("diary", "radio")
        }
        given: dict[str, Any] = {
            "layer": "semantic",
            "metadata": {"origin": "sleep", "topic_tags": ["tea"]},
        }
        facts = [
            operator.remember(f"tea is {how}", source=how, **given).id for how in ("green", "radio")
        ]
        names = {}
        for value, source in (("tea", "diary"), ("coffee", "radio"), ("water", "diary")):
            names[value] = operator.propose_profile("drink", value, "said so", [said[source]]).id
            if value != "water":
                operator.confirm(names[value])
        operator.confirm(operator.propose_profile("city", "Rome", "said so", [said["diary"]]).id)
        contract = {"origin": "memory-review", "topic_tags": ["tea"], "compacted_from": facts}
        with operator._scope.store.change(
            TESTER, "compact", operator._scope.clock()
        ) as transaction:
            place: dict[str, Any] = {
                "layer": Layer.SEMANTIC,
                "state": State.CONSTRAINED,
                "evidence": tuple(facts[:1]),
            }
            (summary,) = transaction.insert(
                [Draft("tea in short", Trust.OPERATOR, metadata=contract, **place)]
            )
    return {**names, "summary": summary.id}


def base_of(folder: Path, names: dict[str, str], name: str, nursery: Nursery) -> Base:
    """A store just before the decision, and what an undisturbed one comes to."""
    home = copied(folder / "home", folder / name)
    *made, (verb, *about) = SCENES[name]
    given: list[Any] = [names.get(one, one) for one in about]
    with opened(home) as decider:
        for earlier, *others in made:
            decider.decide(earlier, [names.get(one, one) for one in others])
        if verb == "undo":
            given = [decider.operator.audit_log(1)[0].seq]
        before = Standing.of(decider.operator)
    order = {"step": "decide", "verb": verb, "given": given}
    undisturbed = copied(home, folder / "undisturbed")
    with nursery.fork() as pid:
        assert nursery.told(step="open", home=str(undisturbed)) == "done"
        with traced(pid, folder / "log", CALLS) as calls:
            assert nursery.told(**order) == "done"
    with opened(undisturbed) as decider:
        after = Standing.of(decider.operator)
    assert before.records != after.records
    return Base(home, order, before, after, calls)


def check_decided_or_not(base: Base, home: Path) -> None:
    """Another process finds all of the decision or nothing, every key with its one value; deciding
    again finishes it."""
    with opened(home) as decider:
        check_sound(decider.operator)
        found = Standing.of(decider.operator)
        tally.check(base.before.records, [record.id for record in found.records.values()])
        assert found in (base.before, base.after)
        check_slots(base, found)
        order = dict(base.order)
        ended = outcome(lambda: getattr(decider, order.pop("step"))(**order))
        # What is decided is decided: nothing is left to revoke, and everything else is refused.
        assert (
            ended == "done"
            if found == base.before or order["verb"] == "revoke"
            else ended in ("refused", "conflict")
        )
        assert Standing.of(decider.operator) == base.after
        check_sound(decider.operator)
        check_snapshot(decider.operator)
    assert list(home.rglob("*.tmp")) == []


def check_slots(base: Base, found: Standing) -> None:
    """Never two active values for one key of one person, and never none where there is one before
    and after."""
    assert set(found.places.values()) <= {1}
    assert found.places.keys() >= base.before.places.keys() & base.after.places.keys()


def check_snapshot(operator: lamina.Operator) -> None:
    """The file of the profile is whole, and right as soon as anything is decided."""
    path = operator.home.agent_folder(AGENT) / "user_profile.json"
    json.loads(path.read_bytes())
    operator.forget(operator.remember("something else").id)
    told = operator.user_profile().to_dict()
    del told["conflicts"]  # they change with the facts, and a file does not
    assert json.loads(path.read_bytes()) == told


@every_scene
def test_a_kill_at_any_write_call_decides_or_does_not(
    tmp_path: Path, nursery: Nursery, bases: dict[str, Base], name: str
) -> None:
    """R3, V1, V2, V4, V5, V8, V9, P4: killed at any write call, a decision is made or not made as a
    whole, no key has two active values, none has lost the one it had, and deciding again comes to
    the same end as if nothing had happened."""
    base = bases[name]
    for point in points(base.calls, KILLS, name):
        with broken(nursery, base, tmp_path, Fault("signal=SIGKILL", point)) as (home, ended):
            assert ended == "killed", point
        check_decided_or_not(base, home)


@every_scene
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_error_at_any_write_call_is_typed_and_passes(
    tmp_path: Path, nursery: Nursery, bases: dict[str, Base], name: str, error: str
) -> None:
    """R3, V5, B4, P4: an error of the disk at any write call is a `StoreUnavailable`, or was
    harmless; the same process can decide when the disk is well."""
    base = bases[name]
    for point in points(base.calls, ERRORS, name + error):
        with broken(nursery, base, tmp_path, Fault(f"error={error}", point)) as (home, ended):
            assert ended in ("done", "store_unavailable"), (point, ended)
            if ended != "done":
                assert nursery.told(**base.order) == "done", point
            assert nursery.told(step="close") == "done"
        check_decided_or_not(base, home)


@contextmanager
def broken(nursery: Nursery, base: Base, folder: Path, fault: Fault) -> Iterator[tuple[Path, str]]:
    """A home on which the decision was broken, and how that ended; the process is still there
    within the block."""
    home = copied(base.home, folder / "home")
    with nursery.fork() as pid:
        assert nursery.told(step="open", home=str(home)) == "done"
        with traced(pid, folder / "log", [fault.point.call], str(fault)) as calls:
            ended = nursery.told(**base.order)
        assert ended == "killed" or any("(INJECTED)" in line for line in calls), fault
        yield home, ended


# Many at once


class Replay:
    """The events once more, from the first: where each record stands, and whether each
    step was allowed."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.states: dict[str, State] = {}
        self.decided: Counter[str] = Counter()
        self.returned: Counter[str] = Counter()
        self._places = {record.id: place for record in records if (place := place_of(record))}
        self._taken: Counter[Place] = Counter()

    def follow(self, event: Event) -> None:
        for change in event.changes:
            if "state" in change.after:
                self._move(event, change)
        crowded = {place for place, number in self._taken.items() if number > 1}
        assert not crowded, (event.seq, event.action, crowded)

    def _move(self, event: Event, change: Change) -> None:
        one, after = change.record, State(change.after["state"])
        before = self.states.get(one)
        assert change.before.get("state") == before, (
            event.seq,
            event.action,
            change,
        )  # nobody has decided in between
        if before is not None and before is not after:
            assert after in NEXT[before], (event.seq, event.action, change)
        if before is State.CONSTRAINED and event.action in ("confirm", "reject"):
            self.decided[one] += 1
        self.returned[one] += after is State.CONSTRAINED
        self.states[one] = after
        if one in self._places:
            self._taken[self._places[one]] += (after is State.ACTIVE) - (before is State.ACTIVE)


def test_many_review_at_once(tmp_path: Path) -> None:
    """R3, V1, V4, V5, V6, V8, V9, L2, P4, B1: processes that propose, decide, take back and promote
    at once are told nothing but that somebody was faster; each proposal is decided once, nothing
    that was acknowledged is lost, no key ever has two active values, and the tables are what the
    events say."""
    told = reviewed(tmp_path)
    lines = [line for each in told.values() for line in each]
    assert {line["outcome"] for line in lines} <= {"done", "refused", "conflict", "not_found"}, (
        lines
    )
    with lamina.operator(AGENT, home=tmp_path) as operator:
        check_sound(operator)
        store = operator._scope.store
        with store.read() as db:
            stored = [store.record(row) for row in records.every(db)]
            trail = events.latest(db, 1 << 31)[::-1]
        replay = Replay(stored)
        for event in trail:
            replay.follow(event)
        assert replay.states == {record.id: record.state for record in stored}
        # Decided once each time that it was waiting, and each time somebody was told so.
        assert all(replay.decided[one] <= replay.returned[one] for one in replay.decided)
        decisions = [
            line["about"]
            for line in lines
            if line["verb"] in ("confirm", "reject") and line["outcome"] == "done"
        ]
        assert Counter(decisions) == replay.decided
        for name, each in told.items():
            check_nothing_is_lost(
                each, [event for event in trail if event.actor == f"operator:{name}"]
            )
    done = {line["verb"] for line in lines if line["outcome"] == "done"}
    assert done >= {"propose", "confirm", "reject", "rollback", "correct", "undo", "promote"}
    assert {line["outcome"] for line in lines} & {"refused", "conflict"}


def reviewed(home: Path) -> dict[str, list[dict[str, Any]]]:
    """What each of a crowd was told, verb by verb."""
    with crowd(REVIEWERS, "review_crowd", home, VERBS) as children:
        for child in children:
            child.tell(go=True)
        for child in children:
            child.finish()
    files = {path.stem: path.read_text().splitlines() for path in home.glob("p*.jsonl")}
    assert {name: len(lines) for name, lines in files.items()} == {
        f"p{n}": VERBS for n in range(REVIEWERS)
    }
    return {name: [json.loads(line) for line in lines] for name, lines in files.items()}


def check_nothing_is_lost(lines: Sequence[dict[str, Any]], events: Sequence[Event]) -> None:
    """What a person was told they had decided is in the trail, in that order, and
    nothing else is."""
    acknowledged = [
        line for line in lines if line["ids"] and line["verb"] not in ("remember", "propose")
    ]
    trail = [event for event in events if event.action in {line["verb"] for line in acknowledged}]
    assert [line["verb"] for line in acknowledged] == [event.action for event in trail]
    for line, event in zip(acknowledged, trail, strict=True):
        assert set(line["ids"]) <= {change.record for change in event.changes}
