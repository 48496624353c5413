"""Verbs that inspect one's own memory: history, lineage, the archive, what is due."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from lamina.engines import awareness
from lamina.errors import InvalidInput
from lamina.memory.scope import Times, optional_moment
from lamina.model import clock as clocks
from lamina.model import rules
from lamina.model.record import Event, Record
from lamina.store.archive.search import ArchiveQuery
from lamina.store.tables import lineage
from lamina.text import dates, recurrences
from lamina.text.words import terms

if TYPE_CHECKING:
    from lamina.memory.scope import Scope


class Inspect:
    """Inspect records of one's own memory; guests have none of these verbs."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def contents(self, record_ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of some records by their ids.

        This is for display, and does not count as use of the records.
        """
        ids = [
            record_id
            for record_id in rules.several(record_ids, "record_ids")
            if isinstance(record_id, str) and clocks.is_id(record_id)
        ]
        store, user = self._scope.store, self._scope.user
        records = [record for one in ids if (record := store.get(one, user)) is not None]
        contents = {record.id: record.content for record in records if self._scope.is_mine(record)}
        self._scope.audit("contents", tuple(contents))
        return contents

    def history(self, record_id: str) -> list[Event]:
        """List everything that happened to a record, oldest first."""
        record = self._scope.visible("history", record_id, stub=True)
        self._scope.audit("history", (record.id,))
        return self._scope.store.history(record.id)

    def resting_on(self, record_id: str) -> list[str]:
        """List the ids of the records that have a record as evidence."""
        record = self._scope.visible("resting_on", record_id, stub=True)
        with self._scope.store.database.moment() as connection:
            ids = lineage.resting(connection, record.id, self._scope.user)
        self._scope.audit("resting_on", tuple(ids))
        return ids

    def lost_evidence(self, record_id: str) -> list[str]:
        """List the evidence of a record that was forgotten, superseded or erased since."""
        from lamina.store.tables import grounds  # a session's start does not need it

        record = self._scope.visible("lost_evidence", record_id, stub=True)
        with self._scope.store.database.moment() as connection:
            lost = grounds.lost(connection, record)
        self._scope.audit("lost_evidence", (record.id,))
        return lost

    def search_archive(
        self, query: str = "", limit: int = 100, since: Times = None, until: Times = None
    ) -> list[Record]:
        """Find archived records that contain a text, as `grep -i` would, newest first.

        `archived` of each record names its file and line.
        """
        asked = rules.query(query)
        if not asked.strip() and since is None and until is None:
            raise InvalidInput(
                "the query is empty; say what to look for in the archive, or since or until when"
            )
        moments = optional_moment(since, "since"), optional_moment(until, "until")
        wanted = ArchiveQuery(asked, self._scope.user, *moments)
        records = self._scope.store.search_archive(wanted, rules.limit(limit))
        self._scope.audit("search_archive", tuple(record.id for record in records), query=asked)
        return records

    def pending(self) -> list[dict[str, Any]]:
        """List everything that waits for a person, oldest first.

        These are requests, escalations, reviews, and due memories.
        """
        from lamina.store.index.catalogue import day_number  # it needs numpy

        today = self._scope.clock().date()
        hints = [[_terms(words) for words in hint] for hint in recurrences.hints(today)]
        candidates, answers = self._scope.store.pending(
            self._scope.user, day_number(today - awareness.GRACE), day_number(today) + 1, hints
        )
        items = awareness.pending(
            candidates,
            awareness.answers(answers),
            today,
            partial(_days, today=today),
            awareness.answers(answers, since=today),
        )
        self._scope.audit("pending", tuple(item["id"] for item in items))
        return items


def _terms(words: Collection[str]) -> set[str]:
    """Normalise words as the index does."""
    return {term for word in words for term in terms(word)}


def _days(record: Record, today: date) -> awareness.Days:
    """Collect the days that a text mentions, and whether a recurring one is today."""
    recurring = recurrences.find(record.content, record.occurred_at)
    taken = [(one.place, one.place + len(one.phrase)) for one in recurring]
    spans = [
        (day.start, day.end)
        for day in dates.find(record.content, record.occurred_at)
        if not any(start <= day.place < end for start, end in taken)
    ]
    return awareness.Days(spans, any(one.falls_on(today) for one in recurring))
