"""Files that the original programs wrote: made with their own statements, taken in whole.

Every field of them comes over, or the report names it as lost.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lamina import Operator
from lamina.model.record import Layer, Record, State, Trust
from tests.cases import every
from tests.conftest import Desk, contents, verified
from tests.unit.formats.golden_files import everything
from tests.unit.formats.originals import (
    MILTON_LONG,
    MILTON_SHORT,
    SENTINEL,
    SENTINEL_NUMBERED,
    SKY,
    SKYLATTICE,
    SKYLATTICE_LATER,
    database,
    jsonl,
)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def by_key(op: Operator) -> dict[str, Record]:
    """The newest entry of the profile for each key, in whatever state."""
    return {
        str(record.metadata["profile_key"]): record
        for record in everything(op)
        if record.layer is Layer.PROFILE
    }


def test_the_database_of_skylattice(op: Operator, tmp_path: Path) -> None:
    """H5, H7, R3: with the defaults of its columns, its layers, states, lineage, times, runs,
    confidence, metadata and sources."""
    report = op.import_(database(tmp_path / "skylattice.sqlite3", SKYLATTICE), trust=True)
    assert (report["format"], report["taken"], report["rejected_count"]) == ("skylattice", 6, 0)
    assert "lost" not in report
    notes, detailed, concise, trunk, procedure, late = everything(op)
    assert (notes.session, notes.confidence, notes.metadata) == ("run-7", 0.9, {"task": "notes"})
    assert notes.evidence == ("run:run-7", "record:mem-1")
    assert (notes.occurred_at, notes.last_verified) == (
        at("2026-03-01T12:00"),
        at("2026-03-02T12:00"),
    )
    assert (detailed.state, detailed.superseded_by) == (State.SUPERSEDED, concise.id)
    assert concise.metadata["reason"] == "asked for it"
    assert (trunk.layer, trunk.state) == (Layer.SEMANTIC, State.CONSTRAINED)
    assert (procedure.layer, procedure.state) == (Layer.PROCEDURAL, State.TOMBSTONED)
    assert (late.occurred_at.tzinfo, late.content) == (UTC, "It says by itself when it was")
    assert op.user_profile().preferences == {"tone": "concise"}
    assert verified(op)


def test_another_version_of_skylattice(op: Operator, tmp_path: Path) -> None:
    """H5, H7: other names of columns and numbers as ids; a column without a place here is kept in
    the metadata, and bytes are named as lost."""
    path = database(tmp_path / "later.db", SKYLATTICE_LATER)
    report = op.import_(path)
    (record,) = everything(op)
    assert (record.layer, record.session, record.confidence) == (Layer.EPISODIC, "7", 0.5)
    assert record.evidence == ("https://example.org", "run:run-7", "record:1")
    assert record.metadata == {"task": "notes", "mood": "glad"}
    assert report["lost"] == {"embedding": 1}
    assert "lost" not in op.import_(path)


@every("trust", [False, True])
def test_the_export_of_skylattice_goes_in_and_out(desk: Desk, tmp_path: Path, trust: bool) -> None:
    """H5, H7: its envelope with version, time, filters and count; what is written is read again as
    the same records."""
    op = desk.operator()
    op.import_(database(tmp_path / "skylattice.sqlite3", SKYLATTICE), trust=trust)
    told = op.export_as("skylattice", tmp_path / "out.json")
    envelope = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert envelope.keys() == {"export_version", "generated_at", "filters", "count", "records"}
    assert (envelope["export_version"], envelope["count"]) == (1, told["records"])
    assert envelope["filters"] == {"layers": [], "statuses": []}
    assert len(envelope["records"]) == envelope["count"] == 6
    other = desk.operator("other")
    report = other.import_(tmp_path / "out.json", trust=trust)
    assert (report["format"], report["taken"], report["rejected_count"]) == ("skylattice", 6, 0)
    fields = ("layer", "state", "content", "confidence", "session", "occurred_at", "kind", "tags")
    for one, again in zip(everything(op), everything(other), strict=True):
        assert [getattr(again, name) for name in fields] == [getattr(one, name) for name in fields]
        assert again.metadata.items() >= one.metadata.items()
    indented = json.dumps(envelope, indent=2)
    (tmp_path / "indented.json").write_text(indented)
    assert other.import_(tmp_path / "indented.json", trust=trust)["taken"] == 0


def test_the_database_of_sentinel(op: Operator, tmp_path: Path) -> None:
    """H5, H7, R9: episodes, facts with `created_at`, metadata, and the profile of its core memory,
    beside an index and triggers that nobody runs."""
    report = op.import_(database(tmp_path / "sentinel.db", SENTINEL), trust=True)
    assert (report["format"], report["taken"], report["rejected_count"]) == ("sentinel", 8, 0)
    found = {record.content: record for record in everything(op)}
    moved, called = found["Ana moved to Porto"], found["Ana called"]
    assert (moved.tags, moved.importance, moved.metadata) == (("travel",), 0.7, {"mood": "glad"})
    assert (moved.occurred_at, called.importance) == (at("2026-02-01T09:00"), 0.5)
    lisbon, porto = found["Ana lives in Lisbon"], found["Ana lives in Porto"]
    assert (lisbon.state, lisbon.superseded_by) == (State.SUPERSEDED, porto.id)
    assert (porto.confidence, porto.occurred_at) == (0.9, at("2026-02-02T10:00"))
    assert porto.evidence == ("record:ep-1", "record:fact-2")
    profile = op.user_profile()
    assert (profile.name, profile.preferences) == ("Ana", {"drink": "tea"})
    assert (profile.interests, profile.communication_style) == (["boats"], "casual")
    assert by_key(op)["name"].occurred_at == at("2026-02-01T08:00:00.123456")
    assert verified(op)


def test_a_database_of_sentinel_with_numbers_for_ids(desk: Desk, tmp_path: Path) -> None:
    """H5, H7: an episode and a fact with one number are two memories; columns of the document and of
    the program come together; an export holds them again."""
    op, path = desk.operator(), database(tmp_path / "sentinel.db", SENTINEL_NUMBERED)
    report = op.import_(path, trust=True)
    assert (report["taken"], report["rejected_count"], report["lost"]) == (3, 0, {"embedding": 1})
    episode, lisbon, porto = everything(op)
    assert episode.metadata == {
        "mood": "glad",
        "participants": ["Ana"],
        "raw_hash": "ab12",
        "created_at": "2026-02-05 09:00:00",
    }
    assert (lisbon.superseded_by, porto.supersedes) == (porto.id, (lisbon.id,))
    assert (porto.last_verified, porto.metadata["by"]) == (at("2026-02-03T10:00"), "sleep")
    assert (porto.metadata["source_episode"], porto.evidence[0]) == (1, "record:episodes.1")
    assert op.import_(path, trust=True)["taken"] == 0
    op.export_as("sentinel", tmp_path / "out.db")
    again = desk.operator("again")
    assert again.import_(tmp_path / "out.db", trust=True)["taken"] == 3
    assert contents(everything(again)) == contents(everything(op))


def test_the_files_of_milton(op: Operator, tmp_path: Path) -> None:
    """H5, H7, B5, V1: items, the profile and projects of both files; trusted, all of it holds, and
    the later profile has taken the place of the earlier one."""
    short = op.import_(jsonl(tmp_path / "short_term.jsonl", MILTON_SHORT), trust=True)
    long = op.import_(jsonl(tmp_path / "long_term.jsonl", MILTON_LONG), trust=True)
    assert (short["taken"], short["rejected_count"], long["rejected_count"]) == (1, 0, 0)
    item = everything(op)[0]
    assert (item.kind, item.importance, item.source) == ("preference", 0.6, "chat")
    assert item.metadata == {"agent": "nexus", "request_id": "req-9"}
    profile = op.user_profile()
    assert profile.preferences == {"prefers-tea": "prefers tea"}
    assert profile.stable_facts == ["lives in Porto", "has a boat"]
    assert profile.do_not_assume == ["a car"]
    assert by_key(op)["stable_facts"].occurred_at == at("2026-01-04T00:00")
    assert "record:6a1d" in by_key(op)["stable_facts"].evidence
    (project,) = op.projects()
    assert (project.project_name, project.goals, project.blockers, project.next_steps) == (
        "boat",
        ["sail"],
        ["no wind"],
        ["wait"],
    )
    earlier = [one for one in everything(op) if one.state is State.SUPERSEDED]
    assert [one.metadata["value"] for one in earlier] == [["lives in Porto"]]
    assert verified(op)


def test_the_profile_of_milton_waits_for_a_person(op: Operator, tmp_path: Path) -> None:
    """V1, V8: without trust each key is a proposal with evidence, of which the newest waits; one
    that is confirmed holds, and the file changes nothing any more."""
    path = jsonl(tmp_path / "long_term.jsonl", MILTON_LONG)
    report = op.import_(path)
    assert report["rejected_count"] == 0
    assert (op.user_profile().stable_facts, op.projects()) == ([], [])
    waiting = [record for record in everything(op) if record.state is State.CONSTRAINED]
    assert len(waiting) == report["pending"] == 4
    assert {record.trust for record in waiting} == {Trust.EXTERNAL}
    assert all("record:5f0c" in record.evidence for record in waiting)
    assert by_key(op)["stable_facts"].metadata["value"] == ["lives in Porto", "has a boat"]
    for record in waiting:
        op.confirm(record.id)
    assert op.user_profile().stable_facts == ["lives in Porto", "has a boat"]
    assert [project.project_name for project in op.projects()] == ["boat"]
    before = everything(op)
    assert op.import_(path)["taken"] == 0
    assert everything(op) == before
    assert verified(op)


@pytest.mark.parametrize("wrapper", ["data", "payload"])
def test_a_reader_of_either_wrapper_finds_what_is_written(
    desk: Desk, tmp_path: Path, wrapper: str
) -> None:
    """B5, H7: the lines of an export, cut down to one of the two wrappers, are the same memories."""
    op = desk.operator()
    op.import_(jsonl(tmp_path / "short_term.jsonl", MILTON_SHORT), trust=True)
    op.export_as("milton", tmp_path / "out.jsonl")
    written = [
        json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    ]
    cut = [{"record_type": line["record_type"], "data": line[wrapper]} for line in written]
    other = desk.operator("other")
    assert other.import_(jsonl(tmp_path / "cut.jsonl", cut), trust=True)["taken"] == 1
    (one,), (again,) = everything(op), everything(other)
    for name in ("content", "kind", "tags", "importance", "source", "occurred_at"):
        assert getattr(again, name) == getattr(one, name)


def test_both_documents_of_sky_in_one_file(op: Operator, tmp_path: Path) -> None:
    """B5, H7, R4: either spelling of time, tier and importance, also together, on each line."""
    (tmp_path / "sky.jsonl").write_text(SKY)
    report = op.import_(tmp_path / "sky.jsonl", trust=True)
    assert (report["taken"], report["rejected_count"]) == (5, 0)
    assert [(one.layer, one.kind, one.importance) for one in everything(op)] == [
        (Layer.SHORT_TERM, "action", 0.0),
        (Layer.SHORT_TERM, "crumb", 0.85),
        (Layer.SEMANTIC, "insight", 0.8),
        (Layer.EPISODIC, "crumb", 0.85),
        (Layer.SEMANTIC, "decision", 0.85),
    ]
    report_, asked, slept, promoted, _ = everything(op)
    assert report_.metadata == {
        "type": "action",
        "tool": "morning_reporter",
        "status": "success",
    }
    assert (asked.tags, asked.occurred_at.timestamp()) == (("garmin", "sleep"), 1699999999.123)
    assert (slept.tags, slept.metadata["category"]) == (("sleep",), "health")
    assert promoted.promoted_at == datetime.fromtimestamp(1700000100, UTC)


def test_rows_that_are_no_memories_are_told(op: Operator, tmp_path: Path) -> None:
    """B5: a row with bytes for its text, JSON that is none, or a key that names nothing is named and
    kept; the others come in."""
    more = """
    INSERT INTO episodes VALUES ('ep-3', '2026-02-01', x'00', NULL, 0.5, NULL),
        ('ep-4', '2026-02-01', 'text', NULL, 0.5, '{'), ('ep-5', '2026-02-01', 'text', NULL, 0.5, '[]');
    INSERT INTO core_memory VALUES (' ', 'x', NULL), ('empty', ' ', NULL), ('odd', '{not json', NULL);
    """
    report = op.import_(database(tmp_path / "sentinel.db", SENTINEL + more), trust=True)
    assert (report["taken"], report["rejected_count"]) == (9, 5)
    assert len(Path(report["rejected_file"]).read_text("utf-8").splitlines()) == 5
    assert by_key(op)["odd"].metadata["value"] == "{not json"
