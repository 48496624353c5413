"""Plan an erasure: which records are meant, what rests on them, and what happens to that."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import msgspec

from lamina.model import erased_words, hashing
from lamina.model.erased_words import Signature, Trace, Verdict
from lamina.model.record import Record, Trust
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import (
    archived,
    certificates,
    erased,
    events,
    facets,
    fulltext,
    meta,
    records,
    trail_check,
)
from lamina.store.tables.records import COLUMN, Row
from lamina.text import words

if TYPE_CHECKING:
    from lamina.store.core.store import Store

EVERY = 1 << 31
# Records examined for a word, each of which may contain a different word with the same stem.
LOOKED_AT = 20
CERTIFICATES = certificates.FOLDER
UNFINISHED = "an erasure is not finished; run `lamina erase --resume`"
# Actions by which an operator writes something in their own words.
WRITING = frozenset({"remember", "correct", "profile.upsert"})
TAKEN_FROM = "what goes was taken from it, and it may say the same"
NAMED = ("speaker", "source", "session", "user", "kind")


class ErasureRequest(msgspec.Struct, frozen=True):
    """The records to erase: some by id, or all of one session, user, source or project."""

    ids: tuple[str, ...] = ()
    session: str | None = None
    user: str | None = None
    source: str | None = None
    scope: str | None = None  # the only user whose memories may be erased
    project: str | None = None

    @property
    def what(self) -> str:
        """The kind of what is erased, in one word, without saying whose or which."""
        if self.ids:
            return "records"
        if self.user is not None:
            return "user"
        if self.project is not None:
            return "project"
        return "source" if self.session is None else "session"

    def takes(
        self,
        user: str | None,
        session: str | None,
        source: str | None,
        projects: Collection[str],
    ) -> bool:
        """Tell whether a record is one of these, if they are not named by id."""
        if self.scope is not None and user != self.scope:
            return False
        if self.user is not None:
            return user == self.user
        if self.session is not None:
            return session == self.session
        if self.project is not None:
            return self.project in projects
        if self.source is None or source is None:
            return False
        return words.normalise(source) == words.normalise(self.source)


class ArchivedLine(msgspec.Struct, frozen=True):
    """The part of an archive line that an erasure reads."""

    id: str
    layer: str
    content: str
    tags: list[str]
    metadata: dict[str, Any]
    evidence: list[str]
    user: str | None = None
    speaker: str | None = None
    source: str | None = None
    session: str | None = None
    key: str | None = None


class Plan(msgspec.Struct, frozen=True):
    """The records that an erasure was asked for, and what happens to those that rest on them."""

    chosen: list[str]
    verdicts: list[Verdict]
    archived: list[str]  # those of the erased records that are archived

    @property
    def goes(self) -> list[str]:
        """The ids of all records that are erased."""
        return [*self.chosen, *(verdict.id for verdict in self.verdicts if verdict.goes)]

    @property
    def kept(self) -> list[Verdict]:
        """The related records that stay, each with the reason."""
        return [verdict for verdict in self.verdicts if not verdict.goes]


class Certified(msgspec.Struct, frozen=True):
    """The part of a certificate that names the erased records."""

    records: list[str]


def remains(store: Store, record_id: str, user: str | None) -> Record | None:
    """Build a record from what remains of an erased one, if this user may know about it."""
    with store.read() as db:
        stub = erased.find(db, record_id)
    if stub is None or (user is not None and stub.private):
        return None
    return stub.record(store.agent)


def plan(store: Store, connection: Connection, wanted: ErasureRequest) -> Plan:
    """Plan what an erasure does, at one moment of the store."""
    lines = _lines(store)
    chosen = _chosen(connection, wanted, lines)
    resting = _resting(connection, chosen, lines)
    traces = {trace.id: trace for trace in _traces(connection, [*chosen, *resting], lines)}
    others = OtherRecords(connection, traces, lines)
    own = {word for word in erased_words.words(traces.values()) if not others.have_word(word)}
    verdicts = erased_words.verdicts(
        [traces[record_id] for record_id in chosen],
        [traces[record_id] for record_id in resting],
        own,
    )
    going = {*chosen, *(verdict.id for verdict in verdicts if verdict.goes)}
    versions = [one for one in _versions(connection, chosen) if one not in going]
    verdicts += [Verdict(record_id, False, "another version of it") for record_id in versions]
    flagged = {*going, *(verdict.id for verdict in verdicts)}
    sources = dict.fromkeys(source for one in chosen for source in traces[one].sources)
    there = {*_present(connection, list(sources)), *lines} - flagged
    verdicts += [Verdict(source, False, TAKEN_FROM) for source in sources if source in there]
    return Plan(chosen, verdicts, [record_id for record_id in going if record_id in lines])


def signature(store: Store, connection: Connection, gone: Collection[Trace]) -> Signature:
    """Find the words that will identify records when they are gone: those in no other record."""
    others = OtherRecords(connection, {trace.id: trace for trace in gone}, _lines(store))
    return Signature(
        frozenset(word for word in erased_words.words(gone) if not others.have_word(word)),
        frozenset(run for run in erased_words.runs(gone) if not others.have_run(run)),
    )


class OtherRecords:
    """The texts of all other records, archived or not."""

    def __init__(
        self,
        connection: Connection,
        without: Mapping[str, Trace],
        lines: Mapping[str, ArchivedLine],
    ) -> None:
        self._connection = connection
        self._without = _numbers(connection, without)
        others = [
            erased_words.trace(msgspec.structs.asdict(line))
            for name, line in lines.items()
            if name not in without
        ]
        self._words = erased_words.words(others) | _names(connection, without)
        self._runs = erased_words.runs(others)

    def have_word(self, word: str) -> bool:
        """Tell whether one of them contains a word; words with the same stem do not count."""
        if word in self._words:
            return True
        return any(word in words.tokens(text) for text in self._holding(word))

    def have_run(self, run: str) -> bool:
        """Tell whether one of them contains a sequence of words."""
        if run in self._runs:
            return True
        rows_of_words = (" ".join(words.row(text)) for text in self._holding(run))
        return any(f" {run} " in f" {row} " for row in rows_of_words)

    def _holding(self, phrase: str) -> Iterator[str]:
        """Read texts of other records that seem to contain a word or a sequence of words."""
        limit = len(self._without) + LOOKED_AT
        index = fulltext.words(self._connection)
        found = index.matching(self._connection, [words.analyse(phrase)], limit)
        for number in [one for one in found if one not in self._without][:LOOKED_AT]:
            row = records.by_number(self._connection, number)
            if row is not None:
                yield from _trace_of(self._connection, row, judged=False).texts


def _versions(connection: Connection, ids: Collection[str]) -> list[str]:
    """Find everything that some records have superseded, and everything that superseded them."""
    query = (
        "SELECT r.id FROM links l JOIN records r ON r.seq = l.record"
        " WHERE l.relation = 'supersedes' AND l.target = ?1"
        " UNION SELECT e.value FROM records r, json_each(r.supersedes) e WHERE r.id = ?1"
    )
    found: dict[str, None] = {}
    fresh = list(ids)
    while fresh:
        for (one,) in rows(connection, query, (fresh.pop(),)):
            if one not in found and one not in ids:
                found[one] = None
                fresh.append(one)
    return [one for one in found if not erased.is_erased(connection, one)]


def texts_of(connection: Connection, store: Store, ids: Collection[str]) -> list[Trace]:
    """Read the texts of some records, wherever they are."""
    return _traces(connection, ids, _lines(store))


def _chosen(
    connection: Connection, wanted: ErasureRequest, lines: Mapping[str, ArchivedLine]
) -> list[str]:
    if wanted.ids:
        there = _present(connection, wanted.ids)
        return [one for one in dict.fromkeys(wanted.ids) if one in there or one in lines]
    query = (
        "SELECT id, user, session, source, metadata FROM records"
        " WHERE user IS NOT DISTINCT FROM ?1 OR session = ?2 OR source IS NOT NULL"
        f" OR seq IN ({records.OF_PROJECT.replace('?', '?3')}) ORDER BY seq"
    )
    named = rows(connection, query, (wanted.user, wanted.session, wanted.project))
    stored = [
        record_id
        for record_id, user, session, source, metadata in named
        if wanted.takes(user, session, source, facets.projects(hashing.decode(metadata)))
    ]
    archived = [
        line.id
        for line in lines.values()
        if wanted.takes(line.user, line.session, line.source, facets.projects(line.metadata))
    ]
    return stored + archived


def _resting(
    connection: Connection, chosen: Sequence[str], lines: Mapping[str, ArchivedLine]
) -> list[str]:
    """Find everything that rests on these, directly or indirectly."""
    above: dict[str, list[str]] = {}
    for line in lines.values():
        for target in line.evidence:
            above.setdefault(target, []).append(line.id)
    query = (
        "SELECT r.id FROM links l JOIN records r ON r.seq = l.record"
        " WHERE l.relation = 'evidence' AND l.target = ?"
    )
    found: dict[str, None] = {}
    fresh = list(chosen)
    while fresh:
        target = fresh.pop()
        stored = [record_id for (record_id,) in rows(connection, query, (target,))]
        for record_id in [*stored, *above.get(target, ())]:
            if record_id not in found and record_id not in chosen:
                found[record_id] = None
                fresh.append(record_id)
    return list(found)


def _traces(
    connection: Connection, ids: Collection[str], lines: Mapping[str, ArchivedLine]
) -> list[Trace]:
    found = [
        _trace_of(connection, row) for row in records.rows_of(connection, records.SELECT, list(ids))
    ]
    return found + [
        erased_words.trace(msgspec.structs.asdict(lines[one])) for one in ids if one in lines
    ]


def _trace_of(connection: Connection, row: Row, *, judged: bool = True) -> Trace:
    fields = dict(zip(records.COLUMNS, row, strict=True))
    for name in ("tags", "metadata", "evidence"):
        fields[name] = hashing.decode(fields[name])
    is_vouched = judged and fields["trust"] == Trust.OPERATOR and _is_written(connection, row)
    return erased_words.trace(fields, is_vouched=is_vouched)


def _is_written(connection: Connection, row: Row) -> bool:
    """Tell whether an operator wrote this in their own words, by the event that created it."""
    trail = list(events.trail(events.Book(connection), row[COLUMN["id"]], row[COLUMN["event"]]))
    return bool(trail) and trail[-1].action in WRITING


def _present(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Return which of some records are in the store and not archived."""
    return {name for (name,) in records.rows_of(connection, "SELECT id FROM records", ids)}


def _numbers(connection: Connection, ids: Collection[str]) -> set[int]:
    return {
        number for (number,) in records.rows_of(connection, "SELECT seq FROM records", list(ids))
    }


def _names(connection: Connection, without: Collection[str]) -> set[str]:
    """Collect the words of names: of speakers, sources, sessions, users and tables."""
    found: set[str] = set()
    if isinstance(connection, apsw.Connection):  # a file contains the statements of its schema
        for (sql,) in rows(connection, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"):
            found |= words.tokens(sql)
    own = json.dumps(list(without))
    for name in NAMED:
        query = (
            f"SELECT DISTINCT {name} FROM records WHERE {name} IS NOT NULL"
            " AND id NOT IN (SELECT value FROM json_each(?))"
        )
        for (value,) in rows(connection, query, (own,)):
            found |= words.tokens(value)
    return found


def count_of(store: Store, user: str) -> int:
    """Count the records of this user alone, archived or not."""
    query = (
        "SELECT (SELECT count(*) FROM records WHERE user = ?1)"
        " + (SELECT count(*) FROM archived WHERE user = ?1)"
    )
    with store.read() as db:
        number = db.execute(query, (user,)).get
    return number if isinstance(number, int) else 0


def naming(connection: Connection, name: str) -> set[str]:
    """Find the records whose text or speaker contains a name."""
    held = fulltext.words(connection).matching(connection, words.asked(name), EVERY)
    query = (
        "SELECT id FROM records WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))"
        " OR (speaker IS NOT NULL AND lower(speaker) = ?2)"
    )
    # ASCII only, as in a file; a server would use its locale.
    small = name.encode().lower().decode()
    return {one for (one,) in rows(connection, query, (json.dumps(held), small))}


def _lines(store: Store) -> dict[str, ArchivedLine]:
    """Read the whole archive, by the ids of its records."""
    decode = msgspec.json.Decoder(ArchivedLine).decode
    lines = (decode(line) for _, _, line in store.archived_lines())
    return {line.id: line for line in lines}


def notes_about(
    connection: Connection, told: Collection[int], known: Signature
) -> list[tuple[int, int]]:
    """Find the notes of some events, and those that contain words of the erased records."""
    found: set[tuple[int, int]] = set()
    for event, position, body in rows(connection, "SELECT event, position, body FROM notes"):
        if event in told or known.is_among(erased_words.strings(hashing.decode(body))):
            found.add((event, position))
    return sorted(found)


def events_about(connection: Connection, ids: Collection[str]) -> set[int]:
    """Find every event about some records."""
    book = events.Book(connection)
    found = (events.trail(book, one, records.last_event(connection, one)) for one in ids)
    return {event.seq for trail in found for event in trail}


def archives_of(connection: Connection, ids: Collection[str]) -> list[str]:
    """List the archive files that contain some records."""
    places = [archived.find(connection, one) for one in ids]
    return sorted({place.file for place in places if place is not None})


def everything(store_folder: Path, connection: Connection | None) -> set[str]:
    """List all that was ever erased, by the stubs and the certificates confirmed by the trail."""
    found = set() if connection is None else erased.every(connection)
    trail = None if connection is None else trail_check.about_erasures(connection)
    for path, _ in certificates.vouched(store_folder, trail):
        try:
            found |= set(msgspec.json.decode(path.read_bytes(), type=Certified).records)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            continue  # another program has written there; it proves nothing
    return found


def held_of(connection: Connection, ids: Collection[str]) -> list[str]:
    """Return which of some records are in a store, archived or not."""
    queries = ("SELECT id FROM records", "SELECT id FROM archived")
    wanted = sorted(ids)
    return sorted(
        {one for query in queries for (one,) in records.rows_of(connection, query, wanted)}
    )


def mark_returned(connection: Connection, ids: Collection[str]) -> None:
    """Note which erased records an import has brought back, so that they are erased again first."""
    if there := held_of(connection, ids):
        meta.put(connection, meta.ERASE_AGAIN, hashing.encode(there).decode())


def is_unfinished(connection: Connection) -> bool:
    """Tell whether something that was erased still exists somewhere, or is back."""
    marked = meta.get(connection, meta.ERASE_AGAIN)
    return marked is not None or bool(erased.open_erasures(connection))


def brought_back(connection: Connection) -> list[str]:
    """List what is back though erased: an import or an older version's restore was interrupted."""
    found = meta.get(connection, meta.ERASE_AGAIN)
    return hashing.decode(found) if isinstance(found, str) else []
