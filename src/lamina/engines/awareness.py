"""Find open items: requests, escalations, reviews, and what is due. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from lamina.model.record import Record, State, iso
from lamina.text import words

REQUEST = "request without a result"
PENDING = "status pending"
ESCALATION = "unanswered escalation"
REVIEW = "waits for review"
DATE = "the day has come"

# Words in a status that mean that nothing is left to do.
DONE = frozenset(
    "done success succeeded completed complete resolved answered closed cancelled canceled"
    " rejected".split()
)
# A record of these kinds that cites a request or escalation answers it; others may only mention it.
ANSWERING = frozenset({"result", "action", "decision"})
WIDTH = 200
GRACE = timedelta(days=7)


class Days(NamedTuple):
    """The days that a text mentions: spans from a first day to the day after the last.

    And whether today is one of its recurring days.
    """

    spans: Sequence[tuple[date, date]] = ()
    is_again: bool = False


def pending(
    records: Iterable[Record],
    answered: AbstractSet[str],
    today: date,
    days_of: Callable[[Record], Days],
    answered_today: AbstractSet[str] = frozenset(),
) -> list[dict[str, Any]]:
    """List what is open, oldest first, each memory once and with its first reason.

    `answered` is the result of `answers`. `days_of` parses the days in a text, and is only called
    if nothing else makes a memory open. A recurring day is open only on that day, until something
    answers it then.
    """
    items: dict[str, dict[str, Any]] = {}
    for record in sorted(records, key=lambda record: (_since(record), record.seq)):
        reason = _reason(record, answered)
        if reason is None:
            reason = _of_days(record, answered, answered_today, today, days_of(record))
        if reason is not None and record.id not in items:
            items[record.id] = _item(record, *reason)
    return list(items.values())


def answers(records: Iterable[Record], since: date = date.min) -> frozenset[str]:
    """Collect the ids that records answer: by citing them as a result, or by naming them."""
    return frozenset(
        answered
        for record in records
        if record.occurred_at.date() >= since
        for answered in _answered_by(record)
    )


def _answered_by(record: Record) -> Iterator[str]:
    if record.state is not State.ACTIVE:
        return
    if record.kind in ANSWERING:
        yield from record.evidence
    if record.kind != "request":  # a request carries its own request_id
        yield from _texts(record.metadata.get("request_id"))
    yield from _texts(record.metadata.get("answers"))


def _texts(value: object) -> Iterator[str]:
    values = [value] if isinstance(value, str) or not isinstance(value, Collection) else value
    yield from (item for item in values if isinstance(item, str))


def _reason(record: Record, answered: AbstractSet[str]) -> tuple[str, date | None] | None:
    """Return why a memory is open regardless of days; None if it is not."""
    if record.state is State.CONSTRAINED:
        return REVIEW, None
    status = _status(record)
    if record.state is not State.ACTIVE or status in DONE or _is_answered(record, answered):
        return None
    if record.kind == "request":
        return REQUEST, None
    if status == "pending":
        return PENDING, None
    escalated_to = str(record.metadata.get("escalated_to") or "")
    if record.kind == "escalation" or words.is_visible(escalated_to):
        return ESCALATION, None
    return None


def _of_days(
    record: Record,
    answered: AbstractSet[str],
    answered_today: AbstractSet[str],
    today: date,
    days: Days,
) -> tuple[str, date] | None:
    """Return that a day has come or recurs, unless that was answered or the matter is done."""
    if record.state is not State.ACTIVE or _status(record) in DONE:
        return None
    come = [start for start, _ in days.spans if _has_come(start, record, today)]
    if come and not _is_answered(record, answered):
        return DATE, max(come)
    is_due = days.is_again and not _is_answered(record, answered_today)
    return (DATE, today) if is_due and _has_come(today, record, today) else None


def _status(record: Record) -> str:
    return words.normalise(str(record.metadata.get("status", "")))


def _is_answered(record: Record, answered: AbstractSet[str]) -> bool:
    if record.id in answered:
        return True
    own = record.metadata.get("request_id") if record.kind == "request" else None
    return isinstance(own, str) and own in answered


def _has_come(day: date, record: Record, today: date) -> bool:
    """Tell if a day has come recently that was in the future when the memory was stored."""
    lay_ahead = record.occurred_at.date() < day and record.created_at.date() <= day
    return lay_ahead and day <= today <= day + GRACE


def _since(record: Record) -> datetime:
    """Return since when a memory waits: a proposal since it was made, whatever day it is about."""
    return record.created_at if record.state is State.CONSTRAINED else record.occurred_at


def _item(record: Record, why: str, due: date | None) -> dict[str, Any]:
    item = {
        "id": record.id,
        "why": why,
        "kind": record.kind,
        "content": words.one_line(record.content, WIDTH),
        "at": iso(_since(record)),
    }
    return item if due is None else {**item, "due": due.isoformat()}
