"""Prepare a copy of a backup to become the store, in a folder from which no handle reads."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from lamina.errors import Corrupt, StoreUnavailable
from lamina.home.folder import is_file, make_private_file, make_private_folder
from lamina.home.settings import Settings
from lamina.model.clock import to_micros
from lamina.model.erased_words import Signature
from lamina.model.record import Actor
from lamina.store.core.store import FILE_NAME, READS_NAME, Store
from lamina.store.engine import raw_file
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.tables import migrations
from lamina.store.tables.reads import ReadLog
from lamina.store.upkeep import backup, erase, erase_plan, staging, verify
from lamina.store.upkeep.erase import StartedErasure
from lamina.store.upkeep.erase_plan import ErasureRequest
from lamina.store.upkeep.verify import Progress, Report


class Candidate:
    """A store that is about to replace another, empty unless a backup is copied into it."""

    def __init__(
        self,
        place: Path,
        agent: str,
        settings: Settings,
        actor: Actor,
        now: datetime,
    ) -> None:
        self.place = place
        self.file = place / FILE_NAME
        self._agent = agent
        self._settings = settings
        self._actor = actor
        self._now = now
        make_private_file(self.file)

    def copy(self, source: Path) -> None:
        """Copy the database of a backup, already checked by the caller, and its archive."""
        try:
            self.file.unlink()
            raw_file.copy(source / FILE_NAME, self.file)
            backup.copy_archives(source, self.place)
        except OSError as error:
            what = f"the backup cannot be copied into {self.place.parent}: {error.strerror}"
            raise StoreUnavailable(what) from error

    def verified(self, progress: Progress | None = None) -> Report:
        """Migrate and check the rows. Archive files may be missing, as in the backup."""
        with self._opened() as store:
            report = verify.store(store, None, progress, files=False)
        if not report.ok:
            problem = report.problems[0]
            what = f"the backup was altered: {problem.place}: {problem.message}"
            raise Corrupt(what, place=problem.place)
        return report

    def remove(self, erased: Collection[str], taken: Collection[str] = ()) -> StartedErasure | None:
        """Remove what was erased since the backup was made; return what is left to clean elsewhere.

        No new archive file gets one of the names in `taken`.
        """
        with self._opened() as store:
            with store.database.moment() as connection:
                there = erase_plan.held_of(
                    connection, {*erased, *erase_plan.brought_back(connection)}
                )
            if not there:
                return None
            own = [file.file for file in store.archives()]
            self._borrow(own)
            store.archive.filing.note(sorted(set(taken).difference(own)))
            number = erase.last_number(self.place.parent)
            begun = erase.begin(
                store, self._actor, self._now, ErasureRequest(tuple(there)), after=number
            )
            erase.purge(store)
            self._drop({file.file for file in store.archives()})
        return begun

    def _borrow(self, files: Sequence[str]) -> None:
        """Copy files that the backup lacks from the present archive; every line will be checked."""
        for file in files:
            source, target = self.place.parent / file, self.place / file
            if is_file(source) and not target.exists():
                make_private_folder(target.parent)
                shutil.copyfile(source, target)

    def _drop(self, own: Collection[str]) -> None:
        """Remove files that were rewritten. Tidying does that too, but ignores failures."""
        for file in staging.beside(self.place):
            if file.endswith(".jsonl") and file not in own:
                (self.place / file).unlink()

    def take_reads(
        self, source: Path | None, erased: Collection[str], begun: StartedErasure | None
    ) -> None:
        """Copy a backup's trail of reads, without notes on what was erased, or create a new one."""
        path = self.place / READS_NAME
        if source is None or not (source / READS_NAME).exists():
            make_private_file(path)
            return
        raw_file.copy(source / READS_NAME, path)
        known = Signature() if begun is None else begun.known
        gone = {*erased, *(() if begun is None else begun.ids)}
        if gone:
            patience = self._settings["store.busy_timeout_ms"]
            log = ReadLog(path, self._agent, patience, strict=False)
            try:
                log.erase(self._actor, self._now, erase.is_doomed(gone, known))
            finally:
                log.close()

    def tell(self, details: Mapping[str, Any]) -> None:
        """Add an event that describes what is about to be replaced."""
        who, when = self._actor, self._now
        with self._opened() as store, store.change(who, "restore", when, details=details):
            pass

    def archives(self) -> list[str]:
        """List the files of the candidate's archive."""
        with self._opened() as store:
            return [file.file for file in store.archives()]

    def leave_behind(self, files: Collection[str]) -> None:
        """Note as strays the files of the present archive that are not its own, to remove them."""
        others = [(file,) for file in set(files).difference(self.archives())]
        with self._opened() as store, store.database.atomic() as transaction:
            transaction.cursor.execute("DELETE FROM strays")
            transaction.cursor.executemany("INSERT INTO strays (file) VALUES (?)", others)

    @contextmanager
    def _opened(self) -> Iterator[Store]:
        settings, micros = self._settings, to_micros(self._now)
        patience, pages = settings["store.busy_timeout_ms"], settings["store.checkpoint_pages"]
        database = SqliteDatabase(self.file, patience, pages)
        try:
            migrations.migrate(database, self._agent, None, lambda: None, micros)
            yield Store(self.place, self._agent, database, settings)
        finally:
            database.close()
