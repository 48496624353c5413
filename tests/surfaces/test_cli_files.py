"""Promises of export and import on the command line: files of other programs in and out, and a
report of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.surfaces.conftest import Call, remembered
from tests.unit.formats.golden_files import FILES, golden
from tests.unit.formats.originals import SENTINEL_NUMBERED, database

FORMS = ("sky", "milton", "skylattice", "sentinel", "mem0", "mcp-memory")


@pytest.mark.parametrize("name", FILES)
def test_a_foreign_file_is_taken_in(call: Call, tmp_path: Path, name: str) -> None:
    """H5: each form is known by itself; the first time something is taken, the second time it is
    here already."""
    path = str(golden(tmp_path, name))
    first = call("import", path, "--json")
    assert (first.code, first.json["taken"] > 0) == (0, True)
    again = call("import", path)
    assert again.code == 0
    assert f"{FILES[name]}: 0 taken, " in again.out


def test_what_is_rejected_is_told(call: Call, tmp_path: Path) -> None:
    """B5, H5: the place and what is wrong with it on standard error, and where it is kept."""
    path = golden(tmp_path, "skylattice.json")
    done = call("import", str(path))
    assert "5 taken, 0 here already, 1 rejected" in done.out
    assert f"rejected {path}:35: this is working memory" in done.err
    assert f"kept in {path}.rejected" in done.err


def test_what_is_lost_is_told(call: Call, tmp_path: Path) -> None:
    """H5: columns of bytes have no place here; the report names and counts them."""
    path = database(tmp_path / "sentinel.db", SENTINEL_NUMBERED)
    assert "no place for it: embedding (1)" in call("import", str(path)).out


def test_a_dry_run_says_so(call: Call, tmp_path: Path) -> None:
    """H5: the report of an import, and nothing has changed: no memory, no file."""
    path = golden(tmp_path, "skylattice.json")
    done = call("import", str(path), "--dry-run")
    assert "5 taken" in done.out
    assert "this was a dry run, nothing has changed" in done.out
    assert "kept in" not in done.err
    assert call("list", "--json").json == []
    assert not Path(f"{path}.rejected").exists()


def test_conflicts_by_choice(call: Call, tmp_path: Path) -> None:
    """H5: skip is the default, replace supersedes, and anything else is wrong usage."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": "m1", "memory": "likes tea"}))
    call("import", str(path))
    path.write_text(json.dumps({"id": "m1", "memory": "likes cola"}))
    assert "1 rejected" in call("import", str(path)).out
    assert "1 replaced" in call("import", str(path), "--on-conflict", "replace").out
    assert [record["content"] for record in call("list", "--json").json] == ["likes cola"]
    assert call("import", str(path), "--on-conflict", "overwrite").code == 2


def test_what_waits_is_counted(call: Call, tmp_path: Path) -> None:
    """V8, H5: records that claim authority wait for a review, unless the operator
    believes the file."""
    path = str(golden(tmp_path, "skylattice.json"))
    assert "2 wait for review" in call("import", path).out
    assert "1 waits for review" in call("--agent", "other", "import", path, "--trust").out


def test_a_form_can_be_named(call: Call, tmp_path: Path) -> None:
    """H5: --format says what a file is; an unknown name is wrong usage, and lists
    the known ones."""
    path = str(golden(tmp_path, "milton.jsonl"))
    assert call("import", path, "--format", "milton", "--json").json["format"] == "milton"
    wrong = call("import", path, "--format", "csv")
    assert (wrong.code, "known are lamina, sky" in wrong.err) == (2, True)


@pytest.mark.parametrize("form", FORMS)
def test_out_and_in_again(call: Call, tmp_path: Path, form: str) -> None:
    """H5: what is exported in a form can be imported from it, into another agent."""
    remembered(call, "went to the market", "--layer", "episodic")
    path = str(tmp_path / "export")
    done = call("export", path, "--format", form, "--json")
    assert (done.code, done.json["format"], done.json["records"]) == (0, form, 1)
    assert call("--agent", "other", "import", path, "--json").json["taken"] == 1


def test_an_export_says_what_it_cannot_hold(call: Call, tmp_path: Path) -> None:
    """H5: how many memories were left out and why, and which fields of the others are lost."""
    remembered(call, "tea", "--tag", "drink")
    remembered(call, "went out", "--layer", "episodic")
    done = call("export", str(tmp_path / "x.db"), "--format", "sentinel")
    assert done.code == 0
    assert "exported 1 memory" in done.out
    assert "left out 1: Sentinel keeps short_term memory elsewhere" in done.out
    assert "sentinel cannot hold: kind (1), trust (1)" in done.out


def test_a_document_for_people(call: Call, tmp_path: Path) -> None:
    """H5: --format markdown is one readable file, in which a memory is only text."""
    remembered(call, "# not a heading", "--layer", "episodic")
    assert call("export", str(tmp_path / "x.md"), "--format", "markdown").code == 0
    assert "\\# not a heading" in (tmp_path / "x.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "--format", "mem0"], "say where to write"),
        (["export", "x", "--format", "mem0", "--public"], "--public is for Lamina's own format"),
        (["export", "x", "--format", "csv"], "known are lamina"),
    ],
)
def test_wrong_usage(call: Call, arguments: list[str], said: str) -> None:
    """H1: what cannot be meant is wrong usage, with what to do, and nothing is written."""
    done = call(*arguments)
    assert (done.code, said in done.err) == (2, True)
    assert not Path("x").exists()


def test_agents_neither_import_nor_export(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V7: both are for people."""
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    assert call("import", str(golden(tmp_path, "mem0.json")), "--dry-run").code == 1
    assert call("export", str(tmp_path / "x.md"), "--format", "markdown").code == 1
    assert not (tmp_path / "x.md").exists()


def test_a_damaged_file_is_one_error(call: Call, tmp_path: Path) -> None:
    """H1, H5: a file that was cut off is an error in the one shape, with exit code 2, and nothing
    is stored."""
    path = tmp_path / "mem0.json"
    path.write_text('[{"id": "a", "memory": "tea"}, {"id"')
    done = call("import", str(path), "--json")
    assert (done.code, json.loads(done.err)["error"]["code"]) == (2, "invalid_input")
    assert call("list", "--json").json == []


# a damaged store without a backup


def damaged(tmp_path: Path) -> Path:
    """The store of the default agent, after something else was written over it."""
    path = tmp_path / "home" / "agents" / "default" / "memory.db"
    for beside in path.parent.glob("memory.db-*"):
        beside.unlink()
    path.write_bytes(b"garbage garbage garbage")
    return path


def test_a_damaged_store_without_a_backup_can_begin_anew(call: Call, tmp_path: Path) -> None:
    """B1: the way out is named, keeps the damaged file, and what waited in the fail-safe is in the
    new store."""
    remembered(call, "lost")
    path = damaged(tmp_path)
    assert call("remember", "kept meanwhile").code == 5
    told = call("restore")
    assert (told.code, told.out) == (1, "")
    assert "`lamina restore --empty`" in told.err
    done = call("restore", "--empty", "--yes")
    assert (done.code, done.err) == (0, "")
    assert "1 memory of the fail-safe came into it" in done.out
    (aside,) = (path.parent / "damaged").iterdir()
    assert (aside / "memory.db").read_bytes() == b"garbage garbage garbage"
    assert [record["content"] for record in call("list", "--json").json] == ["kept meanwhile"]
    assert [event["action"] for event in call("audit", "log", "--json").json][-1] == "restore"
    assert call("audit", "verify").code == 0


def test_a_store_that_is_gone_can_begin_anew(call: Call, tmp_path: Path) -> None:
    """B1: where only the trail of reads is left, that is damage too, and the trail stays."""
    remembered(call, "lost")
    call("search", "lost")
    damaged(tmp_path).unlink()
    assert call("list").code == 1
    assert call("restore", "--empty", "--yes").code == 0
    assert call("list", "--json").json == []
    assert "search" in call("audit", "log", "--reads").out


def test_a_healthy_store_never_begins_anew(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """B1, V1: --empty is refused where memories can be read, where an agent asks, and beside a
    backup that is named."""
    kept = remembered(call, "kept")
    told = call("restore", "--empty", "--yes")
    assert (told.code, "can be read" in told.err) == (1, True)
    assert call("restore", "--empty", str(tmp_path)).code == 2
    assert [record["id"] for record in call("list", "--json").json] == [kept["id"]]
    damaged(tmp_path)
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    assert "is for operators" in call("restore", "--empty", "--yes").err
    monkeypatch.delenv("LAMINA_ROLE")
    told = call("restore", "--empty", stdin="")
    assert (told.code, "--yes" in told.err) == (1, True)
    assert not (tmp_path / "home" / "agents" / "default" / "damaged").exists()
