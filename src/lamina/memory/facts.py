"""The verbs that read facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from lamina.engines import fact_lists, timeline
from lamina.engines.facts import Fact
from lamina.memory.scope import Times, optional_moment
from lamina.model import rules
from lamina.model.record import Record, State
from lamina.store.tables import grounds

if TYPE_CHECKING:
    from lamina.memory.scope import Scope


class Facts:
    """Read what is known about people, now or at a time."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def current(
        self,
        subject: str | None,
        attribute: str | None,
        as_of: Times,
        project: str | None = None,
    ) -> list[Fact]:
        """List the facts about a subject or about everyone, now or at a time."""
        moment = optional_moment(as_of, "as_of")
        about = None if subject is None else rules.label(subject, "subject")
        states = (State.ACTIVE,) if moment is None else (State.ACTIVE, State.SUPERSEDED)
        records = self._scope.store.night.facts(states, self._scope.user)
        if project is not None:
            name = rules.label(project, "project")
            records = [record for record in records if record.project == name]
        known = [
            fact
            for fact in fact_lists.chosen(records, about, attribute)
            if moment is None or fact.holds(moment)
        ]
        known = self._judged(known, records)
        self._scope.audit("facts", tuple(fact.record for fact in known))
        return known

    def timeline(self, subject: str) -> list[Fact]:
        """List what holds and what held for a subject, in order of its beginning."""
        states = (State.ACTIVE, State.SUPERSEDED)
        records = self._scope.store.night.facts(states, self._scope.user)
        known = fact_lists.chosen(records, rules.label(subject, "subject"), None)
        known = self._judged(timeline.without_restated(known, records), records)
        self._scope.audit("timeline", tuple(fact.record for fact in known))
        return known

    def _judged(self, known: Sequence[Fact], records: Sequence[Record]) -> list[Fact]:
        """Mark facts whose evidence is gone."""
        wanted = {fact.record for fact in known}
        with self._scope.store.read() as db:
            gone = grounds.groundless(db, [one for one in records if one.id in wanted])
        return [
            structs.replace(fact, groundless=True) if fact.record in gone else fact
            for fact in known
        ]
