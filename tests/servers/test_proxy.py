"""Promises of the line between a client and a server: what it is told happens, and nothing else."""

from __future__ import annotations

import gc
import select
import socket
import threading
from collections.abc import Iterator

import psycopg
import pytest

from tests.servers.postgres import Postgres
from tests.servers.processes import HOST, free_port
from tests.servers.proxy import Proxy


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that says back what it hears."""
    with socket.create_server((HOST, 0)) as listening:
        threading.Thread(target=_serve, args=(listening,)).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def _serve(listening: socket.socket) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_repeat, args=(connection,)).start()


def _repeat(connection: socket.socket) -> None:
    with connection:
        try:
            while heard := connection.recv(4096):
                connection.sendall(heard)
        except OSError:
            return


@pytest.fixture
def proxy(echo: int) -> Iterator[Proxy]:
    with Proxy(echo) as opened:
        yield opened


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), timeout=30)


def exchange(line: socket.socket, said: bytes) -> bytes:
    """What comes back for something said, all of it."""
    line.sendall(said)
    heard = b""
    while len(heard) < len(said):
        piece = line.recv(len(said) - len(heard))
        if not piece:
            break
        heard += piece
    return heard


def say(proxy: Proxy) -> bytes:
    """What comes back on a new connection."""
    with connect(proxy) as line:
        return exchange(line, b"tea")


def test_everything_goes_through(proxy: Proxy) -> None:
    """A sound line changes nothing, however much there is, and passes an end on as an end."""
    with connect(proxy) as line:
        assert exchange(line, b"tea" * 50_000) == b"tea" * 50_000
        line.shutdown(socket.SHUT_WR)
        assert line.recv(1) == b""


def test_a_cut_is_a_reset(proxy: Proxy) -> None:
    """Every connection of the moment is reset; the next one works."""
    with connect(proxy) as first, connect(proxy) as second:
        assert exchange(first, b"a") + exchange(second, b"b") == b"ab"
        proxy.cut()
        for line in (first, second):
            with pytest.raises(ConnectionResetError):
                line.recv(1)
    assert say(proxy) == b"tea"


def test_a_cut_after_so_many_bytes(proxy: Proxy) -> None:
    """The line holds until then, breaks once, and is sound afterwards."""
    proxy.cut_after(10)
    with connect(proxy) as line:
        assert exchange(line, b"12345") == b"12345"
        line.sendall(b"67890")
        with pytest.raises(ConnectionResetError):
            exchange(line, b"never")
    assert [say(proxy) for _ in range(9)] == [b"tea"] * 9


def test_refused_until_healed(proxy: Proxy) -> None:
    """New connections are reset until the line is healed."""
    proxy.refuse()
    with pytest.raises(ConnectionResetError):
        say(proxy)
    proxy.heal()
    assert say(proxy) == b"tea"


@pytest.mark.parametrize(("requests", "answers"), [(True, False), (False, True), (True, True)])
def test_a_stall_loses_nothing(proxy: Proxy, requests: bool, answers: bool) -> None:
    """What is held back arrives after the line is healed, and not before."""
    with connect(proxy) as line:
        assert exchange(line, b"a") == b"a"
        proxy.stall(requests=requests, answers=answers)
        line.sendall(b"tea")
        assert select.select([line], [], [], 0)[0] == []
        proxy.heal()
        assert line.recv(3) == b"tea"


def test_a_stalled_line_can_be_cut(proxy: Proxy) -> None:
    """A cut does not wait for what is held back."""
    with connect(proxy) as line:
        assert exchange(line, b"a") == b"a"
        proxy.stall()
        line.sendall(b"tea")
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            line.recv(1)


def test_a_slow_line_is_whole(proxy: Proxy) -> None:
    """With a delay everything still arrives."""
    proxy.delay(0.01)
    with connect(proxy) as line:
        assert exchange(line, b"tea" * 1000) == b"tea" * 1000


def test_a_server_that_is_not_there() -> None:
    """A client is reset when there is nobody behind the line."""
    with Proxy(free_port()) as proxy, pytest.raises(ConnectionResetError):
        say(proxy)


@pytest.mark.parametrize("said", [b"", b"tea", b"tea" * 1_000_000])
def test_a_close_closes_everything(echo: int, said: bytes) -> None:
    """No connection is left open when the line is closed: not one that has just come, nor one whose
    client does not read."""
    for _ in range(20):
        with Proxy(echo) as proxy, connect(proxy) as line:
            if said:
                line.setblocking(False)
                line.send(said)
                line.shutdown(socket.SHUT_WR)
        assert not proxy._lines
        gc.collect()  # an open transport warns when it is collected, and a warning fails the test


def test_a_commit_without_an_answer(postgres: Postgres) -> None:
    """A COMMIT whose answer is held back and cut off: the client cannot know, and the server
    has it (B4)."""
    name = postgres.database()
    with Proxy(postgres.port) as proxy:
        connection = psycopg.connect(postgres.url(name, port=proxy.port))
        connection.execute("CREATE TABLE note AS SELECT 'tea' AS text")
        proxy.stall(requests=False)
        committing = threading.Thread(target=_lost, args=(connection,))
        committing.start()
        with psycopg.connect(postgres.url(name), autocommit=True) as direct:
            while direct.execute("SELECT to_regclass('note')").fetchone() == (None,):
                pass
        proxy.cut()
        committing.join()
        connection.close()
    assert postgres.execute("SELECT text FROM note", name) == [("tea",)]


def _lost(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.commit()
