"""Does one step at a time when told, and says how each ended, so that a fault can be put around a single step."""

from __future__ import annotations

import json
import sys
from functools import partial

import lamina

from .common import outcome, say


class Waiter:
    """A process that holds a handle, as an agent does between two memories."""

    def __init__(self, home: str, checkpoint_pages: str) -> None:
        self._home = home
        self._settings = {"store.checkpoint_pages": int(checkpoint_pages), "store.busy_timeout_ms": 2000}
        self._memory: lamina.Operator | None = None

    def open(self) -> None:
        """Open the store anew, without writing to it: the connection for writing is made by the first memory."""
        if self._memory is not None:
            self._memory.close()
        self._memory = lamina.operator("sky", home=self._home, settings=self._settings)

    def remember(self, word: str) -> None:
        assert self._memory is not None
        self._memory.remember(f"memory {word}", tags=["kept", word], evidence=["https://example.org/"], key=word)


def main(home: str, checkpoint_pages: str) -> None:
    waiter = Waiter(home, checkpoint_pages)
    say(outcome="ready")
    for line in sys.stdin:
        arguments = json.loads(line)
        step = getattr(waiter, arguments.pop("step"))
        say(outcome=outcome(partial(step, **arguments)))


if __name__ == "__main__":
    main(*sys.argv[1:])
