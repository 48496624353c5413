"""The parts of a store that can be read separately: those of a user, a session or a project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lamina.store.engine.sql import Connection
from lamina.store.tables.records import OF_PROJECT, Filter

MOST = 5000  # records of a scope that are read one by one; for more, the packed blocks are faster
SHARE = 8  # and at most this fraction of the store
# The conversations of a project: their turns are needed as context, whatever they belong to.
IN_ITS_TALKS = f"session IN (SELECT session FROM records WHERE seq IN ({OF_PROJECT}))"


class Part(NamedTuple):
    """Some of a scope's records: a condition, and a query that lists at least these rows."""

    where: str
    parameters: tuple[str, ...]
    listed: str
    listed_by: tuple[str, ...]


class Scope(NamedTuple):
    """All records of a user and those without one, or only those of a session or a project."""

    user: str | None = None
    session: str | None = None
    project: str | None = None

    @property
    def is_narrow(self) -> bool:
        """True for a part of what a handle may see; a user's scope is all of it."""
        return self.session is not None or self.project is not None

    def parts(self) -> Iterator[Part]:
        """Yield the parts, which have no record in common. Each can be read from an index."""
        if self.session is not None:
            yield from self._of_users("session = ?", self.session)
        elif self.project is not None:
            visible = "TRUE" if self.user is None else "(user = ? OR user IS NULL)"
            parameters = (self.project,) if self.user is None else (self.project, self.user)
            yield Part(
                f"seq IN ({OF_PROJECT}) AND {visible}", parameters, OF_PROJECT, (self.project,)
            )
            others = f"{IN_ITS_TALKS} AND seq NOT IN ({OF_PROJECT}) AND {visible}"
            yield _part(others, self.project, *parameters)
        else:
            yield from self._of_users("")

    def _of_users(self, condition: str, *parameters: str) -> Iterator[Part]:
        if self.user is None:
            yield _part(condition, *parameters)
            return
        both = f"{condition} AND " if condition else ""
        yield _part(f"{both}user = ?", *parameters, self.user)
        yield _part(f"{both}user IS NULL", *parameters)

    def is_small(self, connection: Connection, last: int) -> bool:
        """Tell whether the scope is so small a part of the store that it is read separately.

        No more records are counted than needed.
        """
        left = min(MOST, last // SHARE)
        for part in self.parts():
            query = f"SELECT count(*) FROM ({part.listed} LIMIT {left + 1}) AS found"
            left -= int(connection.execute(query, part.listed_by).get)
            if left < 0:
                return False
        return True

    @staticmethod
    def is_still_small(size: int) -> bool:
        """Tell whether a scope that was small is still searched separately at this size."""
        return size < 2 * MOST


def _part(where: str, *parameters: str) -> Part:
    return Part(where, parameters, f"SELECT 1 FROM records WHERE {where}", parameters)


def scopes_of(wanted: Filter) -> Iterator[Scope]:
    """List the scopes that hold everything a filter lets through, the preferred one first.

    A user's scope serves all questions of that user.
    """
    if wanted.user is not None:
        yield Scope(wanted.user)
    if wanted.session is not None:
        yield Scope(wanted.user, session=wanted.session)
    if wanted.project is not None:
        yield Scope(wanted.user, project=wanted.project)
