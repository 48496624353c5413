"""Faults while a store sleeps: whatever breaks a night, the next one comes to the same end, and
knows nothing twice.

strace breaks one write system call of a night: it kills the process there, or answers with an error
of the disk. A process that is forked for each of them has all its modules, so that only the night
itself is traced.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import structs

import lamina
from lamina import Layer, Record, State
from lamina.engines import facts, summary
from lamina.model import slots
from lamina.model.clock import is_id
from lamina.model.record import Role
from lamina.store.tables import records
from lamina.store.tables.records import COLUMN
from tests.conftest import START, Desk, Ticking
from tests.faults.crowds import crowd

from . import tally
from .children.sleep_sleeper import TONIGHT, Sleeper, small_batches
from .harness import (
    AGENT,
    CALLS,
    SEED,
    Child,
    Fault,
    Nursery,
    check_sound,
    copied,
    in_words,
    points,
    size,
    traced,
)

KILLS = size(quick=2, full=250)
ERRORS = size(quick=1, full=40)
PAIRS, NIGHTS = 2, size(quick=1, full=20)
TURNS = size(quick=15, full=300)
# Opening a file changes nothing; what follows does.
WRITES = tuple(call for call in CALLS if call != "openat")
ALL = 10_000
DAY = timedelta(days=1)
# What a record has of its own: who it is, and when it was written.
OWN = ("id", "seq", "agent", "created_at", "updated_at", "archived")

EARLIER = {
    "ana": [
        "I live in Porto.",
        "I work at Acme.",
        "I love tea.",
        "My favourite colour is blue.",
        "I have a dog called Rex.",
    ],
    None: ["I live in Graz.", "I'm a nurse.", "I love cooking.", "I'm vegan.", "I speak French."],
    "eve": ["I live in Oslo.", "I love chess."],
}
LATER = {
    "ana": [
        "I moved to Lisbon.",
        "I don't like tea any more.",
        "I started working at Initech.",
        "I'm allergic to nuts.",
    ],
    None: [
        "I live in Rome, sorry, I meant Milan.",
        "I'm not vegan any more.",
        "I'm a teacher now.",
        "I love rowing.",
    ],
    "eve": [
        "Where do you live now, Eve?",
        "I still live in Oslo.",
        "I love chess.",
        "I live in Graz.",
        "I live in Bergen.",
    ],
}
OUTSIDE = ["I live in Moscow.", "I don't live in Graz any more.", "I love cola.", "I love rowing."]
WEEKLY = ["Open the sheet of the week", "Copy the totals into the report", "Send the report to Tom"]
STORY = (
    "On {n} May we went to the lake near Annecy with Tom and Eva, where we rented {n} boats "
    "for 40 euros. "
    "The weather was stormy, so the captain cancelled the trip to the island, and we "
    "visited the castle museum instead. "
)


def furnish(home: Path) -> None:
    """A store that has slept once, and in which something of everything waits for
    the second night."""
    clock = Ticking(START - 300 * DAY)
    with ExitStack() as stack:
        handles = {
            user: stack.enter_context(lamina.operator(AGENT, user=user, home=home, clock=clock))
            for user in ("ana", None, "eve")
        }
        operator = handles[None]
        operator.remember("Walked to the harbour", layer="episodic", importance=0.9)
        operator.remember("The ferry was late again", layer="episodic")
        clock.set(START)
        operator.upsert_user_profile(
            {"name": "Ben"}, [operator.remember("Ben came by", layer="episodic").id]
        )
        for user, said in EARLIER.items():
            talk(handles[user], said, "earlier", START)
        talk(operator, ["I live in Paris.", "I love jazz."], "radio", START + DAY, source="web")
        noted = operator.remember_short("I'm 31.", speaker="Ben", importance=0.9, at=START + DAY)
        with small_batches():
            operator.sleep()
        for proposal in operator.list(layers=["semantic", "profile"], states=["constrained"]):
            if "jazz" in proposal.content or "chess" in proposal.content:
                operator.reject(proposal.id, "not so")
        for fact in operator.facts("Ana", "pet"):
            operator.forget(fact.record)
        clock.set(START + 20 * DAY)
        for user, said in LATER.items():
            talk(handles[user], said, "later", START + 20 * DAY)
        talk(operator, OUTSIDE, "radio", START + 22 * DAY, source="web")
        talk(operator, ["I love jazz."], "more", START + 23 * DAY)
        talk(handles["ana"], [STORY.format(n=n) for n in range(1, 11)], "long", START + 24 * DAY)
        for _ in range(3):
            clock.jump(DAY)
            with operator.run("weekly report") as run:
                for step in WEEKLY:
                    run.note(step)
        operator.run_once()
        assert operator.get(noted.id).layer is Layer.EPISODIC


def talk(
    handle: lamina.Memory, said: Sequence[str], session: str, at: datetime, **more: Any
) -> None:
    speaker = {"ana": "Ana", None: "Ben", "eve": "Eve"}[handle.user]
    turns = [
        {"text": text, "speaker": speaker, "at": at + n * timedelta(minutes=1), **more}
        for n, text in enumerate(said)
    ]
    handle.remember_conversation(turns, session)


class Standing(NamedTuple):
    """All that is in a store, without ids and the times of writing; and what is in it, by these."""

    described: Counter[str]
    records: list[Record]

    @classmethod
    def of(cls, operator: lamina.Operator) -> Standing:
        records = operator.list(layers=list(Layer), states=None, limit=ALL)
        said = {
            record.id: f"{record.layer}: {record.content} @ {record.occurred_at}"
            for record in records
        }
        originals = {one.id: one.original for one in operator._scope.store.night.aging()}
        return cls(
            Counter(describe(record, said, originals.get(record.id)) for record in records), records
        )

    def __sub__(self, other: Standing) -> list[str]:
        return sorted((self.described - other.described).elements())

    def known(self, *states: State) -> list[Record]:
        return [
            record for record in self.records if facts.is_fact(record) and record.state in states
        ]


def describe(record: Record, said: dict[str, str], original: float | None) -> str:
    """A record as text, in which other records are what they say."""
    fields = {name: value for name, value in structs.asdict(record).items() if name not in OWN}
    return json.dumps({**in_words(fields, said), "original": original}, sort_keys=True, default=str)


def check_known_once(standing: Standing) -> None:
    """No claim has become a fact twice, nothing stands beside what it contradicts, and every fact
    rests on what was said."""
    every = standing.known(*State)
    there = {record.id for record in standing.records}
    taken = Counter((fact.evidence[0], str(fact.metadata["span"]), fact.content) for fact in every)
    assert [claim for claim, number in taken.items() if number > 1] == []
    crowded = Counter(
        slots.slot(fact) for fact in standing.known(State.ACTIVE) if slots.slot(fact) is not None
    )
    assert [place for place, number in crowded.items() if number > 1] == []
    for record in standing.records:
        assert {
            one
            for one in (*record.evidence, *record.supersedes, record.superseded_by or record.id)
            if is_id(one)
        } <= there


def check_same(found: Standing, expected: Standing) -> None:
    assert found - expected == []
    assert expected - found == []


class Base(NamedTuple):
    """A home to copy, how everything stands before and after an undisturbed night, and the calls
    that it makes."""

    home: Path
    slept: Path
    before: Standing
    after: Standing
    calls: list[str]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("sleep_sleeper", "nursery") as made:
        yield made


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Base:
    folder = tmp_path_factory.mktemp("furnished")
    furnish(folder / "home")
    slept = copied(folder / "home", folder / "slept")
    with nursery.fork() as pid:
        assert nursery.told(step="open", home=str(slept)) == "done"
        with traced(pid, folder / "log", WRITES) as calls:
            assert nursery.told(step="sleep") == "done"
        assert nursery.told(step="close") == "done"
    with opened(folder / "home") as sleeper:
        before = Standing.of(sleeper.operator)
    with opened(slept) as sleeper:
        after = Standing.of(sleeper.operator)
    return Base(folder / "home", slept, before, after, calls)


@contextmanager
def opened(home: Path, now: datetime = TONIGHT) -> Iterator[Sleeper]:
    """What another process has that comes after the fault."""
    sleeper = Sleeper()
    sleeper.open(str(home), now)
    try:
        yield sleeper
    finally:
        sleeper.close()


def test_a_night_does_something_of_everything(base: Base) -> None:
    """S1, S2, S3, S4: what is broken below is a night in which facts come, change, are repeated,
    denied, taken back, refused and proposed, in many transactions; tastes and workflows are
    proposed, a long session is summed up, importance changes."""
    former = {record.id for record in base.before.records}
    new = [record for record in base.after.records if record.id not in former]
    made = Counter((record.layer, record.state) for record in base.after.records)
    made -= Counter((record.layer, record.state) for record in base.before.records)
    proposed = [record for record in new if record.state is State.CONSTRAINED]
    assert made[Layer.SEMANTIC, State.ACTIVE] > 0
    assert made[Layer.SEMANTIC, State.SUPERSEDED] >= 6
    assert made[Layer.SEMANTIC, State.CONSTRAINED] >= 3
    assert any(record.layer is Layer.PROFILE for record in proposed)  # others were withdrawn
    assert made[Layer.PROFILE, State.TOMBSTONED] > 0  # what was proposed before gave way
    assert made[Layer.PROCEDURAL, State.CONSTRAINED] == 1
    assert sum(map(summary.is_summary, base.after.records)) == 1
    known = base.after.known(State.ACTIVE)
    assert any(len(fact.evidence) > 1 for fact in known)
    assert any(fact.metadata.get("negated") for fact in known)
    assert {fact.content for fact in known} >= {
        "Ana lives in Lisbon",
        "Ben lives in Milan",
        "Eve lives in Bergen",
        "Ben is 31",
    }
    assert not any("jazz" in record.content or "Rex" in record.content for record in known)
    walked = [
        record.importance
        for record in base.after.records
        if record.content == "Walked to the harbour"
    ]
    assert walked < [0.8]
    assert sum(call.startswith("fdatasync") and "-wal>" in call for call in base.calls) >= 10
    check_known_once(base.after)


# One night, broken


@contextmanager
def broken(nursery: Nursery, base: Base, folder: Path, fault: Fault) -> Iterator[tuple[Path, str]]:
    """A home on which the night was broken, and how that ended; the process is still there within
    the block."""
    home = copied(base.home, folder / "home")
    with nursery.fork() as pid:
        assert nursery.told(step="open", home=str(home)) == "done"
        with traced(pid, folder / "log", [fault.point.call], str(fault)) as calls:
            ended = nursery.told(step="sleep")
        assert ended == "killed" or any("(INJECTED)" in line for line in calls), fault
        yield home, ended


def check_next_night(base: Base, home: Path) -> None:
    """Another process finds a sound store that knows nothing twice, sleeps, and comes to where an
    undisturbed one is."""
    with opened(home) as sleeper:
        check_sound(sleeper.operator)
        check_known_once(Standing.of(sleeper.operator))
        sleeper.sleep()
        check_sound(sleeper.operator)
        found = Standing.of(sleeper.operator)
        check_known_once(found)
        tally.check([one.id for one in base.before.records], [one.id for one in found.records])
        check_same(found, base.after)
        check_nothing_left(sleeper)
        path = sleeper.operator.home.agent_folder(AGENT) / "user_profile.json"
        told = sleeper.operator.user_profile().to_dict()
        del told["conflicts"]  # they change with the facts, and a file does not
        assert json.loads(path.read_bytes()) == told
    assert list(home.rglob("*.tmp")) == []


def check_nothing_left(sleeper: Sleeper) -> None:
    """One more night at most tells how far it has read, such as past the last summaries; the one
    after it leaves no event."""
    head = sleeper.operator.audit_head()["events"]
    done = sleeper.sleep()
    later = [event for event in sleeper.operator.audit_log(100) if event.seq > head["seq"]]
    assert {(event.action, event.changes, *event.details) for event in later} <= {
        ("sleep", (), "slept")
    }, done
    head = sleeper.operator.audit_head()["events"]
    done = sleeper.sleep()
    assert sleeper.operator.audit_head()["events"] == head, done


def test_a_kill_at_any_write_call_leaves_the_rest_to_the_next_night(
    tmp_path: Path, nursery: Nursery, base: Base
) -> None:
    """S1, S5, L1, P4: killed at any write call, a night has lost nothing and done nothing by
    halves; sleeping again comes to the same memories as an undisturbed night, no fact is there
    twice, and the trail verifies."""
    for point in points(base.calls, KILLS, "killed"):
        with broken(nursery, base, tmp_path, Fault("signal=SIGKILL", point)) as (home, ended):
            assert ended == "killed", point
        check_next_night(base, home)


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_error_at_any_write_call_is_typed_and_passes(
    tmp_path: Path, nursery: Nursery, base: Base, error: str
) -> None:
    """S5, B4, P4: an error of the disk at any write call is a `StoreUnavailable`, or was harmless;
    the same process sleeps to the same end when the disk is well."""
    for point in points(base.calls, ERRORS, error):
        with broken(nursery, base, tmp_path, Fault(f"error={error}", point)) as (home, ended):
            assert ended in ("done", "store_unavailable"), (point, ended)
            assert nursery.told(step="sleep") == "done", point
            assert nursery.told(step="close") == "done"
        check_next_night(base, home)


# Several at once


def test_two_that_sleep_at_once_come_to_the_same(tmp_path: Path, base: Base) -> None:
    """S1, B1, P4: processes that sleep at once share one night: each claim, taste, summary and
    workflow is made by one of them, and all stands as if only one had slept."""
    with opened(copied(base.home, tmp_path / "alone")) as sleeper:
        alone = sleeper.sleep()
    with crowd(PAIRS, "sleep_sleeper", "crowd") as children:
        for number in range(NIGHTS):
            home = copied(base.home, tmp_path / f"home{number}")
            done = slept_at_once(children, home)
            assert {
                name: sum(one[name] for one in done)
                for name in ("preferences", "summaries", "workflows", "adjusted")
            } == {
                name: alone[name] for name in ("preferences", "summaries", "workflows", "adjusted")
            }
            assert sum((Counter(one["facts"]) for one in done), Counter()) == Counter(
                alone["facts"]
            )
            check_next_night(base, home)


def slept_at_once(children: Sequence[Child], home: Path) -> list[dict[str, Any]]:
    for child in children:
        child.ask(home=str(home))
    for child in children:
        child.tell(go=True)
    return [child.hear()["done"] for child in children]


def test_who_talks_meanwhile_is_heard_once(tmp_path: Path) -> None:
    """S1, S5, B1: while processes sleep all the time somebody goes on talking; at the end
    everything was heard once, and is known as if all had slept only then."""
    chance = random.Random(SEED)
    homes = chance.choices(["Porto", "Lisbon", "Braga", "Faro"], k=TURNS)
    with opened(tmp_path / "home") as sleeper, ExitStack() as stack:
        children = [
            stack.enter_context(Child("sleep_sleeper", "watch", tmp_path / "home", f"p{n}"))
            for n in range(PAIRS)
        ]
        for child in children:
            child.hear()
            child.ask(until=str(tmp_path / "over"))
        for number, city in enumerate(homes):
            move_to(sleeper.operator, number, city)
        (tmp_path / "over").touch()
        nights = [child.finish()[0]["nights"] for child in children]
        sleeper.sleep()
        found = Standing.of(sleeper.operator)
        check_sound(sleeper.operator)
    with opened(tmp_path / "later") as sleeper:
        for number, city in enumerate(homes):
            move_to(sleeper.operator, number, city)
        sleeper.sleep()
        expected = Standing.of(sleeper.operator)
    assert min(nights) > 1
    check_known_once(found)
    check_same(found, expected)


def move_to(operator: lamina.Operator, number: int, city: str) -> None:
    at = START + number * DAY
    operator.remember(
        f"I live in {city}.",
        layer="episodic",
        speaker="Ana",
        session=f"day {number}",
        at=at,
        importance=0.5,
    )


# Twice


def reopen(home: Path, folder: Path) -> Path:
    return home


def another_agent(home: Path, folder: Path) -> Path:
    """An agent and the scheduler sleep too."""
    with Desk(home) as desk:
        for role in (Role.AGENT, Role.SYSTEM):
            desk.open(role, store_id=None, clock=lambda: TONIGHT).sleep()
    return home


def import_into_empty(home: Path, folder: Path) -> Path:
    with opened(home) as old, opened(folder / "empty") as new:
        assert (
            new.operator.import_(old.operator.export(folder / "export.json"), trust=True)["mode"]
            == "restored"
        )
    return folder / "empty"


def go_back_to_a_backup(home: Path, folder: Path) -> Path:
    with opened(home) as sleeper:
        sleeper.operator.restore(sleeper.operator.backup())
    return home


def archive_and_restore(is_chosen: Callable[[Record], bool]) -> Callable[[Path, Path], Path]:
    def there_and_back(home: Path, folder: Path) -> Path:
        with opened(home) as sleeper:
            operator = sleeper.operator
            ids = [
                one.id
                for one in operator.list(layers=list(Layer), states=None, limit=ALL)
                if is_chosen(one)
            ]
            rows = [*records.by_ids(operator._scope.store.database.reader(), ids).values()]
            wanted = [(row[COLUMN["seq"]], row[COLUMN["event"]]) for row in rows]
            assert (
                operator._scope.store.archive.add(
                    operator.actor, "prune", TONIGHT, "pruned", wanted
                )
                == len(ids)
                > 0
            )
            check_nothing_left(sleeper)
            assert len(operator.restore_archived(*ids)) == len(ids)
            return home

    return there_and_back


def is_turn(record: Record) -> bool:
    return record.layer is Layer.EPISODIC and not summary.is_summary(record)


MEANWHILE = {
    "the same": reopen,
    "other roles": another_agent,
    "re-imported": import_into_empty,
    "from a backup": go_back_to_a_backup,
    "turns archived and back": archive_and_restore(is_turn),
    "summaries archived and back": archive_and_restore(summary.is_summary),
    "facts archived and back": archive_and_restore(facts.is_fact),
}


@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_sleeping_twice_changes_nothing(tmp_path: Path, base: Base, meanwhile: str) -> None:
    """S1, S5: whatever was moved meanwhile, and by whomever, what was heard once is not heard
    again: a second night makes and changes no record, and neither does one that has to read
    everything anew."""
    with opened(MEANWHILE[meanwhile](copied(base.slept, tmp_path / "home"), tmp_path)) as sleeper:
        before = Standing.of(sleeper.operator)
        check_nothing_left(sleeper)
        check_same(Standing.of(sleeper.operator), before)
        check_known_once(before)
        check_sound(sleeper.operator)
