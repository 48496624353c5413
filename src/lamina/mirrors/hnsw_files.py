"""The files of a vector index by hnswlib, which writes memory to disk that nobody has filled: whatever a process has read.

Places beyond the last vector mean nothing to the index, so they are overwritten with zeros.
"""

from __future__ import annotations

import struct
from pathlib import Path

HEADER = struct.Struct(
    "<iQQQQ"
)  # version, an offset, places, places that are taken, bytes of a place
KNOWN = 1
PART = 1 << 20


def scrub(folder: Path) -> None:
    """Clean every index below a folder. One of another form is left alone: an erasure looks into all files anyway."""
    for path in folder.glob("*/header.bin"):
        with path.open("rb") as file:
            head = file.read(HEADER.size)
        if len(head) < HEADER.size:
            continue
        version, _, places, taken, size = HEADER.unpack(head)
        for name, width in (("data_level0.bin", size), ("length.bin", 4)):
            index = path.with_name(name)
            if (
                version == KNOWN
                and taken <= places
                and index.is_file()
                and index.stat().st_size == places * width
            ):
                _fill(index, taken * width)


def _fill(path: Path, start: int) -> None:
    """Zeros from a place to the end, where there are none yet."""
    with path.open("r+b") as file:
        file.seek(start)
        while part := file.read(PART):
            if any(part):
                file.seek(-len(part), 1)
                file.write(bytes(len(part)))
