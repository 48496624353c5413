"""The memories as a collection of ChromaDB (B2), in the agent's folder or on a server, with our own vectors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from lamina.errors import Refused, StoreUnavailable
from lamina.mirrors import Asked, Copy, Damaged, Position, digest, portions
from lamina.mirrors.vectors import Vectors
from lamina.model.clock import to_micros
from lamina.model.record import Record
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.embedders import Embedder
    from lamina.store.engine.sql import Database

VERSION = 1  # of what lies in the collection
MARK = "lamina"
BATCH, BATCH_CHARACTERS = 250, 4_000_000
PAGE = 1000
NOTHING = ""  # Chroma cannot ask for what is not there
NO_SPACE = "none"


class Found(NamedTuple):
    """A collection that is there: its id, and what is written on it."""

    id: str
    metadata: Mapping[str, Any]


class Batch(NamedTuple):
    """Some copies as Chroma takes them."""

    ids: list[str]
    vectors: list[list[float]]
    documents: list[str]
    metadatas: list[dict[str, Any]]


class Engine(Protocol):
    """One collection of a Chroma, wherever it runs. Whatever goes wrong there is a StoreUnavailable."""

    @property
    def place(self) -> str:
        """Where it is, for people."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether others may have collections of the same name there."""
        ...

    def find(self) -> Found | None: ...
    def create(self, metadata: Mapping[str, Any]) -> str: ...
    def describe(self, collection: str, metadata: Mapping[str, Any]) -> None: ...
    def upsert(self, collection: str, batch: Batch) -> None: ...
    def delete(self, collection: str, ids: Sequence[str]) -> None: ...
    def page(self, collection: str, start: int, number: int) -> list[tuple[object, object, object]]:
        """Ids, documents and metadata of some."""
        ...

    def nearest(
        self, found: Found, vector: Sequence[float], number: int, where: Mapping[str, Any] | None
    ) -> list[Any]:
        """The ids of what is nearest to a vector."""
        ...

    def remove(self) -> None:
        """The collection goes, and nothing of it is left as far as that is in our hands."""
        ...

    def close(self) -> None: ...


class ChromaMirror:
    """A collection of an agent's memories. It waits in memory until a commit, so that a crash only repeats work.

    What is written on the collection says whose it is and how far it goes. That is written last.
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
        """Whether its bytes are out of our hands."""
        return self._engine.is_shared

    @property
    def keeps_bytes(self) -> bool:
        """Whether what was dropped is still in its files, until they are made anew."""
        return not self._engine.is_shared

    def position(self) -> Position | None:
        found = None if self._cleared else self._own()
        self._known = None if found is None else self._position(found)
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
        found = self._own()
        before = None if found is None or self._cleared else self._position(found)
        if found is None or before is None:
            self._engine.remove()
            collection = self._engine.create(self._written(None))
        else:
            collection = found.id
            # Somebody else has written meanwhile, perhaps what is older than this: it is followed again from there.
            position = (
                position
                if before == self._known or self._known is None
                else min(before, self._known, key=_event)
            )
        for copies in portions(
            self._waiting.values(), BATCH, BATCH_CHARACTERS, lambda copy: len(copy.content)
        ):
            self._engine.upsert(collection, self._batch(copies))
        for ids in portions(sorted(self._dropped) if before is not None else [], BATCH):
            self._engine.delete(collection, ids)
        self._engine.describe(collection, self._written(position))
        self._known = position
        self._waiting, self._dropped, self._cleared = {}, set(), False

    def entries(self) -> Iterator[tuple[str, str]]:
        found = self._own()
        for start in itertools.count(0, PAGE):
            page = [] if found is None else self._engine.page(found.id, start, PAGE)
            for record_id, document, metadata in page:
                copy = _held(record_id, document, metadata)
                yield str(record_id), "" if copy is None else copy.digest
            if len(page) < PAGE:
                return

    def digest(self, record: Record) -> str:
        return digest(record)

    def candidates(self, asked: Asked) -> list[str]:
        if asked.vector is None:
            raise StoreUnavailable(
                "Chroma is searched by meaning, and there is no embedder for the question"
            )
        found = self._own()
        if found is None or self._position(found) is None:
            raise StoreUnavailable(
                f"the collection of {self.place} is not made yet; run `lamina mirror sync`"
            )
        return self._engine.nearest(found, asked.vector, asked.limit, _where(asked))

    def close(self) -> None:
        """Let go of files and connections."""
        self._engine.close()

    def _own(self) -> Found | None:
        """The collection, if there is one and it is ours to write. One that is damaged is none."""
        try:
            found = self._engine.find()
        except Damaged:
            return None
        if found is None:
            return None
        version = found.metadata.get(MARK)
        if not isinstance(version, int):
            raise Refused(
                f"{self.place} has a collection of this name that Lamina has not made, and leaves it alone;"
                " rename or delete it, or use another Chroma"
            )
        if version > VERSION:
            raise Refused(
                f"the collection of {self.place} was made by a newer Lamina; update this one, or delete it"
            )
        if self._engine.is_shared and found.metadata.get("store") != self._store:
            raise Refused(
                f"the collection of {self.place} belongs to another store ({shown(found.metadata.get('store'))}) whose agent"
                " has the same name; rename one of the agents, or delete the collection if that store is gone"
            )
        return found

    def _position(self, found: Found) -> Position | None:
        """How far a collection of ours goes; None when it is not complete, or of another version or embedder."""
        said = found.metadata
        if said.get(MARK) != VERSION or said.get("space") != self._space or "event" not in said:
            return None
        try:
            return msgspec.convert(
                {name: said.get(name) for name in ("store", "event", "hash")}, Position
            )
        except msgspec.ValidationError:
            return None

    def _written(self, position: Position | None) -> dict[str, Any]:
        said: dict[str, Any] = {MARK: VERSION, "store": self._store, "space": self._space}
        return said if position is None else said | msgspec.structs.asdict(position)

    def _batch(self, copies: Sequence[Copy]) -> Batch:
        """Some copies. Chroma wants a vector for everything; without an embedder all get the same one."""
        vectors = [[1.0]] * len(copies) if self._vectors is None else self._vectors.of(copies)
        return Batch(
            [copy.id for copy in copies],
            vectors,
            [copy.content for copy in copies],
            [_metadata(copy) for copy in copies],
        )


def _event(position: Position) -> int:
    return position.event


def _metadata(copy: Copy) -> dict[str, Any]:
    """Everything but the id and the text. Each name is always there: what is left out of a replacement would stay."""
    said = {
        name: value
        for name, value in msgspec.structs.asdict(copy).items()
        if name not in ("id", "content")
    }
    return {name: NOTHING if value is None else value for name, value in said.items()} | {
        "tags": [*copy.tags] or [NOTHING]
    }


def _held(record_id: object, document: object, metadata: object) -> Copy | None:
    """The copy that lies in a collection; None for what no copy of ours looks like."""
    if not isinstance(metadata, Mapping):
        return None
    said = {name: None if value == NOTHING else value for name, value in metadata.items()}
    said["tags"] = [] if metadata.get("tags") == [NOTHING] else metadata.get("tags")
    if not metadata.keys() <= set(Copy.__struct_fields__):
        return None
    try:
        return msgspec.convert({**said, "id": record_id, "content": document}, Copy)
    except msgspec.ValidationError:
        return None


def _where(asked: Asked) -> dict[str, Any] | None:
    """The filters in Chroma's words."""
    every: list[dict[str, Any]] = []
    if asked.user is not None:
        every.append({"user": {"$in": [asked.user, NOTHING]}})
    if asked.layers:
        every.append({"layer": {"$in": [layer.value for layer in asked.layers]}})
    if asked.kinds:
        every.append({"kind": {"$in": list(asked.kinds)}})
    if asked.tags:
        every.append(_any([{"tags": {"$contains": tag}} for tag in asked.tags]))
    if asked.since is not None:
        every.append({"occurred_at": {"$gte": to_micros(asked.since)}})
    if asked.until is not None:
        every.append({"occurred_at": {"$lt": to_micros(asked.until)}})
    if not every:
        return None
    return every[0] if len(every) == 1 else {"$and": every}


def _any(some: list[dict[str, Any]]) -> dict[str, Any]:
    return some[0] if len(some) == 1 else {"$or": some}
