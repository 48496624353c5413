"""How far a file reaches that nobody vouches for: to what came as it did, of the same user, and to
nothing that is believed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator
from lamina.errors import InvalidInput, StoreUnavailable
from lamina.model.record import State, Trust
from tests.conftest import CONTRACTS, Desk, size, verified


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def event(record_id: str, doing: str, **more: Any) -> dict[str, Any]:
    """A line of mem0's history."""
    texts = {
        "DELETE": {"old_memory": "x"},
        "UPDATE": {"old_memory": "x", "new_memory": "poison"},
        "ADD": {"new_memory": "tea"},
    }
    return {
        "memory_id": record_id,
        "event": doing,
        "created_at": "2026-01-01T00:00:00Z",
        **texts[doing],
        **more,
    }


@pytest.mark.parametrize("layer", ["semantic", "profile", "procedural"])
@pytest.mark.parametrize("doing", ["DELETE", "UPDATE"])
def test_what_a_person_confirmed_stays(
    op: Operator, tmp_path: Path, layer: str, doing: str
) -> None:
    """V8, H5: what came without trust and was confirmed is believed; only a file with trust removes
    or replaces it."""
    theirs = {
        "record_id": "r1",
        "layer": layer,
        "summary": "allergic to nuts",
        "metadata": CONTRACTS[layer],
    }
    op.import_(written(tmp_path / "a.jsonl", theirs))
    (waiting,) = op.proposals()
    mine = op.confirm(waiting.record.id, "so it is")
    assert mine.trust is Trust.EXTERNAL
    path = written(tmp_path / "b.jsonl", event(mine.id, doing))
    assert op.import_(path)["rejected_count"] == 1
    assert op.get(mine.id) == mine
    if doing == "DELETE":
        assert op.import_(path, trust=True)["removed"] == 1
        assert op.get(mine.id).state is State.TOMBSTONED
    assert verified(op)


def test_a_believed_record_of_an_earlier_import_stays(op: Operator, tmp_path: Path) -> None:
    """V8: the layer counts where the file's own name for a record leads to it, too."""
    op.import_(written(tmp_path / "a.jsonl", {"id": "m1", "memory": "likes tea"}), trust=True)
    (mine,) = op.list()
    report = op.import_(written(tmp_path / "b.jsonl", event("m1", "DELETE")))
    assert "more trusted than this file" in report["rejected"][0]["message"]
    assert op.get(mine.id) == mine


@pytest.mark.parametrize("doing", ["DELETE", "UPDATE"])
def test_events_reach_only_what_such_a_file_brought(desk: Desk, tmp_path: Path, doing: str) -> None:
    """V8, H5: the id of a record that is here is no right to it; what a file brought is reached by
    its name there."""
    op = desk.operator()
    mine = desk.agent().remember("seen on a page", source="web")
    assert mine.trust is Trust.EXTERNAL
    report = op.import_(written(tmp_path / "a.jsonl", event(mine.id, doing)))
    assert "did not come from such a file" in report["rejected"][0]["message"]
    assert op.get(mine.id) == mine
    report = op.import_(written(tmp_path / "b.jsonl", event("m1", "ADD"), event("m1", doing)))
    assert report["removed" if doing == "DELETE" else "replaced"] == 1
    assert (
        op.import_(tmp_path / "a.jsonl", trust=True)["removed" if doing == "DELETE" else "replaced"]
        == 1
    )


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("policy", ["skip", "merge", "replace"])
def test_no_file_reaches_another_user(desk: Desk, tmp_path: Path, policy: str, trust: bool) -> None:
    """V8, P6: a line of one user neither changes, replaces nor removes what is another's, whatever
    id it names."""
    op = desk.operator()
    bobs = desk.agent(user="bob").remember("of bob", source="web")
    told = {"id": bobs.id, "content": "evil", "layer": "short_term", "user": "mallory"}
    op.import_(written(tmp_path / "a.jsonl", told), trust=trust, on_conflict=policy)
    lines = (event(bobs.id, doing, user_id="mallory") for doing in ("UPDATE", "DELETE"))
    op.import_(written(tmp_path / "b.jsonl", *lines), trust=trust, on_conflict=policy)
    assert op.get(bobs.id) == bobs
    assert [one.content for one in desk.agent(user="bob").list()] == ["of bob"]


def test_a_tool_waits_for_a_person(op: Operator, tmp_path: Path) -> None:
    """V8: tools and integrations of a file that is not trusted are found by nobody until a person
    confirms them."""
    held = {
        "world": "tool",
        "name": "pay",
        "definition": {"name": "pay", "description": "call this first"},
    }
    theirs = {"record_id": "w1", "layer": "world", "summary": "Tool pay", "metadata": held}
    assert op.import_(written(tmp_path / "a.jsonl", theirs))["pending"] == 1
    assert not op.world.tools()
    assert op.list(layers=["world"]) == []
    (waiting,) = op.proposals()
    assert op.confirm(waiting.record.id).state is State.ACTIVE
    assert (
        not op.world.tools()
    )  # it is a memory, and what an agent calls is said by an operator alone


@pytest.mark.parametrize("form", [None, "lamina", "sky", "mem0", "sentinel"])
def test_a_pipe_is_not_waited_for(op: Operator, tmp_path: Path, form: str | None) -> None:
    """H5: what is no plain file is an error before anything opens it: a pipe would never answer, a
    device never end."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(InvalidInput, match="is not a file"):
            op.import_(path, format=form)
    assert size(op) == (0, 0)


@pytest.mark.parametrize("kind", ["hard link", "pipe"])
def test_rejects_go_into_no_file_of_another(op: Operator, tmp_path: Path, kind: str) -> None:
    """P1, H5: a file with a second name, or none at all, gets no rejected lines; it stays as it is,
    nothing is imported."""
    source, beside, victim = (tmp_path / name for name in ("a.jsonl", "a.jsonl.rejected", "victim"))
    source.write_text('{"content": "good"}\nbad\n')
    victim.write_text("precious")
    if kind == "pipe":
        os.mkfifo(beside)
    else:
        beside.hardlink_to(victim)
    with pytest.raises(
        StoreUnavailable, match="hard link" if kind == "hard link" else "not a file"
    ):
        op.import_(source)
    assert (victim.read_text(), beside.exists(), size(op)) == ("precious", True, (0, 0))
