"""Export for other programs and for people; count what a format cannot represent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from lamina.errors import InvalidInput
from lamina.formats import (
    markdown,
    mcp_memory,
    mem0,
    milton,
    native,
    sentinel,
    sky,
    skylattice,
    whole_files,
)
from lamina.formats.merge import counted
from lamina.model import hashing
from lamina.model.record import Layer, Record
from lamina.store.core.store import Store
from lamina.store.engine import foreign
from lamina.store.tables import archived, records
from lamina.store.tables.records import Filter
from lamina.text.words import shown

Progress = Callable[[int, int], None]
Fields = Mapping[str, Any]
FORMS: Mapping[str, ModuleType] = {
    "sky": sky,
    "milton": milton,
    "skylattice": skylattice,
    "sentinel": sentinel,
    "mem0": mem0,
    "mcp-memory": mcp_memory,
    "markdown": markdown,
}
NAMES = ("lamina", *FORMS)


def check(name: object) -> str:
    """Return the name of a format; raise an error that lists the names if it is unknown."""
    if name not in NAMES:
        raise InvalidInput(
            f"unknown format {shown(name)}; known are {', '.join(NAMES)}", known=list(NAMES)
        )
    return str(name)


def write(
    store: Store,
    name: str,
    target: Path,
    progress: Progress | None = None,
    *,
    force: bool = False,
    summaries: Sequence[Fields] = (),
    now: datetime,
    wanted: Filter | None = None,
) -> dict[str, Any]:
    """Write what a format can represent of a store at one moment; report what was left out.

    `summaries` are Milton's lines that are not memories: the profile and the projects.
    """
    with store.database.moment() as db:
        selection = Selection(FORMS[name], records.count(db, wanted), progress)
        with whole_files.write_whole(target, force) as work:
            chosen = selection.chosen(map(store.record, records.every(db, wanted)))
            if name == "skylattice":
                count = sum(map(selection.has, map(store.record, records.every(db, wanted))))
                opening = skylattice.envelope(count, now, wanted.states if wanted else ())
                lines = map(skylattice.line_of, chosen)
                native.write_json(work, opening, {"records": lines})
            else:
                _write(name, work, store.agent, chosen, summaries)
        if count := archived.count(db, None):
            selection.left_out["it is archived"] += count
        selection.lost["history"] = store.head().seq
    return {
        "format": name,
        "path": str(target),
        "records": selection.written,
        "left_out": dict(selection.left_out),
        "lost": {name: number for name, number in selection.lost.items() if number},
    }


class Selection:
    """Chooses the records that a format can represent, and counts the others."""

    def __init__(self, form: ModuleType, total: int, progress: Progress | None) -> None:
        self.written = 0
        self.left_out: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self._form = form
        self._total = total
        self._progress = progress

    def chosen(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records to write, in order."""
        for record in counted(records, self._total, self._progress):
            why = self._refusal(record)
            if why is None:
                self.written += 1
                self.lost.update(self._form.lost(record))
                yield record
            else:
                self.left_out[why] += 1

    def has(self, record: Record) -> bool:
        """Tell whether a record is one of those to write."""
        return self._refusal(record) is None

    def _refusal(self, record: Record) -> str | None:
        if record.layer is Layer.WORKING:
            return "working memory ends with its run"
        refusal: str | None = self._form.refusal(record)
        return refusal


def _write(
    name: str, work: Path, agent: str, records: Iterable[Record], summaries: Sequence[Fields]
) -> None:
    match name:
        case "sky":
            _write_lines(work, map(sky.line_of, records))
        case "milton":
            _write_lines(work, (*map(milton.long_line_of, records), *summaries))
        case "sentinel":
            _write_tables(work, records)
        case "mem0":
            native.write_json(work, {}, {"results": map(mem0.line_of, records)})
        case "mcp-memory":
            _write_lines(work, mcp_memory.lines_of(records))
        case "markdown":
            with work.open("wb") as file:
                for line in markdown.document(agent, records):
                    file.write(line.encode() + b"\n")


def _write_lines(work: Path, lines: Iterable[Fields]) -> None:
    with work.open("wb") as file:
        for line in lines:
            file.write(hashing.encode(line) + b"\n")


def _write_tables(work: Path, records: Iterable[Record]) -> None:
    """Write Sentinel's episodes as they are read, and its facts after them."""
    facts: list[tuple[Any, ...]] = []

    def episodes() -> Iterator[tuple[Any, ...]]:
        for record in records:
            if record.layer is Layer.EPISODIC:
                yield sentinel.row_of(record)
            else:
                facts.append(sentinel.row_of(record))

    foreign.write(work, {foreign.EPISODES: episodes(), foreign.FACTS: facts})
