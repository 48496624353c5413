"""Verify that a store holds what was written to it: the chain, then every row against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lamina.errors import Corrupt
from lamina.model import hashing
from lamina.model.clock import is_id
from lamina.model.record import Change
from lamina.store.archive import archive, file_changes
from lamina.store.archive.files import shelf
from lamina.store.core.store import Store
from lamina.store.engine.sql import Connection
from lamina.store.tables import (
    archived,
    certificates,
    grants,
    meta,
    records,
    refusals,
    rejections,
    schema_check,
    sleep,
)
from lamina.store.tables.events import ERASED_NOTES, Head, body_of, changes_of
from lamina.store.tables.reads import ReadLog
from lamina.store.tables.records import COLUMN, Row
from lamina.store.tables.trail_check import TrailState

Progress = Callable[[int, int], None]
MAX_PROBLEMS = 20


class Problem(msgspec.Struct, frozen=True):
    """Something that differs from what was written, and its place."""

    place: str
    message: str


class Report(msgspec.Struct, frozen=True):
    """The result of a check; without problems, every row is what the events say."""

    events: int
    records: int
    head: str
    problems: tuple[Problem, ...]
    uncovered: tuple[Problem, ...] = ()  # what cannot be checked, since no event covers it

    @property
    def ok(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        return {"ok": self.ok, **msgspec.to_builtins(self)}


class RecordState(msgspec.Struct):
    """The state of one record according to the events so far."""

    hash: str
    event: int
    fields: dict[str, Any]

    @property
    def is_here(self) -> bool:
        """Tell whether it is neither archived nor erased."""
        return self.fields.get("archived") is None and self.fields.get("erased") is None


class Replay:
    """Walks a chain from its seed and collects what it says about the records."""

    def __init__(self, seed: bytes) -> None:
        self.head = Head(0, 0, seed)
        self.known: dict[str, RecordState] = {}
        self.notes: dict[tuple[int, int], bytes] = {}
        self.archives: dict[Any, dict[str, Any]] = {}  # the latest statement about each
        self.grants: dict[Any, str] = {}  # the hash of each
        self.told = TrailState()

    def problems(self, connection: Connection, step: Callable[[], None]) -> Iterator[Problem]:
        """Find what is wrong with the chain, in order. Only valid links are used."""
        query = "SELECT seq, records, body, hash FROM events ORDER BY seq"
        for row in _rows(connection, query, "event"):
            step()
            if isinstance(row, Problem):
                yield row
                return
            problem = self._link(row)
            if problem is not None:
                yield Problem(f"event {row[0]}", problem)
                return

    def _link(self, row: Row) -> str | None:
        seq, last_record, body, digest = row
        if seq != self.head.seq + 1:
            return f"event {self.head.seq + 1} is missing"
        if hashing.chain_hash(self.head.hash, body.encode()) != digest:
            return "its hash does not follow from its text and the event before it"
        try:
            told = body_of(body)
        except Corrupt as error:
            return error.message
        if told.seq != seq or told.records != last_record or last_record < self.head.records:
            return "its columns differ from its text"
        for position, note in enumerate(told.notes):
            self.notes[seq, position] = note
        try:
            for gone in told.details.get(ERASED_NOTES, ()):
                self.notes.pop(tuple(gone), None)
            for said in told.details.get("archives", ()):
                self._hear_of_archive(said, told.at)
            for said in told.details.get("grants", ()):
                self._hear_of_grant(said)
            self.told.hear(told)
        except (KeyError, TypeError, AttributeError):  # a chain that was rewritten
            return "its details make no sense"
        for change in changes_of(told):
            problem = self._apply(change, seq)
            if problem is not None:
                return problem
        self.head = Head(seq, last_record, digest)
        return None

    def _hear_of_archive(self, said: Mapping[str, Any], at: int) -> None:
        """Process a statement about an archive file: it is new, replaced or gone."""
        number = said["archive"]
        if not said.get("lines"):
            self.archives.pop(number, None)
        else:
            self.archives[number] = {"made_at": at, **self.archives.get(number, {}), **said}

    def _hear_of_grant(self, said: Mapping[str, Any]) -> None:
        """Process a statement about a grant: the hash of its row, or that it was erased."""
        if said["hash"] is None:
            self.grants.pop(said["grant"], None)
        else:
            self.grants[said["grant"]] = said["hash"]

    def _apply(self, change: Change, seq: int) -> str | None:
        known = self.known.get(change.record)
        if known is None:
            if change.previous is not None:
                return f"it changes record {change.record}, which no event made"
            self.known[change.record] = RecordState(change.hash, seq, dict(change.after))
            return None
        if change.previous != known.event:
            return f"its change of record {change.record} does not follow event {known.event}"
        if any(known.fields.get(name, value) != value for name, value in change.before.items()):
            return f"its change of record {change.record} starts from values that it did not have"
        known.fields |= change.after
        known.hash, known.event = change.hash, seq
        return None


def store(
    whole: Store,
    expected: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    *,
    files: bool = True,
) -> Report:
    """Compare every row of a store with its chain, and the archive files with both."""
    while True:
        with whole.database.snapshot() as connection:
            whole.identify(connection)
            report = verify(connection, whole.seed, expected, progress)
            if not report.ok or not files:
                return report
            before = archived.files(connection)
            problems = files_differ(connection, whole.folder, progress)
            altered, uncovered = certificates_differ(connection, whole.folder)
        # Otherwise files were rewritten during the check.
        if not problems or whole.archives() == before:
            return msgspec.structs.replace(
                report,
                problems=(*problems, *altered),
                uncovered=(*report.uncovered, *uncovered),
            )


def reads(log: ReadLog, expected: Mapping[str, Any] | None = None) -> Report:
    """Check the chain of all reads written so far."""
    try:
        chain = log.chain()
        if chain is None:
            return Report(0, 0, bytes(32).hex(), missing_chain(expected))
        database, seed = chain
        with database.snapshot() as connection:
            return verify_chain(connection, seed, expected)
    except Corrupt as error:
        return Report(0, 0, bytes(32).hex(), (Problem("database", error.message),))


def verify(
    connection: Connection,
    seed: bytes,
    expected: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Check the chain, every row, tag, link and note, the schema, and a head exported earlier.

    The caller holds a transaction, so that all tables are from one moment, whatever others write.
    """
    replay = Replay(seed)
    try:
        step = _stepper(connection, progress)
        problems = list(replay.problems(connection, step))
        for check in (
            _rows_differ,
            _archive_differs,
            _erased_differ,
            _tags_differ,
            _links_differ,
            _notes_differ,
            _rejected_differ,
            _grants_differ,
            _told_differ,
            _aged_differ,
            _strays_differ,
            _meta_differs,
        ):
            # A broken chain proves nothing about rows, nor broken rows about what is derived.
            problems = problems or check(connection, replay, step)
        problems += head_differs(connection, expected) if expected else ()
        problems += [Problem(*one) for one in schema_check.problems(connection, MAX_PROBLEMS)]
        number = connection.execute("SELECT count(*) FROM records").get
    except apsw.Error as error:
        problems, number = [Problem("database", f"the file is damaged: {error}")], 0
    assert isinstance(number, int)
    uncovered = tuple(Problem(*one) for one in replay.told.uncovered)
    return Report(
        replay.head.seq, number, replay.head.hash.hex(), tuple(problems[:MAX_PROBLEMS]), uncovered
    )


def verify_chain(
    connection: Connection, seed: bytes, expected: Mapping[str, Any] | None = None
) -> Report:
    """Check a chain without records, such as that of the reads."""
    replay = Replay(seed)
    try:
        problems = list(replay.problems(connection, lambda: None)) or _notes_differ(
            connection, replay, lambda: None
        )
        problems = problems or [Problem(*one) for one in refusals.differences(connection)]
        problems += head_differs(connection, expected) if expected else ()
        problems += [Problem(*one) for one in schema_check.chain_problems(connection, MAX_PROBLEMS)]
    except apsw.Error as error:
        problems = [Problem("database", f"the file is damaged: {error}")]
    return Report(replay.head.seq, 0, replay.head.hash.hex(), tuple(problems[:MAX_PROBLEMS]))


def missing_chain(expected: Mapping[str, Any] | None) -> tuple[Problem, ...]:
    """Return what a missing chain means: nothing, unless its head was exported."""
    if expected is None or expected["seq"] == 0:
        return ()
    problem = "the exported head is not here: the trail is gone"
    return (Problem(f"event {expected['seq']}", problem),)


def head_differs(connection: Connection, expected: Mapping[str, Any]) -> list[Problem]:
    """Check that the history up to an exported head has not changed since the export."""
    seq, digest = expected["seq"], expected["hash"]
    if seq == 0:
        return []  # the head of an empty trail: anything may follow it
    found = connection.execute("SELECT hash FROM events WHERE seq = ?", (seq,)).get
    if found is None:
        problem = "the exported head is not here: the end of the trail was cut off"
    elif not isinstance(found, bytes) or found.hex() != digest:
        problem = "it differs from the exported head: the history was rewritten"
    else:
        return []
    return [Problem(f"event {seq}", problem)]


def _rows_differ(connection: Connection, replay: Replay, step: Callable[[], None]) -> list[Problem]:
    problems: list[Problem] = []
    unseen = {record_id for record_id, known in replay.known.items() if known.is_here}
    for row in _rows(connection, f"{records.SELECT} ORDER BY seq", "record"):
        step()
        if isinstance(row, Problem):
            return [*problems, row]
        record_id = row[COLUMN["id"]]
        unseen.discard(record_id)
        problem = _row_differs(row, replay)
        if problem is not None:
            problems.append(Problem(f"record {record_id}", problem))
    problems += [Problem(f"record {record_id}", "it is missing") for record_id in sorted(unseen)]
    return problems


def _row_differs(row: Row, replay: Replay) -> str | None:
    """Compare one row with what the events say about it; return what is wrong."""
    known = replay.known.get(row[COLUMN["id"]])
    if known is None:
        return "no event made it"
    if known.hash != records.row_hash(row[:-2], row[-1]).hex():
        return f"it differs from what event {known.event} left"
    if row[COLUMN["seq"]] > replay.head.records:
        return f"its number {row[COLUMN['seq']]} was never given out"
    if known.event != row[COLUMN["event"]]:
        return f"its last event is {known.event}"
    open_fields = [(COLUMN[name], value) for name, value in known.fields.items() if name in COLUMN]
    if any(row[place] != value for place, value in open_fields):
        return "its open fields differ from the events"
    return None


def _archive_differs(
    connection: Connection, replay: Replay, step: Callable[[], None]
) -> list[Problem]:
    """Compare the index of the archive with the events; its files are checked elsewhere."""
    problems: list[Problem] = []
    unseen = {
        record_id: known
        for record_id, known in replay.known.items()
        if known.fields.get("archived") is not None
    }
    query = "SELECT id, archive, hash, event FROM archived ORDER BY id"
    for row in _rows(connection, query, "archived record"):
        if isinstance(row, Problem):
            return [*problems, row]
        record_id, number, digest, event = row
        known = unseen.pop(record_id, None)
        expected = known and (known.fields["archived"], known.hash, known.event)
        if expected is None or expected != (number, digest.hex(), event):
            problems.append(Problem(f"archived record {row[0]}", "the events say otherwise"))
    problems += [
        Problem(f"archived record {record_id}", "it is missing") for record_id in sorted(unseen)
    ]
    columns = ("archive", "file", "why", "lines", "sha256", "made_at")
    told = {tuple(details.get(name) for name in columns) for details in replay.archives.values()}
    found = _fetched(connection, "SELECT number, file, why, lines, sha256, made_at FROM archives")
    if isinstance(found, Problem):
        return [*problems, found]
    found = {(*row[:4], row[4].hex(), row[5]) for row in found}
    differ = sorted(told ^ found, key=str)
    return problems + [
        Problem(f"archive {row[0]}", f"the events say otherwise about {row[1]}") for row in differ
    ]


def _erased_differ(
    connection: Connection, replay: Replay, step: Callable[[], None]
) -> list[Problem]:
    """Compare the stubs of erased records with the events."""
    told = {
        (
            record_id,
            known.fields["layer"],
            int(known.fields["private"]),
            known.fields["erased"],
            known.event,
        )
        for record_id, known in replay.known.items()
        if known.fields.get("erased") is not None
    }
    found = _fetched(connection, "SELECT id, layer, private, erasure, event FROM erased")
    if isinstance(found, Problem):
        return [found]
    return [
        Problem(f"erased record {row[0]}", "the events say otherwise")
        for row in sorted(told ^ found)
    ]


def certificates_differ(
    connection: Connection, folder: Path
) -> tuple[list[Problem], list[Problem]]:
    """Find certificate files that differ from what was certified, and those without an event."""
    problems, uncovered = certificates.files_differ(connection, folder)
    return [Problem(*one) for one in problems], [Problem(*one) for one in uncovered]


def files_differ(
    connection: Connection, folder: Path, progress: Progress | None = None
) -> list[Problem]:
    """Find differences from what was archived in the files that belong to a store."""
    step = _counter(archived.count_lines(connection), progress)
    return [
        Problem(place, message)
        for place, message in archive.damaged(shelf(connection, folder), connection, step)
    ]


def _tags_differ(connection: Connection, replay: Replay, step: Callable[[], None]) -> list[Problem]:
    derived = {
        (tag, seq)
        for seq, tags in connection.execute("SELECT seq, tags FROM records WHERE tags <> '[]'")
        for tag in records.texts(tags)
    }
    return _sets_differ(derived, _fetched(connection, "SELECT tag, record FROM tags"), "tag")


def _links_differ(
    connection: Connection, replay: Replay, step: Callable[[], None]
) -> list[Problem]:
    derived, targets = set(), set()
    query = "SELECT seq, evidence, supersedes, superseded_by FROM records"
    for seq, evidence, supersedes, superseded_by in connection.execute(query):
        derived |= {
            (target, "evidence", seq) for target in records.texts(evidence) if is_id(target)
        }
        derived |= {(target, "supersedes", seq) for target in records.texts(supersedes)}
        targets |= {superseded_by} if superseded_by is not None else set()
    targets |= {target for target, _, _ in derived}
    dangling = sorted(targets - replay.known.keys())
    problems = [Problem(f"link to {target}", "it leads to no record") for target in dangling]
    return problems + _sets_differ(
        derived, _fetched(connection, "SELECT target, relation, record FROM links"), "link"
    )


def _sets_differ(derived: set[Row], found: set[Row] | Problem, name: str) -> list[Problem]:
    if isinstance(found, Problem):
        return [found]
    problems = [
        Problem(f"{name} {row[0]!r} of record number {row[-1]}", "it is missing")
        for row in derived - found
    ]
    problems += [
        Problem(f"{name} {row[0]!r} of record number {row[-1]}", "no record has it")
        for row in found - derived
    ]
    return sorted(problems, key=lambda problem: problem.place)


def _notes_differ(
    connection: Connection, replay: Replay, step: Callable[[], None]
) -> list[Problem]:
    problems: list[Problem] = []
    expected = dict(replay.notes)
    query = "SELECT event, position, salt, body FROM notes ORDER BY event, position"
    for row in _rows(connection, query, "note of event"):
        if isinstance(row, Problem):
            return [*problems, row]
        event, position, salt, body = row
        if expected.pop((event, position), None) != hashing.salted_hash(salt, body.encode()):
            problems.append(
                Problem(f"note of event {event}", "it differs from what the event recorded")
            )
    return problems + [
        Problem(f"note of event {event}", "it is missing") for event, _ in sorted(expected)
    ]


def _rejected_differ(
    connection: Connection, replay: Replay, step: Callable[[], None]
) -> list[Problem]:
    """Compare the values that are barred with the decisions.

    A decision whose note was erased no longer says which values.
    """
    found = _fetched(connection, "SELECT fingerprint, record, user FROM rejected")
    if isinstance(found, Problem):
        return [found]
    told = set(rejections.derived(connection))
    problems = [
        Problem(f"rejected value of record {row[1]}", "it is missing") for row in told - found
    ]
    problems += [
        Problem(f"rejected value of record {row[1]}", "nobody rejected it") for row in found - told
    ]
    return sorted(problems, key=lambda problem: problem.place)


def _grants_differ(
    connection: Connection, replay: Replay, step: Callable[[], None]
) -> list[Problem]:
    """Compare what other agents may read with what was granted and ended."""
    problems: list[Problem] = []
    unseen = dict(replay.grants)
    for row in _rows(connection, f"{grants.SELECT} ORDER BY number", "grant"):
        if isinstance(row, Problem):
            return [*problems, row]
        told = unseen.pop(row[0], None)
        if told is None:
            problems.append(Problem(f"grant {row[0]}", "nobody gave it"))
        elif told != grants.digest(row):
            problems.append(Problem(f"grant {row[0]}", "it differs from what the events say"))
    return problems + [
        Problem(f"grant {number}", "it is missing") for number in sorted(unseen, key=str)
    ]


def _told_differ(connection: Connection, replay: Replay, step: Callable[[], None]) -> list[Problem]:
    """Compare erasures, certificates, what backups brought back, and counters with the events."""
    return [Problem(*one) for one in replay.told.differences(connection)]


def _aged_differ(connection: Connection, replay: Replay, step: Callable[[], None]) -> list[Problem]:
    """Compare the original importance of records with the events in which sleep adjusted it."""
    erased = {
        record_id
        for record_id, known in replay.known.items()
        if known.fields.get("erased") is not None
    }
    told = {(record, *both) for record, both in sleep.aged(connection).items()}
    found = _fetched(connection, "SELECT record, original, adjusted FROM aged")
    if isinstance(found, Problem):
        return [found]
    differ = sorted({str(row[0]) for row in told ^ found} - erased)
    return [
        Problem(f"former importance of record {record}", "the events say otherwise")
        for record in differ
    ]


def _strays_differ(
    connection: Connection, replay: Replay, step: Callable[[], None]
) -> list[Problem]:
    """Check that no file listed for removal contains memories."""
    wrong = file_changes.wrong_strays(connection)
    return [
        Problem(f"stray {file}", "it names a file that must not be removed; delete this row")
        for file in wrong
    ]


def _meta_differs(
    connection: Connection, replay: Replay, step: Callable[[], None]
) -> list[Problem]:
    """Check that `meta` has only names that this program knows."""
    names = {str(name) for (name,) in connection.execute("SELECT name FROM meta")}
    return [
        Problem(f"meta {name}", "Lamina never writes such a row")
        for name in sorted(names - meta.NAMES)
    ]


def _rows(connection: Connection, query: str, name: str) -> Iterator[Row | Problem]:
    """Yield the rows of a query; if one cannot be read, a problem is the last item."""
    last: object = "the start"
    try:
        for row in connection.execute(query):
            last = f"{name} {row[0]}"
            yield row
    except UnicodeDecodeError:
        yield Problem(f"{name} after {last}", "it holds bytes that are not text")


def _fetched(connection: Connection, query: str) -> set[Row] | Problem:
    found: set[Row] = set()
    for row in _rows(connection, query, "entry"):
        if isinstance(row, Problem):
            return row
        found.add(row)
    return found


def _stepper(connection: Connection, progress: Progress | None) -> Callable[[], None]:
    total = connection.execute(
        "SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM records)"
    ).get
    return _counter(int(str(total)), progress)


def _counter(total: int, progress: Progress | None) -> Callable[[], None]:
    done = iter(range(1, 1 << 62))

    def step() -> None:
        number = next(done)
        if progress is not None and (number % 1000 == 0 or number == total):
            progress(number, total)

    return step
