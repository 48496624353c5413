"""A process that moves a memory, and dies by its own hand after some steps when it is told to."""

from __future__ import annotations

import os
import signal
import sys

from lamina.home.folder import Home
from lamina.memory import migrate


def main(home: str, to: str, steps: str) -> None:
    left = int(steps)

    def advance(done: int, total: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    migrate.move(Home(home), "sky", to, advance)


if __name__ == "__main__":
    main(*sys.argv[1:])
