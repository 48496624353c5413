"""Promises about the project of a folder: one repository is one project, wherever it is open."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory, Operator
from lamina.errors import InvalidInput
from lamina.surfaces import project
from tests.cases import check_all
from tests.conftest import Desk, contents

GIT = shutil.which("git")


def repository(folder: Path, config: str = "") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(config)
    return folder


def test_a_repository_is_a_project(tmp_path: Path) -> None:
    """C7: every folder of a repository belongs to it; it is called as its origin is, else as its
    folder; a folder outside of any belongs to none."""
    plain = repository(tmp_path / "importer")
    (plain / "src" / "deep").mkdir(parents=True)
    cases = {
        '[remote "origin"]\n\turl = git@example.org:team/shop.git\n': "shop",
        '[core]\n url = no\n[Remote "origin"]\nurl=https://example.org/team/Shop/': "Shop",
        '[remote "upstream"]\n\turl = https://example.org/other.git\n': "cloned",
        '[remote "origin"]\n\turl =\n': "cloned",
        '[remote "origin"]\n\turl = /srv/git/a b\x07.git\n': "a b<U+0007>",
    }

    def check(config: str, name: str) -> None:
        folder = repository(tmp_path / str(len(config)) / "cloned", config)
        assert project.of_folder(str(folder)) == name

    assert project.of_folder(plain) == project.of_folder(plain / "src" / "deep") == "importer"
    assert project.of_folder(plain / "not there yet") == "importer"
    assert project.of_folder(tmp_path) is None
    check_all(cases.items(), check)


def test_a_file_of_git_may_say_anything(tmp_path: Path) -> None:
    """C7, H4: a damaged, strange or hostile repository is a project or none, and never waits."""
    files = [b"", b"gitdir:", b"gitdir: ../nowhere", b"\xff\xfe", b"x" * 200_000, b"gitdir: \0"]
    for number, text in enumerate(files):
        (folder := tmp_path / f"p{number}").mkdir()
        (folder / ".git").write_bytes(text)
        name = project.of_folder(folder)
        assert name is None or name.isprintable()
    (pipe := tmp_path / "pipe").mkdir()
    os.mkfifo(pipe / ".git")
    (odd := repository(tmp_path / "odd")).joinpath(".git", "config").unlink()
    os.mkfifo(odd / ".git" / "config")
    assert (project.of_folder(pipe), project.of_folder(odd)) == ("pipe", "odd")


@given(st.text(max_size=60))
def test_any_folder_has_a_project_or_none(folder: str) -> None:
    """C7: what an agent calls its folder raises nothing."""
    assert project.of_folder(folder) is None or folder


@pytest.mark.skipif(GIT is None, reason="there is no git")
def test_worktrees_are_one_project(tmp_path: Path) -> None:
    """C7: the worktrees that git itself makes belong to the project of their repository."""
    main = tmp_path / "importer"

    def git(*arguments: str) -> None:
        subprocess.run([GIT or "", "-C", str(main), *arguments], check=True, capture_output=True)

    main.mkdir()
    git("init", "-q")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
    git("worktree", "add", "-q", str(tmp_path / "elsewhere" / "fix"), "-b", "fix")
    assert project.of_folder(tmp_path / "elsewhere" / "fix") == "importer"
    git("remote", "add", "origin", "ssh://git@example.org/team/shop.git")
    assert project.of_folder(tmp_path / "elsewhere" / "fix") == project.of_folder(main) == "shop"


def test_a_project_is_kept_with_everything(desk: Desk, mem: Memory, op: Operator) -> None:
    """C7: memories, conversations, runs and their notes carry their project, and the record that
    sums up a project belongs to it."""
    with mem.run("port the parser", project="importer") as run:
        note = run.note("the lexer is done")
    turns = mem.remember_conversation([{"text": "use uv"}], "s1", project="importer")
    fields = [note, *turns, turns.episode, mem.remember("ruff", project="importer")]
    assert {record.project for record in fields} == {"importer"}
    assert mem.list(kinds=["result"])[0].project == "importer"
    assert mem.get(note.id).metadata == {"project": "importer"}
    summed = {"project": {"project_name": "garden", "goals": ["tomatoes"]}}
    assert op.remember("garden", kind="project", metadata=summed).project == "garden"
    assert contents(op.list(project="garden")) == ["garden"]
    with pytest.raises(InvalidInput, match="differs from the metadata's 'shop'"):
        mem.remember("x", project="importer", metadata={"project": "shop"})
    with pytest.raises(InvalidInput, match="project"):
        mem.remember("x", project="two\nlines")


def test_sleep_reads_what_belongs_to_a_project(mem: Memory, op: Operator) -> None:
    """C7, S1: a turn with a project is read like any other."""
    mem.remember("I live in Porto", layer="episodic", speaker="user", project="importer")
    op.sleep()
    assert [fact.value for fact in op.facts(attribute="lives_in")] == ["Porto"]


def test_the_profile_of_a_project(op: Operator) -> None:
    """C7: with a project the profile has the instructions for all projects and for that one."""
    said = op.remember("in the importer project run ruff, everywhere answer briefly")
    patch = {"instructions": {"tone": "briefly", "importer-2.lint": "ruff", "shop.lint": "eslint"}}
    op.upsert_user_profile(patch, [said.id])
    assert [*op.user_profile().instructions] == ["importer-2.lint", "shop.lint", "tone"]
    assert [*op.user_profile(project="Importer 2").instructions] == ["importer-2.lint", "tone"]
    assert [*op.user_profile(project="other").instructions] == ["tone"]
