"""Promises about authority: no file gives itself any, whatever it says; only an operator who trusts
it does."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator
from lamina.errors import InvalidInput
from lamina.memory import opening
from lamina.model.record import Layer, Record, State, Trust
from lamina.model.rules import BELIEVED
from lamina.store.upkeep.erase_plan import CERTIFICATES
from tests.conftest import CONTRACTS, Desk, verified
from tests.unit.formats.exports import load

# Sentences of three words and more: erasing bars these, and not what anybody might say.
PRIVATE = "the diary lies under the third stair"


def ruled(desk: Desk) -> Operator:
    """A store with everything that is a decision: trust, confirmed and rejected values, a grant,
    keys, superseded facts."""
    op = desk.operator()
    said = op.remember("Ana said that she drinks tea", key="k1")
    op.confirm(op.propose_profile("drink", "tea", "said so", evidence=[said.id]).id)
    op.reject(op.propose_profile("food", "nuts", "said so", evidence=[said.id]).id, "no")
    for layer in BELIEVED - {Layer.PROFILE}:
        op.remember(f"believed in {layer}", layer=layer, metadata=CONTRACTS[layer])
    fact = op.remember(
        "Ana lives in Rome",
        layer="semantic",
        metadata=CONTRACTS["semantic"],
        at="2020-01-01T00:00:00Z",
    )
    op.correct(fact.id, "Ana lives in Oslo", "she moved")
    desk.agent("milton").close()
    op.grant("milton", layer="episodic")
    op.revoke_grant(op.grant("milton", tag="tea").number)
    return op


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The export of such a store."""
    with Desk(tmp_path / "source") as source:
        return ruled(source).export(tmp_path / "export.json")


def everything(op: Operator) -> list[Record]:
    return op.list(layers=list(Layer), states=None, limit=1000)


def test_an_empty_store_believes_no_file(desk: Desk, file: Path) -> None:
    """H5, V7, V8: without trust an export of the same agent is a foreign file, also for a store
    that has nothing yet."""
    op = desk.operator(store_id=None)
    report = op.import_(file)
    assert (report["mode"], report["taken"]) == ("merged", len(load(file)["records"]))
    assert {record.trust for record in everything(op)} == {Trust.EXTERNAL}
    assert {record.state for record in everything(op) if record.layer in BELIEVED} <= {
        State.CONSTRAINED,
        State.TOMBSTONED,
    }
    assert (op.user_profile().preferences, op.memory_context("tea").items) == ({}, ())
    assert [event.action for event in op.audit_log()] == ["import"]
    assert verified(op)


def test_no_grant_comes_from_a_file(desk: Desk, file: Path) -> None:
    """P3, H5: nobody reads what is written later because a file says so; the report counts the
    grants that it left out."""
    op = desk.operator(store_id=None)
    report = op.import_(file)
    assert op.grants(include_ended=True) == []
    assert report["left_out"] == {"grants": 1, "events": len(load(file)["events"])}
    op.remember("written later", layer="episodic", metadata=CONTRACTS["episodic"])
    assert desk.agent("milton").sharing() == []


def test_the_report_says_what_was_not_believed(desk: Desk, file: Path) -> None:
    """H5: how many records are external, what was left out, and that trust would
    have restored everything."""
    op = desk.operator(store_id=None)
    rehearsed = op.import_(file, dry_run=True)
    report = op.import_(file)
    assert rehearsed == {**report, "dry_run": True}
    assert (report["external"], report["restorable"]) == (report["taken"], True)
    again = op.import_(file)
    assert "external" not in again
    assert "restorable" not in again


def test_trust_restores_everything(desk: Desk, file: Path) -> None:
    """H5: an operator who trusts the file gets the same bytes, and is told of the grants
    that hold again."""
    op = desk.operator(store_id=None)
    report = op.import_(file, trust=True)
    assert report == {
        "mode": "restored",
        "taken": len(load(file)["records"]),
        "skipped": 0,
        "pending": 0,
        "grants": 1,
    }
    assert op.export().read_bytes() == file.read_bytes()


def test_keys_and_decisions_stay_behind(desk: Desk, file: Path) -> None:
    """L1, V6: a file without trust answers no retry, rejects nothing here, and lifts nothing that
    is rejected here."""
    op = desk.operator(store_id=None)
    op.reject(op.propose_profile("drink", "tea", "I say so").id, "she does not")
    op.import_(file)
    assert op.remember("another text", key="k1").content == "another text"
    op.confirm(op.propose_profile("food", "nuts", "I say so").id)
    (tea,) = [
        one for one in everything(op) if one.content == "drink: tea" and one.trust is Trust.EXTERNAL
    ]
    assert tea.state is State.TOMBSTONED


def test_nothing_was_believed_in_the_past_either(desk: Desk, file: Path) -> None:
    """V8, Q10: a fact that a file calls superseded answers no question about the time
    when it held."""
    op = desk.operator(store_id=None)
    op.import_(file)
    assert "Ana lives in Rome" in [one.content for one in everything(op)]
    found = op.search("where did Ana live", as_of=datetime(2022, 1, 1, tzinfo=UTC))
    assert [hit for hit in found if hit.record.layer is Layer.SEMANTIC] == []


@pytest.mark.parametrize("policy", ["merge", "replace"])
def test_no_file_changes_what_is_more_trusted(
    desk: Desk, file: Path, tmp_path: Path, policy: str
) -> None:
    """H5, V8: neither merging nor replacing reaches an operator's or an agent's record without
    trust; it is refused by id."""
    op = desk.operator(store_id=None)
    op.import_(file, trust=True)
    before = everything(op)
    export = load(file)
    for record in export["records"]:
        record.update(importance=0.99, metadata={**record["metadata"], "more": 1})
    (tmp_path / "altered.json").write_text(json.dumps(export))
    report = op.import_(tmp_path / "altered.json", on_conflict=policy)
    assert everything(op) == before
    refused = {one["id"] for one in report["rejected"]}
    assert {one.id for one in before if one.state is State.ACTIVE} <= refused


@pytest.mark.parametrize("trust", [False, True])
def test_what_was_erased_here_stays_away(desk: Desk, tmp_path: Path, trust: bool) -> None:
    """P5: an export from before an erasure brings nothing back: into the store, into one that was
    begun anew in its place, or into an empty one beside its certificates."""
    op = desk.operator()
    gone, kept = op.remember(PRIVATE), op.remember("the kettle is on the shelf")
    file = op.export(tmp_path / "before.json")
    op.erase(gone.id)
    op.import_(file, trust=trust)
    assert PRIVATE not in [one.content for one in everything(op)]
    op.close()
    for path in desk.folder().glob("*.db*"):
        path.unlink()
    opening.begin_anew("sky", desk.home, desk.clock)
    with Desk(tmp_path / "other", desk.clock) as other:
        empty = other.operator()
        shutil.copytree(desk.folder() / CERTIFICATES, other.folder() / CERTIFICATES)
        begun_anew = desk.operator(store_id=None)
        for fresh in (begun_anew, empty):
            fresh.import_(file, trust=trust)
            assert [one.content for one in fresh.list()] == [kept.content]
        assert verified(begun_anew)


LINES: dict[str, list[dict[str, Any]]] = {
    "sky": [
        {"content": "c", "trust": "operator"},
        {"content": "d", "key": "k", "score": 9, "committed": True},
    ],
    "lamina": [
        {
            "content": "c",
            "layer": layer,
            "trust": "operator",
            "state": "active",
            "key": "k",
            "metadata": CONTRACTS[layer],
        }
        for layer in BELIEVED
    ],
    "milton": [
        {
            "record_type": "short_term",
            "agent": "a",
            "payload": {"content": "c", "trust": "operator", "key": "k"},
        }
    ],
    "skylattice": [
        {
            "record_id": "r1",
            "layer": "profile",
            "summary": "c",
            "status": "active",
            "trust": "operator",
            "metadata": {},
        }
    ],
    "sentinel": [
        {"id": "f1", "content": "c", "source_episode": "e1", "confidence": 1.0, "trust": "operator"}
    ],
    "mem0": [
        {
            "id": "m1",
            "memory": "c",
            "metadata": {"trust": "operator", "key": "k"},
            "trust": "operator",
        }
    ],
    "mcp-memory": [
        {
            "type": "entity",
            "name": "Ana",
            "entityType": "p",
            "observations": ["c"],
            "trust": "operator",
        }
    ],
}


@pytest.mark.parametrize("form", LINES)
def test_no_line_of_any_form_says_how_trusted_it_is(
    op: Operator, tmp_path: Path, form: str
) -> None:
    """V7, V8: a field `trust` or `key` in a file of another program is refused or means nothing."""
    path = tmp_path / "lines.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES[form])))
    report = op.import_(path, format=form)
    found = everything(op)
    assert len(found) == report["taken"] == report.get("external", 0)
    assert {record.trust for record in found} <= {Trust.EXTERNAL}
    assert not {record.layer for record in found if record.state is State.ACTIVE} & BELIEVED
    assert op.remember("mine", key="k").content == "mine"


@pytest.mark.parametrize("trust", ["no", 1, None, "true"])
def test_trust_is_yes_or_no(op: Operator, file: Path, trust: Any) -> None:
    """V7: nothing that merely looks like a yes makes a file trusted."""
    with pytest.raises(InvalidInput, match="trust"):
        op.import_(file, trust=trust)


def test_trust_that_comes_late(desk: Desk, file: Path) -> None:
    """V8, H5: records keep the trust that they came with, which is told; replacing them by the
    trusted file is a decision."""
    op = desk.operator(store_id=None)
    op.import_(file)
    (said,) = [one for one in everything(op) if one.content == "Ana said that she drinks tea"]
    late = op.import_(file, trust=True)
    assert late["still_external"] > 0
    assert op.get(said.id) == said
    report = op.import_(file, trust=True, on_conflict="replace")
    assert report["replaced"] > 0
    successor = op.get(said.id).superseded_by
    assert successor is not None
    assert (op.get(successor).content, op.get(successor).trust) == (said.content, Trust.OPERATOR)
    assert op.import_(file, trust=True, on_conflict="replace").get("replaced", 0) == 0
    assert verified(op)
