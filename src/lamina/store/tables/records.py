"""The table `records`: convert rows to values and back, and query by id, key, run or filter."""

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
from lamina.store.tables.facets import PROJECT

# In the order of the table. A row's hash covers these; `event` and `salt` follow, not covered.
HASHED = (
    "seq", "id", "user", "layer", "state", "kind", "content", "importance", "confidence",
    "trust", "source", "tags", "metadata", "evidence", "speaker", "session", "run_id",
    "occurred_at", "created_at", "updated_at", "promoted_at", "valid_from", "valid_to",
    "last_verified", "supersedes", "superseded_by", "key",
)  # fmt: skip
COLUMNS = (*HASHED, "event", "salt")
COLUMN = {name: position for position, name in enumerate(COLUMNS)}
SELECT = f"SELECT {', '.join(COLUMNS)} FROM records"
INSERT = f"INSERT INTO records ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"

# The columns by which people filter and sort a list.
OUTLINE = (
    "seq", "layer", "kind", "state", "speaker", "tags", "metadata", "session", "source",
    "occurred_at", "importance", "updated_at",
)  # fmt: skip

# Fields that hold no text of the memory; events have them in the clear, before and after.
TRACKED = (
    "layer", "state", "importance", "confidence", "promoted_at",
    "valid_from", "valid_to", "last_verified", "superseded_by",
)  # fmt: skip
TIMES = frozenset(
    ("valid_from", "valid_to", "last_verified", *(name for name in COLUMNS if name.endswith("_at")))
)
JSON = frozenset({"tags", "metadata", "evidence", "supersedes"})

LAYERS = {layer.value: layer for layer in Layer}
STATES = {state.value: state for state in State}
TRUSTS = {trust.value: trust for trust in Trust}

# The tables, one of which has a row for every record that was ever stored.
EVERYWHERE = ("records", "archived", "erased")
AT_ONCE = 500  # ids in one query
A_DAY = 86_400_000_000  # in microseconds
EVER = (1 << 63) - 1
EVERY = 1 << 31  # more than any list is asked for: no limit
Row = tuple[Any, ...]


def visible(mark: str) -> str:
    """Write the condition that the user at this parameter may see a record; NULL sees all."""
    return f"({mark} IS NULL OR user IS NULL OR user = {mark})"


# A superseded record was true until its `valid_to`; without one it was a mistake, never true.
TRUE_AT = (
    "coalesce(records.valid_from, records.occurred_at) <= ? AND coalesce(records.valid_to,"
    f" CASE records.state WHEN 'superseded' THEN {-EVER} ELSE {EVER} END) > ?"
)
LIVE_IN_RUN = f"run_id = ?1 AND layer = 'working' AND state = 'active' AND {visible('?2')}"


def stored(name: str, value: Any) -> Any:
    """Convert a field's value to the form in its column."""
    if value is None:
        return None
    if name in JSON:
        return json_text(value)
    if name in TIMES:
        return to_micros(value)
    return value


def loaded(name: str, value: Any) -> Any:
    """Convert the value of a tracked field in an event back to the field's type."""
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
    """List the hashed columns of any record; `fields_of_new` is faster for a new one."""
    return tuple(key if name == "key" else stored(name, getattr(record, name)) for name in HASHED)


def new_record(draft: Draft, record_id: str, seq: int, agent: str, now: datetime) -> Record:
    """Make a record from a draft by giving it an id, a number, an owner and its times."""
    return Record(
        record_id, seq, agent, draft.user, draft.layer, draft.state, draft.kind, draft.content,
        draft.importance, draft.confidence, draft.trust, draft.source, draft.tags, draft.metadata,
        draft.evidence, draft.speaker, draft.session, draft.run_id, draft.occurred_at or now,
        now, now,
    )  # fmt: skip


def with_history(record: Record, draft: Draft) -> Record:
    """Add to a new record what its draft says about the time before it was stored."""
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
    """Do the same as `fields_of` for a new record, skipping the fields that are still empty."""
    tags = json_text(record.tags) if record.tags else "[]"
    metadata = json_text(record.metadata) if record.metadata else "{}"
    evidence = json_text(record.evidence) if record.evidence else "[]"
    is_now = record.occurred_at is record.created_at
    return (
        record.seq, record.id, record.user, record.layer, record.state, record.kind,
        record.content, record.importance, record.confidence, record.trust, record.source,
        tags, metadata, evidence, record.speaker, record.session, record.run_id,
        now if is_now else to_micros(record.occurred_at), now, now,
        None, None, None, None, "[]", None, key,
    )  # fmt: skip


def record_of(row: Row, agent: str) -> Record:
    """Build the record that a row stores.

    It uses positions and converts equal times only once, since it runs for every row read.
    """
    (
        seq, record_id, user, layer, state, kind, content, importance, confidence, trust, source,
        tags, metadata, evidence, speaker, session, run_id, occurred_at, created_at, updated_at,
        promoted_at, valid_from, valid_to, last_verified, supersedes, superseded_by, *_,
    ) = row  # fmt: skip
    occurred = from_micros(occurred_at)
    created = occurred if created_at == occurred_at else from_micros(created_at)
    updated = created if updated_at == created_at else from_micros(updated_at)
    return Record(
        record_id, seq, agent, user, LAYERS[layer], STATES[state], kind, content, importance,
        confidence, TRUSTS[trust], source, texts(tags),
        {} if metadata == "{}" else hashing.decode(metadata), texts(evidence),
        speaker, session, run_id, occurred, created, updated, _time(promoted_at),
        _time(valid_from), _time(valid_to), _time(last_verified), texts(supersedes), superseded_by,
    )  # fmt: skip


def texts(value: str) -> tuple[str, ...]:
    return () if value == "[]" else tuple(hashing.decode(value))


def _time(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def row_hash(fields: Row, salt: bytes) -> bytes:
    """Hash a whole row; once the row and its salt are erased, the hash reveals nothing."""
    return sha256(salt + hashing.encode(fields)).digest()


# The condition that a grant lets an agent read a record at a time. A grant for one user covers only
# that user's records; a grant for a single record was made by an agent that may see it. Proposals,
# records that were set aside and the notes of runs are never shared.
SHARED = f"""
records.state IN ('active', 'superseded') AND records.layer <> 'working' AND EXISTS (
    SELECT 1 FROM grants g
    WHERE g.agent = ? AND g.ended_at IS NULL
    AND ? BETWEEN g.granted_at AND coalesce(g.expires_at - 1, {EVER})
    AND (
        g.record = records.id
        OR (g.user IS NULL OR g.user = records.user) AND (
            g.layer = records.layer
            OR EXISTS (SELECT 1 FROM tags t WHERE t.tag = g.tag AND t.record = records.seq)
        )
    )
)"""


MADE_BY_SLEEP = "SELECT record FROM facets WHERE name = 'origin' AND value = 'sleep'"
# The numbers of the records of a project, and of all other projects: by the facets that name the
# project in a record that belongs to it, or in one that summarises it.
OF_PROJECTS = f"SELECT record FROM facets WHERE name IN {PROJECT}"
OF_PROJECT, OF_OTHERS = f"{OF_PROJECTS} AND value = ?", f"{OF_PROJECTS} AND value <> ?"


class Filter(msgspec.Struct, frozen=True):
    """The records that a reader may see and asks for.

    It is always part of the query, never applied after the limit.
    """

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
    id: str | None = None
    part: str | None = None  # the beginning or end of an id
    # The agent that reads, if it is another one, and the time: it sees what it was granted.
    guest: tuple[str, int] | None = None
    session: str | None = None
    project: str | None = None  # only what belongs to this project
    beside: str | None = None  # only what belongs to this project or to none
    speaker: str | None = None
    source: str | None = None
    as_said: bool = False  # without what sleep made from turns, unless a person has approved it

    def where(self) -> tuple[str, list[Any]]:
        """Write the condition in SQL, with its parameters.

        Working memory is visible only within its run, or if its layer is named.
        """
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
        if self.session is not None:
            add("records.session = ?", self.session)
        for query, values in self.indexed():
            add(f"records.seq IN ({query})", *values)
        if self.beside is not None:
            add(f"records.seq NOT IN ({OF_OTHERS})", self.beside)
        if self.as_said:
            is_made = f"records.seq IN ({MADE_BY_SLEEP}) AND records.trust <> 'operator'"
            add(f"NOT (records.layer IN ('episodic', 'semantic') AND {is_made})")
        if self.as_of is not None:
            add(TRUE_AT, to_micros(self.as_of), to_micros(self.as_of))
        if self.since is not None:
            add("records.occurred_at >= ?", to_micros(self.since))
        if self.until is not None:
            add("records.occurred_at < ?", to_micros(self.until))
        if self.id is not None:
            add("records.id = ?", self.id)
        if self.part is not None:
            # A separate query, so that the index of ids is read and not the records.
            by_part = "SELECT seq FROM records WHERE id LIKE ? OR id LIKE ?"
            add(f"records.seq IN ({by_part})", *alike(self.part))
        if self.guest is not None:
            add(SHARED, *self.guest)
        return " AND ".join(clauses) or "TRUE", parameters

    def indexed(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield a query for record numbers, with its parameters, for each tag and facet."""
        if self.tags:
            yield f"SELECT record FROM tags WHERE tag IN ({marks(self.tags)})", self.tags
        for tag in self.all_tags:
            yield "SELECT record FROM tags WHERE tag = ?", (tag,)
        for facet in self.metadata:
            yield "SELECT record FROM facets WHERE name = ? AND value = ?", facet
        if self.project is not None:
            yield OF_PROJECT, (self.project,)
        if self.speaker is not None:
            yield "SELECT seq AS record FROM records WHERE speaker = ?", (self.speaker,)
        if self.source is not None:
            yield "SELECT seq AS record FROM records WHERE source = ?", (self.source,)

    def unindexed(self) -> Filter:
        """Return the filter without the parts that `indexed` yields."""
        return structs.replace(
            self, tags=(), all_tags=(), metadata=(), project=None, speaker=None, source=None
        )


def has_made(connection: Connection) -> bool:
    """Tell whether sleep has made any record."""
    return bool(connection.execute(f"SELECT EXISTS ({MADE_BY_SLEEP})").get)


# Step from one value of a facet to the next in the index: as many steps as there are values.
VALUES = """
WITH RECURSIVE found(value) AS (
    SELECT min(value) FROM facets WHERE name = ?1
    UNION ALL SELECT (SELECT min(n.value) FROM facets n WHERE n.name = ?1 AND n.value > f.value)
    FROM found f WHERE f.value IS NOT NULL
)
SELECT value FROM found WHERE value IS NOT NULL
"""


def projects(connection: Connection) -> list[str]:
    """List the names of the projects that records belong to."""
    found = (rows(connection, VALUES, (name,)) for name in PROJECT)
    return sorted({value for some in found for (value,) in some})


def alike(part: str) -> tuple[str, str]:
    """Write LIKE patterns for ids with this beginning or end. No character of an id is special."""
    return f"{part}%", f"%{part}"


def removed_ids_like(connection: Connection, part: str, user: str | None, limit: int) -> list[str]:
    """Find archived and erased ids with this beginning or end that this user may know of."""
    is_alike = "(id LIKE ?1 OR id LIKE ?2)"
    archived = f"SELECT id FROM archived WHERE {is_alike} AND {visible('?3')}"
    erased = f"SELECT id FROM erased WHERE {is_alike} AND (?3 IS NULL OR private = 0)"
    query = f"{archived} UNION ALL {erased} ORDER BY id LIMIT ?4"
    return [record_id for (record_id,) in rows(connection, query, (*alike(part), user, limit))]


def marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def rows_of(connection: Connection, select: str, ids: Sequence[str]) -> Iterator[Row]:
    """Run a query for some ids, a limited number at a time."""
    for start in range(0, len(ids), AT_ONCE):
        part = ids[start : start + AT_ONCE]
        yield from rows(connection, f"{select} WHERE id IN ({marks(part)})", part)


def by_id(connection: Connection, record_id: str) -> Row | None:
    return only_row(connection, f"{SELECT} WHERE id = ?", (record_id,))


def by_number(connection: Connection, number: int) -> Row | None:
    """Read the row with a number."""
    return only_row(connection, f"{SELECT} WHERE seq = ?", (number,))


def by_ids(connection: Connection, ids: Collection[str]) -> dict[str, Row]:
    """Read the rows with these ids in one query, leaving out ids that are not in the store."""
    if not ids:
        return {}
    query = f"{SELECT} WHERE id IN (SELECT value FROM json_each(?))"
    wanted = hashing.encode(sorted(ids)).decode()
    return {row[COLUMN["id"]]: row for row in rows(connection, query, (wanted,))}


def holds(connection: Connection, ids: Collection[str]) -> bool:
    """Tell whether there is a row for each of these ids."""
    query = "SELECT count(*) FROM records WHERE id IN (SELECT value FROM json_each(?))"
    number = connection.execute(query, (hashing.encode(sorted(ids)).decode(),)).get
    return bool(number == len(ids))


def by_key(connection: Connection, key: str, user: str | None) -> Row | None:
    return only_row(
        connection, f"{SELECT} WHERE key = ? AND coalesce(user, '') = ?", (key, user or "")
    )


def only_row(connection: Connection, query: str, parameters: Row) -> Row | None:
    """Read the only row of a query to its end: an unfinished query would pin an old snapshot."""
    row: Row | None = connection.execute(query, parameters).get
    return row


def listed(connection: Connection, chosen: Filter, limit: int) -> list[Row]:
    """Read the rows that match, newest first."""
    where, parameters = chosen.where()
    query = f"{SELECT} WHERE {where}"
    if limit >= EVERY:  # the order of the time index would make it read the whole table
        found = rows(connection, query, parameters)
        return sorted(found, key=_time_and_number, reverse=True)
    order = "ORDER BY occurred_at DESC, seq DESC LIMIT ?"
    return rows(connection, f"{query} {order}", (*parameters, limit))


def _time_and_number(row: Row) -> tuple[int, int]:
    return row[COLUMN["occurred_at"]], row[COLUMN["seq"]]


def outlined(connection: Connection, chosen: Filter, limit: int) -> list[Row]:
    """Read the OUTLINE of the newest rows that match, by which lists are sorted and counted."""
    where, parameters = chosen.where()
    query = f"SELECT {', '.join(OUTLINE)} FROM records WHERE {where}"
    return rows(
        connection, f"{query} ORDER BY occurred_at DESC, seq DESC LIMIT ?", (*parameters, limit)
    )


def by_day(connection: Connection, chosen: Filter) -> list[tuple[str, int, int]]:
    """Count the rows that match by layer and by day (since 1970) on which they happened."""
    where, parameters = chosen.where()
    query = (
        f"SELECT layer, occurred_at / {A_DAY} AS day, count(*) FROM records WHERE {where}"
        f" GROUP BY layer, occurred_at / {A_DAY}"
    )
    return rows(connection, query, parameters)


def matching(connection: Connection, chosen: Filter, below: float | None) -> list[tuple[int, int]]:
    """List number and last event of the records that match and are less important than `below`."""
    where, parameters = chosen.where()
    query = f"SELECT seq, event FROM records WHERE {where} AND importance < ? ORDER BY seq"
    return rows(connection, query, (*parameters, 2.0 if below is None else below))


def every(connection: Connection, chosen: Filter | None = None) -> Iterator[Row]:
    """Yield all records that match in the order of their creation, reading them as needed."""
    where, parameters = ("TRUE", []) if chosen is None else chosen.where()
    yield from connection.execute(f"{SELECT} WHERE {where} ORDER BY seq", parameters)


def count(connection: Connection, chosen: Filter | None = None) -> int:
    """Count the records that match."""
    where, parameters = ("TRUE", []) if chosen is None else chosen.where()
    number = connection.execute(f"SELECT count(*) FROM records WHERE {where}", parameters).get
    assert isinstance(number, int)
    return number


def last_event(connection: Connection, record_id: str) -> int | None:
    """Find the last event about a record, which may be archived or erased."""
    query = " UNION ALL ".join(f"SELECT event FROM {table} WHERE id = ?1" for table in EVERYWHERE)
    event = connection.execute(query, (record_id,)).get
    return event if isinstance(event, int) else None


def exists(connection: Connection, record_id: str) -> bool:
    """Tell whether a record is in the store or its archive, or was until it was erased."""
    return last_event(connection, record_id) is not None


def known(connection: Connection, record_ids: Sequence[str]) -> set[str]:
    """Return those ids that belong to a record, stored, archived or erased."""
    is_wanted = "id IN (SELECT value FROM json_each(?1))"
    query = " UNION ALL ".join(f"SELECT id FROM {table} WHERE {is_wanted}" for table in EVERYWHERE)
    wanted = hashing.encode(list(record_ids)).decode()
    return {record_id for (record_id,) in rows(connection, query, (wanted,))}


WAITING = f"layer = 'short_term' AND state = 'active' AND {visible('?1')}"


def short_term(
    connection: Connection,
    user: str | None,
    record_id: str | None = None,
    kinds: Collection[str] = (),
) -> list[Entry]:
    """List what is in short-term memory, oldest first; or only one record, or some kinds."""
    where, parameters = WAITING, [user]
    if record_id is not None:
        where, parameters = f"{where} AND id = ?2", [user, record_id]
    elif kinds:
        where = f"{where} AND kind IN (SELECT value FROM json_each(?2))"
        parameters.append(hashing.encode(sorted(kinds)).decode())
    query = (
        "SELECT seq, event, id, user, kind, importance, trust, tags, created_at, last_verified,"
        f" metadata FROM records WHERE {where} ORDER BY seq"
    )
    return [_entry(row) for row in connection.execute(query, parameters)]


def _entry(row: Row) -> Entry:
    seq, event, record_id, user, kind, importance, trust, tags, created, verified, metadata = row
    waiting_since = from_micros(max(created, verified or created))
    is_wanted = verified is not None
    return Entry(
        seq, event, record_id, user, kind, importance, TRUSTS[trust], texts(tags),
        waiting_since, metadata, is_wanted,
    )  # fmt: skip


def count_short_term(connection: Connection, user: str | None) -> int:
    number = connection.execute(f"SELECT count(*) FROM records WHERE {WAITING}", (user,)).get
    assert isinstance(number, int)
    return number


def unchanged(connection: Connection, wanted: Sequence[tuple[int, int]]) -> list[Row]:
    """Read the rows with these numbers whose last event is still the one given."""
    query = f"{SELECT} WHERE seq = ? AND event = ?"
    return [row for pair in wanted if (row := only_row(connection, query, pair)) is not None]


def in_run(connection: Connection, run_id: str, user: str | None) -> list[Row]:
    """Read the live notes of a run that this user may see, oldest first."""
    return rows(connection, f"{SELECT} WHERE {LIVE_IN_RUN} ORDER BY seq", (run_id, user))


def count_notes(connection: Connection, run_id: str, user: str | None) -> int:
    """Count the live records of a run, including the one that opened it."""
    query = f"SELECT count(*) FROM records WHERE {LIVE_IN_RUN}"
    number = connection.execute(query, (run_id, user)).get
    assert isinstance(number, int)
    return number


def open_runs(connection: Connection, user: str | None) -> list[Row]:
    """Read the first live note of every run that was never closed."""
    first = (
        "SELECT min(seq) FROM records WHERE layer = 'working' AND state = 'active'"
        f" AND run_id IS NOT NULL AND {visible('?1')} GROUP BY run_id"
    )
    return rows(connection, f"{SELECT} WHERE seq IN ({first}) ORDER BY seq", (user,))


def unresolved(connection: Connection, ids: Iterable[str], user: str | None) -> list[str]:
    """Return the ids for which this user may see no record, stored or archived."""
    query = " UNION ALL ".join(
        f"SELECT 1 FROM {table} WHERE id = ?1 AND {visible('?2')}"
        for table in ("records", "archived")
    )

    def is_visible(record_id: str) -> bool:
        return connection.execute(query, (record_id, user)).get is not None

    return [record_id for record_id in ids if not is_visible(record_id)]


def counts(connection: Connection, user: str | None) -> dict[str, dict[str, int]]:
    """Count the records that this user may see, by layer and state."""
    by_layer: dict[str, dict[str, int]] = {}
    query = f"SELECT layer, state, count(*) FROM records WHERE {visible('?1')} GROUP BY 1, 2"
    for layer, state, number in rows(connection, query, (user,)):
        by_layer.setdefault(layer, {})[state] = number
    return by_layer
