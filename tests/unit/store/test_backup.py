"""Copies of a live store, and the way back."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from lamina import Operator
from lamina.errors import Corrupt, InvalidInput, LaminaError, NotFound, Refused
from lamina.failsafe.line import Item
from lamina.memory.opening import before_restore, restore
from lamina.model.record import iso
from lamina.store.upkeep import backup
from tests.cases import every
from tests.conftest import Desk, Ticking, contents, digest, quietly, size, verified


def filled(op: Operator) -> Path:
    """A backup of a store that has moved on since."""
    op.remember_many([{"content": "one", "key": "k", "tags": ["a"]}, {"content": "two"}])
    op.search("one")
    made = op.backup()
    op.remember("three")
    return made


def backups(desk: Desk) -> list[str]:
    return sorted(path.name for path in (desk.folder() / "backups").iterdir())


def test_a_backup_is_complete(desk: Desk, op: Operator) -> None:
    """B7: both databases and a manifest with their hashes, named by the time."""
    made = filled(op)
    assert made.parent == desk.folder() / "backups"
    assert sorted(path.name for path in made.iterdir()) == [
        "manifest.json",
        "memory.db",
        "reads.db",
    ]
    manifest = json.loads((made / "manifest.json").read_bytes())
    assert (manifest["format"], manifest["version"]) == ("lamina-backup", 1)
    assert sorted(manifest["files"]) == ["memory.db", "reads.db"]
    assert not list(desk.folder().rglob("*.tmp"))


def test_a_backup_goes_where_it_is_told(op: Operator, tmp_path: Path) -> None:
    """B7: to a place of one's own, never over something that is there."""
    target = tmp_path / "elsewhere" / "copy"
    assert op.backup(target) == target
    before = (target / "manifest.json").read_bytes()
    with pytest.raises(InvalidInput, match="never overwrites"):
        op.backup(target)
    assert (target / "manifest.json").read_bytes() == before


def test_a_backup_changes_nothing(op: Operator) -> None:
    """B7: copying is no change of the store."""
    op.remember("x")
    before = size(op)
    op.backup()
    assert size(op) == before


def test_restoring_brings_back_exactly_what_was(op: Operator) -> None:
    """B7: records, keys, tags and history are as they were, what came later is gone, and the trail
    says so."""
    made = filled(op)
    before = op.list()[1:]
    head = op.audit_head()["events"]
    report = op.restore(made)
    assert op.list() == before
    assert (report["records"], report["events"]) == (2, 1)
    (event, *_) = op.audit_log()
    assert (event.action, event.details) == ("restore", {"certificates": [], "replaced": head})
    assert event.actor == str(op.actor)
    assert op.remember("one", key="k").seq == 1
    assert contents(op.search("one", ranker="keyword")) == ["one"]
    assert op.search("three").outcome == "nothing_relevant"
    assert verified(op)


def test_restoring_saves_what_it_replaces(desk: Desk, op: Operator) -> None:
    """B7: a restore can itself be undone by a restore."""
    made = filled(op)
    report = op.restore(made)
    saved = Path(report["kept"])
    assert backups(desk) == [made.name, saved.name]
    assert saved.name.endswith("-before-restore")
    op.restore(saved)
    assert contents(op.list()) == ["three", "two", "one"]
    assert verified(op)


def test_sequences_go_on_after_a_restore(op: Operator) -> None:
    """R1, B7: what is written after a restore has its own place in the restored history."""
    made = filled(op)
    op.restore(made)
    assert op.remember("four").seq == 3
    assert verified(op)


def test_another_handle_sees_the_restored_store(desk: Desk, op: Operator) -> None:
    """B7: handles that were open before go on with what was restored."""
    made = filled(op)
    mem = desk.agent()
    assert len(mem.list()) == 3
    op.restore(made)
    assert contents(mem.list()) == ["two", "one"]
    mem.remember("four")
    assert verified(op)


def test_a_backup_of_another_store_of_this_agent(desk: Desk, tmp_path: Path) -> None:
    """B7: a restored store has the id of the backup, and every handle goes on with it."""
    op = desk.operator()
    twin = desk.operator()
    with Desk(tmp_path / "other") as other:
        away = other.operator(store_id="6" * 32)
        away.remember("from elsewhere")
        made = away.backup()
    op.restore(made)
    assert op.status()["store"] == "6" * 32
    assert verified(op)
    twin.remember("from the other handle")
    assert verified(desk.operator())
    assert verified(twin)


def test_an_old_backup_of_a_closed_store(desk: Desk) -> None:
    """B7: a restore works for a handle that was opened only for it."""
    with desk.operator() as op:
        made = filled(op)
    with desk.operator() as op:
        op.restore(made)
    assert contents(desk.operator().list()) == ["two", "one"]


@pytest.mark.parametrize("name", ["memory.db", "reads.db"])
@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_an_altered_backup_is_refused(desk: Desk, op: Operator, name: str, place: float) -> None:
    """B7: one flipped bit in a file of the backup, and nothing is restored."""
    made = filled(op)
    data = bytearray((made / name).read_bytes())
    data[int(len(data) * place)] ^= 1
    (made / name).write_bytes(data)
    before = op.list(), op.audit_head()["events"]
    with pytest.raises(Corrupt, match="does not match its manifest"):
        op.restore(made)
    assert (op.list(), op.audit_head()["events"]) == before


MANIFESTS = {
    "empty": b"",
    "text": b"hello",
    "list": b"[]",
    "number": b"5",
    "no files": b"{}",
    "files none": b'{"files":null}',
    "files list": b'{"files":[]}',
    "files text": b'{"files":"memory.db"}',
    "no memory.db": b'{"files":{}}',
    "another file": b'{"files":{"../../x":"00"}}',
    "no digest": b'{"files":{"memory.db":5}}',
    "bytes": b"\xff\xfe",
    "deep": b"[" * 100_000,
}


@every("how", MANIFESTS)
def test_an_altered_manifest_is_refused(op: Operator, how: str) -> None:
    """B7: a manifest that does not vouch for the database is a typed error, and
    nothing is restored."""
    made = filled(op)
    (made / "manifest.json").write_bytes(MANIFESTS[how])
    before = op.list(), op.audit_head()["events"]
    with pytest.raises(Corrupt):
        op.restore(made)
    assert (op.list(), op.audit_head()["events"]) == before


def test_any_flip_in_a_manifest_is_harmless(op: Operator) -> None:
    """B7: whichever bit of the manifest flips, a restore is a typed error or brings back a store
    that verifies."""
    made = filled(op)
    manifest = made / "manifest.json"
    good = manifest.read_bytes()
    for place in range(len(good)):
        data = bytearray(good)
        data[place] ^= 1 << place % 8
        manifest.write_bytes(data)
        try:
            op.restore(made)
        except LaminaError:
            continue
        assert verified(op)
        assert contents(op.list()) == ["two", "one"]


def test_a_rehashed_forgery_is_refused(desk: Desk, op: Operator) -> None:
    """P4, B7: a backup whose manifest was made to fit is still compared with its own chain."""
    made = filled(op)
    quietly(made / "memory.db", "UPDATE records SET content = 'forged' WHERE seq = 1")
    manifest = json.loads((made / "manifest.json").read_bytes())
    manifest["files"]["memory.db"] = digest(made / "memory.db")
    (made / "manifest.json").write_text(json.dumps(manifest))
    before = op.list(), op.audit_head()["events"]
    with pytest.raises(Corrupt, match="the backup was altered"):
        op.restore(made)
    assert (op.list(), op.audit_head()["events"]) == before
    assert not list(desk.folder().glob("restore.tmp*"))


def test_what_is_no_backup_is_not_found(op: Operator, tmp_path: Path) -> None:
    """B7: an unknown folder, an empty one, and a file are NotFound."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for name in ("unknown", "empty", "file"):
        with pytest.raises(NotFound, match="is not a backup"):
            op.restore(tmp_path / name)


def test_a_backup_of_another_agent_is_refused(desk: Desk) -> None:
    """P2, B7, I: one agent's backup does not become another's memory; the error names it, and the
    commands that bring it."""
    milton = desk.operator("milton")
    milton.remember("of milton")
    op = desk.operator()
    op.remember("of sky")
    made = milton.backup()
    with pytest.raises(Refused) as caught:
        op.restore(made)
    assert f"{made} is a backup of the agent milton" in caught.value.message
    assert f"`lamina --home NEW --agent milton restore {made} --yes`" in caught.value.message
    assert "`lamina --agent sky import milton.json`" in caught.value.message
    with pytest.raises(Refused, match="backup of the agent milton"):
        restore(made, "sky", desk.home, desk.clock)
    assert contents(op.list()) == ["of sky"]
    assert verified(op)


def test_the_way_to_another_agent(desk: Desk, tmp_path: Path) -> None:
    """B7: what the refusal advises works: restored in another home, exported
    there, imported here."""
    milton = desk.operator("milton")
    milton.remember("of milton")
    restore(milton.backup(), "milton", tmp_path / "new", desk.clock)
    with Desk(tmp_path / "new", desk.clock) as new:
        exported = new.operator("milton").export(tmp_path / "milton.json")
    op = desk.operator()
    op.remember("of sky")
    op.import_(exported)
    assert sorted(contents(op.list())) == ["of milton", "of sky"]


def test_what_a_restore_would_mean_is_told_before(desk: Desk, op: Operator, clock: Ticking) -> None:
    """B7: the age of a backup, and how many memories of the present store it does not have. Nothing
    changes by asking."""
    made = filled(op)
    op.remember("four")
    clock.jump(timedelta(days=3))
    before = size(op)
    told = before_restore(made, "sky", desk.home, clock)
    assert (told.records, told.lost) == (2, 2)
    assert told.sentences == [
        "the backup was made 2026-05-01 08:00 UTC, 3 days ago, and holds 2 memories",
        "2 memories of the current store will be missing afterwards",
    ]
    assert timedelta(days=3) < told.age < timedelta(days=3, minutes=1)
    assert size(op) == before
    report = restore(made, "sky", desk.home, clock)
    assert (report["lost"], report["made_at"]) == (2, iso(told.made_at))
    assert before_restore(Path(report["kept"]), "sky", desk.home, clock).lost == 0


def test_what_a_restore_would_mean_without_a_store(
    desk: Desk, op: Operator, tmp_path: Path
) -> None:
    """B7: an agent without a memory loses nothing and gets no folder by asking; of a damaged one
    nobody knows."""
    made = filled(op)
    assert before_restore(made, "sky", tmp_path / "new", desk.clock).lost == 0
    assert not (tmp_path / "new").exists()
    (tmp_path / "bad" / "agents" / "sky").mkdir(parents=True)
    (tmp_path / "bad" / "agents" / "sky" / "memory.db").write_bytes(b"no database" * 1000)
    told = before_restore(made, "sky", tmp_path / "bad", desk.clock)
    assert told.lost is None
    assert "less than an hour ago" in told.sentences[0]
    assert "cannot be read" in told.sentences[1]


def test_what_waits_in_the_failsafe_survives_a_restore(desk: Desk, op: Operator) -> None:
    """B4, B7: a memory that was acknowledged and waits is in the restored store, not only in what
    was replaced."""
    made = filled(op)
    op._scope.resilient.spool.keep(
        [
            Item(
                op._parts.failsafe.new_id(op._scope.clock()),
                op._scope.draft({"content": "it waits"}),
            )
        ],
        op._scope.clock(),
        "remember",
        op.actor,
    )
    report = restore(made, "sky", desk.home, desk.clock)
    assert report["lost"] == 1
    assert contents(desk.operator().list()) == ["it waits", "two", "one"]


def test_a_backup_that_lost_its_database(op: Operator) -> None:
    """B7: a missing file is named."""
    made = filled(op)
    (made / "memory.db").unlink()
    with pytest.raises(Corrupt, match=r"memory\.db"):
        op.restore(made)


def test_a_clock_that_stands_still(desk: Desk, clock: Ticking) -> None:
    """B7: two restores in the same microsecond are two restores; none fails for want of a name."""
    op = desk.operator()
    made = filled(op)
    clock.step *= 0
    op.restore(made)
    op.restore(made)
    assert contents(op.list()) == ["two", "one"]


def test_a_leftover_of_a_crash_is_no_obstacle(desk: Desk, op: Operator) -> None:
    """B7: what a dead process left of a restore or a backup is cleared away by the next."""
    made = filled(op)
    (desk.folder() / "restore.tmp").write_text("junk")
    (desk.folder() / "restore.tmp-wal").write_text("junk")
    op.restore(made)
    target = desk.folder() / "backups" / "mine"
    shutil.copytree(made, desk.folder() / "backups" / "mine.tmp")
    assert op.backup(target) == target
    assert verified(op)


@pytest.mark.parametrize("name", ["../stolen/x.jsonl", "archive/../../x.jsonl", "ABSOLUTE/x.jsonl"])
def test_a_backup_writes_nothing_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    """B7: a manifest that is whole but names a file elsewhere is refused before
    anything is written."""
    source, folder, outside = (
        tmp_path / "home" / "backup",
        tmp_path / "home" / "agent",
        tmp_path / "outside",
    )
    for path in (source, folder, outside):
        path.mkdir(parents=True)
    name = name.replace("ABSOLUTE", str(outside))
    manifest = {
        "files": {name: "00"},
        "format": "lamina",
        "made_at": "2026-05-01T08:00:00Z",
        "version": 1,
    }
    (source / "manifest.json").write_text(json.dumps(manifest))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Corrupt, match="lies outside the backup"):
        backup.copy_archives(source, folder)
    assert sorted(tmp_path.rglob("*")) == before
