"""When an agent last called a hook, or started the server of its tools."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lamina.errors import LaminaError
from lamina.home.folder import Home, agent_name, make_private_folder, refuse_link

HOOK, TOOLS = "hook", "tools"
OFTEN = timedelta(seconds=10)  # a more recent note is not renewed


def note(home: Home, agent: str, surface: str, now: datetime) -> str | None:
    """Note a call; return what prevented this, if anything. The caller continues in any case."""
    try:
        before = last(home, agent, surface)
        is_recent = before is not None and timedelta(0) <= now - before < OFTEN
        if home.path.is_dir() and not is_recent:  # a missing home is not created
            _touch(_path(home, agent, surface), now)
    except LaminaError as error:
        return error.message
    except OSError as error:
        return f"{error.filename or home.status}: {error.strerror}"
    return None


def _touch(path: Path, now: datetime) -> None:
    """Set the time of an empty file to the time of a call."""
    refuse_link(path.parent)
    make_private_folder(path.parent)
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        os.utime(descriptor, (now.timestamp(), now.timestamp()))
    finally:
        os.close(descriptor)


def last(home: Home, agent: str, surface: str) -> datetime | None:
    """Return the time of the last call; None if there was none."""
    try:
        seconds = _path(home, agent, surface).lstat().st_mtime
    except OSError:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _path(home: Home, agent: str, surface: str) -> Path:
    return home.status / f"{agent_name(agent)}_{surface}.seen"
