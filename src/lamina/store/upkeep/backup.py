"""Copy live stores into backups that are complete, checked and private, and read them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import apsw
import msgspec

from lamina.errors import Corrupt, InvalidInput, NotFound, StoreUnavailable
from lamina.home.folder import fsync_folder, make_private_file, make_private_folder, refuse_link
from lamina.model import hashing
from lamina.model.record import iso
from lamina.store.archive.files import stamp
from lamina.store.core.store import Store
from lamina.store.engine import raw_file
from lamina.store.engine.sql import Connection, Database, rows
from lamina.store.engine.sqlite import SqliteDatabase, translated
from lamina.store.tables import meta, migrations
from lamina.store.upkeep.transfer import Transfer

MANIFEST = "manifest.json"
READ_THROUGH = ("records", "events")


class Manifest(msgspec.Struct, frozen=True):
    """The files of a backup, each with its SHA-256."""

    files: dict[str, str]
    format: str
    made_at: str
    version: int


def unused(path: Path) -> Path:
    """Return the path, or the next free one with a number: a clock may stand still."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def make(store: Store, now: datetime, to: Path | None = None) -> Path:
    """Copy the current state of a store into a new folder."""
    return store.steadily(
        lambda: write(store.folder, store.database, store.reads.sound(), now, to=to)
    )


def write(
    folder: Path,
    database: Database,
    reads: SqliteDatabase | None,
    now: datetime,
    label: str = "",
    to: Path | None = None,
    *,
    lenient: bool = False,
) -> Path:
    """Copy the store at one moment into a new folder. A crash leaves only a `.tmp` behind.

    A missing file of the archive is an error. A lenient copy, which is made before another
    operation, goes without it.
    """
    if to is None:
        refuse_link(folder / "backups")
        to = unused(folder / "backups" / (stamp(now) + (f"-{label}" if label else "")))
    make_private_folder(to.parent)
    try:
        if to.exists():
            raise InvalidInput(f"{to} exists already; a backup never overwrites anything")
        work = Path(tempfile.mkdtemp(dir=to.parent, prefix=".lamina-", suffix=".tmp"))
    except OSError as error:
        raise StoreUnavailable(f"the backup {to} cannot be written: {error.strerror}") from error
    try:
        files = {"memory.db": _copy(database, work / "memory.db")}
        if reads is not None:
            files["reads.db"] = _copy(reads, work / "reads.db")
        for name, archived in _archives(work / "memory.db"):
            if (work / name).exists():  # it was copied with the rows
                files[name] = digest(work / name)
            elif (folder / name).exists() or not lenient:
                files[name] = _copy_file(folder / name, work / name, None if lenient else archived)
        _write_manifest(work / MANIFEST, Manifest(files, "lamina-backup", iso(now), 1))
        fsync_folder(work)
        os.rename(work, to)
        fsync_folder(to.parent)
    except OSError as error:
        shutil.rmtree(work, ignore_errors=True)
        raise StoreUnavailable(f"the backup {to} could not be written: {error.strerror}") from error
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return to


def backups(folder: Path) -> list[Path]:
    """List the backups in an agent's folder, newest first."""
    manifests = (folder / "backups").glob(f"*/{MANIFEST}")
    return sorted((path.parent for path in manifests), reverse=True)


def holds(folder: Path, ids: Collection[str]) -> bool:
    """Tell whether a backup has one of some records, archived or not; a damaged one may."""
    wanted = json.dumps(list(ids))
    find = "SELECT 1 FROM {} WHERE id IN (SELECT value FROM json_each(?)) LIMIT 1"
    there = "SELECT name FROM sqlite_schema WHERE name IN ('records', 'archived')"
    try:
        with _opened(folder / "memory.db") as connection:
            tables = [name for (name,) in connection.execute(there).fetchall()]
            return any(connection.execute(find.format(table), (wanted,)).get for table in tables)
    except Corrupt:
        return True


def ids(folder: Path) -> set[str]:
    """List the memories in a backup, archived or not."""
    with _opened(folder / "memory.db") as connection:
        return ids_of(connection)


def ids_of(connection: Connection) -> set[str]:
    """List the memories in any database; one with an older schema has no archive."""
    tables = [table for table in ("records", "archived") if _has(connection, table)]
    return {name for table in tables for (name,) in rows(connection, f"SELECT id FROM {table}")}


def _has(connection: Connection, table: str) -> bool:
    """Tell whether a table exists; databases other than SQLite have all tables."""
    if not isinstance(connection, apsw.Connection):
        return True
    query = "SELECT 1 FROM sqlite_schema WHERE name = ?"
    return connection.execute(query, (table,)).get is not None


def owner(folder: Path) -> str | None:
    """Return the agent whose memory is in a backup, if it says so."""
    with _opened(folder / "memory.db") as connection:
        agent = meta.get(connection, "agent") if _has(connection, "meta") else None
    return None if agent is None else str(agent)


def made_at(folder: Path) -> datetime:
    """Return the time at which a backup was made, from its manifest."""
    try:
        return datetime.fromisoformat(_manifest(folder).made_at).astimezone(UTC)
    except ValueError as error:
        raise Corrupt(f"{folder / MANIFEST} is damaged: {error}") from None


def is_readable(folder: Path) -> bool:
    """Tell whether the database of a backup can be read."""
    try:
        with _opened(folder / "memory.db") as connection:
            return bool(connection.execute("SELECT count(*) FROM sqlite_schema").get)
    except (Corrupt, StoreUnavailable):
        return False


def notes(folder: Path) -> Iterator[str]:
    """Read the notes of the events and reads of a backup."""
    for name in ("memory.db", "reads.db"):
        if (folder / name).exists():
            with _opened(folder / name) as connection:
                yield from (body for (body,) in connection.execute("SELECT body FROM notes"))


@contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    """Open the database of a backup for reading."""
    with translated(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            yield connection
        finally:
            connection.close()


def read_through(connection: Connection) -> None:
    """Read every memory and every event of a store, which fails if it is damaged."""
    for name in READ_THROUGH:
        for _ in connection.execute(f"SELECT * FROM {name} NOT INDEXED"):
            pass


def check(folder: Path) -> Path:
    """Check the files of a backup against its manifest; return its database."""
    manifest = _manifest(folder)
    if "memory.db" not in manifest.files:
        raise Corrupt(f"{folder / MANIFEST} names no memory.db")
    for name, expected in manifest.files.items():
        try:
            same = (folder / name).is_file() and digest(folder / name) == expected
        except OSError as error:
            raise StoreUnavailable(f"{folder / name} cannot be read: {error.strerror}") from error
        if not same:
            raise Corrupt(f"{folder / name} does not match its manifest; choose another backup")
    return folder / "memory.db"


def _manifest(folder: Path) -> Manifest:
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"{folder} is not a backup: it has no {MANIFEST}") from None
    except OSError as error:
        raise StoreUnavailable(f"{folder / MANIFEST} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corrupt(f"{folder / MANIFEST} is damaged: {error}") from None


def _copy(database: Database, path: Path) -> str:
    make_private_file(path)
    if not isinstance(database, SqliteDatabase):
        return _copy_rows(database, path)
    with translated(path):
        target = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            with target.backup("main", database.reader(), "main") as copying:
                copying.step()
            database.check_still()
            # A copy must be complete without a log.
            target.execute("PRAGMA journal_mode = DELETE")
            result = target.execute("PRAGMA quick_check").get
        finally:
            target.close()
    if result != "ok":
        raise Corrupt(f"{database.path}: the copy is damaged ({result}); see `lamina restore`")
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return digest(path)


def _copy_rows(database: Database, path: Path) -> str:
    """Write a SQLite file with all rows of another kind of database, and its archive beside it."""
    target = SqliteDatabase(path, busy_ms=5000, checkpoint_pages=2000)
    try:
        with database.snapshot() as source:
            said = meta.read(source)
            migrations.migrate(target, said["agent"], said["store_id"], lambda: None, 0)
            with target.atomic() as transaction:
                Transfer(source, path.parent).copy(transaction.cursor.connection, path.parent)
        target.writer().execute("PRAGMA journal_mode = DELETE")
    finally:
        target.close()
    return digest(path)


def _archives(copied: Path) -> list[tuple[str, str]]:
    """List the archive files that a copy of the database needs, with their digests."""
    query = "SELECT file, lower(hex(sha256)) FROM archives ORDER BY number"
    with _opened(copied) as connection:
        # A store with an older schema has none.
        return rows(connection, query) if _has(connection, "archives") else []


def _copy_file(source: Path, target: Path, expected: str | None = None) -> str:
    if not source.exists():
        do = "put it back from a backup"
        raise Corrupt(f"{source} is gone, but memories were archived there; {do}")
    make_private_folder(target.parent)
    refuse_link(source)
    raw_file.copy(source, target)
    found = digest(target)
    if expected not in (None, found):
        raise Corrupt(f"{source} is not what was archived; see `lamina audit verify`")
    return found


def copy_archives(source: Path, folder: Path) -> None:
    """Copy the archive files of a backup to another folder."""
    for name in _manifest(source).files:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise Corrupt(f"{source / MANIFEST} names {name}, which lies outside the backup")
        if "/" in name:
            _copy_file(source / name, folder / name)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, as it is in a manifest."""
    with raw_file.opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_manifest(path: Path, manifest: Manifest) -> None:
    make_private_file(path)
    with path.open("wb") as file:
        file.write(hashing.encode(manifest) + b"\n")
        file.flush()
        os.fsync(file.fileno())
