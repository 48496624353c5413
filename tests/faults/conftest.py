"""Gives the fault tests a place to count in, and ends their run with one table of everything that
was injected and checked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import tally

OWN = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """One folder for all processes of a run: whoever is first makes it, and those that it starts
    inherit its name."""
    if tally.VARIABLE not in os.environ:
        own = config.stash[OWN] = tempfile.TemporaryDirectory(prefix="lamina-tally-")
        os.environ[tally.VARIABLE] = own.name
    Path(os.environ[tally.VARIABLE]).mkdir(parents=True, exist_ok=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    sums = tally.added_up(Path(os.environ[tally.VARIABLE]))
    if sums:
        terminalreporter.section(
            "faults that were injected, and what became of what was acknowledged"
        )
        for line in tally.table(sums):
            terminalreporter.write_line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    own = config.stash.get(OWN, None)
    if own is not None:
        own.cleanup()
        os.environ.pop(tally.VARIABLE, None)


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that a user without rights can reach; pytest's own folders are private."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
