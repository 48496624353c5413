"""A collection on a Chroma server, over the API of its version 2; every request has its time.

Chroma's own client waits for ever for a server that hangs, so it is not used here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from lamina.errors import LaminaError, StoreUnavailable
from lamina.home.http_client import Service
from lamina.mirrors.breaker import Breaker
from lamina.mirrors.chroma import Batch, Found

API = "api/v2"
ROOM = f"{API}/tenants/default_tenant/databases/default_database/collections"
CONFIGURATION = {"hnsw": {"space": "cosine", "ef_search": 500}}
TIMEOUT = 10.0  # seconds
MOST_BYTES = 1 << 28  # of a page of memories
FEW_BYTES = 1 << 22  # of everything else
MAJOR = re.compile("[0-9]{1,6}")
OLDEST = 1  # the first that speaks this API as we do

_encode = msgspec.json.Encoder().encode


class ChromaServer:
    """One collection on a server."""

    is_shared = True

    def __init__(
        self, address: str, name: str, breaker: Breaker | None = None, timeout: float = TIMEOUT
    ) -> None:
        self._service = Service(address, None, timeout, MOST_BYTES, StoreUnavailable)
        self._name = name
        self._breaker = breaker  # who writes would otherwise keep others waiting again and again
        self._is_checked = False

    @property
    def place(self) -> str:
        return f"{self._service.url.geturl()} ({self._name})"

    def find(self) -> Found | None:
        self._check_version()
        try:
            said = self._ask("GET", f"{ROOM}/{quote(self._name)}")
        except LaminaError as error:
            if error.details.get("status") == 404:
                return None
            raise
        return Found(
            self._id(said), metadata if isinstance(metadata := said.get("metadata"), dict) else {}
        )

    def create(self, metadata: Mapping[str, Any]) -> str:
        said = self._ask(
            "POST", ROOM, {"name": self._name, "metadata": metadata, "configuration": CONFIGURATION}
        )
        return self._id(said)

    def describe(self, collection: str, metadata: Mapping[str, Any]) -> None:
        self._ask("PUT", f"{ROOM}/{collection}", {"new_metadata": metadata})

    def upsert(self, collection: str, batch: Batch) -> None:
        said = {
            "ids": batch.ids,
            "embeddings": batch.vectors,
            "documents": batch.documents,
            "metadatas": batch.metadatas,
        }
        self._ask("POST", f"{ROOM}/{collection}/upsert", said)

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        self._ask("POST", f"{ROOM}/{collection}/delete", {"ids": list(ids)})

    def page(self, collection: str, start: int, number: int) -> list[tuple[object, object, object]]:
        asked = {"limit": number, "offset": start, "include": ["documents", "metadatas"]}
        said = self._ask("POST", f"{ROOM}/{collection}/get", asked, MOST_BYTES)
        parts = [said.get(name) or [] for name in ("ids", "documents", "metadatas")]
        if not all(isinstance(part, list) and len(part) == len(parts[0]) for part in parts):
            raise self._service.failed(
                "answered with something else than memories, so it is no Chroma server"
            )
        return list(zip(*parts, strict=True))

    def nearest(
        self, found: Found, vector: Sequence[float], number: int, where: Mapping[str, Any] | None
    ) -> list[Any]:
        asked: dict[str, Any] = {
            "query_embeddings": [list(vector)],
            "n_results": number,
            "include": [],
        }
        said = self._ask(
            "POST", f"{ROOM}/{found.id}/query", asked if where is None else asked | {"where": where}
        )
        ids = said.get("ids")
        return ids[0] if isinstance(ids, list) and ids and isinstance(ids[0], list) else []

    def remove(self) -> None:
        try:
            self._ask("DELETE", f"{ROOM}/{quote(self._name)}")
        except LaminaError as error:
            if error.details.get("status") != 404:
                raise

    def close(self) -> None:
        """Every request has its own connection."""

    def _ask(
        self,
        method: str,
        path: str,
        question: Mapping[str, Any] | None = None,
        most: int = FEW_BYTES,
    ) -> dict[str, Any]:
        answer = self._answer(method, path, None if question is None else _encode(question), most)
        try:
            said = msgspec.json.decode(answer) if answer else {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._service.failed(
                "answered with something that is not JSON, so it is no Chroma server"
            ) from None
        return said if isinstance(said, dict) else {}

    def _answer(
        self, method: str, path: str, question: bytes | None = None, most: int = FEW_BYTES
    ) -> bytes:
        """What the server says; a server that did not answer is left in peace for a moment."""
        if self._breaker is None:
            return self._service.ask(method, path, question, most)
        self._breaker.check()
        try:
            answer = self._service.ask(method, path, question, most)
        except LaminaError as error:
            self._breaker.failed(error.message) if error.details.get(
                "status"
            ) is None else self._breaker.answered()
            raise
        self._breaker.answered()
        return answer

    def _id(self, said: Mapping[str, Any]) -> str:
        found = said.get("id")
        if not isinstance(found, str):
            raise self._service.failed(
                "describes a collection without an id, so it is no Chroma server"
            )
        return quote(found, safe="")

    def _check_version(self) -> None:
        """Raise unless the server speaks as we do; once is enough."""
        if self._is_checked:
            return
        try:
            said = self._answer("GET", f"{API}/version")
        except LaminaError as error:
            if error.details.get("status") is None:
                raise
            raise self._service.failed(
                "does not speak version 2 of Chroma's API; Chroma 1.0 or later is needed"
            ) from None
        version = said.decode(errors="replace").strip().strip('"')
        major = version.partition(".")[0]
        if not MAJOR.fullmatch(major) or int(major) < OLDEST:
            raise self._service.failed(f"is Chroma {version[:40]!r}; 1.0 or later is needed")
        self._is_checked = True
