"""Feedback on memories given in contexts: what agents report, and which memories were used."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from lamina.engines import facts, feedback
from lamina.engines.feedback import Asked, Given, Said, Served, Verdict
from lamina.memory.scope import Part
from lamina.model.record import Layer, Record, State
from lamina.store.tables.reads import Read
from lamina.store.tables.records import Filter

LEARNED_FROM = timedelta(days=180)  # the period that sleep examines
ACTION = "feedback"
MOST_READS = 50_000
MOST_TURNS = 20_000
GIVING = frozenset({"context", "memory_context"})  # the reads that give memories to a model
ASKING = frozenset({"get", "history", Verdict.HELPFUL.value})
# Instructions and profile are given with every prompt, whatever its topic: they do not count.
COUNTED = frozenset({Layer.SHORT_TERM, Layer.EPISODIC, Layer.SEMANTIC})
REASONS = {
    Verdict.WRONG: "an agent says that it is wrong",
    Verdict.OUTDATED: "an agent says that it is outdated",
}


class Feedback(Part):
    """Accept agents' feedback on memories, and find out which ones were used."""

    def give(self, record_id: str, verdict: str) -> Record:
        """Accept an agent's feedback on a memory; nothing is forgotten automatically.

        A helpful memory counts as used. For a wrong or outdated one, a request waits for a person;
        its record is returned.
        """
        said = feedback.verdict(verdict)
        record = self._scope.visible("feedback", record_id)
        if said is Verdict.HELPFUL:
            self._scope.audit(said.value, (record.id,))
            return record
        request = self._flagged(record, said)
        self._scope.changed(1)
        return request

    def _flagged(self, record: Record, said: Verdict) -> Record:
        """Ask a person to end an outdated fact, or else to forget the memory."""
        parts, why = self._scope.parts, REASONS[said]
        is_current = record.state is State.ACTIVE and facts.is_fact(record)
        if said is Verdict.WRONG or not is_current or facts.fact_of(record).negated:
            return parts.proposals.request_forget(record, why)
        with self._store.change(
            self._scope.actor, ACTION, self._scope.clock(), note={"reason": why}
        ) as transaction:
            return parts.statements.propose_end(transaction, record, ACTION)

    def served(self, span: timedelta) -> dict[str, Served]:
        """Count for each memory how often contexts gave it recently, and how often it was used."""
        since = self._scope.clock() - span
        reads = [
            read
            for read in self._store.reads.latest(MOST_READS, since, GIVING | ASKING)
            if self._is_ours(read)
        ]
        given = [_given(read) for read in reads if read.action in GIVING and read.records]
        if not given:
            return {}
        asked = [
            Asked(read.at, one, read.note.get("user"))
            for read in reads
            if read.action in ASKING
            for one in read.records
        ]
        return feedback.tally(given, asked, self._turns(given), self._texts(given))

    def _is_ours(self, read: Read) -> bool:
        return self._scope.user in (None, read.note.get("user"))

    def _turns(self, given: list[Given]) -> list[Said]:
        """List what was said since the first of these contexts."""
        first = min(one.at for one in given)
        chosen = Filter(self._scope.user, (Layer.EPISODIC,), since=first)
        return [
            Said(turn.created_at, turn.id, turn.content, turn.user, turn.session)
            for turn in self._store.listed(chosen, MOST_TURNS)
        ]

    def _texts(self, given: list[Given]) -> dict[str, str]:
        found = map(self._store.get, dict.fromkeys(one for each in given for one in each.records))
        return {one.id: _said(one) for one in found if one is not None and one.layer in COUNTED}


def _given(read: Read) -> Given:
    session, prompt = read.note.get("session"), read.note.get("query")
    return Given(read.at, read.records, read.note.get("user"), _text(session), _text(prompt) or "")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _said(record: Record) -> str:
    """Return what a memory says; for a fact only its value, since its subject is obvious."""
    value = record.metadata.get("value")
    is_fact = record.layer is Layer.SEMANTIC and isinstance(record.metadata.get("attribute"), str)
    return value if is_fact and isinstance(value, str) and value else record.content
