"""The audit chain: every event holds the hash of the one before it, and no text of any memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib import resources
from typing import Any, NamedTuple

import apsw

from lamina import canon
from lamina.clock import from_micros, to_micros
from lamina.model import Actor, Change, Event

COLUMNS = "events.seq, events.body, events.hash, notes.body"
FROM = "FROM events LEFT JOIN notes ON notes.event = events.seq"


def schema() -> str:
    """The tables and triggers that every chain has."""
    return resources.files("lamina.store").joinpath("chain.sql").read_text("utf-8")


class Head(NamedTuple):
    """The end of a chain: its length, the last record number given out, and the hash that fixes all of it."""

    seq: int
    records: int
    hash: bytes


def head(connection: apsw.Connection, seed: bytes) -> Head:
    for seq, records, digest in connection.execute("SELECT seq, records, hash FROM events ORDER BY seq DESC LIMIT 1"):
        return Head(seq, records, digest)
    return Head(0, 0, seed)


def append(
    connection: apsw.Connection,
    last: Head,
    at: datetime,
    actor: Actor,
    action: str,
    *,
    records: int,
    changes: Sequence[Mapping[str, Any]] = (),
    details: Mapping[str, Any] | None = None,
    note: Mapping[str, Any] | None = None,
) -> Head:
    """Add one event to the chain, inside the caller's transaction. The note is kept apart, where it can be erased."""
    body: dict[str, Any] = {
        "action": action,
        "actor": str(actor),
        "at": to_micros(at),
        "changes": changes,
        "records": records,
        "seq": last.seq + 1,
        "surface": actor.surface,
    }
    if details:
        body["details"] = details
    salt = payload = b""
    if note:
        salt, payload = os.urandom(canon.SALT_BYTES), canon.encode(note)
        body["note"] = canon.salted_hash(salt, payload)
    encoded = canon.encode(body)
    after = Head(last.seq + 1, records, canon.chain_hash(last.hash, encoded))
    connection.execute(
        "INSERT INTO events (seq, records, body, hash) VALUES (?, ?, ?, ?)",
        (after.seq, records, encoded.decode(), after.hash),
    )
    if note:
        connection.execute("INSERT INTO notes (event, salt, body) VALUES (?, ?, ?)", (after.seq, salt, payload.decode()))
    return after


def read(connection: apsw.Connection, seq: int) -> Event | None:
    for row in connection.execute(f"SELECT {COLUMNS} {FROM} WHERE events.seq = ?", (seq,)):
        return event_of(row)
    return None


def latest(connection: apsw.Connection, limit: int, before: int | None = None) -> Iterator[Event]:
    """Events from the newest backwards."""
    where = "WHERE events.seq < ?" if before is not None else ""
    parameters = (before, limit) if before is not None else (limit,)
    rows = connection.execute(f"SELECT {COLUMNS} {FROM} {where} ORDER BY events.seq DESC LIMIT ?", parameters)
    return map(event_of, rows)


def event_of(row: Sequence[Any]) -> Event:
    seq, body, digest, note = row
    fields = canon.decode(body)
    return Event(
        seq,
        from_micros(fields["at"]),
        fields["action"],
        fields["actor"],
        fields["surface"],
        tuple(change_of(change) for change in fields["changes"]),
        fields.get("details", {}),
        canon.decode(note) if note else {},
        digest.hex(),
    )


def change_of(fields: Mapping[str, Any]) -> Change:
    return Change(fields["id"], fields["hash"], fields.get("before", {}), fields["after"], fields.get("previous"))
