"""A record as a line of an export or an archive: every field by its name, and what ties it to its events."""

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
    """A time as it is written; records that came together often share theirs."""
    return iso(from_micros(micros))


def line(row: Row, agent: str) -> bytes:
    """A row of the store as one line of JSON. It says the same as `Record.to_dict`, straight from the columns."""
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
    """A line, read back; what is none was not written by us."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Corrupt(f"this is not a record: {error}") from None


def row_of(found: Written) -> Row:
    """The row that a line was made of."""
    try:
        return (*records.fields_of(found, found.key), found.event, bytes.fromhex(found.salt))
    except (ValueError, TypeError, OverflowError) as error:  # such as a time without a zone
        raise Corrupt(f"this is not a record: {error}") from None


def record_of(found: Written, archived: str | None = None) -> Record:
    """The record alone."""
    values = {name: getattr(found, name) for name in Record.__struct_fields__}
    return Record(**{**values, "archived": archived})
