"""Lock files between processes. A lock ends with the process that holds it, however that ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 1.0  # seconds; what is done under a lock takes milliseconds
STEP = 0.002


@contextmanager
def locked(
    path: Path, *, reading: bool = False, patience: float | None = PATIENCE
) -> Iterator[None]:
    """Hold a lock within this block; readers may share it. Raise BlockingIOError if it is held.

    If the patience is None, wait without a limit. A reader that may not create the lock file
    continues without it, since nobody can be writing there.
    """
    # With O_NONBLOCK, a pipe in place of the file does not make anybody wait.
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= os.O_RDONLY if reading else os.O_RDWR | os.O_CREAT
    try:
        descriptor = os.open(path, flags, 0o600)
    except (FileNotFoundError, PermissionError):
        if not reading:
            raise
        yield
        return
    try:
        _wait(descriptor, patience, shared=reading)
        yield
    finally:
        _release(descriptor)
        os.close(descriptor)


def _wait(descriptor: int, patience: float | None, *, shared: bool) -> None:
    if patience is None:
        _take(descriptor, shared=shared, at_once=False)
        return
    for left in range(round(patience / STEP), -1, -1):
        try:
            _take(descriptor, shared=shared)
            return
        except OSError as error:
            if not left:
                raise BlockingIOError(error.errno, "somebody else holds the lock") from error
        time.sleep(STEP)


if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int, *, shared: bool, at_once: bool = True) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK if at_once else msvcrt.LK_LOCK, 1)

    def _release(descriptor: int) -> None:
        """Do nothing: closing the file releases it."""

else:
    import fcntl

    def _take(descriptor: int, *, shared: bool, at_once: bool = True) -> None:
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, how | fcntl.LOCK_NB if at_once else how)

    def _release(descriptor: int) -> None:
        """Release it explicitly: a forked child may still have this file open, for a long time."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)
