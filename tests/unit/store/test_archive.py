"""What has left for the archive: still known, still found there, nowhere else, and brought back as
it was."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory, Operator
from lamina.errors import (
    Conflict,
    Corrupt,
    InvalidInput,
    LaminaError,
    NotFound,
    Refused,
    StoreUnavailable,
)
from lamina.model.record import Record
from lamina.search import RANKERS
from lamina.store.archive import archive
from lamina.store.index import writing
from lamina.store.tables import records
from lamina.store.tables.blocks import BLOCK
from tests.conftest import Desk, contents, quietly, size, supersede, verified
from tests.unit.formats.exports import Export, chained, load
from tests.unit.search.speech import answers, spoken
from tests.unit.store.archives import LOW, archived, files, kept

# Still known


def test_an_archived_record_is_still_there(op: Operator) -> None:
    """R3: `get` returns it as it was, and says in which file and line it lies."""
    first, second = archived(
        op,
        "tea",
        "coffee",
        tags=["drink"],
        metadata={"n": 1e22, "z": -0.0},
        evidence=["./a"],
        key=None,
    )
    found = op.get(second.id)
    (file,) = op.archives()
    assert (file.why, file.lines, found.archived) == ("pruned", 2, f"{file.file}:2")
    assert found.to_dict() == {**second.to_dict(), "archived": f"{file.file}:2"}
    assert op.get(first.id).archived == f"{file.file}:1"
    assert op.status()["archived"] == 2
    assert op.list(states=None) == []
    assert verified(op)


def test_its_history_goes_on(op: Operator) -> None:
    """P4, R3: the events of a record are those of before, of the archive, and of the way back."""
    (record,) = archived(op, "tea")
    assert [event.action for event in op.history(record.id)] == ["remember", "prune"]
    assert op.history(record.id)[-1].changes[0].after["archived"] == 1
    op.restore_archived(record.id)
    assert [event.action for event in op.history(record.id)] == [
        "remember",
        "prune",
        "archive.restore",
    ]


def test_evidence_leads_into_the_archive(op: Operator) -> None:
    """P1: what was archived stays evidence, may become evidence, and keeps its own."""
    (old,) = archived(op, "source")
    before = op.remember("derived before", evidence=[old.id], importance=LOW)
    op.prune(importance_below=0.2)
    after = op.remember("derived after", evidence=[before.id, old.id])
    assert op.get(op.get(after.evidence[0]).evidence[0]).content == "source"
    op.restore_archived(old.id)
    op.restore_archived(before.id)
    assert verified(op)


def test_lineage_leads_into_the_archive(op: Operator) -> None:
    """P1, R3: a record and what replaced it may leave and come back one by one, in any order."""
    old, new = op.remember("old", importance=LOW), op.remember("new", importance=LOW)
    supersede(op, old.id, new.id)
    op.prune(importance_below=0.2)
    assert op.get(new.id).archived
    assert op.get(old.id).superseded_by == new.id
    op.prune(importance_below=0.2, states=["superseded"])
    for record in (old, new):
        op.restore_archived(record.id)
        assert verified(op)
    assert op.get(old.id).superseded_by == new.id


def test_keys_stay_taken(desk: Desk, op: Operator) -> None:
    """L1: a retry returns the archived record, another text under its key is a conflict; other
    users have their own keys."""
    (record,) = archived(op, "once", key="k")
    before = size(op)
    assert op.remember("once", key="k").archived == op.get(record.id).archived
    with pytest.raises(Conflict, match="used for another text"):
        op.remember("twice", key="k")
    assert size(op) == before
    assert desk.agent(user="ana").remember("hers", key="k").id != record.id
    op.restore_archived(record.id)
    assert op.remember("once", key="k").id == record.id


# Whose


def test_users_are_kept_apart(desk: Desk) -> None:
    """R12, P2: another user's archived memory is not found by any verb, and the attempt to reach it
    is noted."""
    ben, ana = desk.operator(user="ben"), desk.operator(user="ana")
    (record,) = archived(ben, "secret of ben")
    for reach in (
        ana.get,
        ana.history,
        ana.restore_archived,
        lambda name: ana.remember("x", evidence=[name]),
    ):
        before = len(desk.violations())
        with pytest.raises(NotFound):
            reach(record.id)
        assert len(desk.violations()) == before + 1
    assert ana.search_archive("secret") == []
    assert (ana.status()["archived"], ben.status()["archived"]) == (0, 1)
    assert contents(ben.search_archive("secret")) == ["secret of ben"]
    assert ben.restore_archived(record.id)[0].user == "ben"


def test_shared_memories_are_for_all(desk: Desk, op: Operator) -> None:
    """R12: what belongs to nobody in particular is found in the archive by everybody."""
    (record,) = archived(op, "shared")
    ana = desk.agent(user="ana")
    assert contents(ana.search_archive("shared")) == ["shared"]
    assert ana.get(record.id).content == "shared"


def test_a_lost_file_tells_nothing_about_others(desk: Desk) -> None:
    """R12, P2: whether the file is there or not, another user's memory looks like one that
    does not exist."""
    (record,) = archived(desk.operator(user="ben"), "secret")
    files(desk)[0].unlink()
    with pytest.raises(NotFound):
        desk.agent(user="ana").get(record.id)


def test_an_agent_has_no_such_verbs(mem: Memory) -> None:
    """V7: agents look into the archive; only an operator takes out of it, or puts into it
    what he chooses."""
    for verb in ("prune", "prunable", "restore_archived", "archives"):
        assert not hasattr(mem, verb)


# The files


def test_files_are_private_lines_of_plain_json(desk: Desk, op: Operator) -> None:
    """L4, P3: 0600 in a folder of 0700, a line for each record with the names of R1, and nothing
    escaped that need not be."""
    archived(op, "“日本” 😀\nsecond line", "Straße")
    (file,) = files(desk)
    assert file.name.startswith("pruned_archive_20260501T0800")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [json.loads(line)["content"] for line in file.read_text("utf-8").splitlines()] == [
        "“日本” 😀\nsecond line",
        "Straße",
    ]
    assert "“日本” 😀\\nsecond line" in file.read_text("utf-8")


def test_names_are_never_used_twice(desk: Desk, op: Operator) -> None:
    """L3: while the clock stands still every file has a name of its own, and a file of somebody
    else is left alone."""
    desk.clock.step *= 0
    archived(op, "first")
    (first,) = files(desk)
    first.with_name(first.stem + "-2.jsonl").write_text("not ours")
    archived(op, "second")
    archived(op, "third")
    found = {file.name.removeprefix(first.stem): file.read_text("utf-8") for file in files(desk)}
    assert sorted(found) == ["-2.jsonl", "-3.jsonl", "-4.jsonl", ".jsonl"]
    assert found["-2.jsonl"] == "not ours"
    assert contents(op.search_archive("r")) == ["third", "first"]
    assert verified(op)


def test_many_leave_in_several_files(op: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """L3: nobody waits for a huge transaction; all of them arrive, in their order."""
    monkeypatch.setattr(archive, "AT_ONCE", 4)
    made = archived(op, *(f"n{n}" for n in range(10)))
    assert [file.lines for file in op.archives()] == [2, 4, 4]
    assert contents(op.search_archive("n")) == [f"n{n}" for n in reversed(range(10))]
    assert contents(op.restore_archived(*(record.id for record in made))) == [
        f"n{n}" for n in range(10)
    ]
    assert op.archives() == []


def test_what_cannot_be_written_does_not_leave(desk: Desk, op: Operator) -> None:
    """L3: where no file can be made nothing leaves the store; once it can, it does."""
    (desk.folder() / "archive").write_text("in the way")
    op.remember("tea", importance=LOW)
    with pytest.raises(StoreUnavailable, match="archive"):
        op.prune(importance_below=0.2)
    assert contents(op.list()) == ["tea"]
    (desk.folder() / "archive").unlink()
    assert op.prune(importance_below=0.2)["pruned"] == 1
    assert kept(desk) == ["tea"]


def test_what_a_crash_left_is_removed_and_nothing_else(desk: Desk) -> None:
    """L3: opening the store removes the files that were noted and came to nothing; files that it
    does not know stay."""
    with desk.operator() as op:
        archived(op, "tea")
    (own,) = files(desk)
    names = ["short_term_archive_1.jsonl", "short_term_archive_1.jsonl.tmp", "mine.jsonl"]
    for name in names:
        own.with_name(name).write_text("x")
    quietly(
        desk.folder() / "memory.db",
        "INSERT INTO strays (file) VALUES ('archive/short_term_archive_1.jsonl')",
    )
    assert verified(desk.operator())
    assert [file.name for file in files(desk)] == ["mine.jsonl", own.name]


# Nowhere else


FILTERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "every state": {"states": ["active", "constrained", "superseded", "tombstoned"]},
    "layer": {"layers": ["short_term"]},
    "kind": {"kinds": ["fact"]},
    "tag": {"tags": ["drink"]},
    "every tag": {"all_tags": ["drink"]},
    "metadata": {"metadata": {"place": "kitchen"}},
    "time": {"since": "2000-01-01T00:00:00Z", "until": "2030-01-01T00:00:00Z"},
    "as of": {"as_of": "2029-01-01T00:00:00Z"},
    "known at": {"known_at": "2029-01-01T00:00:00Z"},
}
TEA = "green tea in the morning of 7 May 2025"


@pytest.mark.parametrize("indexed", [False, True])
def test_no_search_returns_what_was_archived(desk: Desk, op: Operator, indexed: bool) -> None:
    """R3, Q4: no ranker and no filter, in this handle, one that was open before, a new one; nor any
    list or context."""
    before = desk.agent()
    op.remember(
        TEA,
        importance=LOW,
        kind="fact",
        tags=["drink"],
        metadata={"place": "kitchen"},
        session="s",
        speaker="Ana",
    )
    op.remember("something else about coffee", session="s")
    if indexed:
        op.index()
    assert all(before.search(TEA, ranker=ranker) for ranker in RANKERS)
    op.prune(importance_below=0.2)
    for handle in (op, before, desk.agent()):
        found = [
            handle.search(TEA, ranker=ranker, **more)
            for ranker in RANKERS
            for more in FILTERS.values()
        ]
        found += [handle.query_relevant(TEA, recency_bias=1.0), handle.recall_similar(TEA)]
        assert TEA not in {text for hits in found for text in contents(hits)}
        assert TEA not in contents([*handle.list(states=None), *handle.query_recent(1000)])
        assert TEA not in handle.memory_context(TEA).text


def test_nor_does_a_new_process(desk: Desk) -> None:
    """R3, Q6: a process that begins with the packed blocks does not see it either."""
    with desk.operator() as op:
        op.remember_many([*spoken(BLOCK + 30), {"content": TEA, "importance": 0.0}])
        op.index()
        op.prune(importance_below=0.001)
        op.index()
    program = (
        "import sys, lamina; mem = lamina.open('sky', home=sys.argv[1])\n"
        f"print([hit.record.content for r in {RANKERS!r} for hit in mem.search({TEA!r}, 300, ranker=r)].count({TEA!r}))"
    )
    command = [sys.executable, "-c", program, str(desk.home)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    assert answer.stdout == "0\n"


def test_every_handle_answers_alike_after_archiving(desk: Desk, op: Operator) -> None:
    """Q6: neighbours of turns that have left are the same for a handle that knew these as for one
    that never did."""
    desk.clock.step *= 0
    before = desk.agent()
    made = op.remember_many(spoken(60))
    answers(before)
    op.prune(importance_below=0.3)
    assert answers(before) == answers(op) == answers(desk.agent())
    op.restore_archived(*[record.id for record in made if record.importance < 0.3][:5])
    assert answers(before) == answers(op) == answers(desk.agent())


@pytest.mark.parametrize("staying", [0, 100])
def test_blocks_forget_what_has_left(
    desk: Desk, op: Operator, monkeypatch: pytest.MonkeyPatch, staying: int
) -> None:
    """Q6: when the newest have left, packed blocks do not keep them: a new handle counts and ranks
    as the old one does."""
    monkeypatch.setattr(writing, "STALE", 1)
    desk.clock.step *= 0
    op.remember_many(spoken(2 * BLOCK + 50))
    op.index()
    answers(op)
    chosen = op._scope.filter(None, None, None, None, None, None)
    leaving = records.matching(op._scope.store.database.reader(), chosen, None)[staying:]
    op._scope.store.archive.add(op.actor, "test", desk.clock(), "test", leaving)
    op.index()
    assert answers(op) == answers(desk.agent())
    op.remember_many(spoken(40, seed=2))
    op.index()
    assert answers(op) == answers(desk.agent())


# Brought back


@pytest.mark.parametrize("indexed", [False, True])
def test_a_restored_record_is_found_again(desk: Desk, op: Operator, indexed: bool) -> None:
    """L4: same id, same words, found by every ranker and filter, in every handle; the archive holds
    it no longer."""
    before = desk.agent()
    fields = {"kind": "fact", "tags": ["drink"], "metadata": {"place": "kitchen"}}
    record, other = archived(op, TEA, "a decoy", **fields)
    (restored,) = op.restore_archived(record.id)
    assert (restored.id, restored.content, restored.archived) == (record.id, TEA, None)
    assert restored.seq > other.seq
    assert op.get(record.id) == restored
    if indexed:
        op.index()
    found = [
        contents(handle.search(TEA, ranker=ranker, **more))
        for handle in (op, before, desk.agent())
        for ranker in RANKERS
        for more in FILTERS.values()
    ]
    assert found == [[TEA]] * len(found)
    assert kept(desk) == ["a decoy"] == contents(op.search_archive("e"))
    assert op.get(other.id).archived == f"archive/{files(desk)[0].name}:1"
    assert verified(op)


def test_the_past_is_told_as_it_was(op: Operator) -> None:
    """Q6: a search as of a time finds a restored record where it was in the store, and not while it
    was away."""
    (record,) = archived(op, TEA)
    assert not op.search(TEA, known_at=record.created_at)
    op.restore_archived(record.id)
    made, left, back = (event.at for event in op.history(record.id))
    for ranker in RANKERS:
        assert [
            len(op.search(TEA, ranker=ranker, known_at=when)) for when in (made, left, back)
        ] == [1, 0, 1]


def test_only_what_is_there_waits_for_a_vector(op: Operator) -> None:
    """L2, H1: `index` counts the records that have none yet, not the numbers of those
    that have left."""
    record, _, _ = archived(op, TEA, "coffee", "cocoa")
    op.restore_archived(record.id)
    assert op.index() == 1


def test_restoring_twice_is_an_error(desk: Desk, op: Operator) -> None:
    """L4: what is not archived is refused, what does not exist is not found, and
    neither changes anything."""
    first, second = archived(op, "tea", "coffee")
    op.restore_archived(first.id)
    before, lying = size(op), files(desk)
    with pytest.raises(Refused, match="is not archived"):
        op.restore_archived(first.id)
    for unknown in ("0" * 26, "x", ""):
        with pytest.raises(NotFound):
            op.restore_archived(unknown)
    assert (size(op), files(desk)) == (before, lying)
    assert op.restore_archived() == []
    assert contents(op.restore_archived(second.id, second.id)) == ["coffee", "coffee"]
    assert (files(desk), op.archives(), op.status()["archived"]) == ([], [], 0)
    assert verified(op)


def test_restoring_is_all_or_nothing(op: Operator) -> None:
    """L4: when one of several cannot be restored none is, and the error says which."""
    (record,) = archived(op, "tea")
    live = op.remember("coffee")
    for others in ([live.id], ["0" * 26]):
        with pytest.raises(LaminaError, match=others[0]):
            op.restore_archived(record.id, *others)
        assert op.get(record.id).archived


def test_restoring_from_several_files_at_once(desk: Desk, op: Operator) -> None:
    """L4, P4: some lines of each file come back in one step; the others stay where the index says,
    and all of it verifies."""
    made = [archived(op, *(f"{file}/{n}" for n in range(3))) for file in "abc"]
    wanted = [made[2][0], made[0][1], *made[1]]
    assert op.restore_archived(*(record.id for record in wanted)) == [
        op.get(record.id) for record in wanted
    ]
    assert sorted(kept(desk)) == ["a/0", "a/2", "c/1", "c/2"]
    assert verified(op)
    for record in (made[0][0], made[0][2], made[2][2]):
        assert op.get(record.id).content == record.content


def test_back_and_forth(desk: Desk, op: Operator) -> None:
    """L3, L4: a record may leave and return any number of times; its lines and its row are never
    there together."""
    (record,) = archived(op, "tea")
    for _ in range(3):
        op.restore_archived(record.id)
        assert (kept(desk), contents(op.list())) == ([], ["tea"])
        op.prune(importance_below=0.2)
        assert (kept(desk), contents(op.list())) == (["tea"], [])
    assert len(op.history(record.id)) == 8
    assert verified(op)


# Exports


def travelling(op: Operator) -> list[Record]:
    """Archived records in two files, one of which was written anew, beside one that stayed; those
    that are archived."""
    op.remember("stayed", evidence=[archived(op, "green tea", key="k", tags=["drink"])[0].id])
    made = archived(op, "black tea", "“日本”\n😀", "white tea", metadata={"n": 1e22})
    op.restore_archived(made[0].id)
    return op.search_archive("", since="2020-01-01T00:00:00Z")


def test_an_export_holds_the_archive(desk: Desk, op: Operator, tmp_path: Path) -> None:
    """H5: export → import into an empty store → export gives the same bytes; files, places and
    histories are as they were."""
    lying = travelling(op)
    made = op.export()
    with Desk(tmp_path / "other") as other:
        twin = other.operator(store_id=None)
        report = twin.import_(made, trust=True)
        assert report == {"mode": "restored", "taken": 5, "skipped": 0, "pending": 0}
        assert twin.export().read_bytes() == made.read_bytes()
        assert [file.read_bytes() for file in files(other)] == [
            file.read_bytes() for file in files(desk)
        ]
        assert (twin.archives(), twin.search_archive("", since="2020-01-01T00:00:00Z")) == (
            op.archives(),
            lying,
        )
        assert verified(twin), twin.audit_verify()
        twin.restore_archived(*(record.id for record in lying))
        assert twin.remember("green tea", key="k").id == lying[-1].id
        assert verified(twin), twin.audit_verify()


def test_merging_takes_archived_records_in(op: Operator, desk: Desk) -> None:
    """H5, V8: into a store with a history of its own they come as memories, external ones; a second
    time nothing comes."""
    lying = travelling(op)
    made = op.export()
    other = desk.operator("milton")
    other.remember("of milton")
    assert other.import_(made)["taken"] == 5
    assert {other.get(record.id).archived for record in lying} == {None}
    assert {other.get(record.id).trust.value for record in lying} == {"external"}
    other.prune(tags=["drink"])
    left = {"events": len(load(made)["events"])}
    assert other.import_(made) == {
        "mode": "merged",
        "taken": 0,
        "skipped": 5,
        "pending": 0,
        "left_out": left,
    }
    assert verified(other)


def test_an_export_of_the_first_version_is_read(op: Operator, tmp_path: Path) -> None:
    """H5: exports that know nothing of an archive are taken in as ever; one of a version to
    come is refused."""
    op.remember("tea")
    export = load(op.export())
    assert (export.pop("archives"), export.pop("archived")) == ([], [])
    for version, taken in ((1, True), (3, False)):
        (tmp_path / "old.json").write_text(json.dumps({**export, "version": version}))
        with Desk(tmp_path / str(version)) as other:
            twin = other.operator(store_id=None)
            if taken:
                assert twin.import_(tmp_path / "old.json", trust=True)["mode"] == "restored"
            else:
                with pytest.raises(InvalidInput, match="up to 2"):
                    twin.import_(tmp_path / "old.json")
            assert contents(twin.list()) == ["tea"] * taken


FORGED: dict[str, Callable[[Export], object]] = {
    "text": lambda export: export["archived"][0]["record"].update(content="forged"),
    "score": lambda export: export["archived"][0]["record"].update(score=9),
    "salt": lambda export: export["archived"][0]["record"].update(salt="zz"),
    "no time zone": lambda export: export["archived"][0]["record"].update(
        occurred_at="2026-01-01T00:00:00"
    ),
    "event": lambda export: export["archived"][0].update(event=1),
    "order": lambda export: export["archived"].reverse(),
    "line gone": lambda export: export["archived"].pop(),
    "line twice": lambda export: export["archived"].append(export["archived"][0]),
    "line of nowhere": lambda export: export["archived"][0].update(archive=7),
    "also live": lambda export: export["records"].append(export["archived"][0]["record"]),
    "file gone": lambda export: export["archives"].clear(),
    "file twice": lambda export: export["archives"].append(export["archives"][0]),
    "number": lambda export: export["archives"][0].update(number=10**30),
    "why": lambda export: export["archives"][0].update(why="forged"),
    "when": lambda export: export["archives"][0].update(made_at="2020-01-01T00:00:00Z"),
    "when, without a zone": lambda export: export["archives"][0].update(
        made_at="2020-01-01T00:00:00"
    ),
}


def accepted(desk: Desk, place: Path, exports: dict[str, Export]) -> str | None:
    """The first import into an empty store that is not refused, or leaves a record, an event or a
    file behind."""
    op = desk.operator(store_id=None)
    for name, export in exports.items():
        place.write_text(json.dumps(export))
        try:
            op.import_(place, trust=True)
        except (Corrupt, InvalidInput):
            there = {file.name for file in desk.folder().rglob("*") if file.is_file()}
            if size(op) == (0, 0) and there <= {"memory.db", "memory.db-wal", "memory.db-shm"}:
                continue
        return name
    return None


def test_an_altered_archive_is_not_imported(op: Operator, tmp_path: Path) -> None:
    """H5, P4: what does not agree with its own chain is a typed error, and nothing is left of it,
    in the store or beside it."""
    archived(op, "green tea", "black tea")
    made, exports = op.export(), {}
    for how, forge in FORGED.items():
        exports[how] = load(made)
        forge(exports[how])
    with Desk(tmp_path / "other") as other:
        assert accepted(other, tmp_path / "forged.json", exports) is None


@pytest.mark.parametrize(
    "name", ["reads.db", "memory.db-journal", "world_model/tools.json", "archive"]
)
def test_an_export_writes_archives_and_nothing_else(
    op: Operator, tmp_path: Path, name: str
) -> None:
    """P3, H5: a forged export, however well it agrees with itself, makes no other file of the
    agent's folder."""
    archived(op, "tea")
    with Desk(tmp_path / "other") as other:
        assert (
            accepted(other, tmp_path / "forged.json", {name: placed(load(op.export()), name)})
            is None
        )


def test_an_export_writes_nowhere_else(op: Operator, tmp_path: Path) -> None:
    """P3, H5: names that lead out of the agent's folder, or nowhere, are refused."""
    archived(op, "tea")
    made = op.export()
    names = (
        "../../x.jsonl",
        "/tmp/x.jsonl",
        "archive/../../x.jsonl",
        "",
        ".",
        "a\0b.jsonl",
        "memory.db",
    )
    with Desk(tmp_path / "other") as other:
        assert (
            accepted(
                other, tmp_path / "forged.json", {name: placed(load(made), name) for name in names}
            )
            is None
        )


def placed(export: Export, name: str) -> Export:
    """An export whose archive lies elsewhere, and which agrees with itself about that."""
    file = export["archives"][0]["file"]
    export["archives"][0]["file"] = name
    for event in export["events"]:
        event["body"] = event["body"].replace(json.dumps(file), json.dumps(name))
    return chained(export)
