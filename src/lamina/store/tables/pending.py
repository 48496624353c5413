"""What may wait for somebody, and what may have answered it: asked of the store, decided by the engine `awareness`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import records
from lamina.store.tables.records import Row

OPEN = (
    "state = 'constrained' OR state = 'active' AND (kind = 'request' OR kind = 'escalation' OR seq IN"
    " (SELECT record FROM facets WHERE name = 'status' AND value = 'pending' OR name = 'escalated_to'))"
)


def candidates(connection: Connection, user: str | None, speaking: Iterable[int]) -> list[Row]:
    """What may be pending for this user: requests and the like, and those numbers whose text speaks of these days."""
    chosen = (
        f"({OPEN} OR state = 'active' AND seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?2)))"
    )
    query = f"{records.SELECT} WHERE layer <> 'working' AND {records.visible('?1')} AND {chosen} ORDER BY seq"
    return rows(connection, query, (user, json.dumps([int(number) for number in speaking])))


def answering(connection: Connection, user: str | None, ids: Sequence[str]) -> list[Row]:
    """What cites one of these records, or says that it answers something."""
    chosen = (
        "seq IN (SELECT record FROM links WHERE relation = 'evidence' AND target IN (SELECT value FROM json_each(?2)))"
        " OR seq IN (SELECT record FROM facets WHERE name = 'request_id' OR name = 'answers')"
    )
    query = f"{records.SELECT} WHERE state = 'active' AND {records.visible('?1')} AND ({chosen}) ORDER BY seq"
    return rows(connection, query, (user, json.dumps(list(ids))))
