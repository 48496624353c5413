"""Who may run jobs, and what became of them: a lease that one process holds, and the last run of every job."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lamina.home.schedule import WOBBLE, Last, may_begin
from lamina.model.clock import from_micros, to_micros
from lamina.store.engine.sql import Connection, Cursor, rows

if TYPE_CHECKING:
    from lamina.store.engine.sql import Database


class Lease(NamedTuple):
    """Who may run jobs, and until when."""

    holder: str
    until: datetime

    def is_free(self, now: datetime, seconds: float) -> bool:
        """Whether another may take it: it ran out, its holder is dead, or the clock was set back since it was taken."""
        ahead = self.until - now
        return (
            ahead <= timedelta(0)
            or ahead > timedelta(seconds=seconds) + WOBBLE
            or is_dead(self.holder)
        )


def own_name() -> str:
    """A name for somebody who takes a lease: the machine, the process, and a word that no one else has."""
    return f"{_machine()}/{os.getpid()}/{secrets.token_hex(4)}"


def is_dead(holder: str) -> bool:
    """Whether the process of that name is known to have ended. Of other machines nothing is known."""
    machine, _, rest = holder.partition("/")
    number = rest.partition("/")[0]
    if (
        os.name == "nt" or machine != _machine() or not number.isdecimal()
    ):  # on Windows to ask would be to kill
        return False
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass
    return False


def _machine() -> str:
    """This machine; two containers that share its name do not share their numbers of processes."""
    try:
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        space = ""
    name = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    return f"{name}-{space}".replace("/", "-")


def take_lease(database: Database, holder: str, now: datetime, seconds: float) -> bool:
    """Become the one who may run jobs, or stay it for longer. False when another is."""
    with database.atomic() as transaction:
        current = lease(transaction.cursor)
        if current is not None and current.holder != holder and not current.is_free(now, seconds):
            return False
        _hold(transaction.cursor, holder, now, seconds)
        return True


def renew(database: Database, holder: str, now: datetime, seconds: float) -> bool:
    """Hold the lease for longer. False when another has it meanwhile."""
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
    """Let go of the lease, unless another has it already."""
    with database.atomic() as transaction:
        transaction.cursor.execute("DELETE FROM lease WHERE holder = ?", (holder,))


def lease(source: Connection | Cursor) -> Lease | None:
    """The lease as it is, run out or not."""
    found = rows(source, "SELECT holder, until FROM lease")
    return Lease(found[0][0], from_micros(found[0][1])) if found else None


def begin(
    database: Database, job: str, tick: datetime, holder: str, now: datetime, seconds: float
) -> bool:
    """Begin a job, and hold the lease for longer. True for one caller in a tick, and only for who has the lease.

    A run that was begun and never finished by somebody who no longer has the lease has died: it is begun again, and
    counted among the failures.
    """
    with database.atomic() as transaction:
        current = lease(transaction.cursor)
        last = states(transaction.cursor).get(job)
        if (
            current is None
            or current.holder != holder
            or current.until <= now
            or not may_begin(last, tick, now)
        ):
            return False
        failures = last.failures if last is not None else 0
        if last is not None and last.finished_at is None:
            if (last.holder, last.tick) == (holder, tick):
                return False  # it is at work
            failures += 1
        _hold(transaction.cursor, holder, now, seconds)
        insert = (
            "INSERT INTO jobs (name, tick, started_at, finished_at, holder, outcome, failures)"
            " VALUES (?, ?, ?, NULL, ?, NULL, ?) ON CONFLICT (name) DO UPDATE SET tick = excluded.tick,"
            " started_at = excluded.started_at, finished_at = NULL, holder = excluded.holder, outcome = NULL,"
            " failures = excluded.failures"
        )
        transaction.cursor.execute(insert, (job, to_micros(tick), to_micros(now), holder, failures))
        return True


def finish(
    database: Database, job: str, holder: str, now: datetime, outcome: Mapping[str, Any]
) -> bool:
    """Say how a job ended. False when it is no longer ours: another took it for dead and began it again."""
    body = msgspec.json.encode(outcome, enc_hook=str).decode()
    with database.atomic() as transaction:
        connection = transaction.cursor.connection
        transaction.cursor.execute(
            "UPDATE jobs SET finished_at = ?, outcome = ?, failures = CASE WHEN ? = 1 THEN 0 ELSE failures + 1 END"
            " WHERE name = ? AND holder = ? AND finished_at IS NULL",
            (to_micros(now), body, int(bool(outcome.get("ok"))), job, holder),
        )
        return bool(connection.changes())


def states(source: Connection | Cursor) -> dict[str, Last]:
    """The last run of every job, by its name."""
    query = "SELECT name, tick, started_at, finished_at, holder, outcome, failures FROM jobs"
    return {name: _last(*row) for name, *row in rows(source, query)}


def _last(
    tick: int, started: int, finished: int | None, holder: str, outcome: str | None, failures: int
) -> Last:
    ended = None if finished is None else from_micros(finished)
    said = None if outcome is None else msgspec.json.decode(outcome)
    return Last(from_micros(tick), from_micros(started), ended, holder, said, failures)
