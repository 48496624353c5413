"""Convert values for the server and back: texts, 8-byte integers, and vectors for pgvector."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from psycopg import Connection, postgres
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format
from psycopg.types.numeric import Int8BinaryDumper
from psycopg.types.string import StrBinaryDumper

from lamina.errors import StoreUnavailable
from lamina.store.engine.sql import Half


class BoolDumper(Dumper):
    """Send a bool as an integer, as our tables store it."""

    format = Format.BINARY
    oid = postgres.types["int8"].oid

    def dump(self, obj: Any) -> Buffer:
        return struct.pack("!q", int(obj))


class HalfDumper(Dumper):
    """Send half-precision numbers in pgvector's format: big-endian, after their count."""

    format = Format.BINARY

    def dump(self, obj: Any) -> Buffer:
        count = struct.pack("!HH", len(obj) // 2, 0)
        return count + np.frombuffer(obj, "<u2").astype(">u2").tobytes()


class HalfLoader(Loader):
    """Read half-precision numbers back into the byte order of a file."""

    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return np.frombuffer(data, ">u2", offset=4).astype("<u2").tobytes()


def register(connection: Connection[Any], halfvec: int | None) -> None:
    """Register our types on a connection; `halfvec` is that type's oid in this database."""
    if halfvec is None:
        raise StoreUnavailable("the database has no halfvec; it needs pgvector 0.7 or newer")
    adapters = connection.adapters
    adapters.register_dumper(str, StrBinaryDumper)
    adapters.register_dumper(int, Int8BinaryDumper)
    adapters.register_dumper(bool, BoolDumper)
    adapters.register_dumper(Half, type("KnownHalfDumper", (HalfDumper,), {"oid": halfvec}))
    adapters.register_loader(halfvec, HalfLoader)
