"""Promises about the README: its examples are run, and what they print is what it shows; its numbers
are those of the page that explains them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .pages import DOCS, ROOT, Story

PAGE = ROOT / "README.md"
README = PAGE.read_text("utf-8")
NUMBER = re.compile(r"\.?\d[\d.]*")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home as a reader has it, with jobs in the background."""
    monkeypatch.delenv("LAMINA_MAINTENANCE")
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.mark.usefixtures("home")
def test_what_the_readme_shows_is_what_happens() -> None:
    """The chat's second session knows the first, and every command prints what stands below it,
    in an empty home (H1, I, L10)."""
    assert Story(PAGE).live("python", "console") > 5


def test_the_numbers_beside_others_are_those_of_the_page_about_them() -> None:
    """Every number in the README's table is in a row of docs/peers.md about the same system (H1)."""
    measured: dict[str, set[str]] = {}
    for name, rest in re.findall(
        r"^\| ([^|]+?) [\d.]+ \|(.*)$", (DOCS / "peers.md").read_text(), re.M
    ):
        measured.setdefault(name, set()).update(NUMBER.findall(rest))
    compared = README.partition("## Compared with others")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+?) \|(.*)$", compared.replace("*", ""), re.M)
    assert len(rows) > 5
    for name, rest in rows:
        refused = re.sub(r"\d+ refused", "", rest)  # the rest of those that were acknowledged
        assert set(NUMBER.findall(refused)) <= measured[name], name


def test_the_two_commands_exist() -> None:
    """What the README tells a stranger to call is in the Makefile, and .ci/run calls it."""
    makefile, ci = (ROOT / "Makefile").read_text("utf-8"), (ROOT / ".ci" / "run").read_text("utf-8")
    for verb in ("demo", "test"):
        assert f"make {verb}" in README
        assert re.search(rf"^{verb}: ", makefile, re.M)
        assert f"make {verb}" in ci
