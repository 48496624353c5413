"""Find the records of tools and integrations: those that an operator vouches for."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence

from lamina.engines.review import FROM_FILES
from lamina.errors import Conflict, InvalidInput, NotFound
from lamina.formats.world import HELD, INTEGRATION, TOOL, Given, integration, tool
from lamina.formats.world_edits import Key
from lamina.model.record import Layer, Record, State, Trust
from lamina.store.core.store import Store
from lamina.store.tables.records import Filter

EVERY = sys.maxsize


def current_records(store: Store, user: str | None) -> dict[Key, list[Record]]:
    """Map the entries of the world model to their active records, newest first.

    An entry is unscoped and was set or confirmed by an operator; others are ordinary memories.
    """
    current: dict[Key, list[Record]] = {}
    for record in store.listed(Filter(user, (Layer.WORLD,), (State.ACTIVE,)), EVERY):
        key = entry_key(record.metadata) if record.user is None else None
        if key is not None and (record.trust is Trust.OPERATOR or _is_confirmed(store, record)):
            current.setdefault(key, []).append(record)
    return current


def _is_confirmed(store: Store, record: Record) -> bool:
    """Return whether an operator confirmed an edit of the files.

    An import may hide its definition behind a different text.
    """
    actions = [event.action for event in store.history(record.id)]
    return actions[0] == FROM_FILES and "confirm" in actions


def held(current: Mapping[Key, Sequence[Record]]) -> dict[Key, Given]:
    """Return what the files should contain according to the current records."""
    return {key: records[0].metadata[HELD[key[0]]] for key, records in current.items()}


def check_known(current: Collection[Key], kind: str, name: str) -> None:
    if (kind, name) not in current:
        known = ", ".join(own for own_kind, own in sorted(current) if own_kind == kind)
        raise NotFound(f"there is no {kind} {name!r}" + (f"; known are {known}" if known else ""))


def check_case(current: Collection[Key], kind: str, name: str) -> None:
    for other_kind, other in current:
        if other_kind == kind and other != name and other.casefold() == name.casefold():
            raise Conflict(
                f"there is {kind} {other!r}, which differs from {name!r} in case alone; use one"
                " spelling"
            )


def entry_key(metadata: Given) -> Key | None:
    """Find the entry in some metadata; None if it is not as we would have written it."""
    kind, name = metadata.get("world"), metadata.get("name")
    if kind not in (TOOL, INTEGRATION) or HELD[kind] not in metadata:
        return None
    try:
        item = (
            tool(metadata[HELD[kind]]) if kind == TOOL else integration(name, metadata[HELD[kind]])
        )
    except InvalidInput:
        return None
    own: str = item["metadata"]["name"]
    return (kind, own) if own == name else None
