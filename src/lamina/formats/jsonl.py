"""Import files line by line: JSONL of Sky, Milton and Lamina, or any other `Form`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from lamina.formats import entries, lines, milton, sky
from lamina.formats.entries import Entry, Fields
from lamina.formats.importing import Arrivals, DryRunOver, Policy, external
from lamina.formats.lines import Line
from lamina.formats.rejects import Rejects
from lamina.model.record import Actor, Draft
from lamina.store.core.store import Store
from lamina.text.words import one_line

Progress = Callable[[int, int], None]
BATCH = 500
EXPORT = re.compile(rb'\s*\{[^{}\[\]]*"format"\s*:\s*"lamina-')
FIRST_LINES = 100
SUFFIXES = frozenset({".jsonl", ".ndjson", ".rejected"})


def detect(path: Path) -> Literal["ours", "lines"]:
    """Tell an export of Lamina from a file of lines.

    A file that is neither counts as ours, so that reading it reports what is wrong.
    """
    with lines.opened(path) as file:
        if EXPORT.match(file.read(4096).removeprefix(lines.BOM)):
            return "ours"
    # A damaged export also has lines that are objects, but its first line is not.
    for line in islice(lines.read(path), 1 if path.suffix.lower() == ".json" else FIRST_LINES):
        if line.value is not None:
            return "ours" if str(line.value.get("format", "")).startswith("lamina-") else "lines"
    return "lines" if path.suffix.lower() in SUFFIXES else "ours"


def entries_of(line: Fields) -> list[Entry]:
    """Read a line of Lamina, Milton or Sky, which are told apart by their fields."""
    if not line.keys().isdisjoint(("layer", "kind", "occurred_at")):
        return [entries.record_entry(line)]
    if not line.keys().isdisjoint(("record_type", *milton.WRAPPERS, "agent", "request_id")):
        return milton.entries_of(line)
    return [sky.entry_of(line)]


class Form(NamedTuple):
    """A way to read files: its name, the entries of a line, and the lines of a file."""

    name: str
    entries_of: Callable[[Fields], list[Entry]]
    read: Callable[[Path], Iterator[Line]] = lines.read


LINES = Form("lines", entries_of)


def read(
    store: Store,
    source: Path,
    draft: Callable[[object], Draft],
    trusted: bool,
    actor: Actor,
    now: datetime,
    progress: Progress | None = None,
    *,
    form: Form = LINES,
    policy: Policy = Policy.SKIP,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Import every line that is a memory and is not here yet; return a report.

    The other lines are listed, and kept beside the file. A dry run does everything and then undoes
    it, so that its report is that of the import.
    """
    lines.opened(source).close()
    total = source.stat().st_size
    note = {"file": one_line(str(source))}
    with (
        suppress(DryRunOver),
        Rejects(source, keep=not dry_run) as rejects,
        store.change(actor, "import", now, note=note) as transaction,
    ):
        arrivals = Arrivals(store, transaction, draft, trusted, form.entries_of, form.name, policy)
        for number, line in enumerate(form.read(source), 1):
            for error in arrivals.take(line):
                rejects.add(line, _with_place(line, number, error.message))
            if arrivals.waiting >= BATCH:
                arrivals.flush()
            if progress is not None and number % BATCH == 0:
                progress(min(line.end, total), total)
        arrivals.finish()
        if dry_run:
            raise DryRunOver
        rejects.make_durable()
    if progress is not None:
        progress(total, total)
    return _report(form, arrivals, rejects, trusted, dry_run)


def _with_place(line: Line, number: int, message: str) -> str:
    """Say which memory a message is about if a line can hold several, as in a document."""
    return message if number <= line.number else f"memory {number} of the file: {message}"


def _report(
    form: Form, arrivals: Arrivals, rejects: Rejects, trusted: bool, dry_run: bool
) -> dict[str, Any]:
    """Report on a file. Rare outcomes are listed only if they have occurred."""
    rare = {
        "grown": arrivals.grown,
        "replaced": arrivals.replaced,
        "removed": arrivals.removed,
        "lost": dict(arrivals.lost),
        "dry_run": dry_run,
        **external(0 if trusted else arrivals.taken + arrivals.replaced),
    }
    return {
        "mode": "lines",
        "format": form.name,
        "taken": arrivals.taken,
        "skipped": arrivals.skipped,
        "rejected": rejects.listed,
        "rejected_count": rejects.count,
        "rejected_file": rejects.file,
        "pending": arrivals.pending,
        **{name: value for name, value in rare.items() if value},
    }
