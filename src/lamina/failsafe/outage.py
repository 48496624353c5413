"""An outage of the store, as a handle remembers and reports it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Outage(NamedTuple):
    """An operation that failed because the store was unavailable, and the cause."""

    tried: str  # read, written, or written in time
    cause: str

    def __str__(self) -> str:
        return f"the store could not be {self.tried}: {self.cause}"


def unreported(outage: Outage | None, problems: Iterable[str | None]) -> list[str]:
    """Leave out problems that only repeat the cause of an outage."""
    return [problem for problem in problems if problem and not (outage and outage.cause in problem)]
