"""Mirrors and presets that the settings ask for."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Desk, verified


@pytest.mark.parametrize("form", ["sky", "milton"])
def test_mirrors_show_what_is_active(desk: Desk, form: str) -> None:
    """B5: live files follow every change, from a handle that writes and closes to one that promotes
    and prunes."""
    with desk.operator(settings={"mirrors.jsonl": form}) as op:
        op.remember("stays", importance=0.2)
        op.remember("moves up", importance=0.9)
    assert lines(desk) == (["stays", "moves up"], [])
    with desk.operator(settings={"mirrors.jsonl": form}) as op:
        op.run_once()
        assert lines(desk) == (["stays"], ["moves up"])
        op.prune(importance_below=0.5)
        assert lines(desk) == ([], ["moves up"])
        assert verified(op)


def lines(desk: Desk, folder: str = "jsonl") -> tuple[list[str], list[str]]:
    found = []
    for name in ("short_term", "long_term"):
        text = (desk.folder() / folder / f"{name}.jsonl").read_text("utf-8")
        found.append(
            [
                (line.get("payload") or line)["content"]
                for line in map(json.loads, text.splitlines())
            ]
        )
    return found[0], found[1]


def test_a_mirror_that_cannot_be_written_costs_nothing(desk: Desk) -> None:
    """B5: the memory is stored, and `status` tells about the mirror."""
    (desk.folder()).mkdir(parents=True)
    (desk.folder() / "jsonl").write_text("in the way")
    op = desk.operator(settings={"mirrors.jsonl": "sky"})
    op.remember("tea", importance=0.9)
    assert op.run_once()["promoted"] == 1
    assert any("mirror jsonl" in problem for problem in op.status()["problems"])


def test_presets_have_their_own_places(desk: Desk) -> None:
    """B7: a preset puts files where its document has them, within the agent's folder."""
    with desk.operator(settings={"preset": "sky", "mirrors.jsonl": "sky"}) as op:
        op.remember_many({"content": f"entry {n}", "score": 7 if n == 3 else 2} for n in range(101))
        assert op.run_once() == {
            "ok": True,
            "promoted": 1,
            "rotated": False,
            "remaining": 100,
            "threshold": 0.7,
        }
        op.remember("one more", score=2)
        assert op.run_once()["rotated"]
        assert [file.file.split("/")[0] for file in op.archives()] == ["memory"]
    assert len(lines(desk, "memory")[0]) == 100
    assert (
        desk.operator("lattice", settings={"preset": "skylattice"}).export().parent.name
        == "exports"
    )
    assert (desk.folder("lattice") / ".local" / "memory" / "exports").is_dir()
    conversation = desk.operator("sentinel", settings={"preset": "sentinel"})
    conversation.remember_conversation([{"text": "hi"}], session="s", keep_raw=True)
    assert list((desk.folder("sentinel") / "data" / "episodes").glob("*/*.json"))
    conversation.world.set_tool({"name": "search", "description": "finds things"})
    assert (desk.folder("sentinel") / "data" / "world_model" / "tools.json").is_file()
