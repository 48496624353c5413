"""Working memory: the notes of one run, which end with it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina import rules
from lamina.errors import Refused
from lamina.model import Draft, Hits, Layer, Record

if TYPE_CHECKING:
    from lamina.memory import Memory


class Run:
    """A task in progress. As a context manager it closes itself; after a crash it waits in `runs()` to be closed."""

    def __init__(self, memory: Memory, opening: Record, note_count: int = 0) -> None:
        self.id = opening.id
        self.task = opening.content
        self.started_at: datetime = opening.created_at
        self.note_count = note_count
        self._memory = memory
        self._closed = False

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.task!r}>"

    def note(self, content: str, **fields: Any) -> Record:
        """Keep something for the length of this run."""
        self._check_open()
        record = self._memory.add_note(self.id, {"content": content, "layer": Layer.WORKING, **fields})
        self.note_count += 1
        return record

    def search(self, query: str, limit: int = 10, **filters: Any) -> Hits:
        """Search this run's notes along with everything else."""
        return self._memory.search(query, limit, run_id=self.id, **filters)

    def close(self, summary: str | None = None, failure: BaseException | str | None = None) -> Record | None:
        """End the run: its notes are set aside, and what happened is kept as one episodic record."""
        self._check_open()
        record = self._memory.close_run(self.id, self.task, summary, failure)
        self._closed = True
        return record

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._closed:
            self.close(failure=error)

    def _check_open(self) -> None:
        if self._closed:
            raise Refused(f"the run {self.task!r} is closed; open a new one")


def ending(
    task: str, notes: list[Record], summary: str | None, failure: BaseException | str | None, draft: Callable[..., Draft]
) -> Draft:
    """The episodic record that a run leaves behind, with its notes as evidence."""
    failed = None if failure is None else (str(failure) if isinstance(failure, str) else _described(failure))
    if summary is not None:
        content = summary
    elif failed is not None:
        content = f"Run failed: {task}: {failed}"
    else:
        content = f"Run ended: {task}"
    metadata = {"run": task, "status": "failure" if failed else "success", "notes": len(notes)}
    kind = "error" if failed else "result"
    made = draft({"content": content, "layer": Layer.EPISODIC, "kind": kind, "metadata": metadata})
    trust = rules.lowest_trust([made.trust, *(note.trust for note in notes)])
    return structs.replace(made, trust=trust, evidence=tuple(note.id for note in notes))


def _described(failure: BaseException) -> str:
    text = str(failure).replace("\0", "").encode(errors="replace").decode()
    return f"{type(failure).__name__}: {text}" if text else type(failure).__name__
