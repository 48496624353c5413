"""Erasure inside the store: which records are meant, what rests on them, and how both leave every table for good."""

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
from lamina.store.archive import archive
from lamina.store.engine.sql import Connection, rows
from lamina.store.engine.sqlite import translated
from lamina.store.tables import certificates, erased, events, fulltext, meta, records
from lamina.store.tables import trail_check as told
from lamina.store.tables.records import COLUMN, Row
from lamina.text import words as text

if TYPE_CHECKING:
    from lamina.store.core.store import Store

EVERY = 1 << 31
LOOKED_AT = (
    20  # records that seem to hold a word, of which each may hold another with the same stem
)
CERTIFICATES = certificates.FOLDER
UNFINISHED = "an erasure is not finished; run `lamina erase --resume`"
WRITING = frozenset(
    {"remember", "correct", "profile.upsert"}
)  # what an operator does to say something in own words
TAKEN_FROM = "what goes was taken from it, and it may say the same"
NAMED = ("speaker", "source", "session", "user", "kind")


class Wanted(msgspec.Struct, frozen=True):
    """What somebody wants erased: some records, or all of a session, of a user, or from a source."""

    ids: tuple[str, ...] = ()
    session: str | None = None
    user: str | None = None
    source: str | None = None
    scope: str | None = None  # the user whose memories alone may be touched

    @property
    def what(self) -> str:
        """In one word, without saying whose or which."""
        if self.ids:
            return "records"
        return (
            "user" if self.user is not None else "session" if self.session is not None else "source"
        )

    def takes(self, user: str | None, session: str | None, source: str | None) -> bool:
        """Whether a record is one of these, when they are not named by their ids."""
        if self.scope is not None and user != self.scope:
            return False
        if self.user is not None:
            return user == self.user
        if self.session is not None:
            return session == self.session
        return (
            self.source is not None
            and source is not None
            and text.normalise(source) == text.normalise(self.source)
        )


class Line(msgspec.Struct, frozen=True):
    """What a line of the archive says, as far as an erasure asks."""

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
    """What an erasure does: which records it was asked for, and what becomes of those that rest on them."""

    chosen: list[str]
    verdicts: list[Verdict]
    archived: list[str]  # of those that go

    @property
    def goes(self) -> list[str]:
        return [*self.chosen, *(one.id for one in self.verdicts if one.goes)]

    @property
    def kept(self) -> list[Verdict]:
        return [one for one in self.verdicts if not one.goes]


class Certified(msgspec.Struct, frozen=True):
    """What a certificate says was erased."""

    records: list[str]


def remains(store: Store, record_id: str, user: str | None) -> Record | None:
    """What is left of an erased record, if this user may know."""
    with translated(store.database.address):
        stub = erased.find(store.database.reader(), record_id)
    if stub is None or (user is not None and stub.private):
        return None
    return stub.record(store.agent)


def plan(store: Store, connection: Connection, wanted: Wanted) -> Plan:
    """What an erasure would do, at one moment of the store."""
    lines = {one.id: one for one in _lines(store)}
    chosen = _chosen(connection, wanted, lines)
    resting = _resting(connection, chosen, lines)
    found = {one.id: one for one in _traces(connection, [*chosen, *resting], lines)}
    held = Held(connection, found, lines)
    own = {word for word in erased_words.words(found.values()) if not held.has_word(word)}
    verdicts = erased_words.verdicts(
        [found[one] for one in chosen], [found[one] for one in resting], own
    )
    going = {*chosen, *(one.id for one in verdicts if one.goes)}
    verdicts += [
        Verdict(one, False, "another version of it")
        for one in _versions(connection, chosen)
        if one not in going
    ]
    named = dict.fromkeys(source for one in chosen for source in found[one].sources)
    there = {one for (one,) in records.rows_of(connection, "SELECT id FROM records", list(named))}
    flagged = {*going, *(one.id for one in verdicts)}
    verdicts += [
        Verdict(one, False, TAKEN_FROM)
        for one in named
        if (one in there or one in lines) and one not in flagged
    ]
    return Plan(chosen, verdicts, [one for one in going if one in lines])


def signature(store: Store, connection: Connection, gone: Collection[Trace]) -> Signature:
    """By what records would be known again, once they are gone: what nothing else has."""
    lines = {one.id: one for one in _lines(store)}
    held = Held(connection, {one.id: one for one in gone}, lines)
    words = frozenset(word for word in erased_words.words(gone) if not held.has_word(word))
    return Signature(
        words, frozenset(run for run in erased_words.runs(gone) if not held.has_run(run))
    )


class Held:
    """What all other records hold, in the store and in its archive."""

    def __init__(
        self, connection: Connection, without: Mapping[str, Trace], lines: Mapping[str, Line]
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

    def has_word(self, word: str) -> bool:
        """Whether another record holds a word. One that only has the same stem does not."""
        return word in self._words or any(word in text.tokens(said) for said in self._holding(word))

    def has_run(self, run: str) -> bool:
        return run in self._runs or any(
            f" {run} " in f" {' '.join(text.row(said))} " for said in self._holding(run)
        )

    def _holding(self, said: str) -> Iterator[str]:
        """Texts of other records that seem to hold a word or a run of them."""
        limit = len(self._without) + LOOKED_AT
        found = fulltext.words(self._connection).matching(
            self._connection, [text.analyse(said)], limit
        )
        for number in [one for one in found if one not in self._without][:LOOKED_AT]:
            row = records.by_number(self._connection, number)
            if row is not None:
                yield from _trace_of(self._connection, row, judged=False).texts


def _versions(connection: Connection, ids: Collection[str]) -> list[str]:
    """What some records have superseded, and what has superseded them, however far."""
    query = (
        "SELECT r.id FROM links l JOIN records r ON r.seq = l.record WHERE l.relation = 'supersedes' AND l.target = ?1"
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
    """What some records hold, wherever they are."""
    return _traces(connection, ids, {one.id: one for one in _lines(store)})


def _chosen(connection: Connection, wanted: Wanted, lines: Mapping[str, Line]) -> list[str]:
    if wanted.ids:
        there = {
            one for (one,) in records.rows_of(connection, "SELECT id FROM records", wanted.ids)
        }
        return [one for one in dict.fromkeys(wanted.ids) if one in there or one in lines]
    query = (
        "SELECT id, user, session, source FROM records"
        " WHERE user IS NOT DISTINCT FROM ?1 OR session = ?2 OR source IS NOT NULL ORDER BY seq"
    )
    named = rows(connection, query, (wanted.user, wanted.session))
    found = [one for one, *fields in named if wanted.takes(*fields)]
    return found + [
        one.id for one in lines.values() if wanted.takes(one.user, one.session, one.source)
    ]


def _resting(connection: Connection, chosen: Sequence[str], lines: Mapping[str, Line]) -> list[str]:
    """Everything that rests on these, however far."""
    above: dict[str, list[str]] = {}
    for line in lines.values():
        for target in line.evidence:
            above.setdefault(target, []).append(line.id)
    query = "SELECT r.id FROM links l JOIN records r ON r.seq = l.record WHERE l.relation = 'evidence' AND l.target = ?"
    found: dict[str, None] = {}
    fresh = list(chosen)
    while fresh:
        target = fresh.pop()
        for one in [
            *(name for (name,) in rows(connection, query, (target,))),
            *above.get(target, ()),
        ]:
            if one not in found and one not in chosen:
                found[one] = None
                fresh.append(one)
    return list(found)


def _traces(connection: Connection, ids: Collection[str], lines: Mapping[str, Line]) -> list[Trace]:
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
    """Whether somebody said this in own words: the event that made it tells."""
    told = list(events.trail(events.Book(connection), row[COLUMN["id"]], row[COLUMN["event"]]))
    return bool(told) and told[-1].action in WRITING


def _numbers(connection: Connection, ids: Collection[str]) -> set[int]:
    return {
        number for (number,) in records.rows_of(connection, "SELECT seq FROM records", list(ids))
    }


def _names(connection: Connection, without: Collection[str]) -> set[str]:
    """Words of the names that records have besides their texts: of speakers, sources, sessions, users; and of the tables."""
    found: set[str] = set()
    if isinstance(connection, apsw.Connection):  # a file holds how its tables were made
        for (sql,) in rows(connection, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"):
            found |= text.tokens(sql)
    own = json.dumps(list(without))
    for name in NAMED:
        query = f"SELECT DISTINCT {name} FROM records WHERE {name} IS NOT NULL AND id NOT IN (SELECT value FROM json_each(?))"
        for (value,) in rows(connection, query, (own,)):
            found |= text.tokens(value)
    return found


def count_of(store: Store, user: str) -> int:
    """How many records are this user's own, in the store and in its archive."""
    query = "SELECT (SELECT count(*) FROM records WHERE user = ?1) + (SELECT count(*) FROM archived WHERE user = ?1)"
    with translated(store.database.address):
        number = store.database.reader().execute(query, (user,)).get
    return number if isinstance(number, int) else 0


def naming(connection: Connection, name: str) -> set[str]:
    """The records whose texts hold a name, or whose speaker has it."""
    held = fulltext.words(connection).matching(connection, text.asked(name), EVERY)
    query = (
        "SELECT id FROM records WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))"
        " OR (speaker IS NOT NULL AND lower(speaker) = ?2)"
    )
    small = (
        name.encode().lower().decode()
    )  # ASCII alone, as a file has it; a server would ask its locale
    return {one for (one,) in rows(connection, query, (json.dumps(held), small))}


def _lines(store: Store) -> Iterator[Line]:
    decode = msgspec.json.Decoder(Line).decode
    return (decode(line) for _, _, line in store.archived_lines())


def notes_about(
    connection: Connection, told: Collection[int], known: Signature
) -> list[tuple[int, int]]:
    """The notes of some events, and those by which what is erased would be known again."""
    found: set[tuple[int, int]] = set()
    for event, position, body in rows(connection, "SELECT event, position, body FROM notes"):
        if event in told or known.is_among(erased_words.strings(hashing.decode(body))):
            found.add((event, position))
    return sorted(found)


def events_about(connection: Connection, ids: Collection[str]) -> set[int]:
    """Every event that tells of some records."""
    book = events.Book(connection)
    found = (events.trail(book, one, records.last_event(connection, one)) for one in ids)
    return {event.seq for trail in found for event in trail}


def archives_of(connection: Connection, ids: Collection[str]) -> list[str]:
    """The files of the archive that hold some records."""
    places = [archive.find(connection, one) for one in ids]
    return sorted({place.file for place in places if place is not None})


def everything(store_folder: Path, connection: Connection | None) -> set[str]:
    """All that was ever erased here, as far as the stubs tell, and the certificates that the trail
    vouches for."""
    found = set() if connection is None else erased.every(connection)
    trail = None if connection is None else told.about_erasures(connection)
    for path, _ in certificates.vouched(store_folder, trail):
        try:
            found |= set(msgspec.json.decode(path.read_bytes(), type=Certified).records)
        except (
            OSError,
            msgspec.DecodeError,
            UnicodeDecodeError,
        ):  # somebody has written there; it proves nothing
            continue
    return found


def held_of(connection: Connection, ids: Collection[str]) -> list[str]:
    """Those of some records that are in a store or in its archive."""
    queries = ("SELECT id FROM records", "SELECT id FROM archived")
    wanted = sorted(ids)
    return sorted(
        {one for query in queries for (one,) in records.rows_of(connection, query, wanted)}
    )


def mark_returned(connection: Connection, ids: Collection[str]) -> None:
    """Note which of some erased records an import has brought back: they are erased again first."""
    if there := held_of(connection, ids):
        meta.put(connection, meta.ERASE_AGAIN, hashing.encode(there).decode())


def is_unfinished(connection: Connection) -> bool:
    """Whether something that was erased is still somewhere, or back."""
    marked = meta.get(connection, meta.ERASE_AGAIN)
    return marked is not None or bool(erased.open_erasures(connection))


def brought_back(connection: Connection) -> list[str]:
    """What was erased and is back: an import, or a restore by an older version, was interrupted."""
    found = meta.get(connection, meta.ERASE_AGAIN)
    return hashing.decode(found) if isinstance(found, str) else []
