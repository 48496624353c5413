"""Move a memory to another database: copy it, compare it row by row, and only then switch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import structs

from lamina.errors import Conflict, Corrupt, InvalidInput
from lamina.home.folder import fsync_folder, has_bytes, make_private_file, write_private
from lamina.home.settings import Settings
from lamina.model import hashing
from lamina.model.clock import to_micros
from lamina.store.archive import files as shelf
from lamina.store.core.store import FILE_NAME, Store
from lamina.store.engine.sql import Connection, Cursor, Database
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.tables import archived, certificates, events, meta, migrations
from lamina.store.tables.meta import ARRIVING, LEFT, MOVED
from lamina.store.upkeep import backup, staging, transfer, verify
from lamina.store.upkeep.transfer import Transfer

Progress = Callable[[int, int], None]
FILE = "file"


def move(
    store: Store, to: str, settings: Settings, now: datetime, progress: Progress | None = None
) -> dict[str, Any]:
    """Move everything to an address, or back into the file of the agent's folder; report it.

    Nobody else can write in the meantime. If it is run again after a crash, a move to a server
    continues, unless the memory has changed since; a move into a file starts over.
    """
    if to == FILE:
        return _into_file(store, settings, now, progress)
    target = _opened(store, settings)
    try:
        if target.address == store.database.address:
            raise InvalidInput(f"the memory of {store.agent} is at {target.address} already")
        with _held(store) as (hold, head):
            source = hold.connection
            if _begin(target, store, source, head):
                work = Transfer(source, store.folder, progress)
                _copy(work, target, store.folder)
                try:
                    _check(target, store, work, head, store.folder)
                except Corrupt:
                    with target.atomic() as transaction:  # the next try starts over
                        meta.put(transaction.cursor, ARRIVING, "")
                    raise
            meta.put(hold, MOVED, target.address)
        return _report(store, target, target.address, head)
    finally:
        target.close()


def _into_file(
    store: Store,
    settings: Settings,
    now: datetime,
    progress: Progress | None,
) -> dict[str, Any]:
    """Build the file beside its place: an incomplete one there would look like an empty memory."""
    path = store.folder / FILE_NAME
    if store.database.address == str(path):
        raise InvalidInput(f"the memory of {store.agent} is in {path} already")
    with staging.arriving(store.folder) as place, _held(store) as (hold, head):
        old = _replaceable(store, path, hold.connection)
        with _new_file(place / FILE_NAME, store, settings, now) as target:
            copying = Transfer(hold.connection, store.folder, progress)
            _copy(copying, target, place)
            _check(target, store, copying, head, place)
            report = _report(store, target, str(path), head)
        _keep_left(store, path, now)
        obsolete = sorted(set(old).difference(staging.beside(place)))
        staging.exchange(place, staging.Plan(obsolete=tuple(obsolete)))
        certificates.write_missing(hold.connection, store.folder)  # including those of other homes
        meta.put(hold, MOVED, str(path))
    return report


@contextmanager
def _held(store: Store) -> Iterator[tuple[Cursor, events.Head]]:
    """Keep others from writing at the source; yield its cursor and the end of its trail."""
    with store.database.atomic() as hold:
        store.database.linger(hold.cursor)
        store.check_not_moved(hold.cursor.connection)  # another process may have moved it
        yield hold.cursor, events.head(hold.cursor.connection, store.seed)


def _copy(work: Transfer, target: Database, folder: Path) -> None:
    for put in work.pages(target.reader(), folder):
        with target.atomic() as transaction:
            put(transaction.cursor.connection)


def _report(store: Store, target: Database, to: str, head: events.Head) -> dict[str, Any]:
    numbers = {name: _count(target, name) for name in ("records", "archived")}
    places = {"agent": store.agent, "from": store.database.address, "to": to}
    return {**places, **numbers, "events": head.seq}


def place(folder: Path, to: str) -> str:
    """Return the place a memory moves to in the form that people see, without a password."""
    if to == FILE:
        return str(folder / FILE_NAME)
    from lamina.store.engine.postgres.pool import parameters, shown

    return shown(parameters(to))


def _opened(store: Store, settings: Settings) -> Database:
    """Open the agent's place on a server; a new one is marked at once as awaiting its memory."""
    from lamina.store.tables.postgres.opening import connected

    return connected(settings, store.agent, store.id, made=((ARRIVING, ""),))


@contextmanager
def _new_file(
    path: Path,
    store: Store,
    settings: Settings,
    now: datetime,
) -> Iterator[SqliteDatabase]:
    make_private_file(path)
    patience, pages = settings["store.busy_timeout_ms"], settings["store.checkpoint_pages"]
    with closing(SqliteDatabase(path, patience, pages)) as database:
        migrations.migrate(database, store.agent, store.id, lambda: None, to_micros(now))
        yield database


def _replaceable(store: Store, path: Path, source: Connection) -> list[str]:
    """List the archive of a file that may be replaced; raise if it holds another memory."""
    if not _has_tables(path):
        return []
    with _file(path) as database:
        connection = database.reader()
        is_ours = _is_copy(meta.read(connection)) or _is_part(connection, source, store)
        if _any(connection) and not is_ours:
            raise Conflict(f"{path} holds another memory of {store.agent}; move it away first")
        return archived.names(connection)


def _is_part(there: Connection, source: Connection, store: Store) -> bool:
    """Tell whether a place has part of our history, as a crash at the end of a move leaves it."""
    last = events.head(there, store.seed)
    same = source.execute("SELECT hash FROM events WHERE seq = ?", (last.seq,)).get
    return bool(same == last.hash)


def _has_tables(path: Path) -> bool:
    """Tell whether a file holds a memory; a process may have died before creating the tables."""
    if not has_bytes(path):
        return False
    with _file(path) as database, database.snapshot() as connection:
        return migrations.version_of(connection, database) > 0


def _keep_left(store: Store, path: Path, now: datetime) -> None:
    """Back up the file from which the memory moved away, before it is replaced."""
    if _has_tables(path):
        with _file(path) as database:
            if MOVED in meta.read(database.reader()):
                _keep(backup.write(store.folder, database, None, now, label="moved", lenient=True))


def _keep(kept: Path) -> None:
    """Make a backup of such a file a regular one, which can be restored."""
    with closing(apsw.Connection(str(kept / FILE_NAME))) as connection:
        meta.delete(connection, MOVED)
    manifest = msgspec.json.decode((kept / backup.MANIFEST).read_bytes(), type=backup.Manifest)
    files = {**manifest.files, FILE_NAME: backup.digest(kept / FILE_NAME)}
    changed = structs.replace(manifest, files=files)
    write_private(kept / backup.MANIFEST, hashing.encode(changed) + b"\n")


def is_unmoved(path: Path) -> bool:
    """Tell whether a file holds a memory that was never moved and is hidden by one on a server."""
    if not _has_tables(path):
        return False
    with _file(path) as database:
        return not _is_copy(meta.read(database.reader())) and _any(database.reader())


def is_copy(path: Path) -> bool:
    """Tell whether a file says that its memory is elsewhere, or not complete yet."""
    if not _has_tables(path):
        return True
    with _file(path) as database, database.snapshot() as connection:
        return _is_copy(meta.read(connection))


def _file(path: Path) -> closing[SqliteDatabase]:
    """Open a file of the home without changing it."""
    return closing(SqliteDatabase(path, busy_ms=5000, checkpoint_pages=1000))


def _is_copy(said: dict[str, str]) -> bool:
    return MOVED in said or ARRIVING in said


def hollow(store: Store, now: datetime) -> list[Path]:
    """Empty the copy in the home of a memory that is now elsewhere; return the cleaned files.

    Only the new address remains. A file that does not name one is not our copy, but a separate
    memory.
    """
    path = store.folder / FILE_NAME
    if isinstance(store.database, SqliteDatabase) or not _has_tables(path):
        return []
    with _file(path) as database:
        said = meta.read(database.reader())
        if not _is_copy(said) or said.get("store_id") != store.id:
            return []
        files = archived.names(database.reader())
        for file in files:
            shelf.Folder(store.folder).remove(database.reader(), file)
    work = path.with_name(path.name + ".tmp")
    work.unlink(missing_ok=True)
    make_private_file(work)
    with _file(work) as empty:
        migrations.migrate(empty, store.agent, store.id, lambda: None, to_micros(now))
        with empty.atomic() as transaction:
            meta.put(transaction.cursor, MOVED, said.get(MOVED, store.database.address))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    os.replace(work, path)
    fsync_folder(path.parent)
    return [path, *(store.folder / file for file in files)]


def _mark(head: events.Head) -> str:
    """Encode how far the trail of an arriving memory goes."""
    return hashing.encode({"event": head.seq, "hash": head.hash.hex()}).decode()


def _begin(target: Database, store: Store, source: Connection, head: events.Head) -> bool:
    """Mark the new place as awaiting a memory; return False if all of it has arrived."""
    mark = _mark(head)
    with target.atomic() as transaction:
        connection = transaction.cursor.connection
        said = meta.read(connection)
        if said.get("store_id") != store.id:
            if _any(connection):
                other = f"{target.address} holds another memory of {store.agent}"
                raise Conflict(f"{other}; use another database, or export and import")
            # Another process has only opened it.
            meta.put(transaction.cursor, "store_id", store.id)
        there = events.head(connection, store.seed)
        if said.get(ARRIVING) != mark and there.seq:
            if not _is_copy(said):
                if there == head:
                    return False
                if not _is_part(connection, source, store):
                    what = f"{target.address} holds a memory of {store.agent} that is in use"
                    raise Conflict(f"{what}; nothing was moved")
            transfer.clear(connection)  # an incomplete copy, or one from before an earlier move
        meta.put(transaction.cursor, ARRIVING, mark)
        meta.delete(transaction.cursor, MOVED)
    return True


def _check(target: Database, store: Store, work: Transfer, head: events.Head, folder: Path) -> None:
    """Accept the copy if it is identical and passes a check of its own trail."""
    with target.snapshot() as connection:
        work.compare(connection, folder)
        report = verify.verify(connection, store.seed)
    if not report.ok or report.head != head.hash.hex():
        problem = report.problems[0] if report.problems else verify.Problem("head", "it is another")
        raise Corrupt(f"{target.address}: {problem.place}: {problem.message}; nothing was switched")
    with target.atomic() as transaction:
        left = {*copies_left(transaction.cursor), store.database.address} - {target.address}
        servers = sorted(address for address in left if "://" in address)
        meta.put(transaction.cursor, LEFT, hashing.encode(servers).decode())
        meta.delete(transaction.cursor, ARRIVING)


def copies_left(source: Connection | Cursor) -> list[str]:
    """List the servers from which a memory was moved, which may still have an old copy."""
    servers: list[str] = hashing.decode(meta.get(source, LEFT) or "[]")
    return servers


def _any(connection: Connection) -> bool:
    """Tell whether a memory has any events."""
    return connection.execute("SELECT 1 FROM events LIMIT 1").get is not None


def _count(database: Database, table: str) -> int:
    return int(database.reader().execute(f"SELECT count(*) FROM {table}").get)
