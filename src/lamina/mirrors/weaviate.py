"""The memories in Weaviate, for searches that several machines share: one tenant for each agent, with our own vectors."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lamina.errors import InvalidInput
from lamina.mirrors import Asked, Copy, Damaged, Position, digest, portions
from lamina.mirrors.required import Turns, settle
from lamina.mirrors.weaviate_server import Deadline, WeaviateServer, quoted
from lamina.model.clock import moment, to_micros
from lamina.model.record import Record, iso
from lamina.text import words as text

if TYPE_CHECKING:
    from lamina.embedders import Embedder
    from lamina.store.engine.sql import Database

NAMES = uuid.UUID(
    "1b9c7f6e-6a43-5c0f-9b0d-3f0a5d1e7c42"
)  # the space in which our objects have their ids
SOME = 200  # objects in a batch
MUCH = 1 << 22  # characters in a batch
PAGE = 500
THOUSAND = 1000
LONGEST_WORD = 200
BALANCE = 0.5  # of vectors and words in a search by both
UNSETTLED = '{path:["unsettled"],operator:Equal,valueBoolean:true}'


class Saved(msgspec.Struct, frozen=True):
    """What a commit leaves beside the memories: how far they go, whose vectors they have, and which filling it is."""

    position: Position
    embedder: str
    filling: str


class WeaviateMirror:
    """One tenant, which holds the memories of one agent of one store. Two homes that have the same store share it.

    An object has the id that follows from the store and the record, so whatever is written twice is there once. The
    position is an object among them, without words and vector: it goes where they go.
    """

    is_elsewhere = True

    def __init__(
        self,
        server: WeaviateServer,
        store: str,
        embedder: Callable[[], Embedder | None],
        turns: Turns,
        database: Database | None = None,
    ) -> None:
        self._server = server
        self.turns = turns
        self._store = store
        self._database = database
        self._embedder = (
            embedder  # made when it is needed: to load one takes longer than writers can wait
        )
        self._waiting: dict[str, Record | None] = {}  # None: it is to go
        self._cleared = False
        self._known: Saved | None = None

    @property
    def place(self) -> str:
        return f"{self._server}, tenant {self._server.tenant}"

    def position(self) -> Position | None:
        saved = None if self._cleared or not self._server.exists() else self._saved()
        self._known = saved if saved is not None and saved.embedder == self._embedder_name else None
        return None if self._known is None else self._known.position

    def put(self, records: Sequence[Record]) -> None:
        self._waiting |= {record.id: record for record in records}

    def drop(self, ids: Sequence[str]) -> None:
        self._waiting |= dict.fromkeys(ids)

    def clear(self) -> None:
        self._waiting, self._cleared, self._known = {}, True, None

    def commit(self, position: Position) -> None:
        self._server.prepare()
        if self._cleared:
            self._server.empty()
        elif self._known is not None:
            saved = self._saved()
            if saved is None or saved.filling != self._known.filling:
                raise Damaged(f"{self._server} was filled anew by somebody else")
        for records in _batches(
            [record for record in self._waiting.values() if record is not None]
        ):
            self._server.put(self._objects(records))
        for ids in portions(
            [record_id for record_id, record in self._waiting.items() if record is None], SOME
        ):
            self._server.drop([self._uuid(record_id) for record_id in ids])
        filling = secrets.token_hex(8) if self._known is None else self._known.filling
        self._known = Saved(position, self._embedder_name, filling)
        said = {"position": msgspec.json.encode(self._known).decode()}
        self._server.put([{"id": self._uuid(""), "properties": said}])
        self._waiting, self._cleared = {}, False

    def check(self) -> None:
        """Raise StoreUnavailable while the server is known not to answer."""
        self._server.breaker.check()

    def put_now(self, records: Sequence[Record], seconds: float) -> None:
        """Have records taken before the store commits, each thousand within so many seconds. Vectors follow with the events."""
        deadline = Deadline(seconds * (1 + len(records) // THOUSAND))
        self._server.prepare(deadline)
        for some in _batches(records):
            self._server.put([self._object(record, unsettled=True) for record in some], deadline)

    def unsettled(self) -> list[str]:
        """What was taken so and has not come along the events yet."""
        return self._server.search(f"where:{UNSETTLED}", PAGE) if self._server.exists() else []

    def withdraw(self, ids: Sequence[str], seconds: float) -> None:
        """Take out those of these that are still unsettled."""
        deadline = Deadline(seconds)
        for some in portions(ids, SOME):
            self._server.drop(
                [self._uuid(record_id) for record_id in some], deadline, unsettled=True
            )

    def settle(self, is_known: Callable[[str], bool]) -> None:
        settle(self, self.turns, is_known)

    def entries(self) -> Iterator[tuple[str, str]]:
        after = ""
        while self._server.exists() and (found := self._server.page(after, PAGE)):
            for held in found:
                if held.id != self._uuid(""):
                    yield self._entry(held.id, held.properties or {})
            if found[-1].id == after:
                raise Damaged(f"{self._server} does not come to an end")
            after = found[-1].id

    def digest(self, record: Record) -> str:
        return digest(record)

    def candidates(self, asked: Asked) -> list[str]:
        words = " ".join(text.terms(asked.text))
        vector = (
            None
            if asked.vector is None or self._embedder() is None
            else [float(part) for part in asked.vector]
        )
        if vector is not None and any(vector):
            told = f"vector:[{','.join(map(repr, vector))}]"
            both = f'hybrid:{{query:{quoted(words)},{told},alpha:{BALANCE},properties:["words"]}}'
            how = both if words else f"nearVector:{{{told}}}"
        elif words:
            how = f'bm25:{{query:{quoted(words)},properties:["words"]}}'
        else:
            return []
        return self._server.search(f"{how},where:{_where(asked)}", asked.limit)

    @property
    def _embedder_name(self) -> str:
        embedder = self._embedder()
        return "none" if embedder is None else embedder.name

    def _saved(self) -> Saved | None:
        found = self._server.get(self._uuid(""))
        try:
            saved = (
                None
                if found is None
                else msgspec.json.decode(str(found.get("position")), type=Saved)
            )
        except msgspec.DecodeError:
            return None
        return saved if saved is not None and saved.position.store == self._store else None

    def _uuid(self, record_id: str) -> str:
        return str(uuid.uuid5(NAMES, f"{self._server.tenant}/{self._store}/{record_id}"))

    def _objects(self, records: Sequence[Record]) -> list[dict[str, Any]]:
        """Records with their vectors; a text without any token has none."""
        embedder = self._embedder()
        if embedder is None:
            return [self._object(record) for record in records]
        from lamina.mirrors.vectors import Vectors  # and numpy with it, which no writer waits for

        vectors = Vectors(embedder, self._database).of([Copy.of(record) for record in records])
        return [
            {**self._object(record), **({"vector": vector} if any(vector) else {})}
            for record, vector in zip(records, vectors, strict=True)
        ]

    def _object(self, record: Record, *, unsettled: bool = False) -> dict[str, Any]:
        copy = {
            name: value
            for name, value in msgspec.structs.asdict(Copy.of(record)).items()
            if value is not None
        }
        record_id = copy.pop("id")
        said = {
            **copy,
            "record": record_id,
            "words": _words(record),
            "occurred_at": iso(record.occurred_at),
        }
        if unsettled:
            said["unsettled"] = True
        return {"id": self._uuid(record_id), "properties": said}

    def _entry(self, held: str, said: Mapping[str, Any]) -> tuple[str, str]:
        """The id and digest of what is held. What does not lie where we would have put it is by its own id, as unreadable."""
        record_id = said.get("record")
        if not isinstance(record_id, str) or held != self._uuid(record_id):
            return held, ""
        if said.get("unsettled") is not None:  # no search of ours finds it
            return record_id, ""
        fields = {name: said[name] for name in Copy.__struct_fields__ if name in said}
        try:
            fields |= {"id": record_id, "occurred_at": to_micros(moment(said.get("occurred_at")))}
            return record_id, msgspec.convert(fields, Copy).digest
        except (InvalidInput, msgspec.ValidationError):
            return record_id, ""


def tenant_of(agent: str, store: str) -> str:
    """The tenant of an agent: its name, and what tells it from agents of this name in other stores."""
    return f"{agent[:47]}-{hashlib.sha256(f'{store}/{agent}'.encode()).hexdigest()[:16]}"


def _words(record: Record) -> str:
    """What is searched by words: as our own index has them, so that the same words match. Endless ones are nobody's words."""
    said = text.analyse(" ".join((record.content, *record.tags)))
    return (
        said
        if len(said) <= LONGEST_WORD
        else " ".join(word for word in said.split() if len(word) <= LONGEST_WORD)
    )


def _batches(records: Sequence[Record]) -> Iterator[list[Record]]:
    return portions(records, SOME, MUCH, lambda record: len(record.content))


def _where(asked: Asked) -> str:
    """The filters of a question. What has no layer is no memory, and what is unsettled may never become one."""
    filters = [_is_null("unsettled", "true")]
    filters.append(
        _filter("layer", "ContainsAny", "Text", asked.layers)
        if asked.layers
        else _is_null("layer", "false")
    )
    if asked.user is not None:
        own = _filter("user", "Equal", "Text", asked.user)
        filters.append(f"{{operator:Or,operands:[{own},{_is_null('user', 'true')}]}}")
    filters += [_filter("kind", "ContainsAny", "Text", asked.kinds)] if asked.kinds else []
    filters += [_filter("tags", "ContainsAny", "Text", asked.tags)] if asked.tags else []
    filters += (
        [_filter("occurred_at", "GreaterThanEqual", "Date", iso(asked.since))]
        if asked.since is not None
        else []
    )
    filters += (
        [_filter("occurred_at", "LessThan", "Date", iso(asked.until))]
        if asked.until is not None
        else []
    )
    return f"{{operator:And,operands:[{','.join(filters)}]}}"


def _filter(name: str, operator: str, kind: str, value: str | Sequence[str]) -> str:
    said = quoted(value) if isinstance(value, str) else f"[{','.join(map(quoted, value))}]"
    return f'{{path:["{name}"],operator:{operator},value{kind}:{said}}}'


def _is_null(name: str, value: str) -> str:
    return f'{{path:["{name}"],operator:IsNull,valueBoolean:{value}}}'
