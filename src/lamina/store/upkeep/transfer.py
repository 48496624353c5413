"""A whole memory from one database into another, row by row: only the place differs afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from lamina.errors import Corrupt
from lamina.store.archive.files import Shelf, shelf
from lamina.store.engine.sql import Connection, Half, rows
from lamina.store.tables import fulltext, meta
from lamina.store.tables.records import COLUMNS

PAGE = 1000
OWN = (meta.ARRIVING, meta.MOVED)  # what `meta` says of the place alone
Progress = Callable[[int, int], None]


class Table(NamedTuple):
    """A table: its columns, and by which of them a row is known."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def select(self) -> str:
        return f"SELECT {', '.join(self.columns)} FROM {self.name}"

    @property
    def insert(self) -> str:
        return f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES ({', '.join('?' * len(self.columns))})"

    def pages(self, source: Connection, after: Sequence[Any] | None = None) -> Iterator[list[Any]]:
        """The rows in the order of their keys, some at a time."""
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
        """The key of the last row."""
        order = ", ".join(f"{name} DESC" for name in self.key)
        found = rows(
            source, f"SELECT {', '.join(self.key)} FROM {self.name} ORDER BY {order} LIMIT 1"
        )
        return found[0] if found else None

    def count(self, source: Connection) -> int:
        return int(rows(source, f"SELECT count(*) FROM {self.name}")[0][0])


RECORDS = Table("records", COLUMNS, ("seq",))
# In this order what refers to something comes after it. Every change of these is an event.
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
# These change without one: what is there of them may be old already.
UNTOLD = (
    Table("spaces", ("number", "name", "dimensions", "seen"), ("number",)),
    Table("vectors", ("space", "record", "vector"), ("space", "record")),
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
META = Table("meta", ("name", "value"), ("name",))


class Transfer:
    """One move: from a connection, and its files, to another."""

    def __init__(self, source: Connection, folder: Path, progress: Progress | None = None) -> None:
        self._source = source
        self._folder = folder
        self._progress = progress
        self._total = sum(table.count(source) for table in TABLES) + 2 * RECORDS.count(source)
        self._done = 0

    def copy(self, target: Connection, folder: Path) -> None:
        """Bring over what is not there yet, within the caller's transaction."""
        for put in self.pages(target, folder):
            put(target)

    def pages(self, there: Connection, folder: Path) -> Iterator[Callable[[Connection], None]]:
        """What has to be put to bring over what is not there yet: piece by piece, so that each may be made durable."""
        yield lambda target: _empty(target, UNTOLD)
        for table in TABLES:
            after = table.last(there)
            if after is not None:
                self._step(table.count(there))
            for page in table.pages(self._source, after):
                yield lambda target, table=table, page=page: target.executemany(
                    table.insert, _typed(table, page)
                )  # type: ignore[misc]
                self._step(len(page))
        own, other = shelf(self._source, self._folder), shelf(there, folder)
        yield lambda target: self._copy_files(target, own, other)
        yield self._copy_meta
        yield fulltext.rebuild
        self._step(RECORDS.count(self._source))

    def compare(self, target: Connection, folder: Path) -> None:
        """Raise when anything is not the same in both, row by row and file by file."""
        for table in TABLES:
            for ours, theirs in zip_longest(_paged(table, self._source), _paged(table, target)):
                if ours is None:
                    raise Corrupt(
                        f"{table.name} has more than there was: {_keyed(table, theirs)}; nothing was switched"
                    )
                if ours != theirs:
                    raise Corrupt(
                        f"a row of {table.name} arrived as something else: {_keyed(table, ours)}; nothing was switched"
                    )
                if table is RECORDS:
                    self._step(1)
        own, other = shelf(self._source, self._folder), shelf(target, folder)
        for (file,) in rows(self._source, "SELECT file FROM archives"):
            with own.open(self._source, file) as before, other.open(target, file) as after:
                if before.read() != after.read():
                    raise Corrupt(
                        f"{other.label(file)} arrived as something else; nothing was switched"
                    )

    def _copy_files(self, target: Connection, own: Shelf, other: Shelf) -> None:
        for (file,) in rows(self._source, "SELECT file FROM archives ORDER BY number"):
            other.make_ready(file)
            with own.open(self._source, file) as opened:
                body = opened.read()
            if other.has(target, file):
                with other.open(target, file) as there:
                    if there.read() == body:
                        continue
                other.remove(
                    target, file
                )  # an older one, which was left when the memory moved away
            other.write(target, file, body.split(b"\n")[:-1])

    def _copy_meta(self, target: Connection) -> None:
        there = dict(
            rows(target, META.select)
        )  # what is the same stays untouched: somebody may hold that row
        found = [
            (name, value) for name, value in rows(self._source, META.select) if name not in OWN
        ]
        target.executemany(meta.PUT, [row for row in found if there.get(row[0]) != row[1]])

    def _step(self, number: int) -> None:
        self._done += number
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)


def clear(target: Connection) -> None:
    """Leave nothing of a memory on a server, within the caller's transaction, which has made sure that it is meant."""
    target.execute("SELECT set_config('lamina.replacing', 'on', true)")
    _empty(target, TABLES)
    for name in ("files", "strays"):  # those that come bear names of their own
        target.execute(f"DELETE FROM {name}")
    fulltext.words(target).clear(target)


def _empty(target: Connection, tables: Sequence[Table]) -> None:
    for table in reversed(tables):
        target.execute(f"DELETE FROM {table.name}")


def _typed(table: Table, page: list[Any]) -> list[Any]:
    return [(*row[:2], Half(row[2])) for row in page] if table.name == "vectors" else page


def _paged(table: Table, source: Connection) -> Iterator[Any]:
    for page in table.pages(source):
        yield from (tuple(row) for row in page)


def _keyed(table: Table, row: Sequence[Any]) -> str:
    return ", ".join(f"{name} {row[table.columns.index(name)]}" for name in table.key)
