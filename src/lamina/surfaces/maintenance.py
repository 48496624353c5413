"""How the jobs are started when nobody runs them: by another process, without delaying whoever noticed."""

from __future__ import annotations

import logging
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen

    from lamina.memory.jobs import Orchestrator

log = logging.getLogger("lamina")


def start_if_due(
    orchestrator: Orchestrator, home: Path, agent: str, earlier: Popen[bytes] | None = None
) -> Popen[bytes] | None:
    """Have another process run what is due, when nobody does; the caller does not wait for it.

    A program that asks often hands in what it got the last time, so that it starts one process at a time.
    """
    if earlier is not None and earlier.poll() is None:
        return earlier
    if not orchestrator.is_waiting():
        return None
    import subprocess

    program = [
        sys.executable,
        "-P",
        "-m",
        "lamina.surfaces.cli.main",
    ]  # -P: no module is taken from the folder at hand
    command = [*program, "--home", str(home), "--agent", agent, "run", "--once"]
    # The jobs are about all memories of the agent, whoever's message has started them.
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
    except (
        OSError
    ) as error:  # such as too many processes: what is due is late, and the caller goes on
        log.warning("the jobs that are due could not be started: %s", error.strerror)
        return None
    # Somebody has to take note of its end, or it would stay in the table of processes for as long as we live.
    threading.Thread(target=process.wait, name="lamina-upkeep", daemon=True).start()
    return process
