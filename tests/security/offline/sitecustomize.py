"""No process of the tests talks to anything but this machine: what tries is refused,
and written down.

Python reads this file in every child whose `PYTHONPATH` has this folder; the tests
themselves call `guard`.
"""

from __future__ import annotations

import errno
import os
import sys

TOLD = "OFFLINE_TOLD"  # names the file of attempts
LOCAL = (
    "",
    "localhost",
    "::1",
    "::",
    "0.0.0.0",
)  # the last two stand for this machine, and are listened at
WATCHED = (
    "socket.connect",
    "socket.sendto",
    "socket.sendmsg",
    "socket.getaddrinfo",
    "socket.gethostbyname",
)
NAMES = WATCHED[3:]


def is_near(host: object) -> bool:
    """Whether a host is this machine. Addresses of Unix sockets and of the kernel are no hosts."""
    if not isinstance(host, str | bytes):
        return True
    name = os.fsdecode(host)
    return name in LOCAL or (is_number(name) and name.startswith(("127.", "::ffff:127.")))


def is_number(host: object) -> bool:
    """Whether a host is an address already, for which nobody has to be asked."""
    name = os.fsdecode(host) if isinstance(host, str | bytes) else ""
    return ":" in name or not name.strip("0123456789.")


def watch(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse whatever would leave the machine."""
    if event not in WATCHED:
        return
    if event in NAMES:
        host = arguments[0]
        if is_near(host) or is_number(host):
            return
        if os.fsdecode(host).endswith(".invalid"):  # type: ignore[arg-type] # no such name can exist, so nobody is asked
            import socket

            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    else:
        address = arguments[1]
        if not isinstance(address, tuple) or is_near(address[0]):
            return
        host = address
    _note(f"{event} {host!r}")
    raise OSError(errno.ENETUNREACH, f"tests talk to this machine alone, not to {host!r}")


def _note(attempt: str) -> None:
    told = os.environ.get(TOLD)
    if told:
        with open(told, "a", encoding="utf-8") as file:  # noqa: PTH123 - children of the tests must not load pathlib for it
            file.write(f"{attempt}\n")


def guard() -> None:
    sys.addaudithook(watch)


if __name__ == "sitecustomize":
    guard()
