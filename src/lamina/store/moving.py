"""A memory moves to another database: copied, compared row by row, and only then believed in its new place."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import structs

from lamina import canon
from lamina.clock import to_micros
from lamina.config import Settings
from lamina.errors import Conflict, Corrupt, InvalidInput, Refused
from lamina.home import fsync_folder, has_bytes, make_private_file, write_private
from lamina.store import backup, certificates, events, migrations, shelf, transfer, verify
from lamina.store.connection import SqliteDatabase
from lamina.store.migrations import ARRIVING, LEFT, MOVED
from lamina.store.sql import Connection, Cursor, Database, rows
from lamina.store.store import FILE_NAME, Store
from lamina.store.transfer import Transfer

Progress = Callable[[int, int], None]
FILE = "file"


def move(store: Store, to: str, settings: Settings, now: datetime, progress: Progress | None = None) -> dict[str, Any]:
    """Move everything to an address, or back into the file of the agent's folder; what was moved.

    Nobody else writes meanwhile. What a crash leaves is gone on with, unless the memory has changed since.
    """
    target = _opened(store, to, settings, now)
    try:
        if target.place == store.database.place:
            raise InvalidInput(f"the memory of {store.agent} is at {target.place} already")
        with store.database.atomic() as hold:
            store.database.linger(hold.cursor)
            source = hold.cursor.connection
            store.check_place(source)  # somebody else may have moved it while we waited for our turn
            head = events.head(source, store.seed)
            if _begin(target, store, source, head):
                work = Transfer(source, store.folder, progress)
                for put in work.pages(target.reader(), store.folder):
                    with target.atomic() as transaction:
                        put(transaction.cursor.connection)
                try:
                    _check(target, store, work, head)
                except Corrupt:
                    with target.atomic() as transaction:  # the next try begins anew
                        transaction.cursor.execute(events.PUT_META, (ARRIVING, ""))
                    raise
            certificates.write_missing(source, store.folder)  # what was erased by others who share the server is told here, too
            hold.cursor.execute(events.PUT_META, (MOVED, target.place))
        numbers = {"records": _count(target, "records"), "events": head.seq, "archived": _count(target, "archived")}
    finally:
        target.close()
    return {"agent": store.agent, "from": store.database.place, "to": target.place, **numbers}


def place(folder: Path, to: str) -> str:
    """How people are told of the place that a memory moves to."""
    if to == FILE:
        return str(folder / FILE_NAME)
    from lamina.store.postgres.pool import parameters, shown

    return shown(parameters(to))


def _opened(store: Store, to: str, settings: Settings, now: datetime) -> Database:
    """The place that the memory moves to, empty or begun."""
    if to != FILE:
        from lamina.store.postgres.opening import connected

        return connected(settings, store.agent, store.id)
    path = store.folder / FILE_NAME
    if store.database.place == str(path):
        raise InvalidInput(f"the memory of {store.agent} is in {path} already")
    if has_bytes(path):
        _make_room(store, path, now)
    make_private_file(path)
    database = SqliteDatabase(path, settings["store.busy_timeout_ms"], settings["store.checkpoint_pages"])
    try:
        migrations.migrate(database, store.agent, store.id, lambda: None, to_micros(now))
    except BaseException:
        database.close()
        raise
    return database


def _make_room(store: Store, path: Path, now: datetime) -> None:
    """What was left behind when the memory moved away becomes a backup; half of a copy is gone on with, unless it is old."""
    with _file(path) as database:
        meta = _meta(database.reader())
        if not _is_copy(meta) and _any(database.reader()):
            raise Conflict(f"{path} holds another memory of {store.agent}; move it away first")
        if MOVED in meta:
            _keep(backup.write(store.folder, database, None, now, label="moved", lenient=True))
        elif meta.get(ARRIVING) == _mark(events.head(store.database.reader(), store.seed)):
            return
        for (file,) in rows(database.reader(), "SELECT file FROM archives"):
            shelf.Folder(store.folder).remove(database.reader(), file)
    for suffix in ("-wal", "-shm", ""):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    fsync_folder(path.parent)


def _keep(kept: Path) -> None:
    """Let a backup of what was left behind be one like any other, which can be restored."""
    with closing(apsw.Connection(str(kept / FILE_NAME))) as connection:
        connection.execute("DELETE FROM meta WHERE name = ?", (MOVED,))
    manifest = msgspec.json.decode((kept / backup.MANIFEST).read_bytes(), type=backup.Manifest)
    told = structs.replace(manifest, files={**manifest.files, FILE_NAME: backup.digest(kept / FILE_NAME)})
    write_private(kept / backup.MANIFEST, canon.encode(told) + b"\n")


def is_unmoved(path: Path) -> bool:
    """Whether a file holds a memory that was never moved: whoever looks on a server does not see it."""
    if not has_bytes(path):
        return False
    with _file(path) as database:
        return not _is_copy(_meta(database.reader())) and _any(database.reader())


def is_copy(path: Path) -> bool:
    """Whether a file says itself that its memory is elsewhere, or not all there yet."""
    with _file(path) as database, database.snapshot() as connection:
        return _is_copy(_meta(connection))


def _file(path: Path) -> closing[SqliteDatabase]:
    """A file of the home, to be looked at as it is."""
    return closing(SqliteDatabase(path, busy_ms=5000, checkpoint_pages=1000))


def _is_copy(meta: dict[str, str]) -> bool:
    return MOVED in meta or ARRIVING in meta


def hollow(store: Store, now: datetime) -> list[Path]:
    """Leave nothing of the copy in the home but where the memory went, since it is kept elsewhere; what was cleaned.

    A file that does not say so itself is no copy of ours, but a memory of its own.
    """
    path = store.folder / FILE_NAME
    if isinstance(store.database, SqliteDatabase) or not has_bytes(path):
        return []
    with _file(path) as database:
        meta = _meta(database.reader())
        if not _is_copy(meta) or meta.get("store_id") != store.id:
            return []
        files = [file for (file,) in rows(database.reader(), "SELECT file FROM archives")]
        for file in files:
            shelf.Folder(store.folder).remove(database.reader(), file)
    work = path.with_name(path.name + ".tmp")
    work.unlink(missing_ok=True)
    make_private_file(work)
    with _file(work) as empty:
        migrations.migrate(empty, store.agent, store.id, lambda: None, to_micros(now))
        with empty.atomic() as transaction:
            transaction.cursor.execute(events.PUT_META, (MOVED, meta.get(MOVED, store.database.place)))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    os.replace(work, path)
    fsync_folder(path.parent)
    return [path, *(store.folder / file for file in files)]


def _mark(head: events.Head) -> str:
    """What a place says of what arrives there: up to where it goes."""
    return canon.encode({"event": head.seq, "hash": head.hash.hex()}).decode()


def _begin(target: Database, store: Store, source: Connection, head: events.Head) -> bool:
    """Say in the new place that something arrives there; False when all of it has arrived already."""
    mark = _mark(head)
    with target.atomic() as transaction:
        connection = transaction.cursor.connection
        meta = _meta(connection)
        if meta.get("store_id") != store.id:
            if _any(connection):
                other = f"{target.place} holds another memory of {store.agent}"
                raise Conflict(f"{other}; use another database, or export and import")
            transaction.cursor.execute(events.PUT_META, ("store_id", store.id))  # somebody has looked there, and no more
        there = events.head(connection, store.seed)
        if meta.get(ARRIVING) != mark and there.seq:
            if not _is_copy(meta):
                if there == head:
                    return False
                # A part of our own history was left by a crash at the very end, and nobody has written to it.
                if source.execute("SELECT hash FROM events WHERE seq = ?", (there.seq,)).get != there.hash:
                    raise Conflict(f"{target.place} holds a memory of {store.agent} that is in use; nothing was moved")
            if isinstance(target, SqliteDatabase):  # what was old there has made room already
                raise Conflict("the memory was written to meanwhile; try again")
            transfer.clear(connection)  # half of a copy, or one that the memory has left long ago
        transaction.cursor.execute(events.PUT_META, (ARRIVING, mark))
        transaction.cursor.execute("DELETE FROM meta WHERE name = ?", (MOVED,))
    return True


def _check(target: Database, store: Store, work: Transfer, head: events.Head) -> None:
    """Believe the copy once it is the same, and its own trail says so."""
    with target.snapshot() as connection:
        work.compare(connection, store.folder)
        report = verify.verify(connection, store.seed)
    if not report.ok or report.head != head.hash.hex():
        problem = report.problems[0] if report.problems else verify.Problem("head", "it is another")
        raise Corrupt(f"{target.place}: {problem.place}: {problem.message}; nothing was switched")
    with target.atomic() as transaction:
        left = {*copies_left(transaction.cursor), store.database.place} - {target.place}
        transaction.cursor.execute(events.PUT_META, (LEFT, canon.encode(sorted(one for one in left if "://" in one)).decode()))
        transaction.cursor.execute("DELETE FROM meta WHERE name = ?", (ARRIVING,))


def copies_left(source: Connection | Cursor) -> list[str]:
    """The servers that a memory has been on, each of which may still have what it was then."""
    found: list[str] = canon.decode(source.execute("SELECT value FROM meta WHERE name = ?", (LEFT,)).get or "[]")
    return found


def refuse_elsewhere(meta: dict[str, str], place: str, agent: str) -> None:
    """Raise when a memory is not here any more, or not yet."""
    if MOVED in meta:
        is_server = "://" in meta[MOVED]
        do = "set store.url to that database" if is_server else "take store.url out of the settings of that home"
        raise Refused(f"{place}: the memory of {agent} was moved to {meta[MOVED]}; {do}", place=place, moved=meta[MOVED])
    if ARRIVING in meta:
        what = f"a move of {agent} into this place is not finished; run `lamina migrate` from where it was"
        raise Refused(f"{place}: {what}", place=place)


def _any(connection: Connection) -> bool:
    """Whether anything has ever happened in a memory."""
    return connection.execute("SELECT 1 FROM events LIMIT 1").get is not None


def _meta(connection: Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, value FROM meta").fetchall())


def _count(database: Database, table: str) -> int:
    return int(database.reader().execute(f"SELECT count(*) FROM {table}").get)
