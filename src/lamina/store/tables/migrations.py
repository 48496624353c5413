"""Migrate a database file to the schema of this program.

Numbered steps are run in one transaction, after a backup.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from lamina.errors import Corrupt, StoreUnavailable
from lamina.home.folder import has_bytes
from lamina.model import hashing
from lamina.model.record import Actor, Role
from lamina.store.engine import file_header
from lamina.store.engine.sql import Cursor
from lamina.store.engine.sqlite import SqliteDatabase, translated
from lamina.store.tables import derived, events, meta

ACTOR = Actor(Role.SYSTEM, "migration", "store")
Step = Callable[[apsw.Connection], None]


@functools.cache
def _schema(name: str) -> str:
    from importlib import resources  # needed only for a new store

    return resources.files("lamina.store.tables").joinpath(name).read_text("utf-8")


def m001_initial(connection: apsw.Connection) -> None:
    """Create the first schema, which later steps change; schema.sql is never edited."""
    connection.execute(events.schema())
    connection.execute(_schema("schema.sql"))
    connection.execute(meta.INSERT, ("analyser", "1"))


def m002_recall(connection: apsw.Connection) -> None:
    """Add vectors, days and facets, and the blocks that a search reads instead of every record."""
    connection.execute(_schema("recall.sql"))
    derived.rebuild(connection)


def m003_lifecycle(connection: apsw.Connection) -> None:
    """Add the archive, and the jobs that fill it."""
    connection.execute(_schema("lifecycle.sql"))
    connection.execute(_schema("jobs.sql"))


def m004_review(connection: apsw.Connection) -> None:
    """Add rejected values, which stay out, and how far sleep has read.

    Values rejected before this step were only set aside.
    """
    connection.execute(_schema("review.sql"))
    connection.execute(_schema("sleep.sql"))


def m005_privacy(connection: apsw.Connection) -> None:
    """Add stubs of erased records, and grants to other agents."""
    connection.execute(_schema("privacy.sql"))


def m006_tokens(connection: apsw.Connection) -> None:
    """Add the codes of tokens, and the means of vectors."""
    connection.execute(_schema("tokens.sql"))


def m007_scopes(connection: apsw.Connection) -> None:
    """Add the index that finds a user's records and what has changed among them."""
    connection.execute("CREATE INDEX records_of_users ON records (user, event)")


def m008_sessions(connection: apsw.Connection) -> None:
    """Add the index that finds a session's records and what has changed among them."""
    connection.execute(
        "CREATE INDEX records_by_session ON records (session, user, event)"
        " WHERE session IS NOT NULL"
    )


STEPS: tuple[Step, ...] = (
    m001_initial,
    m002_recall,
    m003_lifecycle,
    m004_review,
    m005_privacy,
    m006_tokens,
    m007_scopes,
    m008_sessions,
)


def version_of(
    connection: apsw.Connection, database: SqliteDatabase, steps: Sequence[Step] = STEPS
) -> int:
    """Read the schema version of a file, 0 for a new one; refuse a foreign or a newer file.

    The caller holds a transaction: between two queries, another process might create the store.
    """
    pragmas = ("user_version", "application_id", "schema_version")
    user_version, application, schema = (_number(connection, name) for name in pragmas)
    version = checked(user_version, application, schema, database.path, steps)
    if 0 < version < len(steps):
        _check_ours(connection, database.path)
    return version


def checked(
    version: int, application: int, schema: int, path: Path, steps: Sequence[Step] = STEPS
) -> int:
    """Return the version if the numbers are those of a store that this program can open."""
    if application != file_header.STORE:
        if version or schema:
            raise _foreign(path)
        return 0
    if not 0 < version <= len(steps):
        known = f"this Lamina knows only up to {len(steps)}; upgrade Lamina to open it"
        problem = f"{path}: this store has schema {version}, but {known}"
        raise StoreUnavailable(problem, foreign=True)
    return version


def refuse_untouched(path: Path, steps: Sequence[Step]) -> None:
    """Refuse a file that is not ours before SQLite opens it and leaves files beside it."""
    if path.is_dir():
        raise StoreUnavailable(f"{path} is a folder where a file is needed")
    file_header.refuse_lost(path, lambda: has_bytes(path))
    header = file_header.read(path) if has_bytes(path) else None
    if header is not None:
        checked(header.user_version, header.application_id, header.schema, path, steps)


def migrate(
    database: SqliteDatabase,
    agent: str,
    store_id: str | None,
    back_up: Callable[[], object],
    now: int,
    steps: Sequence[Step] = STEPS,
) -> None:
    """Run the missing steps, and append an event. Processes that race run them once."""
    with translated(database.path), database.atomic() as transaction:
        connection = transaction.cursor.connection
        before = version_of(connection, database, steps)
        if before == len(steps):
            return
        if before:
            back_up()
        for step in steps[before:]:
            step(connection)
        if before:
            _append_event(transaction.cursor, agent, now, before, len(steps))
        else:
            identity = [("store_id", store_id or secrets.token_hex(16)), ("agent", agent)]
            connection.executemany(meta.INSERT, identity)
        connection.execute(f"PRAGMA application_id = {file_header.STORE}")
        connection.execute(f"PRAGMA user_version = {len(steps)}")


def _check_ours(connection: apsw.Connection, path: Path) -> None:
    """Refuse a file that only claims to be a store, before anything else is done with it."""
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table'"
    if not {"meta", "records", "events"} <= {name for (name,) in connection.execute(tables)}:
        raise _foreign(path)


def _foreign(path: Path) -> Corrupt:
    problem = f"{path}: this SQLite file is not a Lamina store; it was left as it is"
    return Corrupt(problem, foreign=True)


def _append_event(cursor: Cursor, agent: str, now: int, before: int, after: int) -> None:
    store_id = meta.get(cursor, "store_id")
    head = events.head(cursor, hashing.chain_seed(str(store_id), agent, "events"))
    details = {"from": before, "to": after}
    events.append(cursor, head, now, ACTOR, "migrate", records=head.records, details=details)


def _number(connection: apsw.Connection, pragma: str) -> int:
    value = connection.execute(f"PRAGMA {pragma}").get
    assert isinstance(value, int)
    return value
