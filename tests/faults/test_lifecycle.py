"""Faults while memories move up, into the archive and back: nothing lost, nothing twice, and the
next try finishes the job.

strace breaks one write system call of a verb: it kills the process there, or answers with an error
of the disk. A process that is forked for each of them has all its modules, so that only the verb
itself is traced.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from lamina.model.clock import is_id
from tests.conftest import Ticking, tamper
from tests.faults.read_only import allow_writing, forbid_writing, make_store
from tests.property.holding import held

from . import tally
from .children.mover import Mover
from .harness import (
    AGENT,
    CALLS,
    FULL,
    NOBODY,
    Child,
    Fault,
    Nursery,
    Point,
    check_sound,
    copied,
    database_of,
    points,
    size,
    traced,
)

KILLS = size(quick=1, full=300)
ERRORS = size(quick=1, full=15)
MOVERS, ROUNDS = 4, size(quick=6, full=80)
RULES = "retention_rules.yaml"


class Scene(NamedTuple):
    """A verb on a small store: what a child is told, the rules in force, and what was archived
    before, file by file."""

    order: dict[str, Any]
    rules: str = "promote_threshold: 1\n"
    archived: tuple[tuple[int, ...], ...] = ()


SCENES = {
    "promotes and rotates": Scene({"step": "run_once"}, "short_term_max_lines: 3\n"),
    "joins": Scene({"step": "run_once"}, "deduplicate: 0.5\n"),
    "expires": Scene(
        {"step": "run_once"}, "promote_threshold: 1\nexpire_after_days: 30\nexpire_below: 0.25\n"
    ),
    "compresses": Scene({"step": "compress"}),
    "prunes": Scene({"step": "prune", "tag": "old"}),
    "brings one of several back": Scene({"step": "restore", "ids": [2]}, archived=((1, 2, 3, 5),)),
    "brings the only one back": Scene({"step": "restore", "ids": [4]}, archived=((4,),)),
    "brings some of two files back": Scene(
        {"step": "restore", "ids": [8, 1, 3]}, archived=((1, 2, 3), (7, 8))
    ),
    "goes back to a backup": Scene({"step": "go_back", "name": "copy"}, archived=((1, 2, 3), (7,))),
}
every_scene = pytest.mark.parametrize("name", SCENES)


class Known(NamedTuple):
    """What was acknowledged about a memory before the fault."""

    content: str
    key: str
    evidence: tuple[str, ...]
    events: list[int]

    @classmethod
    def of(cls, operator: lamina.Operator, record_id: str, key: str) -> Known:
        record = operator.get(record_id)
        return cls(
            record.content,
            key,
            record.evidence,
            [event.seq for event in operator.history(record_id)],
        )


class Base(NamedTuple):
    """A home to copy, what is in it, and where everything is after an undisturbed verb."""

    home: Path
    order: dict[str, Any]
    known: dict[str, Known]
    calls: list[str]
    after: dict[str, tuple[str, bool]]
    number: int


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("mover", "nursery") as made:
        yield made


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> dict[str, Base]:
    return {
        name: furnished(tmp_path_factory.mktemp("base"), scene, nursery)
        for name, scene in SCENES.items()
    }


def furnished(folder: Path, scene: Scene, nursery: Nursery) -> Base:
    """A small store: memories that lean on each other, some of them archived; and what the verb
    does with it."""
    home = folder / "home"
    with lamina.operator(AGENT, home=home, clock=Ticking()) as operator:
        ids: list[str] = []
        for n in range(12):
            evidence = ids[-1:] + (["https://example.org/"] if n % 3 else [])
            tags = ["old"] if n % 3 == 1 else []
            tags += [f"file{file}" for file, inside in enumerate(scene.archived) if n in inside]
            content, importance = (
                (f"memory {n}", n % 4 / 10) if n % 4 else ("memory that says the same", 0.9)
            )
            more = {
                "kind": ("crumb", "fact")[n % 2],
                "metadata": {"n": n},
                "evidence": evidence,
                "key": f"key {n}",
            }
            ids.append(operator.remember_short(content, tags, importance, **more).id)
        for file in range(len(scene.archived)):
            operator.prune(tags=[f"file{file}"])
        known = {
            record_id: Known.of(operator, record_id, f"key {n}") for n, record_id in enumerate(ids)
        }
        if scene.order["step"] == "go_back":  # after the copy, one file goes and one comes
            operator.backup(home / "agents" / AGENT / "backups" / "copy")
            operator.restore_archived(ids[7])
            operator.prune(tags=["old"])
    (home / RULES).write_text(scene.rules)
    order = (
        {**scene.order, "ids": [ids[n] for n in scene.order["ids"]]}
        if "ids" in scene.order
        else scene.order
    )
    undisturbed = copied(home, folder / "undisturbed")
    with nursery.fork() as pid:
        assert nursery.told(step="open", home=str(undisturbed)) == "done"
        with traced(pid, folder / "log", CALLS) as calls:
            assert nursery.told(**order) == "done"
    with opened(undisturbed) as mover:
        after, all_held = whereabouts(mover.operator, known), held(undisturbed / "agents" / AGENT)
    with opened(copied(home, folder / "before")) as mover:
        assert whereabouts(mover.operator, known) != after
    return Base(home, order, known, calls, after, all_held.total())


@contextmanager
def opened(home: Path) -> Iterator[Mover]:
    """What another process has that comes after the fault."""
    mover = Mover()
    mover.open(str(home))
    try:
        yield mover
    finally:
        mover.close()


def whereabouts(operator: lamina.Operator, known: dict[str, Known]) -> dict[str, tuple[str, bool]]:
    """The layer of each memory, and whether it is archived."""
    return {
        record.id: (record.layer.value, record.archived is not None)
        for record in map(operator.get, known)
    }


def check_whole(home: Path, operator: lamina.Operator, known: dict[str, Known]) -> None:
    """Every memory exactly once, as it was, with its evidence and its history; no file too many;
    both chains verify."""
    check_sound(operator)
    folder = home / "agents" / AGENT
    assert set(folder.glob("archive/*")) == {folder / file.file for file in operator.archives()}
    there = held(folder)
    tally.check(known, there.elements())
    assert there == Counter(there.keys())
    for record_id, told in known.items():
        record = operator.get(record_id)
        assert (record.content, record.evidence[: len(told.evidence)]) == (
            told.content,
            told.evidence,
        )
        assert [event.seq for event in operator.history(record_id)][
            : len(told.events)
        ] == told.events
        assert all(operator.get(item).id == item for item in record.evidence if is_id(item))
        assert operator.remember(told.content, key=told.key).id == record_id


def check_finished(home: Path, base: Base) -> None:
    """Another process finds everything, does the verb again, and comes to where an undisturbed one
    would be."""
    with opened(home) as mover:
        check_whole(home, mover.operator, base.known)
        again(mover, base)
        check_whole(home, mover.operator, base.known)
        assert whereabouts(mover.operator, base.known) == base.after
        assert held(home / "agents" / AGENT).total() == base.number
        if base.order["step"] == "go_back":
            return  # each time is an event; and what a killed copy leaves is a matter of `doctor`
        head = mover.operator.audit_head()["events"]
        again(mover, base)
        assert mover.operator.audit_head()["events"] == head
    assert list(home.rglob("*.tmp")) == []


def again(mover: Mover, base: Base) -> None:
    """The verb once more. What was brought back already is not brought back twice."""
    order = dict(base.order)
    step = order.pop("step")
    if step == "restore":
        order["ids"] = [one for one in order["ids"] if mover.operator.get(one).archived is not None]
    getattr(mover, step)(**order)


@contextmanager
def broken(
    nursery: Nursery, base: Base, folder: Path, *faults: Fault
) -> Iterator[tuple[Path, str]]:
    """A home on which the verb was broken, and how that ended; the process is still there within
    the block."""
    home = copied(base.home, folder / "home")
    with nursery.fork() as pid:
        assert nursery.told(step="open", home=str(home)) == "done"
        with traced(
            pid, folder / "log", [fault.point.call for fault in faults], *map(str, faults)
        ) as calls:
            outcome = nursery.told(**base.order)
        assert outcome == "killed" or any("(INJECTED)" in line for line in calls), faults
        yield home, outcome


@every_scene
def test_a_kill_at_any_write_call_loses_nothing(
    tmp_path: Path, nursery: Nursery, bases: dict[str, Base], name: str
) -> None:
    """L2, L3, L5, L7, L11, P1, P4: killed at any write call, every memory is in the store or on one
    line of the archive once the store is opened again, and doing the verb again comes to the same
    end as if nothing had happened."""
    base = bases[name]
    for point in points(base.calls, KILLS, name, without=RULES):
        with broken(nursery, base, tmp_path, Fault("signal=SIGKILL", point)) as (home, outcome):
            assert outcome == "killed", point
        check_finished(home, base)


@every_scene
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
@pytest.mark.parametrize(
    "lasting", [False, True] if FULL else [False], ids=["once", "for good"][: 1 + FULL]
)
def test_an_error_at_any_write_call_is_typed_and_passes(
    tmp_path: Path, nursery: Nursery, bases: dict[str, Base], name: str, error: str, lasting: bool
) -> None:
    """L2, L3, L5, L7, L11, B4, P4: an error of the disk at any write call is a `StoreUnavailable`,
    or was harmless; every memory is still in one place, and the same process can do the verb when
    the disk is well."""
    base = bases[name]
    # What was brought back, but could not be tidied up after, is there; to bring it back again is
    # refused.
    fine = ("done", "refused") if base.order["step"] == "restore" else ("done",)
    calls = [
        call for call in base.calls if not (lasting and call.startswith("write("))
    ]  # it could not even say so
    for point in points(calls, ERRORS, name + error, without=RULES):
        with broken(nursery, base, tmp_path, Fault(f"error={error}", point, lasting)) as (
            home,
            outcome,
        ):
            assert outcome in ("done", "store_unavailable"), (point, outcome)
            assert held(home / "agents" / AGENT, indexed=True) >= Counter(base.known.keys()), point
            assert nursery.told(**base.order) in fine, point
            assert nursery.told(step="close") == "done"
        check_finished(home, base)


@every_scene
def test_a_kill_after_a_failed_sync_loses_nothing(
    tmp_path: Path, nursery: Nursery, bases: dict[str, Base], name: str
) -> None:
    """L3, L11, P4: a process that dies while it cleans up after a failed sync has removed nothing
    that is still needed.

    What could not be synced may be found all the same by whoever recovers the log: the rows have
    left then, and the file with their lines must be there.
    """
    base = bases[name]
    for failed, killed in after_failures(base.calls):
        faults = (Fault("error=EIO", failed), Fault("signal=SIGKILL", killed))
        with broken(nursery, base, tmp_path, *faults) as (home, outcome):
            assert outcome in ("done", "store_unavailable", "killed")
        check_finished(home, base)


def after_failures(calls: Sequence[str]) -> list[tuple[Point, Point]]:
    """Syncs of the log, each with a call that may come after it."""
    count: Counter[str] = Counter()
    found: list[tuple[Point, Point]] = []
    for line in calls:
        call = line.partition("(")[0]
        count[call] += 1
        if call == "fdatasync" and "-wal>" in line:
            kinds = ("unlink", "fsync", "pwrite64")
            found += [
                (Point(call, count[call]), Point(kind, count[kind] + more))
                for kind in kinds
                for more in (1, 2)
            ]
    return found if FULL else found[-4:-3]


@pytest.mark.parametrize("verb", ["get", "find", "export", "backup", "verify"])
def test_who_reads_the_archive_is_not_misled_by_who_brings_back(
    tmp_path: Path, nursery: Nursery, bases: dict[str, Base], verb: str
) -> None:
    """L4, L11, P4, H5: a file of the archive that is replaced between the index and the look into
    it is no damage."""
    base = bases["brings one of several back"]
    home = copied(base.home, tmp_path / "home")
    (file,) = (home / "agents" / AGENT / "archive").iterdir()
    arguments = {"ids": base.order["ids"]} if verb == "get" else {}
    with nursery.fork() as pid:
        assert nursery.told(step="open", home=str(home)) == "done"
        with traced(
            pid,
            log := tmp_path / "log",
            ["newfstatat"],
            "newfstatat:signal=SIGSTOP:when=1",
            only=file,
        ):
            nursery.tell(step=verb, **arguments)
            while "stopped by SIGSTOP" not in log.read_text():
                assert "+++" not in log.read_text(), "it has ended without a look at the file"
            with opened(home) as mover:
                again(mover, base)
            os.kill(pid, signal.SIGCONT)
            assert nursery.hear() == {"outcome": "done"}
    check_finished(home, base)


def places(calls: Sequence[str], call: str, part: str) -> list[int]:
    """Where a call with something in its line comes, among others."""
    return [
        place for place, line in enumerate(calls) if line.startswith(f"{call}(") and part in line
    ]


def test_a_file_is_on_the_disk_before_its_rows_leave(bases: dict[str, Base]) -> None:
    """L3: the lines, their name and the folder that was made for them are synced before the rows
    leave the store."""
    calls = bases["promotes and rotates"].calls
    made, leave = places(calls, "mkdir", '/archive"')[0], places(calls, "fdatasync", "-wal>")[-1]
    lines, name = places(calls, "fsync", ".tmp>")[0], places(calls, "rename", ".jsonl")[0]
    assert made < lines < name < places(calls, "fsync", "/archive>")[0] < leave
    assert any(made < place < leave for place in places(calls, "fsync", f"/{AGENT}>"))


def test_a_file_goes_after_its_lines_are_elsewhere(bases: dict[str, Base]) -> None:
    """L3, L11: the file that something is brought back from goes only when rows and new
    file are synced."""
    calls = bases["brings one of several back"].calls
    name, gone = places(calls, "rename", ".jsonl")[0], places(calls, "unlink", "= 0")[0]
    assert places(calls, "fsync", ".tmp>")[0] < name < gone
    assert any(name < place < gone for place in places(calls, "fdatasync", "-wal>"))


def test_a_kill_while_a_crash_is_tidied_up_loses_nothing(
    tmp_path: Path, nursery: Nursery, bases: dict[str, Base]
) -> None:
    """L3, P4: killed at any write call of the opening that removes what a crash left behind, the
    next one does it."""
    base = bases["promotes and rotates"]
    with broken(nursery, base, tmp_path, Fault("signal=SIGKILL", Point("fsync", 2))) as (
        home,
        outcome,
    ):
        assert outcome == "killed"
    crashed = copied(home, tmp_path / "crashed")
    with nursery.fork() as pid, traced(pid, tmp_path / "log", CALLS) as calls:
        assert nursery.told(step="open", home=str(home)) == "done"
    assert places(calls, "unlink", "= 0")
    for point in points(calls, KILLS, "opens", without=RULES):
        copied(crashed, home)
        fault = str(Fault("signal=SIGKILL", point))
        with nursery.fork() as pid, traced(pid, tmp_path / "log", [point.call], fault):
            assert nursery.told(step="open", home=str(home)) == "killed"
        check_finished(home, base)


def test_what_a_crash_left_behind_keeps_no_reader_out(shared_folder: Path) -> None:
    """B1, B4, L3: a store that cannot be tidied up, because it may only be read, is read
    all the same."""
    home = shared_folder / "home"
    make_store(home)
    tamper(database_of(home), "INSERT INTO strays (file) VALUES ('archive/left_behind.jsonl')")
    forbid_writing(home)
    with Child("visitor", home, NOBODY, "visit") as child:
        (report,) = child.finish()
    allow_writing(home)
    assert report["open"] == "done"
    assert {report["outcomes"][verb] for verb in ("list", "search", "status", "verify")} == {"done"}


def test_many_processes_move_memories_at_once(tmp_path: Path) -> None:
    """L1, L2, L3, L4, L5, P4: processes that remember, run and bring back at once, while another
    opens and looks at the store all the time, lose nothing, store nothing twice, and are told
    nothing but that somebody was faster."""
    (tmp_path / RULES).write_text("short_term_max_lines: 5\n")
    with ExitStack() as stack:
        movers = [
            stack.enter_context(Child("mover", "crowd", tmp_path, ROUNDS, f"p{n}"))
            for n in range(MOVERS)
        ]
        watcher = stack.enter_context(Child("mover", "watch", tmp_path, "watcher"))
        for child in (*movers, watcher):
            child.hear()
        watcher.tell(until=str(tmp_path / "over"))
        for child in movers:
            child.tell(go=True)
        said = [line for child in movers for line in child.finish()]
        (tmp_path / "over").touch()
        assert watcher.finish()[0]["opened"] > 0
    made = [line["made"] for line in said if "made" in line]
    assert len(set(made)) == MOVERS * ROUNDS
    assert [line["problems"] for line in said if "problems" in line] == [[]] * MOVERS
    with lamina.operator(AGENT, home=tmp_path) as operator:
        check_sound(operator)
        assert held(tmp_path / "agents" / AGENT) == Counter(made)
        operator.run_once()
        assert operator.status()["records"]["short_term"]["active"] <= 5
    assert list(tmp_path.rglob("*.tmp")) == []
