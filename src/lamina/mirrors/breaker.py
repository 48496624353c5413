"""When a server that did not answer is asked again: not by every request, and by all processes of a home alike."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from lamina.errors import Refused, StoreUnavailable
from lamina.home.folder import read_private, write_private
from lamina.model.clock import Clock, to_micros

FIRST_WAIT = 500_000  # microseconds; twice as long after each failure
LONGEST_WAIT = 4_000_000
MANY = 1_000_000  # failures; more than that is nobody's count


class Outage(msgspec.Struct, frozen=True):
    """A server that did not answer: how often in a row, until when nobody asks it, and what went wrong."""

    failures: int
    until: int
    problem: str
    address: str = ""


def after_failure(known: Outage | None, now: int, problem: str, address: str = "") -> Outage:
    """What is known after one more failure."""
    failures = 1 if known is None else min(max(known.failures, 0), MANY) + 1
    return Outage(
        failures, now + min(FIRST_WAIT << min(failures - 1, 10), LONGEST_WAIT), problem, address
    )


def is_open(known: Outage | None, now: int) -> bool:
    """Whether it is too early to ask again. An end that lies too far ahead is from a clock that was set back."""
    return known is not None and now < known.until <= now + LONGEST_WAIT


class Breaker:
    """The outage of one server, in a file that the processes of a home share. What is noted of another address is not ours."""

    def __init__(self, path: Path, clock: Clock, address: str = "") -> None:
        self._path = path
        self._clock = clock
        self._address = address
        self._own: Outage | None = None

    def check(self) -> None:
        """Raise while it is too early to ask again."""
        known = self._known()
        if known is not None and is_open(known, to_micros(self._clock())):
            raise StoreUnavailable(f"{known.problem}; it is asked again in a moment")

    def failed(self, problem: str) -> None:
        """The server did not answer."""
        self._own = after_failure(self._known(), to_micros(self._clock()), problem, self._address)
        with suppress(
            StoreUnavailable, Refused
        ):  # a folder that cannot be written: then each process finds out by itself
            write_private(self._path, msgspec.json.encode(self._own))

    def answered(self) -> None:
        """The server is there, whatever it said."""
        self._own = None
        with suppress(OSError):  # as above
            self._path.unlink(missing_ok=True)

    def _known(self) -> Outage | None:
        try:
            known = msgspec.json.decode(read_private(self._path), type=Outage)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return self._own
        return known if known.address == self._address else self._own
