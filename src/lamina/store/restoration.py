"""The way back: a backup takes the place of the store, which is kept, whether it is sound or damaged."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from lamina.clock import to_micros
from lamina.config import Settings
from lamina.errors import Corrupt, Refused, StoreUnavailable
from lamina.home import fsync_folder, make_private_file, make_private_folder
from lamina.model import Actor, iso
from lamina.store import backup, certificates, erasing, migrations, rawfile, told, transfer
from lamina.store.connection import SqliteDatabase, translated
from lamina.store.sql import Connection
from lamina.store.store import FILE_NAME, READS_NAME, Store
from lamina.store.verify import Progress, Report
from lamina.text import counted

SUFFIXES = ("", "-wal", "-shm", "-journal")


class Outlook(msgspec.Struct, frozen=True):
    """What restoring a backup would mean: when it was made, what it holds, and what of the present would not be there."""

    made_at: datetime
    age: timedelta
    records: int
    lost: int | None  # memories of the present store that it does not have; None when that cannot be read

    def to_dict(self) -> dict[str, Any]:
        return {"made_at": iso(self.made_at), "lost": self.lost}

    @property
    def sentences(self) -> list[str]:
        """The same for people who have to decide."""
        held, made = counted(self.records, "memory", "memories"), self.made_at.strftime("%Y-%m-%d %H:%M")
        if self.lost is None:
            lost = "the present store cannot be read, so nobody knows what it has that the backup has not"
        elif self.lost:
            lost = f"{counted(self.lost, 'memory', 'memories')} of the present store will not be there afterwards"
        else:
            lost = "it has every memory of the present store"
        return [f"the backup was made {made} UTC, {_ago(self.age)}, and holds {held}", lost]


def _ago(age: timedelta) -> str:
    """How long ago something was, roughly; a clock may have been set back since."""
    if age < timedelta(hours=1):
        return "less than an hour ago"
    hours = age // timedelta(hours=1)
    return f"{counted(hours, 'hour') if hours < 48 else counted(age.days, 'day')} ago"


def outlook(folder: Path, agent: str, settings: Settings, source: Path, now: datetime) -> Outlook:
    """Look at a backup and at the store that it would replace. Nothing is made or changed."""
    checked(source, agent)
    made_at, held, lost = backup.made_at(source), backup.ids(source), None
    with suppress(Corrupt):
        lost = len(_present(folder, agent, settings) - held)
    return Outlook(made_at, now - made_at, len(held), lost)


def checked(source: Path, agent: str) -> Path:
    """The database of a backup that is whole, and of this agent."""
    file = backup.check(source)
    own = backup.owner(source)
    if own not in (None, agent):
        raise Refused(
            f"{source} is a backup of the agent {own}, and cannot replace the memory of {agent}; {_way(source, own, agent)}"
        )
    return file


def _way(source: Path, own: str, agent: str) -> str:
    """How the memories of a backup come to another agent."""
    elsewhere = f"lamina --home NEW --agent {own}"
    steps = f"`{elsewhere} restore {source} --yes`, `{elsewhere} export {own}.json`, `lamina --agent {agent} import {own}.json`"
    return f"to bring its memories here, restore it in a new folder NEW, export it there and import that: {steps}"


def _present(folder: Path, agent: str, settings: Settings) -> set[str]:
    """The memories that are in the place of a store now."""
    from lamina.store import neighbours

    database = neighbours.database(folder, agent, settings)
    if database is None:
        return set()
    try:
        with database.snapshot() as connection:
            return backup.ids_of(connection)
    finally:
        database.close()


def over_live(store: Store, source: Path, actor: Actor, now: datetime, progress: Progress | None = None) -> dict[str, Any]:
    """Replace the content of an open store in one transaction; others see the one or the other.

    From the copy that is kept to the replacement nobody else can write, so that nothing acknowledged is in neither.
    """
    with _staged(checked(source, store.agent), store.folder) as work:
        report = _verified(work, store.agent, store.settings, now, progress)
        with translated(store.database.place), closing(_reader(work)) as origin, store.database.write_lock:
            known = {file.file for file in store.archives()}
            store.archive.filing.note([name for name in backup.archives_of(source) if name not in known])
            kept = _replaced(store, source, work, origin, actor, now)
    store.identify()
    store.archive.filing.tidy()
    return _told(source, kept, report)


def _replaced(store: Store, source: Path, work: Path, origin: apsw.Connection, actor: Actor, now: datetime) -> Path:
    if not isinstance(store.database, SqliteDatabase):
        return _replaced_rows(store, source, work, origin, actor, now)
    with store.database.writer().connection.backup("main", origin, "main") as copying:
        copying.step(0)  # takes the lock, copies nothing yet
        kept = _kept(store, work, actor, now)
        _leave_behind(work, {file.file for file in store.archives()} | set(store.archive.filing.strays()))
        _put_back_archives(source, store.folder)
        copying.step()
    return kept


def _replaced_rows(store: Store, source: Path, work: Path, origin: apsw.Connection, actor: Actor, now: datetime) -> Path:
    """The same where there is no file to copy over another."""
    with store.database.atomic() as transaction:
        store.database.linger(transaction.cursor)
        kept = _kept(store, work, actor, now)
        target = transaction.cursor.connection
        transfer.clear(target)
        transfer.Transfer(origin, source).copy(target, store.folder)
    return kept


def _kept(store: Store, work: Path, actor: Actor, now: datetime) -> Path:
    """A copy of what is about to be replaced; what replaces it tells of that, and knows what was erased."""
    before, reader = store.head(), store.database.reader()
    kept = backup.write(store.folder, store.database, None, now, label="before-restore", lenient=True)
    replaced = {"replaced": {"seq": before.seq, "hash": before.hash.hex()}}
    erased = _erased(store.folder, reader)
    _tell(work, store.agent, store.settings, actor, now, replaced, erased)
    return kept


def _leave_behind(work: Path, files: set[str]) -> None:
    """Let the copy know the files of the archive that are not its own. They are in the copy that is kept."""
    with closing(apsw.Connection(str(work))) as connection:
        own = {file for (file,) in connection.execute("SELECT file FROM archives")}
        connection.execute("DELETE FROM strays")
        connection.executemany("INSERT INTO strays (file) VALUES (?)", [(file,) for file in files - own])


def over_damage(
    folder: Path, agent: str, settings: Settings, source: Path, actor: Actor, now: datetime, progress: Progress | None = None
) -> dict[str, Any]:
    """Put a backup in the place of a store that cannot be opened or copied. The damaged files are kept."""
    with _staged(checked(source, agent), folder) as work:
        report = _verified(work, agent, settings, now, progress)
        _tell(work, agent, settings, actor, now, {"replaced": None}, _erased(folder, None))
        _put_back_archives(source, folder)
        aside = _exchanged(folder, work, now)
    _restore_reads(folder, source, now)
    return _told(source, aside, report)


def _exchanged(folder: Path, work: Path, now: datetime) -> Path:
    """Where a damaged store is kept, after another file has taken its place."""
    try:
        aside = _set_aside(folder, now, FILE_NAME)
        os.rename(work, folder / FILE_NAME)
        fsync_folder(folder)
    except OSError as error:
        raise StoreUnavailable(f"{folder / FILE_NAME} cannot be replaced: {error.strerror}") from error
    return aside


def damage(folder: Path, agent: str, settings: Settings) -> str | None:
    """Why the memories of a store in the home cannot all be read; nothing when they can, or when there are none.

    That an index is damaged does not count: it is made anew.
    """
    from lamina.store import neighbours

    if settings["store.url"]:
        return None  # a server looks after its own files
    try:
        database = neighbours.database(folder, agent, settings)
        if database is None:
            return None
        try:
            with database.snapshot() as connection:
                if neighbours.version(database, connection):
                    backup.read_through(connection)
        finally:
            database.close()
    except Corrupt as error:
        return error.message
    return None


def empty(folder: Path, agent: str, settings: Settings, actor: Actor, now: datetime) -> dict[str, Any]:
    """Begin an empty store in the place of one that cannot be read and has no backup. The damaged files are kept."""
    if settings["store.url"]:
        raise Refused("the store is on a server; only its own backup can replace it there")
    found = damage(folder, agent, settings)
    if found is None:
        raise Refused(
            f"the store of {agent} can be read, and only a damaged one is replaced by an empty one; nothing was changed"
        )
    with _place(folder) as place:
        work = place / FILE_NAME
        make_private_file(work)
        _tell(work, agent, settings, actor, now, {"replaced": None, "empty": True}, _erased(folder, None))
        aside = _exchanged(folder, work, now)
    _restore_reads(folder, None, now)
    return {"restored": None, "kept": str(aside), "damage": found}


@contextmanager
def _staged(file: Path, folder: Path) -> Iterator[Path]:
    """A private copy of a backup's database to work on, which is gone afterwards."""
    with _place(folder) as place:
        try:
            rawfile.copy(file, place / FILE_NAME)
        except OSError as error:
            raise StoreUnavailable(f"the backup cannot be copied into {folder}: {error.strerror}") from error
        yield place / FILE_NAME


@contextmanager
def _place(folder: Path) -> Iterator[Path]:
    """A private folder to work in, which is gone afterwards."""
    try:
        place = Path(tempfile.mkdtemp(dir=folder, prefix=".restore-", suffix=".tmp"))
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be written: {error.strerror}") from error
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _reader(path: Path) -> apsw.Connection:
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)


@contextmanager
def _opened(work: Path, agent: str, settings: Settings, now: datetime) -> Iterator[Store]:
    database = SqliteDatabase(work, settings["store.busy_timeout_ms"], settings["store.checkpoint_pages"])
    try:
        migrations.migrate(database, agent, None, lambda: None, to_micros(now))
        yield Store(work.parent, agent, database, settings)
    finally:
        database.close()


def _verified(work: Path, agent: str, settings: Settings, now: datetime, progress: Progress | None) -> Report:
    """What a check of the copy says, after it was migrated if it is old."""
    with _opened(work, agent, settings, now) as restored:
        report = restored.verify(None, progress, files=False)
    if not report.ok:
        problem = report.problems[0]
        raise Corrupt(f"the backup was altered: {problem.place}: {problem.message}", place=problem.place)
    return report


class Erased(NamedTuple):
    """What was erased in the store that is replaced: the records, and the hashes of the files that
    certify it."""

    records: set[str]
    certificates: list[str]


def _erased(folder: Path, connection: Connection | None) -> Erased:
    trail = None if connection is None else told.about_erasures(connection)
    return Erased(erasing.everything(folder, connection), sorted(found for _, found in certificates.vouched(folder, trail)))


def _tell(
    work: Path, agent: str, settings: Settings, actor: Actor, now: datetime, replaced: Mapping[str, Any], erased: Erased
) -> None:
    """Let the trail of the copy say what it is about to replace, and what was erased there.

    What was erased stays so: whoever opens the copy next erases it again.
    """
    with _opened(work, agent, settings, now) as restored, restored.change(actor, told.RESTORE, now) as transaction:
        back = erasing.bring_along(transaction.cursor.connection, erased.records)
        transaction.say({**replaced, told.AGAIN: back, told.CERTIFICATES: erased.certificates})


def _put_back_archives(source: Path, folder: Path) -> None:
    try:
        backup.put_back_archives(source, folder)
    except OSError as error:
        raise StoreUnavailable(f"the archive of {source} cannot be put back: {error.strerror}") from error


def _told(source: Path, kept: Path, report: Report) -> dict[str, Any]:
    return {"restored": str(source), "kept": str(kept), "records": report.records, "events": report.events}


def _set_aside(folder: Path, now: datetime, name: str) -> Path:
    """Move a damaged file out of the way, with all that belongs to it."""
    target = backup.unused(folder / "damaged" / backup.stamp(now))
    make_private_folder(target)
    for suffix in SUFFIXES:
        if (folder / (name + suffix)).exists():
            os.rename(folder / (name + suffix), target / (name + suffix))
    fsync_folder(target)
    return target


def _restore_reads(folder: Path, source: Path | None, now: datetime) -> None:
    """The trail of reads stays as it is, unless it is damaged too; then the backup's takes its place, or none."""
    path = folder / READS_NAME
    if path.exists() and _is_sound(path):
        return
    if path.exists():
        _set_aside(folder, now, READS_NAME)
    if source is not None and (source / READS_NAME).exists():
        with suppress(FileExistsError):  # somebody has just begun a new one
            rawfile.copy(source / READS_NAME, path)


def _is_sound(path: Path) -> bool:
    database = SqliteDatabase(path, busy_ms=5000, checkpoint_pages=1000)
    try:
        with database.snapshot() as connection:
            found = connection.execute("PRAGMA integrity_check(1)").get
        return bool(found == "ok")
    except Corrupt:
        return False
    finally:
        database.close()
