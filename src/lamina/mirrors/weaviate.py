"""The memories in Weaviate, which several machines can search: a tenant for each agent."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lamina.errors import InvalidInput
from lamina.mirrors import Copy, Damaged, MirrorRequest, Position, batches, digest
from lamina.mirrors.required import Turns, settle
from lamina.mirrors.weaviate_server import Deadline, WeaviateServer, quoted
from lamina.model.clock import moment, to_micros
from lamina.model.record import Record, iso
from lamina.text import words

if TYPE_CHECKING:
    from lamina.embedders import Embedder
    from lamina.store.engine.sql import Database

NAMESPACE = uuid.UUID("1b9c7f6e-6a43-5c0f-9b0d-3f0a5d1e7c42")  # for the ids of our objects
BATCH = 200  # objects
BATCH_CHARACTERS = 1 << 22
PAGE = 500
THOUSAND = 1000
LONGEST_WORD = 200
BALANCE = 0.5  # weight of vectors relative to words in a hybrid search
UNSETTLED = '{path:["unsettled"],operator:Equal,valueBoolean:true}'


class Checkpoint(msgspec.Struct, frozen=True):
    """The state after a commit: how far it goes, whose vectors it has, and the filling's id."""

    position: Position
    embedder: str
    filling: str


class WeaviateMirror:
    """A tenant that holds the memories of one agent; homes with the same store share it.

    An object's id is derived from the store and the record, so writing it twice creates one
    object. The checkpoint is an object too, without words and vector: it is removed with them.
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
        self._embedder = embedder  # a function: loading one takes longer than writers can wait
        self._waiting: dict[str, Record | None] = {}  # None: to be dropped
        self._cleared = False
        self._known: Checkpoint | None = None

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
                raise Damaged(f"{self._server} was rebuilt by another process")
        put = [record for record in self._waiting.values() if record is not None]
        for records in _record_batches(put):
            self._server.put(self._objects(records))
        dropped = [record_id for record_id, record in self._waiting.items() if record is None]
        for ids in batches(dropped, BATCH):
            self._server.drop([self._uuid(record_id) for record_id in ids])
        filling = secrets.token_hex(8) if self._known is None else self._known.filling
        self._known = Checkpoint(position, self._embedder_name, filling)
        properties = {"position": msgspec.json.encode(self._known).decode()}
        self._server.put([{"id": self._uuid(""), "properties": properties}])
        self._waiting, self._cleared = {}, False

    def check(self) -> None:
        """Raise StoreUnavailable while the server is known not to answer."""
        self._server.breaker.check()

    def put_now(self, records: Sequence[Record], seconds: float) -> None:
        """Put records before the store commits, with `seconds` as the limit for each thousand.

        Their vectors are added when the events arrive.
        """
        deadline = Deadline(seconds * (1 + len(records) // THOUSAND))
        self._server.prepare(deadline)
        for batch in _record_batches(records):
            self._server.put([self._object(record, unsettled=True) for record in batch], deadline)

    def unsettled(self) -> list[str]:
        """List what was put this way and has not been confirmed by events yet."""
        return self._server.search(f"where:{UNSETTLED}", PAGE) if self._server.exists() else []

    def withdraw(self, ids: Sequence[str], seconds: float) -> None:
        """Remove these records if they are still unsettled."""
        deadline = Deadline(seconds)
        for batch in batches(ids, BATCH):
            uuids = [self._uuid(record_id) for record_id in batch]
            self._server.drop(uuids, deadline, unsettled=True)

    def settle(self, is_known: Callable[[str], bool]) -> None:
        settle(self, self.turns, is_known)

    def entries(self) -> Iterator[tuple[str, str]]:
        after = ""
        while self._server.exists() and (page := self._server.page(after, PAGE)):
            for stored in page:
                if stored.id != self._uuid(""):
                    yield self._entry(stored.id, stored.properties or {})
            if page[-1].id == after:
                raise Damaged(f"{self._server} does not come to an end")
            after = page[-1].id

    def digest(self, record: Record) -> str:
        return digest(record)

    def candidates(self, asked: MirrorRequest) -> list[str]:
        terms = " ".join(words.terms(asked.text))
        vector: list[float] = []
        if asked.vector is not None and self._embedder() is not None:
            vector = [float(part) for part in asked.vector]
        near = f"vector:[{','.join(map(repr, vector))}]" if any(vector) else ""
        query = f'query:{quoted(terms)},properties:["words"]'
        if near and terms:
            method = f"hybrid:{{{query},{near},alpha:{BALANCE}}}"
        elif near:
            method = f"nearVector:{{{near}}}"
        elif terms:
            method = f"bm25:{{{query}}}"
        else:
            return []
        return self._server.search(f"{method},where:{_where(asked)}", asked.limit)

    @property
    def _embedder_name(self) -> str:
        embedder = self._embedder()
        return "none" if embedder is None else embedder.name

    def _saved(self) -> Checkpoint | None:
        properties = self._server.get(self._uuid(""))
        if properties is None:
            return None
        try:
            saved = msgspec.json.decode(str(properties.get("position")), type=Checkpoint)
        except msgspec.DecodeError:
            return None
        return saved if saved.position.store == self._store else None

    def _uuid(self, record_id: str) -> str:
        return str(uuid.uuid5(NAMESPACE, f"{self._server.tenant}/{self._store}/{record_id}"))

    def _objects(self, records: Sequence[Record]) -> list[dict[str, Any]]:
        """Add vectors to records; a text without tokens gets none."""
        embedder = self._embedder()
        if embedder is None:
            return [self._object(record) for record in records]
        from lamina.mirrors.vectors import Vectors  # this loads numpy, which writers do without

        vectors = Vectors(embedder, self._database).of([Copy.of(record) for record in records])
        return [
            {**self._object(record), **({"vector": vector} if any(vector) else {})}
            for record, vector in zip(records, vectors, strict=True)
        ]

    def _object(self, record: Record, *, unsettled: bool = False) -> dict[str, Any]:
        fields = msgspec.structs.asdict(Copy.of(record))
        properties = {name: value for name, value in fields.items() if value is not None}
        record_id = properties.pop("id")
        properties["record"] = record_id
        properties["words"] = _words(record)
        properties["occurred_at"] = iso(record.occurred_at)
        if unsettled:
            properties["unsettled"] = True
        return {"id": self._uuid(record_id), "properties": properties}

    def _entry(self, object_id: str, properties: Mapping[str, Any]) -> tuple[str, str]:
        """Read the id and digest of an object.

        An object whose id does not match its record is listed under its own id, as unreadable.
        """
        record_id = properties.get("record")
        if not isinstance(record_id, str) or object_id != self._uuid(record_id):
            return object_id, ""
        if properties.get("unsettled") is not None:  # our searches ignore it
            return record_id, ""
        fields = {name: properties[name] for name in Copy.__struct_fields__ if name in properties}
        try:
            fields |= {"id": record_id, "occurred_at": to_micros(moment(fields.get("occurred_at")))}
            return record_id, msgspec.convert(fields, Copy).digest
        except (InvalidInput, msgspec.ValidationError):
            return record_id, ""


def tenant_of(agent: str, store: str) -> str:
    """Name the tenant of an agent, distinct from agents of this name in other stores."""
    return f"{agent[:47]}-{hashlib.sha256(f'{store}/{agent}'.encode()).hexdigest()[:16]}"


def _words(record: Record) -> str:
    """Analyse a text as our own index does, so that the same words match; drop overlong ones."""
    analysed = words.analyse(" ".join((record.content, *record.tags)))
    if len(analysed) <= LONGEST_WORD:
        return analysed
    return " ".join(word for word in analysed.split() if len(word) <= LONGEST_WORD)


def _record_batches(records: Sequence[Record]) -> Iterator[list[Record]]:
    return batches(records, BATCH, BATCH_CHARACTERS, lambda record: len(record.content))


def _where(asked: MirrorRequest) -> str:
    """Express the filters in GraphQL.

    An object without a layer is no memory, and an unsettled one may never become one.
    """
    filters = [_is_null("unsettled", "true")]
    if asked.layers:
        filters.append(_filter("layer", "ContainsAny", "Text", asked.layers))
    else:
        filters.append(_is_null("layer", "false"))
    if asked.user is not None:
        own = _filter("user", "Equal", "Text", asked.user)
        filters.append(f"{{operator:Or,operands:[{own},{_is_null('user', 'true')}]}}")
    if asked.kinds:
        filters.append(_filter("kind", "ContainsAny", "Text", asked.kinds))
    if asked.tags:
        filters.append(_filter("tags", "ContainsAny", "Text", asked.tags))
    if asked.since is not None:
        filters.append(_filter("occurred_at", "GreaterThanEqual", "Date", iso(asked.since)))
    if asked.until is not None:
        filters.append(_filter("occurred_at", "LessThan", "Date", iso(asked.until)))
    return f"{{operator:And,operands:[{','.join(filters)}]}}"


def _filter(name: str, operator: str, kind: str, value: str | Sequence[str]) -> str:
    literal = quoted(value) if isinstance(value, str) else f"[{','.join(map(quoted, value))}]"
    return f'{{path:["{name}"],operator:{operator},value{kind}:{literal}}}'


def _is_null(name: str, value: str) -> str:
    return f'{{path:["{name}"],operator:IsNull,valueBoolean:{value}}}'
