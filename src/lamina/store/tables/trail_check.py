"""Collect what events tell of tables beside the records, and compare these tables with it.

Events of older versions tell less: what none of them covers is listed as `uncovered`, not as altered.
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
    """What the events say of one erasure."""

    at: int | None = None  # when it began
    records: int = 0
    todo: str | None = None  # the hash of what was left to do
    certificate: str | None = None  # the hash of its certificate


class Told:
    """What the events so far say."""

    def __init__(self) -> None:
        self.erasures: dict[int, Erasure] = {}
        self.certificates: set[str] = (
            set()
        )  # the hashes of those that a replaced history left as files
        self.names_certificates = True  # every restoration named those that it found
        self.proposed: dict[int, int] | None = None
        self.slept: int | None = None
        self.uncovered: list[Difference] = []

    def hear(self, body: Body) -> None:
        """Take in one event."""
        for change in body.changes:
            if (number := change.after.get("erased")) is not None:
                erasure = self._erasure(number)
                erasure.at, erasure.records = body.at, erasure.records + 1
        for said in body.details.get(ERASURES, ()):
            erasure = self._erasure(said["erasure"])
            erasure.at, erasure.todo = body.at, said["todo"]
        if body.action == CERTIFIED:
            self._erasure(body.details["erasure"]).certificate = body.details["certificate"]
        elif body.action == RESTORE:
            self._hear_of_restoration(body.details)
        if (counted := body.details.get(rejections.PROPOSED)) is not None:
            self._hear_of_proposals(body.seq, **counted)
        if (slept := body.details.get(sleep.SLEPT)) is not None:
            self._hear_of_sleep(body.seq, **slept)

    def _hear_of_restoration(self, details: Mapping[str, Any]) -> None:
        self.names_certificates &= CERTIFICATES in details
        self.certificates |= set(details.get(CERTIFICATES, ()))

    def _hear_of_proposals(self, event: int, day: int, more: int, number: int) -> None:
        """Go on counting. A number that does not follow was altered in the table before, or by an
        older version."""
        if self.proposed is not None and number != self.proposed.get(day, 0) + more:
            self.uncovered.append(
                (
                    f"proposals of day {day}",
                    f"event {event} went on from a number that no event told",
                )
            )
        former = {known: count for known, count in (self.proposed or {}).items() if known >= day}
        self.proposed = {**former, day: number}

    def _hear_of_sleep(self, event: int, since: int, until: int) -> None:
        if self.slept is not None and since != self.slept:
            self.uncovered.append(
                ("how far sleep has read", f"event {event} went on from {since}, not {self.slept}")
            )
        self.slept = until

    def _erasure(self, number: int) -> Erasure:
        return self.erasures.setdefault(number, Erasure())

    def differences(self, connection: Connection) -> list[Difference]:
        """Every row that is not what the events say."""
        return [
            *self.erasures_differ(connection),
            *self._proposed_differ(dict(rows(connection, "SELECT day, number FROM proposed"))),
            *self._slept_differs(rows(connection, "SELECT one, seq FROM slept")),
        ]

    def erasures_differ(self, connection: Connection) -> Iterator[Difference]:
        """The rows of `erasures` that are not what the events say."""
        unseen = dict(self.erasures)
        for number, at, todo, certificate in rows(
            connection, "SELECT number, at, todo, certificate FROM erasures"
        ):
            erasure = unseen.pop(number, None)
            wrong = (
                "no event began it" if erasure is None else _wrong(erasure, at, todo, certificate)
            )
            if wrong is not None:
                yield f"erasure {number}", wrong
            elif erasure is not None and todo is None and certificate is None:
                yield from self._without_certificate(connection, number, erasure)
        for number, erasure in sorted(unseen.items()):
            if erasure.records or erasure.todo is not None:
                yield f"erasure {number}", "it is missing"
            else:  # an import of an older version left out what had no records
                self.uncovered.append(
                    (f"erasure {number}", "the import that made this store did not bring it")
                )

    def _without_certificate(
        self, connection: Connection, number: int, erasure: Erasure
    ) -> Iterator[Difference]:
        """Tell a certificate that was removed from one that an import did not bring."""
        prints = "SELECT 1 FROM erased WHERE erasure = ? AND (content IS NOT NULL OR key IS NOT NULL) LIMIT 1"
        was_here = connection.execute(prints, (number,)).get is not None
        exported = erasure.certificate is not None and erasure.todo is not None
        if was_here or exported:
            yield f"erasure {number}", "its certificate is missing; restore a backup that has it"
        else:
            self.uncovered.append(
                (
                    f"erasure {number}",
                    "the import that made this store did not bring its certificate",
                )
            )

    def _proposed_differ(self, found: Mapping[int, int]) -> Iterator[Difference]:
        if self.proposed is None:
            self.uncovered += [(f"proposals of day {day}", NOT_TOLD) for day in found]
            return
        for day, number in self.proposed.items():
            if found.get(day) != number:
                yield f"proposals of day {day}", f"the events counted {number:,}"
        self.uncovered += [
            (f"proposals of day {day}", NOT_TOLD) for day in found if day not in self.proposed
        ]

    def _slept_differs(self, found: Sequence[Any]) -> Iterator[Difference]:
        if self.slept is None:
            self.uncovered += (
                [("how far sleep has read", NOT_TOLD)] if any(seq for _, seq in found) else []
            )
        elif [tuple(row) for row in found] != [(1, self.slept)]:
            yield "how far sleep has read", f"the last event about it says {self.slept}"

    def rebuild(self, connection: Connection) -> None:
        """Make the tables anew that an export does not hold."""
        for number, erasure in self.erasures.items():
            insert = "INSERT INTO erasures (number, at) VALUES (?, ?) ON CONFLICT DO NOTHING"
            connection.execute(insert, (number, erasure.at or 0))
        connection.executemany(
            "INSERT INTO proposed (day, number) VALUES (?, ?)", [*(self.proposed or {}).items()]
        )
        if self.slept is not None:
            connection.execute("INSERT INTO slept (one, seq) VALUES (1, ?)", (self.slept,))


def _wrong(erasure: Erasure, at: int, todo: str | None, certificate: str | None) -> str | None:
    """What is wrong with a row of `erasures`."""
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


def read(connection: Connection) -> Told:
    """What all events tell."""
    return _heard(body for (body,) in rows(connection, "SELECT body FROM events ORDER BY seq"))


def about_erasures(connection: Connection) -> Told:
    """What the events about erasures and restorations tell."""
    query = "SELECT body FROM events WHERE body ->> 'action' IN (?, ?, ?) ORDER BY seq"
    return _heard(body for (body,) in rows(connection, query, (ERASE, CERTIFIED, RESTORE)))


def _heard(bodies: Iterator[str]) -> Told:
    told = Told()
    for body in bodies:
        told.hear(body_of(body))
    return told
