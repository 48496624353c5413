"""Working memory: the notes of one run, which end with it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.errors import InvalidInput, Refused
from lamina.memory.misuse import explained
from lamina.model import rules
from lamina.model.record import Draft, Hits, Layer, Record, State
from lamina.store.tables import records
from lamina.text import fence
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

LONGEST = 2000
ERASED_TASK = "an erased task"


@explained
class Run:
    """A task in progress.

    As a context manager it closes itself; after a crash, `runs()` lists it to be closed.
    """

    def __init__(self, scope: Scope, first: Record) -> None:
        self.id = first.run_id or first.id
        self.task = first.content
        self.project = first.project
        self.started_at: datetime = first.created_at
        self._scope = scope
        self._closed = False

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.task!r}>"

    def note(self, content: str, **fields: Any) -> Record:
        """Store a note for the length of this run."""
        self._check_open()
        if fields.get("key") is not None:  # a key is unique within this run only
            fields["key"] = f"{self.id}/{rules.label(fields['key'], 'key')}"
        item = {"project": self.project, **fields, "content": content, "layer": Layer.WORKING}
        draft = self._scope.draft(item, self.id)
        return self._scope.parts.remember.stored([draft], "run.note", self.id)[0]

    @property
    def note_count(self) -> int:
        """How many notes the run has."""
        with self._scope.store.read() as db:
            # The note with the task does not count.
            return max(0, records.count_notes(db, self.id, self._scope.user) - 1)

    def search(self, query: str, limit: int = 10, **filters: Any) -> Hits:
        """Search this run's notes along with everything else."""
        return self._scope.parts.read.search(query, limit, run_id=self.id, **filters)

    def close(
        self, summary: str | None = None, failure: BaseException | str | None = None
    ) -> Record | None:
        """End the run: hide its notes, and store its outcome as one episodic record."""
        self._check_open()
        if failure is not None and not isinstance(failure, (str, BaseException)):
            raise InvalidInput(f"failure {shown(failure)} is neither a text nor an exception")
        record = self._scope.parts.runs.end(self.id, self.task, summary, failure)
        self._closed = True
        return record

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._closed:
            self.close(failure=error)

    def _check_open(self) -> None:
        if self._closed:
            raise Refused(f"the run {shown(self.task, 60)} is closed; open a new one")


class Runs:
    """Open runs, list them, and end them."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def open(self, task: str, project: str | None = None) -> Run:
        """Begin a run: a place for working memory that ends with the task."""
        scope = self._scope
        item = {"content": task, "layer": Layer.WORKING, "kind": "action", "project": project}
        draft = scope.draft(item, run_id="new")
        with scope.store.change(scope.actor, "run.open", scope.clock()) as transaction:
            (first,) = transaction.insert([structs.replace(draft, run_id=transaction.next_id())])
        scope.changed(1)
        return Run(scope, first)

    def unfinished(self) -> list[Run]:
        """List runs that were not closed, such as those of a process that died."""
        with self._scope.store.read() as db:
            rows = records.open_runs(db, self._scope.user)
        first_notes = [self._scope.store.record(row) for row in rows]
        self._scope.audit("runs", tuple(note.id for note in first_notes))
        return [Run(self._scope, note) for note in first_notes]

    def end(
        self, run_id: str, task: str, summary: str | None, failure: BaseException | str | None
    ) -> Record | None:
        """Dismiss a run's notes and keep its outcome, in one step."""
        scope, store, settings = self._scope, self._scope.store, self._scope.settings
        with store.change(scope.actor, "run.close", scope.clock()) as transaction:
            rows = transaction.run(run_id, None)
            notes = [store.record(row) for row in rows]
            if not notes or not scope.is_mine(notes[0]):
                raise Refused(f"the run {shown(task, 60)} is closed already")
            outcome = None
            if summary is not None or settings["runs.episodes"]:
                if notes[0].id != run_id:  # the note with the task was erased
                    task = ERASED_TASK
                limit = settings["content.max_bytes"]
                draft = ending(task, notes, summary, failure, scope.draft, limit)
                (outcome,) = transaction.insert([draft])
            for row, note in zip(rows, notes, strict=True):
                rules.check_move(note.state, State.TOMBSTONED, scope.actor.role)
                transaction.update(row, state=State.TOMBSTONED)
        scope.changed(outcome is not None)
        return outcome


def ending(
    task: str,
    notes: list[Record],
    summary: str | None,
    failure: BaseException | str | None,
    draft: Callable[[object], Draft],
    most_bytes: int,
) -> Draft:
    """Draft the episodic record of a run for its user, with its notes as evidence."""
    failed, name = failure is not None, cut(task, LONGEST)
    content = summary
    if content is None:
        content = cut(
            f"Run failed: {name}: {_described(failure)}" if failed else f"Run ended: {name}",
            most_bytes,
        )
    metadata: dict[str, Any] = {
        "run": name,
        "status": "failure" if failed else "success",
        "notes": len(notes),
    }
    if failed:
        metadata["failure"] = _described(failure)
    kind = "error" if failed else "result"
    item = {"content": content, "layer": Layer.EPISODIC, "kind": kind, "metadata": metadata}
    made = draft({**item, "project": notes[0].project})
    trust = rules.lowest_trust([made.trust, *(note.trust for note in notes)])
    return structs.replace(
        made,
        trust=trust,
        user=made.user or notes[0].user,
        evidence=tuple(note.id for note in notes),
    )


def _described(failure: BaseException | str | None) -> str:
    """Describe a failure in a few words."""
    if not isinstance(failure, BaseException):
        return cut(failure or "for no given reason", LONGEST)
    kind = type(failure).__name__
    try:
        words = str(failure)
    except Exception:  # noqa: BLE001 - an exception without a message must not keep its run open
        return kind
    return cut(f"{kind}: {words}", LONGEST) if words else kind


def cut(text: str, most_bytes: int) -> str:
    """Truncate a text to a length that can be stored."""
    return (
        fence.unfenced(text.replace("\0", ""))
        .encode(errors="replace")[:most_bytes]
        .decode(errors="ignore")
    )
