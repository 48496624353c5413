"""Handles on a store that was broken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.children.review_decider import Decider


@contextmanager
def opened(home: Path) -> Iterator[Decider]:
    """What another process has that comes after the fault."""
    decider = Decider()
    decider.open(str(home))
    try:
        yield decider
    finally:
        decider.close()
