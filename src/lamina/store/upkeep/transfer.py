"""Copy a whole memory from one database into another, row by row, and compare both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from lamina.errors import Corrupt
from lamina.store.archive.files import Shelf, shelf
from lamina.store.engine.sql import Connection, Half, rows
from lamina.store.tables import archived, fulltext, meta
from lamina.store.tables.records import COLUMNS

PAGE = 1000
OWN = (meta.ARRIVING, meta.MOVED)  # entries of `meta` about the place only
UNCHANGED = "nothing was switched"
Progress = Callable[[int, int], None]


class Table(NamedTuple):
    """A table: its columns, and those that form its key."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def select(self) -> str:
        return f"SELECT {', '.join(self.columns)} FROM {self.name}"

    @property
    def insert(self) -> str:
        columns, marks = ", ".join(self.columns), ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.name} ({columns}) VALUES ({marks})"

    def pages(self, source: Connection, after: Sequence[Any] | None = None) -> Iterator[list[Any]]:
        """Read the rows in the order of their keys, a page at a time."""
        order = f"ORDER BY {', '.join(self.key)} LIMIT {PAGE}"
        later = f"({', '.join(self.key)}) > ({', '.join('?' * len(self.key))})"
        places = [self.columns.index(name) for name in self.key]
        while True:
            if after is None:
                page = rows(source, f"{self.select} {order}")
            else:
                page = rows(source, f"{self.select} WHERE {later} {order}", tuple(after))
            if not page:
                return
            yield page
            after = [page[-1][place] for place in places]

    def last(self, source: Connection) -> Sequence[Any] | None:
        """Read the key of the last row."""
        key, order = ", ".join(self.key), ", ".join(f"{name} DESC" for name in self.key)
        last = rows(source, f"SELECT {key} FROM {self.name} ORDER BY {order} LIMIT 1")
        return last[0] if last else None

    def count(self, source: Connection) -> int:
        return int(rows(source, f"SELECT count(*) FROM {self.name}")[0][0])


RECORDS = Table("records", COLUMNS, ("seq",))
# Ordered so that rows come after what they refer to. Every change to these is an event.
TOLD = (
    Table("events", ("seq", "records", "body", "hash"), ("seq",)),
    Table("notes", ("event", "position", "salt", "body"), ("event", "position")),
    Table("archives", ("number", "file", "why", "lines", "sha256", "made_at"), ("number",)),
    Table(
        "archived",
        ("id", "user", "key", "archive", "line", "start", "bytes", "hash", "event"),
        ("id",),
    ),
    Table("erasures", ("number", "at", "todo", "certificate"), ("number",)),
    Table("erased", ("id", "layer", "private", "erasure", "event", "content", "key"), ("id",)),
    RECORDS,
    Table("tags", ("tag", "record"), ("tag", "record")),
    Table("links", ("target", "relation", "record"), ("target", "relation", "record")),
    Table("facets", ("name", "value", "record"), ("record", "name", "value")),
)
# These change without events: what the target already has may be out of date.
UNTOLD = (
    Table("spaces", ("number", "name", "dimensions", "seen", "mean"), ("number",)),
    Table("vectors", ("space", "record", "vector"), ("space", "record")),
    Table("tokens", ("space", "record", "codes"), ("space", "record")),
    Table("blocks", ("block", "columns"), ("block",)),
    Table("codes", ("space", "block", "bits"), ("space", "block")),
    Table("days", ("since", "until", "record"), ("since", "until", "record")),
    Table("models", ("name", "body", "made_at"), ("name",)),
    Table(
        "jobs",
        ("name", "tick", "started_at", "finished_at", "holder", "outcome", "failures"),
        ("name",),
    ),
    Table("rejected", ("fingerprint", "record", "user"), ("fingerprint", "record")),
    Table("proposed", ("day", "number"), ("day",)),
    Table("slept", ("one", "seq"), ("one",)),
    Table("heard", ("turn", "what"), ("turn", "what")),
    Table("aged", ("record", "original", "adjusted"), ("record",)),
    Table("reread", ("turn",), ("turn",)),
    Table(
        "grants",
        (
            "number",
            "agent",
            "user",
            "layer",
            "tag",
            "record",
            "granted_at",
            "expires_at",
            "ended_at",
            "salt",
        ),
        ("number",),
    ),
)
TABLES = TOLD + UNTOLD


class Transfer:
    """One move: from a connection and its files to another."""

    def __init__(self, source: Connection, folder: Path, progress: Progress | None = None) -> None:
        self._source = source
        self._folder = folder
        self._progress = progress
        self._total = sum(table.count(source) for table in TABLES) + 2 * RECORDS.count(source)
        self._done = 0

    def copy(self, target: Connection, folder: Path) -> None:
        """Copy what is missing, within the caller's transaction."""
        for put in self.pages(target, folder):
            put(target)

    def pages(self, there: Connection, folder: Path) -> Iterator[Callable[[Connection], None]]:
        """Yield writes that copy what is missing, in pieces that can be made durable."""
        yield lambda target: _empty(target, UNTOLD)
        for table in TABLES:
            after = table.last(there)
            if after is not None:
                self._step(table.count(there))
            for page in table.pages(self._source, after):
                yield partial(_insert, table, page)
                self._step(len(page))
        own, other = shelf(self._source, self._folder), shelf(there, folder)
        yield lambda target: self._copy_files(target, own, other)
        yield self._copy_meta
        yield fulltext.rebuild
        self._step(RECORDS.count(self._source))

    def compare(self, target: Connection, folder: Path) -> None:
        """Raise if anything differs between both, row by row and file by file."""
        for table in TABLES:
            for ours, theirs in zip_longest(_paged(table, self._source), _paged(table, target)):
                if ours is None:
                    what = f"{table.name} has more than there was: {_key(table, theirs)}"
                    raise Corrupt(f"{what}; {UNCHANGED}")
                if ours != theirs:
                    what = f"a row of {table.name} arrived as something else: {_key(table, ours)}"
                    raise Corrupt(f"{what}; {UNCHANGED}")
                if table is RECORDS:
                    self._step(1)
        own, other = shelf(self._source, self._folder), shelf(target, folder)
        for file in archived.names(self._source):
            with own.open(self._source, file) as before, other.open(target, file) as after:
                if before.read() != after.read():
                    raise Corrupt(f"{other.label(file)} arrived as something else; {UNCHANGED}")

    def _copy_files(self, target: Connection, own: Shelf, other: Shelf) -> None:
        for file in archived.names(self._source):
            other.make_ready(file)
            with own.open(self._source, file) as opened:
                body = opened.read()
            if other.has(target, file):
                with other.open(target, file) as there:
                    if there.read() == body:
                        continue
                other.remove(target, file)  # an older one, left when the memory moved away
            other.write(target, file, body.split(b"\n")[:-1])

    def _copy_meta(self, target: Connection) -> None:
        there, ours = meta.read(target), meta.read(self._source)
        # Equal values are not written: another process may have locked the row.
        changed = [row for row in ours.items() if there.get(row[0]) != row[1]]
        target.executemany(meta.PUT, [row for row in changed if row[0] not in OWN])

    def _step(self, number: int) -> None:
        self._done += number
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)


def clear(target: Connection) -> None:
    """Empty a memory on a server; the caller's transaction has checked that it is the right one."""
    target.execute("SELECT set_config('lamina.replacing', 'on', true)")
    _empty(target, TABLES)
    for name in ("files", "strays"):  # new ones will have names of their own
        target.execute(f"DELETE FROM {name}")
    fulltext.words(target).clear(target)


def _empty(target: Connection, tables: Sequence[Table]) -> None:
    for table in reversed(tables):
        target.execute(f"DELETE FROM {table.name}")


def _insert(table: Table, page: list[Any], target: Connection) -> None:
    if table.name == "vectors":
        page = [(space, record, Half(vector)) for space, record, vector in page]
    target.executemany(table.insert, page)


def _paged(table: Table, source: Connection) -> Iterator[Any]:
    for page in table.pages(source):
        yield from (tuple(row) for row in page)


def _key(table: Table, row: Sequence[Any]) -> str:
    return ", ".join(f"{name} {row[table.columns.index(name)]}" for name in table.key)
