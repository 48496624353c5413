"""How values travel: texts as texts, numbers as numbers of eight bytes, vectors as pgvector has them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from psycopg import Connection, postgres
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo
from psycopg.types.numeric import Int8BinaryDumper
from psycopg.types.string import StrBinaryDumper

from lamina.errors import StoreUnavailable
from lamina.store.engine.sql import Half


class BoolDumper(Dumper):
    """Whether something is so is a number in our tables."""

    format = Format.BINARY
    oid = postgres.types["int8"].oid

    def dump(self, obj: Any) -> Buffer:
        return struct.pack("!q", int(obj))


class HalfDumper(Dumper):
    """Half-precision numbers, as they lie in a file, for the server: big-endian behind their number."""

    format = Format.BINARY

    def dump(self, obj: Any) -> Buffer:
        return (
            struct.pack("!HH", len(obj) // 2, 0) + np.frombuffer(obj, "<u2").astype(">u2").tobytes()
        )


class HalfLoader(Loader):
    """The other way round."""

    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return np.frombuffer(data, ">u2", offset=4).astype("<u2").tobytes()


def register(connection: Connection[Any]) -> None:
    """Let a connection know our types."""
    known = TypeInfo.fetch(connection, "halfvec")
    if known is None:
        raise StoreUnavailable("the database has no pgvector; run CREATE EXTENSION vector in it")
    adapters = connection.adapters
    adapters.register_dumper(str, StrBinaryDumper)
    adapters.register_dumper(int, Int8BinaryDumper)
    adapters.register_dumper(bool, BoolDumper)
    adapters.register_dumper(Half, type("KnownHalfDumper", (HalfDumper,), {"oid": known.oid}))
    adapters.register_loader(known.oid, HalfLoader)
