"""Open a store read-only, as another agent or the doctor does; never create, migrate or tidy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lamina.errors import StoreUnavailable
from lamina.home.folder import has_bytes, refuse_untrusted
from lamina.home.settings import Settings
from lamina.store.core.store import FILE_NAME, Store
from lamina.store.engine.sql import Database
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.tables import migrations
from lamina.store.upkeep import opening, staging
from lamina.store.upkeep.opening import FILES


def attached(folder: Path, agent: str, settings: Settings) -> Store | None:
    """Open the store of an agent; None if there is none, or if it is too old for sharing."""
    found = database(folder, agent, settings)
    if found is None:
        return None
    try:
        with found.snapshot() as connection:
            is_current = version(found, connection) == len(migrations.STEPS)
        if is_current:
            return _held_back(Store(folder, agent, found, settings))
    except BaseException:
        found.close()
        raise
    found.close()
    return None


def _held_back(store: Store) -> Store:
    """Return a store; raise if it would show erased records or hide a memory kept elsewhere."""
    if opening.has_erased(store):
        what = f"the store of {store.agent} has erased records that a restore brought back"
        raise StoreUnavailable(f"{what}; `lamina --agent {store.agent} status` removes them")
    opening.refuse_unmoved(store)
    return store


def database(folder: Path, agent: str, settings: Settings) -> Database | None:
    """Open the database of an agent; None if it has none yet."""
    for step in (folder.parent, folder, *(folder / name for name in FILES)):
        refuse_untrusted(step)
    if settings["store.url"]:
        from lamina.store.tables.postgres.opening import looked_at

        return looked_at(settings, agent)
    path = folder / FILE_NAME
    staging.refuse_unsettled(folder)
    staging.refuse_arriving(folder, agent)
    migrations.refuse_untouched(path, migrations.STEPS)
    if not has_bytes(path):
        return None
    return SqliteDatabase(
        path, settings["store.busy_timeout_ms"], settings["store.checkpoint_pages"]
    )


def version(found: Database, connection: Any) -> int:
    """Return the version of a memory's schema."""
    if isinstance(found, SqliteDatabase):
        return migrations.version_of(connection, found)
    return len(migrations.STEPS)  # otherwise it would not have been opened
