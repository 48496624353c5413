"""The values of Lamina: frozen, and independent of how they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, overload

import msgspec


class Layer(StrEnum):
    """The layer of a memory. The last five are long-term."""

    WORKING = "working"
    SHORT_TERM = "short_term"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    PROFILE = "profile"
    WORLD = "world"


LONG_TERM = (Layer.EPISODIC, Layer.SEMANTIC, Layer.PROCEDURAL, Layer.PROFILE, Layer.WORLD)


class State(StrEnum):
    """The state of a memory. `constrained` is the only state that waits for a person."""

    ACTIVE = "active"
    CONSTRAINED = "constrained"
    SUPERSEDED = "superseded"
    TOMBSTONED = "tombstoned"


class Trust(StrEnum):
    """The party that vouches for a memory, from most to least trusted."""

    OPERATOR = "operator"
    AGENT = "agent"
    EXTERNAL = "external"


class Role(StrEnum):
    """The authority of a handle; it comes from how the handle was opened, never from a payload."""

    OPERATOR = "operator"
    AGENT = "agent"
    SYSTEM = "system"


class Actor(msgspec.Struct, frozen=True):
    """The author of an action, and the surface through which it came."""

    role: Role
    name: str
    surface: str

    def __str__(self) -> str:
        return f"{self.role}:{self.name}"


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A memory that passed the rules but has no identity yet."""

    content: str
    trust: Trust
    importance: float = 0.5
    kind: str = "crumb"
    layer: Layer = Layer.SHORT_TERM
    state: State = State.ACTIVE
    confidence: float = 1.0
    user: str | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    evidence: tuple[str, ...] = ()
    speaker: str | None = None
    session: str | None = None
    run_id: str | None = None
    occurred_at: datetime | None = None
    key: str | None = None
    promoted_at: datetime | None = None
    supersedes: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    last_verified: datetime | None = None
    superseded_by: str | None = None


class Record(msgspec.Struct, frozen=True, gc=False):
    """One memory, whatever its layer."""

    id: str
    seq: int
    agent: str
    user: str | None
    layer: Layer
    state: State
    kind: str
    content: str
    importance: float
    confidence: float
    trust: Trust
    source: str | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    evidence: tuple[str, ...]
    speaker: str | None
    session: str | None
    run_id: str | None
    occurred_at: datetime
    created_at: datetime
    updated_at: datetime
    promoted_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    last_verified: datetime | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    archived: str | None = None  # the file and line it is in once it has left the store

    @property
    def score(self) -> int:
        """The importance from 0 to 10: the largest score whose tenth the importance reaches."""
        return score_of(self.importance)

    @property
    def project(self) -> str | None:
        """The project that it belongs to, or whose state it summarises."""
        given = self.metadata.get("project")
        name = given.get("project_name") if isinstance(given, Mapping) else given
        return name if isinstance(name, str) else None

    @property
    def stored_in(self) -> str:
        """Where it is kept: in the `store`, or in the `failsafe` until the store can be written."""
        return "store"

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON values, with the score beside the exact importance."""
        fields = {name: plain(getattr(self, name)) for name in self.__struct_fields__}
        fields["score"] = self.score
        if self.archived is None:
            del fields["archived"]
        if self.stored_in != "store":
            fields["stored_in"] = self.stored_in
        return fields


class Waiting(Record, frozen=True, gc=False):
    """A memory in the fail-safe: the store takes it, with this id, when it can be written."""

    @property
    def stored_in(self) -> str:
        return "failsafe"


class Entry(msgspec.Struct, frozen=True, gc=False):
    """The fields that decide about a short-term memory, without its text."""

    seq: int
    event: int
    id: str
    user: str | None
    kind: str
    importance: float
    trust: Trust
    tags: tuple[str, ...]
    since: datetime  # when it arrived, or was last wanted
    metadata: str = "{}"  # as JSON, since it is seldom needed
    wanted: bool = False  # it was restored from the archive


class Change(msgspec.Struct, frozen=True):
    """The change of one record by one event. `hash` covers the whole record after the change."""

    record: str
    hash: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    previous: int | None

    def to_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


class Event(msgspec.Struct, frozen=True):
    """One entry of the audit trail."""

    seq: int
    at: datetime
    action: str
    actor: str
    surface: str
    changes: tuple[Change, ...]
    details: Mapping[str, Any]
    note: Mapping[str, Any]
    hash: str

    @property
    def reason(self) -> str | None:
        """The reason in the actor's words; it can be erased, but the event cannot."""
        return self.note.get("reason")

    def to_dict(self) -> dict[str, Any]:
        names = (name for name in self.__struct_fields__ if name != "changes")
        fields = {name: plain(getattr(self, name)) for name in names}
        fields["changes"] = [change.to_dict() for change in self.changes]
        return fields


class Outdated(NamedTuple):
    """What a record says that does not hold: its former values, those that somebody rejected, and
    what holds now.
    """

    values: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    now: tuple[str, ...] = ()


class Hit(msgspec.Struct, frozen=True):
    """A record that answers a query, with the named parts of its score.

    `duplicates` counts the near-copies from outside that are not shown: this one represents them.
    `outdated` is what the record says that does not hold.
    """

    record: Record
    score: float
    parts: Mapping[str, float]
    duplicates: int = 0
    outdated: Outdated | None = None

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"score": self.score, "parts": dict(self.parts)}
        if self.duplicates:
            fields["duplicates"] = self.duplicates
        if self.outdated is not None:
            fields["outdated"] = {name: [*said] for name, said in self.outdated._asdict().items()}
        return {**fields, "record": self.record.to_dict()}


class Hits(Sequence[Hit]):
    """The answer to a search: an ordered sequence of hits, which may be empty and says why.

    `notes` list what could not be used to answer, such as an embedder that is down. `confidence`
    says how far the best evidence is above chance, if the ranker knows: below 0, nothing is
    relevant. `is_whole` is false if the store could not be asked.
    """

    def __init__(
        self,
        hits: Sequence[Hit],
        notes: Sequence[str] = (),
        confidence: float | None = None,
        *,
        is_whole: bool = True,
    ) -> None:
        self._hits = tuple(hits)
        self.notes = tuple(notes)
        self.confidence = confidence
        self.is_whole = is_whole

    @property
    def outcome(self) -> str:
        """`found`, `nothing_relevant`, or `unavailable` if the store could not be asked."""
        if self._hits:
            return "found"
        return "nothing_relevant" if self.is_whole else "unavailable"

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self._hits[index]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    def __repr__(self) -> str:
        return f"<Hits {self.outcome} {len(self)}>"

    def to_dict(self) -> dict[str, Any]:
        hits = [hit.to_dict() for hit in self._hits]
        answer: dict[str, Any] = {"outcome": self.outcome, "hits": hits}
        return {**answer, "notes": list(self.notes)} if self.notes else answer


def score_of(importance: float) -> int:
    """Return floor(importance × 10) without rounding errors: 7 and 0.70 are one threshold."""
    score = int(importance * 10)
    if importance < score / 10:
        return score - 1
    return score


def plain(value: Any) -> Any:
    """Convert a field's value to one that JSON can represent."""
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    return value


def iso(moment: datetime) -> str:
    """Write ISO-8601 in UTC with microseconds and a `Z`: equal lengths, so text sorts as time."""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
