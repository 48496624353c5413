"""Handles that meet: after a fork, twice in one process, and while a backup is restored."""

from __future__ import annotations

import fcntl
import json
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import lamina
from lamina import Conflict, Corrupt, NotFound
from lamina.memory.opening import restore
from lamina.model import hashing
from lamina.model.clock import Ids
from lamina.store.tables import records

from .harness import AGENT, ROOT, check_store, contents, database_of

SCENE = """
import os, signal, sys
import lamina
home = sys.argv[1]
parent = lamina.open("sky", home=home)
parent.remember("before the fork")
to_child, from_parent = os.pipe()
to_parent, from_child = os.pipe()
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    own = lamina.open("sky", home=home)
    own.remember("first of the child")
    os.write(from_child, b"x")
    os.read(to_child, 1)
    for number in range(5):
        own.remember(f"late {number}")
        os.write(1, b"ack\\n")
    os._exit(0)
os.close(from_child)
os.read(to_parent, 1)
parent.close()
os.write(from_parent, b"x")
os.waitpid(pid, 0)
"""


def test_a_forked_process_with_a_handle_of_its_own_loses_nothing(tmp_path: Path) -> None:
    """B1: what a child acknowledges through its own handle stays, also when its
    parent closes meanwhile."""
    done = subprocess.run(
        [sys.executable, "-c", SCENE, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=60,
    )
    assert done.stdout.count("ack") == 5
    with lamina.open(AGENT, home=tmp_path) as memory:
        assert {f"late {number}" for number in range(5)} <= set(contents(memory))
    check_store(tmp_path)


def locked(path: Path) -> bool:
    """Whether another process would find SQLite's shared lock on a file; asked in one that never
    opened it."""
    start, length = 0x40000000 + 2, 510
    code = (
        "import fcntl, struct, sys\n"
        f"wanted = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, {start}, {length}, 0)\n"
        "with open(sys.argv[1], 'rb+') as file:\n"
        "    print(struct.unpack('hhqqi4x', fcntl.fcntl(file, fcntl.F_GETLK, wanted))[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    return int(done.stdout) != fcntl.F_UNLCK


@pytest.mark.skipif(
    struct.calcsize("hhqqi4x") != 32, reason="the layout of locks on this system is not known"
)
def test_a_second_handle_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    """B1: opening the store again in the same process does not drop the locks that protect
    it from others."""
    with lamina.open(AGENT, home=tmp_path) as first:
        first.remember("x")
        before = locked(database_of(tmp_path))
        with lamina.open(AGENT, user="ana", home=tmp_path):
            assert locked(database_of(tmp_path)) == before
        assert locked(database_of(tmp_path)) == before
        assert before


def test_a_restore_loses_nothing_that_others_write_meanwhile(tmp_path: Path) -> None:
    """B1: every acknowledged memory is in the restored store or in the copy that
    the restore kept."""
    with lamina.operator(AGENT, home=tmp_path) as operator:
        operator.remember_many({"content": f"old {number}"} for number in range(3000))
        saved = operator.backup()
        acknowledged: list[str] = []
        stop = threading.Event()

        def write() -> None:
            with lamina.open(AGENT, home=tmp_path) as other:
                while not stop.is_set():
                    acknowledged.append(other.remember(f"new {len(acknowledged)}").id)

        thread = threading.Thread(target=write)
        thread.start()
        report = operator.restore(saved)
        stop.set()
        thread.join()
        there = {record.id for record in operator.list(limit=10_000, states=None)}
    with lamina.operator(AGENT, home=tmp_path / "elsewhere") as kept:
        kept.restore(report["kept"])
        there |= {record.id for record in kept.list(limit=10_000, states=None)}
    assert acknowledged
    assert set(acknowledged) <= there
    check_store(tmp_path)


def damaged_in_the_middle(home: Path) -> Path:
    """A backup of a store, and the store with pages in its middle overwritten."""
    with lamina.operator(AGENT, home=home) as operator:
        operator.remember_many({"content": f"memory number {number}"} for number in range(3000))
        saved = operator.backup(home / "kept")
    path = database_of(home)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 3 * 4096] = bytes(range(256)) * 48
    path.write_bytes(bytes(content))
    return saved


def test_a_store_that_opens_but_is_damaged_can_be_restored(tmp_path: Path) -> None:
    """B1: a backup takes the place of a store that can be opened but not copied; the damaged files
    are kept."""
    saved = damaged_in_the_middle(tmp_path)
    report = restore(saved, AGENT, tmp_path)
    assert "damaged" in report["kept"]
    with lamina.open(AGENT, home=tmp_path) as memory:
        assert len(memory.list(limit=10_000)) == 3000
    check_store(tmp_path)


def test_nothing_is_set_aside_for_a_backup_that_is_none(tmp_path: Path) -> None:
    """B1: a mistyped path changes nothing, however damaged the store is."""
    damaged_in_the_middle(tmp_path)
    before = database_of(tmp_path).read_bytes()
    with pytest.raises(NotFound):
        restore(tmp_path / "typo", AGENT, tmp_path)
    assert database_of(tmp_path).read_bytes() == before
    assert not (database_of(tmp_path).parent / "damaged").exists()


def test_a_damaged_trail_of_reads_does_not_keep_a_store_from_its_backup(tmp_path: Path) -> None:
    """B1, P4: memories are backed up while reads.db is damaged, and the check of the
    trail names it."""
    with lamina.operator(AGENT, home=tmp_path) as operator:
        operator.remember("x")
        operator.search("x")
    database_of(tmp_path, "reads.db").write_bytes(b"damaged" * 1000)
    with lamina.operator(AGENT, home=tmp_path) as operator:
        saved = operator.backup()
        assert (saved / "memory.db").exists()
        assert operator.audit_verify()["reads"].problems[0].place == "database"


@pytest.mark.parametrize("verb", ["backup", "export"])
def test_files_beside_the_target_are_left_alone(tmp_path: Path, verb: str) -> None:
    """B6: whatever stands beside a backup or an export belongs to somebody else."""
    precious = tmp_path / "target.tmp"
    precious.mkdir()
    (precious / "precious").touch()
    with lamina.operator(AGENT, home=tmp_path / "home") as operator:
        operator.remember("x")
        getattr(operator, verb)(tmp_path / "target")
    assert (precious / "precious").exists()


def test_a_number_that_was_never_given_out_is_noticed(tmp_path: Path) -> None:
    """P4, H5: an export whose records have numbers beyond those of its trail is refused, since the
    next would collide."""
    with lamina.operator(AGENT, home=tmp_path / "one") as operator:
        operator.remember("x")
        path = operator.export(tmp_path / "export.json")
        salt = bytes(operator._scope.store.salts.next())
    export = json.loads(path.read_text("utf-8"))
    record = export["records"][0]
    with lamina.open(AGENT, home=tmp_path / "one") as memory:
        row = list(records.fields_of(memory.get(record["id"]), None))
    row[0], row[1] = 2, Ids(export["store"], AGENT).make(record["id"][:14], 2)
    body = json.loads(export["events"][0]["body"])
    body["made"][0]["records"] = [[row[1], hashing.salted_hash(salt, hashing.encode(row))]]
    encoded = hashing.encode(body)
    export["events"][0] = {
        "body": encoded.decode(),
        "hash": hashing.chain_hash(
            hashing.chain_seed(export["store"], AGENT, "events"), encoded
        ).hex(),
    }
    record |= {"seq": 2, "id": row[1], "salt": salt.hex()}
    del export["manifest"]  # older exports have none, and it would tell already
    path.write_text(json.dumps(export), "utf-8")
    with (
        lamina.operator(AGENT, home=tmp_path / "two") as operator,
        pytest.raises(Corrupt, match="never given out"),
    ):
        operator.import_(path, trust=True)


def test_a_trigger_with_a_name_like_those_of_sqlite_is_noticed(tmp_path: Path) -> None:
    """P4: nothing hides behind a name that only resembles SQLite's own."""
    with lamina.operator(AGENT, home=tmp_path) as operator:
        operator.remember("x")
        with operator._scope.store.database.atomic() as transaction:
            transaction.cursor.execute(
                "CREATE TRIGGER sqlitex AFTER INSERT ON tags BEGIN SELECT 1; END"
            )
        assert [problem.place for problem in operator.audit_verify()["events"].problems] == [
            "schema of sqlitex"
        ]


def test_a_summary_stays_with_whoever_wrote_it(tmp_path: Path) -> None:
    """R12, L10: what Ben says at the end of a run that belongs to nobody is his alone."""
    with (
        lamina.open(AGENT, home=tmp_path) as everybody,
        lamina.open(AGENT, user="ben", home=tmp_path) as ben,
    ):
        everybody.run("task")
        (run,) = ben.runs()
        ending = run.close("Ben's private summary")
        assert ending is not None
        assert ending.user == "ben"
    with lamina.open(AGENT, user="ana", home=tmp_path) as ana:
        assert not ana.search("summary")


def test_a_key_of_a_note_is_the_runs_own(tmp_path: Path) -> None:
    """L1, L10: the key of a note and that of a memory are different keys."""
    with lamina.open(AGENT, home=tmp_path) as memory:
        with memory.run("task") as run:
            run.note("deploy at noon", key="k")
        assert memory.remember("deploy at noon", key="k").layer == "short_term"
        with pytest.raises(Conflict):
            memory.remember("something else", key="k")
