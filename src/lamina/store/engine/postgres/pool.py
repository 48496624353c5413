"""A pool of connections to a server: opened on demand, kept for later use, limited in number.

The thread that needs a connection opens it, within its own time limit. No thread works in the
background, and the next statement notices that a server is back.
docs/decisions/0033-our-own-pool.md has the reasons and the numbers.
"""

from __future__ import annotations

import logging
import math
import os
import re
import select
import socket
import struct
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo, generators, sql
from psycopg.abc import PQGen, PQGenConn
from psycopg.pq import TransactionStatus

from lamina.errors import InvalidInput, StoreUnavailable
from lamina.store.engine.postgres import values
from lamina.store.engine.postgres.errors import translate

Value = TypeVar("Value")
Addresses = list[tuple[str, int]]
SSL_REQUEST = struct.pack("!II", 8, 80877103)
OLDEST_SERVER = 14
# Our statements select few rows by key. A server that has no statistics yet would rather read the
# whole table. And a query with a limit must return the same rows each time: parallel workers, or a
# scan that joins another one halfway, would return them in any order.
PLANS = {
    "jit": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "max_parallel_workers_per_gather": "0",
    "synchronize_seqscans": "off",
}
# A client that is cut off must not hold the lock of an agent for hours.
ALIVE = {"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}
# We, too, must notice that a server has vanished while we wait for its answer.
KEPT_ALIVE = {"keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3"}
# A proxy assigns another server process to a connection for each transaction, and reports a process
# id of its own.
SERVER = (
    "SELECT pg_backend_pid(), n.nspname, t.oid FROM (SELECT) AS one"
    " LEFT JOIN (pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
    " LEFT JOIN pg_type t ON t.typnamespace = n.oid AND t.typname = 'halfvec')"
    " ON e.extname = 'vector'"
)
READABLE, WRITABLE = 1, 2  # psycopg's values
BRIEFLY = 0.05  # seconds; a server that is up greets within one or two milliseconds
SILENT_FOR = 4  # times the patience: for this long a silent server is only probed briefly
CONNECTING = 10.0  # seconds
WRITES, FOLLOWS = "read-write", "standby"  # which of several hosts libpq is to choose


class ServerSilent(psycopg.OperationalError):
    """The server has not answered, and neither did a probe of its addresses."""


class ServerWatch:
    """Wait for a server's answers, but not if it is dead.

    If an answer takes long, the address is probed for a sign of life.
    """

    def __init__(self, parameters: Mapping[str, Any], patience: float) -> None:
        self.addresses = addresses(parameters)
        # Once for the answer and once for the probe; the rest is left for our own work.
        self._patience = patience * 0.4
        self.fell_silent = -patience * SILENT_FOR  # the last time that a probe went unanswered

    def wait(
        self,
        steps: PQGen[Value] | PQGenConn[Value],
        connection: WatchedConnection | None = None,
    ) -> Value:
        """Run the steps of psycopg, each when the server has answered.

        Without a connection, the steps open one and have limited time for it.
        """
        if connection is None:
            addresses, end = self.addresses, time.monotonic() + CONNECTING
        else:
            addresses, end = connection.addresses, math.inf
        step: Any
        try:
            step = next(steps)
            while True:
                if connection is not None:
                    step = connection.pgconn.socket, step
                descriptor, wanted = step
                poll = select.poll()
                poll.register(descriptor, _poll_mask(wanted))
                while not (ready := poll.poll(self.patience() * 1000)):
                    if not self.is_alive(addresses) or time.monotonic() > end:
                        raise _give_up(connection)
                step = steps.send(_readiness(ready[0][1]))
        except StopIteration as done:
            value: Value = done.value
            return value
        except psycopg.Error as error:
            # Tell the generator as well: if it were abandoned halfway, it would query the server
            # again.
            with suppress(psycopg.Error, StopIteration):
                steps.throw(error)
            raise

    def is_alive(self, addresses: Addresses) -> bool:
        """Probe the addresses for a sign of life: a server that is merely busy still greets."""
        # Without addresses, libpq chooses one; it is known only after connecting.
        return not addresses or next(self.alive(addresses), None) is not None

    def alive(self, addresses: Addresses) -> Iterator[tuple[str, int]]:
        """Probe the addresses one by one; yield those where a server greets."""
        patience, is_silent, is_alive = self.patience() / max(1, len(addresses)), False, False
        for address in addresses:
            try:
                if _greets(*address, patience):
                    is_alive = True
                    yield address
            except TimeoutError:
                is_silent = True
            except (OSError, OverflowError):  # connection refused; or a port beyond 65,535
                continue
        if is_silent and not is_alive:
            self.fell_silent = time.monotonic()

    def patience(self) -> float:
        """Choose how long to wait now: only briefly for a server that was silent a moment ago."""
        was_silent = time.monotonic() < self.fell_silent + self._patience * SILENT_FOR
        return min(BRIEFLY, self._patience) if was_silent else self._patience


class WatchedConnection(psycopg.Connection[Any]):
    """A connection that uses its watch to wait for the server."""

    watch: ServerWatch
    addresses: Addresses
    process = 0
    preamble = ""  # the settings of each transaction

    def wait(self, gen: PQGen[Value], interval: float = 0.1, timeout: float | None = None) -> Value:
        if self.process != os.getpid():
            raise psycopg.InterfaceError(
                "this connection belongs to the process that we were forked from"
            )
        return self.watch.wait(gen, self)


class Pool:
    """The connections of one process to one database, for one agent."""

    def __init__(
        self, url: str, agent: str, size: int, patience: float, which: str | None = None
    ) -> None:
        self._parameters = parameters(url)
        if which is not None:
            self._parameters = {**self._parameters, "target_session_attrs": which}
        self.address = shown(self._parameters)
        self.has_several = len(addresses(self._parameters)) > 1
        self._agent = agent
        self._patience = patience
        self._watch = ServerWatch(self._parameters, patience)
        self._idle: list[WatchedConnection] = []
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(size)
        self._size = size
        self._is_closed = False
        self.made = 0  # connections; each may be to another server than the one before
        # For handles that are dropped without being closed.
        weakref.finalize(self, _close, self._idle).atexit = False

    def take(self) -> tuple[WatchedConnection, bool]:
        """Take a connection, and tell if it was used before: it may be stale by now."""
        started = time.monotonic()
        if not self._free.acquire(timeout=max(30.0, self._patience)):
            raise StoreUnavailable(
                f"{self.address}: all {self._size} connections are in use (setting store.pool_size)"
            )
        try:
            self._check_silence(started)
            with self._lock:
                if self._idle:
                    return self._idle.pop(), True
            return self.connect(), False
        except BaseException:
            self._free.release()
            raise

    def give_back(self, connection: WatchedConnection) -> None:
        with self._lock:
            is_sound = not connection.closed and not self._is_closed
            is_kept = is_sound and connection.info.transaction_status == TransactionStatus.IDLE
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()
        self._free.release()

    def close_idle(self) -> None:
        """Close the connections that are not in use."""
        with self._lock:
            idle = self._idle.copy()
            self._idle.clear()
        _close(idle)

    def close(self) -> None:
        """Close idle connections now, and the others when they are returned."""
        self._is_closed = True
        self.close_idle()

    def abandon(self, *used: WatchedConnection) -> None:
        """Leave all connections alone after a fork: the parent process still uses them."""
        _INHERITED.extend([*self._idle, *used])
        self._idle.clear()

    def connect(self) -> WatchedConnection:
        """Open a connection outside the pool.

        The address is probed first, to tell an absent server from a wrong password.
        """
        parameters = self._reachable()
        try:
            steps = generators.connect(conninfo.make_conninfo(**parameters))
            connection = WatchedConnection(self._watch.wait(steps))
        except psycopg.Error as error:
            raise translate(error, self.address) from error
        try:
            connection.watch = self._watch
            connection.process = os.getpid()
            connection.cursor_factory = psycopg.RawCursor
            connection.addresses = [(connection.info.host, connection.info.port)]
            self._watch.addresses = self._watch.addresses or connection.addresses
            self.made += 1
            connection.autocommit = True
            self._prepare(connection)
        except psycopg.Error as error:
            connection.close()
            raise translate(error, self.address) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _reachable(self) -> Mapping[str, Any]:
        """Leave out hosts that do not answer: libpq would wait for them without a limit."""
        watch, parts = self._watch, self._parameters
        if len(watch.addresses) < 2 or "hostaddr" in parts:
            if not watch.is_alive(watch.addresses):
                raise self._unreachable()
            return parts
        alive = list(watch.alive(watch.addresses))
        if not alive:
            raise self._unreachable()
        hosts, ports = (",".join(map(str, column)) for column in zip(*alive, strict=True))
        return {**parts, "host": hosts, "port": ports}

    def _check_silence(self, since: float) -> None:
        """Raise if another thread found the server silent while we waited for our turn."""
        if self._watch.fell_silent > since:
            raise self._unreachable()

    def _unreachable(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.address}: the server cannot be reached: nobody answers there"
        )

    def _prepare(self, connection: WatchedConnection) -> None:
        """Refuse a server that we cannot use, and set what our statements rely on.

        Behind a proxy that pools transactions, a session belongs to nobody: each transaction sets
        the agent for itself, and sees nothing without it.
        """
        version = connection.info.server_version // 10000
        if version < OLDEST_SERVER:
            needed = f"{OLDEST_SERVER} or newer is needed"
            raise StoreUnavailable(f"{self.address}: PostgreSQL {version} is too old; {needed}")
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            remedy = "create it with ENCODING 'UTF8' TEMPLATE template0"
            raise StoreUnavailable(f"{self.address}: its encoding is {encoding}; {remedy}")
        process, schema, halfvec = connection.execute(SERVER).fetchone() or (0, None, None)
        path = f'lamina_own, "{schema}"' if schema else "lamina_own, public"
        agent = sql.Literal(self._agent).as_string(connection)
        settings = {"search_path": path, "lamina.agent": agent, **PLANS}
        connection.preamble = "; ".join(f"SET LOCAL {name} = {to}" for name, to in settings.items())
        if process == connection.info.backend_pid:
            connection.execute("; ".join(f"SET {name} = {to}" for name, to in ALIVE.items()))
        else:
            connection.prepare_threshold = None  # the proxy's next process lacks them
        if schema:
            values.register(connection, halfvec)


_INHERITED: list[WatchedConnection] = []
# psycopg logs connections that it could not close cleanly, which we have handled ourselves.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


def _poll_mask(wanted: int) -> int:
    """Convert what psycopg waits for into events of `poll`."""
    mask = select.POLLIN if wanted & READABLE else 0
    return mask | (select.POLLOUT if wanted & WRITABLE else 0)


def _readiness(events: int) -> int:
    """Convert events of `poll` into what psycopg expects; an error counts as readable."""
    ready = READABLE if events & ~select.POLLOUT else 0
    return ready | (WRITABLE if events & select.POLLOUT else 0)


def _give_up(connection: WatchedConnection | None) -> ServerSilent:
    """Close the connection to a silent server without waiting, and return the error."""
    if connection is not None:
        connection.pgconn.finish()
    return ServerSilent("no answer")


def _close(connections: list[WatchedConnection]) -> None:
    for connection in connections:
        connection.close()


def parameters(url: str) -> Mapping[str, Any]:
    """Parse an address; refuse one that cannot be parsed safely."""
    try:
        parts = conninfo.conninfo_to_dict(url)
    except (psycopg.ProgrammingError, UnicodeDecodeError):
        parts = {"port": "?"}
    has_ports = re.fullmatch(r"[0-9,]*", str(parts.get("port") or ""))
    # A second @ is part of the password, the rest of which would be shown as the host.
    if not has_ports or "@" in str(parts.get("host") or ""):
        # The message of libpq may contain the password, so it is not shown.
        form = (
            "postgresql://user@host:5432/database; signs like @ / : % in a name or password"
            " are written as %40 %2F %3A %25"
        )
        problem = f"store.url is not the address of a PostgreSQL database: {form}"
        raise InvalidInput(problem, place="store.url")
    # If there are several hosts, one is the primary and the others follow it.
    several = {"target_session_attrs": WRITES} if "," in str(parts.get("host") or "") else {}
    return {**KEPT_ALIVE, **several, **parts, "client_encoding": "UTF8"}


def addresses(parts: Mapping[str, Any]) -> Addresses:
    """List the hosts and ports of an address; empty if it leaves them to libpq."""
    hosts = str(parts.get("hostaddr") or parts.get("host") or "").split(",")
    if not all(hosts):
        return []
    ports = str(parts.get("port") or "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    return [(host, int(port or 5432)) for host, port in zip(hosts, ports, strict=False)]


def shown(parts: Mapping[str, Any]) -> str:
    """Format an address for people, without the password."""
    server = f"{parts.get('host') or 'local'}:{parts.get('port') or 5432}"
    return f"postgresql://{server}/{parts.get('dbname') or parts.get('user') or ''}"


def _greets(host: str, port: int, patience: float) -> bool:
    """Ask for TLS, which a server answers before anything else, whatever it is busy with."""
    started = time.monotonic()
    with _connected_socket(host, port, patience) as probe:
        probe.settimeout(max(BRIEFLY, patience - (time.monotonic() - started)))
        probe.sendall(SSL_REQUEST)
        return bool(probe.recv(1))


def _connected_socket(host: str, port: int, timeout: float) -> socket.socket:
    if not host.startswith("/"):
        return socket.create_connection((host, port), timeout)
    probe = socket.socket(socket.AF_UNIX)
    probe.settimeout(timeout)
    probe.connect(f"{host}/.s.PGSQL.{port}")
    return probe
