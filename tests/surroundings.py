"""What tests inherit from whoever starts them, made the same for everybody.

Signals, variables, the time zone, the umask, the working directory and the standard streams of a
process are those of the shell, script or service that started it, and its children inherit them
again. `settle` sets them once for the process of the tests. So neither a test nor a helper that
starts a child has to think of them.
"""

from __future__ import annotations

import locale
import os
import resource
import signal
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What stays of the caller's variables: where programs and libraries lie, and how the tests
# themselves are to be run.
KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "VIRTUAL_ENV")
RUNNERS = ("PYTEST_", "COV_", "COVERAGE_")
STEERING = (
    *(
        "LAMINA_FAULTS",
        "LAMINA_FAULTS_SEED",
        "LAMINA_FAULT_TALLY",
        "LAMINA_GOLDEN",
        "LAMINA_SECURITY_REPORT",
    ),
    *("LAMINA_SERVERS", "LAMINA_REQUIRE_SERVERS", "LAMINA_MODELS", "OFFLINE_TOLD"),
)
# No test is disturbed by jobs that it did not start itself.
GIVEN = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "LAMINA_MAINTENANCE": "off"}
FEWEST_FILES = 1024
ENDING = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGCHLD,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


def settle() -> None:
    """Make this process what every test expects. Its children inherit all of it."""
    _open_streams()
    _hear_signals()
    _clear_variables()
    os.umask(0o022)
    fewest, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if fewest < FEWEST_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(FEWEST_FILES, most), most))


def _open_streams() -> None:
    """Let nothing else get the numbers of standard streams that are closed."""
    while True:
        number = os.open(os.devnull, os.O_RDWR)
        if number > 2:
            os.close(number)
            return
        os.set_inheritable(number, True)


def _hear_signals() -> None:
    """Let children hear every signal. A signal that is ignored or blocked stays so in a child; one
    with a handler does not.

    What this process was told to ignore, such as Ctrl-C while it runs in the background, it still
    does not die of.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL if number == signal.SIGCHLD else _drop)


def _drop(number: int, frame: object) -> None:
    """Hear a signal, and do nothing."""


def _clear_variables() -> None:
    caches = {"LAMINA_SERVERS": _cache("servers"), "LAMINA_MODELS": _cache("models")}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in (*KEPT, *STEERING) or name.startswith(RUNNERS)
    }
    os.environ.clear()
    for name in (
        "COLUMNS",
        "LINES",
    ):  # which readline sets for children, without a trace in os.environ
        os.unsetenv(name)
    os.environ.update({**caches, **kept, **GIVEN})
    with suppress(locale.Error):  # some systems do not have it
        locale.setlocale(locale.LC_CTYPE, GIVEN["LC_ALL"])
    time.tzset()


def _cache(what: str) -> str:
    """Where servers or models for tests lie, as long as we know whose cache it is."""
    shared = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(shared) / f"lamina-{what}")
