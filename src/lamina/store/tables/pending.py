"""Find records that may wait for an answer, and possible answers; `awareness` decides."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import records
from lamina.store.tables.records import Row

OPEN = (
    "state = 'constrained' OR state = 'active' AND (kind = 'request' OR kind = 'escalation'"
    " OR seq IN (SELECT record FROM facets"
    " WHERE name = 'status' AND value = 'pending' OR name = 'escalated_to'))"
)


def candidates(connection: Connection, user: str | None, speaking: Iterable[int]) -> list[Row]:
    """Find what may be pending for this user: requests, proposals and escalations.

    The records with the numbers in `speaking`, whose text is about these days, count too.
    """
    query = (
        f"{records.SELECT} WHERE layer <> 'working' AND {records.visible('?1')}"
        f" AND ({OPEN} OR state = 'active'"
        " AND seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?2))) ORDER BY seq"
    )
    return rows(connection, query, (user, json.dumps(sorted(speaking))))


def answering(connection: Connection, user: str | None, ids: Sequence[str]) -> list[Row]:
    """Find records that cite one of these as evidence, or say that they answer something."""
    query = (
        f"{records.SELECT} WHERE state = 'active' AND {records.visible('?1')}"
        " AND (seq IN (SELECT record FROM links WHERE relation = 'evidence'"
        " AND target IN (SELECT value FROM json_each(?2)))"
        " OR seq IN (SELECT record FROM facets WHERE name = 'request_id' OR name = 'answers'))"
        " ORDER BY seq"
    )
    return rows(connection, query, (user, json.dumps(list(ids))))
