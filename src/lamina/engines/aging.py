"""Adjust importance: it decays while a memory is unused, and rises with each access (S4). Pure.

The importance of a memory, from its `original` one, which was given or judged when it was added:

    raised = original + (1 - original) × boost      boost = min(0.30, 0.05 × log2(1 + accesses))
    left   = raised × (1 - loss)                    loss  = min(0.20, 0.05 × log2(ignored / 4))
    kept   = 0.5 ^ (days since it was added or last accessed / half-life of its layer)
    now    = floor + (left - floor) × kept

- The floor is 0.05, or half of the original if a caller stated that. It never raises anything: an
importance below the floor stays there.
- The result depends on the original, the accesses and whole days, never on yesterday's result:
nights do not compound, and a second one on the same day changes nothing. It is rounded to
hundredths, and changes of less than five hundredths are not made.
- Nothing is deleted or hidden: a memory that is accessed matters again at once.
- A memory that contexts included more than four times since its last use is `ignored`, and loses a
little.
- Short-term memory only rises: the retention rules (L3, L7) handle its age, and decay must not make
it expire.
- Profile, procedures and the world hold until they are changed, and working memory ends with its
run: their importance is not adjusted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec

from lamina.model.record import Layer

DAY = timedelta(days=1)
# Days after which half of the importance above the floor is lost.
HALF_LIVES: Mapping[Layer, float] = {
    Layer.SHORT_TERM: math.inf,
    Layer.EPISODIC: 180.0,
    Layer.SEMANTIC: 730.0,
}
FLOOR = 0.05
GIVEN_FLOOR = 0.5  # of the original
BOOST, MOST_BOOST = 0.05, 0.30  # per doubling of the accesses, as a share of what is missing to 1
PATIENCE = 4  # how often a memory may be included without being used
LOSS, MOST_LOSS = 0.05, 0.20  # per doubling of the unused inclusions, as a share of the importance
LEAST_CHANGE = 0.05  # smaller changes would only fill the audit trail


class Usage(msgspec.Struct, frozen=True, gc=False):
    """The usage of a memory: everything that determines its importance, without its text."""

    id: str
    seq: int
    event: int
    layer: Layer
    importance: float  # the present one
    original: float  # before any adjustment
    created_at: datetime
    accessed_at: datetime | None = None
    accesses: int = 0
    given: bool = False  # whether a caller stated the original
    ignored: int = 0  # how often contexts included it since its last use


class Adjusted(msgspec.Struct, frozen=True, gc=False):
    """A new importance, and the reason."""

    entry: Usage
    importance: float
    why: str


def plan(entries: Iterable[Usage], now: datetime) -> list[Adjusted]:
    """List the memories whose importance has changed, in the order given."""
    ordered = sorted(entries, key=lambda entry: (entry.seq, entry.id))
    return [adjusted for entry in ordered if (adjusted := _adjusted(entry, now))]


def importance(entry: Usage, now: datetime) -> float:
    """Compute the present importance of a memory."""
    if entry.layer not in HALF_LIVES:
        return entry.importance
    original = min(1.0, max(0.0, entry.original))
    raised = original + (1 - original) * _boost(entry.accesses)
    left = raised * (1 - _loss(entry))
    floor = min(original, max(FLOOR, GIVEN_FLOOR * original if entry.given else 0.0))
    kept = math.pow(0.5, days_unused(entry, now) / HALF_LIVES[entry.layer])
    return max(floor, round(floor + (left - floor) * kept, 2))


def days_unused(entry: Usage, now: datetime) -> int:
    """Count the whole days since a memory was added or last accessed."""
    last = max(entry.created_at, entry.accessed_at or entry.created_at)
    return max(0, (now - last) // DAY)  # a clock may have been set back


def _boost(accesses: int) -> float:
    return min(MOST_BOOST, BOOST * math.log2(1 + max(0, accesses)))


def _loss(entry: Usage) -> float:
    if entry.ignored <= PATIENCE or entry.layer is Layer.SHORT_TERM:
        return 0.0
    return min(MOST_LOSS, LOSS * math.log2(entry.ignored / PATIENCE))


def _adjusted(entry: Usage, now: datetime) -> Adjusted | None:
    new = importance(entry, now)
    if abs(new - entry.importance) < LEAST_CHANGE - 1e-9:
        return None
    return Adjusted(entry, new, _why(entry, new, now))


def _why(entry: Usage, new: float, now: datetime) -> str:
    """Write the reason: "wanted 3 times, last 200 days ago: 0.60 became 0.33"."""
    days = days_unused(entry, now)
    ago = "today" if days == 0 else f"{days} {'day' if days == 1 else 'days'} ago"
    if entry.accesses > 0:
        times = "once" if entry.accesses == 1 else f"{entry.accesses} times"
        wanted = f"wanted {times}, last {ago}"
    else:
        wanted = f"never wanted, it came {ago}"
    if _loss(entry):
        wanted = f"{wanted}, given {entry.ignored} times in vain"
    is_at_floor = entry.given and new <= GIVEN_FLOOR * entry.original + LEAST_CHANGE
    kept = ", at least half of what was stated" if is_at_floor else ""
    return f"{wanted}{kept}: {entry.original:.2f} became {new:.2f}"
