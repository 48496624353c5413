"""Open a store wherever the settings place it; create, migrate and tidy it first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from lamina.errors import Refused
from lamina.home.folder import make_private_file, refuse_untrusted
from lamina.home.settings import Settings
from lamina.model.clock import to_micros
from lamina.model.record import Actor, Role
from lamina.store.core.store import FILE_NAME, READS_NAME, Store
from lamina.store.engine import file_header
from lamina.store.engine.sql import Database
from lamina.store.engine.sqlite import SqliteDatabase, translated
from lamina.store.tables import meta, migrations
from lamina.store.tables.migrations import Step
from lamina.store.upkeep import staging
from lamina.text import words

UPGRADE = Actor(Role.SYSTEM, "upgrade", "store")
FILES = (FILE_NAME, FILE_NAME + "-wal", FILE_NAME + "-shm", FILE_NAME + "-journal", READS_NAME)


def opened(
    folder: Path,
    agent: str,
    settings: Settings,
    now: datetime,
    store_id: str | None = None,
    steps: Sequence[Step] = migrations.STEPS,
) -> Store:
    """Open the agent's store where the settings place it; create one, or migrate an older one."""
    if not settings["store.url"]:
        return in_file(folder, agent, settings, now, store_id, steps)
    from lamina.store.tables.postgres.opening import connected

    for name in FILES:
        refuse_untrusted(folder / name)
    staging.remove_restores(folder)
    database = connected(settings, agent, store_id, lambda: _refuse_hidden(folder, agent))
    return _ready(folder, agent, database, settings, now)


def has_erased(store: Store) -> bool:
    """Tell whether an interrupted import or older restore has brought back what was erased."""
    return meta.get(store.database.reader(), meta.ERASE_AGAIN) is not None


def refuse_unmoved(store: Store) -> None:
    """Raise if an empty memory on a server hides the one in the home, which should move there."""
    if not isinstance(store.database, SqliteDatabase) and store.head().seq == 0:
        _refuse_hidden(store.folder, store.agent)


def _refuse_hidden(folder: Path, agent: str) -> None:
    from lamina.store.upkeep import migrate

    path = folder / FILE_NAME
    if migrate.is_unmoved(path):
        what = f"the memory of {agent} is still in {path}, and the database of store.url has none"
        do = "`lamina migrate --to` that database moves it there"
        raise Refused(
            f"{what}; {do}, or move the file away to start an empty memory", place=str(path)
        )


def in_file(
    folder: Path,
    agent: str,
    settings: Settings,
    now: datetime,
    store_id: str | None = None,
    steps: Sequence[Step] = migrations.STEPS,
) -> Store:
    """Open a store in a file of the agent's folder, whatever the settings say."""
    for name in FILES:
        refuse_untrusted(folder / name)
    path = folder / FILE_NAME
    staging.settle(folder)
    staging.refuse_arriving(folder, agent)
    migrations.refuse_untouched(path, steps)
    make_private_file(path)
    database = SqliteDatabase(
        path, settings["store.busy_timeout_ms"], settings["store.checkpoint_pages"]
    )
    try:
        if _version(database, steps) < len(steps):
            file_header.refuse_lost(path, lambda: _version(database, steps))

            def back_up() -> Path:
                from lamina.store.upkeep import backup

                return backup.write(
                    folder, database, None, now, label=f"before-schema-{len(steps)}", lenient=True
                )

            migrations.migrate(database, agent, store_id, back_up, to_micros(now), steps)
    except BaseException:
        database.close()
        raise
    return _ready(folder, agent, database, settings, now)


def _ready(
    folder: Path, agent: str, database: Database, settings: Settings, now: datetime
) -> Store:
    """Return a store that is ready to use: tidied after a crash, and indexed by this version."""
    try:
        store = Store(folder, agent, database, settings)
        refuse_unmoved(store)
        store.archive.filing.tidy()
        if has_erased(store):
            from lamina.store.upkeep import erase

            erase.erase_again(store, UPGRADE, now)
        if store.analyser < words.ANALYSER_VERSION:
            store.reindex(UPGRADE, now)
    except BaseException:
        database.close()
        raise
    return store


def _version(database: SqliteDatabase, steps: Sequence[Step]) -> int:
    with translated(database.path):
        database.recover()
        with database.moment() as connection:
            return migrations.version_of(connection, database, steps)
