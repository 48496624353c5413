"""Nothing that writes is missing from the fault tests: their table is compared with
the program itself."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from fastapi import FastAPI

import lamina
from lamina.surfaces.hooks import protocol
from lamina.surfaces.http import routes
from lamina.surfaces.mcp import tools

from . import matrix
from .chores import shared
from .harness import AGENT, ROOT, database_of
from .matrix import COMMANDS, EVENTS, LOOKS, READS, ROWS, SERVERS, TOOLS, WRITES
from .paths import PATHS

READING = {*(f"Operator.{verb}" for verb in READS), *LOOKS}
ELSEWHERE = {SERVERS, matrix.CACHE, matrix.RESTORES}


def test_every_verb_is_under_faults_or_only_reads() -> None:
    """P4: a verb that is new to the program is either asked whether it only reads, or is broken in
    a path of its own."""
    every = list(matrix.verbs())
    assert len(every) == len(set(every))
    assert set(every) == {*WRITES, *READING}
    assert not WRITES.keys() & READING


def test_every_path_has_a_verb_and_a_row() -> None:
    """P4: verbs name paths that there are, no path is without a verb, and each is in one row
    of the matrix."""
    named = {path for paths in WRITES.values() for path in paths} - ELSEWHERE
    captured = {"captures messages"}
    assert named | captured == PATHS.keys()
    rows = [path for paths in ROWS.values() for path in paths]
    assert sorted(rows) == sorted(PATHS)


def test_the_matrix_of_the_documentation_has_every_row() -> None:
    """P4: docs/faults.md has the rows of the table here, each with a fault in every one of its
    first three columns."""
    lines = (ROOT / "docs" / "faults.md").read_text().splitlines()
    table = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.count("|") == 6
    ]
    cells = {row: faults[:3] for row, *faults in table}
    assert ROWS.keys() <= cells.keys()
    assert all(all(cells[row]) for row in ROWS)
    for row, paths in ROWS.items():
        files = {PATHS[path].elsewhere for path in paths} - {None}
        assert all(str(file) in cells[row][0] for file in files), row


def test_every_command_calls_verbs_that_are_known() -> None:
    """P4: a command, tool or event that is new has to say which verbs it calls; a tool that only
    reads calls one that does."""
    assert set(matrix.commands()) == COMMANDS.keys()
    called = {verb for verbs in COMMANDS.values() for verb in verbs}
    assert called | set(TOOLS.values()) | set(EVENTS.values()) <= {*WRITES, *READING}
    assert {tool.name: tool.reads_only for tool in tools.EVERY} == {
        name: verb in READING for name, verb in TOOLS.items()
    }
    assert EVENTS.keys() == protocol.EVENTS.keys()


def test_routes_only_read() -> None:
    """P4: the API over HTTP has nothing that could write."""
    app = FastAPI()
    app.include_router(routes.router)
    assert {method for path in app.openapi()["paths"].values() for method in path} == {"get"}


def test_verbs_that_only_read_leave_everything_as_it_is(tmp_path: Path) -> None:
    """P4: whatever the table takes for a verb that only reads commits nothing to the store, and
    writes no file but the audit of reads."""
    settings: dict[str, Any] = {"recall.embedders": ["none"], "mirrors.jsonl": "sky"}
    with (
        lamina.operator(AGENT, home=tmp_path, settings=settings) as operator,
        closing(observer(tmp_path)) as watching,
    ):
        record = operator.remember("memory of Ana", source="radio")
        operator.run("task").note("a note")
        shared(operator)
        with lamina.operator("milton", home=tmp_path) as other:
            other.remember("memory of another", tags=["shared"])
            other.grant(AGENT, tag="shared")
        operator.run_once()
        operator.index()
        for verb, ask in READS.items():
            before = version(watching), files(tmp_path)
            ask(operator, record.id)
            assert (version(watching), files(tmp_path)) == before, verb


def observer(home: Path) -> sqlite3.Connection:
    return sqlite3.connect(database_of(home))


def version(watching: sqlite3.Connection) -> int:
    """A number that another one's commit changes."""
    (found,) = watching.execute("PRAGMA data_version").fetchone()
    return int(found)


def files(home: Path) -> dict[str, str]:
    """Everything in the home but databases, which are asked themselves, and locks."""
    passed_over = re.compile(r"\.db(-wal|-shm)?$|\.lock$")
    found = (
        path for path in home.rglob("*") if path.is_file() and not passed_over.search(path.name)
    )
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found
    }
