"""The tables `lease` and `jobs`: which process may run jobs, and the last run of every job."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lamina.home.schedule import WOBBLE, LastRun, may_begin
from lamina.model.clock import from_micros, to_micros
from lamina.store.engine.sql import Connection, Cursor, rows

if TYPE_CHECKING:
    from lamina.store.engine.sql import Database


class Lease(NamedTuple):
    """The right to run jobs: its holder, and when it expires."""

    holder: str
    until: datetime

    def is_free(self, now: datetime, seconds: float) -> bool:
        """Tell whether another process may take it.

        It expired, its holder is dead, or the clock was set back since it was taken.
        """
        ahead = self.until - now
        was_set_back = ahead > timedelta(seconds=seconds) + WOBBLE
        return ahead <= timedelta(0) or was_set_back or is_dead(self.holder)


def own_name() -> str:
    """Make up a unique name for a holder: the machine, the process, and a random word."""
    return f"{_machine()}/{os.getpid()}/{secrets.token_hex(4)}"


def is_dead(holder: str) -> bool:
    """Tell whether a holder's process is known to have ended; false for other machines."""
    machine, _, rest = holder.partition("/")
    number = rest.partition("/")[0]
    if os.name == "nt":  # where `os.kill` would kill it
        return False
    if machine != _machine() or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass
    return False


def _machine() -> str:
    """Name this machine; containers may share its name, but have process numbers of their own."""
    try:
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        space = ""
    name = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    return f"{name}-{space}".replace("/", "-")


def take_lease(database: Database, holder: str, now: datetime, seconds: float) -> bool:
    """Take or renew the lease. False if another holder has it."""
    with database.atomic() as transaction:
        current = lease(transaction.cursor)
        if current is not None and current.holder != holder and not current.is_free(now, seconds):
            return False
        _hold(transaction.cursor, holder, now, seconds)
        return True


def renew(database: Database, holder: str, now: datetime, seconds: float) -> bool:
    """Renew the lease. False if another holder has taken it in the meantime."""
    with database.atomic() as transaction:
        current = lease(transaction.cursor)
        if current is None or current.holder != holder:
            return False
        _hold(transaction.cursor, holder, now, seconds)
        return True


def _hold(cursor: Cursor, holder: str, now: datetime, seconds: float) -> None:
    until = to_micros(now + timedelta(seconds=seconds))
    cursor.execute(
        "INSERT INTO lease (one, holder, until) VALUES (1, ?, ?)"
        " ON CONFLICT (one) DO UPDATE SET holder = excluded.holder, until = excluded.until",
        (holder, until),
    )


def release(database: Database, holder: str) -> None:
    """Give up the lease, unless another holder has it already."""
    with database.atomic() as transaction:
        transaction.cursor.execute("DELETE FROM lease WHERE holder = ?", (holder,))


def lease(source: Connection | Cursor) -> Lease | None:
    """Read the lease, even one that has run out."""
    for holder, until in rows(source, "SELECT holder, until FROM lease"):
        return Lease(holder, from_micros(until))
    return None


def begin(
    database: Database, job: str, tick: datetime, holder: str, now: datetime, seconds: float
) -> bool:
    """Begin a job and renew the lease. True for one caller in a tick, which must hold the lease.

    A run that a former holder began but never finished has died: it is begun again, and counted as
    a failure.
    """
    with database.atomic() as transaction:
        current = lease(transaction.cursor)
        last = states(transaction.cursor).get(job)
        if current is None or current.holder != holder or current.until <= now:
            return False
        if not may_begin(last, tick, now):
            return False
        failures = last.failures if last is not None else 0
        if last is not None and last.finished_at is None:
            if (last.holder, last.tick) == (holder, tick):
                return False  # it is still running
            failures += 1
        _hold(transaction.cursor, holder, now, seconds)
        insert = (
            "INSERT INTO jobs (name, tick, started_at, finished_at, holder, outcome, failures)"
            " VALUES (?, ?, ?, NULL, ?, NULL, ?) ON CONFLICT (name) DO UPDATE"
            " SET tick = excluded.tick, started_at = excluded.started_at, finished_at = NULL,"
            " holder = excluded.holder, outcome = NULL, failures = excluded.failures"
        )
        transaction.cursor.execute(insert, (job, to_micros(tick), to_micros(now), holder, failures))
        return True


def finish(
    database: Database, job: str, holder: str, now: datetime, outcome: Mapping[str, Any]
) -> bool:
    """Store how a job ended. False if another holder assumed it dead and began it again."""
    body = msgspec.json.encode(outcome, enc_hook=str).decode()
    with database.atomic() as transaction:
        connection = transaction.cursor.connection
        transaction.cursor.execute(
            "UPDATE jobs SET finished_at = ?, outcome = ?,"
            " failures = CASE WHEN ? = 1 THEN 0 ELSE failures + 1 END"
            " WHERE name = ? AND holder = ? AND finished_at IS NULL",
            (to_micros(now), body, int(bool(outcome.get("ok"))), job, holder),
        )
        return bool(connection.changes())


def states(source: Connection | Cursor) -> dict[str, LastRun]:
    """Read the last run of every job, by name."""
    query = "SELECT name, tick, started_at, finished_at, holder, outcome, failures FROM jobs"
    return {name: _last(*row) for name, *row in rows(source, query)}


def _last(
    tick: int, started: int, finished: int | None, holder: str, outcome: str | None, failures: int
) -> LastRun:
    ended = None if finished is None else from_micros(finished)
    decoded = None if outcome is None else msgspec.json.decode(outcome)
    return LastRun(from_micros(tick), from_micros(started), ended, holder, decoded, failures)
