"""Ask a Weaviate server over HTTP, within a deadline.

Each request has a connection of its own. So a restart of the server leaves nothing to repair, a
deadline covers everything from the name lookup to the last byte, and a fork inherits nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from lamina.errors import InvalidInput, LaminaError, Refused, StoreUnavailable
from lamina.home.http_client import KEY, Exchange, address
from lamina.mirrors.breaker import Breaker
from lamina.text.words import one_line, shown

Answer = TypeVar("Answer")

COLLECTION = "LaminaMemory"
MARK = "Memories of Lamina, form 1"
OLDEST = (1, 27)
EXAMPLE = "such as http://localhost:8080"
LARGEST_ANSWER = 1 << 28
LARGEST_LIST = 1 << 22  # for ids alone
STRANGE = "does not speak Weaviate's API; set mirrors.weaviate to the address of a Weaviate server"
NOT_THERE = (404, 422)  # no such object, or no such tenant
QUICK = 1.0  # seconds for a question about a single thing
PATIENT = 60.0  # seconds for a batch


def _property(name: str, kind: str, **more: Any) -> dict[str, Any]:
    exact = {"tokenization": "field", "indexSearchable": False} if kind.startswith("text") else {}
    return {"name": name, "dataType": [kind], **exact, **more}


PROPERTIES = (
    _property("record", "text"),
    _property("seq", "int"),
    _property("content", "text", indexFilterable=False),
    _property("words", "text", tokenization="word", indexSearchable=True, indexFilterable=False),
    _property("layer", "text"),
    _property("kind", "text"),
    _property("importance", "number"),
    _property("occurred_at", "date"),
    _property("tags", "text[]"),
    _property("user", "text"),
    _property("session", "text"),
    _property("speaker", "text"),
    _property("source", "text"),
    _property("position", "text", indexFilterable=False),
    _property("unsettled", "boolean"),
)
DEFINITION = {
    "class": COLLECTION,
    "description": (
        f"{MARK}. Made by Lamina, which writes it anew at will: change it there, not here."
    ),
    "vectorizer": "none",
    "vectorIndexType": "hnsw",
    "vectorIndexConfig": {"distance": "cosine"},
    "multiTenancyConfig": {
        "enabled": True,
        "autoTenantCreation": False,
        "autoTenantActivation": True,
    },
    "invertedIndexConfig": {"stopwords": {"preset": "none"}, "indexNullState": True},
    "properties": list(PROPERTIES),
}


class Meta(msgspec.Struct):
    """A server's description of itself."""

    version: str = ""


class NameOnly(msgspec.Struct):
    """The name of a property or tenant; nothing else of it is of interest."""

    name: str


class Tenancy(msgspec.Struct):
    """The settings of a collection about tenants."""

    enabled: bool = False


class Collection(msgspec.Struct, rename={"tenancy": "multiTenancyConfig"}):
    """The part of a collection's definition that shows if it is ours."""

    description: str = ""
    properties: list[NameOnly] | None = None
    tenancy: Tenancy | None = None

    def is_ours(self) -> bool:
        names = {each.name for each in self.properties or ()}
        has_tenants = self.tenancy is not None and self.tenancy.enabled
        has_all = names.issuperset(each["name"] for each in PROPERTIES)
        return self.description.startswith(MARK) and has_tenants and has_all


class StoredObject(msgspec.Struct):
    """An object with its properties."""

    id: str
    properties: dict[str, Any] | None = None


class Page(msgspec.Struct):
    """Some objects."""

    objects: list[StoredObject]


class PutStatus(msgspec.Struct):
    """The outcome for one object of a batch."""

    status: str = ""


class PutResult(msgspec.Struct):
    """An object of a batch that was put, with its outcome."""

    id: str
    result: PutStatus


class DropCounts(msgspec.Struct):
    """The number of objects that were not removed."""

    failed: int = 0


class DropResult(msgspec.Struct):
    """The outcome of a batch that was to be removed."""

    results: DropCounts


class SearchResult(msgspec.Struct):
    """The answer to a search."""

    data: dict[str, dict[str, list[dict[str, Any]] | None]] | None = None
    errors: list[Any] | None = None


class Deadline:
    """A deadline that several requests share."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        return max(self._end - time.monotonic(), 0.001)


class WeaviateServer:
    """The server, and one tenant on it.

    Every failure is StoreUnavailable; a collection that is not ours is Refused.
    """

    def __init__(self, url: str, key: str | None, tenant: str, breaker: Breaker) -> None:
        self._url = address(url, "mirrors.weaviate", EXAMPLE)
        if key and not KEY.fullmatch(key):
            problem = (
                "the key of Weaviate holds spaces, line ends or other characters that no key has"
            )
            raise InvalidInput(problem)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self.breaker = breaker
        self.tenant = tenant
        self._is_known = False

    def exists(self, deadline: Deadline | None = None) -> bool:
        """Return whether our collection exists; refuse one that is not ours, and never touch it."""
        deadline = deadline or Deadline(QUICK)
        self._check_version(deadline)
        path = f"schema/{COLLECTION}"
        collection = self._ask("GET", path, None, deadline, Collection, NOT_THERE)
        if collection is not None and not collection.is_ours():
            raise Refused(
                f"{self} has a collection {COLLECTION} that this Lamina did not make, and will not"
                " touch; remove it there, or set mirrors.weaviate to another server"
            )
        return collection is not None

    def prepare(self, deadline: Deadline | None = None) -> None:
        """Create the collection and the tenant if missing. Doing it twice at once does no harm."""
        if not self.exists(deadline):
            self._ask("POST", "schema", DEFINITION, deadline or Deadline(PATIENT), None, (422,))
            if not self.exists(deadline):
                raise self._failure(f"did not make the collection {COLLECTION}; see its log")
        path = f"schema/{COLLECTION}/tenants"
        deadline = deadline or Deadline(QUICK)
        if self._ask("GET", f"{path}/{self.tenant}", None, deadline, NameOnly, NOT_THERE) is None:
            self._ask("POST", path, [{"name": self.tenant}], deadline, None)

    def empty(self) -> None:
        """Remove the tenant with everything that it holds, and create it again."""
        self._ask("DELETE", f"schema/{COLLECTION}/tenants", [self.tenant], Deadline(PATIENT), None)
        self.prepare()

    def get(self, uuid: str) -> Mapping[str, Any] | None:
        """Read the properties of one object."""
        path = f"objects/{COLLECTION}/{uuid}?tenant={self.tenant}"
        stored = self._ask("GET", path, None, Deadline(QUICK), StoredObject, NOT_THERE)
        return None if stored is None else stored.properties or {}

    def put(self, objects: Sequence[Mapping[str, Any]], deadline: Deadline | None = None) -> None:
        """Add or replace objects; raise if any is not taken, whatever happened to the others."""
        owner = {"class": COLLECTION, "tenant": self.tenant}
        body = {"objects": [{**owner, **each} for each in objects]}
        deadline = deadline or Deadline(PATIENT)
        results = self._ask("POST", "batch/objects", body, deadline, list[PutResult]) or []
        taken = {result.id for result in results if result.result.status == "SUCCESS"}
        missed = [each for each in objects if each["id"] not in taken]
        if missed:  # the server's message quotes them, so it is not repeated
            first = shown(missed[0]["properties"].get("record"))
            raise self._failure(
                f"did not take {len(missed)} of {len(objects)} records, such as {first};"
                " see its log"
            )

    def drop(
        self, uuids: Sequence[str], deadline: Deadline | None = None, *, unsettled: bool = False
    ) -> None:
        """Remove objects that are there, or only those that are unsettled."""
        where: dict[str, Any] = {
            "path": ["id"],
            "operator": "ContainsAny",
            "valueTextArray": list(uuids),
        }
        if unsettled:
            still = {"path": ["unsettled"], "operator": "Equal", "valueBoolean": True}
            where = {"operator": "And", "operands": [where, still]}
        match = {"match": {"class": COLLECTION, "where": where}, "output": "minimal"}
        path = f"batch/objects?tenant={self.tenant}"
        answer = self._ask("DELETE", path, match, deadline or Deadline(PATIENT), DropResult)
        if answer is not None and answer.results.failed:
            raise self._failure(f"did not remove {answer.results.failed} records; see its log")

    def page(self, after: str, limit: int) -> list[StoredObject]:
        """Read the next objects in order of their ids."""
        path = f"objects?class={COLLECTION}&tenant={self.tenant}&limit={limit}&after={after}"
        page = self._ask("GET", path, None, Deadline(PATIENT), Page, NOT_THERE)
        return [] if page is None else page.objects

    def search(self, arguments: str, limit: int) -> list[str]:
        """Search with GraphQL arguments; return record ids, best first."""
        scope = f"tenant:{quoted(self.tenant)},limit:{limit}"
        body = {"query": f"{{Get{{{COLLECTION}({scope},{arguments}){{record}}}}}}"}
        deadline = Deadline(QUICK)
        result = self._ask("POST", "graphql", body, deadline, SearchResult, most=LARGEST_LIST)
        # Its errors quote the question, so they are not repeated.
        if result is None or result.errors or result.data is None:
            raise self._failure("could not search; see its log")
        hits = (result.data.get("Get") or {}).get(COLLECTION) or []
        return [hit["record"] for hit in hits if isinstance(hit.get("record"), str)]

    def _check_version(self, deadline: Deadline) -> None:
        if self._is_known:
            return
        meta = self._ask("GET", "meta", None, deadline, Meta, range(300, 500)) or Meta()
        numbers = re.match(r"(\d{1,4})\.(\d{1,4})", meta.version)
        if numbers is None:
            raise self._failure(STRANGE)
        if (int(numbers[1]), int(numbers[2])) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise StoreUnavailable(
                f"{self} is of version {shown(meta.version, 40)};"
                f" Lamina needs {oldest} or newer: upgrade the server"
            )
        self._is_known = True

    def _ask(
        self,
        method: str,
        path: str,
        body: Any,
        deadline: Deadline,
        kind: type[Answer] | None,
        absent: Sequence[int] = (),
        most: int = LARGEST_ANSWER,
    ) -> Answer | None:
        """Send a request; None for a status in `absent`. Any other than 2xx is a failure."""
        self.breaker.check()
        seconds = deadline.left()
        exchange = Exchange(self._url, f"v1/{path}", seconds, most, method)
        content = None if body is None else msgspec.json.encode(body)
        if not exchange.within(seconds, content, self._headers):
            raise self._outage("did not answer in time")
        if exchange.error is not None:
            reason = one_line(str(exchange.error), 200)
            raise self._outage(f"cannot be reached ({reason}); start it, or correct its address")
        if exchange.status >= 500:
            raise self._outage(f"answered with HTTP {exchange.status}; see its log")
        self.breaker.answered()
        if exchange.status in (401, 403):
            raise self._failure(
                f"refuses the key (HTTP {exchange.status});"
                " mirrors.weaviate_key_variable names where it is"
            )
        if exchange.status in absent:
            return None
        if exchange.status not in (200, 204):
            raise self._failure(f"answered {method} with HTTP {exchange.status}; see its log")
        if len(exchange.body) > most:
            raise self._failure(f"answered {method} with more than {most:,} bytes")
        if kind is None or not exchange.body:
            return None
        try:
            return msgspec.json.decode(exchange.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._failure(STRANGE) from None

    def _outage(self, what: str) -> LaminaError:
        failure = self._failure(what)
        self.breaker.failed(failure.message)
        return failure

    def _failure(self, what: str) -> LaminaError:
        return StoreUnavailable(f"{self} {what}")

    def __str__(self) -> str:
        return f"Weaviate at {self._url.geturl()}"


def quoted(text: str) -> str:
    """Quote a text for GraphQL, in the same way as JSON."""
    return msgspec.json.encode(text).decode()
