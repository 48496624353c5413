"""Measure what this machine allows, and how near the verbs that write and search come to it.

`make limits` prints the tables. A limit is the least work that could give the same promise, done
bare in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import apsw
import numpy as np
from rich.console import Console
from rich.table import Table

import lamina
from benchmarks import lifecycle, searching
from benchmarks.speed import Floor, folder, opened, remember_each, texts, timed
from lamina import Memory
from lamina.embedders import Scale, VectorsOnly
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.tables import archived, fts5, fulltext, records
from lamina.store.tables.vectors import STEP
from lamina.text import words as text

ROUNDS = 20
EACH = 100
SAMPLE = 0.0005  # seconds between two samples of the stack
PAGE = 4096
BAR = 30
ENTRIES, PROMOTED = 10_000, 2_000
"""The number of memories that `run_once` finds waiting, and of those that it promotes."""
LOADED = 10_000
"""The number of memories that are written at once."""

# What the program is doing when the stack is sampled: the innermost function that is listed here
# decides.
REMEMBER = {
    "model.rules.Drafter.fields": "checks: the rules",
    "memory.redaction.Redaction.clean": "checks: secrets",
    "memory.importance.Importance.score": "importance",
    "store.core.transaction.Transaction.__enter__": "begin, the end of the chain",
    "store.core.transaction.Transaction._insert_some": "the record: id, hash, row",
    "store.tables.derived.follow": "words, tags, facets, links",
    "store.core.transaction.Transaction._write_event": "the event of the chain",
    "store.engine.sql.Atomic.__exit__": "commit, with its fsync",
}
SEARCH = {
    "store.index.catalogue.Catalogue.refresh": "what is new since the last search",
    "store.index.snapshot.Snapshot.allowed": "the filter",
    "store.index.snapshot.Snapshot.holding": "words in FTS5",
    "search.bm25.around": "words: BM25, also of neighbouring turns",
    "search.similarity._vector": "the question's vector",
    "store.tables.vectors.SignBits.distances": "meaning: scan of all bits",
    "search.similarity.Similarity.__init__": "meaning: estimates",
    "search.similarity.Similarity.exact": "meaning: exact cosines",
    "store.index.snapshot.Snapshot.exact": "meaning: vectors read from the store",
    "search.hybrid._candidates": "the best candidates",
    "search.hybrid._parts": "who, when, session, length …",
    "search.answerable.Evidence.confidence": "is it an answer at all",
    "search.renewal.lifts": "what has been said anew",
    "search.hits.hits": "the records themselves",
}
LOAD = {
    "model.rules.Drafter.fields": "checks: the rules",
    "memory.redaction.Redaction.clean_all": "checks: secrets",
    "memory.importance.Importance.score": "importance",
    "store.core.transaction.Transaction._insert_some": "records: ids, hashes, rows",
    "store.tables.derived.follow": "words, tags, facets, links",
    "store.core.transaction.Transaction._write_event": "events of the chain",
    "store.index.writing.waiting": "texts read back for their vectors",
    "search.indexing.passages": "vectors looked up",
    "store.index.writing.embedded": "vectors written",
    "store.index.writing._write_block": "blocks: dates, cues, lengths, columns",
    "store.index.writing._write_codes": "bits of vectors",
    "store.engine.sql.Atomic.__exit__": "commits, with their fsync",
}
RUN_ONCE = {
    "memory.lifecycle.Lifecycle.plan": "the plan",
    "memory.lifecycle.Lifecycle._promote": "promotion",
    "store.core.transaction.Transaction.update": "promotion: row and event",
    "store.core.transaction.Transaction._index_anew": "promotion: words and facets anew",
    "store.archive.archive.Archive.add": "archive",
    "store.archive.files.Folder.write": "archive: the file",
    "store.core.transaction.Transaction.archive": "archive: rows leave the store",
    "store.core.transaction.Transaction._write_event": "events of the chain",
    "store.engine.sql.Atomic.__exit__": "commits, with their fsync",
}


class Verb(NamedTuple):
    """The result for a verb: its seconds, its limit and what that is, and how its time divides."""

    name: str
    took: float
    limit: float
    least: str
    parts: Mapping[str, float]


class Sampler:
    """Samples the stack many times a second, and counts which part of the work is being done."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.counted: Counter[str] = Counter()
        self._labels = labels

    @contextmanager
    def running(self) -> Iterator[None]:
        """Sample while the caller works; a call into C counts for its caller, when it returns."""
        before = signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, SAMPLE, SAMPLE)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _look(self, _number: int, frame: FrameType | None) -> None:
        while frame is not None:
            module = str(frame.f_globals.get("__name__", "")).removeprefix("lamina.")
            label = self._labels.get(f"{module}.{frame.f_code.co_qualname}")
            if label is not None:
                self.counted[label] += 1
                return
            frame = frame.f_back
        self.counted["everything else"] += 1

    def shares(self) -> dict[str, float]:
        """Return the share of each part, in the order of the labels."""
        total = max(1, self.counted.total())
        named = [*dict.fromkeys(self._labels.values()), "everything else"]
        return {label: self.counted[label] / total for label in named}


def machine(path: Path) -> dict[str, str]:
    """Measure the maximum performance of the machine."""
    return {
        "fdatasync of a page at the end of a file": f"{1e6 * synced(path):,.0f} µs",
        "bare SQLite, one durable commit of a row": f"{1e6 * committed(path):,.0f} µs",
        "FTS5, rows added in one transaction": f"{1 / indexed(path):,.0f} /s",
        "FTS5, rows read that hold a word": f"{read_postings(path) / 1e6:,.1f} million/s",
        "memory, read in order": f"{bandwidth() / 1e9:,.1f} GB/s",
        "memory, bits compared (xor and count)": f"{popcount() / 1e9:,.1f} GB/s",
    }


def synced(path: Path) -> float:
    file = os.open(path / "synced", os.O_CREAT | os.O_WRONLY)
    taken = []
    for _ in range(300):
        os.write(file, bytes(PAGE))
        taken.append(timed(os.fdatasync, file))
    os.close(file)
    return statistics.median(taken)


def committed(path: Path) -> float:
    connection = apsw.Connection(str(path / "commits.db"))
    connection.execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (n INTEGER)"
    ).fetchall()
    taken = [timed(connection.execute, "INSERT INTO t VALUES (?)", (n,)) for n in range(300)]
    connection.close()
    return statistics.median(taken)


def indexed(path: Path) -> float:
    contents = texts(20_000)
    floor = Floor(path, "FULL")
    entries = [(number, content, "", "") for number, content in enumerate(contents, 1)]

    def work() -> None:
        with floor.connection:
            floor.connection.executemany(fts5.INSERT, entries)

    took = timed(work)
    floor.close()
    return took / len(contents)


def read_postings(path: Path) -> float:
    """Measure the rows per second for the most common words."""
    connection = apsw.Connection(str(path / "floor.db"))
    words = Counter(word for content in texts(2_000) for word in content.split()).most_common(20)
    started, number = time.perf_counter(), 0
    for word, _ in words:
        found = connection.execute(
            "SELECT group_concat(rowid) FROM words WHERE words MATCH ?", (f'"{word}"',)
        ).get
        number += str(found).count(",") + 1
    took = time.perf_counter() - started
    connection.close()
    return number / took


def bandwidth() -> float:
    numbers = np.ones(1 << 25, np.uint64)
    return numbers.nbytes / min(timed(numbers.sum) for _ in range(5))


def popcount() -> float:
    """Measure it in pieces that fit into the processor's cache, as in a search."""
    numbers = np.arange(1 << 22, dtype=np.uint64)

    def work() -> None:
        _compare(numbers)

    return numbers.nbytes / min(timed(work) for _ in range(5))


def _compare(bits: Any) -> None:
    for start in range(0, len(bits), STEP):
        np.bitwise_count(bits[start : start + STEP] ^ np.uint64(77))


def remembered(path: Path) -> Verb:
    """Store one durable memory, beside a bare durable commit of the same row with its words."""
    contents = texts(EACH * (ROUNDS + 1) * 2)
    bare, ours = [], []
    sampler = Sampler(REMEMBER)
    floor, memory = Floor(path, "FULL"), opened(path, "FULL")
    for turn in range(ROUNDS + 1):
        part = contents[turn * EACH : (turn + 1) * EACH]
        rows = floor.rows(part, turn * EACH + 1)
        bare.append(timed(floor.add_each, rows, part) / EACH)
        ours.append(timed(remember_each, memory, part) / EACH)
    with sampler.running():
        remember_each(memory, contents[len(contents) // 2 :])
    floor.close()
    memory.close()
    least = "bare SQLite: the same row, its words, one durable commit"
    return Verb(
        "remember",
        statistics.median(ours[1:]),
        statistics.median(bare[1:]),
        least,
        sampler.shares(),
    )


class Given(VectorsOnly):
    """An embedder that has all vectors in advance, and returns them one after the other."""

    name = "given"
    dimensions = 256
    scale = Scale(0.0, 0.1)

    def __init__(self) -> None:
        self._rows = np.random.default_rng(5).standard_normal((LOADED, 256), np.float32)

    def embed(self, texts: Sequence[str]) -> Any:
        return self._rows[: len(texts)]


def loaded(path: Path) -> Verb:
    """Load many memories until all can be searched, beside the bare statements and hashes."""
    items = [
        {"content": content, "tags": [f"u{n % 100}"], "metadata": {"number": n}}
        for n, content in enumerate(texts(LOADED))
    ]
    ours, bare = [], []
    sampler = Sampler(LOAD)
    for turn in range(6):
        place = path / str(turn)
        with opened(place, "FULL") as memory:
            recall = memory._scope.recall  # noqa: SLF001 - only a benchmark may set vectors
            recall.__dict__["embedders"] = (Given(),)
            memory.remember("the first")  # what is loaded with it is not measured
            memory.index()
            with sampler.running() if turn == 5 else nullcontext():
                ours.append(timed(_load, memory, items))
            bare.append(_least_load(_reader(memory), place / "bare.db"))
    least = "bare SQLite: the same rows, words, vectors and blocks, their hashes, two commits"
    name = f"remember_many and index, {LOADED:,} memories, vectors given"
    return Verb(
        name, statistics.median(ours[:5]), statistics.median(bare[:5]), least, sampler.shares()
    )


def _load(memory: Memory, items: Sequence[Mapping[str, Any]]) -> None:
    memory.remember_many(items)
    memory.index()


def _least_load(source: apsw.Connection, file: Path) -> float:
    """Write the content of a store into tables of the same kind."""
    schema = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'words~_%'"
    connection = apsw.Connection(str(file))
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL").fetchall()
    connection.wal_autocheckpoint(2000)
    made = source.execute(f"{schema} ESCAPE '~' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'")
    for (statement,) in made.fetchall():
        connection.execute(str(statement))
    connection.execute(f"INSERT INTO words (words, rank) VALUES ('hashsize', {1 << 24})")
    written: list[Any] = source.execute(records.SELECT).fetchall()
    content, tags = records.COLUMN["content"], records.COLUMN["tags"]
    words = [(row[0], row[content], " ".join(records.texts(row[tags])), "") for row in written]
    parts = [
        [(table, source.execute(f"SELECT * FROM {table}").fetchall()) for table in tables]
        for tables in (("tags", "facets", "events"), ("vectors", "codes", "blocks", "days"))
    ]
    started = time.perf_counter()
    for row in written:
        records.row_hash(row[:-2], row[-1])
    with connection:
        connection.executemany(records.INSERT, written)
        connection.executemany(fts5.INSERT, words)
        _insert(connection, parts[0])
    with connection:
        _insert(connection, parts[1])
    took = time.perf_counter() - started
    connection.close()
    return took


def _insert(connection: apsw.Connection, parts: Sequence[tuple[str, Sequence[Any]]]) -> None:
    for table, found in parts:
        for row in found[:1]:
            marks = ", ".join("?" * len(row))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", found)


def searched(path: Path, number: int) -> Verb:
    """Search, beside reading its words from FTS5, one pass over all vectors' bits, and ten rows."""
    searching.filled(path, number)
    with lamina.open("default", home=path) as memory:
        connection = _reader(memory)
        questions = searching.questions(number)
        bits = [np.zeros(number, np.uint64) for _ in range(4)]
        taken: dict[str, list[float]] = {"ours": [], "bare": []}
        memory.search("warm up")
        for question in questions * 2:
            taken["bare"].append(timed(_least_search, connection, question, bits))
            taken["ours"].append(timed(memory.search, question))
        sampler = Sampler(SEARCH)
        with sampler.running():
            for question in questions * 3:
                memory.search(question)
    ours, bare = statistics.median(taken["ours"]), statistics.median(taken["bare"])
    least = "the question's words in FTS5, one pass over the bits of all vectors, ten rows"
    return Verb(f"search, {number:,} memories", ours, bare, least, sampler.shares())


def _reader(memory: Memory) -> apsw.Connection:
    database = memory._scope.store.database  # noqa: SLF001 - the same file, without Lamina
    assert isinstance(database, SqliteDatabase)
    return apsw.Connection(str(database.path), flags=apsw.SQLITE_OPEN_READONLY)


def _least_search(connection: apsw.Connection, question: str, bits: Sequence[Any]) -> None:
    for word in text.terms(question):
        fulltext.holding(connection, word)
    for word in bits:
        _compare(word)
    ten = json.dumps(list(range(1, 11)))
    connection.execute(
        f"{records.SELECT} WHERE seq IN (SELECT value FROM json_each(?))", (ten,)
    ).fetchall()


def ran(path: Path) -> Verb:
    """Run once over many entries, beside the bare statements and the file that this needs."""
    ours, bare = [], []
    sampler = Sampler(RUN_ONCE)
    for turn in range(6):
        place = path / str(turn)
        with lifecycle.filled(place, ENTRIES, PROMOTED) as memory:
            memory.index()
            copy = place / "bare.db"
            _reader(memory).execute("VACUUM INTO ?", (str(copy),))
            bare.append(_least_run(copy, place / "bare.jsonl"))
            if turn < 5:
                ours.append(timed(memory.run_once))
                continue
            with sampler.running():
                memory.run_once()
    least = (
        "bare SQLite: the rows changed, moved and deleted, their words, one file of lines,"
        " three durable commits"
    )
    name = f"run_once, {ENTRIES:,} entries, {PROMOTED:,} move up, 3,000 leave"
    return Verb(name, statistics.median(ours), statistics.median(bare[:5]), least, sampler.shares())


def _least_run(copy: Path, file: Path) -> float:
    connection = apsw.Connection(str(copy))
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL").fetchall()
    rows: list[Any] = connection.execute(f"{records.SELECT} ORDER BY seq").fetchall()
    importance = records.COLUMN["importance"]
    up = [row for row in rows if row[importance] > 0.5]
    out = [row for row in rows if row[importance] <= 0.5][: ENTRIES - PROMOTED - 5_000]
    started = time.perf_counter()
    with connection:
        update = (
            "UPDATE records SET layer = 'semantic', promoted_at = ?, updated_at = ?, metadata = ?,"
            " event = ? WHERE seq = ?"
        )
        connection.executemany(
            update, [(1, 1, row[records.COLUMN["metadata"]], 9, row[0]) for row in up]
        )
        words = [(row[0], row[records.COLUMN["content"]], "", "") for row in up]
        connection.executemany(fts5.REPLACE, words)
    with file.open("wb") as stream:
        stream.writelines(json.dumps(row[:-1]).encode() + b"\n" for row in out)
        stream.flush()
        os.fsync(stream.fileno())
    with connection:
        places = [
            (row[1], None, None, 1, line, 0, 9, bytes(32), 9) for line, row in enumerate(out, 1)
        ]
        connection.executemany(archived.INSERT, places)
        connection.executemany("DELETE FROM words WHERE rowid = ?", [(row[0],) for row in out])
        connection.executemany(
            "DELETE FROM vectors WHERE space = 1 AND record = ?", [(row[0],) for row in out]
        )
        tags = [(tag, row[0]) for row in out for tag in records.texts(row[records.COLUMN["tags"]])]
        connection.executemany("DELETE FROM tags WHERE tag = ? AND record = ?", tags)
        connection.executemany("DELETE FROM records WHERE seq = ?", [(row[0],) for row in out])
    took = time.perf_counter() - started
    connection.close()
    return took


def show(console: Console, verbs: Sequence[Verb]) -> None:
    table = Table(title="Beside their limits, medians of interleaved rounds", title_justify="left")
    for name in ("verb", "takes", "limit", "ratio", "the limit is"):
        table.add_column(name, justify="left" if name in ("verb", "the limit is") else "right")
    for verb in verbs:
        table.add_row(
            verb.name,
            shown(verb.took),
            shown(verb.limit),
            f"{verb.took / verb.limit:.2f}×",
            verb.least,
        )
    console.print(table)
    for verb in verbs:
        parts = Table(
            title=f"{verb.name}: {shown(verb.took)}", title_justify="left", show_header=False
        )
        for label, share in verb.parts.items():
            parts.add_row(label, shown(share * verb.took), f"{share:.0%}", "█" * round(share * BAR))
        console.print(parts)


def shown(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.1f} ms"


def measured(sizes: Sequence[int]) -> Iterator[Verb]:
    works: list[Callable[[Path], Verb]] = [remembered, loaded, ran]
    for work in works:
        with folder() as path:
            yield work(path)
    for number in sizes:
        with folder() as path:
            yield searched(path, number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=[10_000, 100_000], help="memories to search in"
    )
    given = parser.parse_args()
    console = Console(width=140)
    sqlite, python = apsw.sqlite_lib_version(), sys.version.split()[0]
    versions = f"Python {python}, SQLite {sqlite}, Lamina {lamina.__version__}"
    table = Table(title=f"The machine, {versions}", title_justify="left")
    table.add_column("what")
    table.add_column("limit", justify="right")
    with folder() as path:
        for what, limit in machine(path).items():
            table.add_row(what, limit)
    console.print(table)
    show(console, list(measured(given.sizes)))


if __name__ == "__main__":
    main()
