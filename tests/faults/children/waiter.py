"""Does one step at a time when told, and says how each ended, so that a fault can be put around a
single step."""

from __future__ import annotations

import tempfile

import lamina

from .common import nursery


class Waiter:
    """A process that holds a handle, as an agent does between two memories."""

    def __init__(self) -> None:
        self._home = ""
        self._settings: dict[str, int] = {}
        self._memory: lamina.Operator | None = None

    def begin(self, home: str, checkpoint_pages: int) -> None:
        """Hear where the store is, and do nothing yet."""
        self._home = home
        self._settings = {"store.checkpoint_pages": checkpoint_pages, "store.busy_timeout_ms": 2000}

    def open(self) -> None:
        """Open the store anew, without writing to it: the connection for writing is made by the
        first memory."""
        if self._memory is not None:
            self._memory.close()
        self._memory = lamina.operator("sky", home=self._home, settings=self._settings)

    def remember(self, word: str) -> None:
        assert self._memory is not None
        self._memory.remember(
            f"memory {word}", tags=["kept", word], evidence=["https://example.org/"], key=word
        )


def warm() -> None:
    """Remember once, so that what is traced later is not Python finding its modules."""
    with tempfile.TemporaryDirectory() as folder:
        waiter = Waiter()
        waiter.begin(folder, 1)
        waiter.open()
        waiter.remember("warm")
        waiter.open()


if __name__ == "__main__":
    nursery(Waiter, warm)
