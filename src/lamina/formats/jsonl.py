"""Import of JSONL files in the forms of Sky, of Milton and of Lamina itself, line by line; others bring their own."""

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
from lamina.formats.importing import Arrivals, Policy, external
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
    """Whether a file is an export of Lamina or made of lines. What is neither is called ours, which says so."""
    with lines.opened(path) as file:
        if EXPORT.match(file.read(4096).removeprefix(lines.BOM)):
            return "ours"
    # A damaged export has lines that are objects too, but not its first.
    for line in islice(lines.read(path), 1 if path.suffix.lower() == ".json" else FIRST_LINES):
        if line.value is not None:
            return "ours" if str(line.value.get("format", "")).startswith("lamina-") else "lines"
    return "lines" if path.suffix.lower() in SUFFIXES else "ours"


def entry_of(line: Fields) -> Entry:
    """What a line says, in whichever form it is."""
    if not line.keys().isdisjoint(("layer", "kind", "occurred_at")):
        return entries.own(line)
    if not line.keys().isdisjoint(("record_type", "payload", "agent", "request_id")):
        return milton.entry_of(line)
    return sky.entry_of(line)


class Form(NamedTuple):
    """How a file is read: its name, its lines, and what a line says."""

    name: str
    entries_of: Callable[[Fields], list[Entry]]
    read: Callable[[Path], Iterator[Line]] = lines.read


LINES = Form("lines", lambda line: [entry_of(line)])


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
    """Take in every line that is a memory and is not here yet; the others are listed, and kept beside the file.

    A dry run does all of it and takes it back, so that its report is the one of the import.
    """
    lines.opened(source).close()
    total = source.stat().st_size
    note = {"file": one_line(str(source))}
    with (
        suppress(_DryRunError),
        Rejects(source, keep=not dry_run) as rejects,
        store.change(actor, "import", now, note=note) as transaction,
    ):
        arrivals = Arrivals(store, transaction, draft, trusted, form.entries_of, form.name, policy)
        for number, line in enumerate(form.read(source), 1):
            for error in arrivals.take(line):
                rejects.add(line, _placed(line, number, error.message))
            if arrivals.waiting >= BATCH:
                arrivals.flush()
            if progress is not None and number % BATCH == 0:
                progress(min(line.end, total), total)
        arrivals.finish()
        if dry_run:
            raise _DryRunError
        rejects.make_durable()
    if progress is not None:
        progress(total, total)
    return _report(form, arrivals, rejects, trusted, dry_run)


def _placed(line: Line, number: int, message: str) -> str:
    """What is wrong, and with which memory of the file where several are on one line, as in a document without line breaks."""
    return message if number <= line.number else f"memory {number} of the file: {message}"


def _report(
    form: Form, arrivals: Arrivals, rejects: Rejects, trusted: bool, dry_run: bool
) -> dict[str, Any]:
    """What came of a file. What happens seldom is said when it has happened."""
    seldom = {
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
        **{name: value for name, value in seldom.items() if value},
    }


class _DryRunError(Exception):
    """A dry run is over, and nothing of it may be kept."""
