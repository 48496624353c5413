"""Pack what a search reads into blocks of records, each behind a checksum."""

from __future__ import annotations

import zlib

BLOCK = 256  # records
SEAL = 4  # bytes of the checksum in front of a block


def sealed(packed: bytes) -> bytes:
    """Put a checksum before a block: a damaged one would hide its records from every search."""
    return zlib.crc32(packed).to_bytes(SEAL, "little") + packed


def opened(stored: bytes, size: int) -> bytes | None:
    """Return the content of a sealed block; None if it is damaged."""
    packed = stored[SEAL:]
    if len(packed) != size or zlib.crc32(packed) != int.from_bytes(stored[:SEAL], "little"):
        return None
    return packed
