"""Forks with an open handle, and says what the handle does in the child and in the parent."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable

import lamina

from .common import outcome, say

# A child that waits for a lock that nobody will ever release is ended by the system, and so is
# seen.
HANG_SECONDS = 5


def in_a_fork(verb: Callable[[], object]) -> str:
    """How a verb ends in a forked process."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(HANG_SECONDS)
        os.write(writing, outcome(verb).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said or "hung"


def every_verb(home: str) -> None:
    """Each verb of an inherited handle, then a handle that the child opened itself,
    then the parent's."""
    operator = lamina.operator("sky", home=home)
    record = operator.remember("memory of the parent", tags=["kept"], key="parent")
    operator.search("parent")
    verbs: dict[str, Callable[[], object]] = {
        "remember": lambda: operator.remember("memory of the child"),
        "remember_many": lambda: operator.remember_many([{"content": "memory of the child"}]),
        "get": lambda: operator.get(record.id),
        "list": operator.list,
        "search": lambda: operator.search("parent"),
        "history": lambda: operator.history(record.id),
        "run": lambda: operator.run("task of the child"),
        "runs": operator.runs,
        "status": operator.status,
        "audit_log": operator.audit_log,
        "audit_reads": operator.audit_reads,
        "audit_head": operator.audit_head,
        "audit_verify": operator.audit_verify,
        "backup": operator.backup,
    }
    for name, verb in verbs.items():
        say(verb=name, outcome=in_a_fork(verb))
    say(verb="close", outcome=in_a_fork(operator.close))
    say(
        verb="own handle",
        outcome=in_a_fork(
            lambda: lamina.open("sky", home=home).remember("own memory of the child")
        ),
    )
    operator.remember("second memory of the parent")
    operator.close()


def while_writing(home: str) -> None:
    """A fork while another thread of the parent is in the middle of a write."""
    operator = lamina.operator("sky", home=home)
    writing, forked = threading.Event(), threading.Event()

    def write() -> None:
        with operator._scope.store.change(operator.actor, "remember", operator._scope.clock()):
            writing.set()
            forked.wait()

    thread = threading.Thread(target=write)
    thread.start()
    writing.wait()
    said = in_a_fork(lambda: operator.remember("memory of the child"))
    forked.set()
    thread.join()
    say(verb="remember", outcome=said)
    operator.remember("memory of the parent")
    operator.close()


def main(home: str, scene: str) -> None:
    {"every_verb": every_verb, "while_writing": while_writing}[scene](home)


if __name__ == "__main__":
    main(*sys.argv[1:])
