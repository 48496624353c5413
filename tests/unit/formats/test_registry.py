"""Files of other programs: known by what they hold, taken as their documents mean them, and each
thing once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Operator
from lamina.errors import InvalidInput, LaminaError, NotFound
from lamina.formats import mcp_memory, mem0, milton, registry, sentinel, sky, skylattice
from lamina.model.record import Layer, State, Trust
from tests.cases import every
from tests.conftest import CONTRACTS, Desk, contents, digest, size, verified
from tests.unit.formats.golden_files import FILES, GOLDEN, everything, golden


def when(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0, micro: int = 0
) -> datetime:
    return datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC)


@pytest.mark.parametrize(("name", "form"), FILES.items())
def test_files_are_told_apart(tmp_path: Path, name: str, form: str) -> None:
    """H5: by what is in them, whatever they are called."""
    path = golden(tmp_path, name)
    assert registry.detect(path) == form
    assert registry.detect(path.rename(tmp_path / "memories.txt")) == form


@every("name", FILES)
@every("trust", [False, True])
def test_a_second_import_takes_nothing(desk: Desk, tmp_path: Path, name: str, trust: bool) -> None:
    """H5, L1: what was taken is here; the second time it is skipped, what was rejected is rejected
    again, and all verifies."""
    op, path = desk.operator(), golden(tmp_path, name)
    first = op.import_(path, trust=trust)
    before = size(op), everything(op)
    again = op.import_(path, trust=trust)
    assert first["taken"] > 0
    assert (again["taken"], again["rejected_count"]) == (0, first["rejected_count"])
    assert not again.keys() & {"replaced", "grown", "removed"}
    assert (size(op), everything(op)) == before
    assert verified(op)


@pytest.mark.parametrize("name", FILES)
def test_nothing_foreign_is_believed(desk: Desk, tmp_path: Path, name: str) -> None:
    """V8: without trust all is external, and nothing of it is active semantic, procedural or
    profile memory."""
    op = desk.operator()
    report = op.import_(golden(tmp_path, name))
    found = everything(op)
    assert {record.trust for record in found} == {Trust.EXTERNAL}
    assert not {record.layer for record in found if record.state is State.ACTIVE} & {
        "semantic",
        "procedural",
        "profile",
    }
    assert report["pending"] == sum(record.state is State.CONSTRAINED for record in found)
    assert not [
        record for record in found if record.supersedes and record.layer is not Layer.EPISODIC
    ]


@every("name", FILES)
@every("trust", [False, True])
def test_a_dry_run_reports_and_changes_nothing(
    desk: Desk, tmp_path: Path, name: str, trust: bool
) -> None:
    """H5: the same report as the import, and neither a record nor an event nor a
    file of rejects."""
    op, path = desk.operator(), golden(tmp_path, name)
    op.remember("here")
    before, files = (size(op), digest(path)), sorted(tmp_path.iterdir())
    rehearsed = op.import_(path, trust=trust, dry_run=True)
    assert ((size(op), digest(path)), sorted(tmp_path.iterdir())) == (before, files)
    done = op.import_(path, trust=trust)
    assert rehearsed.pop("dry_run") is True
    assert {**rehearsed, "rejected_file": None} == {**done, "rejected_file": None}


def test_skylattice_keeps_layers_states_and_lineage(desk: Desk, tmp_path: Path) -> None:
    """H5, R3: trusted, each record is in its layer and state, what superseded what is known, and
    working memory is refused."""
    op = desk.operator()
    report = op.import_(golden(tmp_path, "skylattice.json"), trust=True)
    new, old, episode, radar, procedure = everything(op)
    assert [(one.layer, one.state) for one in (new, old, episode, radar, procedure)] == [
        (Layer.PROFILE, State.ACTIVE),
        (Layer.PROFILE, State.SUPERSEDED),
        (Layer.EPISODIC, State.ACTIVE),
        (Layer.SEMANTIC, State.CONSTRAINED),
        (Layer.PROCEDURAL, State.TOMBSTONED),
    ]
    assert (new.supersedes, old.superseded_by, old.valid_to) == (
        (old.id,),
        new.id,
        when(2026, 3, 2, 10),
    )
    assert (episode.session, episode.confidence, episode.occurred_at) == (
        "run-7",
        0.9,
        when(2026, 3, 1, 12),
    )
    assert episode.evidence == ("run:run-7", "record:mem-episode")
    assert radar.metadata["repo_slug"] == "example/trunk"
    assert procedure.last_verified == when(2026, 3, 3, 14)
    assert [(one["line"], one["message"]) for one in report["rejected"]] == [
        (35, "this is working memory, which ends with its run")
    ]
    assert op.user_profile().preferences == {"pull_requests": "small"}
    assert op.rollback(new.id).state is State.TOMBSTONED
    assert op.user_profile().preferences == {"pull_requests": "large"}


def test_skylattice_as_lines_and_as_a_database(desk: Desk, tmp_path: Path) -> None:
    """H5: the same records as JSONL, as a plain list and as the table of its store are
    the same memories."""
    records = json.loads((GOLDEN / "skylattice.json").read_text("utf-8"))["records"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    (tmp_path / "b.json").write_text(json.dumps(records))
    connection = apsw.Connection(str(tmp_path / "c.db"))
    connection.execute(
        "CREATE TABLE memory_records (record_id, run_id, layer, summary, source_refs_json, "
        "metadata_json, confidence, status,"
        " supersedes, created_at, updated_at)"
    )
    for one in records:
        row = {
            **one,
            "source_refs": json.dumps(one["source_refs"]),
            "metadata": json.dumps(one["metadata"]),
        }
        order = (
            "record_id",
            "run_id",
            "layer",
            "summary",
            "source_refs",
            "metadata",
            "confidence",
            "status",
        )
        values = [row[name] for name in (*order, "supersedes", "created_at", "updated_at")]
        connection.execute(f"INSERT INTO memory_records VALUES ({', '.join('?' * 11)})", values)
    connection.close()
    op = desk.operator()
    assert [op.import_(tmp_path / name)["taken"] for name in ("a.jsonl", "b.json", "c.db")] == [
        5,
        0,
        0,
    ]


def test_sentinel_keeps_episodes_and_facts(desk: Desk, tmp_path: Path) -> None:
    """R9, H5: episodes with participants and hash, facts with source, confidence and what
    superseded them; the views agree."""
    op = desk.operator()
    op.import_(golden(tmp_path, "sentinel.db"), trust=True)
    train, moved, lisbon, porto = everything(op)
    assert (train.metadata, train.tags, train.importance) == (
        {"participants": ["Ana", "Sentinel"], "raw_hash": "ab12"},
        ("travel",),
        0.7,
    )
    assert moved.occurred_at == when(2026, 2, 2, 9)
    assert (lisbon.state, lisbon.superseded_by, porto.supersedes) == (
        State.SUPERSEDED,
        porto.id,
        (lisbon.id,),
    )
    assert (porto.confidence, porto.last_verified) == (0.9, when(2026, 2, 3, 10))
    assert porto.metadata["source_episode"] == "ep-2"
    assert porto.evidence == ("record:ep-2", "record:fact-2")


def test_a_profile_of_sentinel_needs_a_person(op: Operator, tmp_path: Path) -> None:
    """V1: each entry of a snapshot of a profile waits for review; nothing of it is believed."""
    profile = {
        "name": "Ana",
        "preferences": {},
        "schedule": {"work": "9 to 5"},
        "interests": ["tea"],
        "communication_style": "casual",
        "evidence_ids": ["ep-1"],
        "last_updated": "2026-01-02T03:04:05Z",
    }
    (tmp_path / "user_profile.json").write_text(json.dumps(profile, indent=2))
    report = op.import_(tmp_path / "user_profile.json")
    assert (report["taken"], report["pending"], report["rejected_count"]) == (4, 4, 0)
    assert sorted(record.metadata["profile_key"] for record in everything(op)) == [
        "communication_style",
        "interests",
        "name",
        "schedule.work",
    ]
    assert all(
        ("record:ep-1" in record.evidence, record.occurred_at) == (True, when(2026, 1, 2, 3, 4, 5))
        for record in everything(op)
    )
    assert op.user_profile().name is None


def test_mem0_keeps_people_times_and_categories(desk: Desk, tmp_path: Path) -> None:
    """H5, R12: a memory is its user's, with its times, run, speaker and categories; what has no
    field is in the metadata."""
    op = desk.operator()
    report = op.import_(golden(tmp_path, "mem0.json"), trust=True)
    hiking, nuts, relation = everything(op)
    assert [one.user for one in (hiking, nuts, relation)] == ["alex"] * 3
    assert (hiking.speaker, hiking.session) == ("Alex", "trip-1")
    assert hiking.occurred_at == when(2025, 7, 20, 8, 30, 36, 275141)
    assert {
        "category": "hobbies",
        "agent_id": "travel-bot",
        "role": "user",
    }.items() <= hiking.metadata.items()
    assert (nuts.tags, nuts.last_verified, nuts.layer) == (
        ("health", "food"),
        when(2025, 7, 22, 8),
        Layer.SEMANTIC,
    )
    assert nuts.metadata["immutable"] is True
    assert relation.content == "alex travels_with sam"
    assert "whose it is" in report["rejected"][0]["message"]
    assert not desk.agent(user="kim").list()


def test_mem0_history_is_told_again(desk: Desk, tmp_path: Path) -> None:
    """H5: an update supersedes, a deletion hides, and the times are those of the file."""
    op = desk.operator()
    report = op.import_(golden(tmp_path, "mem0_history.json"))
    berlin, bike, hamburg, bremen = everything(op)
    assert (report["taken"], report["replaced"], report["removed"]) == (2, 2, 1)
    assert [one.state for one in (berlin, bike, hamburg, bremen)] == [
        "superseded",
        "tombstoned",
        "superseded",
        "active",
    ]
    assert (berlin.superseded_by, hamburg.superseded_by) == (hamburg.id, bremen.id)
    assert (bremen.metadata, bremen.speaker) == ({"history_id": "h5", "role": "user"}, "alex")
    assert (berlin.valid_to, hamburg.valid_to) == (when(2025, 2, 1, 10), when(2025, 4, 1, 10))
    assert contents(op.list()) == ["Lives in Bremen"]


def test_mem0_history_does_not_reach_what_is_trusted(desk: Desk, tmp_path: Path) -> None:
    """V8: a file that nobody vouches for neither replaces nor removes what an operator has taken in
    with trust."""
    op = desk.operator()
    history = json.loads((GOLDEN / "mem0_history.json").read_text("utf-8"))
    (tmp_path / "a.json").write_text(json.dumps(history[:2]))
    (tmp_path / "b.json").write_text(json.dumps(history[2:]))
    op.import_(tmp_path / "a.json", trust=True)
    report = op.import_(tmp_path / "b.json")
    assert (report["taken"], report["rejected_count"]) == (0, 3)
    assert sorted(contents(op.list())) == ["Lives in Berlin", "Owns a bike"]


def test_a_graph_is_memories_about_entities(desk: Desk, tmp_path: Path) -> None:
    """H5: each observation is one, with its entity; a relation is one; an entity that grew brings
    only what is new."""
    op, path = desk.operator(), golden(tmp_path, "mcp-memory.jsonl")
    op.import_(path)
    assert contents(everything(op)) == [
        "John_Smith: Speaks fluent Spanish",
        "John_Smith: Prefers morning meetings",
        "Anthropic",
        "John_Smith works_at Anthropic",
    ]
    assert everything(op)[0].metadata == {
        "entity": "John_Smith",
        "entity_type": "person",
        "graph": "observation",
    }
    grown = path.read_text("utf-8").replace('"Prefers', '"Has a cat","Prefers')
    path.write_text(grown)
    report = op.import_(path)
    assert (report["taken"], report["skipped"]) == (1, 4)
    assert everything(op)[-1].content == "John_Smith: Has a cat"
    graph = {"entities": [json.loads(line) for line in grown.splitlines()[:2]], "relations": []}
    (tmp_path / "graph.json").write_text(json.dumps(graph, indent=1))
    assert op.import_(tmp_path / "graph.json")["taken"] == 0


def test_an_observation_says_of_whom_and_comes_back_as_it_was(desk: Desk, tmp_path: Path) -> None:
    """H5: a search for Mary finds what was observed of her; an export has the observations
    of the file."""
    said = [
        "Speaks fluent French",
        "Mary is kind",
        "mary likes tea",
        "Mary: quoted",
        "Mary: Mary: twice",
        "Maryland is home",
    ]
    entity = {"type": "entity", "name": "Mary", "entityType": "person", "observations": said}
    (tmp_path / "graph.jsonl").write_text(json.dumps(entity) + "\n")
    op = desk.operator()
    op.import_(tmp_path / "graph.jsonl", trust=True)
    assert "Mary: Speaks fluent French" in [
        hit.record.content for hit in op.search("Mary", limit=20)
    ]
    assert [one for one in contents(everything(op)) if not one.casefold().startswith("mary")] == []
    op.export_as("mcp-memory", tmp_path / "back.jsonl")
    assert json.loads((tmp_path / "back.jsonl").read_text("utf-8")) == entity
    spoken = next(one for one in everything(op) if "French" in one.content)
    op.correct(spoken.id, "Mary: Speaks some French", "asked her")
    op.export_as("mcp-memory", tmp_path / "later.jsonl")
    assert (
        "Speaks some French"
        in json.loads((tmp_path / "later.jsonl").read_text("utf-8"))["observations"]
    )


def test_what_is_wrong_on_one_line_is_told_apart(op: Operator, tmp_path: Path) -> None:
    """H5, B5: a document may be all on one line; each memory that is not taken is named by its
    number in the file."""
    edge = {"source": "a", "relationship": "knows", "target": "b"}
    path = tmp_path / "mem0.json"
    path.write_text(
        json.dumps(
            {
                "results": [{"id": "m1", "memory": "likes tea"}, {"id": "m2", "memory": " "}],
                "relations": [edge],
            }
        )
    )
    told = [(one["line"], str(one["message"])) for one in op.import_(path)["rejected"]]
    assert [(line, message.split(":")[0]) for line, message in told] == [
        (1, "memory 2 of the file"),
        (1, "memory 3 of the file"),
    ]


def test_one_bad_observation_spoils_no_other(op: Operator, tmp_path: Path) -> None:
    """B5: what cannot be a memory is named, and its line is kept once; the other
    observations are taken."""
    entity = {
        "type": "entity",
        "name": "a",
        "entityType": "b",
        "observations": ["good", " ", "\u200b", "fine"],
    }
    path = tmp_path / "graph.jsonl"
    path.write_text(json.dumps(entity) + "\n")
    report = op.import_(path)
    assert (report["taken"], report["rejected_count"]) == (2, 2)
    assert len(Path(report["rejected_file"]).read_bytes().splitlines()) == 1


# What is here already, and what a file may do about it.
def milton_line(**more: Any) -> str:
    item = {"id": "mem-1", "ts": 1, "type": "fact", "content": "likes tea", "tags": ["a"], **more}
    return json.dumps({"record_type": "memory_item", "payload": item}) + "\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "milton.jsonl"


def test_another_text_is_refused_unless_it_may_replace(desk: Desk, file: Path) -> None:
    """H5: skip and merge leave a text as it is and name the line; replace supersedes it with
    lineage, once."""
    op = desk.operator()
    file.write_text(milton_line())
    op.import_(file)
    file.write_text(milton_line(content="likes coffee"))
    for policy in ("skip", "merge"):
        report = op.import_(file, on_conflict=policy)
        assert "is here with another text" in report["rejected"][0]["message"]
    report = op.import_(file, on_conflict="replace")
    assert (report["taken"], report["replaced"], report["rejected_count"]) == (0, 1, 0)
    old, new = everything(op)
    assert (old.state, old.superseded_by, new.supersedes) == (State.SUPERSEDED, new.id, (old.id,))
    assert contents(op.list()) == ["likes coffee"]
    again = op.import_(file, on_conflict="replace")
    assert (again["skipped"], again.get("replaced")) == (1, None)
    file.write_text(milton_line(content="likes water"))
    assert op.import_(file, on_conflict="replace")["replaced"] == 1
    assert contents(op.list()) == ["likes water"]
    file.write_text(milton_line())
    assert op.import_(file, on_conflict="replace")["skipped"] == 1
    assert verified(op)


def test_two_assistants_may_count_alike(op: Operator, file: Path) -> None:
    """H5: the same id is the same memory only within one assistant's items."""
    file.write_text(
        milton_line(agent="milton") + milton_line(agent="hobbs", content="likes coffee")
    )
    report = op.import_(file)
    assert (report["taken"], report["rejected_count"]) == (2, 0)
    file.write_text(milton_line(agent="milton", content="likes water"))
    assert op.import_(file)["rejected_count"] == 1


def test_merging_only_grows(desk: Desk, file: Path) -> None:
    """H5, L11: evidence and metadata grow, neither shrinks or changes, and tags, which never
    change, are named as lost."""
    op = desk.operator()
    file.write_text(milton_line(evidence=["./a"], request_id="r1"))
    op.import_(file)
    file.write_text(
        milton_line(evidence=["./b"], request_id="r2", metadata={"mood": "good"}, tags=["b"])
    )
    assert op.import_(file)["skipped"] == 1
    report = op.import_(file, on_conflict="merge")
    (record,) = everything(op)
    assert (report["grown"], report["lost"]) == (1, {"tags": 1})
    assert record.evidence == ("./a", "record:mem-1", "./b")
    assert record.metadata == {"request_id": "r1", "mood": "good"}
    assert record.tags == ("a",)
    assert op.import_(file, on_conflict="merge")["skipped"] == 1
    assert verified(op)


@pytest.mark.parametrize("policy", ["merge", "replace"])
def test_a_file_without_trust_changes_nothing_that_is_trusted(
    desk: Desk, file: Path, policy: str
) -> None:
    """V8: neither growing nor replacing reaches a memory that is more trusted than the file;
    --trust does."""
    op = desk.operator()
    mine = op.remember("tea", kind="fact")
    line = {
        **sky.line_of(mine),
        "content": "tea" if policy == "merge" else "poison",
        "metadata": {"type": "fact", "x": 1},
    }
    file.write_text(json.dumps(line))
    report = op.import_(file, on_conflict=policy)
    assert "more trusted than this file" in report["rejected"][0]["message"]
    assert op.get(mine.id) == mine
    assert (
        op.import_(file, trust=True, on_conflict=policy)[
            "grown" if policy == "merge" else "replaced"
        ]
        == 1
    )


def test_a_taken_place_is_replaced_only_with_trust(desk: Desk, tmp_path: Path) -> None:
    """V1, V8: one key of the profile has one value; a trusted file may replace it, and a rollback
    brings it back."""
    op = desk.operator()
    mine = op.remember("likes tea", layer="profile", metadata=CONTRACTS["profile"])
    theirs = {
        "record_id": "p1",
        "layer": "profile",
        "summary": "likes cola",
        "metadata": {**CONTRACTS["profile"], "value": "cola"},
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(theirs))
    assert (
        "something else is known"
        in op.import_(tmp_path / "a.jsonl", trust=True)["rejected"][0]["message"]
    )
    assert op.import_(tmp_path / "a.jsonl", on_conflict="replace")["pending"] == 1
    assert op.get(mine.id).state is State.ACTIVE
    other = desk.operator("other")
    mine = other.remember("likes tea", layer="profile", metadata=CONTRACTS["profile"])
    assert other.import_(tmp_path / "a.jsonl", trust=True, on_conflict="replace")["replaced"] == 1
    assert other.user_profile().preferences == {"drink": "cola"}
    other.rollback(other.list(layers=["profile"])[0].id)
    assert other.user_profile().preferences == {"drink": "tea"}


def test_what_is_hidden_is_not_replaced(desk: Desk, file: Path) -> None:
    """R3: a memory that was forgotten has no place that another could take."""
    op = desk.operator()
    file.write_text(milton_line())
    op.import_(file)
    op.forget(everything(op)[0].id)
    file.write_text(milton_line(content="likes coffee"))
    report = op.import_(file, on_conflict="replace")
    assert "is tombstoned: nothing takes its place" in report["rejected"][0]["message"]
    assert op.list() == []


def test_what_was_erased_or_rejected_stays_out(desk: Desk, file: Path) -> None:
    """P5, V6: no policy and no trust brings back what was erased here."""
    op = desk.operator()
    file.write_text(milton_line())
    op.import_(file)
    op.erase(everything(op)[0].id)
    for policy in ("skip", "merge", "replace"):
        report = op.import_(file, trust=True, on_conflict=policy)
        assert (report["taken"], "erased" in report["rejected"][0]["message"]) == (0, True)


def test_a_form_can_be_forced(op: Operator, file: Path) -> None:
    """H5: who knows better says so; an unknown name is an error that lists the known ones."""
    file.write_text('{"content": "x", "ts": 1}\n')
    assert op.import_(file, format="milton")["format"] == "milton"
    file.write_text('{"content": "x", "timestamp": 1}\n')
    assert "no field 'timestamp'" in op.import_(file, format="lamina")["rejected"][0]["message"]
    with pytest.raises(InvalidInput, match="known are lamina, sky, milton"):
        op.import_(file, format="csv")
    with pytest.raises(InvalidInput, match="known are skip, merge, replace"):
        op.import_(file, on_conflict="overwrite")
    with pytest.raises(InvalidInput):
        op.import_(file, format="sentinel", on_conflict=5)  # type: ignore[arg-type]


WRONG: dict[str, bytes] = {
    "empty.json": b"",
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "text.md": b"# Notes\n\nbuy milk\n",
    "number.json": b"5",
    "cut.json": b'{"results": [{"id": "a", "memory": "tea"}, {"id": "b", "mem',
    "cut-list.json": b'[{"id": "a", "memory": "tea"}, {"id": "b", "mem',
    "utf16.json": '[{"memory": "tea"}]'.encode("utf-16"),
    "nulls.json": bytes(5000),
    "export.json": b'{"format": "lamina-export", "version": 2, "records": [',
    "public.json": b'{"format": "lamina-public", "version": 2, "agent": "sky", "records": [{"id": "a"}]}',
    "deep.json": b"[" * 500_000,
    "deeper.json": b'{"a":' * 500_000,
}


@every("name", WRONG)
@every("form", [None, *registry.NAMES])
def test_a_wrong_file_leaves_no_trace(
    op: Operator, tmp_path: Path, name: str, form: str | None
) -> None:
    """H5: whatever it is taken for, it is a typed error or a report in which nothing was taken; the
    store is as before."""
    (tmp_path / name).write_bytes(WRONG[name])
    with suppress(LaminaError):
        report = op.import_(tmp_path / name, format=form)
        assert report["taken"] == 0
        assert report["rejected_count"] > 0 or not WRONG[name]
    assert size(op) == (0, 0)
    assert op.remember("usable").seq == 1


def test_a_truncated_document_is_an_error_of_the_whole(op: Operator, tmp_path: Path) -> None:
    """H5: the first half of a document is not imported as if it were all, and no file of
    rejects is left."""
    path = tmp_path / "mem0.json"
    for name in ("cut.json", "cut-list.json"):
        path.write_bytes(WRONG[name])
        with pytest.raises(InvalidInput, match="was it cut off"):
            op.import_(path)
    assert size(op) == (0, 0)
    assert list(tmp_path.glob("*.rejected")) == []
    with pytest.raises(NotFound):
        op.import_(tmp_path / "nothing.json")


def test_a_sparse_giant_is_refused(op: Operator, tmp_path: Path) -> None:
    """H5: an export that no memory could hold is refused before it is read."""
    path = tmp_path / "giant.json"
    with path.open("wb") as file:
        file.write(b'{"agent":"sky","format":"lamina-export"')
        file.truncate(1 << 42)
    with pytest.raises(InvalidInput, match="this machine cannot hold"):
        op.import_(path)


FORMS = {
    "sky": sky,
    "milton": milton,
    "skylattice": skylattice,
    "sentinel": sentinel,
    "mem0": mem0,
    "mcp": mcp_memory,
}
NAMES = sorted(
    {
        *sky.FIELDS,
        *skylattice.FIELDS,
        *sentinel.EPISODE,
        *sentinel.FACT,
        *mem0.EVENT,
        *mcp_memory.ENTITY,
        *mcp_memory.RELATION,
    }
    | {
        "memory",
        "user_id",
        "run_id",
        "categories",
        "relationship",
        "source",
        "target",
        "record_type",
        "payload",
        "data",
        "event",
        "key",
        "value",
        *milton.PAYLOADS[milton.PROFILE],
        *milton.PAYLOADS[milton.PROJECT],
    }
)
ODD = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        5,
        0.5,
        1e300,
        "",
        " ",
        "x",
        "a\nb",
        "active",
        "semantic",
        "ADD",
        "DELETE",
        "[]",
        "{",
        '["a"]',
        "2026-01-01",
    ]
) | st.sampled_from(
    [[], ["a"], [1], [None], {}, {"a": 1}, {"tags": 5, "importance": "x", "type": []}, "x" * 300]
)


@given(st.sampled_from(sorted(FORMS)), st.dictionaries(st.sampled_from(NAMES), ODD, max_size=9))
def test_any_line_is_read_or_refused(name: str, line: Mapping[str, Any]) -> None:
    """H5, B5: whatever values stand under the names of a form, they are entries or
    a typed error."""
    module: Any = FORMS[name]
    with suppress(LaminaError):
        found = (
            module.entries_of(line) if hasattr(module, "entries_of") else [module.entry_of(line)]
        )
        assert all(isinstance(entry.item, dict) for entry in found)


@given(
    st.lists(st.dictionaries(st.sampled_from(NAMES), ODD, max_size=7), max_size=4),
    st.booleans(),
    st.sampled_from(registry.NAMES),
)
def test_any_file_of_lines_is_taken_or_kept(
    tmp_path_factory: pytest.TempPathFactory, found: list[Any], trust: bool, form: str
) -> None:
    """H5, B5: a file of such lines in any form never fails as a whole, and what
    it leaves verifies."""
    folder = tmp_path_factory.mktemp("any")
    with Desk(folder / "home") as desk:
        op, path = desk.operator(), folder / "any.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in found))
        for policy in ("skip", "merge", "replace"):
            op.import_(path, trust=trust, format=form, on_conflict=policy)
        assert verified(op)


def damaged(random: Random, data: bytes) -> bytes:
    """A file to which something has happened: bytes changed, lost, put in between, or the
    end cut off."""
    found = bytearray(data)
    for _ in range(random.randint(1, 6)):
        place, how = random.randrange(len(found)), random.randrange(4)
        if how == 0:
            found[place] = random.randrange(256)
        elif how == 1:
            del found[place : place + random.randint(1, 40)]
        elif how == 2:
            found[place:place] = random.choice(
                [b"{", b"}", b"[", b"]", b'"', b",", b"\\", b"null", b"1e999", b"\0", b"\xff"]
            )
        else:
            del found[max(1, place) :]
        found = found or bytearray(b"{")
    return bytes(found)


def test_damaged_files_leave_a_sound_store(desk: Desk, tmp_path: Path) -> None:
    """H5: whatever happens to a file of any form, the import is a report or a typed error, and the
    store verifies."""
    op, random = desk.operator(), Random(7)
    whole = {name: golden(tmp_path, name).read_bytes() for name in FILES}
    for _ in range(200):
        name = random.choice(list(whole))
        path = tmp_path / f"damaged-{name}"
        path.write_bytes(damaged(random, whole[name]))
        with suppress(LaminaError):
            op.import_(
                path,
                trust=random.random() < 0.5,
                on_conflict=random.choice(["skip", "merge", "replace"]),
            )
    assert size(op)[0] > 10
    assert verified(op)
