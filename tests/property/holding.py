"""All that a store and its archive hold."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from pathlib import Path

import apsw


def held(folder: Path, *, indexed: bool = False) -> Counter[str]:
    """How often each memory is in an agent's folder, looked at from outside: as a row, or as a line
    of the archive.

    The files are whatever lies there, or those that the index knows.
    """
    with closing(
        apsw.Connection(str(folder / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    ) as connection:
        found = Counter(
            str(record_id) for (record_id,) in connection.execute("SELECT id FROM records")
        )
        known = {folder / str(file) for (file,) in connection.execute("SELECT file FROM archives")}
    for path in known if indexed else folder.glob("archive/*"):
        found.update(json.loads(line)["id"] for line in path.read_text("utf-8").splitlines())
    return found
