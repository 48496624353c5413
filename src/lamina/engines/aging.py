"""How much a memory matters by now: less the longer nobody wanted it, more the more often somebody did (S4). Pure.

The importance of a memory, from the `original` one that it was given or judged to have when it came:

    raised = original + (1 - original) × boost      boost = min(0.30, 0.05 × log2(1 + accesses))
    kept   = 0.5 ^ (days since it came or was last wanted / half-life of its layer)
    now    = floor + (raised - floor) × kept

- The floor is 0.05, and half of the original where somebody stated it. It raises nothing: what was below it stays there.
- The result follows from the original, the accesses and whole days, never from yesterday's result: nights do not compound, and
  a second one on the same day changes nothing. It is rounded to hundredths, and a change of less than five is not made.
- Nothing is deleted, and nothing is hidden: what is wanted again matters again at once.
- Short-term memory only rises: how it grows old is said by the rules of retention (L3, L7), and decay must not expire it.
- Profile, procedures and the world hold until somebody changes them, and working memory ends with its run: all these stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec

from lamina.model.record import Layer

DAY = timedelta(days=1)
# Days after which half of what is above the floor is gone.
HALF_LIVES: Mapping[Layer, float] = {
    Layer.SHORT_TERM: math.inf,
    Layer.EPISODIC: 180.0,
    Layer.SEMANTIC: 730.0,
}
FLOOR = 0.05
GIVEN_FLOOR = 0.5  # of the original
BOOST, MOST_BOOST = 0.05, 0.30  # for each time that the accesses double, of what is missing to 1
LEAST_CHANGE = 0.05  # smaller ones would fill the trail and be noticed by nobody


class Entry(msgspec.Struct, frozen=True, gc=False):
    """What decides how much a memory matters, without its text."""

    id: str
    seq: int
    event: int
    layer: Layer
    importance: float  # as it is
    original: float  # as it was before it was ever adjusted
    created_at: datetime
    accessed_at: datetime | None = None
    accesses: int = 0
    given: bool = False  # whether somebody stated the original


class Adjusted(msgspec.Struct, frozen=True, gc=False):
    """A new importance, and why."""

    entry: Entry
    importance: float
    why: str


def plan(entries: Iterable[Entry], now: datetime) -> list[Adjusted]:
    """The memories that matter more or less by now than it says, in the order in which they came."""
    found = (
        _adjusted(entry, now) for entry in sorted(entries, key=lambda entry: (entry.seq, entry.id))
    )
    return [adjusted for adjusted in found if adjusted is not None]


def importance(entry: Entry, now: datetime) -> float:
    """How much a memory matters now."""
    if entry.layer not in HALF_LIVES:
        return entry.importance
    original = min(1.0, max(0.0, entry.original))
    raised = original + (1 - original) * _boost(entry.accesses)
    floor = min(original, max(FLOOR, GIVEN_FLOOR * original if entry.given else 0.0))
    kept = math.pow(0.5, days_unused(entry, now) / HALF_LIVES[entry.layer])
    return max(floor, round(floor + (raised - floor) * kept, 2))


def days_unused(entry: Entry, now: datetime) -> int:
    """Whole days since a memory came or was last wanted. A clock may have been set back."""
    last = max(entry.created_at, entry.accessed_at or entry.created_at)
    return max(0, (now - last) // DAY)


def _boost(accesses: int) -> float:
    return min(MOST_BOOST, BOOST * math.log2(1 + max(0, accesses)))


def _adjusted(entry: Entry, now: datetime) -> Adjusted | None:
    new = importance(entry, now)
    if abs(new - entry.importance) < LEAST_CHANGE - 1e-9:
        return None
    return Adjusted(entry, new, _why(entry, new, now))


def _why(entry: Entry, new: float, now: datetime) -> str:
    """The reason in words, such as "wanted 3 times, last 200 days ago: 0.60 became 0.33"."""
    days = days_unused(entry, now)
    ago = "today" if days == 0 else f"{days} {'day' if days == 1 else 'days'} ago"
    if entry.accesses > 0:
        wanted = (
            f"wanted {'once' if entry.accesses == 1 else f'{entry.accesses} times'}, last {ago}"
        )
    else:
        wanted = f"never wanted, it came {ago}"
    kept = (
        ", at least half of what was stated"
        if entry.given and new <= GIVEN_FLOOR * entry.original + LEAST_CHANGE
        else ""
    )
    return f"{wanted}{kept}: {entry.original:.2f} became {new:.2f}"
