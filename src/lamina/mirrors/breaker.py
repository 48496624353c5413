"""Pause requests to a server that did not answer, for all processes of a home alike."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from lamina.errors import Refused, StoreUnavailable
from lamina.home.folder import read_private, write_private
from lamina.model.clock import Clock, to_micros

FIRST_WAIT = 500_000  # microseconds; twice as long after each failure
LONGEST_WAIT = 4_000_000
MANY = 1_000_000  # failures; counting further would make no difference


class Outage(msgspec.Struct, frozen=True):
    """A server that did not answer: failures in a row, when to ask it again, and the problem."""

    failures: int
    until: int
    problem: str
    address: str = ""


def after_failure(known: Outage | None, now: int, problem: str, address: str = "") -> Outage:
    """Count one more failure and wait twice as long as before, up to the longest wait."""
    failures = 1 if known is None else min(max(known.failures, 0), MANY) + 1
    wait = min(FIRST_WAIT << min(failures - 1, 10), LONGEST_WAIT)
    return Outage(failures, now + wait, problem, address)


def is_open(known: Outage | None, now: int) -> bool:
    """Return whether it is too early to ask again; an end far ahead means a clock was set back."""
    return known is not None and now < known.until <= now + LONGEST_WAIT


class Breaker:
    """The outage of one server, in a file that the processes of a home share.

    A note about another address is ignored: the setting was changed.
    """

    def __init__(self, path: Path, clock: Clock, address: str = "") -> None:
        self._path = path
        self._clock = clock
        self._address = address
        self._own: Outage | None = None

    def check(self) -> None:
        """Raise while it is too early to ask again."""
        known = self._known()
        if known is not None and is_open(known, to_micros(self._clock())):
            raise StoreUnavailable(f"{known.problem}; it is tried again in a moment")

    def failed(self, problem: str) -> None:
        """Note that the server did not answer."""
        self._own = after_failure(self._known(), to_micros(self._clock()), problem, self._address)
        # If the folder cannot be written, each process finds out by itself.
        with suppress(StoreUnavailable, Refused):
            write_private(self._path, msgspec.json.encode(self._own))

    def answered(self) -> None:
        """Note that the server answered, whatever it said."""
        self._own = None
        with suppress(OSError):  # as above
            self._path.unlink(missing_ok=True)

    def _known(self) -> Outage | None:
        try:
            known = msgspec.json.decode(read_private(self._path), type=Outage)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return self._own
        return known if known.address == self._address else self._own
