"""Two PostgreSQL servers, of which one writes and the other follows it commit by commit."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from tests.servers.outage import until
from tests.servers.postgres import SUPERUSER, Postgres
from tests.servers.processes import HOST, ServerError

QUICK = {"wal_receiver_timeout": "1s", "wal_retrieve_retry_interval": "100ms"}


class Standby(Postgres):
    """A server that begins as a copy of another, and follows it until it is promoted."""

    def __init__(self, leader: Postgres) -> None:
        super().__init__(QUICK)
        self.leader = leader
        self.password, self._superuser_password = leader.password, leader._superuser_password

    def await_ready(self) -> None:
        self._until(self.ready, "did not answer")

    def promote(self) -> None:
        """Let it write, and come back when it does."""
        self.execute("SELECT pg_promote(true)")

    def _create(self) -> None:
        address = f"host={HOST} port={self.leader.port} user={SUPERUSER}"
        program = [
            str(self._programs / "pg_basebackup"),
            *("-D", str(self._data), "-R", "-X", "stream", "-c", "fast"),
            *("-d", f"{address} password={self._superuser_password}"),
        ]
        made = subprocess.run(
            program, capture_output=True, text=True, cwd=self.folder, **self.identity()
        )
        if made.returncode != 0:
            raise ServerError(f"pg_basebackup ended with {made.returncode}: {made.stderr}")


class Pair:
    """A server and a standby that has every commit before it is acknowledged."""

    def __init__(self, *, synchronous: bool = True) -> None:
        self._stack = ExitStack()
        self._synchronous = synchronous
        self.leader: Postgres
        self.standby: Standby

    def __enter__(self) -> Self:
        with self._stack:
            self.leader = self._stack.enter_context(Postgres(QUICK))
            self.database = self.leader.database()
            self._join()
            self._ports = (self.leader.port, self.standby.port)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        """The address of both."""
        hosts = ",".join(f"{HOST}:{port}" for port in self._ports)
        return f"postgresql://lamina:{self.leader.password}@{hosts}/{self.database}"

    def fail_over(self) -> None:
        """End the server that writes as kill -9 does, and let the other one write."""
        self.leader.kill()
        self.standby.promote()
        self.leader, self.standby = self.standby, self.leader

    def rejoin(self) -> None:
        """Begin the server that was killed anew, as a standby of the one that writes now."""
        gone = self.standby
        self._join(gone.port)
        gone.close()

    def await_replay(self) -> None:
        """Come back when the standby has everything."""
        ((position,),) = self.leader.execute("SELECT pg_current_wal_flush_lsn()::text")
        caught_up = f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
        until(lambda: self.standby.execute(caught_up) == [(True,)])

    def _join(self, port: int | None = None) -> None:
        standby = Standby(self.leader)
        standby.port = port or standby.port
        self.standby = self._stack.enter_context(standby)
        if self._synchronous:
            self.leader.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self.leader.execute("SELECT pg_reload_conf()")
            streaming = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
            until(lambda: self.leader.execute(streaming))
