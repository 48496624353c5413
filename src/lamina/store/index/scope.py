"""The parts of a store that are read by themselves: of a user, of a session, of a project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lamina.store.engine.sql import Connection
from lamina.store.tables.records import OF_PROJECT, Filter

MOST = 5000  # records of a scope that are read one by one; for more the packed blocks are faster
SHARE = 8  # and at most so small a part of the store
# The conversations of a project: what is said there is read in their light, whatever it belongs to.
IN_ITS_TALKS = f"session IN (SELECT session FROM records WHERE seq IN ({OF_PROJECT}))"


class Part(NamedTuple):
    """Some of a scope's records: a condition, and a query that lists as many rows or more."""

    where: str
    parameters: tuple[str, ...]
    listed: str
    listed_by: tuple[str, ...]


class Scope(NamedTuple):
    """Everything of a user and what is unscoped, or of that only a session or a project."""

    user: str | None = None
    session: str | None = None
    project: str | None = None

    @property
    def is_narrow(self) -> bool:
        """True for a part of what a handle may see; a user's scope is all of it."""
        return self.session is not None or self.project is not None

    def parts(self) -> Iterator[Part]:
        """Yield the parts, which have no record in common. An index leads to each."""
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
        """Tell whether it is so small a part of so many records that it is read by itself.

        No more is counted than is needed to tell.
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
        """Tell whether a scope that was small is still searched by itself with so many records."""
        return size < 2 * MOST


def _part(where: str, *parameters: str) -> Part:
    return Part(where, parameters, f"SELECT 1 FROM records WHERE {where}", parameters)


def scopes_of(wanted: Filter) -> Iterator[Scope]:
    """List the scopes that hold all that a filter lets through; the one to be preferred first.

    A user's serves all questions of that user.
    """
    if wanted.user is not None:
        yield Scope(wanted.user)
    if wanted.session is not None:
        yield Scope(wanted.user, session=wanted.session)
    if wanted.project is not None:
        yield Scope(wanted.user, project=wanted.project)
