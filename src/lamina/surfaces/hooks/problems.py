"""Note failures of hooks for `lamina status`: a hook must not disturb the agent that calls it."""

from __future__ import annotations

import contextlib
import os
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from lamina.errors import LaminaError
from lamina.home.folder import Home, agent_name, make_private_folder, refuse_link
from lamina.model.record import iso
from lamina.text.words import one_line

MOST_BYTES = 32 * 1024  # then a new file is begun, and one old one is kept
WIDTH = 300
RECENT = timedelta(days=1)


class HookFailure(msgspec.Struct, frozen=True):
    """One failure: when, in which hook, and what it was."""

    at: str
    hook: str
    problem: str


def note(home: Home, agent: str, now: datetime, hook: str, problem: str) -> str | None:
    """Store a failure; return what prevents that, if anything.

    Lines are short, so that lines of several processes do not mix.
    """
    failure = HookFailure(iso(now), one_line(hook, 60), one_line(problem, WIDTH))
    line = msgspec.json.encode(failure) + b"\n"
    try:
        path = _path(home, agent)
        if not home.path.is_dir():
            return f"there is no home at {home.path}"
        refuse_link(path.parent)
        make_private_folder(path.parent)
        with contextlib.suppress(FileNotFoundError):
            if path.lstat().st_size > MOST_BYTES:
                path.replace(_older(path))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except LaminaError as error:
        return error.message
    except OSError as error:
        # An error while writing to an open file does not name the file.
        return f"{error.filename or home.status}: {error.strerror}"
    return None


def recent(home: Home, agent: str, now: datetime) -> list[str]:
    """Summarise an agent's hook failures of a day: their number by hook, with the last one."""
    since = iso(now - RECENT)
    by_hook: dict[str, list[HookFailure]] = {}
    for failure in _kept(home, agent):
        if failure.at >= since:
            by_hook.setdefault(failure.hook, []).append(failure)
    return [_summary(failures) for failures in by_hook.values()]


def _summary(failures: list[HookFailure]) -> str:
    last = failures[-1]
    # A call that did not name its event is noted as `hook`.
    name = "a hook" if last.hook == "hook" else f"the hook {one_line(last.hook, 60)}"
    times = "once" if len(failures) == 1 else f"{len(failures)} times"
    problem = one_line(last.problem, WIDTH)
    return f"{name} failed {times} within a day, last at {one_line(last.at[:19], 19)}: {problem}"


def _kept(home: Home, agent: str) -> list[HookFailure]:
    """Read all stored failures, oldest first; skip lines that are not ours."""
    failures = []
    path = _path(home, agent)
    for file in (_older(path), path):
        try:
            refuse_link(file)
            lines = file.read_bytes()[: 2 * MOST_BYTES].splitlines()
        except (OSError, LaminaError):
            continue  # usually there is no file; `doctor` reports one that cannot be read
        for line in lines:
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                failures.append(msgspec.json.decode(line, type=HookFailure))
    return failures


def _path(home: Home, agent: str) -> Path:
    return home.status / f"{agent_name(agent)}_hooks.jsonl"


def _older(path: Path) -> Path:
    return path.with_suffix(".1.jsonl")
