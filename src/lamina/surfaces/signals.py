"""The signals that end a program which serves or runs jobs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM)


def heard() -> list[signal.Signals]:
    """List the signals that were not ignored when the program was started.

    A shell lets a script's background jobs ignore SIGINT, so that Ctrl-C for another program does
    not end them. A handler would undo that.
    """
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def handled(handle: Callable[..., object]) -> Iterator[None]:
    """Handle the signals with a function during a block. Only the main thread can do this."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handle) for number in heard()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
