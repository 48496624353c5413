"""The table `facets`: values of metadata to filter by, and the slots of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lamina.model import hashing, slots
from lamina.model.rules import MAX_FACET
from lamina.store.engine.sql import Connection

INSERT = "INSERT INTO facets (name, value, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
# The names under which a record that belongs to a project, and one that sums it up, has it.
PROJECT = ("project", "project.project_name")
EVERY = "SELECT seq, user, metadata FROM records WHERE metadata <> '{}'"


def of(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield names and values: dotted names for an inner mapping, a pair for each item of a list."""
    for name, value in metadata.items():
        yield from _below(name, value)


def projects(metadata: Mapping[str, Any]) -> set[str]:
    """List the projects that a record with this metadata belongs to, or sums up."""
    return {value for name, value in of(metadata) if name in PROJECT}


def all_of(user: str | None, metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield all that the table holds about a record."""
    yield from of(metadata)
    yield from slots.facets(user, metadata)


def differ(connection: Connection) -> bool:
    """Tell whether the table holds anything but what the records say."""
    actual = set(map(tuple, connection.execute("SELECT name, value, record FROM facets")))
    expected = {
        (*facet, seq)
        for seq, user, metadata in connection.execute(EVERY)
        for facet in all_of(user, hashing.decode(metadata))
    }
    return actual != expected


def _below(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for inner, item in value.items():
            yield from _below(f"{name}.{inner}", item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _below(name, item)
    elif len(name) <= MAX_FACET and (text := hashing.facet(value)) is not None:
        yield name, text
