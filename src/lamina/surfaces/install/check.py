"""Check that agents are still connected, and report when they last called."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from lamina.errors import LaminaError
from lamina.home import calls
from lamina.home.folder import Home
from lamina.memory.doctor import Finding
from lamina.surfaces.install import edits, files
from lamina.surfaces.install.agents import AGENTS
from lamina.surfaces.install.records import Record, Records
from lamina.text.words import counted

UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60))


def connections(home: Home, agent: str, now: datetime) -> Iterator[Finding]:
    """Report on connected agents, hooks and tools, a line each."""
    try:
        records = [one for one in Records(home).all() if one.agent in AGENTS]
    except LaminaError as error:
        yield Finding("fail", "agents", error.message)
        return
    if not records:
        yield Finding("ok", "agents", "none is connected; see `lamina install --list`")
    for record in records:
        yield _in_place(record)
    yield from _called(home, agent, records, now)


def _in_place(record: Record) -> Finding:
    where = f"{record.agent} in {record.project}" if record.project else record.agent
    try:
        missing = [
            file.path
            for file in record.files
            if not edits.has(files.look(Path(file.path)).text, file.edits)
        ]
    except LaminaError as error:
        return Finding("warn", "agents", f"{where}: {error.message}")
    if missing:
        again = f"lamina install {record.agent}{' --project' if record.project else ''}"
        problem = f"{where}: our entries are missing in {', '.join(missing)}; run `{again}`"
        return Finding("warn", "agents", problem)
    return Finding("ok", "agents", f"{where} is connected")


def _called(home: Home, agent: str, records: list[Record], now: datetime) -> Iterator[Finding]:
    with_hooks = any(AGENTS[record.agent].user.hooks for record in records)
    for surface, name, done in (
        (calls.HOOK, "hooks", "last call"),
        (calls.TOOLS, "tools", "last start"),
    ):
        seen = calls.last(home, agent, surface)
        if seen is not None:
            yield Finding("ok", name, f"{done} {_ago(now - seen)}")
        elif records and (with_hooks or surface == calls.TOOLS):
            problem = f"not called yet for the agent {agent}; begin a new session"
            yield Finding("warn", name, problem)


def _ago(span: timedelta) -> str:
    seconds = max(0, int(span.total_seconds()))
    for unit, length in UNITS:
        if seconds >= length:
            return f"{counted(seconds // length, unit)} ago"
    return "just now"
