"""Start the due jobs in another process, without delaying the caller."""

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
LOOK = 60.0  # seconds between two checks of a server for due jobs


def start_if_due(
    orchestrator: Orchestrator, home: Path, agent: str, earlier: Popen[bytes] | None = None
) -> Popen[bytes] | None:
    """Start a process that runs the due jobs, unless one is running; do not wait for it.

    A program that calls this often passes the last returned process, so that it starts only one
    process at a time.
    """
    if earlier is not None and earlier.poll() is None:
        return earlier
    if not orchestrator.is_waiting():
        return None
    import subprocess

    # -P: no module is imported from the current folder.
    program = [sys.executable, "-P", "-m", "lamina"]
    command = [*program, "--home", str(home), "--agent", agent, "run", "--once"]
    # The jobs concern the memories of all users, whichever user's message has started them.
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
    # Without waiting for it, it would remain in the process table as long as we live.
    threading.Thread(target=process.wait, name="lamina-upkeep", daemon=True).start()
    return process


def keep_starting(
    scheduler: Callable[[], AbstractContextManager[Memory]],
    home: Path,
    agent: str,
    stop: threading.Event,
) -> None:
    """Start due jobs now and then until told to stop; for a thread of a server."""
    started: Popen[bytes] | None = None
    while not stop.wait(LOOK):
        try:
            with scheduler() as memory:
                if memory.settings["maintenance"] == "auto":
                    started = start_if_due(memory.orchestrator(), home, agent, started)
        except LaminaError as error:  # such as a full disk: it may be temporary
            log.warning("the jobs that are due could not be started: %s", error.message)
