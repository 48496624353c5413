"""Exports in other forms: what a form can hold comes back, what it cannot is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Operator
from lamina.errors import InvalidInput, Refused
from lamina.formats import entries, exporting
from lamina.model.record import Record
from lamina.store.engine import foreign
from lamina.store.tables import archived, records
from lamina.text import words
from tests.conftest import CONTRACTS, START, Desk, move, size, supersede
from tests.unit.formats.golden_files import GOLDEN, everything
from tests.unit.formats.samples import LABELS, MOMENTS
from tests.unit.strategies import TEXTS

SUFFIXES = {
    "sky": "jsonl",
    "milton": "jsonl",
    "skylattice": "json",
    "mem0": "json",
    "mcp-memory": "jsonl",
    "markdown": "md",
}
OTHERS = (*SUFFIXES, "sentinel")


def fill(desk: Desk) -> Operator:
    """A small store with something of everything."""
    op, ana = desk.operator(), desk.operator(user="ana")
    tea = op.remember(
        "prefers tea", kind="preference", tags=["drink"], importance=0.8, source="chat", at=START
    )
    old = op.remember(
        "lives in Lisbon",
        layer="semantic",
        kind="fact",
        metadata={**CONTRACTS["semantic"], "x": 1},
        at=START,
    )
    new = op.remember(
        "lives in Porto",
        layer="semantic",
        kind="fact",
        metadata=CONTRACTS["semantic"],
        evidence=[old.id, "./a.md"],
    )
    supersede(op, old.id, new.id)
    op.remember(
        "went to the market\n\n# not a heading",
        layer="episodic",
        speaker="Ana",
        session="s1",
        metadata=CONTRACTS["episodic"],
    )
    op.remember("first this,\nthen that", layer="procedural", metadata=CONTRACTS["procedural"])
    op.remember("tea", layer="profile", metadata=CONTRACTS["profile"], evidence=[tea.id])
    ana.remember("Ana is allergic to nuts", kind="fact", tags=["health"], importance=0.55, at=START)
    op.remember("the kettle has a timer", layer="world")
    move(
        op,
        op.remember("perhaps", layer="semantic", metadata=CONTRACTS["semantic"]).id,
        state="constrained",
    )
    op.forget(op.remember("a mistake").id)
    op.run("open run").note("a note")
    return op


def undated(path: Path) -> bytes:
    """The bytes of an export without the time at which Skylattice's form says that it was made."""
    return re.sub(rb'"generated_at":"[^"]{27}"', b"", path.read_bytes())


@pytest.mark.parametrize("form", SUFFIXES)
def test_each_form_is_as_it_was(desk: Desk, tmp_path: Path, form: str) -> None:
    """H5: the files of all forms are pinned to the byte; the same store gives them again."""
    op = fill(desk)
    path = tmp_path / f"export.{SUFFIXES[form]}"
    report = op.export_as(form, path)
    again = op.export_as(form, tmp_path / "again")
    assert path.read_text("utf-8") == (GOLDEN / "out" / f"{form}.{SUFFIXES[form]}").read_text(
        "utf-8"
    )
    assert undated(path) == undated(tmp_path / "again")
    assert {**again, "path": ""} == {**report, "path": ""}
    assert path.stat().st_mode & 0o777 == 0o600


def test_sentinel_is_a_database_with_its_tables(desk: Desk, tmp_path: Path) -> None:
    """R9, H5: any SQLite tool sees the two tables of the document, with the columns
    in their order."""
    op = fill(desk)
    report = op.export_as("sentinel", tmp_path / "sentinel.db")
    connection = apsw.Connection(str(tmp_path / "sentinel.db"))
    found = connection.execute(
        "SELECT id, content, confidence, superseded_by FROM facts ORDER BY created, rowid"
    ).fetchall()
    assert [(content, confidence) for _, content, confidence, _ in found] == [
        ("lives in Lisbon", 1.0),
        ("lives in Porto", 1.0),
    ]
    assert found[0][3] == found[1][0]
    (episode,) = connection.execute(
        "SELECT summary, participants, raw_hash FROM episodes"
    ).fetchall()
    assert episode == ("went to the market\n\n# not a heading", '["Ana","Ben"]', "ab12")
    connection.close()
    assert report["records"] == 3
    assert report["left_out"]["Sentinel keeps short_term memory elsewhere"] == 3


@pytest.mark.parametrize("form", OTHERS)
def test_every_memory_is_written_or_told(desk: Desk, tmp_path: Path, form: str) -> None:
    """H5: what is written and what is left out is everything; a field that is lost is counted."""
    op = fill(desk)
    op.prune(tags=["drink"])
    report = op.export_as(form, tmp_path / "export")
    with op._scope.store.read() as db:
        counts, number = records.counts(db, None), archived.count(db, None)
    total = sum(sum(states.values()) for states in counts.values()) + number
    assert report["records"] + sum(report["left_out"].values()) == total
    assert report["left_out"]["it is archived"] == 1
    assert report["lost"]["trust"] == report["records"]
    assert set(report["lost"]) <= {*entries.LOSABLE, "history"}


@pytest.mark.parametrize("form", OTHERS)
def test_an_export_is_no_change(desk: Desk, tmp_path: Path, form: str) -> None:
    """H5, P4: nothing in the store changes, and the trail of reads names the file and the form."""
    op = fill(desk)
    before = size(op)
    op.export_as(form, tmp_path / "export")
    assert size(op) == before
    read = op.audit_reads(1)[0]
    assert (read.action, read.note["path"], read.note["format"]) == (
        "export",
        str(tmp_path / "export"),
        form,
    )


@pytest.mark.parametrize("form", OTHERS)
def test_a_private_file_goes_into_no_repository(desk: Desk, tmp_path: Path, form: str) -> None:
    """H5, B6: refused in a work tree unless forced; a file that is there is overwritten
    only when forced."""
    op = fill(desk)
    (tmp_path / "tree" / ".git").mkdir(parents=True)
    with pytest.raises(Refused, match="git work tree"):
        op.export_as(form, tmp_path / "tree" / "x")
    assert not (tmp_path / "tree" / "x").exists()
    op.export_as(form, tmp_path / "tree" / "x", force=True)
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(InvalidInput, match="exists already"):
        op.export_as(form, tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "mine"
    assert not list(tmp_path.glob(".lamina-*"))


def test_our_own_form_by_its_name(desk: Desk, tmp_path: Path) -> None:
    """H5: `lamina` is the export that can be restored; an unknown form is an error that lists the
    known ones."""
    op = fill(desk)
    assert op.export_as("lamina", tmp_path / "a.json") == {
        "format": "lamina",
        "path": str(tmp_path / "a.json"),
    }
    assert (tmp_path / "a.json").read_bytes() == op.export().read_bytes()
    with pytest.raises(InvalidInput, match="known are lamina, sky"):
        op.export_as("csv", tmp_path / "b")
    with pytest.raises(InvalidInput, match="is not a folder"):
        op.export_as("sky", tmp_path / "nothing" / "b")
    with pytest.raises(Refused, match="concerns all users"):
        desk.operator(user="ana").export_as("sky", tmp_path / "b")


def test_a_crowd_of_signs_in_a_database_name(tmp_path: Path) -> None:
    """H5: a path with signs that mean something in a URI is a path."""
    path = tmp_path / "a?mode=rwc&x=#1 %41.db"
    foreign.write(path, {foreign.FACTS: []})
    assert foreign.tables(path) == ["facts"]


# What each form can hold of a memory comes back from it.
ITEMS = st.fixed_dictionaries(
    {
        "content": TEXTS.filter(words.is_visible),
        "kind": st.sampled_from(["fact", "crumb", "decision", "request", "error"]),
        "importance": st.floats(0, 1),
        "tags": st.lists(LABELS, max_size=3),
        "metadata": st.dictionaries(
            st.sampled_from(["category", "tool", "x"]), st.integers(0, 9) | LABELS, max_size=2
        ),
        "evidence": st.lists(
            st.sampled_from(["./a", "https://example.org/b", "logs/c"]), max_size=2, unique=True
        ),
        "at": MOMENTS,
        "confidence": st.floats(0, 1),
        "layer": st.sampled_from(["short_term", "episodic", "semantic"]),
        "speaker": st.none() | LABELS,
        "session": st.none() | LABELS,
    }
)
HELD: dict[str, tuple[str, ...]] = {
    "sky": ("content", "kind", "importance", "tags", "occurred_at", "user"),
    "milton": ("content", "kind", "importance", "tags", "occurred_at", "user", "evidence"),
    "skylattice": (
        "content",
        "kind",
        "importance",
        "tags",
        "occurred_at",
        "layer",
        "confidence",
        "evidence",
        "session",
    ),
    "mem0": ("content", "kind", "importance", "tags", "occurred_at", "user", "speaker", "session"),
    "sentinel": ("content", "occurred_at", "layer"),
}


def stored(op: Operator, items: list[dict[str, Any]]) -> None:
    """What can be remembered of some items."""
    for number, item in enumerate(items):
        more = CONTRACTS["semantic"] if item["layer"] == "semantic" else {}
        op.remember(**{**item, "metadata": {**more, **item["metadata"], "n": number}})


@given(st.sampled_from(sorted(HELD)), st.lists(ITEMS, max_size=4))
def test_what_a_form_holds_comes_back(
    tmp_path_factory: pytest.TempPathFactory, form: str, items: list[dict[str, Any]]
) -> None:
    """H5: out and in again, every record that the form has a place for has the same values in the
    fields that it holds."""
    folder = tmp_path_factory.mktemp("round")
    with Desk(folder / "home") as desk:
        op, other = desk.operator(), desk.operator("other")
        stored(op, items)
        report = op.export_as(form, folder / "export")
        taken = other.import_(folder / "export", trust=True, format=form)
        assert (taken["taken"], taken["rejected_count"]) == (report["records"], 0)
        mine = {record.id: record for record in everything(op)}
        for record in everything(other):
            source = mine[record.evidence[-1].removeprefix("record:")]
            for name in HELD[form]:
                assert _value(record, name) == _value(source, name), name
            kept = entries.lost(source, ()) if form != "sentinel" else []
            if "metadata" in kept and "metadata" not in exporting.FORMS[form].lost(source):
                assert source.metadata.items() <= record.metadata.items()


def _value(record: Record, name: str) -> Any:
    value = getattr(record, name)
    return [one for one in value if not one.startswith("record:")] if name == "evidence" else value


ENTITIES = st.lists(
    st.tuples(TEXTS.filter(bool), LABELS, st.lists(LABELS, max_size=3, unique=True)),
    max_size=4,
    unique_by=lambda one: one[:2],
)
RELATIONS = st.lists(st.tuples(LABELS, LABELS, LABELS), max_size=3, unique=True)


@given(ENTITIES, RELATIONS)
def test_a_graph_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    entities: list[tuple[str, str, list[str]]],
    relations: list[tuple[str, str, str]],
) -> None:
    """H5: a file of the MCP memory server is the same file after an import and an export."""
    folder = tmp_path_factory.mktemp("graph")
    named = [one for one in entities if one[2] or (one[0].isprintable() and one[0].strip())]
    lines: list[dict[str, Any]] = [
        {"type": "entity", "name": name, "entityType": kind, "observations": observed}
        for name, kind, observed in named
    ]
    lines += [
        {"type": "relation", "from": start, "to": end, "relationType": kind}
        for start, kind, end in relations
    ]
    (folder / "memory.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Desk(folder / "home") as desk:
        op = desk.operator()
        report = op.import_(folder / "memory.jsonl", format="mcp-memory")
        op.export_as("mcp-memory", folder / "back.jsonl")
        back = [
            json.loads(line) for line in (folder / "back.jsonl").read_text("utf-8").split("\n")[:-1]
        ]
    if report["rejected_count"] == 0:
        assert back == lines
