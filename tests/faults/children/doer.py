"""Does one of the write paths when told, so that a fault can be put around it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import lamina
from tests.faults.chores import KEY
from tests.faults.deeds import AGENT, LATER, NOW
from tests.faults.paths import PATHS, done, opened, settings_of

from .common import nursery, outcome


class Doer:
    """A process that holds a handle for one write path. Its clock stands still."""

    def __init__(self) -> None:
        self._operator: lamina.Operator | None = None

    def open(self, home: str, path: str) -> None:
        settings = settings_of(PATHS[path])
        self._operator = lamina.operator(
            AGENT, home=home, clock=lambda: LATER, actor="ana", key=KEY, settings=settings
        )

    def do(self, path: str) -> None:
        assert self._operator is not None
        PATHS[path].do(self._operator)

    def close(self) -> None:
        assert self._operator is not None
        self._operator.close()


def warm(names: Sequence[str]) -> None:
    """Do everything once that is to come, so that what is traced later is not Python
    finding its modules."""
    for path in map(PATHS.__getitem__, names):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder, "home")
            with opened(path, home, NOW) as operator:
                path.furnish(operator)
            path.take(home)
            with opened(path, home) as operator:
                done(path, operator)
                outcome(partial(path.view, operator))


if __name__ == "__main__":
    nursery(Doer, partial(warm, sys.argv[1:]))
