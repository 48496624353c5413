"""Promises of `lamina --help`, and to whoever types a word that other programs have."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from lamina.surfaces.cli.main import FILE_OF, cli
from lamina.surfaces.cli.sections import LINES, SECTIONS, SYNONYMS
from tests.cases import every
from tests.surfaces.conftest import Call


def test_every_command_is_in_one_section() -> None:
    """H1: eight sections have every command, each of them once."""
    listed = [name for part in SECTIONS.values() for name in part]
    assert len(SECTIONS) == 8
    assert len(listed) == len(set(listed))
    assert set(listed) >= {*FILE_OF, *cli.commands}


@pytest.mark.parametrize("columns", [80, 140])
def test_no_description_is_cut(call: Call, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """H1: each command is one line of the help, whole, in a narrow terminal and in a wide one."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = call("--help").out.splitlines()
    assert max(map(len, lines)) <= columns
    for name in {*FILE_OF, *cli.commands}:
        line = LINES[name]
        assert any(re.fullmatch(rf"  {name} +{re.escape(line)}", shown) for shown in lines), name
    assert [line[:-1] for line in lines if line[:-1] in SECTIONS] == [*SECTIONS]


def test_commands_of_a_group_are_described_whole(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H1: what is too long for a line goes on in the next one."""
    monkeypatch.setenv("COLUMNS", "80")
    for group in ("audit", "review", "archive", "mirror", "token", "runs", "world"):
        out = call(group, "--help").out
        assert "..." not in out.partition("Commands:")[2], out


def test_help_loads_no_command() -> None:
    """H1: the overview comes from a table; no command is imported for it."""
    script = (
        "import sys; from lamina.surfaces.cli.main import run; run(['--help'])\n"
        "print(*(name for name in sys.modules if name.startswith('lamina.surfaces.cli.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name.rpartition(".")[2] for name in done.stdout.splitlines()[-1].split()}
    assert loaded == {"main", "invocation", "output", "sections"}


def test_synonyms_lead_to_commands() -> None:
    """H1: what is suggested can be called."""
    assert {name for names in SYNONYMS.values() for name in names} <= {*FILE_OF, *cli.commands}


@every(
    ("word", "meant"),
    [
        ("add", "remember"),
        ("ask", "search"),
        ("delete", "forget"),
        ("delete", "erase"),
        ("get", "inspect"),
        ("show", "list"),
        ("stats", "status"),
        ("init", "config"),
        ("approve", "review"),
        ("ADD", "remember"),
        ("serch", "search"),
        ("remembr", "remember"),
        ("reveiw", "review"),
    ],
)
def test_a_word_that_is_no_command(call: Call, word: str, meant: str) -> None:
    """H1: the error names the command that does it, and what that does."""
    if word in FILE_OF:
        return
    outcome = call(word, "something")
    assert outcome.code == 2
    assert f"there is no command '{word}'" in outcome.err
    assert f"`lamina {meant}` ({LINES[meant]})" in outcome.err
