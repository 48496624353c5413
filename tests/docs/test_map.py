"""Promises about the house: SQL has one room, nothing names a machine, one
place begins transactions."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "lamina"
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX|VIEW)|PRAGMA\s)",
    re.S,
)
HOSTS = re.compile(r"https?://[\w.-]+/simple\b|index-url|(?<![\w.])/(?:root|work|home/\w+)/")


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Every text literal in a file but its docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def test_sql_lives_in_the_store() -> None:
    """No file outside store/ contains a statement of SQL."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in SOURCE.rglob("*.py")
        if "store" not in path.relative_to(SOURCE).parts
        for line, text in strings(path)
        if SQL.search(text)
    ]
    assert found == []


def test_the_check_for_sql_can_fail() -> None:
    """The check above finds statements where they are allowed to be."""
    assert any(SQL.search(text) for _, text in strings(SOURCE / "store" / "tables" / "records.py"))


def test_one_place_begins_write_transactions() -> None:
    """Only sqlite.py writes BEGIN IMMEDIATE."""
    files = [
        path.name
        for path in SOURCE.rglob("*.py")
        for _, text in strings(path)
        if "BEGIN IMMEDIATE" in text
    ]
    assert files == ["sqlite.py"]


def test_no_file_names_a_machine_or_an_index() -> None:
    """The repository holds no absolute path of a machine and no address of a package index."""
    command = ["git", "-c", "safe.directory=*", "ls-files"]  # whoever owns the clone
    listed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    own = Path(__file__).relative_to(ROOT).as_posix()
    for name in listed:
        path = ROOT / name
        if path.is_file() and name not in (own, "LICENSE"):
            assert not HOSTS.search(path.read_text("utf-8", errors="replace")), name


# Functions that are longer than others may be, each with the reason.
LONGER = {
    "upkeep/erase.py: begin": "is one transaction, step by step",
}


def test_files_stay_readable() -> None:
    """No source file grows beyond 600 lines, no function beyond 60."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        assert text.count("\n") <= 600, path.name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                name = f"{path.parent.name}/{path.name}: {node.name}"
                assert (node.end_lineno or 0) - node.lineno < 60 or name in LONGER, name


def test_the_map_has_every_room() -> None:
    """CONTRIBUTING.md says of every file and folder of the package what is in it."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rooms = [*SOURCE.iterdir(), *(SOURCE / "surfaces").iterdir()]
    names = [
        f"{path.name}/" if path.is_dir() else path.name
        for path in rooms
        if path.suffix in ("", ".py")
    ]
    hidden = ("__init__.py", "__pycache__/", "surfaces/")
    assert [
        name
        for name in names
        if name not in hidden and not re.search(rf"[`/]{re.escape(name)}`", text)
    ] == []


def test_nothing_recommends_a_package_of_our_name() -> None:
    """Lamina is on no index, where anybody could put something under its name: every page and
    message names the clone (D1)."""
    advised = re.compile(r"pip install ['\"]?lamina\b|lamina\[\w+\]")
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *SOURCE.rglob("*.py"),
        *(ROOT / "plugin").rglob("*.md"),
    ]
    assert [
        path.name for path in pages if advised.search(path.read_text("utf-8", errors="replace"))
    ] == []


def test_every_extra_that_is_recommended_is_one() -> None:
    """What an error or a page tells to install is an extra of this package (D1)."""
    named = re.compile(r"extras\.remedy\(['\"]([\w,-]+)['\"]\)|pip install \"\.\[([\w,-]+)\]\"")
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *SOURCE.rglob("*.py")]
    found = {
        one
        for path in pages
        for pair in named.findall(path.read_text("utf-8"))
        for one in "".join(pair).split(",")
    }
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    assert {"http", "mcp", "minilm", "postgres", "chroma"} <= found
    assert found <= known.keys()


def test_the_architecture_names_files_that_exist() -> None:
    """docs/architecture.md names files and folders that are there, so that a reader finds them."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = {
        path
        for path in re.findall(r"`([\w/]+(?:\.py|/))`", text)
        if not path.startswith(("src/", "tests/"))
    }
    assert len(named) > 50
    assert [path for path in sorted(named) if not [*SOURCE.glob(f"**/{path.rstrip('/')}")]] == []
