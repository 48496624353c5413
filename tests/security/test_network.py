"""No test talks to anything but this machine, nor does a process that it starts; and the guard that
says so bites."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import attempts
from tests.security.offline import sitecustomize as offline
from tests.security.tally import probe

ROOT = Path(__file__).parents[2]
FAR = "192.0.2.1"  # set aside for documents: nobody has it


def by_udp() -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        return sender.sendto(b"x", (FAR, 53))


WAYS: dict[str, Callable[[], object]] = {
    "connect": lambda: socket.create_connection((FAR, 80), timeout=1),
    "connect to IPv6": lambda: socket.create_connection(("2001:db8::1", 80), timeout=1),
    "sendto": by_udp,
    "name": lambda: socket.getaddrinfo("example.org", 80),
    "name in bytes": lambda: socket.getaddrinfo(b"example.org", 80),
    "old name": lambda: socket.gethostbyname("example.org"),
    "asyncio": lambda: asyncio.run(asyncio.wait_for(asyncio.open_connection(FAR, 80), 5)),
    "almost local": lambda: socket.create_connection(("localhost.example.org", 80), timeout=1),
}


@pytest.mark.parametrize("way", WAYS)
def test_whoever_leaves_is_caught(way: str) -> None:
    """J: a connection, a datagram or a question for a name is refused at once, and its test would
    fail for it."""
    with pytest.raises(OSError, match="this machine alone"):
        WAYS[way]()
    assert attempts()


def test_a_swallowed_attempt_fails_its_test(tmp_path: Path) -> None:
    """J: also where nobody sees the error, as in a product that goes on without its mirror."""
    tries = tmp_path / "test_tries.py"
    tries.write_text(
        "import contextlib, socket\n\n"
        "def test_that_tries():\n"
        "    with contextlib.suppress(OSError):\n"
        "        socket.create_connection(('192.0.2.1', 80))\n\n"
        "def test_that_does_not():\n"
        "    socket.getaddrinfo('127.0.0.1', 80)\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        os.devnull,
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        str(tries),
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert "2 passed, 1 error" in done.stdout, done.stdout
    assert "ERROR" in done.stdout.partition("test_that_tries")[0]
    assert attempts() == []  # they were counted there


def test_children_are_guarded_too() -> None:
    """J: a program that a test starts cannot leave either."""
    script = "import socket; socket.create_connection(('192.0.2.1', 80))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "this machine alone" in done.stderr
    assert attempts() == ["socket.connect ('192.0.2.1', 80)"]


def test_the_machine_itself_can_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """J: the loopback, by name and by number, and sockets that are files."""
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "localhost")):
        with (
            socket.create_server((host, 0), family=family) as server,
            socket.create_connection(server.getsockname()),
        ):
            probe()
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)  # paths of sockets are short
        server.bind("here")
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("here")
    assert attempts() == []


def test_a_name_that_cannot_exist_asks_nobody() -> None:
    """J: names under .invalid are for tests of failure; they fail without a question."""
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("no-such-host.invalid", 80)
    assert attempts() == []


@pytest.mark.parametrize(
    "host",
    ["10.0.0.1", "example.org", "127.evil.example", "localhost.evil.example", b"::2", "fe80::1"],
)
def test_what_is_far(host: str | bytes) -> None:
    """J: an address or a name that merely begins like ours is not ours."""
    assert not offline.is_near(host)
