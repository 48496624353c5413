"""Remembers until there is no room, says what still works then, and what works again when
there is room."""

from __future__ import annotations

import resource
import sys

import lamina

from .common import outcome, say

TEXT = "a memory that takes some room " * 40


class Filler:
    """A process that fills its store."""

    def __init__(self, home: str, checkpoint_pages: str) -> None:
        self._memory = lamina.operator(
            "sky", home=home, settings={"store.checkpoint_pages": int(checkpoint_pages)}
        )
        self._written = 0

    def remember(self) -> None:
        word = f"n{self._written}"
        self._memory.remember(f"{TEXT} {word}", tags=["filler", word], key=word)
        self._written += 1

    def fill(self) -> None:
        """Write until it fails; several failures in a row, because the first one must not make the
        next one worse."""
        while (how := outcome(self.remember)) == "done":
            pass
        failures = [how, *(outcome(self.remember) for _ in range(5))]
        say(acknowledged=self._written, failures=failures)

    def look(self) -> None:
        """What can be read while there is no room."""
        say(
            found=len(self._memory.search("room", limit=3)),
            listed=len(self._memory.list(limit=10_000)),
            got=self._memory.get(self._memory.list(limit=1)[0].id).content[:8],
            verified=outcome(self.verify),
        )

    def verify(self) -> None:
        report = self._memory.audit_verify()
        assert report["events"].ok
        assert report["reads"].ok

    def go_on(self) -> None:
        """Write once more, and again, now that there is room."""
        say(outcomes=[outcome(self.remember) for _ in range(5)], acknowledged=self._written)
        self._memory.close()


def limit(size: int) -> None:
    """No file of this process may grow beyond this size; what exceeds it is an error,
    not a signal."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))


def main(home: str, checkpoint_pages: str, file_size: str) -> None:
    """Go on from step to step whenever told. A file size of 0 means that the disk
    itself is small."""
    filler = Filler(home, checkpoint_pages)
    if int(file_size):
        limit(int(file_size))
    filler.fill()
    filler.look()
    sys.stdin.readline()
    limit(resource.RLIM_INFINITY)
    filler.go_on()


if __name__ == "__main__":
    main(*sys.argv[1:])
