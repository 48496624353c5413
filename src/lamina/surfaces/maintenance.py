"""Start the jobs that are due in another process, without delaying the caller."""

from __future__ import annotations

import logging
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from lamina.errors import LaminaError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from subprocess import Popen

    from lamina.memory.agent import Memory
    from lamina.memory.jobs import Orchestrator

log = logging.getLogger("lamina")
LOOK = 60.0  # seconds between two looks of a server at what is due


def start_if_due(
    orchestrator: Orchestrator, home: Path, agent: str, earlier: Popen[bytes] | None = None
) -> Popen[bytes] | None:
    """Start a process that runs the jobs that are due, if none does; do not wait for it.

    A program that asks often hands in what it got the last time, so that it starts one process
    at a time.
    """
    if earlier is not None and earlier.poll() is None:
        return earlier
    if not orchestrator.is_waiting():
        return None
    import subprocess

    # -P: no module is taken from the folder at hand.
    program = [sys.executable, "-P", "-m", "lamina"]
    command = [*program, "--home", str(home), "--agent", agent, "run", "--once"]
    # The jobs are about the memories of all users, whichever user's message has started them.
    environment = {name: value for name, value in os.environ.items() if name != "LAMINA_USER"}
    nothing = subprocess.DEVNULL
    try:
        process = subprocess.Popen(  # noqa: S603 - our own program, and no shell
            command,
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            env=environment,
            cwd=home,
            start_new_session=True,
        )
    except OSError as error:  # such as too many processes: the jobs are late, the caller goes on
        log.warning("the jobs that are due could not be started: %s", error.strerror)
        return None
    # Unless its end is taken note of, it stays in the table of processes as long as we live.
    threading.Thread(target=process.wait, name="lamina-upkeep", daemon=True).start()
    return process


def keep_starting(
    scheduler: Callable[[], AbstractContextManager[Memory]],
    home: Path,
    agent: str,
    stop: threading.Event,
) -> None:
    """Start what is due, now and then, until told to stop; for a thread of a server."""
    started: Popen[bytes] | None = None
    while not stop.wait(LOOK):
        try:
            with scheduler() as memory:
                if memory.settings["maintenance"] == "auto":
                    started = start_if_due(memory.orchestrator(), home, agent, started)
        except LaminaError as error:  # such as a full disk: it may pass
            log.warning("the jobs that are due could not be started: %s", error.message)
