"""The verbs for browsing a memory: sorted lists, conversations, and what came of them.

They are for display; their reads do not count as use of the records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from lamina.errors import InvalidInput
from lamina.memory.refusals import recorded
from lamina.memory.scope import Times, optional_moment
from lamina.model import clock as clocks
from lamina.model import hashing, rules
from lamina.model.record import LONG_TERM, Layer, Record, State
from lamina.store.tables import archived, conversations, events, facets, lineage, records
from lamina.store.tables.conversations import Session
from lamina.store.tables.events import Outline
from lamina.store.tables.records import OUTLINE, Row
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

EPOCH = date(1970, 1, 1)
MOST = 5_000  # records that are sorted and counted
LONGEST = 100  # replacements to follow
PLACE = {name: index for index, name in enumerate(OUTLINE)}
SORTS: Mapping[str, Callable[[Row], Any]] = {
    "newest": lambda row: (-row[PLACE["occurred_at"]], -row[PLACE["seq"]]),
    "oldest": lambda row: (row[PLACE["occurred_at"]], row[PLACE["seq"]]),
    "importance": lambda row: (-row[PLACE["importance"]], -row[PLACE["seq"]]),
    "changed": lambda row: (-row[PLACE["updated_at"]], -row[PLACE["seq"]]),
    "speaker": lambda row: (row[PLACE["speaker"]] or "\uffff", -row[PLACE["seq"]]),
    "kind": lambda row: (row[PLACE["kind"]], -row[PLACE["seq"]]),
}


class Browsed(msgspec.Struct, frozen=True):
    """Some records, and how many of those that match have each value."""

    records: list[Record]
    counts: Mapping[str, Mapping[str, int]]  # by field: layer, kind, state, speaker, tag and so on
    total: int  # how many records were counted
    is_whole: bool  # whether these are all that match, or only the newest


class Growth(msgspec.Struct, frozen=True):
    """The number of memories of a layer that happened on a day."""

    layer: Layer
    day: date
    number: int


class Move(msgspec.Struct, frozen=True, gc=False):
    """What a change moved: memories to long-term memory, and proposals into the queue or out."""

    at: datetime
    promoted: int
    waiting: int  # how many more wait since then; negative if more were decided


class Learned(msgspec.Struct, frozen=True):
    """A record that rests on another, and what has taken its place since."""

    record: Record
    replaced_by: Record | None = None


@recorded
class Browsing:
    """Browse what a scope may see."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def browse(
        self,
        layers: Collection[str] | None = None,
        states: Collection[str] | None = (State.ACTIVE,),
        kinds: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        since: Times = None,
        until: Times = None,
        limit: int = 50,
        session: str | None = None,
        project: str | None = None,
        speaker: str | None = None,
        source: str | None = None,
        sort: str = "newest",
    ) -> Browsed:
        """List records in an order, and count the values by which they can be filtered.

        At most the newest 5,000 that match are sorted and counted.
        """
        names = {"session": session, "project": project, "speaker": speaker, "source": source}
        chosen = self._scope.filter(layers, states, kinds, tags, since, until, **names)
        order: object = sort
        if not isinstance(order, str) or order not in SORTS:
            known = ", ".join(SORTS)
            raise InvalidInput(f"unknown order {shown(sort)}; known are {known}", known=[*SORTS])
        number = rules.limit(limit)
        with self._scope.store.read() as db:
            outlined = records.outlined(db, chosen, MOST + 1)
        counted = outlined[:MOST]
        wanted = sorted(counted, key=SORTS[sort])[:number]
        listed = self._scope.store.numbered([row[PLACE["seq"]] for row in wanted])
        self._scope.audit("browse", tuple(record.id for record in listed))
        return Browsed(listed, _counts(counted), len(counted), len(outlined) <= MOST)

    def growth(self, since: Times) -> list[Growth]:
        """Count the memories in every state since a time, by layer and the day they happened."""
        chosen = self._scope.filter(since=since)
        with self._scope.store.read() as db:
            counted = records.by_day(db, chosen)
        self._scope.audit("growth", ())
        return [
            Growth(Layer(layer), EPOCH + timedelta(days=day), number)
            for layer, day, number in counted
        ]

    def moves(self, since: Times, limit: int = MOST) -> list[Move]:
        """List the newest moves between layers and states since a time, in the whole store."""
        self._scope.check_whole("moves")
        start = clocks.to_micros(clocks.moment(since, "since"))
        with self._scope.store.read() as db:
            moves = [
                Move(clocks.from_micros(one.at), _promoted(one), _made_waiting(one))
                for one in events.outlines(db, start, rules.limit(limit))
            ]
        self._scope.audit("moves", ())
        return moves

    def archived(self) -> int:
        """Count the memories in the archive."""
        with self._scope.store.read() as db:
            number = archived.count(db, self._scope.user)
        self._scope.audit("archived", ())
        return number

    def conversations(
        self,
        limit: int = 50,
        since: Times = None,
        until: Times = None,
        speaker: str | None = None,
        project: str | None = None,
    ) -> list[Session]:
        """List conversations, the newest first: their names, times, speakers and lengths."""
        number = rules.limit(limit)
        chosen = self._scope.filter(
            (Layer.EPISODIC, Layer.SHORT_TERM),
            since=optional_moment(since, "since"),
            until=optional_moment(until, "until"),
            project=project,
        )
        name = None if speaker is None else rules.label(speaker, "speaker")
        with self._scope.store.read() as db:
            found = conversations.latest(db, chosen, name, number)
        self._scope.audit("conversations", ())
        return found

    def open_items(
        self, speaker: str | None = None, project: str | None = None
    ) -> list[dict[str, Any]]:
        """List what waits for a person, as `pending` does: of one speaker, or of one project."""
        voice = None if speaker is None else rules.label(speaker, "speaker")
        name = None if project is None else rules.label(project, "project")
        items = self._scope.parts.inspect.pending()
        found = self._found({item["id"] for item in items})
        wanted = {
            record.id
            for record in found.values()
            if (voice is None or record.speaker == voice)
            and (name is None or name in facets.projects(record.metadata))
        }
        return [item for item in items if item["id"] in wanted]

    def learned_from(self, record_ids: Sequence[str]) -> dict[str, list[Learned]]:
        """List the records that rest on each record, except the episodes that contain turns."""
        ids = _ids(record_ids)
        with self._scope.store.read() as db:
            pairs = lineage.resting_on_any(db, ids, self._scope.user)
        found = self._found({resting for _, resting in pairs})
        found = {one: made for one, made in found.items() if made.layer is not Layer.EPISODIC}
        later = self._latest([*found.values()])
        learned: dict[str, list[Learned]] = {}
        for target, resting in pairs:
            if (record := found.get(resting)) is not None:
                learned.setdefault(target, []).append(Learned(record, later.get(resting)))
        self._scope.audit("learned_from", tuple(found))
        return learned

    def replacements(self, record_ids: Sequence[str]) -> dict[str, Record]:
        """Map superseded records to the records that replace them now."""
        later = self._latest([*self._found(_ids(record_ids)).values()])
        self._scope.audit("replacements", tuple(record.id for record in later.values()))
        return later

    def _latest(self, given: Sequence[Record]) -> dict[str, Record]:
        """Follow what superseded each record to the last visible one."""
        known = {record.id: record for record in given}
        for _ in range(LONGEST):
            asked = {one.superseded_by for one in known.values() if one.superseded_by}
            fresh = self._found(asked - known.keys())
            if not fresh:
                break
            known |= fresh
        ends = {record.id: _end(record, known) for record in given}
        return {one: end for one, end in ends.items() if end.id != one}

    def _found(self, ids: Sequence[str] | set[str]) -> dict[str, Record]:
        """Read some records of this scope."""
        store = self._scope.store
        with store.read() as db:
            rows = records.by_ids(db, ids).values()
            found = [store.record(row) for row in rows]
        return {record.id: record for record in found if self._scope.is_mine(record)}


def _promoted(outline: Outline) -> int:
    left = [one for one in outline.changes if one.before.get("layer") == Layer.SHORT_TERM]
    return sum(one.after.get("layer") in LONG_TERM for one in left)


def _made_waiting(outline: Outline) -> int:
    made = sum(one.number for one in outline.made if one.state == State.CONSTRAINED)
    came = [one for one in outline.changes if one.after.get("state") == State.CONSTRAINED]
    went = [one for one in outline.changes if one.before.get("state") == State.CONSTRAINED]
    return made + len(came) - len(went)


def _end(record: Record, known: Mapping[str, Record]) -> Record:
    seen = {record.id}
    while (later := known.get(record.superseded_by or "")) is not None and later.id not in seen:
        record = later
        seen.add(later.id)
    return record


def _ids(given: Sequence[str]) -> list[str]:
    listed = rules.several(given, "record_ids")
    return [one for one in listed if isinstance(one, str) and clocks.is_id(one)]


def _counts(outlined: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Count the values of each column; tags, projects and months are read from their columns."""
    counts: dict[str, Counter[str]] = {
        name: Counter(row[PLACE[name]] for row in outlined if row[PLACE[name]])
        for name in ("layer", "kind", "state", "speaker", "session", "source")
    }
    counts["tag"] = Counter(tag for row in outlined for tag in records.texts(row[PLACE["tags"]]))
    counts["project"] = Counter(
        project
        for row in outlined
        if "project" in row[PLACE["metadata"]]
        for project in facets.projects(hashing.decode(row[PLACE["metadata"]]))
    )
    counts["month"] = Counter(month_of(row[PLACE["occurred_at"]]) for row in outlined)
    return {name: dict(counter.most_common()) for name, counter in counts.items()}


def month_of(moment: int | datetime) -> str:
    """Name a month, such as 2026-05."""
    at = clocks.from_micros(moment) if isinstance(moment, int) else moment
    return f"{at:%Y-%m}"


def is_current(record: Record) -> bool:
    """Return whether a record says what holds now, rather than what was said or happened."""
    said = (Layer.WORKING, Layer.SHORT_TERM, Layer.EPISODIC)
    return record.state is State.ACTIVE and record.layer not in said
