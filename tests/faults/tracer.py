"""A process under strace, and the calls that it made."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.faults import tally
from tests.faults.harness import strace


class Tracer:
    """strace on a running process, from now on; it knows whether it broke anything."""

    def __init__(self, pid: int, log: Path, call: str, fault: str | None = None) -> None:
        filters = [
            "-e",
            f"trace={call}",
            *(() if fault is None else ("-e", f"inject={call}:{fault}")),
        ]
        command = [strace(), "-p", str(pid), "-o", str(log), *filters]
        self._log = log
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        said = self._process.stderr.readline()
        assert "attached" in said, said

    def detach(self) -> bool:
        """Let go of the process; whether a call of it was answered with an error."""
        return any("(INJECTED)" in line for line in self.calls())

    def calls(self) -> list[str]:
        """Let go of the process; the calls that it made meanwhile."""
        self._process.terminate()
        self._process.communicate()
        lines = self._log.read_text().splitlines()
        tally.count("I/O errors", sum("(INJECTED)" in line for line in lines))
        return lines
