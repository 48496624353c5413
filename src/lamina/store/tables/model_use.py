"""Read from the events of nights how much a language model was used in them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from lamina.errors import Corrupt
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import events

MODEL = "model"  # the detail in which an event of sleep says what the night has used so far
PAGE = 5_000
RECENT = (
    "SELECT seq, CAST(body ->> 'at' AS BIGINT),"
    " CASE WHEN body ->> 'action' = 'sleep' THEN body END"
    " FROM events WHERE seq < ? ORDER BY seq DESC LIMIT ?"
)


class NightUse(msgspec.Struct, frozen=True):
    """What the model of one night has used so far."""

    night: int  # when it began, in microseconds
    name: str
    tokens_in: int
    tokens_out: int
    cost: int | None = None  # in millionths, by the prices of that night


def nights(connection: Connection, since: int) -> list[NightUse]:
    """List what each night since a time has used, the latest first.

    Every event has the totals so far, so only the last event of a night counts.
    """
    found: dict[int, NightUse] = {}
    for body in _nights(connection, since):
        if (told := events.body_of(body).details.get(MODEL)) is not None:
            used = _use(told)
            found.setdefault(used.night, used)
    return list(found.values())


def _use(told: object) -> NightUse:
    try:
        return msgspec.convert(told, NightUse)
    except msgspec.ValidationError as error:
        raise Corrupt(f"an event does not say what a model has used: {error}") from None


def _nights(connection: Connection, since: int) -> Iterator[str]:
    """Read the events of sleep backwards, a page at a time, until those before a time."""
    before = events.LAST
    while page := list(rows(connection, RECENT, (before, PAGE))):
        for seq, at, body in page:
            if at < since:
                return
            if body is not None:
                yield body
            before = seq
