"""Write a record as a line of an export or an archive, including its link to its events."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from lamina.errors import Corrupt
from lamina.model import hashing
from lamina.model.clock import from_micros
from lamina.model.record import Layer, Record, iso, score_of
from lamina.store.tables import records
from lamina.store.tables.records import COLUMN, COLUMNS, JSON, TIMES, Row


class Written(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record in a file."""

    score: int
    key: str | None
    event: int
    salt: str
    # Additional fields in archive lines, for readers of Sky's files; old lines lack both.
    ts: float | None = None
    type: str | None = None


_decoder = msgspec.json.Decoder(Written)


@functools.lru_cache(1024)
def _iso(micros: int) -> str:
    """Format a time; cached, since records that came together often share theirs."""
    return iso(from_micros(micros))


def line(row: Row, agent: str) -> bytes:
    """Write a row as a JSON line: the same as `Record.to_dict`, but directly from the columns."""
    return hashing.encode(_fields(row, agent))


def archive_line(row: Row, agent: str) -> bytes:
    """Write a row as a line of an archive that readers of Sky's files understand as well."""
    ts, tier = _beside(row)
    return hashing.encode({**_fields(row, agent), "ts": ts, "type": tier})


def _beside(row: Row) -> tuple[float, str]:
    """Return when a record happened, in epoch seconds, and its tier, as Sky does."""
    is_short = row[COLUMN["layer"]] == Layer.SHORT_TERM
    return row[COLUMN["occurred_at"]] / 1_000_000, "short" if is_short else "long"


def _fields(row: Row, agent: str) -> dict[str, Any]:
    fields: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
    for name in TIMES:
        if fields[name] is not None:
            fields[name] = _iso(fields[name])
    for name in JSON:
        fields[name] = msgspec.Raw(fields[name])  # it is already canonical JSON
    fields["agent"] = agent
    fields["salt"] = row[COLUMN["salt"]].hex()
    fields["score"] = score_of(row[COLUMN["importance"]])
    return fields


def read(text: bytes) -> Written:
    """Decode a line; raise Corrupt if we cannot have written it."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Corrupt(f"this is not a record: {error}") from None


def row_of(written: Written) -> Row:
    """Restore the row from which a line was written."""
    try:
        fields = records.fields_of(written, written.key)
        row = (*fields, written.event, bytes.fromhex(written.salt))
    except (ValueError, TypeError, OverflowError) as error:  # such as a time without a time zone
        raise Corrupt(f"this is not a record: {error}") from None
    if (written.ts, written.type) not in ((None, None), _beside(row)):
        raise Corrupt("this is not a record: its ts or its type is another one's")
    return row


def record_of(written: Written, archived: str | None = None) -> Record:
    """Take only the record from a line."""
    values = {name: getattr(written, name) for name in Record.__struct_fields__}
    return Record(**{**values, "archived": archived})
