"""Tests pass however they are started: in the background of a script, by a service, or in a strange
terminal."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import surroundings

HOSTILE = {
    "TZ": "Asia/Tokyo",
    "LC_ALL": "C",
    "LANG": "xx_XX",
    "COLUMNS": "40",
    "LINES": "5",
    "TERM": "vt52",
    "FORCE_COLOR": "1",
    "LAMINA_HOME": "/nonexistent",
    "LAMINA_AGENT": "evil",
    "LAMINA_ROLE": "agent",
    "LAMINA_USER": "eve",
    "LAMINA_STORE_URL": "postgresql://nowhere.invalid/x",
    "MILTON_MEMORY_ENABLED": "0",
    "HOME": "/nonexistent",
    "HTTP_PROXY": "http://nowhere.invalid:1",
    "https_proxy": "http://nowhere.invalid:1",
    "XDG_DATA_HOME": "/nonexistent",
    "PYTHONWARNINGS": "error",
    "PYTHONHASHSEED": "7",
    "PYTHONUNBUFFERED": "1",
    "NO_COLOR": "1",
    "PGHOST": "nowhere.invalid",
}
# A test as a stranger's machine runs it: it looks at what a child inherits, and lets the program
# speak.
TINY = """
import os, signal, subprocess, sys
from tests.conftest import Desk

def test_a_child(desk: Desk) -> None:
    code = "import os, signal, sys, time; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler,"
    code += " signal.pthread_sigmask(signal.SIG_BLOCK, ()), oct(os.umask(0)), time.tzname[0], sorted(os.environ))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.startswith("True set() 0o22 UTC "), said
    assert not any(name in said for name in ("_proxy", "_PROXY", "MILTON", "COLUMNS", "COLOR", "XDG", "PGHOST")), said
    assert desk.operator().remember("tea").agent == "sky"

def test_the_program(desk: Desk) -> None:
    command = [sys.executable, "-m", "lamina", "--home", str(desk.home), "remember", "green tea"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, "\\x1b" in done.stdout) == (0, "", False)
    code = "import signal; signal.raise_signal(signal.SIGINT)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == -signal.SIGINT
"""


def worst() -> None:
    """Be started as badly as possible."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    os.close(0)


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_tests_pass_however_they_are_started(tmp_path: Path, umask: int) -> None:
    """Q6: signals ignored and blocked, strange variables, no standard input, few files, another
    folder: tests do not notice."""
    (tmp_path / "test_tiny.py").write_text(TINY, "utf-8")
    settings = [
        "-c",
        str(surroundings.ROOT / "pyproject.toml"),
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
    ]
    command = [sys.executable, "-m", "pytest", "-q", *settings, "test_tiny.py"]
    environment = {**os.environ, **HOSTILE, "PYTHONPATH": str(surroundings.ROOT)}
    done = started(command, environment, tmp_path, umask, worst)
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout + done.stderr


def started(
    command: list[str],
    environment: dict[str, str],
    folder: Path,
    umask: int,
    before: Callable[[], None],
) -> subprocess.CompletedProcess[str]:
    """Run a command in the worst surroundings."""
    return subprocess.run(
        command,
        env=environment,
        cwd=folder,
        umask=umask,
        preexec_fn=before,
        capture_output=True,
        text=True,
        check=False,
    )
