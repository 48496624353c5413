"""Promises about the README: its examples are run, and what they print is what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import lamina
from lamina.surfaces.cli.main import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
# What differs from run to run: ids, times and hashes, and the fraction of recency that a moment
# costs.
MASKS = (
    (r"\b[0-9a-hjkmnp-tv-z]{26}\b", "ID"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME"),
    (r"head [0-9a-f]{16}", "head HASH"),
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def masked(text: str) -> str:
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("home")
def test_the_console_example_prints_what_the_readme_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every command of the README's example prints what stands below it (H1)."""
    (example,) = blocks("console")
    for part in re.split(r"^\$ ", example, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        run(shlex.split(command)[1:])
        assert masked(capsys.readouterr().out) == masked(expected), command


@pytest.mark.usefixtures("home")
def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The README's Python finds the memory that it stored (I, L10)."""
    (example,) = blocks("python")
    exec(compile(example, "README.md", "exec"), {})
    assert "User wants daily Garmin reports at 7am" in capsys.readouterr().out
    with lamina.open() as memory:
        assert [record.content for record in memory.list(layers=["episodic"])] == [
            "Report sent: 7h 41m of sleep"
        ]


def test_the_two_commands_exist() -> None:
    """What the README tells a stranger to call is in the Makefile, and .ci/run calls it."""
    makefile, ci = (ROOT / "Makefile").read_text("utf-8"), (ROOT / ".ci" / "run").read_text("utf-8")
    for verb in ("demo", "test"):
        assert f"make {verb}" in README
        assert re.search(rf"^{verb}: ", makefile, re.M)
        assert f"make {verb}" in ci
