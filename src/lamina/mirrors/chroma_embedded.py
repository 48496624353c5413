"""A collection in a folder of ours, by the Chroma that runs in this process."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from lamina.errors import InvalidInput, Refused, StoreUnavailable
from lamina.home import extras
from lamina.home.folder import make_private_file, make_private_folder, refuse_link
from lamina.mirrors import Damaged, hnsw_files
from lamina.mirrors.chroma import Batch, Found
from lamina.mirrors.chroma_server import CONFIGURATION

DAMAGED = re.compile(
    r"\(code: (11|26)\)"
)  # what SQLite says of a file that is none of its own, or not whole
DATABASE = "chroma.sqlite3"
OURS = ".lamina"  # a file that says that the folder is ours
# Chroma keeps one system for each spelling of a path, for the whole process, also after its files were replaced. So each
# opening has a spelling of its own.
_openings = itertools.count()
# Chroma's threads do not survive a fork, and a child that uses it would wait for ever. Who used it first, is noted.
_users: set[int] = set()


class Opened(NamedTuple):
    """A client, the file that it has open, and what was written on the collection whose index it has in memory.

    It reads the index once, and never learns what other processes write. One that is old must neither be searched nor
    written to: it would replace the newer one in the files.
    """

    client: Any
    file: int
    seen: Mapping[str, Any] | None = None  # None: it has not read it yet


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
        self._opened: Opened | None = None

    @property
    def place(self) -> str:
        return f"{self._folder} ({self._name})"

    def find(self) -> Found | None:
        with self._lock:
            if self._is_empty():
                self.close()
                return None
            found = self._found()
            if found is None:
                return None
            metadata = dict(found.metadata or {})
            if self._opened is not None and self._opened.seen not in (None, metadata):
                self.close()  # another process has written
            return Found(str(found.id), metadata)

    def create(self, metadata: Mapping[str, Any]) -> str:
        with self._lock:
            self._make_folder()
            client = self._client()
            with self._chroma():
                made = client.create_collection(
                    self._name,
                    embedding_function=None,
                    metadata=dict(metadata),
                    configuration=CONFIGURATION,
                )
            self._tidy()
            return str(made.id)

    def describe(self, collection: str, metadata: Mapping[str, Any]) -> None:
        with self._lock:
            with self._chroma():
                self._existing().modify(metadata=dict(metadata))
            if self._opened is not None and self._opened.seen is not None:
                self._note_seen(metadata)
            self._tidy()

    def upsert(self, collection: str, batch: Batch) -> None:
        self._change(
            lambda found: found.upsert(batch.ids, batch.vectors, batch.metadatas, batch.documents)
        )

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        self._change(lambda found: found.delete(ids=list(ids)))

    def page(self, collection: str, start: int, number: int) -> list[tuple[object, object, object]]:
        with self._lock, self._chroma():
            said = self._existing().get(
                limit=number, offset=start, include=["documents", "metadatas"]
            )
        return list(zip(said["ids"], said["documents"], said["metadatas"], strict=True))

    def nearest(
        self, found: Found, vector: Sequence[float], number: int, where: Mapping[str, Any] | None
    ) -> list[Any]:
        if self._opened is not None and self._opened.seen == found.metadata:
            with suppress(
                StoreUnavailable
            ):  # somebody is just writing, and the index does not fit to it
                return self._asked(vector, number, where)
        # Another process has written: what we have read of the index is old. To read it anew may also write it anew,
        # which only one process may do at a time. This lock comes before our own, as for whoever writes.
        with self._alone(), self._lock:
            self.close()
            found = self.find() or found
            asked = self._asked(vector, number, where)
            self._note_seen(found.metadata)
            self._tidy()
            return asked

    def _asked(
        self, vector: Sequence[float], number: int, where: Mapping[str, Any] | None
    ) -> list[Any]:
        with self._lock, self._chroma():
            said = self._existing().query(
                query_embeddings=[list(vector)], n_results=number, where=where, include=[]
            )
        return list(said["ids"][0])

    def remove(self) -> None:
        """All files go: Chroma leaves what is deleted in them."""
        with self._lock:
            if self._is_empty():
                return
            others = [one.name for one in self._collections() if one.name != self._name]
            if others:
                raise Refused(
                    f"{self._folder} holds collections of others: {', '.join(sorted(others))}; move them elsewhere"
                )
            self.close()
            try:
                self._clear_away()
                os.rename(
                    self._folder, self._doomed
                )  # half a folder would look like somebody else's
                self._clear_away()
            except OSError as error:
                raise StoreUnavailable(
                    f"{self._folder} cannot be removed: {error.strerror}"
                ) from error

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
        """What is in the folder; nothing when it is damaged."""
        try:
            client = self._client()
            with self._chroma():
                return list(client.list_collections())
        except Damaged:
            return []

    def _change(self, change: Callable[[Any], Any]) -> None:
        with self._lock, self._chroma():
            change(self._existing())
            self._note_seen(
                {}
            )  # it has read the index now, and `describe` will say how far that goes

    def _existing(self) -> Any:
        found = self._found()
        if found is None:
            raise StoreUnavailable(
                f"the collection {self._name} is gone from {self._folder}; run `lamina mirror sync`"
            )
        return found

    def _found(self) -> Any:
        client = self._client()  # which says what to install, if that is missing
        from chromadb.errors import NotFoundError

        with self._chroma():
            try:
                return client.get_collection(self._name, embedding_function=None)
            except NotFoundError:
                return None

    def _client(self) -> Any:
        """Chroma with the folder open, as it is now."""
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
            self._opened = Opened(client, self._file())
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
        """Whether there is nothing yet; a folder that somebody else has made is left alone."""
        refuse_link(self._folder)
        try:
            names = {path.name for path in self._folder.iterdir()}
        except FileNotFoundError:
            return True
        except OSError as error:
            raise StoreUnavailable(f"{self._folder} cannot be read: {error.strerror}") from error
        if names and OURS not in names:
            raise Refused(
                f"{self._folder} holds files that Lamina has not made, and leaves them alone; move them elsewhere"
            )
        return DATABASE not in names

    def _make_folder(self) -> None:
        make_private_folder(self._folder)
        make_private_file(self._folder / OURS)
        make_private_file(self._folder / DATABASE)

    def _tidy(self) -> None:
        """Chroma makes its files with the rights that others have by default, and with bytes in them that are not its own."""
        try:
            for path in self._folder.rglob("*"):
                path.chmod(0o700 if path.is_dir() else 0o600)
            hnsw_files.scrub(self._folder)
        except OSError as error:
            raise StoreUnavailable(
                f"{error.filename} cannot be made private: {error.strerror}"
            ) from error

    @contextmanager
    def _chroma(self) -> Iterator[None]:
        """Errors of Chroma in our words."""
        from chromadb.errors import ChromaError, NotFoundError

        try:
            yield
        except NotFoundError:
            raise
        except (ChromaError, OSError, RuntimeError, ValueError) as error:
            self.close()  # a Chroma that has failed once may keep the next one who asks it waiting for ever
            if DAMAGED.search(str(error)):
                raise Damaged(f"{self._folder}: {error}") from error
            raise StoreUnavailable(
                f"Chroma in {self._folder} failed: {error}; `lamina mirror rebuild` makes it anew"
            ) from error


def _library() -> Any:
    try:
        import chromadb
    except ImportError as error:
        raise InvalidInput(
            f"mirrors.chroma = embedded needs Chroma ({error}); {extras.remedy('chroma')}"
        ) from error
    return chromadb
