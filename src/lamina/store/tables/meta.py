"""Read and write `meta`: what a store says about itself."""

from __future__ import annotations

from collections.abc import Mapping

from lamina.errors import Refused
from lamina.store.engine.sql import Connection, Cursor, rows

# A memory is being moved here, has left this place, or has left copies on these servers.
ARRIVING, MOVED, LEFT = "arriving", "moved", "left"
ERASE_AGAIN = "erase_again"  # what an import, or a restore by an older version, brought back
# All names: the store's identity, the maker of the index, and the last event in the blocks.
NAMES = frozenset({"store_id", "agent", "analyser", "blocks", ERASE_AGAIN, ARRIVING, MOVED, LEFT})
INSERT = "INSERT INTO meta (name, value) VALUES (?, ?)"
PUT = f"{INSERT} ON CONFLICT (name) DO UPDATE SET value = excluded.value"


def read(source: Connection | Cursor) -> dict[str, str]:
    """Read all values."""
    return dict(rows(source, "SELECT name, value FROM meta"))


def get(source: Connection | Cursor, name: str) -> str | None:
    """Read one value."""
    value: str | None = source.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    return value


def put(target: Connection | Cursor, name: str, value: str) -> None:
    """Write one value, new or not."""
    target.execute(PUT, (name, value))


def delete(target: Connection | Cursor, name: str) -> None:
    """Remove one value."""
    target.execute("DELETE FROM meta WHERE name = ?", (name,))


def check_here(source: Connection | Cursor, address: str, agent: str) -> None:
    """Raise if the memory was moved since it was opened: what is written here would be lost."""
    query = "SELECT name, value FROM meta WHERE name IN (?, ?)"
    refuse_elsewhere(dict(rows(source, query, (ARRIVING, MOVED))), address, agent)


def refuse_elsewhere(said: Mapping[str, str], address: str, agent: str) -> None:
    """Raise if a memory is no longer here, or not yet."""
    if MOVED in said:
        moved = said[MOVED]
        do = (
            "set store.url to that database"
            if "://" in moved
            else "take store.url out of the settings of that home"
        )
        what = f"{address}: the memory of {agent} was moved to {moved}; {do}"
        raise Refused(what, place=address, moved=moved)
    if ARRIVING in said:
        what = f"a move of {agent} into this place is not finished"
        do = "run `lamina migrate` from where it was"
        raise Refused(f"{address}: {what}; {do}", place=address)
