"""Replace the store, intact or damaged, by a backup, and keep what was replaced."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from lamina.errors import Corrupt, LaminaError, Refused, StoreUnavailable
from lamina.home.settings import Settings
from lamina.model.record import Actor, iso
from lamina.store.archive.files import stamp
from lamina.store.core.store import FILE_NAME, READS_NAME, Store
from lamina.store.engine import file_header
from lamina.store.engine.sql import Connection
from lamina.store.engine.sqlite import SqliteDatabase, translated
from lamina.store.tables import certificates, trail_check
from lamina.store.upkeep import backup, erase, erase_plan, read_only, staging, transfer
from lamina.store.upkeep.candidate import Candidate
from lamina.store.upkeep.verify import Progress, Report
from lamina.text.words import counted


class Outlook(msgspec.Struct, frozen=True):
    """The effect of restoring a backup: its age, what it contains, and what would be lost."""

    made_at: datetime
    age: timedelta
    records: int
    lost: int | None  # memories in the present store that it lacks; None if that cannot be read

    def to_dict(self) -> dict[str, Any]:
        return {"made_at": iso(self.made_at), "lost": self.lost}

    @property
    def sentences(self) -> list[str]:
        """The effect in words, for the people who decide."""
        held = counted(self.records, "memory", "memories")
        made = self.made_at.strftime("%Y-%m-%d %H:%M")
        if self.lost is None:
            unknown = "so it is unknown what it has beyond the backup"
            lost = f"the current store cannot be read, {unknown}"
        elif self.lost:
            memories = counted(self.lost, "memory", "memories")
            lost = f"{memories} of the current store will be missing afterwards"
        else:
            lost = "it has every memory of the current store"
        return [f"the backup was made {made} UTC, {_ago(self.age)}, and holds {held}", lost]


def _ago(age: timedelta) -> str:
    """Say roughly how long ago something was; the clock may have been set back since."""
    if age < timedelta(hours=1):
        return "less than an hour ago"
    hours = age // timedelta(hours=1)
    return f"{counted(hours, 'hour') if hours < 48 else counted(age.days, 'day')} ago"


def outlook(folder: Path, agent: str, settings: Settings, source: Path, now: datetime) -> Outlook:
    """Examine a backup and the store that it would replace, after recovering from any crash."""
    checked(source, agent)
    if not settings["store.url"]:
        staging.settle(folder)
    made_at, held, lost = backup.made_at(source), backup.ids(source), None
    with suppress(Corrupt):
        lost = len(_present(folder, agent, settings, backup.ids_of) - held)
    return Outlook(made_at, now - made_at, len(held), lost)


def checked(source: Path, agent: str) -> Path:
    """Return the database of a backup; raise if it is incomplete or belongs to another agent."""
    file = backup.check(source)
    own = backup.owner(source)
    if own not in (None, agent):
        what = f"{source} is a backup of the agent {own}, and cannot replace the memory of {agent}"
        raise Refused(f"{what}; {_detour(source, own, agent)}")
    return file


def _detour(source: Path, own: str, agent: str) -> str:
    """Explain how to give the memories of a backup to another agent."""
    elsewhere = f"lamina --home NEW --agent {own}"
    restore = f"`{elsewhere} restore {source} --yes`"
    steps = (
        f"{restore}, `{elsewhere} export {own}.json`, `lamina --agent {agent} import {own}.json`"
    )
    do = "restore it in a new folder NEW, export it there and import that"
    return f"to bring its memories here, {do}: {steps}"


def _present(
    folder: Path,
    agent: str,
    settings: Settings,
    ask: Callable[[Connection], set[str]],
) -> set[str]:
    """Query the present store, if there is one."""
    database = read_only.database(folder, agent, settings)
    if database is None:
        return set()
    try:
        with database.snapshot() as connection:
            return ask(connection)
    finally:
        database.close()


def over_live(
    store: Store, source: Path, actor: Actor, now: datetime, progress: Progress | None = None
) -> dict[str, Any]:
    """Replace the content of an open store in one transaction, which others see at once or not.

    What was erased is first removed from the copy. Nobody else can write between the backup of the
    present store and its replacement, so nothing acknowledged is missing from both.
    """
    checked(source, store.agent)
    done = None
    while done is None:
        with staging.restoring(store.folder) as place:
            copy = Candidate(place, store.agent, store.settings, actor, now)
            try:
                done = _tried(store, source, copy, now, progress)
            except StoreUnavailable:
                if place.exists():  # otherwise an erasure removed it with the text it contained
                    raise
    store.identify()
    store.archive.filing.tidy()
    return done


def _tried(
    store: Store,
    source: Path,
    copy: Candidate,
    now: datetime,
    progress: Progress | None,
) -> dict[str, Any] | None:
    """Replace the store by a copy; None if something was erased in the meantime."""
    replace = _replaced_file if isinstance(store.database, SqliteDatabase) else _replaced_rows
    with _restoring(store.folder):
        copy.copy(source)
        report = copy.verified(progress)
        present = Present.of(store)
        if copy.remove(present.erased, present.files):
            report = copy.verified()
        here, lock = store.database.address, store.database.write_lock
        with translated(here), closing(_reader(copy.file)) as origin, lock:
            kept = replace(store, copy, origin, present, now)
    return None if kept is None else _report(source, kept, report)


class Present(NamedTuple):
    """What a copy must know about the store that it replaces."""

    erased: set[str]
    number: int  # of the last erasure
    files: set[str]  # of the archive

    @classmethod
    def of(cls, store: Store) -> Present:
        erased = erase_plan.everything(store.folder, store.database.reader())
        files = {*(file.file for file in store.archives()), *store.archive.filing.strays()}
        return cls(erased, erase.last_number(store.folder), files)

    def is_still(self, now: Present) -> bool:
        """Tell whether nothing was erased in the meantime."""
        return (self.erased, self.number) == (now.erased, now.number)


def _replaced_file(
    store: Store,
    copy: Candidate,
    origin: apsw.Connection,
    present: Present,
    now: datetime,
) -> Path | None:
    """Return a backup of what was replaced; None if the copy is out of date."""
    assert isinstance(store.database, SqliteDatabase)
    files = copy.archives()
    store.archive.filing.note([name for name in files if name not in present.files])
    with store.database.writer().connection.backup("main", origin, "main") as copying:
        copying.step(0)  # takes the lock, copies nothing yet
        current = Present.of(store)
        is_noted = current.files.issuperset(files)  # unless a process has opened it and tidied
        if not present.is_still(current) or not is_noted:
            return None
        kept = _kept(store, copy, now)
        copy.leave_behind(current.files)
        staging.put(copy.place, store.folder, staging.beside(copy.place))
        copying.step()
    return kept


def _replaced_rows(
    store: Store,
    copy: Candidate,
    origin: apsw.Connection,
    present: Present,
    now: datetime,
) -> Path | None:
    """Do the same on a server, where no file can be copied and the archive is in rows."""
    with store.database.atomic() as transaction:
        store.database.linger(transaction.cursor)
        if not present.is_still(Present.of(store)):
            return None
        kept = _kept(store, copy, now)
        target = transaction.cursor.connection
        transfer.clear(target)
        transfer.Transfer(origin, copy.place).copy(target, store.folder)
        files = staging.beside(copy.place)
        signatures = [file for file in files if file.startswith(f"{erase_plan.CERTIFICATES}/")]
        staging.put(copy.place, store.folder, signatures)
    return kept


def _kept(store: Store, copy: Candidate, now: datetime) -> Path:
    """Back up what is about to be replaced, and say so in the trail of the replacement."""
    head, folder, database = store.head(), store.folder, store.database
    kept = backup.write(folder, database, None, now, label="before-restore", lenient=True)
    replaced = {"seq": head.seq, "hash": head.hash.hex()}
    hashes = certificates.hashes(folder, database.reader())
    copy.tell({"replaced": replaced, trail_check.CERTIFICATES: hashes})
    return kept


def over_damage(
    folder: Path,
    agent: str,
    settings: Settings,
    source: Path,
    actor: Actor,
    now: datetime,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Put a backup in the place of a store that cannot be opened or copied, which is kept."""
    checked(source, agent)
    with staging.restoring(folder) as place, _restoring(folder):
        copy = Candidate(place, agent, settings, actor, now)
        copy.copy(source)
        report = copy.verified(progress)
        erased = _erased(folder, agent, settings)
        begun = copy.remove(erased)
        if begun is not None:
            report = copy.verified()
        copy.tell({"replaced": None, trail_check.CERTIFICATES: certificates.hashes(folder, None)})
        if not _is_sound(folder / READS_NAME):
            copy.take_reads(source, erased, begun)
        aside = _exchanged(place, now)
    return _report(source, aside, report)


def _erased(folder: Path, agent: str, settings: Settings) -> set[str]:
    """List what was ever erased, from the certificates and the readable part of a damaged store."""
    found = erase_plan.everything(folder, None)
    with suppress(LaminaError):
        found |= _present(
            folder, agent, settings, lambda there: erase_plan.everything(folder, there)
        )
    return found


def _exchanged(place: Path, now: datetime) -> Path:
    """Replace a damaged store by another; return where the damaged one is kept."""
    aside = backup.unused(place.parent / staging.DAMAGED / stamp(now))
    staging.exchange(place, staging.Plan(aside.name))
    return aside


def _restoring(folder: Path) -> AbstractContextManager[None]:
    return staging.disk_errors(folder, "cannot be restored", of_file=True)


def damage(folder: Path, agent: str, settings: Settings) -> str | None:
    """Say why some memories of a store in the home cannot be read; None if all can.

    A damaged index does not count, since it can be rebuilt.
    """
    if settings["store.url"]:
        return None  # a server takes care of its own files
    try:
        database = read_only.database(folder, agent, settings)
        if database is None:
            return None
        try:
            with database.snapshot() as connection:
                if read_only.version(database, connection):
                    backup.read_through(connection)
                else:
                    file_header.refuse_lost(folder / FILE_NAME)
        finally:
            database.close()
    except Corrupt as error:
        return error.message
    return None


def empty(
    folder: Path, agent: str, settings: Settings, actor: Actor, now: datetime
) -> dict[str, Any]:
    """Create an empty store in place of one that cannot be read and has no backup.

    The damaged files are kept.
    """
    if settings["store.url"]:
        raise Refused("the store is on a server; only its own backup can replace it there")
    staging.settle(folder)
    problem = damage(folder, agent, settings)
    if problem is None:
        what = (
            f"the store of {agent} can be read, and only a damaged one is replaced by an empty one"
        )
        raise Refused(f"{what}; nothing was changed")
    with staging.restoring(folder) as place, _restoring(folder):
        fresh = Candidate(place, agent, settings, actor, now)
        hashes = certificates.hashes(folder, None)
        fresh.tell({"replaced": None, "empty": True, trail_check.CERTIFICATES: hashes})
        if not _is_sound(folder / READS_NAME):
            fresh.take_reads(None, (), None)
        aside = _exchanged(place, now)
    return {"restored": None, "kept": str(aside), "damage": problem}


def _reader(path: Path) -> apsw.Connection:
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)


def _report(source: Path, kept: Path, report: Report) -> dict[str, Any]:
    return {
        "restored": str(source),
        "kept": str(kept),
        "records": report.records,
        "events": report.events,
    }


def _is_sound(path: Path) -> bool:
    """Tell whether a trail of reads can be continued; a missing one cannot."""
    if not path.exists():
        return False
    database = SqliteDatabase(path, busy_ms=5000, checkpoint_pages=1000)
    try:
        with database.snapshot() as connection:
            return bool(connection.execute("PRAGMA integrity_check(1)").get == "ok")
    except Corrupt:
        return False
    finally:
        database.close()
