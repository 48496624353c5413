"""What a claim does, as a table: its relation to the facts of its slot, its source, its time. Pure.

Rows are tried from the top, and the first match decides. An empty cell matches everything.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import NamedTuple


class Relation(StrEnum):
    """The relation of a claim to the facts of its slot that hold at its time."""

    NOTED = "noted"  # a fact says the same, and already lists this source
    SAME = "same"  # a fact says the same
    UNKNOWN = "unknown"  # it denies any value, and none is known
    NEW = "new"  # no fact says the same or the contrary
    RIVAL = "rival"  # it gives another value
    DENIAL = "denial"  # it says that a fact no longer holds
    CORRECTION = "correction"  # it takes a fact back and gives the right value
    RETRACTION = "retraction"  # it takes a fact back without a replacement
    OVER = "over"  # it is about a past state that a fact says holds
    PAST = "past"  # it is about a past state, and no fact says that it holds
    RECALLED = "recalled"  # it is about a past state that is already known


class Standing(StrEnum):
    """How the trust in a source compares with that in the affected facts."""

    ENOUGH = "enough"
    LESS = "less"
    EXTERNAL = "external"


class Time(StrEnum):
    """What the facts say about the time after the claim's."""

    LATEST = "latest"  # nothing newer is known
    WITH_SAME = "with the same"  # another fact says the same and holds at that time
    BEFORE_SAME = "before the same"  # a newer fact says the same
    BEFORE_OTHER = "before another"  # a newer fact says something else


class Effect(StrEnum):
    """What a claim does to the facts of its slot."""

    NEW = "new"
    CHANGE = "change"
    REPEAT = "repeat"
    PAST = "past"  # it held before the known facts began
    END = "end"  # a fact ends without a replacement
    PROPOSE = "propose"  # the source is trusted less than the facts: a person decides
    KNOWN = "known"  # nothing changes


class Row(NamedTuple):
    """One row of the table; `why` may refer to the values that end as {ended}."""

    relation: Relation | None
    standing: Standing | None
    time: Time | None
    effect: Effect
    why: str


_R, _S, _T, _E = Relation, Standing, Time, Effect
TABLE = (
    Row(_R.NOTED, None, None, _E.KNOWN, "known already"),
    Row(_R.UNKNOWN, None, None, _E.KNOWN, "nothing of that is known"),
    Row(_R.RECALLED, None, None, _E.KNOWN, "known already, and over"),
    Row(
        _R.SAME,
        _S.EXTERNAL,
        None,
        _E.KNOWN,
        "known already, and who repeats it is trusted less",
    ),
    Row(_R.SAME, None, None, _E.REPEAT, "says what is known"),
    Row(None, _S.EXTERNAL, None, _E.PROPOSE, "who says so is trusted less: a person decides"),
    Row(None, _S.LESS, None, _E.PROPOSE, "who says so is trusted less: a person decides"),
    Row(_R.OVER, None, None, _E.END, "{ended} is over"),
    Row(_R.PAST, None, None, _E.PAST, "it is over"),
    Row(_R.CORRECTION, None, _T.WITH_SAME, _E.REPEAT, "takes back {ended}"),
    Row(None, None, _T.BEFORE_SAME, _E.REPEAT, "held before it was known"),
    Row(None, None, _T.BEFORE_OTHER, _E.PAST, "something newer is known"),
    Row(_R.NEW, None, None, _E.NEW, "not known before"),
    Row(_R.CORRECTION, None, None, _E.CHANGE, "takes back {ended}"),
    Row(_R.RETRACTION, None, None, _E.CHANGE, "takes back {ended}"),
    Row(_R.DENIAL, None, None, _E.CHANGE, "ends {ended}"),
    Row(_R.RIVAL, None, None, _E.CHANGE, "ends {ended}"),
)


@cache
def row(relation: Relation, standing: Standing, time: Time) -> Row:
    """Find the row that decides."""
    given = (relation, standing, time)
    return next(
        one
        for one in TABLE
        if all(wanted in (None, found) for wanted, found in zip(one[:3], given, strict=True))
    )
