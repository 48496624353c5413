"""How the memory of an agent moves to another database, and how the settings have to follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamina import config
from lamina.clock import system_clock
from lamina.errors import InvalidInput, Refused
from lamina.home import Home
from lamina.store import moving, opening
from lamina.store.store import FILE_NAME
from lamina.text import shown


def move(home: Home, agent: str, to: str, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Move one agent's memory to an address, or into the file of its folder."""
    if to != moving.FILE and not to.startswith(("postgresql://", "postgres://")):
        begin = shown(to.partition(":")[0])  # the rest may hold a password
        raise InvalidInput(f"{begin} is neither the beginning of postgresql://user@host/database nor `{moving.FILE}`")
    here = config.load(home.path)
    there = config.load(home.path, {"store.url": "" if to == moving.FILE else to})
    if here["store.url"] == to and moving.is_unmoved(home.agent_folder(agent) / FILE_NAME):
        here = config.load(home.path, {"store.url": ""})  # the setting came first; the memory is still here
    now = system_clock()
    store = opening.opened(home.prepare(agent), agent, here, now)
    try:
        return moving.move(store, to, there, now, progress)
    finally:
        store.close()


def has_arrived(home: Home, agent: str, to: str, error: Refused) -> bool:
    """Whether a move was refused because the memory is there already, as that of the first of many is after a crash."""
    return error.details.get("moved") == moving.place(home.agent_folder(agent), to)


def advice(to: str) -> str:
    """What is left to do."""
    if to == moving.FILE:
        return "Take store.url out of config.toml and LAMINA_STORE_URL out of the environment: the file is used again."
    return (
        "Set it for everybody who uses this home: LAMINA_STORE_URL in the environment, or [store] url in config.toml.\n"
        "The old file stays as a copy and refuses to be used; a password belongs in ~/.pgpass or PGPASSWORD."
    )
