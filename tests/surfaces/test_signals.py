"""Signals that were ignored when the program was started stay ignored, whatever it serves; all
others end it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lamina.surfaces import signals
from lamina.surfaces.cli import run
from lamina.surfaces.http import server
from lamina.surfaces.http.guard import Limits
from lamina.surfaces.mcp import stdio

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of this kind do not exist there")


@pytest.fixture(autouse=True)
def _as_usual() -> Iterator[None]:
    """Begin as a program in a terminal does, and leave everything as it was."""
    usual: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, former in before.items():
        signal.signal(number, former)


@pytest.fixture(params=signals.ENDING)
def ignored(request: pytest.FixtureRequest) -> signal.Signals:
    """A signal that whoever started the program ignores, as a shell does with SIGINT for a job in
    the background."""
    number: signal.Signals = request.param
    signal.signal(number, signal.SIG_IGN)
    return number


@contextmanager
def in_loop() -> Iterator[None]:
    """What the server of tools does with signals while it serves."""
    with asyncio.Runner() as runner:
        held = _held()
        runner.run(anext(held))
        yield
        runner.run(held.aclose())


async def _held() -> Any:
    with stdio._ended_by_signals(lambda: None):
        yield


def serving() -> AbstractContextManager[None]:
    return server.server(lambda *_: None, Limits()).capture_signals()  # type: ignore[arg-type]


HANDLING: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "lamina run": run.until_signal,
    "lamina serve": serving,
    "lamina mcp": in_loop,
}


@pytest.mark.parametrize("handling", HANDLING.values(), ids=HANDLING)
def test_what_was_ignored_stays_ignored(
    ignored: signal.Signals, handling: Callable[[], AbstractContextManager[Any]]
) -> None:
    """L6, H2, H3: Ctrl-C for another program does not end a job in the background; the other signal
    still does."""
    (other,) = set(signals.ENDING) - {ignored}
    before = signal.getsignal(other)
    with handling():
        assert signal.getsignal(ignored) is signal.SIG_IGN
        assert signal.getsignal(other) is not before
    assert (signal.getsignal(ignored), signal.getsignal(other)) == (signal.SIG_IGN, before)


@pytest.mark.parametrize("handling", HANDLING.values(), ids=HANDLING)
def test_otherwise_both_are_heard(handling: Callable[[], AbstractContextManager[Any]]) -> None:
    """L6, H2, H3: started as usual, both signals are handled, and afterwards nothing is left of
    that."""
    before = [signal.getsignal(number) for number in signals.ENDING]
    with handling():
        assert all(signal.getsignal(number) not in before for number in signals.ENDING)
    assert [signal.getsignal(number) for number in signals.ENDING] == before


def test_a_command_in_the_background_is_not_interrupted(tmp_path: Path) -> None:
    """H1: a command whose SIGINT is ignored goes on when it comes, as any other program does."""
    program = "import signal, lamina.__main__ as m; signal.raise_signal(signal.SIGINT); m.main()"
    command = [sys.executable, "-c", program, "--home", str(tmp_path), "remember", "tea"]
    script = 'trap "" INT; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
