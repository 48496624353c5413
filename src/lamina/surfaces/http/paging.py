"""Pages of long lists: a cursor says where the last page ended, and stays right while memories come and go."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from lamina.errors import InvalidInput, NotFound
from lamina.memory.review_queue import Queue
from lamina.model import clock
from lamina.model.record import Event, Record
from lamina.model.rules import LIMITS
from lamina.text.words import shown

_, MOST = LIMITS
GROWTH = 4
Item = TypeVar("Item")
Place = TypeVar("Place")


class InTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a page of records ended: the time and the number of the last one."""

    at: int
    seq: int


class InTrail(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a page of the trail ended: the number of its last event."""

    seq: int


class InOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a page of anything else ended: what its last item is called, and how many came before that is gone."""

    last: str
    number: int


def of_records(
    listed: Callable[[datetime | str | None, int], list[Record]],
    until: str | None,
    cursor: str | None,
    limit: int,
) -> dict[str, Any]:
    """A page of records, the newest first; `listed` gives those until a time, so many at most."""
    if cursor is None:
        return _page(listed(until, limit + 1), limit, _in_time)
    last = read(cursor, InTime)
    at = _moment(last.at)
    bound = _until(at, until)
    number = limit + 2
    while True:  # many may have happened at one moment, and some of them were on the page before
        found = listed(bound, number)
        later = [one for one in found if (one.occurred_at, one.seq) < (at, last.seq)]
        if len(later) > limit or len(found) < number:
            return _page(later, limit, _in_time)
        if number == MOST:
            raise InvalidInput(
                f"more than {MOST:,} records are of one moment; narrow the list, such as by a tag"
            )
        number = min(number * GROWTH, MOST)


def of_trail(
    latest: Callable[[int, int | None], list[Event]], cursor: str | None, limit: int
) -> dict[str, Any]:
    """A page of the trail, the newest event first; `latest` gives so many before one of them."""
    before = None if cursor is None else read(cursor, InTrail).seq
    return _page(latest(limit + 1, before), limit, lambda event, _: InTrail(event.seq))


def of_items(
    found: Sequence[Item], called: Callable[[Item], str], cursor: str | None, limit: int
) -> dict[str, Any]:
    """A page of a list that is known in full, in its order."""
    start = 0
    if cursor is not None:
        last = read(cursor, InOrder)
        places = [place for place, item in enumerate(found) if called(item) == last.last]
        start = places[0] + 1 if places else max(0, last.number)
    return _page(
        found[start : start + limit + 1],
        limit,
        lambda item, place: InOrder(called(item), start + place),
    )


def of_queue(
    waiting: Callable[[int, str | None], Queue], cursor: str | None, limit: int
) -> tuple[Queue, str | None]:
    """A page of the queue, and the cursor of the next; `waiting` gives so many proposals after one of them."""
    last = None if cursor is None else read(cursor, InOrder)
    try:
        found = waiting(limit, None if last is None else last.last)
    except (
        NotFound
    ):  # somebody has decided about it meanwhile: go on with what stands in its place now
        start = max(0, min(last.number - 1 if last is not None else 0, MOST - limit))
        found = waiting(start + limit, None)
        found = Queue(found[start:], start, found.total)
    more = found and found.left > 0
    return found, _written(
        InOrder(found[-1].record.id, found.before + len(found))
    ) if more else None


def read(cursor: str, kind: type[Place]) -> Place:
    """What a cursor says; it is only ever where to go on, never what may be seen."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=kind)
    except (
        UnicodeEncodeError,
        binascii.Error,
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
    ):
        raise InvalidInput(
            f"the cursor {shown(cursor, 80)} is not one that a page of this list gave"
        ) from None


def _page(
    found: Sequence[Any], limit: int, place: Callable[[Any, int], msgspec.Struct]
) -> dict[str, Any]:
    """The items that fit, and where the next page begins if there are more."""
    shown_ = found[:limit]
    more = len(found) > limit
    return {
        "items": [_plain(item) for item in shown_],
        "next": _written(place(shown_[-1], limit)) if more else None,
    }


def _plain(item: Any) -> Any:
    return item if isinstance(item, dict) else item.to_dict()


def _written(place: msgspec.Struct) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).rstrip(b"=").decode()


def _in_time(record: Record, _: int) -> InTime:
    return InTime(clock.to_micros(record.occurred_at), record.seq)


def _until(at: datetime, until: str | None) -> datetime | None:
    """The bound of a page that begins at a time: right after it, or earlier if that is asked for; none at the end of time."""
    bounds = [] if until is None else [clock.moment(until, "until")]
    if at + clock.MICROSECOND < clock.LATEST:
        bounds.append(at + clock.MICROSECOND)
    return min(bounds, default=None)


def _moment(micros: int) -> datetime:
    try:
        return clock.moment(clock.from_micros(micros), "cursor")
    except OverflowError:
        raise InvalidInput("the cursor is not one that a page of this list gave") from None
