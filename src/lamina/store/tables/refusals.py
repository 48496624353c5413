"""Refusals in the chain of reads: who tried what without authority. A flood is only counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from heapq import merge
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from lamina.errors import Corrupt
from lamina.model.clock import from_micros, to_micros
from lamina.model.record import Actor, Role, iso
from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.tables import events, meta
from lamina.store.tables.events import Head

LINK = "refusals"  # the action of a link that holds refusals, and its name in `meta`
PREVIOUS = "previous"  # in the details of a link: the number of the previous one, or 0
SINGLE = 10  # attempts of one kind that get an entry each before they are counted
WINDOW = timedelta(hours=1)  # after which counting starts again
MOST_RECORDS = 20  # ids that one entry names
MOST_COUNTED = 1000  # kinds of attempts that are counted at a time

Key = tuple[str, str, str, str]


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """Attempts of one actor at one verb, and the authority that was missing. No content."""

    at: datetime  # of the last attempt
    actor: Actor
    verb: str
    lacks: str
    records: tuple[str, ...] = ()
    count: int = 1
    since: datetime | None = None  # of the first attempt, if there are several

    @property
    def key(self) -> Key:
        """What attempts must have in common to be counted together."""
        return str(self.actor), self.actor.surface, self.verb, self.lacks

    def joined(self, later: Refusal) -> Refusal:
        """Combine attempts of the same kind into one count."""
        return msgspec.structs.replace(
            later,
            records=_distinct((*self.records, *later.records)),
            count=self.count + later.count,
            since=self.since or self.at,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "at": iso(self.at),
            "since": iso(self.since or self.at),
            "actor": str(self.actor),
            "surface": self.actor.surface,
            "verb": self.verb,
            "lacks": self.lacks,
            "records": list(self.records),
            "count": self.count,
        }


class Summary(NamedTuple):
    """How many attempts were refused in a period, and the last one."""

    attempts: int
    last: Refusal | None


class Waiting:
    """Refusals that are not written yet. However many they are, they take little memory."""

    def __init__(self) -> None:
        self._by_key: dict[Key, list[Refusal]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def __iter__(self) -> Iterator[Refusal]:
        return (refusal for several in self._by_key.values() for refusal in several)

    def add(self, refusal: Refusal) -> None:
        several = self._by_key.setdefault(refusal.key, [])
        if len(several) < SINGLE:
            several.append(refusal)
        else:
            several[-1] = several[-1].joined(refusal)


class Tally(msgspec.Struct):
    """The attempts of one kind within a window: how many, and which are not in a link yet."""

    actor: str
    surface: str
    verb: str
    lacks: str
    began: int
    total: int = 0
    waiting: int = 0
    since: int = 0
    at: int = 0
    records: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        return self.actor, self.surface, self.verb, self.lacks

    def covers(self, at: int) -> bool:
        """Tell if an attempt at this time is counted here; a clock may have been set back."""
        return 0 <= at - self.began < WINDOW // timedelta(microseconds=1)

    def add(self, refusal: Refusal) -> None:
        self.total += refusal.count
        self.since = self.since if self.waiting else to_micros(refusal.since or refusal.at)
        self.waiting += refusal.count
        self.at = to_micros(refusal.at)
        self.records = _distinct((*self.records, *refusal.records))

    @property
    def is_due(self) -> bool:
        """Whether to write an entry: for each of the first, then whenever the number has doubled.

        So the chain always holds at least half of the count.
        """
        return self.total <= SINGLE or 2 * self.waiting >= self.total

    def refusal(self) -> Refusal:
        """The attempts that are not in a link yet."""
        since = from_micros(self.since) if self.waiting > 1 else None
        actor = _actor(self.actor, self.surface)
        names = (self.verb, self.lacks, self.records)
        return Refusal(from_micros(self.at), actor, *names, self.waiting, since)

    def taken(self) -> Refusal:
        """Return these attempts for writing, and go on counting."""
        refusal = self.refusal()
        self.waiting, self.records = 0, ()
        return refusal


class Counter(msgspec.Struct):
    """The content of `meta`: the last link that holds refusals, and the current counts."""

    last: int = 0
    tallies: list[Tally] = []

    def due(self, refusals: Iterable[Refusal]) -> Iterator[Refusal]:
        """Count refusals, and yield those that must be written to a link now."""
        for refusal in refusals:
            yield from self._closed(to_micros(refusal.at))
            tally = self._tally(refusal)
            tally.add(refusal)
            if tally.is_due:
                yield tally.taken()

    def _closed(self, now: int) -> Iterator[Refusal]:
        """End the tallies whose window is over; if there are too many, end the oldest, too."""
        ended = [tally for tally in self.tallies if not tally.covers(now)]
        ended = ended or self.tallies[: max(0, len(self.tallies) - MOST_COUNTED + 1)]
        for tally in ended:
            self.tallies.remove(tally)
            if tally.waiting:
                yield tally.taken()

    def _tally(self, refusal: Refusal) -> Tally:
        found = next((tally for tally in self.tallies if tally.key == refusal.key), None)
        if found is None:
            found = Tally(*refusal.key, began=to_micros(refusal.at))
            self.tallies.append(found)
        return found


def counter(source: Connection | Cursor) -> Counter:
    """Read the counter from `meta`."""
    text = meta.get(source, LINK)
    if text is None:
        return Counter()
    try:
        return msgspec.json.decode(text, type=Counter)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Corrupt(f"the count of refusals is damaged: {error}") from None


def append(cursor: Cursor, seed: bytes, refusals: Iterable[Refusal]) -> Counter:
    """Count refusals, and add a link for those of each actor that are due."""
    known = counter(cursor)
    head = events.head(cursor, seed)
    for actor, group in groupby(known.due(refusals), key=lambda refusal: refusal.actor):
        entries = [*group]
        details = {LINK: [*map(_entry, entries)], PREVIOUS: known.last}
        head = _appended(cursor, head, actor, entries[-1], details)
        known.last = head.seq
    meta.put(cursor, LINK, msgspec.json.encode(known).decode())
    return known


def latest(connection: Connection) -> Iterator[Refusal]:
    """Yield all refusals, the newest first, including those only counted so far."""
    known = counter(connection)
    counting = [tally.refusal() for tally in known.tallies if tally.waiting]
    counting.sort(key=_time, reverse=True)
    return merge(counting, _linked(connection, known.last), key=_time, reverse=True)


def _linked(connection: Connection, seq: int) -> Iterator[Refusal]:
    """Yield the content of one link after the other.

    Each names the previous one, so that reads in between cost nothing.
    """
    while seq and (found := rows(connection, f"{events.SELECT} WHERE seq = ?", (seq,))):
        body = events.body_of(found[0][1])
        try:
            yield from reversed([*_refusals(body)])
            before = int(body.details[PREVIOUS])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            problem = f"link {seq} of the reads is damaged; run `lamina audit verify`"
            raise Corrupt(problem) from error
        seq = min(before, seq - 1)


def _time(refusal: Refusal) -> datetime:
    return refusal.at


def differences(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the chain of links: altering it could hide refusals."""
    query = "SELECT max(seq) FROM events WHERE body ->> 'action' = ?"
    last = connection.execute(query, (LINK,)).get or 0
    try:
        if counter(connection).last != last:
            yield "refusals", f"the last link that holds some is {last}, and `meta` says otherwise"
    except Corrupt as error:
        yield "refusals", error.message


def _appended(
    cursor: Cursor, head: Head, actor: Actor, last: Refusal, details: dict[str, Any]
) -> Head:
    return events.append(cursor, head, to_micros(last.at), actor, LINK, records=0, details=details)


def _entry(refusal: Refusal) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "at": to_micros(refusal.at),
        "verb": refusal.verb,
        "lacks": refusal.lacks,
        "records": refusal.records,
        "count": refusal.count,
    }
    return entry if refusal.since is None else {**entry, "since": to_micros(refusal.since)}


def _refusals(body: events.Body) -> Iterator[Refusal]:
    actor = _actor(body.actor, body.surface)
    for entry in body.details[LINK]:
        since = from_micros(entry["since"]) if "since" in entry else None
        names = (entry["verb"], entry["lacks"], tuple(entry["records"]))
        yield Refusal(from_micros(entry["at"]), actor, *names, entry["count"], since)


def _actor(text: str, surface: str) -> Actor:
    role, _, name = text.partition(":")
    return Actor(Role(role), name, surface)


def _distinct(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))[:MOST_RECORDS]
