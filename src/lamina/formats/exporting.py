"""Exports for other programs and for people: what each form can hold is written, what it cannot is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from lamina.model import hashing
from lamina.model.record import Layer, Record
from lamina.store.core.store import Store
from lamina.store.engine import foreign
from lamina.store.tables import archived, records
from lamina.text.words import shown

Progress = Callable[[int, int], None]
Fields = Mapping[str, Any]
BATCH = 1000
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
    """A form that there is."""
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
) -> dict[str, Any]:
    """Write what a form can hold of a store at one moment; how much that is, what it left out, and what it lost.

    `summaries` are lines of Milton's that are no memories: the profile and the projects.
    """
    with store.database.moment() as db:
        total = sum(sum(states.values()) for states in records.counts(db, None).values())
        parting = Parting(FORMS[name], total, progress)
        with whole_files.put(target, force) as work:
            chosen = parting.chosen(map(store.record, records.every(db)))
            WRITERS[name](work, store, chosen, summaries)
        if number := archived.count(db, None):
            parting.left_out["it is archived"] += number
        parting.lost["history"] = store.head().seq
    return {
        "format": name,
        "path": str(target),
        "records": parting.written,
        "left_out": dict(parting.left_out),
        "lost": {name: number for name, number in parting.lost.items() if number},
    }


class Parting:
    """Chooses the records that a form has a place for, and counts what stays behind."""

    def __init__(self, form: ModuleType, total: int, progress: Progress | None) -> None:
        self.written = 0
        self.left_out: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self._form = form
        self._total = total
        self._progress = progress

    def chosen(self, chosen: Iterable[Record]) -> Iterator[Record]:
        for number, record in enumerate(chosen, 1):
            why = (
                "working memory ends with its run"
                if record.layer is Layer.WORKING
                else self._form.refusal(record)
            )
            if why is None:
                self.written += 1
                self.lost.update(self._form.lost(record))
                yield record
            else:
                self.left_out[why] += 1
            if self._progress is not None and (number % BATCH == 0 or number == self._total):
                self._progress(number, self._total)


def _lines(work: Path, lines: Iterable[Fields]) -> None:
    with work.open("wb") as file:
        for line in lines:
            file.write(hashing.encode(line) + b"\n")


def _sky(work: Path, _: Store, chosen: Iterable[Record], __: Sequence[Fields]) -> None:
    _lines(work, map(sky.line_of, chosen))


def _milton(work: Path, _: Store, chosen: Iterable[Record], summaries: Sequence[Fields]) -> None:
    _lines(work, (*map(milton.long_line_of, chosen), *summaries))


def _skylattice(work: Path, _: Store, chosen: Iterable[Record], __: Sequence[Fields]) -> None:
    native.write_json(work, {}, {"records": map(skylattice.line_of, chosen)})


def _mem0(work: Path, _: Store, chosen: Iterable[Record], __: Sequence[Fields]) -> None:
    native.write_json(work, {}, {"results": map(mem0.line_of, chosen)})


def _mcp_memory(work: Path, _: Store, chosen: Iterable[Record], __: Sequence[Fields]) -> None:
    _lines(work, mcp_memory.lines_of(chosen))


def _sentinel(work: Path, _: Store, chosen: Iterable[Record], __: Sequence[Fields]) -> None:
    facts: list[tuple[Any, ...]] = []

    def episodes() -> Iterator[tuple[Any, ...]]:
        for record in chosen:
            if record.layer is Layer.EPISODIC:
                yield sentinel.row_of(record)
            else:
                facts.append(sentinel.row_of(record))

    foreign.write(work, {foreign.EPISODES: episodes(), foreign.FACTS: facts})


def _markdown(work: Path, store: Store, chosen: Iterable[Record], _: Sequence[Fields]) -> None:
    with work.open("wb") as file:
        for line in markdown.document(store.agent, chosen):
            file.write(line.encode() + b"\n")


WRITERS: Mapping[str, Callable[[Path, Store, Iterable[Record], Sequence[Fields]], None]] = {
    "sky": _sky,
    "milton": _milton,
    "skylattice": _skylattice,
    "sentinel": _sentinel,
    "mem0": _mem0,
    "mcp-memory": _mcp_memory,
    "markdown": _markdown,
}
