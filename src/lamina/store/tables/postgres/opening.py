"""Open an agent's rows in a PostgreSQL database; create the tables and the identity if needed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from importlib import resources

from psycopg import errors

from lamina.errors import Corrupt, InvalidInput, LaminaError, NotFound, StoreUnavailable
from lamina.home.settings import Settings
from lamina.store.engine.postgres.database import TURN, PostgresDatabase, Session
from lamina.store.tables import meta
from lamina.store.tables.migrations import STEPS
from lamina.text import words

MARK = "Lamina: memories of agents"
VERSION = len(STEPS)
# `schema.sql` creates the tables of the first version; these change them, one after another.
FIRST, LATER = 5, ("tokens.sql", "scopes.sql", "sessions.sql")


def connected(
    settings: Settings,
    agent: str,
    store_id: str | None = None,
    before_new: Callable[[], None] = lambda: None,
    *,
    make: bool = True,
    made: Sequence[tuple[str, str]] = (),
) -> PostgresDatabase:
    """Open the agent's rows; create tables and identity if missing, unless `before_new` objects.

    `made` has further rows of `meta` for a new identity.
    """
    url = settings["store.url"]
    if not url.startswith(("postgresql://", "postgres://")):
        scheme = words.shown(url.partition(":")[0])  # the rest may contain a password
        like = "it is empty, or like postgresql://user@host/database"
        raise InvalidInput(f"store.url begins with {scheme}; {like}", place=scheme)
    size, patience = settings["store.pool_size"], settings["store.timeout_ms"] / 1000
    busy, stale = settings["store.busy_timeout_ms"], settings["store.stale_ms"] / 1000
    database = PostgresDatabase(url, agent, size, patience, busy, stale)
    try:
        _prepare(database, make=make)
        if make:
            _identify(database, agent, store_id, before_new, made)
    except BaseException:
        database.close()
        raise
    return database


def looked_at(settings: Settings, agent: str) -> PostgresDatabase | None:
    """Open the agent's rows without creating anything; None if it has no memory here."""
    database = connected(settings, agent, make=False)
    if exists(database):
        return database
    database.close()
    return None


def exists(database: PostgresDatabase) -> bool:
    """Tell whether the agent has a memory here."""
    return meta.get(database.reader(), "store_id") is not None


def _prepare(database: PostgresDatabase, *, make: bool) -> None:
    """Create the tables if the database has none; processes take turns."""
    session, version = database.begin_with(lambda session: _version(session, database.address))
    database.release(session)
    if version == VERSION:
        return
    if not make:
        what = "tables of Lamina yet" if version == 0 else f"tables of schema {VERSION} yet"
        raise NotFound(f"{database.address}: it has no {what}; a handle that writes makes them")
    if version == 0:
        _make_tables(database)
    else:
        _change_tables(database)
    database.close_idle()  # these connections do not know the vector type yet


def _make_tables(database: PostgresDatabase) -> None:
    """Create everything in one transaction; a second process waits, and then finds it."""
    session, _ = database.begin_with(lambda session: session.begin(TURN))
    try:
        session.script("CREATE SCHEMA lamina")
        _need_vectors(session, database.address)
        for name in ("schema.sql", *LATER):
            session.script(_script(name))
        session.script("COMMIT")
    except LaminaError as error:
        if not isinstance(error.__cause__, (errors.DuplicateSchema, errors.UniqueViolation)):
            raise
        session.script("ROLLBACK")
        if _version(session, database.address) != VERSION:
            raise
    finally:
        database.release(session)


def _change_tables(database: PostgresDatabase) -> None:
    """Bring the tables of an earlier version up to date, in one transaction; processes take turns.

    After that, earlier versions of Lamina refuse to open them.
    """
    begin = "BEGIN ISOLATION LEVEL READ COMMITTED; LOCK TABLE lamina.version"
    session, _ = database.begin_with(lambda session: session.script(begin))
    try:
        for name in LATER[max(0, _version(session, database.address) - FIRST) :]:
            session.script(_script(name))
        session.script("COMMIT")
    except BaseException:
        session.script("ROLLBACK")
        raise
    finally:
        database.release(session)


def _script(name: str) -> str:
    return resources.files("lamina.store.tables.postgres").joinpath(name).read_text("utf-8")


def _need_vectors(session: Session, place: str) -> None:
    """Install pgvector unless the database has it."""
    if session.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").get is not None:
        return
    try:
        session.script("CREATE EXTENSION vector")
    except LaminaError as error:
        message = "it needs pgvector; let a superuser run CREATE EXTENSION vector in this database"
        raise StoreUnavailable(f"{place}: {message} ({error.message})") from error


def _version(session: Session, place: str) -> int:
    """Read the version of the schema, 0 if there is none; refuse a foreign or a newer schema."""
    comment = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace"
    schemas = session.execute(f"{comment} WHERE nspname = 'lamina'").fetchall()
    if not schemas:
        return 0
    if schemas[0][0] != MARK:
        raise Corrupt(
            f"{place}: its schema `lamina` is not ours; it was left as it is. Use another database"
        )
    version = int(session.execute("SELECT schema FROM lamina.version").get or 0)
    if not 0 < version <= VERSION:
        known = f"this Lamina knows only up to {VERSION}; upgrade Lamina"
        raise StoreUnavailable(f"{place}: its tables have schema {version}, but {known}")
    return version


def _identify(
    database: PostgresDatabase,
    agent: str,
    store_id: str | None,
    before_new: Callable[[], None],
    made: Sequence[tuple[str, str]],
) -> None:
    """Give a new agent its identity; processes that race do it once."""
    if exists(database):
        return
    before_new()
    own = [("store_id", store_id or secrets.token_hex(16)), ("agent", agent)]
    own += [("analyser", str(words.ANALYSER_VERSION)), ("blocks", "0"), *made]
    with database.atomic() as transaction:
        if meta.get(transaction.cursor, "store_id") is None:
            insert = f"{meta.INSERT} ON CONFLICT (name) DO NOTHING"
            transaction.cursor.executemany(insert, own)
