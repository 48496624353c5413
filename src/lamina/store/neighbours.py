"""Stores of other agents in the same home, opened as they are: nothing is made, migrated or tidied for a reader."""

from __future__ import annotations

from pathlib import Path

from lamina.config import Settings
from lamina.home import has_bytes, refuse_link
from lamina.store import migrations
from lamina.store.connection import Database
from lamina.store.store import FILE_NAME, READS_NAME, Store


def attached(folder: Path, agent: str, settings: Settings) -> Store | None:
    """The store of an agent; None when there is none, or one from before anything could be shared."""
    refuse_link(folder)
    for name in (FILE_NAME, FILE_NAME + "-wal", FILE_NAME + "-shm", FILE_NAME + "-journal", READS_NAME):
        refuse_link(folder / name)
    path = folder / FILE_NAME
    if not has_bytes(path):
        return None
    migrations.refuse_untouched(path, READS_NAME, migrations.STEPS)
    database = Database(path, settings["store.busy_timeout_ms"], settings["store.checkpoint_pages"])
    try:
        with database.snapshot() as connection:
            is_current = migrations.version_of(connection, database) == len(migrations.STEPS)
        if is_current:
            return Store(folder, agent, database, settings)
    except BaseException:
        database.close()
        raise
    database.close()
    return None
