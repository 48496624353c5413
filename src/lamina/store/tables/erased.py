"""Keep what remains of erased records: stubs, and fingerprints that keep their texts out."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from datetime import datetime

import msgspec

from lamina.model import hashing
from lamina.model.clock import from_micros
from lamina.model.record import Layer, Record, State, Trust
from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.tables import events, records
from lamina.text import words

ERASED = "[erased]"
FEWEST_BARRED = 3  # a text with fewer words is not kept out of imports
INSERT = (
    "INSERT INTO erased (id, layer, private, erasure, event, content, key)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
INSERT_ERASURE = "INSERT INTO erasures (number, at, todo) VALUES (?, ?, ?)"
UNFINISHED = "FROM erasures WHERE todo IS NOT NULL"


class Stub(msgspec.Struct, frozen=True):
    """What remains of an erased record."""

    id: str
    layer: Layer
    private: bool
    erasure: int
    event: int
    at: datetime

    def record(self, agent: str) -> Record:
        """Return an empty record with the id, to which others may still refer."""
        return Record(
            id=self.id,
            seq=0,
            agent=agent,
            user=None,
            layer=self.layer,
            state=State.TOMBSTONED,
            kind="erased",
            content=ERASED,
            importance=0.0,
            confidence=0.0,
            trust=Trust.EXTERNAL,
            source=None,
            tags=(),
            metadata={"erased": {"erasure": self.erasure, "event": self.event}},
            evidence=(),
            session=None,
            speaker=None,
            run_id=None,
            occurred_at=self.at,
            created_at=self.at,
            updated_at=self.at,
        )


def find(connection: Connection, record_id: str) -> Stub | None:
    """Find the stub of an erased record."""
    at = "(SELECT CAST(body ->> 'at' AS BIGINT) FROM events WHERE seq = erased.event)"
    query = f"SELECT id, layer, private, erasure, event, {at} FROM erased WHERE id = ?"
    row = connection.execute(query, (record_id,)).get
    if row is None:
        return None
    name, layer, private, number, event, at = row
    return Stub(name, Layer(layer), bool(private), number, event, from_micros(at))


def is_erased(connection: Connection, record_id: str) -> bool:
    """Tell whether a record was erased."""
    return connection.execute("SELECT 1 FROM erased WHERE id = ?", (record_id,)).get is not None


def any_erased(connection: Connection) -> bool:
    """Tell whether anything was erased at all."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM erased)").get)


def every(connection: Connection) -> set[str]:
    """List the ids of all stubs."""
    return {record_id for (record_id,) in rows(connection, "SELECT id FROM erased")}


def among(connection: Connection, ids: Collection[str]) -> list[str]:
    """List which of some records are erased."""
    if not any_erased(connection):
        return []
    found = records.rows_of(connection, "SELECT id FROM erased", list(ids))
    return [record_id for (record_id,) in found]


def fingerprint(store_id: str, user: str | None, text: str) -> bytes:
    """Compute the fingerprint that recognises a text after it is erased.

    It is valid only for this store and this user.
    """
    return hashlib.sha256(hashing.encode([store_id, user, text])).digest()


def content_print(store_id: str, user: str | None, content: str) -> bytes | None:
    """Compute a memory's fingerprint; None if anybody might say the same, which bars nothing."""
    row = words.row(content)
    return fingerprint(store_id, user, " ".join(row)) if len(row) >= FEWEST_BARRED else None


def is_back(connection: Connection, store_id: str, user: str | None, content: str) -> bool:
    """Tell whether a text was erased here."""
    if not any_erased(connection):
        return False
    known = content_print(store_id, user, content)
    return connection.execute("SELECT 1 FROM erased WHERE content = ?", (known,)).get is not None


def has_key(connection: Connection, store_id: str, user: str | None, key: str) -> bool:
    """Tell whether an idempotency key belonged to an erased record."""
    known = fingerprint(store_id, user, key)
    return connection.execute("SELECT 1 FROM erased WHERE key = ?", (known,)).get is not None


def rebuild(connection: Connection) -> None:
    """Rebuild the stubs from the events, which hold no fingerprints of texts."""
    erasure = "INSERT INTO erasures (number, at) VALUES (?, ?) ON CONFLICT DO NOTHING"
    stub = "INSERT INTO erased (id, layer, private, erasure, event) VALUES (?, ?, ?, ?, ?)"
    query = "SELECT seq, CAST(body ->> 'at' AS BIGINT), body FROM events ORDER BY seq"
    layers: dict[str, str] = {}
    for seq, at, body in rows(connection, query):
        for change in events.changes_of(events.body_of(body)):
            layer = change.after.get("layer", layers.get(change.record))
            layers[change.record] = layer
            number = change.after.get("erased")
            if number is not None:
                connection.execute(erasure, (number, at))
                private = change.after["private"]
                connection.execute(stub, (change.record, layer, private, number, seq))


def last_erasure(connection: Connection) -> int:
    """Return the number of the last erasure; 0 if there was none."""
    number = connection.execute("SELECT coalesce(max(number), 0) FROM erasures").get
    assert isinstance(number, int)
    return number


def open_erasures(connection: Connection) -> list[int]:
    """List the numbers of the erasures that have something left to clean up."""
    return [number for (number,) in rows(connection, f"SELECT number {UNFINISHED}")]


def todos(connection: Connection) -> list[str]:
    """List what these erasures have left to clean up, oldest first."""
    query = f"SELECT todo {UNFINISHED} ORDER BY number"
    return [todo for (todo,) in rows(connection, query)]


def certify(cursor: Cursor, number: int, certificate: str) -> None:
    """Store the certificate of an erasure that has nothing left to clean up."""
    done = "UPDATE erasures SET todo = NULL, certificate = ? WHERE number = ?"
    cursor.execute(done, (certificate, number))
