"""The table `facets`: values of metadata to filter by, and the slots of records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamina.model import hashing, slots
from lamina.model.rules import MAX_FACET
from lamina.store.engine.sql import Connection

INSERT = "INSERT INTO facets (name, value, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
# The names for the project that a record belongs to, and for the one that it summarises.
PROJECT = ("project", "project.project_name")
EVERY = "SELECT seq, user, metadata FROM records WHERE metadata <> '{}'"


def of(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List names and values: dotted names for nested mappings, a pair for each item of a list."""
    listed: list[tuple[str, str]] = []
    for name, value in metadata.items():
        _add(listed, name, value)
    return listed


def projects(metadata: Mapping[str, Any]) -> set[str]:
    """List the projects that a record with this metadata belongs to or summarises."""
    return {value for name, value in of(metadata) if name in PROJECT}


def all_of(user: str | None, metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List everything that the table holds about a record."""
    listed = of(metadata)
    return listed if slots.NAMES.isdisjoint(metadata) else [*listed, *slots.facets(user, metadata)]


def differ(connection: Connection) -> bool:
    """Tell whether the table differs from what the records say."""
    actual = set(map(tuple, connection.execute("SELECT name, value, record FROM facets")))
    expected = {
        (*facet, seq)
        for seq, user, metadata in connection.execute(EVERY)
        for facet in all_of(user, hashing.decode(metadata))
    }
    return actual != expected


def _add(listed: list[tuple[str, str]], name: str, value: Any) -> None:
    if isinstance(value, (str, int, float)):  # first, because checking for Mapping is slow
        if len(name) <= MAX_FACET and (text := hashing.facet(value)) is not None:
            listed.append((name, text))
    elif isinstance(value, (dict, Mapping)):
        for inner, item in value.items():
            _add(listed, f"{name}.{inner}", item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _add(listed, name, item)
