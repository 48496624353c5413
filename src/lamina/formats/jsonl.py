"""Import of JSONL files in the forms of Sky, of Milton and of Lamina itself, line by line."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from msgspec import structs

from lamina import canon, places, rules
from lamina.clock import is_id
from lamina.errors import Conflict, InvalidInput, Refused
from lamina.formats import entries, lines, milton, sky
from lamina.formats.entries import Entry, Fields
from lamina.formats.lines import Line
from lamina.formats.rejects import Rejects
from lamina.home import user_name
from lamina.model import Actor, Draft, Layer, Trust
from lamina.store.store import Store
from lamina.store.transaction import Transaction
from lamina.text import one_line

Progress = Callable[[int, int], None]
BATCH = 500
# What is wrong with one line. Everything else is wrong with the import.
WRONG = (InvalidInput, Refused, Conflict)
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


def read(
    store: Store,
    source: Path,
    draft: Callable[[object], Draft],
    trusted: bool,
    actor: Actor,
    now: datetime,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Take in every line that is a memory and is not here yet; the others are listed, and kept beside the file."""
    lines.opened(source).close()
    total = source.stat().st_size
    with Rejects(source) as rejects, store.change(actor, "import", now, note={"file": one_line(str(source))}) as transaction:
        arrivals = Arrivals(store, transaction, draft, trusted)
        for line in lines.read(source):
            try:
                arrivals.add(line)
            except WRONG as error:
                rejects.add(line, error.message)
            if arrivals.waiting == BATCH:
                arrivals.flush()
            if progress is not None and line.number % BATCH == 0:
                progress(min(line.end, total), total)
        arrivals.flush()
        rejects.make_durable()
    if progress is not None:
        progress(total, total)
    return {
        "mode": "lines",
        "taken": arrivals.taken,
        "skipped": arrivals.skipped,
        "rejected": rejects.listed,
        "rejected_count": rejects.count,
        "rejected_file": rejects.file,
        "pending": 0,
    }


class Arrivals:
    """How lines become records: checked like any other, external unless trusted, each of them once."""

    def __init__(self, store: Store, transaction: Transaction, draft: Callable[[object], Draft], trusted: bool) -> None:
        self.taken = 0
        self.skipped = 0
        self._store = store
        self._transaction = transaction
        self._draft = draft
        self._trusted = trusted
        self._waiting: list[Draft] = []
        self._keys: dict[str, int] = {}  # of those that wait, with their lines
        self._first = 0  # the number of the first record that came from this file
        self._lines = array("Q")  # the lines of all that came, one after the other

    def add(self, line: Line) -> None:
        """Take a line in, or raise what is wrong with it."""
        if line.value is None:
            raise InvalidInput(line.problem or "this is no line")
        key = f"jsonl:{hashlib.sha256(canon.encode(line.value)).hexdigest()}"
        entry = entry_of(line.value)
        draft = self._drafted(entry, key)
        if self._is_here(key, draft, entry.id):
            self.skipped += 1
            return
        self._transaction.guard.refuse_rejected(draft)
        if self._transaction.guard.standing(draft) or any(self._is_rival(draft, one) for one in self._waiting):
            raise Conflict("something else is known there already; `lamina correct` changes what it says")
        self._waiting.append(self._resolved(draft))
        self._keys[key] = line.number

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def flush(self) -> None:
        """Store what waits."""
        made = self._transaction.insert(self._waiting)
        if made and not self._first:
            self._first = made[0].seq
        self._lines.extend(self._keys.values())
        self.taken += len(made)
        self._waiting, self._keys = [], {}

    def _drafted(self, entry: Entry, key: str) -> Draft:
        item = {**entry.item, "key": key}
        if entry.id is not None:  # where it came from, under the name by which others there refer to it
            item["evidence"] = [*item.get("evidence", ()), f"record:{entry.id}"]
        if not self._trusted:
            item["trust"] = Trust.EXTERNAL
        draft = self._draft(item)
        layer = _layer(entry, draft)
        metadata = draft.metadata
        if layer is Layer.SEMANTIC:
            metadata = rules.kept_contract(metadata, "import", draft.tags)
        rules.check_contract(layer, metadata)
        return structs.replace(draft, layer=layer, metadata=metadata, promoted_at=entry.promoted_at, user=user_name(entry.user))

    def _is_here(self, key: str, draft: Draft, record_id: str | None) -> bool:
        """Whether the store has this line already; raises when the file has it twice, or something else has its id."""
        if (waiting := self._keys.get(key)) is not None:
            raise Conflict(f"this is the same as line {waiting}")
        found = self._transaction.find_key(key, draft.user)
        if found is not None:
            if self._first and found.archived is None and found.seq >= self._first:
                raise Conflict(f"this is the same as line {self._lines[found.seq - self._first]}")
            return True
        if record_id is None or not is_id(record_id) or not self._transaction.exists(record_id):
            return False
        row = self._transaction.find(record_id)
        if row is not None and self._store.record(row).content != draft.content:
            raise Conflict(f"the record {record_id} is here with another text; `lamina correct` changes what it says")
        return True

    def _is_rival(self, one: Draft, other: Draft) -> bool:
        return places.place(one) is not None and places.place(one) == places.place(other)

    def _resolved(self, draft: Draft) -> Draft:
        """The draft, in which references to records that are not here stay as words."""
        if not draft.evidence:
            return draft
        unknown = set(self._transaction.unresolved(draft))
        return structs.replace(draft, evidence=tuple(f"record:{one}" if one in unknown else one for one in draft.evidence))


def _layer(entry: Entry, draft: Draft) -> Layer:
    """Where a memory goes: its own layer if it may be believed, else where its tier and kind lead."""
    if not entry.long:
        return Layer.SHORT_TERM
    if entry.layer is not None and draft.trust is not Trust.EXTERNAL:
        return entry.layer
    return rules.long_term_layer(draft.kind, draft.trust)
