"""A pool of connections to a server: opened on demand, kept for the next use, never too many.

The thread that needs a connection opens it, within its own time: no thread works in the background,
and a server that is back is noticed at the next statement. docs/decisions/0033-our-own-pool.md has
the reasons and the numbers.
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
# Our statements ask for few rows by their keys. A server that has not counted its rows yet would
# rather read all of them. And the first so many of a table must be the same ones each time: several
# workers, or a scan that joins another one halfway, would bring them in any order.
PLANS = {
    "jit": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "max_parallel_workers_per_gather": "0",
    "synchronize_seqscans": "off",
}
# A client that is cut off must not hold the lock of an agent for hours.
ALIVE = {"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}
# A server that vanishes without a word is noticed on our side, too, while we wait for its answer.
KEPT_ALIVE = {"keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3"}
# A proxy gives a connection another process of the server for each transaction, and a process
# number of its own making.
SERVER = (
    "SELECT pg_backend_pid(), n.nspname, t.oid FROM (SELECT) AS one"
    " LEFT JOIN (pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
    " LEFT JOIN pg_type t ON t.typnamespace = n.oid AND t.typname = 'halfvec')"
    " ON e.extname = 'vector'"
)
READABLE, WRITABLE = 1, 2  # as psycopg has them
BRIEFLY = 0.05  # seconds; a server that is there greets within one or two milliseconds
SILENT_FOR = 4  # times the patience: for so long a silent server is only probed briefly
CONNECTING = 10.0  # seconds
WRITES, FOLLOWS = "read-write", "standby"  # which of several hosts libpq is to choose


class ServerSilent(psycopg.OperationalError):
    """The server has not answered, and nothing else at its address does either."""


class ServerWatch:
    """Wait for the answers of a server, but not of a dead one.

    When an answer takes long, the address is probed for a sign of life.
    """

    def __init__(self, parameters: Mapping[str, Any], patience: float) -> None:
        self.addresses = addresses(parameters)
        # Once for the answer and once for the probe; the rest is for our own work.
        self._patience = patience * 0.4
        self.fell_silent = -patience * SILENT_FOR  # the last time that a probe went unanswered

    def wait(
        self,
        steps: PQGen[Value] | PQGenConn[Value],
        connection: WatchedConnection | None = None,
    ) -> Value:
        """Run the steps of psycopg, each when the server has answered.

        Without a connection, the steps open one, and have limited time for it.
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
            # The generator learns of it, too: forgotten halfway, it would ask the server again.
            with suppress(psycopg.Error, StopIteration):
                steps.throw(error)
            raise

    def is_alive(self, addresses: Addresses) -> bool:
        """Probe the addresses for a sign of life: a server that is merely busy still greets."""
        # Without one, libpq chooses the address; it is known once there is a connection.
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
            except (OSError, OverflowError):  # it refuses; and there are no ports beyond 65,535
                continue
        if is_silent and not is_alive:
            self.fell_silent = time.monotonic()

    def patience(self) -> float:
        """Choose how long to wait now: only briefly for a server that was silent just before."""
        was_silent = time.monotonic() < self.fell_silent + self._patience * SILENT_FOR
        return min(BRIEFLY, self._patience) if was_silent else self._patience


class WatchedConnection(psycopg.Connection[Any]):
    """A connection that waits for the server as its watch does."""

    watch: ServerWatch
    addresses: Addresses
    process = 0
    preamble = ""  # what each transaction sets for itself

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
        self.made = 0  # connections; each may lead to another server than the one before
        # For handles that are dropped without being closed.
        weakref.finalize(self, _close, self._idle).atexit = False

    def take(self) -> tuple[WatchedConnection, bool]:
        """Take a connection, and tell if it was used before: the server may be a new one since."""
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
        """Close idle connections now, and each of the others when it is given back."""
        self._is_closed = True
        self.close_idle()

    def abandon(self, *used: WatchedConnection) -> None:
        """Leave all connections alone after a fork: our parent process goes on using them."""
        _INHERITED.extend([*self._idle, *used])
        self._idle.clear()

    def connect(self) -> WatchedConnection:
        """Open a connection beside the pool.

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
        """Leave the hosts out that do not answer: nobody else would end the wait for them."""
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
        """Raise when another thread has found the server silent while we waited for our turn."""
        if self._watch.fell_silent > since:
            raise self._unreachable()

    def _unreachable(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.address}: the server cannot be reached: nobody answers there"
        )

    def _prepare(self, connection: WatchedConnection) -> None:
        """Refuse a server that we cannot use, and note what our statements rely on.

        Behind a proxy that pools transactions, a session belongs to nobody: each transaction sets
        the agent for itself, and without it sees nothing.
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
            connection.prepare_threshold = None  # a proxy's next process does not know them
        if schema:
            values.register(connection, halfvec)


_INHERITED: list[WatchedConnection] = []
# psycopg logs what it could not end well, when we have long done so ourselves.
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
    """Make the error for a silent server, and never wait on its connection again."""
    if connection is not None:
        connection.pgconn.finish()
    return ServerSilent("no answer")


def _close(connections: list[WatchedConnection]) -> None:
    for connection in connections:
        connection.close()


def parameters(url: str) -> Mapping[str, Any]:
    """Read the parts of an address; refuse one that cannot be read safely."""
    try:
        parts = conninfo.conninfo_to_dict(url)
    except (psycopg.ProgrammingError, UnicodeDecodeError):
        parts = {"port": "?"}
    has_ports = re.fullmatch(r"[0-9,]*", str(parts.get("port") or ""))
    # A second @ belongs to the password, whose rest would be taken for the host, and shown.
    if not has_ports or "@" in str(parts.get("host") or ""):
        # The words of libpq about it may hold the password, so they are not shown.
        form = (
            "postgresql://user@host:5432/database; signs like @ / : % in a name or password"
            " are written as %40 %2F %3A %25"
        )
        problem = f"store.url is not the address of a PostgreSQL database: {form}"
        raise InvalidInput(problem, place="store.url")
    # Of several hosts one writes, and the others follow it.
    several = {"target_session_attrs": WRITES} if "," in str(parts.get("host") or "") else {}
    return {**KEPT_ALIVE, **several, **parts, "client_encoding": "UTF8"}


def addresses(parts: Mapping[str, Any]) -> Addresses:
    """List the hosts and ports of an address; empty when it leaves them to libpq."""
    hosts = str(parts.get("hostaddr") or parts.get("host") or "").split(",")
    if not all(hosts):
        return []
    ports = str(parts.get("port") or "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    return [(host, int(port or 5432)) for host, port in zip(hosts, ports, strict=False)]


def shown(parts: Mapping[str, Any]) -> str:
    """Write an address as people may see it, without a password."""
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
