"""List the agents of a home and inspect each store, without changing anything."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from lamina.errors import LaminaError
from lamina.home import settings as config
from lamina.home.folder import Home, size_of
from lamina.model.record import iso
from lamina.store.tables import events, records
from lamina.store.upkeep import read_only


class AgentSummary(msgspec.Struct, frozen=True):
    """One agent of a home; `problem` says why its store cannot be read."""

    name: str
    memories: int | None  # only active ones
    bytes: int  # of its folder
    changed_at: datetime | None
    problem: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            **msgspec.structs.asdict(self),
            "changed_at": iso(self.changed_at) if self.changed_at else None,
        }


def list_agents(home: Home) -> Iterator[AgentSummary]:
    """List every agent that has a folder in this home, by name."""
    settings = config.load(home.path)
    for name in home.agents():
        yield _looked_at(home, name, settings.placed(name))


def _looked_at(home: Home, name: str, settings: config.Settings) -> AgentSummary:
    folder = home.agent_folder(name)
    size = sum(map(size_of, folder.rglob("*"))) if not folder.is_symlink() else 0
    try:
        store = read_only.attached(folder, name, settings)
        if store is None:
            return AgentSummary(name, 0, size, None)
        try:
            with store.database.moment() as db:
                last = next(iter(events.latest(db, 1, events.LAST)), None)
                counts = records.counts(db, None).values()
            memories = sum(states.get("active", 0) for states in counts)
            return AgentSummary(name, memories, size, last.at if last else None)
        finally:
            store.close()
    except LaminaError as error:
        return AgentSummary(name, None, size, None, error.message)
