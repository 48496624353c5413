"""Migrate the memory of an agent to another database, and say which settings must change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamina.errors import InvalidInput, Refused
from lamina.home import settings
from lamina.home.folder import Home
from lamina.model.clock import system_clock
from lamina.store.core.store import FILE_NAME
from lamina.store.upkeep import migrate, opening
from lamina.text.words import shown


def move(
    home: Home, agent: str, to: str, progress: Callable[[int, int], None] | None = None
) -> dict[str, Any]:
    """Move one agent's memory to an address, or into the file of its folder."""
    if to != migrate.FILE and not to.startswith(("postgresql://", "postgres://")):
        begin = shown(to.partition(":")[0])  # the rest may contain a password
        raise InvalidInput(
            f"{begin} is neither the beginning of postgresql://user@host/database nor"
            f" `{migrate.FILE}`"
        )
    here = settings.load(home.path).placed(agent)
    there = settings.load(home.path, {"store.url": "" if to == migrate.FILE else to})
    if here["store.url"] == to and migrate.is_unmoved(home.agent_folder(agent) / FILE_NAME):
        here = settings.load(
            home.path, {"store.url": ""}
        )  # the setting was changed first; the memory is still here
    now = system_clock()
    store = opening.opened(home.prepare(agent), agent, here, now)
    try:
        return migrate.move(store, to, there, now, progress)
    finally:
        store.close()


def has_arrived(home: Home, agent: str, to: str, error: Refused) -> bool:
    """Return whether a move was refused because the memory has been moved already.

    This happens to the first of several agents after a crash.
    """
    return error.details.get("moved") == migrate.place(home.agent_folder(agent), to)


def advice(to: str) -> str:
    """Say what is left to do."""
    if to == migrate.FILE:
        return (
            "Take store.url out of config.toml and LAMINA_STORE_URL out of the environment:"
            " the file is used again."
        )
    return (
        "Set it for everybody who uses this home: LAMINA_STORE_URL in the environment, or [store]"
        " url in config.toml.\n"
        "For some of the agents alone, add a line to store.placements.\n"
        "The old file stays as a copy and refuses to be used; a password belongs in ~/.pgpass or"
        " PGPASSWORD."
    )
