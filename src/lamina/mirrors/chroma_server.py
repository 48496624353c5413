"""A collection on a Chroma server, over version 2 of its API, with a timeout for every request.

Chroma's own client waits forever for a server that hangs, so it is not used here.
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
from lamina.mirrors.chroma import Batch, Collection, Where

API = "api/v2"
COLLECTIONS = f"{API}/tenants/default_tenant/databases/default_database/collections"
CONFIGURATION = {"hnsw": {"space": "cosine", "ef_search": 500}}
TIMEOUT = 10.0  # seconds
MOST_BYTES = 1 << 28  # limit for a page of memories
FEW_BYTES = 1 << 22  # limit for every other answer
MAJOR = re.compile("[0-9]{1,6}")
OLDEST = 1  # the first major version that has this API

_encode = msgspec.json.Encoder().encode


class ChromaServer:
    """One collection on a server."""

    is_shared = True

    def __init__(
        self, address: str, name: str, breaker: Breaker | None = None, timeout: float = TIMEOUT
    ) -> None:
        self._service = Service(address, None, timeout, MOST_BYTES, StoreUnavailable)
        self._name = name
        self._breaker = breaker  # without it, each writer would wait anew for a server that is down
        self._is_checked = False

    @property
    def place(self) -> str:
        return f"{self._service.url.geturl()} ({self._name})"

    def find(self) -> Collection | None:
        self._check_version()
        try:
            answer = self._ask("GET", f"{COLLECTIONS}/{quote(self._name)}")
        except LaminaError as error:
            if error.details.get("status") == 404:
                return None
            raise
        metadata = answer.get("metadata")
        return Collection(self._id(answer), metadata if isinstance(metadata, dict) else {})

    def create(self, metadata: Mapping[str, Any]) -> str:
        body = {"name": self._name, "metadata": metadata, "configuration": CONFIGURATION}
        return self._id(self._ask("POST", COLLECTIONS, body))

    def describe(self, collection: str, metadata: Mapping[str, Any]) -> None:
        self._ask("PUT", f"{COLLECTIONS}/{collection}", {"new_metadata": metadata})

    def upsert(self, collection: str, batch: Batch) -> None:
        body = {
            "ids": batch.ids,
            "embeddings": batch.vectors,
            "documents": batch.documents,
            "metadatas": batch.metadatas,
        }
        self._ask("POST", f"{COLLECTIONS}/{collection}/upsert", body)

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        self._ask("POST", f"{COLLECTIONS}/{collection}/delete", {"ids": list(ids)})

    def page(self, collection: str, start: int, number: int) -> list[tuple[object, object, object]]:
        body = {"limit": number, "offset": start, "include": ["documents", "metadatas"]}
        answer = self._ask("POST", f"{COLLECTIONS}/{collection}/get", body, MOST_BYTES)
        parts = [answer.get(name) or [] for name in ("ids", "documents", "metadatas")]
        if not all(isinstance(part, list) and len(part) == len(parts[0]) for part in parts):
            raise self._service.failed(
                "answered with something other than memories, so it is not a Chroma server"
            )
        return list(zip(*parts, strict=True))

    def nearest(
        self, collection: Collection, vector: Sequence[float], number: int, where: Where
    ) -> list[Any]:
        body: dict[str, Any] = {
            "query_embeddings": [list(vector)],
            "n_results": number,
            "include": [],
        }
        if where is not None:
            body["where"] = where
        ids = self._ask("POST", f"{COLLECTIONS}/{collection.id}/query", body).get("ids")
        return ids[0] if isinstance(ids, list) and ids and isinstance(ids[0], list) else []

    def remove(self) -> None:
        try:
            self._ask("DELETE", f"{COLLECTIONS}/{quote(self._name)}")
        except LaminaError as error:
            if error.details.get("status") != 404:
                raise

    def close(self) -> None:
        """Do nothing: every request has its own connection."""

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        most: int = FEW_BYTES,
    ) -> dict[str, Any]:
        content = self._request(method, path, None if body is None else _encode(body), most)
        try:
            answer = msgspec.json.decode(content) if content else {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._service.failed(
                "answered with something that is not JSON, so it is not a Chroma server"
            ) from None
        return answer if isinstance(answer, dict) else {}

    def _request(
        self, method: str, path: str, body: bytes | None = None, most: int = FEW_BYTES
    ) -> bytes:
        """Send a request; if the server does not answer, further requests pause for a moment."""
        if self._breaker is None:
            return self._service.ask(method, path, body, most)
        self._breaker.check()
        try:
            content = self._service.ask(method, path, body, most)
        except LaminaError as error:
            if error.details.get("status") is None:
                self._breaker.failed(error.message)
            else:
                self._breaker.answered()
            raise
        self._breaker.answered()
        return content

    def _id(self, answer: Mapping[str, Any]) -> str:
        collection_id = answer.get("id")
        if not isinstance(collection_id, str):
            raise self._service.failed(
                "describes a collection without an id, so it is not a Chroma server"
            )
        return quote(collection_id, safe="")

    def _check_version(self) -> None:
        """Raise unless the server supports this API; check it only once."""
        if self._is_checked:
            return
        try:
            content = self._request("GET", f"{API}/version")
        except LaminaError as error:
            if error.details.get("status") is None:
                raise
            raise self._service.failed(
                "does not speak version 2 of Chroma's API; Chroma 1.0 or later is needed"
            ) from None
        version = content.decode(errors="replace").strip().strip('"')
        major = version.partition(".")[0]
        if not MAJOR.fullmatch(major) or int(major) < OLDEST:
            raise self._service.failed(f"is Chroma {version[:40]!r}; 1.0 or later is needed")
        self._is_checked = True
