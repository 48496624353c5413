"""Our own export: everything out, everything in again, and nothing in that was altered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator
from lamina.errors import Corrupt, InvalidInput, LaminaError, NotFound, Refused, StoreUnavailable
from lamina.model.record import Layer, State, Trust
from lamina.model.rules import BELIEVED
from tests.cases import every
from tests.conftest import TESTER, Desk, contents, size, verified
from tests.unit.formats.exports import Export, chained, fill, load


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The export of a full store of the agent sky."""
    with Desk(tmp_path_factory.mktemp("source")) as desk:
        return fill(desk).export().read_bytes()


@pytest.fixture
def source(tmp_path: Path, exported: bytes) -> Path:
    """A copy of the export that a test may alter."""
    path = tmp_path / "export.json"
    path.write_bytes(exported)
    return path


def test_an_export_comes_back_to_the_byte(desk: Desk, source: Path) -> None:
    """H5: export → import into an empty store → export gives the same bytes; every layer, state,
    key and note is there."""
    op = desk.operator(store_id=None)
    report = op.import_(source, trust=True)
    exported = load(source)
    assert report == {
        "mode": "restored",
        "taken": len(exported["records"]),
        "skipped": 0,
        "pending": 0,
    }
    assert op.export().read_bytes() == source.read_bytes()
    assert {record["layer"] for record in exported["records"]} == set(Layer)
    assert {record["state"] for record in exported["records"]} == set(State)
    assert len(exported["notes"]) == 1
    assert verified(op)


def test_a_restored_store_goes_on(desk: Desk, source: Path) -> None:
    """H5: keys, users, runs, history and search work as in the store that was exported."""
    op = desk.operator(store_id=None)
    op.import_(source, trust=True)
    assert op.remember("the first", key="k1").seq == 1
    assert [run.task for run in op.runs()] == ["open run"]
    assert (
        len(op.history(op.search("semantic constrained", states=["constrained"])[0].record.id)) == 2
    )
    assert op.audit_log(1)[0].reason == "a reason"
    assert op.remember("next").seq == len(load(source)["records"]) + 1
    assert verified(op)


def test_the_same_store_exports_the_same_bytes(desk: Desk) -> None:
    """H5, Q6: exporting is no change, so that two exports are equal."""
    op = fill(desk)
    assert op.export().read_bytes() == op.export().read_bytes()
    assert verified(op)


def test_an_export_is_plain_json(source: Path) -> None:
    """H5: any JSON reader sees records with the names of R1, and the text is not escaped."""
    exported = load(source)
    assert (exported["format"], exported["version"], exported["agent"]) == (
        "lamina-export",
        2,
        "sky",
    )
    assert exported["records"][0]["content"] == "the first"
    assert exported["records"][0]["score"] == 5
    assert '"猫"' in source.read_text("utf-8")
    assert source.read_bytes().endswith(b"]}\n")


def test_an_empty_store_travels_too(desk: Desk, tmp_path: Path) -> None:
    """H5: nothing comes back as nothing."""
    path = desk.operator().export()
    with Desk(tmp_path / "other") as other:
        op = other.operator(store_id=None)
        assert op.import_(path, trust=True)["taken"] == 0
        assert op.export().read_bytes() == path.read_bytes()


@pytest.mark.parametrize("trust", [False, True])
def test_into_another_agent_as_external(desk: Desk, source: Path, trust: bool) -> None:
    """H5, V8: into another store, records arrive as external and what claims authority waits;
    --trust keeps both."""
    op = desk.operator("milton")
    op.remember("of milton")
    exported = load(source)["records"]
    report = op.import_(source, trust=trust)
    arrived = {record.id: record for record in op.list(layers=list(Layer), states=None, limit=1000)}
    assert (report["mode"], report["taken"], len(arrived)) == (
        "merged",
        len(exported),
        len(exported) + 1,
    )
    for record in exported:
        mine = arrived[record["id"]]
        is_claim = not trust and record["layer"] in BELIEVED
        lowered = {"active": "constrained", "superseded": "tombstoned"} if is_claim else {}
        assert mine.state == lowered.get(record["state"], record["state"])
        assert mine.trust == (record["trust"] if trust else "external")
        assert (mine.content, mine.agent, mine.user) == (
            record["content"],
            "milton",
            record["user"],
        )
        assert (mine.evidence, mine.metadata) == (tuple(record["evidence"]), record["metadata"])
    assert report["pending"] == sum(
        record.state is State.CONSTRAINED for record in arrived.values()
    )
    assert verified(op)


def test_a_second_import_skips_all(desk: Desk, source: Path) -> None:
    """H5: what is here already stays as it is; importing again adds nothing and says so."""
    op = desk.operator("milton")
    number = op.import_(source)["taken"]
    before = size(op)
    left = {"events": len(load(source)["events"])}
    assert op.import_(source) == {
        "mode": "merged",
        "taken": 0,
        "skipped": number,
        "pending": 0,
        "left_out": left,
    }
    assert size(op) == before


def test_a_store_merges_with_its_own_export(desk: Desk, source: Path) -> None:
    """H5: a store that has moved on takes only what it does not have."""
    op = desk.operator(store_id=None)
    op.import_(source, trust=True)
    op.remember("later")
    assert op.import_(source)["taken"] == 0
    assert verified(op)


def test_unknown_evidence_stays_readable(desk: Desk, tmp_path: Path) -> None:
    """P1, H5: evidence that does not come along is kept as a reference that no longer
    claims to resolve."""
    with Desk(tmp_path / "source") as other:
        op = other.operator()
        first = op.remember("first")
        op.remember("second", evidence=[first.id])
        exported = load(op.export())
    exported["records"] = exported["records"][1:]
    (tmp_path / "x.json").write_text(json.dumps(exported))
    op = desk.operator("milton")
    op.import_(tmp_path / "x.json")
    assert op.list()[0].evidence == (f"record:{first.id}",)
    assert verified(op)


def test_an_imported_record_is_found(desk: Desk, source: Path) -> None:
    """H5, Q3: what arrived is in the index and has a history that begins with its import."""
    op = desk.operator("milton")
    op.import_(source)
    (hit,) = op.search("quoted")
    assert hit.record.user == "ana"
    (event,) = op.history(hit.record.id)
    assert event.action == "import"
    assert event.note["agent"] == "sky"


def record(**fields: Any) -> Callable[[Export], object]:
    return lambda export: export["records"][0].update(fields)


def body(text: str) -> Callable[[Export], object]:
    def change(export: Export) -> None:
        export["events"][0]["body"] = text
        chained(export)

    return change


FORGED: dict[str, Callable[[Export], object]] = {
    "content": record(content="forged"),
    "importance": record(importance=0.9),
    "importance too high": record(importance=5),
    "trust": record(trust="agent"),
    "kind": record(kind="data"),
    "tags": record(tags=["forged"]),
    "tags twice": record(tags=["a", "a"]),
    "key": record(key="forged"),
    "salt": record(salt="00" * 16),
    "short salt": record(salt="00"),
    "odd salt": record(salt="zz"),
    "event of a record": record(event=2),
    "huge event of a record": record(event=2**70),
    "seq": record(seq=99),
    "huge seq": record(seq=10**30),
    "naive time": record(occurred_at="2026-01-01T00:00:00"),
    "early time": record(occurred_at="0001-01-01T00:00:00Z"),
    "evidence of itself": lambda export: export["records"][0].update(
        evidence=[export["records"][0]["id"]]
    ),
    "evidence of a later one": lambda export: export["records"][0].update(
        evidence=[export["records"][2]["id"]]
    ),
    "evidence twice": lambda export: export["records"][1].update(
        evidence=[export["records"][0]["id"]] * 2
    ),
    "id": record(id="x"),
    "record removed": lambda export: export["records"].pop(),
    "record twice": lambda export: export["records"].append(export["records"][0]),
    "event removed": lambda export: export["events"].pop(1),
    "last event removed": lambda export: export["events"].pop(),
    "first event removed": lambda export: export["events"].pop(0),
    "events removed": lambda export: export["events"].clear(),
    "event twice": lambda export: export["events"].append(export["events"][-1]),
    "events swapped": lambda export: export["events"].reverse(),
    "hash": lambda export: export["events"][0].update(hash="00" * 32),
    "short hash": lambda export: export["events"][0].update(hash="00"),
    "odd hash": lambda export: export["events"][0].update(hash="zz"),
    "event text": lambda export: export["events"][0].update(body="{}"),
    "event empty": body("{}"),
    "event list": body("[]"),
    "event null": body("null"),
    "event no JSON": body("junk"),
    "event odd numbers": body('{"seq":1,"records":"1"}'),
    "event huge numbers": body('{"seq":1,"records":18446744073709551615}'),
    "event odd changes": body('{"seq":1,"records":1,"changes":5}'),
    "event odd change": body('{"seq":1,"records":1,"changes":[{}]}'),
    "event odd made": body('{"seq":1,"records":1,"made":5}'),
    "event odd notes": body('{"seq":1,"records":1,"notes":5}'),
    "event of other records": body('{"seq":1,"records":1}'),
    "note": lambda export: export["notes"][0].update(body='{"reason":"forged"}'),
    "note removed": lambda export: export["notes"].clear(),
    "note added": lambda export: export["notes"].append({**export["notes"][0], "position": 1}),
    "note of no event": lambda export: export["notes"].append({**export["notes"][0], "event": 999}),
    "note huge": lambda export: export["notes"][0].update(event=10**30),
    "note odd salt": lambda export: export["notes"][0].update(salt="zz"),
    "store": lambda export: export.update(store="another"),
}


@every("how", FORGED)
def test_an_altered_export_is_not_restored(
    desk: Desk, tmp_path: Path, exported: bytes, how: str
) -> None:
    """H5, P4: what does not agree with its own chain is a typed error, and the store stays empty
    and usable."""
    export = json.loads(exported)
    FORGED[how](export)
    source = tmp_path / "export.json"
    source.write_text(json.dumps(export))
    op = desk.operator(store_id=None)
    store_id = op._scope.store.id
    with pytest.raises((Corrupt, InvalidInput)):
        op.import_(source, trust=True)
    assert size(op) == (0, 0)
    assert op._scope.store.id == store_id
    assert op.remember("usable").seq == 1
    assert verified(op)


MERGED: dict[str, Callable[[Export], object]] = {
    "content empty": record(content=""),
    "content invisible": record(content="\u200b"),
    "content nul": record(content="a\0b"),
    "content too long": record(content="x" * (2**20 + 1)),
    "importance": record(importance=1.5),
    "confidence": record(confidence=-1),
    "tags": record(tags=["\u200b"]),
    "id": record(id="x"),
    "speaker": record(speaker="a\nb"),
    "contract": record(layer="semantic"),
    "deep metadata": record(metadata=json.loads('{"a":' * 200 + "1" + "}" * 200)),
    "huge number": record(metadata={"a": 10**30}),
    "naive time": record(occurred_at="2026-01-01T00:00:00"),
    "early time": record(occurred_at="0001-01-01T00:00:00Z"),
    "unknown kind": record(kind="forged"),
    "user": record(user="a\x1b[31m"),
    "evidence": record(evidence=["a\0/b"]),
    "run": record(run_id="a\0b"),
    "working without a run": record(layer="working"),
}


@every("how", MERGED)
def test_a_record_from_elsewhere_is_checked_like_any_other(
    desk: Desk, tmp_path: Path, exported: bytes, how: str
) -> None:
    """H5, R4, R5, R7, R8: a record that could not be remembered is a typed error on import too, and
    nothing is imported."""
    export = json.loads(exported)
    MERGED[how](export)
    source = tmp_path / "export.json"
    source.write_text(json.dumps(export))
    op = desk.operator("milton")
    with pytest.raises((InvalidInput, Corrupt)):
        op.import_(source)
    assert size(op) == (0, 0)


ODD: dict[str, Callable[[Export], object]] = {
    "twice": lambda export: export["records"].append(export["records"][0]),
    "evidence of a later one": lambda export: export["records"][0].update(
        evidence=[export["records"][2]["id"]]
    ),
    "evidence of itself": lambda export: export["records"][0].update(
        evidence=[export["records"][0]["id"]]
    ),
    "evidence twice": lambda export: export["records"][1].update(
        evidence=[export["records"][0]["id"]] * 2
    ),
    "supersedes itself": lambda export: export["records"][0].update(
        supersedes=[export["records"][0]["id"]]
    ),
    "tags twice": record(tags=["a", "a"]),
}


@pytest.mark.parametrize("how", ODD)
def test_an_odd_file_is_taken_or_named_as_odd(desk: Desk, source: Path, how: str) -> None:
    """H5: records in a strange relation are taken and verify, or the file is at fault; the store is
    never `unavailable`."""
    export = load(source)
    ODD[how](export)
    source.write_text(json.dumps(export))
    op = desk.operator("milton")
    try:
        op.import_(source)
    except (InvalidInput, Corrupt):
        assert size(op) == (0, 0)
    assert verified(op)


def test_tags_from_elsewhere_are_normal(desk: Desk, source: Path) -> None:
    """R8, H5: tags that come with an import are stripped, lower-cased and deduplicated
    like all tags."""
    export = load(source)
    export["records"][0]["tags"] = [" Tea ", "TEA", "b"]
    source.write_text(json.dumps(export))
    op = desk.operator("milton")
    op.import_(source)
    assert op.get(export["records"][0]["id"]).tags == ("tea", "b")


def test_all_of_a_large_import_or_none(desk: Desk, tmp_path: Path) -> None:
    """H5: a bad record at the end of a large file leaves none of the others behind."""
    with Desk(tmp_path / "source") as other:
        op = other.operator()
        op.remember_many([{"content": f"m {n}"} for n in range(1001)])
        path = op.export()
    export = load(path)
    export["records"][-1]["content"] = ""
    path.write_text(json.dumps(export))
    op = desk.operator("milton")
    with pytest.raises(InvalidInput):
        op.import_(path)
    assert size(op) == (0, 0)


def test_a_long_run_travels(desk: Desk, tmp_path: Path) -> None:
    """H5, L10: the ending of a run with more than a thousand notes can be imported like any record
    of ours."""
    with Desk(tmp_path / "source") as other:
        op = other.operator()
        run = op.run("task")
        notes = [
            op._scope.draft({"content": f"note {n}", "layer": "working"}, run.id)
            for n in range(1001)
        ]
        with op._scope.store.change(TESTER, "run.note", op._scope.clock()) as transaction:
            transaction.insert(notes)
        run.close()
        path = op.export()
    milton = desk.operator("milton")
    assert milton.import_(path)["taken"] == 1003
    assert verified(milton)


def test_long_texts_travel_where_they_are_allowed(desk: Desk, tmp_path: Path) -> None:
    """H5, R8: the limit of the importing store counts, as it does for remember."""
    limits = {"content.max_bytes": 2**21, "kinds.extra": ["recipe"]}
    with Desk(tmp_path / "source") as other:
        op = other.operator(settings=limits)
        op.remember("x" * (2**20 + 1), kind="recipe")
        path = op.export()
    assert desk.operator("milton", settings=limits).import_(path)["taken"] == 1


RAW: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "cut at the end": lambda data: data[:-3],
    "not JSON": lambda data: b"hello",
    "bytes": lambda data: b"\xff\xfe" + data,
    "a list": lambda data: b"[]",
    "another object": lambda data: b'{"format":"lamina-export"}',
    "another format": lambda data: data.replace(b'"lamina-export"', b'"milton"'),
    "a public export": lambda data: data.replace(b'"lamina-export"', b'"lamina-public"'),
    "another version": lambda data: data.replace(b'"version":2', b'"version":3'),
    "deep nesting": lambda data: b'{"a":' * 100_000,
    "deep metadata": lambda data: data.replace(
        b'"metadata":{}', b'"metadata":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    ),
    "a huge number": lambda data: data.replace(b'"seq":1,', b'"seq":' + b"9" * 5000 + b","),
    "1e999": lambda data: data.replace(b'"importance":0.5', b'"importance":1e999'),
    "NaN": lambda data: data.replace(b'"importance":0.5', b'"importance":NaN'),
    "half a pair": lambda data: data.replace(b"the first", b"\\ud800"),
    "an unknown layer": lambda data: data.replace(b'"layer":"world"', b'"layer":"attic"'),
    "an unknown state": lambda data: data.replace(b'"state":"superseded"', b'"state":"alive"'),
    "an unknown field": lambda data: data.replace(
        b'"layer":"world"', b'"layer":"world","colour":"red"'
    ),
    "a text as number": lambda data: data.replace(b'"confidence":1.0', b'"confidence":"high"'),
}


@every("how", RAW)
@every("agent", ["sky", "milton"])
def test_what_is_no_export_is_an_error(
    desk: Desk, tmp_path: Path, exported: bytes, agent: str, how: str
) -> None:
    """H5: truncated, foreign, deep or absurd files are a typed error, and nothing is imported."""
    source = tmp_path / "export.json"
    source.write_bytes(RAW[how](exported))
    assert source.read_bytes() != exported
    op = desk.operator(agent, store_id=None)
    with pytest.raises((InvalidInput, Corrupt)):
        op.import_(source)
    assert size(op) == (0, 0)


def test_every_truncation_is_noticed(desk: Desk, tmp_path: Path) -> None:
    """H5: wherever a file was cut off, it is an error and nothing is imported."""
    with Desk(tmp_path / "source") as other:
        op = other.operator()
        op.remember("x")
        path = op.export()
    good = path.read_bytes()
    op = desk.operator(store_id=None)
    for length in range(0, len(good) - 2, 7):
        path.write_bytes(good[:length])
        with pytest.raises(InvalidInput):
            op.import_(path)
    assert size(op) == (0, 0)


def test_files_that_cannot_be_read(op: Operator, tmp_path: Path) -> None:
    """H5: no file is NotFound, a folder is InvalidInput, and a path that cannot exist is one
    of the two."""
    with pytest.raises(NotFound):
        op.import_(tmp_path / "none.json")
    with pytest.raises(InvalidInput):
        op.import_(tmp_path)


@pytest.mark.parametrize("verb", ["export", "import_", "backup", "restore"])
def test_a_path_with_nul_is_a_typed_error(op: Operator, verb: str) -> None:
    """I: a path that no system can have is a typed error."""
    with pytest.raises(LaminaError):
        getattr(op, verb)("a\0b")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A git work tree, and a folder in it."""
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / "docs").mkdir()
    return tmp_path / "repository" / "docs"


def test_no_export_into_a_repository(op: Operator, tree: Path, tmp_path: Path) -> None:
    """H5, B6: a private export into a git work tree is refused, also through a link, and
    nothing is written."""
    op.remember("x")
    (tmp_path / "link").symlink_to(tree)
    for target in (tree / "x.json", tree / "new" / "x.json", tmp_path / "link" / "x.json"):
        with pytest.raises(Refused, match="git work tree"):
            op.export(target)
    assert list(tree.iterdir()) == []


def test_a_worktree_file_counts(op: Operator, tmp_path: Path) -> None:
    """H5: linked work trees and submodules have a .git file instead of a folder."""
    (tmp_path / "submodule").mkdir()
    (tmp_path / "submodule" / ".git").write_text("gitdir: elsewhere")
    with pytest.raises(Refused):
        op.export(tmp_path / "submodule" / "x.json")


def test_force_and_public_are_allowed(op: Operator, tree: Path) -> None:
    """H5: who insists may, and what is public may be there."""
    op.remember("x")
    assert load(op.export(tree / "a.json", force=True))["format"] == "lamina-export"
    assert load(op.export(tree / "b.json", public=True))["format"] == "lamina-public"


def test_an_export_overwrites_only_when_forced(op: Operator, tmp_path: Path) -> None:
    """H5: an existing file is left as it is."""
    path = tmp_path / "x.json"
    path.write_text("mine")
    with pytest.raises(InvalidInput, match="exists already"):
        op.export(path)
    assert path.read_text() == "mine"
    op.export(path, force=True)
    assert load(path)["agent"] == "sky"


def test_a_target_that_cannot_be_written(op: Operator, tmp_path: Path) -> None:
    """H5: a folder in the way is a typed error, and no temporary file is left."""
    (tmp_path / "folder").mkdir()
    with pytest.raises((StoreUnavailable, InvalidInput)):
        op.export(tmp_path / "folder", force=True)
    assert not list(tmp_path.glob("*.tmp"))


def test_the_default_place_is_private(desk: Desk, op: Operator) -> None:
    """H5, B7: without a path it goes to exports/ of the agent, named by the time."""
    path = op.export()
    assert path.parent == desk.folder() / "exports"
    assert path.name == "20260501T080001.000000Z.json"


def test_a_public_export_says_nothing_about_people(desk: Desk, tmp_path: Path) -> None:
    """H5: only active memories of nobody in particular, without profiles, raw metadata, session,
    source or events."""
    op = fill(desk)
    op.remember("said by Ben", speaker="Ben")
    desk.operator(user="ana").remember("Ana has diabetes")
    op.remember(
        "visible", metadata={"category": "c", "secret": "xyz"}, session="s", source="chat", key="k9"
    )
    shown = load(op.export(tmp_path / "x.json", public=True))
    assert shown.keys() == {"agent", "format", "records", "version"}
    active = op.list(states=["active"], limit=1000)
    expected = [
        r for r in active if r.layer is not Layer.PROFILE and r.user is None and r.speaker is None
    ]
    assert {record["id"] for record in shown["records"]} == {record.id for record in expected}
    allowed = (
        "id layer kind content importance score confidence trust tags occurred_at metadata".split()
    )
    assert all(sorted(record) == sorted(allowed) for record in shown["records"])
    (visible,) = [record for record in shown["records"] if record["content"] == "visible"]
    assert visible["metadata"] == {"category": "c"}
    assert not {"profile", "working"} & {record["layer"] for record in shown["records"]}


def test_a_selection_is_merged_and_never_restored(desk: Desk, tmp_path: Path) -> None:
    """H5, Q3: an export of some states or of one session has those records alone, as they were; it
    comes into an empty store too, by merging, and an unaltered kind with it."""
    op = desk.operator()
    op.remember("tea", session="s1", metadata={"type": "error"})
    op.forget(op.remember("soup", session="s1").id)
    op.remember("cake", session="s2")
    hidden = load(op.export(tmp_path / "hidden.json", states=["tombstoned"]))
    assert [record["content"] for record in hidden["records"]] == ["soup"]
    file = op.export(tmp_path / "some.json", states=["active"], session="s1")
    some = load(file)
    assert [record["content"] for record in some["records"]] == ["tea"]
    assert not any(some.get(name) for name in ("events", "notes", "grants", "archived"))
    other = desk.operator("hobbs")
    report = other.import_(file, trust=True)
    assert (report["mode"], report["taken"]) == ("merged", 1)
    (taken,) = other.list()
    assert (taken.content, taken.kind, taken.session) == ("tea", "error", "s1")
    with Desk(tmp_path / "empty") as empty:
        same = empty.operator()
        assert same.import_(file, trust=True)["mode"] == "merged"
        assert contents(same.list()) == ["tea"]
        assert verified(same)


def test_a_selection_for_others(desk: Desk, tmp_path: Path) -> None:
    """H5: states and a session choose for every format; a public export stays public."""
    op = desk.operator()
    op.remember("tea", session="s1")
    op.remember("cake", session="s2")
    op.remember("hers", session="s1", speaker="Ana")
    report = op.export_as("sky", tmp_path / "sky.jsonl", session="s1")
    assert report["records"] == 2
    public = load(op.export(tmp_path / "public.json", public=True, session="s1"))
    assert [record["content"] for record in public["records"]] == ["tea"]
    with pytest.raises(InvalidInput, match="state"):
        op.export(tmp_path / "none.json", states=["alive"])
    assert not (tmp_path / "none.json").exists()


def test_progress_ends_with_everything(desk: Desk, tmp_path: Path) -> None:
    """H5: export and import tell how far they are."""
    op = desk.operator()
    op.remember_many([{"content": str(n)} for n in range(1500)])
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))

    path = op.export(tmp_path / "x.json", progress=tell)
    assert told == [(1000, 1500), (1500, 1500)]
    desk.operator("milton").import_(path, progress=tell)
    assert told[-1] == (1500, 1500)


def test_another_open_handle_follows_an_import(desk: Desk, source: Path) -> None:
    """H5, P4: a handle that was open while the store became another one still verifies it and
    writes to it."""
    op, other = desk.operator(store_id=None), desk.operator()
    op.import_(source, trust=True)
    other.remember("from the other handle")
    assert verified(desk.operator())
    assert verified(other)


def test_an_import_is_in_a_trail(desk: Desk, source: Path) -> None:
    """P4: a restore by import leaves the imported trail as it was and is said among the reads; a
    merge is an event."""
    op = desk.operator(store_id=None)
    op.import_(source, trust=True)
    assert [(read.action, read.note["path"]) for read in op.audit_reads()] == [
        ("import", str(source))
    ]
    milton = desk.operator("milton")
    milton.import_(source)
    assert milton.audit_log(1)[0].action == "import"


def test_external_text_waits_for_an_operator(desk: Desk, source: Path) -> None:
    """V8: what comes from elsewhere is found as memory, but no fact, procedure, profile or tool of
    it is active."""
    op = desk.operator("milton")
    op.import_(source)
    active = op.list(limit=1000)
    assert {record.trust for record in active} == {Trust.EXTERNAL}
    assert not {record.layer for record in active} & BELIEVED
    assert "episodic active" in contents(active)
