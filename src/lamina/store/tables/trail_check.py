"""Collect what events say about tables other than the records, and compare it with these tables.

Events of older versions say less: what no event covers is listed as `uncovered`, not as altered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import rejections, sleep
from lamina.store.tables.events import Body, body_of

ERASE, CERTIFIED, RESTORE = "erase", "erase.certified", "restore"
# Names in the details of events.
ERASURES, CERTIFICATES = "erasures", "certificates"
NOT_TOLD = "written by an older version, which left no hash of it in the trail"
Difference = tuple[str, str]


class Erasure(msgspec.Struct):
    """One erasure, as the events describe it."""

    at: int | None = None  # the time when it began
    records: int = 0
    todo: str | None = None  # the hash of what was left to do
    certificate: str | None = None  # the hash of its certificate


class TrailState:
    """The state of the tables according to the events."""

    def __init__(self) -> None:
        self.erasures: dict[int, Erasure] = {}
        # The hashes of certificates whose files remain from a replaced history.
        self.certificates: set[str] = set()
        self.names_certificates = True  # every restoration listed those that it found
        self.proposed: dict[int, int] | None = None
        self.slept: int | None = None
        self.uncovered: list[Difference] = []

    def hear(self, body: Body) -> None:
        """Process one event."""
        for change in body.changes:
            if (number := change.after.get("erased")) is not None:
                erasure = self._erasure(number)
                erasure.at, erasure.records = body.at, erasure.records + 1
        for entry in body.details.get(ERASURES, ()):
            erasure = self._erasure(entry["erasure"])
            erasure.at, erasure.todo = body.at, entry["todo"]
        if body.action == CERTIFIED:
            self._erasure(body.details["erasure"]).certificate = body.details["certificate"]
        elif body.action == RESTORE:
            self._take_restoration(body.details)
        if (proposed := body.details.get(rejections.PROPOSED)) is not None:
            self._take_proposals(body.seq, **proposed)
        if (slept := body.details.get(sleep.SLEPT)) is not None:
            self._take_sleep(body.seq, **slept)

    def _take_restoration(self, details: Mapping[str, Any]) -> None:
        self.names_certificates &= CERTIFICATES in details
        self.certificates |= set(details.get(CERTIFICATES, ()))

    def _take_proposals(self, event: int, day: int, more: int, number: int) -> None:
        """Add to the count.

        A number that does not continue the previous one was altered in the table, or counted by an
        older version.
        """
        if self.proposed is not None and number != self.proposed.get(day, 0) + more:
            problem = f"event {event} went on from a number that no event recorded"
            self.uncovered.append((f"proposals of day {day}", problem))
        later = {known: count for known, count in (self.proposed or {}).items() if known >= day}
        self.proposed = {**later, day: number}

    def _take_sleep(self, event: int, since: int, until: int) -> None:
        if self.slept is not None and since != self.slept:
            problem = f"event {event} went on from {since}, not {self.slept}"
            self.uncovered.append(("how far sleep has read", problem))
        self.slept = until

    def _erasure(self, number: int) -> Erasure:
        return self.erasures.setdefault(number, Erasure())

    def differences(self, connection: Connection) -> list[Difference]:
        """List every row that differs from what the events say."""
        return [
            *self.erasures_differ(connection),
            *self._proposed_differ(dict(rows(connection, "SELECT day, number FROM proposed"))),
            *self._slept_differs(rows(connection, "SELECT one, seq FROM slept")),
        ]

    def erasures_differ(self, connection: Connection) -> Iterator[Difference]:
        """Yield the rows of `erasures` that differ from what the events say."""
        query = "SELECT number, at, todo, certificate FROM erasures"
        unseen = dict(self.erasures)
        for number, at, todo, certificate in rows(connection, query):
            erasure = unseen.pop(number, None)
            if erasure is None:
                yield f"erasure {number}", "no event began it"
            elif (problem := _problem(erasure, at, todo, certificate)) is not None:
                yield f"erasure {number}", problem
            elif todo is None and certificate is None:
                yield from self._without_certificate(connection, number, erasure)
        for number, erasure in sorted(unseen.items()):
            if erasure.records or erasure.todo is not None:
                yield f"erasure {number}", "it is missing"
            else:  # an import of an older version left out erasures without records
                left_out = "the import that made this store did not bring it"
                self.uncovered.append((f"erasure {number}", left_out))

    def _without_certificate(
        self, connection: Connection, number: int, erasure: Erasure
    ) -> Iterator[Difference]:
        """Distinguish a certificate that was removed from one that an import did not bring."""
        fingerprints = (
            "SELECT 1 FROM erased"
            " WHERE erasure = ? AND (content IS NOT NULL OR key IS NOT NULL) LIMIT 1"
        )
        was_here = connection.execute(fingerprints, (number,)).get is not None
        was_exported = erasure.certificate is not None and erasure.todo is not None
        if was_here or was_exported:
            yield f"erasure {number}", "its certificate is missing; restore a backup that has it"
        else:
            left_out = "the import that made this store did not bring its certificate"
            self.uncovered.append((f"erasure {number}", left_out))

    def _proposed_differ(self, stored: Mapping[int, int]) -> Iterator[Difference]:
        expected = self.proposed or {}
        for day, number in expected.items():
            if stored.get(day) != number:
                yield f"proposals of day {day}", f"the events counted {number:,}"
        self.uncovered += [
            (f"proposals of day {day}", NOT_TOLD) for day in stored if day not in expected
        ]

    def _slept_differs(self, stored: Sequence[Any]) -> Iterator[Difference]:
        if self.slept is None:
            if any(seq for _, seq in stored):
                self.uncovered.append(("how far sleep has read", NOT_TOLD))
        elif [tuple(row) for row in stored] != [(1, self.slept)]:
            yield "how far sleep has read", f"the last event about it says {self.slept}"

    def rebuild(self, connection: Connection) -> None:
        """Fill the tables that an export does not contain."""
        for number, erasure in self.erasures.items():
            insert = "INSERT INTO erasures (number, at) VALUES (?, ?) ON CONFLICT DO NOTHING"
            connection.execute(insert, (number, erasure.at or 0))
        insert = "INSERT INTO proposed (day, number) VALUES (?, ?)"
        connection.executemany(insert, [*(self.proposed or {}).items()])
        if self.slept is not None:
            connection.execute("INSERT INTO slept (one, seq) VALUES (1, ?)", (self.slept,))


def _problem(erasure: Erasure, at: int, todo: str | None, certificate: str | None) -> str | None:
    """Say what is wrong with a row of `erasures`."""
    if erasure.at is not None and erasure.at != at:
        return "its time differs from that of its event"
    if erasure.certificate is None:
        if certificate is not None:
            return "no event certified it: its certificate is forged"
        if todo is not None and erasure.todo is not None and digest(todo) != erasure.todo:
            return "what is left to do differs from what its event recorded"
    elif todo is not None:
        return "it is certified, but something is left to do"
    elif certificate is not None and digest(certificate) != erasure.certificate:
        return "its certificate was altered; restore a backup that has the true one"
    return None


def digest(text: str | bytes) -> str:
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


def read(connection: Connection) -> TrailState:
    """Collect what all events say."""
    return _collect(rows(connection, "SELECT body FROM events ORDER BY seq"))


def about_erasures(connection: Connection) -> TrailState:
    """Collect what the events about erasures and restorations say."""
    query = "SELECT body FROM events WHERE body ->> 'action' IN (?, ?, ?) ORDER BY seq"
    return _collect(rows(connection, query, (ERASE, CERTIFIED, RESTORE)))


def _collect(bodies: Sequence[tuple[str]]) -> TrailState:
    state = TrailState()
    for (body,) in bodies:
        state.hear(body_of(body))
    return state
