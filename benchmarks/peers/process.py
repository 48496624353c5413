"""A peer's process as its parent sees it: one request at a time, and always ended."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.peers.venvs import Peer, home, python
from benchmarks.peers.work import DIMENSIONS

ROOT = Path(__file__).parents[2]
LONG = 600.0
QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "LANCE_LOG": "error",
    "RUST_LOG": "error",
    "PYTHONWARNINGS": "ignore",
}


class PeerError(Exception):
    """A failure of a peer, in its own words."""


class Process:
    """One worker and its child processes, all of which are gone when the block ends."""

    def __init__(
        self, peer: Peer, embedder: str, scratch: Path, *, prefix: Sequence[str] = ()
    ) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        command = [
            *prefix,
            python(peer),
            "-m",
            "benchmarks.peers.worker",
            peer.module,
            peer.door,
            embedder,
            str(DIMENSIONS),
        ]
        self._log = scratch / "worker.log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env=environment(peer, scratch),
                cwd=scratch,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def ask(self, verb: str, *, within: float = LONG, **arguments: Any) -> dict[str, Any]:
        """Send a request and wait for the answer; `PeerError` if there is none or an error."""
        self.tell(verb, **arguments)
        return self.hear(within)

    def tell(self, verb: str, **arguments: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"verb": verb, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise PeerError(f"its process is gone: {self.last_words()}") from error

    def hear(self, within: float = LONG) -> dict[str, Any]:
        """Return the next line that the worker prints."""
        try:
            line = self._lines.get(timeout=within)
        except queue.Empty:
            self.end()
            raise PeerError(f"no answer in {within:.0f} s") from None
        if line is None:
            raise PeerError(f"its process ended with {self._process.wait()}: {self.last_words()}")
        told: dict[str, Any] = json.loads(line)
        if "error" in told:
            raise PeerError(told["error"])
        return told

    def kill(self) -> list[dict[str, Any]]:
        """Kill the worker and its children with SIGKILL; return what it had still printed."""
        self._signal()
        self._process.wait()
        rest: list[dict[str, Any]] = []
        while (line := self._lines.get(timeout=LONG)) is not None:
            if line.endswith(b"\n"):  # an incomplete line was never an acknowledgement
                rest.append(json.loads(line))
        return rest

    def end(self) -> None:
        """Let the worker exit, or end it."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with suppress(BrokenPipeError):  # it has already exited, which is what we want
                self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._signal()
        self._process.wait()

    def last_words(self) -> str:
        said = self._log.read_text("utf-8", "replace").strip().splitlines()
        return said[-1][:160] if said else "it said nothing"

    def _signal(self) -> None:
        with suppress(ProcessLookupError):  # none of them is left
            os.killpg(self._process.pid, signal.SIGKILL)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)


def environment(peer: Peer, scratch: Path) -> Mapping[str, str]:
    """Return an environment without telemetry or this user's settings, with a temporary home."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LAMINA", "MEM0", "BASIC_MEMORY"))
    }
    own = {
        "HOME": str(scratch),
        "MEM0_DIR": str(scratch / "mem0"),
        "LAMINA_PEER": str(home(peer)),
        "PYTHONPATH": str(ROOT),
    }
    return {**kept, **QUIET, **own}
