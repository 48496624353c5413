"""What went wrong in hooks, kept where `lamina status` looks: a hook must not trouble the agent that calls it."""

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

MOST_BYTES = 32 * 1024  # then a new file is begun, and one old one stays
WIDTH = 300
RECENT = timedelta(days=1)


class Trouble(msgspec.Struct, frozen=True):
    """One failure: when, in which hook, and what it was."""

    at: str
    hook: str
    problem: str


def note(home: Home, agent: str, now: datetime, hook: str, problem: str) -> str | None:
    """Keep a failure; what keeps us from that, if anything. Lines are short, so processes do not get into each other's."""
    line = (
        msgspec.json.encode(Trouble(iso(now), one_line(hook, 60), one_line(problem, WIDTH))) + b"\n"
    )
    try:
        path = _path(home, agent)
        if not home.path.is_dir():
            return f"there is no home at {home.path}"
        refuse_link(path.parent)
        make_private_folder(path.parent)
        with contextlib.suppress(FileNotFoundError):
            if path.lstat().st_size > MOST_BYTES:
                path.replace(_older(path))
        descriptor = os.open(
            path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600
        )
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except LaminaError as error:
        return error.message
    except OSError as error:
        return f"{error.filename or home.status}: {error.strerror}"  # who writes to an open file is not told its name
    return None


def recent(home: Home, agent: str, now: datetime) -> list[str]:
    """What went wrong in the hooks of an agent within a day, for its status: how often, and the last of each hook."""
    since = iso(now - RECENT)
    found: dict[str, list[Trouble]] = {}
    for one in _kept(home, agent):
        if one.at >= since:
            found.setdefault(one.hook, []).append(one)
    return [
        f"{_named(hook)} failed {_times(len(ones))} within a day, last at {one_line(ones[-1].at[:19], 19)}:"
        f" {one_line(ones[-1].problem, WIDTH)}"
        for hook, ones in found.items()
    ]


def _kept(home: Home, agent: str) -> list[Trouble]:
    """All that is kept, oldest first; a line that is none of ours is passed over."""
    found = []
    path = _path(home, agent)
    for place in (_older(path), path):
        try:
            refuse_link(place)
            lines = place.read_bytes()[: 2 * MOST_BYTES].splitlines()
        except (
            OSError,
            LaminaError,
        ):  # mostly there is none; one that cannot be read is what `doctor` is for
            continue
        for line in lines:
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
                found.append(msgspec.json.decode(line, type=Trouble))
    return found


def _named(hook: str) -> str:
    """A call that did not say which event it is for is noted as `hook`."""
    return "a hook" if hook == "hook" else f"the hook {one_line(hook, 60)}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _path(home: Home, agent: str) -> Path:
    return home.status / f"{agent_name(agent)}_hooks.jsonl"


def _older(path: Path) -> Path:
    return path.with_suffix(".1.jsonl")
