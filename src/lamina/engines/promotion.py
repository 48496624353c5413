"""Plan which short-term memories are promoted, merged, expired, or removed for room. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from lamina.errors import Refused
from lamina.home.retention import Retention
from lamina.model import hashing, rules
from lamina.model.record import Entry, Layer, Record, State

DAY = 86_400
# Kinds that people state explicitly: they are worth keeping if of use, even if unimportant.
EXPLICIT = frozenset({"fact", "preference", "decision"})


class Action(StrEnum):
    """The action for an entry."""

    PROMOTE = "promote"
    JOIN = "join"
    EXPIRE = "expire"
    ROTATE = "rotate"
    KEEP = "keep"


class Service(StrEnum):
    """Why an explicit memory is worth keeping, whatever its importance."""

    USED = "it was used"
    BELIEVED = "what is known rests on it"


class Waiting(msgspec.Struct, frozen=True):
    """The explicit memories that remain in short-term memory, and why."""

    count: int
    unread: int  # sleep has not read them yet
    unused: int  # neither used nor read as claims
    stated: int  # of use, but given too low an importance by their author
    oldest: datetime | None

    @property
    def why(self) -> str:
        """The reasons in words."""
        reasons = (
            f"{self.unread:,} until sleep reads them" if self.unread else "",
            f"{self.unused:,} not used so far" if self.unused else "",
            f"{self.stated:,} because their importance was given" if self.stated else "",
        )
        return ", ".join(filter(None, reasons))


class Decision(msgspec.Struct, frozen=True, gc=False):
    """The action for one entry, and the rule that decided."""

    entry: Entry
    action: Action
    threshold: float
    tag: str | None = None
    twin: str | None = None
    days: float = 0.0
    rejected: str | None = None  # a record with the same content that a person rejected
    service: Service | None = None

    @property
    def layer(self) -> Layer:
        """The layer of the entry once it is promoted."""
        return self.promoted[0]

    @property
    def promoted(self) -> tuple[Layer, Mapping[str, Any]]:
        """The layer and the metadata of the entry once it is promoted."""
        entry = self.entry
        if self.rejected is not None:
            return Layer.EPISODIC, hashing.decode(entry.metadata)
        return rules.promoted(entry.kind, entry.trust, hashing.decode(entry.metadata), entry.tags)

    @property
    def rule(self) -> str:
        """The reason in words."""
        value, bound = _distinct(self.entry.importance, self.threshold)
        importance = f"importance {value}"
        match self.action:
            case Action.PROMOTE if self.rejected is not None:
                return f"{importance}; rejected in {self.rejected}, so it is kept as what was said"
            case Action.JOIN:
                return f"says the same as {self.twin}, and joins it as evidence"
            case Action.EXPIRE:
                return f"{importance} and {self.days:.0f} days old: expired"
            case Action.ROTATE:
                return "the oldest, beyond the most that short-term memory holds"
            case Action.PROMOTE if self.tag is not None:
                return f"the tag {self.tag} always promotes"
            case Action.PROMOTE if self.service is not None:
                return f"{importance}, and {self.service}"
            case Action.PROMOTE:
                return f"{importance} reaches {bound}{self._aged}"
        return f"{importance} is below {bound}{self._aged}"

    @property
    def _aged(self) -> str:
        return f", lowered after {self.days:.0f} days" if self.days else ""


def plan(
    entries: Sequence[Entry],
    now: datetime,
    retention: Retention,
    twins: Mapping[str, str] | None = None,
    serving: Mapping[str, Service] | None = None,
) -> list[Decision]:
    """Decide about every entry, given in order of arrival.

    `twins` maps entries to the memories that they repeat, `serving` has the entries of use.
    """
    always, served = frozenset(retention.promote_tags), serving or {}
    decisions = [
        _decided(entry, now, retention, always, twins or {}, served.get(entry.id))
        for entry in entries
    ]
    kept = [number for number, one in enumerate(decisions) if one.action is Action.KEEP]
    for number in kept[: max(0, len(kept) - retention.short_term_max_lines)]:
        kept_one = decisions[number]
        decisions[number] = Decision(kept_one.entry, Action.ROTATE, kept_one.threshold)
    return decisions


def promotable(
    entries: Sequence[Entry],
    now: datetime,
    retention: Retention,
    serving: Mapping[str, Service] | None = None,
) -> list[Entry]:
    """List the entries that the rules would promote."""
    decided = plan(entries, now, retention, None, serving)
    return [one.entry for one in decided if one.action is Action.PROMOTE]


def explicit(entries: Sequence[Entry], now: datetime, retention: Retention) -> list[Entry]:
    """List the explicit memories that are not promoted by importance."""
    decided = plan(entries, now, retention)
    return [
        one.entry
        for one in decided
        if one.action not in (Action.PROMOTE, Action.JOIN) and one.entry.kind in EXPLICIT
    ]


def waiting(
    entries: Sequence[Entry], slept: int, serving: Collection[str], stated: Collection[str]
) -> Waiting:
    """Count why explicit memories wait; `slept` is the number up to which sleep has read."""
    kept = [one for one in entries if one.id not in serving]
    unread = [one for one in kept if one.id not in stated and one.seq > slept]
    given = [one for one in kept if one.id in stated]
    return Waiting(
        len(kept),
        len(unread),
        len(kept) - len(unread) - len(given),
        len(given),
        min((one.since for one in kept), default=None),
    )


def check_promotable(record: Record) -> None:
    """Raise unless a person may promote this record: it is short-term memory, and active."""
    if record.archived is not None:
        raise Refused(
            f"the record {record.id} is archived; bring it back first: `lamina archive restore`"
        )
    if record.layer is not Layer.SHORT_TERM or record.state is not State.ACTIVE:
        raise Refused(
            f"the record {record.id} is {record.state} in {record.layer} memory;"
            " only active short-term memories are promoted"
        )


def by_hand(entry: Entry) -> Decision:
    """Decide to promote an entry chosen by a person: any importance is enough."""
    return Decision(entry, Action.PROMOTE, threshold=0.0)


def _decided(
    entry: Entry,
    now: datetime,
    retention: Retention,
    always: frozenset[str],
    twins: Mapping[str, str],
    service: Service | None,
) -> Decision:
    threshold, days = retention.promote_threshold, 0.0
    if retention.time_decay_per_day or retention.expire_after_days:
        age = max(0.0, (now - entry.since).total_seconds() / DAY)  # a clock may have been set back
        if retention.time_decay_per_day:
            threshold = retention.threshold(age)
            days = age if threshold < retention.promote_threshold else 0.0
    tag = next((tag for tag in entry.tags if tag in always), None) if always else None
    is_important = tag is not None or entry.importance >= threshold
    serves = None if is_important else _service(entry, retention, service)
    if is_important or serves is not None:
        twin = None if entry.wanted else twins.get(entry.id)
        action = Action.PROMOTE if twin is None else Action.JOIN
        return Decision(entry, action, threshold, tag, twin, days, service=serves)
    is_old = bool(retention.expire_after_days) and age >= retention.expire_after_days
    if is_old and entry.importance < retention.expire_below:
        return Decision(entry, Action.EXPIRE, threshold, days=age)
    return Decision(entry, Action.KEEP, threshold, days=days)


def _service(entry: Entry, retention: Retention, service: Service | None) -> Service | None:
    return service if retention.promote_used and entry.kind in EXPLICIT else None


def _distinct(value: float, bound: float) -> tuple[str, str]:
    """Format two numbers with enough decimals to see which is larger."""
    for decimals in range(2, 17):
        shown = f"{value:.{decimals}f}", f"{bound:.{decimals}f}"
        if value == bound or shown[0] != shown[1]:
            return shown
    return repr(value), repr(bound)
