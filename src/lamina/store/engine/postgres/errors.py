"""Translate errors of PostgreSQL: say what they mean to the user, and what to do about them."""

from __future__ import annotations

import psycopg
from psycopg import errors

from lamina.errors import Conflict, Corrupt, InvalidInput, LaminaError, Refused, StoreUnavailable

BUSY = "another process holds the store; try again"
CANCELLED = "the server has cancelled a statement; see its statement_timeout"
FULL = "the server's disk is full; free some space, nothing was stored"
READ_ONLY = "the server only lets us read; is it a replica?"
LOCKED_OUT = "the server refuses the login; check the user and the password"
NO_RIGHT = "the role lacks a right; docs/postgres.md lists those that it needs"
NO_DATABASE = "there is no such database; create it first"
FOREIGN = "its tables are not those of a Lamina store"
DAMAGED = "the database is damaged; restore it from its backup"
BROKEN_RULE = "what was to be stored breaks a rule of the store"
TOO_LARGE = "PostgreSQL cannot hold this value"
UNREACHABLE = "the server cannot be reached"
Kinds = tuple[type[psycopg.Error], ...]

# The first match counts: the last row covers most operational errors.
MEANINGS: tuple[tuple[Kinds, type[LaminaError], str], ...] = (
    ((errors.LockNotAvailable, errors.DeadlockDetected), StoreUnavailable, BUSY),
    ((errors.QueryCanceled,), StoreUnavailable, CANCELLED),
    ((errors.DiskFull,), StoreUnavailable, FULL),
    ((errors.ReadOnlySqlTransaction,), StoreUnavailable, READ_ONLY),
    ((errors.InvalidPassword, errors.InvalidAuthorizationSpecification), Refused, LOCKED_OUT),
    ((errors.InsufficientPrivilege,), Refused, NO_RIGHT),
    ((errors.InvalidCatalogName,), InvalidInput, NO_DATABASE),
    ((errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName), Corrupt, FOREIGN),
    ((errors.DataCorrupted, errors.IndexCorrupted), Corrupt, DAMAGED),
    ((psycopg.IntegrityError,), Conflict, BROKEN_RULE),
    ((psycopg.DataError, errors.ProgramLimitExceeded), InvalidInput, TOO_LARGE),
    ((psycopg.InterfaceError, psycopg.OperationalError), StoreUnavailable, UNREACHABLE),
)
# An error while connecting has no code: only its message says what is wrong.
WORDS: tuple[tuple[str, type[LaminaError], str], ...] = (
    ("authentication failed", Refused, LOCKED_OUT),
    ("no password supplied", Refused, LOCKED_OUT),
    ("no pg_hba.conf entry", Refused, LOCKED_OUT),
    ("does not exist", InvalidInput, NO_DATABASE),
)


def translate(error: psycopg.Error, place: str) -> LaminaError:
    """Convert an error to one of ours, with at most one line of the server's message."""
    name = type(error).__name__
    first_line = (str(error).strip() or name).splitlines()[0]
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        for word, make, message in WORDS:
            if word in first_line:
                return make(f"{place}: {message}", place=place)
    for kinds, make, message in MEANINGS:
        if isinstance(error, kinds):
            return make(f"{place}: {message} ({first_line})", place=place)
    return StoreUnavailable(f"{place}: PostgreSQL reports {name} ({first_line})", place=place)
