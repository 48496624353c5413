"""Connections to a server: made when they are needed, kept for the next who needs one, never more than allowed.

Whoever asks makes the connection, within its own time: no thread of ours works behind anybody's back, and a server that is
back is noticed at the next statement.
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
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo, generators
from psycopg.abc import PQGen, PQGenConn
from psycopg.pq import TransactionStatus

from lamina.errors import InvalidInput, StoreUnavailable
from lamina.store.engine.postgres import values
from lamina.store.engine.postgres.errors import translate

Value = TypeVar("Value")
Addresses = list[tuple[str, int]]
SSL_REQUEST = struct.pack("!II", 8, 80877103)
OLDEST_SERVER = 14
# Our statements ask for few rows by their keys. Until the server has counted its rows, it would rather read all of them.
PLANS = {"jit": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"}
# What is stored is on the server's disk when we say so, also where others rather have it quick.
DURABLE = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
# A client that is cut off must not hold the lock of an agent for hours.
ALIVE = {"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}
# A server that is gone without a word is noticed on our side, too, even while we wait for nothing but its answer.
KEPT_ALIVE = {"keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3"}
READABLE, WRITABLE = 1, 2  # as psycopg has them
BRIEFLY = 0.05  # seconds; a server that is there greets within one or two milliseconds
SOON = 4  # times as long as it was waited for
CONNECTING = 10.0  # seconds


class Silent(psycopg.OperationalError):
    """The server has not answered, and nothing else at its address does either."""


class Line:
    """The way to a server. It does not wait for the dead: when nobody answers, the address is asked for a sign of life."""

    def __init__(self, parameters: Mapping[str, Any], patience: float) -> None:
        self.addresses = addresses(parameters)
        self._patience = (
            patience * 0.4
        )  # once for the answer, once for the sign of life; the rest is ours
        self.fell_silent = -patience * SOON  # when it was last found so

    def waited(self, steps: PQGen[Value] | PQGenConn[Value], link: Link | None = None) -> Value:
        """Take steps until they are done, each as soon as the server has answered. Without a link they make one."""
        step: Any
        addresses, end = (
            (self.addresses, time.monotonic() + CONNECTING)
            if link is None
            else (link.addresses, math.inf)
        )
        try:
            step = next(steps)
            while True:
                descriptor, wanted = step if link is None else (link.pgconn.socket, step)
                poll = select.poll()
                poll.register(
                    descriptor,
                    select.POLLIN * bool(wanted & READABLE)
                    | select.POLLOUT * bool(wanted & WRITABLE),
                )
                while not (found := poll.poll(self.patience() * 1000)):
                    if not self.is_alive(addresses) or time.monotonic() > end:
                        raise _given_up(link)
                ready = found[0][1]
                step = steps.send(
                    READABLE * bool(ready & ~select.POLLOUT)
                    | WRITABLE * bool(ready & select.POLLOUT)
                )
        except StopIteration as done:
            value: Value = done.value
            return value
        except psycopg.Error as error:
            with suppress(psycopg.Error, StopIteration):
                steps.throw(
                    error
                )  # what waits for an answer learns it, too, and does not ask again when it is forgotten
            raise

    def is_alive(self, addresses: Addresses) -> bool:
        """Whether somebody answers at one of them: a server that is merely busy still greets."""
        if not addresses:
            return True  # as libpq has it; once there is a connection we know, too
        patience, is_silent = self.patience() / len(addresses), False
        for host, port in addresses:
            try:
                if _greets(host, port, patience):
                    return True
            except TimeoutError:
                is_silent = True
            except (OSError, OverflowError):  # it refuses; and there are no ports beyond 65,535
                continue
        if is_silent:
            self.fell_silent = time.monotonic()
        return False

    def patience(self) -> float:
        """How long we wait for it now: whoever has just been silent is not waited for again, but looked at all the same."""
        is_silent = time.monotonic() < self.fell_silent + self._patience * SOON
        return min(BRIEFLY, self._patience) if is_silent else self._patience


class Link(psycopg.Connection[Any]):
    """A connection that waits as its line does."""

    line: Line
    addresses: Addresses
    process = 0

    def wait(self, gen: PQGen[Value], interval: float = 0.1, timeout: float | None = None) -> Value:
        if self.process != os.getpid():
            raise psycopg.InterfaceError(
                "this connection belongs to the process that we were forked from"
            )
        return self.line.waited(gen, self)


class Pool:
    """The connections of one process to one database, for one agent."""

    def __init__(self, url: str, agent: str, size: int, patience: float) -> None:
        self._parameters = parameters(url)
        self.address = shown(self._parameters)
        self._agent = agent
        self._patience = patience
        self._line = Line(self._parameters, patience)
        self._idle: list[Link] = []
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(size)
        self._size = size
        self._is_closed = False
        # Some handles are let go of without a word.
        weakref.finalize(self, _close, self._idle).atexit = False

    def take(self) -> tuple[Link, bool]:
        """A connection, and whether it was used before: the server may have been restarted since."""
        asked = time.monotonic()
        if not self._free.acquire(timeout=max(30.0, self._patience)):
            raise StoreUnavailable(
                f"{self.address}: all {self._size} connections are in use (setting store.pool_size)"
            )
        try:
            self._check_silence(asked)
            with self._lock:
                if self._idle:
                    return self._idle.pop(), True
            return self._connected(), False
        except BaseException:
            self._free.release()
            raise

    def apart(self) -> Link:
        """A connection beside the pool that only holds a lock: whoever holds one still needs all of the pool."""
        return self._connected()

    def give_back(self, link: Link) -> None:
        with self._lock:
            is_kept = (
                not (link.closed or self._is_closed)
                and link.info.transaction_status == TransactionStatus.IDLE
            )
            if is_kept:
                self._idle.append(link)
        if not is_kept:
            link.close()
        self._free.release()

    def forget(self) -> None:
        """Close what nobody uses now."""
        with self._lock:
            idle = self._idle.copy()
            self._idle.clear()
        _close(idle)

    def close(self) -> None:
        """Close what nobody uses now, and whatever else as soon as it is given back."""
        self._is_closed = True
        self.forget()

    def abandon(self, *used: Link) -> None:
        """After a fork: these belong to the process that we were forked from, and it goes on using them."""
        _INHERITED.extend([*self._idle, *used])
        self._idle.clear()

    def _connected(self) -> Link:
        """A new connection. It is asked whether anybody is there first: a closed door is told from a wrong key."""
        if not self._line.is_alive(self._line.addresses):
            raise self._unreachable()
        try:
            link = Link(
                self._line.waited(generators.connect(conninfo.make_conninfo(**self._parameters)))
            )
        except psycopg.Error as error:
            raise translate(error, self.address) from error
        try:
            link.line, link.process, link.cursor_factory = (
                self._line,
                os.getpid(),
                psycopg.RawCursor,
            )
            link.addresses = [(link.info.host, link.info.port)]
            self._line.addresses = self._line.addresses or link.addresses
            link.autocommit = True
            self._prepare(link)
        except psycopg.Error as error:
            link.close()
            raise translate(error, self.address) from error
        except BaseException:
            link.close()
            raise
        return link

    def _check_silence(self, asked: float) -> None:
        """Raise when somebody has found the server silent while we waited for our turn."""
        if self._line.fell_silent > asked:
            raise self._unreachable()

    def _unreachable(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.address}: the server cannot be reached: nobody answers there"
        )

    def _prepare(self, link: Link) -> None:
        version = link.info.server_version // 10000
        if version < OLDEST_SERVER:
            raise StoreUnavailable(
                f"{self.address}: PostgreSQL {version} is too old; {OLDEST_SERVER} or newer is needed"
            )
        encoding = link.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            do = "create it with ENCODING 'UTF8' TEMPLATE template0"
            raise StoreUnavailable(f"{self.address}: its encoding is {encoding}; {do}")
        query = "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname = 'vector'"
        found = link.execute(query).fetchone()
        path = f'lamina_own, "{found[0]}"' if found else "lamina_own, public"
        settings = {"search_path": path, "lamina.agent": self._agent, **PLANS, **ALIVE}
        link.execute(
            "SELECT "
            + ", ".join(
                f"set_config('{name}', ${place}, false)" for place, name in enumerate(settings, 1)
            ),
            [*settings.values()],
        )
        link.execute(DURABLE)
        if found:
            values.register(link)


_INHERITED: list[Link] = []
# It tells what it could not end well, when we have long done so.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


def _given_up(link: Link | None) -> Silent:
    """That nobody answers; so nobody is asked on this connection any more."""
    if link is not None:
        link.pgconn.finish()
    return Silent("no answer")


def _close(links: list[Link]) -> None:
    for link in links:
        link.close()


def parameters(url: str) -> Mapping[str, Any]:
    """The parts of an address."""
    try:
        found = conninfo.conninfo_to_dict(url)
    except (psycopg.ProgrammingError, UnicodeDecodeError):
        found = {"port": "?"}
    # A second @ is one of the password, whose rest would be taken for the name of the host, and told.
    if not re.fullmatch(r"[0-9,]*", str(found.get("port") or "")) or "@" in str(
        found.get("host") or ""
    ):
        # What libpq says about it may hold the password.
        form = "postgresql://user@host:5432/database; signs like @ / : % in a name or password are written as %40 %2F %3A %25"
        raise InvalidInput(
            f"store.url is not the address of a PostgreSQL database: {form}", place="store.url"
        )
    return {**KEPT_ALIVE, **found, "client_encoding": "UTF8"}


def addresses(given: Mapping[str, Any]) -> Addresses:
    """The hosts and ports of an address; none when it leaves them to libpq."""
    hosts = str(given.get("hostaddr") or given.get("host") or "").split(",")
    ports = str(given.get("port") or "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    return (
        [(host, int(port or 5432)) for host, port in zip(hosts, ports, strict=False)]
        if all(hosts)
        else []
    )


def shown(given: Mapping[str, Any]) -> str:
    """An address as people may see it: without a password."""
    where = f"{given.get('host') or 'local'}:{given.get('port') or 5432}"
    return f"postgresql://{where}/{given.get('dbname') or given.get('user') or ''}"


def _greets(host: str, port: int, patience: float) -> bool:
    started = time.monotonic()
    with _connected_socket(host, port, patience) as greeting:
        greeting.settimeout(max(BRIEFLY, patience - (time.monotonic() - started)))
        greeting.sendall(SSL_REQUEST)
        return bool(greeting.recv(1))


def _connected_socket(host: str, port: int, timeout: float) -> socket.socket:
    if not host.startswith("/"):
        return socket.create_connection((host, port), timeout)
    greeting = socket.socket(socket.AF_UNIX)
    greeting.settimeout(timeout)
    greeting.connect(f"{host}/.s.PGSQL.{port}")
    return greeting
