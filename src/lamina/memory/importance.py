"""Judge the importance of new memories, and learn from decisions and reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from lamina.engines import importance
from lamina.engines.importance import Scored
from lamina.errors import Corrupt
from lamina.failsafe.spool import OUTAGES
from lamina.memory.feedback import LEARNED_FROM
from lamina.model.clock import to_micros
from lamina.model.record import Trust
from lamina.store.tables import learned
from lamina.store.tables.learned import Decided

if TYPE_CHECKING:
    from lamina.engines.learning import Example, Model
    from lamina.memory.scope import Scope

NAME = "importance"
MOST_EXAMPLES = 5_000
MOST_READS = 50_000
# The weight of a read: `get` means that the record was wanted, a search hit may not be.
READS = {
    "get": 1.0,
    "history": 0.5,
    "search": 0.2,
    "query_relevant": 0.2,
    "recall_similar": 0.2,
    "helpful": 2.0,
}
WANTED = Decided(True, 0.5)
Fields = Mapping[str, Any]


class Importance:
    """Judge the importance of memories that have none: by tables, and by a learned model.

    The model is read once. It learns during sleep, never in a search.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def score(self, fields: Fields, *, may_tell: bool = True) -> float:
        """Judge a new memory; only by the tables if the learned model cannot be read.

        With `may_tell` false, its words are known to be in none of the tables.
        """
        try:
            model = self._model
        except OUTAGES:
            if self._scope.settings["failsafe"] == "off":
                raise
            model = None
        return _by_tables(fields, may_tell) if model is None else model.score(*_parts(fields))

    def judge(self, fields: Fields) -> float:
        """Judge a memory by the learned model, or else by the tables."""
        if self._model is not None:
            return self._model.score(*_parts(fields))
        return _by_tables(fields)

    def is_judged(self, fields: Fields, importance: float) -> bool:
        """Return whether an importance is what the tables or the learned model would give."""
        return importance in (_by_tables(fields), self.judge(fields))

    def explain(self, fields: Fields) -> Scored:
        """Judge a memory and give the reasons."""
        parts = _parts(fields)
        return (
            self._model.explain(*parts)
            if self._model is not None
            else importance.explain(*parts[:4])
        )

    def learn(self) -> dict[str, Any]:
        """Train the model on the history of this store; the tables stay if there is too little."""
        from lamina.engines.learning import learn

        store = self._scope.store
        with store.read() as db:
            erasures = learned.count_erasures(db)
        examples = list(self._examples())
        model = learn(examples)
        body = None if model is None else msgspec.json.encode(model, order="sorted").decode()
        with store.read() as db:
            former = learned.load(db, NAME)
        if body != former:
            with store.database.atomic() as transaction:
                cursor = transaction.cursor
                # What was learned from may have been erased meanwhile.
                if learned.count_erasures(cursor.connection) != erasures:
                    body = model = None
                learned.keep(cursor, NAME, body, to_micros(self._scope.clock()))
        self._model = model
        gain = {} if model is None else {"gain": model.gain}
        return {"ok": True, "examples": len(examples), "learned": model is not None, **gain}

    def relearn(self) -> None:
        """Train the model again if there is one; otherwise the tables stay in use."""
        with self._scope.store.read() as db:
            is_there = learned.load(db, NAME) is not None
        if is_there:
            self.learn()

    @cached_property
    def _model(self) -> Model | None:
        """The learned model, read when the first memory is judged."""
        with self._scope.store.read() as db:
            body = learned.load(db, NAME)
        if body is None:
            return None
        from lamina.engines.learning import Model

        try:
            return msgspec.json.decode(body, type=Model)
        except msgspec.DecodeError as error:
            raise Corrupt(
                f"the model of importance is damaged: {error}; run `lamina importance learn`"
            ) from None

    def _examples(self) -> Iterator[Example]:
        from lamina.engines.learning import Example

        with self._scope.store.read() as db:
            decisions = learned.decisions(db, MOST_EXAMPLES)
        decided = {**dict.fromkeys(self._wanted(), WANTED), **decisions}
        for record_id, (liked, weight) in sorted(decided.items())[-MOST_EXAMPLES:]:
            record = self._scope.store.get(record_id)
            if record is not None:
                yield Example(
                    kind=record.kind,
                    content=record.content,
                    tags=record.tags,
                    metadata=record.metadata,
                    source=record.source,
                    speaker=record.speaker,
                    trust=record.trust,
                    liked=liked,
                    weight=weight,
                )

    def accesses(self, span: timedelta = LEARNED_FROM) -> dict[str, tuple[float, datetime]]:
        """Count recent reads of each record, weighted by kind, with the time of the last one.

        A memory given in a context counts only if it was used.
        """
        counted: dict[str, tuple[float, datetime]] = {}
        since = self._scope.clock() - span
        # The newest come first.
        for read in self._scope.store.reads.latest(MOST_READS, since, READS):
            for record_id in read.records:
                number, last = counted.get(record_id, (0.0, read.at))
                counted[record_id] = number + READS[read.action], last
        for record_id, served in self._scope.parts.feedback.served(span).items():
            if served.last is not None:
                number, last = counted.get(record_id, (0.0, served.last))
                counted[record_id] = number + served.used, max(last, served.last)
        return counted

    def _wanted(self) -> list[str]:
        """List the records that were read often enough to be wanted."""
        return [record_id for record_id, (number, _) in self.accesses().items() if number >= 1]


def _by_tables(fields: Fields, may_tell: bool = True) -> float:
    kind, content = fields.get("kind", "crumb"), fields["content"]
    tags, metadata = fields.get("tags", ()), fields.get("metadata", {})
    return importance.score(kind, content, tags, metadata, may_tell=may_tell)


def _parts(
    fields: Fields,
) -> tuple[str, str, Any, Mapping[str, Any], str | None, str | None, Trust]:
    content, tags, metadata = fields["content"], fields.get("tags", ()), fields.get("metadata", {})
    trust = fields.get("trust", Trust.AGENT)
    return (
        fields.get("kind", "crumb"),
        content,
        tags,
        metadata,
        fields.get("source"),
        fields.get("speaker"),
        trust,
    )
