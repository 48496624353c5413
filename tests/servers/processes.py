"""One server process: started, stopped, killed, paused, started again on its data, and
never left behind."""

from __future__ import annotations

import http.client
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from tests.servers import keeper

HOST = "127.0.0.1"
PATIENCE_SECONDS = 60.0
TICK_SECONDS = 0.02
LOWEST_PORT = 20_000


class ServerError(Exception):
    """A server did not do what it was told; says what its log ends with."""


def free_ports(count: int) -> range:
    """Ports in a row that nobody listens on, below those that the system gives to clients.

    They must still be free when a server starts again, and a client that knocks at a closed port
    among those of clients would now and then be connected to itself.
    """
    try:
        end = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("utf-8").split()[0])
    except OSError:
        end = 32_768
    while True:
        first = random.SystemRandom().randrange(LOWEST_PORT, max(end, LOWEST_PORT + 1000) - count)
        ports = range(first, first + count)
        if all(map(_is_free, ports)):
            return ports


def free_port() -> int:
    return free_ports(1)[0]


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        try:
            tried.bind((HOST, port))
        except OSError:
            return False
    return True


def answers(port: int, path: str) -> bool:
    """Whether a server answers a request over HTTP well."""
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 300
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Server:
    """A server with a folder of its own for as long as it is open. Those below say what is run and
    when it is ready."""

    name: ClassVar[str]
    polite: ClassVar[int] = signal.SIGTERM

    def __init__(self) -> None:
        reason = self.missing()
        if reason is not None:
            raise ServerError(f"{self.name} cannot be had: {reason}")
        self.folder = Path(tempfile.mkdtemp(prefix=f"lamina-{self.name}-"))
        self._log = self.folder / "log.txt"
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", keeper.__file__, str(self.folder), str(int(self.polite))],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    @classmethod
    def missing(cls) -> str | None:
        """Why this server cannot be had on this machine, or None."""
        raise NotImplementedError

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        """What is added to the environment of the process."""
        return {}

    def identity(self) -> Mapping[str, Any]:
        """As whom the process runs, in the words of Popen."""
        return {}

    def ready(self) -> bool:
        raise NotImplementedError

    @property
    def pid(self) -> int:
        """The process id of the server, which runs."""
        if self._process is None:
            raise ServerError(f"{self.name} does not run")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> Self:
        """Start on the data that is there, and come back when it answers."""
        self.launch()
        self.await_ready()
        return self

    def launch(self) -> None:
        """Start it, without waiting until it answers."""
        if self.running:
            raise ServerError(f"{self.name} runs already")
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LAMINA_", "PG"))
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**inherited, **self.environment()},
                start_new_session=True,
                **self.identity(),
            )
        self._tell_keeper(self._process.pid)

    def await_ready(self) -> None:
        """Come back when it answers."""

        def answering() -> bool:
            if not self.running:
                raise ServerError(
                    f"{self.name} ended instead of starting. Its log ends with:\n{self.log_end()}"
                )
            return self.ready()

        self._until(answering, "did not answer")

    def stop(self) -> None:
        """End it as its manual says: it finishes what it is at."""
        pid = self.pid
        self.resume()
        os.kill(pid, self.polite)
        self._gone()

    def kill(self) -> None:
        """End it and all its children at once, as kill -9 does. The data stays as it lies."""
        members = keeper.kill(self.pid)
        self._gone()
        self._until(
            lambda: all(keeper.state(member) in ("", "Z") for member in members), "outlived a kill"
        )

    def pause(self) -> None:
        """Halt it where it is: its connections stay open, and nobody answers."""
        members = keeper.halt(self.pid)
        self._until(
            lambda: all(keeper.state(member) in ("", "Z", "T") for member in members),
            "went on through a pause",
        )

    def resume(self) -> None:
        """Let it go on from where it was halted."""
        keeper.send(keeper.family(self.pid)[::-1], signal.SIGCONT)

    def restart(self) -> None:
        """Stop it, if it runs, and start it again on its data."""
        if self.running:
            self.stop()
        self.start()

    def close(self) -> None:
        """End it for good and remove its folder."""
        if self.running:
            self.stop()
        if self._keeper.poll() is None:
            self._tell_keeper(keeper.END)
        self._keeper.communicate()

    def __enter__(self) -> Self:
        try:
            return self if self.running else self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def log_end(self, lines: int = 20) -> str:
        return "\n".join(self._log.read_text("utf-8", errors="replace").splitlines()[-lines:])

    def _gone(self) -> None:
        assert self._process is not None
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            keeper.kill(self._process.pid)
            self._process.wait()
            raise ServerError(
                f"{self.name} did not stop. Its log ends with:\n{self.log_end()}"
            ) from None
        finally:
            self._tell_keeper(0)
        self._process = None

    def _tell_keeper(self, pid: int) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(b"%d\n" % pid)
        self._keeper.stdin.flush()

    def _until(self, holds: Callable[[], bool], complaint: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            if time.monotonic() > deadline:
                raise ServerError(
                    f"{self.name} {complaint} in {PATIENCE_SECONDS:.0f} s. Its log ends with:\n{self.log_end()}"
                )
            time.sleep(TICK_SECONDS)
