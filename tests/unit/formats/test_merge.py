"""Exports of ours into a store with a history: what is new comes, and what is here stays, grows or
is replaced."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator
from lamina.errors import Corrupt
from lamina.model.record import Layer, State
from lamina.store.tables import records
from tests.conftest import CONTRACTS, START, Desk, contents, digest, size, verified
from tests.unit.formats.exports import fill, load

Export = dict[str, Any]


@pytest.fixture
def twin(desk: Desk, tmp_path: Path) -> Operator:
    """A store that was restored from an export and went on, so that it shares ids with
    the file `export.json`."""
    with Desk(tmp_path / "source") as other:
        op = other.operator()
        tea = op.remember(
            "likes tea", kind="fact", tags=["drink"], metadata={"a": 1}, importance=0.5
        )
        op.remember("likes milk", evidence=[tea.id])
        op.remember("lives here", layer="semantic", metadata=CONTRACTS["semantic"])
        op.export(tmp_path / "export.json")
    restored = desk.operator(store_id=None)
    restored.import_(tmp_path / "export.json", trust=True)
    restored.remember("later")
    return restored


def altered(tmp_path: Path, number: int, **fields: Any) -> Path:
    """The file, in which one record says something else."""
    export: Export = load(tmp_path / "export.json")
    export["records"][number].update(fields)
    (tmp_path / "altered.json").write_text(json.dumps(export))
    return tmp_path / "altered.json"


def test_merging_grows_what_is_here(twin: Operator, tmp_path: Path) -> None:
    """H5, L11: evidence and metadata that the file adds come, nothing else changes, and a second
    time there is nothing."""
    path = altered(tmp_path, 0, metadata={"a": 2, "b": 3}, evidence=["./more.md"])
    before = twin.list(tags=["drink"])[0]
    assert twin.import_(path)["skipped"] == 3
    assert twin.list(tags=["drink"]) == [before]
    report = twin.import_(path, trust=True, on_conflict="merge")
    assert (report["taken"], report["grown"], report["skipped"]) == (0, 1, 2)
    (record,) = twin.list(tags=["drink"])
    assert (record.metadata, record.evidence, record.content) == (
        {"a": 1, "b": 3},
        ("./more.md",),
        before.content,
    )
    assert twin.import_(path, trust=True, on_conflict="merge")["skipped"] == 3
    assert verified(twin)


@pytest.mark.parametrize(
    "fields",
    [{"content": "likes cola"}, {"tags": ["other"]}, {"importance": 0.9}, {"kind": "crumb"}],
)
def test_replacing_supersedes_with_lineage(
    twin: Operator, tmp_path: Path, fields: dict[str, Any]
) -> None:
    """H5, R3: what the file says is a new record in the place of the old one, which stays in its
    lineage; once only."""
    path = altered(tmp_path, 0, **fields)
    (before,) = twin.list(tags=["drink"])
    report = twin.import_(path, trust=True, on_conflict="replace")
    assert (report["taken"], report["replaced"], report["skipped"]) == (0, 1, 2)
    old = twin.get(before.id)
    assert old.state is State.SUPERSEDED
    assert old.superseded_by is not None
    new = twin.get(old.superseded_by)
    assert new.supersedes == (old.id,)
    for name, value in fields.items():
        assert getattr(new, name) == (tuple(value) if isinstance(value, list) else value)
    again = twin.import_(path, trust=True, on_conflict="replace")
    assert (again.get("replaced"), again["skipped"], len(again.get("rejected", []))) == (None, 3, 0)
    twin.rollback(new.id)
    assert twin.get(before.id).state is State.ACTIVE
    assert verified(twin)


@pytest.mark.parametrize("policy", ["merge", "replace"])
def test_a_file_without_trust_changes_nothing(twin: Operator, tmp_path: Path, policy: str) -> None:
    """V8: a record that is more trusted than the file stays as it is, and the report names it."""
    path = altered(
        tmp_path, 0, metadata={"b": 3}, **({"content": "poison"} if policy == "replace" else {})
    )
    (before,) = twin.list(tags=["drink"])
    head = size(twin)
    report = twin.import_(path, on_conflict=policy)
    assert [(one["id"], "more trusted" in one["message"]) for one in report["rejected"]] == [
        (before.id, True)
    ]
    assert (report["rejected_count"], report["skipped"]) == (1, 2)
    assert (twin.get(before.id), size(twin)) == (before, head)


@pytest.mark.parametrize("policy", ["merge", "replace"])
def test_what_one_user_says_changes_no_other(twin: Operator, tmp_path: Path, policy: str) -> None:
    """V8, P6: the id of another user's record is no right to it, even with trust."""
    path = altered(
        tmp_path,
        0,
        user="mallory",
        metadata={"b": 3},
        **({"content": "poison"} if policy == "replace" else {}),
    )
    (before,) = twin.list(tags=["drink"])
    report = twin.import_(path, trust=True, on_conflict=policy)
    assert [one["id"] for one in report["rejected"]] == [before.id]
    assert twin.get(before.id) == before


@pytest.mark.parametrize("trust", [False, True])
def test_only_the_superseded_have_a_successor(twin: Operator, tmp_path: Path, trust: bool) -> None:
    """H5, R3: a record that is active there is not succeeded by one of ours, whatever
    the file says."""
    (mine,) = twin.list(tags=["drink"])
    twin.import_(altered(tmp_path, 1, id="0" * 26, superseded_by=mine.id), trust=trust)
    assert (twin.get("0" * 26).state, twin.get("0" * 26).superseded_by) == (State.ACTIVE, None)
    twin.import_(
        altered(tmp_path, 1, id="0" * 25 + "1", superseded_by=mine.id, state="superseded"),
        trust=trust,
    )
    assert twin.get("0" * 25 + "1").superseded_by == mine.id
    assert verified(twin)


def test_texts_do_not_grow(twin: Operator, tmp_path: Path) -> None:
    """L11: another text under the same id is named by a merge, and nothing of it is taken."""
    report = twin.import_(
        altered(tmp_path, 0, content="likes cola"), trust=True, on_conflict="merge"
    )
    assert "is here with another text" in report["rejected"][0]["message"]
    assert "likes cola" not in contents(twin.list())


def test_what_is_not_active_is_not_replaced(twin: Operator, tmp_path: Path) -> None:
    """R3: a forgotten record has no place that another could take."""
    (tea,) = twin.list(tags=["drink"])
    twin.forget(tea.id)
    report = twin.import_(
        altered(tmp_path, 0, content="likes cola"), trust=True, on_conflict="replace"
    )
    assert "neither replaces the other" in report["rejected"][0]["message"]


def test_what_was_erased_is_named(twin: Operator, tmp_path: Path) -> None:
    """P5, H5: an import does not bring back what was erased, and says so where it would have come
    as new."""
    twin.remember("a secret of mine")
    twin.erase(twin.list(limit=1)[0].id)
    report = twin.import_(altered(tmp_path, 1, content="a secret of mine", id="0" * 26))
    assert [one["message"] for one in report["rejected"]] == [
        "this text was erased here; an import does not bring it back"
    ]
    assert report["taken"] == 0


@pytest.mark.parametrize("policy", ["skip", "merge", "replace"])
def test_a_dry_run_of_a_merge(desk: Desk, twin: Operator, tmp_path: Path, policy: str) -> None:
    """H5: the same report, and no byte of the store is other."""
    path = altered(tmp_path, 0, metadata={"b": 3}, importance=0.7)
    milton = desk.operator("milton")
    for op in (twin, milton):
        before = size(op), op.list(limit=100)
        rehearsed = op.import_(path, trust=True, on_conflict=policy, dry_run=True)
        assert (size(op), op.list(limit=100)) == before
        assert rehearsed == {**op.import_(path, trust=True, on_conflict=policy), "dry_run": True}


def test_a_dry_run_of_a_restoration(desk: Desk, tmp_path: Path) -> None:
    """H5: an empty store stays empty, an altered file is found out, and nothing is left
    in the home."""
    with Desk(tmp_path / "source") as other:
        fill(other).export(tmp_path / "export.json")
    op = desk.operator(store_id=None)
    store_id, files = op._scope.store.id, sorted(path.name for path in desk.folder().iterdir())
    rehearsed = op.import_(tmp_path / "export.json", dry_run=True, trust=True)
    assert (rehearsed["mode"], rehearsed["dry_run"], size(op)) == ("restored", True, (0, 0))
    with pytest.raises(Corrupt):
        op.import_(altered(tmp_path, 0, content="forged"), dry_run=True, trust=True)
    assert (op._scope.store.id, sorted(path.name for path in desk.folder().iterdir())) == (
        store_id,
        files,
    )
    done = op.import_(tmp_path / "export.json", trust=True)
    assert done == {name: rehearsed[name] for name in rehearsed if name != "dry_run"}


def test_an_export_says_what_it_holds(desk: Desk, tmp_path: Path) -> None:
    """H5, P4: a manifest with the length of each list and the head of the chain, as `audit head`
    gives it."""
    op = fill(desk)
    export = load(op.export(tmp_path / "export.json"))
    lists = ("archived", "archives", "events", "grants", "notes", "records")
    assert {name: export["manifest"][name] for name in lists} == {
        name: len(export[name]) for name in lists
    }
    assert export["manifest"]["head"] == op.audit_head()["events"]


MISFITS: dict[str, Callable[[Export], object]] = {
    "fewer records": lambda export: export["manifest"].update(records=1),
    "more notes": lambda export: export["manifest"].update(notes=99),
    "another head": lambda export: export["manifest"]["head"].update(hash="00" * 32),
    "an earlier head": lambda export: export["manifest"]["head"].update(seq=1),
    "a shorter chain": lambda export: (
        export["events"].pop(),
        export["manifest"].update(events=len(export["events"])),
    ),
}


@pytest.mark.parametrize("how", MISFITS)
def test_a_manifest_that_does_not_fit(desk: Desk, tmp_path: Path, how: str) -> None:
    """H5, P4: an export that is not what it says is altered, and nothing is imported; one without a
    manifest is older."""
    with Desk(tmp_path / "source") as other:
        export = load(fill(other).export(tmp_path / "export.json"))
    whole = json.dumps({name: value for name, value in export.items() if name != "manifest"})
    MISFITS[how](export)
    (tmp_path / "altered.json").write_text(json.dumps(export))
    (tmp_path / "older.json").write_text(whole)
    op = desk.operator(store_id=None)
    with pytest.raises(Corrupt, match="nothing was imported"):
        op.import_(tmp_path / "altered.json", trust=True)
    assert size(op) == (0, 0)
    assert op.import_(tmp_path / "older.json", trust=True)["mode"] == "restored"


def lived(desk: Desk) -> Operator:
    """A store of ten thousand memories that has seen everything: all layers and states, sleep,
    reviews, archive, grants."""
    op, ana = desk.operator(), desk.operator(user="ana")
    layers = list(CONTRACTS)
    keys = [
        {"profile_key": f"k{n}"} if layers[n % 6] == "profile" and n < 600 else {}
        for n in range(9900)
    ]
    made = op.remember_many(
        {
            "content": f"memory {n} about topic{n % 97}",
            "layer": layers[n % 6] if n < 600 or layers[n % 6] != "profile" else "short_term",
            "metadata": {
                **(CONTRACTS[layers[n % 6]] if n < 600 or layers[n % 6] != "profile" else {}),
                **keys[n],
            },
            "tags": [f"t{n % 13}"],
            "importance": n % 10 / 10,
            "key": f"key {n}",
        }
        for n in range(9900)
    )
    said = [
        "My name is Ana and I live in Lisbon.",
        "I prefer tea over coffee.",
        "My brother Ben lives in Porto.",
        "I moved.",
    ]
    turns = [
        {"speaker": "Ana", "text": text, "at": START + timedelta(minutes=n)}
        for n, text in enumerate(said)
    ]
    desk.agent(user="ana").remember_conversation(turns, session="s1", participants=["Ana", "Ben"])
    ana.remember_many({"content": f"ana {n}"} for n in range(100))
    desk.clock.jump(timedelta(days=2))
    op.run_once()
    op.sleep()
    op.confirm(op.propose_profile("drink", "tea", "said so", evidence=[made[0].id]).id)
    op.reject(op.propose_profile("food", "nuts", "said so", evidence=[made[0].id]).id, "no")
    op.propose_profile("colour", "blue", "said so", evidence=[made[0].id])
    for record in made[4:100:6]:
        op.correct(record.id, f"{record.content} corrected", "it was wrong")
    op.undo(op.audit_log(1)[0].seq)
    op.forget(made[1].id)
    op.prune(tags=["t3"])
    op.prune(importance_below=0.1)
    op.restore_archived(next(record.id for record in made if op.get(record.id).archived))
    desk.agent("milton").close()
    op.revoke_grant(op.grant("milton", layer="semantic").number)
    op.grant("milton", tag="t5", reason="they work together")
    op.erase(made[20].id, made[21].id, made[1234].id, reason="asked for")
    op.run("open").note("a note")
    op.run("closed").close("done")
    return op


def test_ten_thousand_memories_of_all_kinds_come_back(desk: Desk, tmp_path: Path) -> None:
    """H5: export, import and export again are the same bytes, with archive, erasures, grants,
    reviews and sleep in it."""
    op = lived(desk)
    first = op.export(tmp_path / "first.json")
    with Desk(tmp_path / "other", desk.clock) as other:
        twin = other.operator(store_id=None)
        report = twin.import_(first, trust=True)
        second = twin.export(tmp_path / "second.json")
        assert digest(first) == digest(second)
        assert verified(twin)
        assert twin.grants(include_ended=True) == op.grants(include_ended=True)
        counts = records.counts(twin._scope.store.database.reader(), None)
        assert counts == records.counts(op._scope.store.database.reader(), None)
    assert report["taken"] >= 10_000
    assert set(counts) == set(Layer)
    assert {state for states in counts.values() for state in states} == set(State)
    assert load(first)["manifest"]["archived"] > 1000
