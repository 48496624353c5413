"""Write a record as a line of an export or an archive, with what ties it to its events."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from lamina.errors import Corrupt
from lamina.model import hashing
from lamina.model.clock import from_micros
from lamina.model.record import Record, iso, score_of
from lamina.store.tables import records
from lamina.store.tables.records import COLUMN, COLUMNS, JSON, TIMES, Row


class Written(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record in a file."""

    score: int
    key: str | None
    event: int
    salt: str


_decoder = msgspec.json.Decoder(Written)


@functools.lru_cache(1024)
def _iso(micros: int) -> str:
    """Format a time; cached, since records that came together often share theirs."""
    return iso(from_micros(micros))


def line(row: Row, agent: str) -> bytes:
    """Write a row as one line of JSON: the same as `Record.to_dict`, straight from the columns."""
    fields: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
    for name in TIMES:
        if fields[name] is not None:
            fields[name] = _iso(fields[name])
    for name in JSON:
        fields[name] = msgspec.Raw(fields[name])  # it is canonical JSON already
    fields["agent"] = agent
    fields["salt"] = row[COLUMN["salt"]].hex()
    fields["score"] = score_of(row[COLUMN["importance"]])
    return hashing.encode(fields)


def read(text: bytes) -> Written:
    """Read a line back; raise Corrupt for one that we cannot have written."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Corrupt(f"this is not a record: {error}") from None


def row_of(written: Written) -> Row:
    """Restore the row that a line was made of."""
    try:
        fields = records.fields_of(written, written.key)
        return (*fields, written.event, bytes.fromhex(written.salt))
    except (ValueError, TypeError, OverflowError) as error:  # such as a time without a zone
        raise Corrupt(f"this is not a record: {error}") from None


def record_of(written: Written, archived: str | None = None) -> Record:
    """Take the record alone out of a line."""
    values = {name: getattr(written, name) for name in Record.__struct_fields__}
    return Record(**{**values, "archived": archived})
