"""When an agent last called a hook, or started the server of its tools."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lamina.home.folder import Home, agent_name, make_private_folder, refuse_link

HOOK, TOOLS = "hook", "tools"
OFTEN = timedelta(seconds=10)  # a note so recent is not renewed


def note(home: Home, agent: str, surface: str, now: datetime) -> None:
    """Note a call as the time of an empty file; a home that is not there stays so."""
    if not home.path.is_dir():
        return
    path = _path(home, agent, surface)
    before = last(home, agent, surface)
    if before is not None and timedelta(0) <= now - before < OFTEN:
        return
    refuse_link(path.parent)
    make_private_folder(path.parent)
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        os.utime(descriptor, (now.timestamp(), now.timestamp()))
    finally:
        os.close(descriptor)


def last(home: Home, agent: str, surface: str) -> datetime | None:
    """Say when the last call was; None if there was none."""
    try:
        seconds = _path(home, agent, surface).lstat().st_mtime
    except OSError:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _path(home: Home, agent: str, surface: str) -> Path:
    return home.status / f"{agent_name(agent)}_{surface}.seen"
