"""What the children have in common: how they speak, and how they tell what became of a step."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import lamina


def say(**message: object) -> None:
    sys.stdout.write(
        json.dumps(message) + "\n"
    )  # all at once: who is killed in between leaves no half a line
    sys.stdout.flush()


def outcome(verb: Callable[[], object]) -> str:
    """How a step ended: done, the code of an error of ours, or whatever else escaped."""
    try:
        verb()
    except lamina.LaminaError as error:
        return error.code
    except BaseException as error:  # noqa: BLE001 - whatever escapes is exactly what the tests want to know
        return repr(error)
    return "done"


class Operating:
    """An actor that holds an operator's handle, once it has opened one."""

    _operator: lamina.Operator | None = None

    @property
    def operator(self) -> lamina.Operator:
        assert self._operator is not None
        return self._operator


def obey(actor: object) -> None:
    """One step of an actor for each line that is heard, until there is nothing more to do."""
    say(pid=os.getpid())
    while arguments := json.loads(sys.stdin.readline() or "{}"):
        step = getattr(actor, arguments.pop("step"))
        say(outcome=outcome(partial(step, **arguments)))


def nursery(make: Callable[[], object], warm: Callable[[], None]) -> None:
    """A fork for every line that is heard, each with an actor of its own: it has all its modules,
    and may be killed."""
    warm()
    say(ready=True)
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                obey(make())
            finally:  # never back into the nursery; what went wrong was said, or the parent is gone
                os._exit(0)
        _, status = os.waitpid(pid, 0)
        say(ended=os.waitstatus_to_exitcode(status))


def open_files() -> int:
    """How many files this process has open; where the system does not tell, none."""
    folder = Path("/proc/self/fd")
    return sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0
