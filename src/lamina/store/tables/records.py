"""Rows of the table `records`: to and from values, found by id, key, run or filter."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import structs

from lamina.model import hashing
from lamina.model.clock import from_micros, to_micros
from lamina.model.record import Draft, Entry, Layer, Record, State, Trust
from lamina.store.engine.sql import Connection, rows

# In the order of the table. The hash of a row covers these; `event` and `salt` follow and are not covered.
HASHED = (
    *(
        "seq",
        "id",
        "user",
        "layer",
        "state",
        "kind",
        "content",
        "importance",
        "confidence",
        "trust",
        "source",
    ),
    *(
        "tags",
        "metadata",
        "evidence",
        "speaker",
        "session",
        "run_id",
        "occurred_at",
        "created_at",
        "updated_at",
    ),
    *(
        "promoted_at",
        "valid_from",
        "valid_to",
        "last_verified",
        "supersedes",
        "superseded_by",
        "key",
    ),
)
COLUMNS = (*HASHED, "event", "salt")
COLUMN = {name: place for place, name in enumerate(COLUMNS)}
SELECT = f"SELECT {', '.join(COLUMNS)} FROM records"
INSERT = f"INSERT INTO records ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"

# Fields that hold no text of the memory; events carry them openly, before and after.
TRACKED = (
    *("layer", "state", "importance", "confidence", "promoted_at"),
    *("valid_from", "valid_to", "last_verified", "superseded_by"),
)
TIMES = frozenset(name for name in COLUMNS if name.endswith("_at")) | {
    "valid_from",
    "valid_to",
    "last_verified",
}
JSON = frozenset({"tags", "metadata", "evidence", "supersedes"})

LAYERS = {layer.value: layer for layer in Layer}
STATES = {state.value: state for state in State}
TRUSTS = {trust.value: trust for trust in Trust}

AT_ONCE = 500  # ids in one query
EVER = (1 << 63) - 1
Row = tuple[Any, ...]


def visible(mark: str) -> str:
    """The condition that a record is in the scope of the user at this parameter; without one, all are."""
    return f"({mark} IS NULL OR user IS NULL OR user = {mark})"


# What was superseded was true until its `valid_to`; without one it was a mistake, and never true.
TRUE_AT = (
    "coalesce(records.valid_from, records.occurred_at) <= ?"
    f" AND coalesce(records.valid_to, CASE records.state WHEN 'superseded' THEN {-EVER} ELSE {EVER} END) > ?"
)
LIVE_IN_RUN = f"run_id = ?1 AND layer = 'working' AND state = 'active' AND {visible('?2')}"


def stored(name: str, value: Any) -> Any:
    """A field's value as its column holds it."""
    if value is None:
        return None
    if name in JSON:
        return json_text(value)
    if name in TIMES:
        return to_micros(value)
    return value


def loaded(name: str, value: Any) -> Any:
    """An open field's value, read back from an event."""
    if name == "state":
        return STATES[value]
    if name == "layer":
        return LAYERS[value]
    return from_micros(value) if name in TIMES and value is not None else value


def json_text(value: Any) -> str:
    if not value:
        return "{}" if isinstance(value, Mapping) else "[]"
    return hashing.encode(value).decode()


def fields_of(record: Record, key: str | None) -> Row:
    """The hashed columns of a record; new records come faster, in `transaction`."""
    return tuple(key if name == "key" else stored(name, getattr(record, name)) for name in HASHED)


def minted(draft: Draft, record_id: str, seq: int, agent: str, now: datetime) -> Record:
    """A draft that gets its identity."""
    return Record(
        record_id,
        seq,
        agent,
        draft.user,
        draft.layer,
        draft.state,
        draft.kind,
        draft.content,
        draft.importance,
        draft.confidence,
        draft.trust,
        draft.source,
        draft.tags,
        draft.metadata,
        draft.evidence,
        draft.speaker,
        draft.session,
        draft.run_id,
        draft.occurred_at or now,
        now,
        now,
    )


def with_history(record: Record, draft: Draft) -> Record:
    """A record that was just made, with what it says about the time before it."""
    return structs.replace(
        record,
        promoted_at=draft.promoted_at,
        supersedes=draft.supersedes,
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        last_verified=draft.last_verified,
        superseded_by=draft.superseded_by,
    )


def fields_of_new(record: Record, key: str | None, now: int) -> Row:
    """`fields_of` for a record that was just made, without asking for what it cannot have yet."""
    return (
        record.seq,
        record.id,
        record.user,
        record.layer,
        record.state,
        record.kind,
        record.content,
        record.importance,
        record.confidence,
        record.trust,
        record.source,
        json_text(record.tags) if record.tags else "[]",
        json_text(record.metadata) if record.metadata else "{}",
        json_text(record.evidence) if record.evidence else "[]",
        record.speaker,
        record.session,
        record.run_id,
        now if record.occurred_at is record.created_at else to_micros(record.occurred_at),
        now,
        now,
        None,
        None,
        None,
        None,
        "[]",
        None,
        key,
    )


def record_of(row: Row, agent: str) -> Record:
    """The record that a row stores. Positions instead of names: this runs for every row that is read."""
    fields: list[Any] = [
        row[1],
        row[0],
        agent,
        row[2],
        LAYERS[row[3]],
        STATES[row[4]],
        *row[5:9],
        TRUSTS[row[9]],
        row[10],
        texts(row[11]),
        {} if row[12] == "{}" else hashing.decode(row[12]),
        texts(row[13]),
        *row[14:17],
        occurred := from_micros(row[17]),
        created := occurred if row[18] == row[17] else from_micros(row[18]),
        created if row[19] == row[18] else from_micros(row[19]),
        *map(_time, row[20:24]),
        texts(row[24]),
        row[25],
    ]
    return Record(*fields)


def texts(value: str) -> tuple[str, ...]:
    return () if value == "[]" else tuple(hashing.decode(value))


def _time(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def row_hash(fields: Row, salt: bytes) -> bytes:
    """The hash that fixes everything a row says, salted so that it says nothing once the row is erased."""
    return sha256(salt + hashing.encode(fields)).digest()


# Whether a grant lets an agent read a record at a time. One for a user covers what is that user's own; a single record is
# named by whoever may see it. Proposals, what was put aside and the notes of runs are nobody's but the giver's.
SHARED = f"""
records.state IN ('active', 'superseded') AND records.layer <> 'working' AND EXISTS (
    SELECT 1 FROM grants g
    WHERE g.agent = ? AND g.ended_at IS NULL AND ? BETWEEN g.granted_at AND coalesce(g.expires_at - 1, {EVER})
    AND (g.record = records.id OR (g.user IS NULL OR g.user = records.user) AND (g.layer = records.layer OR EXISTS (
        SELECT 1 FROM tags t WHERE t.tag = g.tag AND t.record = records.seq
    )))
)"""


class Filter(msgspec.Struct, frozen=True):
    """Which records a reader may and wants to see. It is always part of the query, never applied after the cut."""

    user: str | None = None
    layers: tuple[Layer, ...] = ()
    states: tuple[State, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    run_id: str | None = None
    all_tags: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    as_of: datetime | None = None
    id: str | None = None  # one record, for a list
    part: str | None = None  # how its id begins or ends, for a list
    guest: tuple[str, int] | None = None  # another agent that reads, and when: what it was granted

    def where(self) -> tuple[str, list[Any]]:
        """The condition in SQL, with its parameters. Working memory is seen only within its run, or when named."""
        clauses: list[str] = []
        parameters: list[Any] = []

        def add(clause: str, *values: Any) -> None:
            clauses.append(clause)
            parameters.extend(values)

        if self.user is not None:
            add("(records.user IS NULL OR records.user = ?)", self.user)
        if self.layers:
            add(f"records.layer IN ({marks(self.layers)})", *self.layers)
        if self.run_id is not None:
            add("(records.layer <> 'working' OR records.run_id = ?)", self.run_id)
        elif Layer.WORKING not in self.layers:
            add("records.layer <> 'working'")
        if self.states:
            add(f"records.state IN ({marks(self.states)})", *self.states)
        if self.kinds:
            add(f"records.kind IN ({marks(self.kinds)})", *self.kinds)
        for query, values in self.indexed():
            add(f"records.seq IN ({query})", *values)
        if self.as_of is not None:
            add(TRUE_AT, to_micros(self.as_of), to_micros(self.as_of))
        if self.since is not None:
            add("records.occurred_at >= ?", to_micros(self.since))
        if self.until is not None:
            add("records.occurred_at < ?", to_micros(self.until))
        if self.id is not None:
            add("records.id = ?", self.id)
        if self.part is not None:  # the index of ids alone is read for it, not the records
            add(
                "records.seq IN (SELECT seq FROM records WHERE id LIKE ? OR id LIKE ?)",
                *alike(self.part),
            )
        if self.guest is not None:
            add(SHARED, *self.guest)
        return " AND ".join(clauses) or "TRUE", parameters

    def indexed(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The conditions that tables of their own answer: each a query for numbers of records, with its parameters."""
        if self.tags:
            yield f"SELECT record FROM tags WHERE tag IN ({marks(self.tags)})", self.tags
        for tag in self.all_tags:
            yield "SELECT record FROM tags WHERE tag = ?", (tag,)
        for facet in self.metadata:
            yield "SELECT record FROM facets WHERE name = ? AND value = ?", facet


def alike(part: str) -> tuple[str, str]:
    """The patterns of ids that begin or end so. The characters of an id mean nothing special to LIKE."""
    return f"{part}%", f"%{part}"


def gone_alike(connection: Connection, part: str, user: str | None, limit: int) -> list[str]:
    """The ids that begin or end so, of what this user may know to have left for the archive, or to be erased."""
    archived = f"SELECT id FROM archived WHERE (id LIKE ?1 OR id LIKE ?2) AND {visible('?3')}"
    erased = (
        "SELECT id FROM erased WHERE (id LIKE ?1 OR id LIKE ?2) AND (?3 IS NULL OR private = 0)"
    )
    found = rows(
        connection,
        f"{archived} UNION ALL {erased} ORDER BY id LIMIT ?4",
        (*alike(part), user, limit),
    )
    return [record_id for (record_id,) in found]


def marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def rows_of(connection: Connection, select: str, ids: Sequence[str]) -> Iterator[Row]:
    """Read what a query selects of some ids, not too many at a time."""
    for start in range(0, len(ids), AT_ONCE):
        part = ids[start : start + AT_ONCE]
        yield from rows(connection, f"{select} WHERE id IN ({marks(part)})", part)


def by_id(connection: Connection, record_id: str) -> Row | None:
    return one(connection, f"{SELECT} WHERE id = ?", (record_id,))


def by_number(connection: Connection, number: int) -> Row | None:
    """Read the row with a number."""
    return one(connection, f"{SELECT} WHERE seq = ?", (number,))


def by_ids(connection: Connection, ids: Collection[str]) -> dict[str, Row]:
    """The rows of those of some records that are in the store, asked for at once."""
    query = f"{SELECT} WHERE id IN (SELECT value FROM json_each(?))"
    found = rows(connection, query, (hashing.encode(sorted(ids)).decode(),)) if ids else []
    return {row[COLUMN["id"]]: row for row in found}


def by_key(connection: Connection, key: str, user: str | None) -> Row | None:
    return one(connection, f"{SELECT} WHERE key = ? AND coalesce(user, '') = ?", (key, user or ""))


def one(connection: Connection, query: str, parameters: Row) -> Row | None:
    """The only row of a query. The statement is run to its end: one left halfway would hold on to an old view."""
    row: Row | None = connection.execute(query, parameters).get
    return row


def listed(connection: Connection, chosen: Filter, limit: int) -> list[Row]:
    """Newest first."""
    where, parameters = chosen.where()
    order = "ORDER BY occurred_at DESC, seq DESC LIMIT ?"
    return rows(connection, f"{SELECT} WHERE {where} {order}", (*parameters, limit))


def matching(connection: Connection, chosen: Filter, below: float | None) -> list[tuple[int, int]]:
    """The numbers and last events of all records that match, and whose importance is below a bound."""
    where, parameters = chosen.where()
    query = f"SELECT seq, event FROM records WHERE {where} AND importance < ? ORDER BY seq"
    return rows(connection, query, (*parameters, 2.0 if below is None else below))


def every(connection: Connection) -> Iterable[Row]:
    return connection.execute(f"{SELECT} ORDER BY seq")


def last_event(connection: Connection, record_id: str) -> int | None:
    """The last event about a record, wherever it is now."""
    query = " UNION ALL ".join(
        f"SELECT event FROM {table} WHERE id = ?1" for table in ("records", "archived", "erased")
    )
    found = connection.execute(query, (record_id,)).get
    return found if isinstance(found, int) else None


def exists(connection: Connection, record_id: str) -> bool:
    """Tell whether a record is in the store or its archive, or was until it was erased."""
    return last_event(connection, record_id) is not None


def known(connection: Connection, record_ids: Sequence[str]) -> set[str]:
    """Those of some ids that records have or had, wherever they are now."""
    some = "id IN (SELECT value FROM json_each(?1))"
    query = " UNION ALL ".join(
        f"SELECT id FROM {table} WHERE {some}" for table in ("records", "archived", "erased")
    )
    return {
        record_id
        for (record_id,) in rows(connection, query, (hashing.encode(list(record_ids)).decode(),))
    }


WAITING = f"layer = 'short_term' AND state = 'active' AND {visible('?1')}"


def short_term(connection: Connection, user: str | None) -> list[Entry]:
    """What waits in short-term memory, in the order in which it came."""
    query = (
        "SELECT seq, event, id, user, kind, importance, trust, tags, created_at, last_verified, metadata"
        f" FROM records WHERE {WAITING} ORDER BY seq"
    )
    return [_entry(*row) for row in connection.execute(query, (user,))]


def _entry(
    seq: int,
    event: int,
    record_id: str,
    user: str | None,
    kind: str,
    importance: float,
    trust: str,
    tags: str,
    created: int,
    verified: int | None,
    metadata: str,
) -> Entry:
    since = from_micros(max(created, verified or created))
    wanted = verified is not None
    return Entry(
        seq,
        event,
        record_id,
        user,
        kind,
        importance,
        TRUSTS[trust],
        texts(tags),
        since,
        metadata,
        wanted,
    )


def count_short_term(connection: Connection, user: str | None) -> int:
    number = connection.execute(f"SELECT count(*) FROM records WHERE {WAITING}", (user,)).get
    assert isinstance(number, int)
    return number


def unchanged(connection: Connection, wanted: Sequence[tuple[int, int]]) -> list[Row]:
    """The rows with these numbers whose last event is still the one that is given with each, in their order."""
    find = f"{SELECT} WHERE seq = ? AND event = ?"
    return [row for pair in wanted if (row := one(connection, find, pair)) is not None]


def in_run(connection: Connection, run_id: str, user: str | None) -> list[Row]:
    """The live notes of a run that this user may see, in their order."""
    return rows(connection, f"{SELECT} WHERE {LIVE_IN_RUN} ORDER BY seq", (run_id, user))


def count_notes(connection: Connection, run_id: str, user: str | None) -> int:
    """How many live records a run has, the one that opened it among them."""
    number = connection.execute(
        f"SELECT count(*) FROM records WHERE {LIVE_IN_RUN}", (run_id, user)
    ).get
    assert isinstance(number, int)
    return number


def open_runs(connection: Connection, user: str | None) -> list[Row]:
    """The first live note of every run that was never closed."""
    query = (
        f"{SELECT} WHERE seq IN (SELECT min(seq) FROM records WHERE layer = 'working' AND state = 'active'"
        f" AND run_id IS NOT NULL AND {visible('?1')} GROUP BY run_id) ORDER BY seq"
    )
    return rows(connection, query, (user,))


def unresolved(connection: Connection, ids: Iterable[str], user: str | None) -> list[str]:
    """The ids that lead to no record which this user may see, in the store or in its archive."""
    found = " UNION ALL ".join(
        f"SELECT 1 FROM {table} WHERE id = ?1 AND {visible('?2')}"
        for table in ("records", "archived")
    )
    return [
        record_id for record_id in ids if connection.execute(found, (record_id, user)).get is None
    ]


def counts(connection: Connection, user: str | None) -> dict[str, dict[str, int]]:
    """How many records there are, by layer and state."""
    table: dict[str, dict[str, int]] = {}
    query = f"SELECT layer, state, count(*) FROM records WHERE {visible('?1')} GROUP BY 1, 2"
    for layer, state, number in rows(connection, query, (user,)):
        table.setdefault(layer, {})[state] = number
    return table
