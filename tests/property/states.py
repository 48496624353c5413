"""The states of a record and the moves between them, written out a second time."""

from __future__ import annotations

from lamina.model.record import State

ACTIVE, CONSTRAINED, SUPERSEDED, TOMBSTONED = (
    State.ACTIVE,
    State.CONSTRAINED,
    State.SUPERSEDED,
    State.TOMBSTONED,
)


# R3 in words of our own: from each state, where to.
NEXT: dict[State, set[State]] = {
    ACTIVE: {SUPERSEDED, TOMBSTONED, CONSTRAINED},
    CONSTRAINED: {ACTIVE, TOMBSTONED},
    SUPERSEDED: {ACTIVE},
    TOMBSTONED: {ACTIVE, CONSTRAINED},
}
