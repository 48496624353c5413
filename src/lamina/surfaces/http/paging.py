"""Pages of long lists: a cursor marks where a page ended, and stays valid while memories change."""

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
Cursor = TypeVar("Cursor")


class RecordCursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The end of a page of records: the time and the number of the last one."""

    at: int
    seq: int


class TrailCursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The end of a page of the trail: the number of its last event."""

    seq: int


class ItemCursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The end of any other page: the name of its last item, and how many there were so far.

    The number counts if that item is gone.
    """

    last: str
    number: int


def of_records(
    list_records: Callable[[datetime | str | None, int], list[Record]],
    until: str | None,
    cursor: str | None,
    limit: int,
) -> dict[str, Any]:
    """Make a page of records, newest first; `list_records` takes an end and a number."""
    if cursor is None:
        return _page(list_records(until, limit + 1), limit, _record_cursor)
    last = read(cursor, RecordCursor)
    at = _moment(last.at)
    bound = _until(at, until)
    number = limit + 2
    while True:  # many may have happened at one moment, and some of them were on the page before
        records = list_records(bound, number)
        later = [record for record in records if (record.occurred_at, record.seq) < (at, last.seq)]
        if len(later) > limit or len(records) < number:
            return _page(later, limit, _record_cursor)
        if number == MOST:
            raise InvalidInput(
                f"more than {MOST:,} records are of one moment; narrow the list, such as by a tag"
            )
        number = min(number * GROWTH, MOST)


def of_trail(
    latest: Callable[[int, int | None], list[Event]], cursor: str | None, limit: int
) -> dict[str, Any]:
    """Make a page of the trail, newest event first; `latest` takes a number and an end."""
    before = None if cursor is None else read(cursor, TrailCursor).seq
    return _page(latest(limit + 1, before), limit, lambda event, _: TrailCursor(event.seq))


def of_items(
    items: Sequence[Item], name_of: Callable[[Item], str], cursor: str | None, limit: int
) -> dict[str, Any]:
    """Make a page of a fully known list, in its order."""
    start = 0
    if cursor is not None:
        last = read(cursor, ItemCursor)
        names = [name_of(item) for item in items]
        start = names.index(last.last) + 1 if last.last in names else max(0, last.number)

    def cursor_of(item: Item, number: int) -> ItemCursor:
        return ItemCursor(name_of(item), start + number)

    return _page(items[start : start + limit + 1], limit, cursor_of)


def of_queue(
    proposals: Callable[[int, str | None], Queue], cursor: str | None, limit: int
) -> tuple[Queue, str | None]:
    """Make a page of the queue, with the next cursor; `proposals` takes a number and an id."""
    last = None if cursor is None else read(cursor, ItemCursor)
    try:
        queue = proposals(limit, None if last is None else last.last)
    except NotFound:  # it was decided meanwhile: continue with what has its rank now
        start = max(0, min(last.number - 1 if last is not None else 0, MOST - limit))
        queue = proposals(start + limit, None)
        queue = Queue(queue[start:], start, queue.total)
    if not queue or queue.left <= 0:
        return queue, None
    return queue, _encoded(ItemCursor(queue[-1].record.id, queue.before + len(queue)))


def read(cursor: str, kind: type[Cursor]) -> Cursor:
    """Decode a cursor; it only says where to continue, never what may be seen."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=kind)
    except (UnicodeError, binascii.Error, msgspec.DecodeError, RecursionError):
        problem = f"the cursor {shown(cursor, 80)} is not one that a page of this list gave"
        raise InvalidInput(problem) from None


def _page(
    items: Sequence[Any], limit: int, cursor_of: Callable[[Any, int], msgspec.Struct]
) -> dict[str, Any]:
    """Select the items that fit, with a cursor if there are more."""
    page = items[:limit]
    return {
        "items": [item if isinstance(item, dict) else item.to_dict() for item in page],
        "next": _encoded(cursor_of(page[-1], limit)) if len(items) > limit else None,
    }


def _encoded(cursor: msgspec.Struct) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).rstrip(b"=").decode()


def _record_cursor(record: Record, _: int) -> RecordCursor:
    return RecordCursor(clock.to_micros(record.occurred_at), record.seq)


def _until(at: datetime, until: str | None) -> datetime | None:
    """Compute the end of a page that begins at a time: right after it, or an earlier `until`.

    There is none at the end of time.
    """
    bounds = [] if until is None else [clock.moment(until, "until")]
    if at + clock.MICROSECOND < clock.LATEST:
        bounds.append(at + clock.MICROSECOND)
    return min(bounds, default=None)


def _moment(micros: int) -> datetime:
    try:
        return clock.moment(clock.from_micros(micros), "cursor")
    except OverflowError:
        raise InvalidInput("the cursor is not one that a page of this list gave") from None
