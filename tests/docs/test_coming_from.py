"""Who comes from another program finds what they had: every command line of the page runs, and what
it says about files, names and switches is so."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina
from lamina import Operator
from lamina.surfaces.cli.main import run
from lamina.surfaces.hooks import Switches
from tests.cases import every
from tests.docs.pages import DOCS
from tests.unit.formats.golden_files import golden

PAGE = DOCS / "coming-from.md"
LINE = re.compile(r"`lamina ([^`]+)`")
OURS = re.compile(r"`lamina memory ([^`]+)`")
VERB = re.compile(r"`(mem|op)\.(\w+)\(")
VARIABLE = re.compile(r"`MILTON_MEMORY_(\w+)`")
# The files that the page names, and the file of each program that is there for it.
FILES = {
    "memory/sky/short_term.jsonl": "sky.jsonl",
    "data/memory/short_term.jsonl": "milton.jsonl",
    "data/sentinel.db": "sentinel.db",
    "exports/skylattice.json": "skylattice.json",
}
TOOL = {"name": "kettle", "description": "Boils water."}
TALK = "tea for the morning report: how does the user sleep"
NTFY = {"id": "m1", "time": 1_700_000_000, "event": "message", "topic": "t", "message": "make tea"}


def lines() -> list[str]:
    """Every command line of the page, once."""
    return [*dict.fromkeys(LINE.findall(PAGE.read_text("utf-8")))]


def lay_out(folder: Path) -> None:
    """Put the files that the page names where it has them."""
    for path, name in FILES.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        golden(folder, name).rename(place)
    world = folder / "data" / "world_model"
    (world / "integrations").mkdir(parents=True)
    (world / "tools.json").write_text(json.dumps([TOOL]))
    (world / "integrations" / "mail.json").write_text(json.dumps({"host": "localhost"}))


def furnish(op: Operator) -> tuple[str, str]:
    """Remember what the lines ask about; the ids of a memory, and of a proposal."""
    op.remember("garmin", tags=["old"])
    op.prune(tags=["old"])
    op.promote(op.remember("To make tea, boil the water first", kind="fact").id)
    op.remember_conversation([{"speaker": "Ana", "text": "I live in Lisbon."}], session="monday")
    op.sleep()
    tool = {"tool": "morning_reporter"}
    short = op.remember(TALK, session="monday", tags=["kitchen", "garmin"], metadata=tool)
    return short.id, op.propose_profile("breakfast", "toast", "said so").id


@every("line", lines())
def test_a_line_runs(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """H7: each command line of the page does what it is there for, in a memory that has something
    to do it with."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path / "home"))
    lay_out(tmp_path)
    words = shlex.split(line)
    lamina.open("hobbs").close()
    with lamina.operator(words[1] if words[0] == "--agent" else "default") as op:
        memory, proposal = furnish(op)
    meant = proposal if {"confirm", "reject"} & {*words} else memory
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(NTFY) + "\n"))
    code = run([meant if word == "ID" else word for word in words])
    assert code == 0, capsys.readouterr().err


def test_the_page_has_lines() -> None:
    """H7: the pattern finds them, those of every program."""
    assert len(lines()) > 60
    for word in ("import", "memory", "promote", "compress", "capture", "world"):
        assert any(word in line.split() for line in lines()), word


def test_verbs_and_switches_exist() -> None:
    """H4, H7, I: each verb of a handle that the page names is one, and each variable of Milton's
    still switches."""
    text = PAGE.read_text("utf-8")
    for name, verb in VERB.findall(text):
        assert hasattr({"mem": lamina.Memory, "op": Operator}[name], verb), verb
    for variable in VARIABLE.findall(text):
        assert variable.lower() in Switches.__struct_fields__, variable


def test_both_spellings_stand_side_by_side() -> None:
    """H7: each row of Skylattice that shows a line after `memory` shows the short one too."""
    for row in _rows():
        for spelled in OURS.findall(row):
            short = spelled.split()[0]
            assert f"`lamina {short}" in row, row


def _rows() -> Iterator[str]:
    return (row for row in PAGE.read_text("utf-8").splitlines() if row.startswith("| `skylattice"))
