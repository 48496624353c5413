"""A collection in a folder of our own, through a Chroma that runs in this process."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from lamina.errors import InvalidInput, Refused, StoreUnavailable
from lamina.home import extras
from lamina.home.folder import make_private_file, make_private_folder, refuse_link
from lamina.mirrors import Damaged
from lamina.mirrors.chroma import Batch, Collection, Where
from lamina.mirrors.chroma_server import CONFIGURATION

# SQLite's codes for a file that is damaged or not a database.
DAMAGED = re.compile(r"\(code: (11|26)\)")
DATABASE = "chroma.sqlite3"
OURS = ".lamina"  # a file that marks the folder as ours
# The header of hnswlib's header.bin: version, an offset, capacity, vectors, bytes of a vector.
HNSW_HEADER = struct.Struct("<iQQQQ")
HNSW_VERSION = 1
SCRUB_BYTES = 1 << 20
# Chroma caches one system for each spelling of a path, for the whole process, even after its files
# were replaced. So each opening has a spelling of its own.
_openings = itertools.count()
# Chroma's threads do not survive a fork, and a child process that uses it would hang. So the
# process that used it first is noted.
_users: set[int] = set()


class OpenClient(NamedTuple):
    """A client, its open file, and the metadata of the collection whose index it has loaded.

    It reads the index once, and never sees what other processes write. An outdated client must
    neither search nor write: it would overwrite the newer index in the files.
    """

    client: Any
    file: int
    seen: Mapping[str, Any] | None = None  # None: not read yet


class ChromaFolder:
    """One collection in a folder that is ours alone."""

    is_shared = False

    def __init__(
        self,
        folder: Path,
        name: str,
        alone: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._folder = folder
        self._name = name
        self._alone = alone
        self._lock = threading.RLock()
        self._opened: OpenClient | None = None

    @property
    def place(self) -> str:
        return f"{self._folder} ({self._name})"

    def find(self) -> Collection | None:
        with self._lock:
            if self._is_empty():
                self.close()
                return None
            handle = self._handle()
            if handle is None:
                return None
            metadata = dict(handle.metadata or {})
            if self._opened is not None and self._opened.seen not in (None, metadata):
                self.close()  # another process has written
            return Collection(str(handle.id), metadata)

    def create(self, metadata: Mapping[str, Any]) -> str:
        with self._lock:
            self._make_folder()
            client = self._client()
            with self._chroma():
                handle = client.create_collection(
                    self._name,
                    embedding_function=None,
                    metadata=dict(metadata),
                    configuration=CONFIGURATION,
                )
            self._tidy()
            return str(handle.id)

    def describe(self, collection: str, metadata: Mapping[str, Any]) -> None:
        with self._lock:
            with self._chroma():
                self._existing().modify(metadata=dict(metadata))
            if self._opened is not None and self._opened.seen is not None:
                self._note_seen(metadata)
            self._tidy()

    def upsert(self, collection: str, batch: Batch) -> None:
        rows = (batch.ids, batch.vectors, batch.metadatas, batch.documents)
        self._change(lambda handle: handle.upsert(*rows))

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        self._change(lambda handle: handle.delete(ids=list(ids)))

    def page(self, collection: str, start: int, number: int) -> list[tuple[object, object, object]]:
        with self._lock, self._chroma():
            answer = self._existing().get(
                limit=number, offset=start, include=["documents", "metadatas"]
            )
        return list(zip(answer["ids"], answer["documents"], answer["metadatas"], strict=True))

    def nearest(
        self, collection: Collection, vector: Sequence[float], number: int, where: Where
    ) -> list[Any]:
        if self._opened is not None and self._opened.seen == collection.metadata:
            # This fails while another process is writing, as the index does not match its files.
            with suppress(StoreUnavailable):
                return self._query(vector, number, where)
        # Another process has written, and the index in memory is outdated. Reading it again may
        # also write it, which only one process may do at a time. This lock comes before our own,
        # as it does for writers.
        with self._alone(), self._lock:
            self.close()
            collection = self.find() or collection
            ids = self._query(vector, number, where)
            self._note_seen(collection.metadata)
            self._tidy()
            return ids

    def _query(self, vector: Sequence[float], number: int, where: Where) -> list[Any]:
        with self._lock, self._chroma():
            answer = self._existing().query(
                query_embeddings=[list(vector)], n_results=number, where=where, include=[]
            )
        return list(answer["ids"][0])

    def remove(self) -> None:
        """Remove all files: Chroma leaves deleted data in them."""
        with self._lock:
            if self._is_empty():
                return
            others = sorted({handle.name for handle in self._collections()} - {self._name})
            if others:
                raise Refused(
                    f"{self._folder} holds collections of others: {', '.join(others)};"
                    " move them elsewhere"
                )
            self.close()
            try:
                self._clear_away()
                # Rename first: half a folder would look like one that is not ours.
                os.rename(self._folder, self._doomed)
                self._clear_away()
            except OSError as error:
                problem = f"{self._folder} cannot be removed: {error.strerror}"
                raise StoreUnavailable(problem) from error

    def close(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, None
            if opened is not None and os.getpid() in _users:
                opened.client.close()

    @property
    def _doomed(self) -> Path:
        return self._folder.with_name(f".{self._folder.name}.removed")

    def _clear_away(self) -> None:
        if self._doomed.exists():
            shutil.rmtree(self._doomed)

    def _collections(self) -> list[Any]:
        """List the collections in the folder; none when it is damaged."""
        try:
            client = self._client()
            with self._chroma():
                return list(client.list_collections())
        except Damaged:
            return []

    def _change(self, change: Callable[[Any], Any]) -> None:
        with self._lock, self._chroma():
            change(self._existing())
            self._note_seen({})  # the index is read now; `describe` will say how far it goes

    def _existing(self) -> Any:
        handle = self._handle()
        if handle is None:
            raise StoreUnavailable(
                f"the collection {self._name} is gone from {self._folder}; run `lamina mirror sync`"
            )
        return handle

    def _handle(self) -> Any:
        """Get Chroma's object for the collection, or None."""
        client = self._client()  # this says what to install if Chroma is missing
        from chromadb.errors import NotFoundError

        with self._chroma():
            try:
                return client.get_collection(self._name, embedding_function=None)
            except NotFoundError:
                return None

    def _client(self) -> Any:
        """Open the folder in Chroma, or reuse the open client while its file is the same."""
        if _users - {os.getpid()}:
            why = "Chroma does not work in a process that was forked from one that uses it"
            raise StoreUnavailable(f"{why}; open the memory only after the fork")
        if self._opened is not None and self._opened.file != self._file():
            self.close()
        if self._opened is None:
            chromadb = _library()
            spelling = f"{self._folder}{os.sep}" + f".{os.sep}" * next(_openings)
            _users.add(os.getpid())
            with self._chroma():
                settings = chromadb.config.Settings(_env_file=None, anonymized_telemetry=False)
                client = chromadb.PersistentClient(spelling, settings)
            self._opened = OpenClient(client, self._file())
        return self._opened.client

    def _note_seen(self, metadata: Mapping[str, Any]) -> None:
        if self._opened is not None:
            self._opened = self._opened._replace(seen=dict(metadata))

    def _file(self) -> int:
        try:
            return (self._folder / DATABASE).stat().st_ino
        except OSError:
            return 0

    def _is_empty(self) -> bool:
        """Return whether there is no database yet; refuse a folder that is not ours."""
        refuse_link(self._folder)
        try:
            names = {path.name for path in self._folder.iterdir()}
        except FileNotFoundError:
            return True
        except OSError as error:
            raise StoreUnavailable(f"{self._folder} cannot be read: {error.strerror}") from error
        if names and OURS not in names:
            raise Refused(
                f"{self._folder} holds files that Lamina has not made, and leaves them alone;"
                " move them elsewhere"
            )
        return DATABASE not in names

    def _make_folder(self) -> None:
        make_private_folder(self._folder)
        make_private_file(self._folder / OURS)
        make_private_file(self._folder / DATABASE)

    def _tidy(self) -> None:
        """Make Chroma's files private, and overwrite stray memory in its indexes."""
        try:
            for path in self._folder.rglob("*"):
                path.chmod(0o700 if path.is_dir() else 0o600)
            scrub_indexes(self._folder)
        except OSError as error:
            problem = f"{error.filename} cannot be made private: {error.strerror}"
            raise StoreUnavailable(problem) from error

    @contextmanager
    def _chroma(self) -> Iterator[None]:
        """Translate Chroma's errors into ours."""
        from chromadb.errors import ChromaError, NotFoundError

        try:
            yield
        except NotFoundError:
            raise
        except (ChromaError, OSError, RuntimeError, ValueError) as error:
            # After an error, Chroma may hang on the next request.
            self.close()
            if DAMAGED.search(str(error)):
                raise Damaged(f"{self._folder}: {error}") from error
            raise StoreUnavailable(
                f"Chroma in {self._folder} failed: {error}; `lamina mirror rebuild` rebuilds it"
            ) from error


def scrub_indexes(folder: Path) -> None:
    """Overwrite unused space with zeros in every index below a folder.

    hnswlib writes uninitialised memory to disk, with whatever the process has read. The index
    does not use the space after the last vector. An index of another version is left alone: an
    erasure checks all files anyway.
    """
    for header in folder.glob("*/header.bin"):
        with header.open("rb") as file:
            head = file.read(HNSW_HEADER.size)
        if len(head) < HNSW_HEADER.size:
            continue
        version, _, capacity, used, size = HNSW_HEADER.unpack(head)
        if version != HNSW_VERSION or used > capacity:
            continue
        for path, width in (
            (header.with_name("data_level0.bin"), size),
            (header.with_name("length.bin"), 4),
        ):
            if path.is_file() and path.stat().st_size == capacity * width:
                _zero_from(path, used * width)


def _zero_from(path: Path, start: int) -> None:
    """Fill a file with zeros from an offset on, where it has other bytes."""
    with path.open("r+b") as file:
        file.seek(start)
        while part := file.read(SCRUB_BYTES):
            if any(part):
                file.seek(-len(part), 1)
                file.write(bytes(len(part)))


def _library() -> Any:
    try:
        import chromadb
    except ImportError as error:
        raise InvalidInput(
            f"mirrors.chroma = embedded needs Chroma ({error}); {extras.remedy('chroma')}"
        ) from error
    return chromadb
