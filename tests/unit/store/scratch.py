"""Databases for nothing but a test."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from lamina.home.folder import make_private_file
from lamina.store.engine.sqlite import SqliteDatabase


def scratch(path: Path) -> SqliteDatabase:
    """A database with nothing but the tables of jobs, made when it is new. No power fails here, so
    it may be quick."""
    new = not path.exists()
    make_private_file(path)
    database = SqliteDatabase(path, 30_000, 1000)
    database.writer().execute("PRAGMA synchronous = OFF")
    if new:
        with database.atomic() as transaction:
            transaction.cursor.execute(
                resources.files("lamina.store.tables").joinpath("jobs.sql").read_text("utf-8")
            )
    return database
