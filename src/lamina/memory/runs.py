"""Working memory: the notes of one run, which end with it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.errors import InvalidInput, Refused
from lamina.model import rules
from lamina.model.record import Draft, Hits, Layer, Record
from lamina.text import fence
from lamina.text.words import shown

LONGEST = 2000

if TYPE_CHECKING:
    from lamina.memory.writer import Writer


class Run:
    """A task in progress. As a context manager it closes itself; after a crash it waits in `runs()` to be closed."""

    def __init__(self, memory: Writer, first: Record) -> None:
        self.id = first.run_id or first.id
        self.task = first.content
        self.started_at: datetime = first.created_at
        self._memory = memory
        self._closed = False

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.task!r}>"

    def note(self, content: str, **fields: Any) -> Record:
        """Keep something for the length of this run."""
        self._check_open()
        if fields.get("key") is not None:  # a key means the same thing again within this run only
            fields["key"] = f"{self.id}/{rules.label(fields['key'], 'key')}"
        return self._memory.add_note(
            self.id, {**fields, "content": content, "layer": Layer.WORKING}
        )

    @property
    def note_count(self) -> int:
        """How many notes the run has."""
        return self._memory.count_notes(self.id)

    def search(self, query: str, limit: int = 10, **filters: Any) -> Hits:
        """Search this run's notes along with everything else."""
        return self._memory.search(query, limit, run_id=self.id, **filters)

    def close(
        self, summary: str | None = None, failure: BaseException | str | None = None
    ) -> Record | None:
        """End the run: its notes are set aside, and what happened is kept as one episodic record."""
        self._check_open()
        if failure is not None and not isinstance(failure, (str, BaseException)):
            raise InvalidInput(f"failure {shown(failure)} is neither a text nor an exception")
        record = self._memory.close_run(self.id, self.task, summary, failure)
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


def ending(
    task: str,
    notes: list[Record],
    summary: str | None,
    failure: BaseException | str | None,
    draft: Callable[[object], Draft],
    most_bytes: int,
) -> Draft:
    """The episodic record that a run leaves behind, with its notes as evidence and for their user."""
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
    made = draft({"content": content, "layer": Layer.EPISODIC, "kind": kind, "metadata": metadata})
    trust = rules.lowest_trust([made.trust, *(note.trust for note in notes)])
    return structs.replace(
        made,
        trust=trust,
        user=made.user or notes[0].user,
        evidence=tuple(note.id for note in notes),
    )


def _described(failure: BaseException | str | None) -> str:
    """A failure in a few words, whatever its own were."""
    if not isinstance(failure, BaseException):
        return cut(failure or "for no given reason", LONGEST)
    kind = type(failure).__name__
    try:
        words = str(failure)
    except Exception:  # noqa: BLE001 - an exception that cannot speak must not keep its run open
        return kind
    return cut(f"{kind}: {words}", LONGEST) if words else kind


def cut(text: str, most_bytes: int) -> str:
    """As much of a text as fits and can be stored."""
    return (
        fence.unfenced(text.replace("\0", ""))
        .encode(errors="replace")[:most_bytes]
        .decode(errors="ignore")
    )
