"""Check that a database is as this program creates it: tables, triggers, views and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apsw

from lamina.store.engine.sql import Connection
from lamina.store.tables import migrations
from lamina.store.tables.events import schema
from lamina.store.tables.postgres import constraints

Difference = tuple[str, str]


def problems(connection: Connection, most: int) -> Iterator[Difference]:
    """Yield what is wrong with a store's database, as place and problem, up to `most`."""
    if isinstance(connection, apsw.Connection):
        yield from _schema_differs(connection, _store_schema)
        yield from _pages_differ(connection, most)
    else:
        yield from constraints.problems(connection)


def chain_problems(connection: Connection, most: int) -> Iterator[Difference]:
    """Yield what is wrong with a file that holds only a chain."""
    yield from _schema_differs(connection, _chain_schema)
    yield from _pages_differ(connection, most)


def _pages_differ(connection: Connection, most: int) -> Iterator[Difference]:
    """Yield what SQLite finds wrong with its own pages and indexes."""
    messages = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({most})")]
    if messages != ["ok"]:
        yield from (("database", message) for message in messages)


def _store_schema(model: apsw.Connection) -> None:
    for step in migrations.STEPS:
        step(model)


def _chain_schema(model: apsw.Connection) -> None:
    model.execute(schema())


def _schema_differs(
    connection: Connection, build: Callable[[apsw.Connection], None]
) -> Iterator[Difference]:
    """Yield tables, triggers and views that were altered: a missing trigger allows anything."""
    model = apsw.Connection(":memory:")
    try:
        build(model)
        expected, actual = _schema(model), _schema(connection)
    finally:
        model.close()
    for name in sorted(expected.keys() | actual.keys()):
        if expected.get(name) != actual.get(name):
            yield f"schema of {name}", "it is not as made"


def _schema(connection: Connection) -> dict[str, str]:
    query = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'"
    return {str(name): str(sql) for name, sql in connection.execute(query)}
