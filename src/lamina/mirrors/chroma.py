"""The memories as a ChromaDB collection with our own vectors, in a folder or on a server (B2)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from lamina.errors import Refused, StoreUnavailable
from lamina.mirrors import Copy, Damaged, MirrorRequest, Position, batches, digest
from lamina.mirrors.vectors import Vectors
from lamina.model.clock import to_micros
from lamina.model.record import Record
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.embedders import Embedder
    from lamina.store.engine.sql import Database

VERSION = 1  # of the collection's content
MARK = "lamina"
BATCH, BATCH_CHARACTERS = 250, 4_000_000
PAGE = 1000
NOTHING = ""  # stands for a missing value, which Chroma cannot filter by
NO_SPACE = "none"
Where = Mapping[str, Any] | None  # filters in Chroma's query language


class Collection(NamedTuple):
    """A collection that exists: its id and its metadata."""

    id: str
    metadata: Mapping[str, Any]


class Batch(NamedTuple):
    """Some copies in the form that Chroma takes."""

    ids: list[str]
    vectors: list[list[float]]
    documents: list[str]
    metadatas: list[dict[str, Any]]


class Engine(Protocol):
    """One collection of a Chroma database. Every failure there is a StoreUnavailable."""

    @property
    def place(self) -> str:
        """Its location, for people."""
        ...

    @property
    def is_shared(self) -> bool:
        """True if others may have collections of the same name there."""
        ...

    def find(self) -> Collection | None: ...
    def create(self, metadata: Mapping[str, Any]) -> str: ...
    def describe(self, collection: str, metadata: Mapping[str, Any]) -> None: ...
    def upsert(self, collection: str, batch: Batch) -> None: ...
    def delete(self, collection: str, ids: Sequence[str]) -> None: ...
    def page(self, collection: str, start: int, number: int) -> list[tuple[object, object, object]]:
        """Read ids, documents and metadata of some entries."""
        ...

    def nearest(
        self, collection: Collection, vector: Sequence[float], number: int, where: Where
    ) -> list[Any]:
        """Find the ids of the entries nearest to a vector."""
        ...

    def remove(self) -> None:
        """Remove the collection, and all traces of it that we can reach."""
        ...

    def close(self) -> None: ...


class ChromaMirror:
    """A collection of an agent's memories.

    Changes wait in memory until a commit, so a crash only causes work to be repeated. The
    collection's metadata names its owner and position; it is written last.
    """

    between_commits = 5_000

    def __init__(
        self,
        engine: Engine,
        store: str,
        embedder: Embedder | None,
        database: Database | None = None,
    ) -> None:
        self._engine = engine
        self._store = store
        self._vectors = None if embedder is None else Vectors(embedder, database)
        self._space = NO_SPACE if embedder is None else embedder.name
        self._known: Position | None = None
        self._waiting: dict[str, Copy] = {}
        self._dropped: set[str] = set()
        self._cleared = False

    @property
    def place(self) -> str:
        return self._engine.place

    @property
    def is_elsewhere(self) -> bool:
        """True if its bytes are beyond our control."""
        return self._engine.is_shared

    @property
    def keeps_bytes(self) -> bool:
        """True if dropped entries remain in its files until they are rebuilt."""
        return not self._engine.is_shared

    def position(self) -> Position | None:
        collection = None if self._cleared else self._own()
        self._known = None if collection is None else self._position(collection)
        return self._known

    def put(self, records: Sequence[Record]) -> None:
        self._waiting |= {record.id: Copy.of(record) for record in records}
        self._dropped.difference_update(record.id for record in records)

    def drop(self, ids: Sequence[str]) -> None:
        for record_id in ids:
            self._waiting.pop(record_id, None)
        self._dropped.update(ids)

    def clear(self) -> None:
        self._waiting, self._dropped, self._cleared = {}, set(), True

    def commit(self, position: Position) -> None:
        old = self._own()
        before = None if old is None or self._cleared else self._position(old)
        if old is None or before is None:
            self._engine.remove()
            collection_id = self._engine.create(self._metadata(None))
        else:
            collection_id = old.id
            if self._known is not None and self._known != before:
                # Another process has written meanwhile, perhaps older changes than ours: the
                # next sync starts from the earlier of the two positions.
                position = min(before, self._known, key=lambda known: known.event)
        copies = self._waiting.values()
        for batch in batches(copies, BATCH, BATCH_CHARACTERS, lambda copy: len(copy.content)):
            self._engine.upsert(collection_id, self._batch(batch))
        for ids in batches(sorted(self._dropped) if before is not None else [], BATCH):
            self._engine.delete(collection_id, ids)
        self._engine.describe(collection_id, self._metadata(position))
        self._known = position
        self._waiting, self._dropped, self._cleared = {}, set(), False

    def entries(self) -> Iterator[tuple[str, str]]:
        collection = self._own()
        for start in itertools.count(0, PAGE):
            page = [] if collection is None else self._engine.page(collection.id, start, PAGE)
            for record_id, document, metadata in page:
                copy = _copy(record_id, document, metadata)
                yield str(record_id), "" if copy is None else copy.digest
            if len(page) < PAGE:
                return

    def digest(self, record: Record) -> str:
        return digest(record)

    def candidates(self, asked: MirrorRequest) -> list[str]:
        if asked.vector is None:
            problem = "Chroma is searched by meaning, and there is no embedder for the question"
            raise StoreUnavailable(problem)
        collection = self._own()
        if collection is None or self._position(collection) is None:
            raise StoreUnavailable(
                f"the collection of {self.place} is not made yet; run `lamina mirror sync`"
            )
        return self._engine.nearest(collection, asked.vector, asked.limit, _where(asked))

    def close(self) -> None:
        """Close files and connections."""
        self._engine.close()

    def _own(self) -> Collection | None:
        """Find our collection; None if it is missing or damaged. Refuse one that is not ours."""
        try:
            collection = self._engine.find()
        except Damaged:
            return None
        if collection is None:
            return None
        version, store = collection.metadata.get(MARK), collection.metadata.get("store")
        if not isinstance(version, int):
            raise Refused(
                f"{self.place} has a collection of this name that Lamina has not made, and leaves"
                " it alone; rename or delete it, or use another Chroma"
            )
        if version > VERSION:
            raise Refused(
                f"the collection of {self.place} was made by a newer Lamina;"
                " update this one, or delete it"
            )
        if self._engine.is_shared and store != self._store:
            raise Refused(
                f"the collection of {self.place} belongs to another store ({shown(store)}) whose"
                " agent has the same name; rename one of the agents, or delete the collection if"
                " that store is gone"
            )
        return collection

    def _position(self, collection: Collection) -> Position | None:
        """Read its position; None if incomplete, or of another version or embedder."""
        noted = collection.metadata
        if noted.get(MARK) != VERSION or noted.get("space") != self._space or "event" not in noted:
            return None
        fields = {name: noted.get(name) for name in ("store", "event", "hash")}
        try:
            return msgspec.convert(fields, Position)
        except msgspec.ValidationError:
            return None

    def _metadata(self, position: Position | None) -> dict[str, Any]:
        metadata: dict[str, Any] = {MARK: VERSION, "store": self._store, "space": self._space}
        return metadata if position is None else metadata | msgspec.structs.asdict(position)

    def _batch(self, copies: Sequence[Copy]) -> Batch:
        """Add vectors. Chroma requires one for each entry; without an embedder all are the same."""
        vectors = [[1.0]] * len(copies) if self._vectors is None else self._vectors.of(copies)
        return Batch(
            [copy.id for copy in copies],
            vectors,
            [copy.content for copy in copies],
            [_copy_metadata(copy) for copy in copies],
        )


def _copy_metadata(copy: Copy) -> dict[str, Any]:
    """Set all fields but the id and the text: a replacement keeps old fields that it lacks."""
    fields = msgspec.structs.asdict(copy)
    del fields["id"], fields["content"]
    metadata = {name: NOTHING if value is None else value for name, value in fields.items()}
    return metadata | {"tags": [*copy.tags] or [NOTHING]}


def _copy(record_id: object, document: object, metadata: object) -> Copy | None:
    """Parse a copy from a collection; None if it does not look like one of ours."""
    if not isinstance(metadata, Mapping) or not metadata.keys() <= set(Copy.__struct_fields__):
        return None
    fields = {name: None if value == NOTHING else value for name, value in metadata.items()}
    fields["tags"] = [] if metadata.get("tags") == [NOTHING] else metadata.get("tags")
    try:
        return msgspec.convert({**fields, "id": record_id, "content": document}, Copy)
    except msgspec.ValidationError:
        return None


def _where(asked: MirrorRequest) -> Where:
    """Express the filters in Chroma's query language."""
    filters: list[dict[str, Any]] = []
    if asked.user is not None:
        filters.append({"user": {"$in": [asked.user, NOTHING]}})
    if asked.layers:
        filters.append({"layer": {"$in": [layer.value for layer in asked.layers]}})
    if asked.kinds:
        filters.append({"kind": {"$in": list(asked.kinds)}})
    if asked.tags:
        filters.append(_joined("$or", [{"tags": {"$contains": tag}} for tag in asked.tags]))
    if asked.since is not None:
        filters.append({"occurred_at": {"$gte": to_micros(asked.since)}})
    if asked.until is not None:
        filters.append({"occurred_at": {"$lt": to_micros(asked.until)}})
    return _joined("$and", filters) if filters else None


def _joined(operator: str, filters: list[dict[str, Any]]) -> dict[str, Any]:
    """Join filters; Chroma refuses an operator with a single operand."""
    return filters[0] if len(filters) == 1 else {operator: filters}
