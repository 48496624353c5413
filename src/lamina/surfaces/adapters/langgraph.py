"""A LangGraph store on a memory: items are records, and updates are newer records."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import msgspec
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
)

from lamina.errors import InvalidInput
from lamina.memory.agent import Memory
from lamina.memory.operator import Operator
from lamina.model.record import Hit, Layer, Record, State, Trust, iso
from lamina.model.rules import LIMITS
from lamina.surfaces.adapters.values import cleaned, mark, metadata_of, readable

NAME = "langgraph"
MOST = LIMITS[1]
# Versions of an item to examine: a clock set back may have put them out of order.
NEWEST = 16
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": lambda value, than: float(value) > float(than),
    "$gte": lambda value, than: float(value) >= float(than),
    "$lt": lambda value, than: float(value) < float(than),
    "$lte": lambda value, than: float(value) <= float(than),
}


class ItemMetadata(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The metadata of a record about the item of which it is a version; no value: deleted."""

    namespace: tuple[str, ...]
    key: str
    indexed: bool
    # The number of the item's first version in the store; 0 if this is the first.
    first: Annotated[int, msgspec.Meta(ge=0)]
    created: Annotated[datetime, msgspec.Meta(tz=True)] | None
    value: dict[str, Any] | None = None


class Version(NamedTuple):
    """A record that is a version of an item, with its metadata."""

    record: Record
    about: ItemMetadata


Newest = dict[tuple[tuple[str, ...], str], Version]


class LaminaStore(BaseStore):
    """A `BaseStore` whose items are episodic memories, found by their words and their meaning.

    An agent's handle deletes an item by adding a record that says so: it leaves this store, but
    its text is still in the memory. On an operator's handle, deleted and replaced items are also
    forgotten, so that no search of the memory finds them.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Read the state before all writes, then write together; an item's last write counts."""
        operations = list(ops)
        results = [self._read(op) for op in operations]
        writes = {(op.namespace, op.key): op for op in operations if isinstance(op, PutOp)}
        self._write(list(writes.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                version = self._current(op.namespace, op.key)
                return None if version is None else Item(**_fields(version))
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None
        raise InvalidInput(f"unknown operation {type(op).__name__}")

    def _write(self, ops: Sequence[PutOp]) -> None:
        if isinstance(self._memory, Operator):
            self._write_as_operator(self._memory, ops)
            return
        earlier = [self._current(op.namespace, op.key) for op in ops]
        drafts = [
            _draft(op, before)
            for op, before in zip(ops, earlier, strict=True)
            if op.value is not None or before is not None
        ]
        self._memory.remember_many(drafts)

    def _write_as_operator(self, memory: Operator, ops: Sequence[PutOp]) -> None:
        """Store the new item, and forget all its earlier versions, whichever handle stored them."""
        for op in ops:
            versions = self._listed(_item_tag(op.namespace, op.key), MOST)
            earlier = [each.record for each in versions if each.record.state is State.ACTIVE]
            if op.value is not None:
                memory.remember(**_draft(op, self._current(op.namespace, op.key)))
            for record in earlier:
                memory.forget(record.id, "replaced or deleted in a LangGraph store")

    def _current(self, namespace: tuple[str, ...], key: str) -> Version | None:
        """Find the newest version of an item, unless it marks the item as deleted."""
        newest = self._newest(self._listed(_item_tag(namespace, key), NEWEST))
        return newest.get((namespace, key))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        end = op.offset + op.limit
        if not op.query:
            versions = self._newest(self._whole(_prefix_tag(op.namespace_prefix))).values()
            matching = [_search_item(version) for version in versions if _fits(version, op)]
            return matching[op.offset : end]
        ranked: list[SearchItem] = []
        for hit in self._ranked(op, end):
            version = self._own(hit.record)
            current = version and self._current(version.about.namespace, version.about.key)
            if not current or current.record.id != hit.record.id:
                continue
            if current.about.indexed and _fits(current, op):
                ranked.append(_search_item(current, hit.score))
                if len(ranked) == end:
                    break
        return ranked[op.offset : end]

    def _ranked(self, op: SearchOp, end: int) -> Iterator[Hit]:
        """Find matches for a query, best first; fetch more while too few of them count."""
        number, seen = min(MOST, 4 * max(1, end)), 0
        tag = _prefix_tag(op.namespace_prefix)
        while op.query:
            hits = self._memory.search(op.query, number, layers=(Layer.EPISODIC,), tags=(tag,))
            yield from hits[seen:]
            if len(hits) < number or number == MOST:
                return
            seen, number = len(hits), min(MOST, 4 * number)

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        namespaces = {namespace for namespace, _ in self._newest(self._whole(_prefix_tag(())))}
        matching = {
            namespace[: op.max_depth]
            for namespace in namespaces
            if all(_matches(condition, namespace) for condition in op.match_conditions or ())
        }
        return sorted(matching)[op.offset : op.offset + op.limit]

    def _own(self, record: Record) -> Version | None:
        """Read a version from a record, if such a store wrote it for the same user."""
        if record.source != NAME or record.trust is Trust.EXTERNAL:
            return None
        if record.user != self._memory.user:
            return None
        about = metadata_of(record, NAME, ItemMetadata)
        return None if about is None else Version(record, about)

    def _listed(self, tag: str, limit: int) -> list[Version]:
        """List versions in every state: an old one must not replace a newest that was forgotten."""
        records = self._tagged(tag, limit)
        own = [version for record in records if (version := self._own(record))]
        # Records that others have put there must not crowd out our own.
        if len(own) < len(records) == limit < MOST:
            return self._listed(tag, MOST)
        return own

    def _tagged(self, tag: str, limit: int) -> list[Record]:
        return self._memory.list(layers=(Layer.EPISODIC,), tags=(tag,), states=None, limit=limit)

    def _whole(self, tag: str) -> list[Version]:
        """List every version under a namespace; raise rather than return only some."""
        records = self._tagged(tag, MOST)
        if len(records) == MOST:
            raise InvalidInput(
                f"there are {MOST:,} versions or more under this namespace;"
                " ask for a narrower one, or by query"
            )
        return [version for record in records if (version := self._own(record))]

    def _newest(self, versions: Iterable[Version]) -> Newest:
        """Reduce versions to items, in the order in which they were first stored."""
        last: Newest = {}
        for version in sorted(versions, key=lambda version: version.record.seq):
            last[version.about.namespace, version.about.key] = version
        alive = [
            (name, version)
            for name, version in last.items()
            if version.record.state is State.ACTIVE and version.about.value is not None
        ]
        alive.sort(key=lambda pair: pair[1].about.first or pair[1].record.seq)
        return dict(alive)


def _draft(op: PutOp, before: Version | None) -> dict[str, Any]:
    """Make a record of a write; each version keeps the time when the item was first stored."""
    about: dict[str, Any] = {
        "namespace": list(op.namespace),
        "key": op.key,
        "indexed": op.index is not False,
        "first": 0,
        "created": None,
    }
    tags = [_prefix_tag(op.namespace[:depth]) for depth in range(len(op.namespace) + 1)]
    if before is not None:
        about["first"] = before.about.first or before.record.seq
        about["created"] = iso(before.about.created or before.record.created_at)
    content = f"{op.key} was deleted"
    if op.value is not None:
        about["value"] = cleaned(op.value)
        content = _content(about["value"], op.index) or op.key
    return {
        "content": content,
        "layer": Layer.EPISODIC,
        "kind": "data" if op.value is not None else "action",
        "importance": None if op.value is not None else 0.0,
        "source": NAME,
        "tags": [NAME, _item_tag(op.namespace, op.key), *tags],
        "metadata": {NAME: about},
    }


def _content(value: Mapping[str, Any], index: Sequence[str] | bool | None) -> str:
    """Convert an item to text: all of it, or only the indexed fields."""
    if not isinstance(index, (list, tuple)):
        return readable(value).strip()
    texts = [text for path in index for text in get_text_at_path(dict(value), path)]
    return "\n".join(texts).strip() or readable(value).strip()


def _search_item(version: Version, score: float | None = None) -> SearchItem:
    return SearchItem(**_fields(version), score=score)


def _fields(version: Version) -> dict[str, Any]:
    record, about = version
    return {
        "namespace": about.namespace,
        "key": about.key,
        "value": dict(about.value or {}),
        "created_at": about.created or record.created_at,
        "updated_at": record.created_at,
    }


def _item_tag(namespace: tuple[str, ...], key: str) -> str:
    return mark(f"{NAME}-item", *namespace, key)


def _prefix_tag(namespace: tuple[str, ...]) -> str:
    return mark(f"{NAME}-in", *namespace)


def _fits(version: Version, op: SearchOp) -> bool:
    value = version.about.value or {}
    return all(_equals(value.get(name), wanted) for name, wanted in (op.filter or {}).items())


def _equals(value: Any, wanted: Any) -> bool:
    """Return whether a value matches a filter: by equality, comparison, or in all its parts."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_compare(value, name, than) for name, than in wanted.items())
        return isinstance(value, Mapping) and all(
            _equals(value.get(name), item) for name, item in wanted.items()
        )
    if isinstance(wanted, (list, tuple)):
        same_length = isinstance(value, (list, tuple)) and len(value) == len(wanted)
        return same_length and all(map(_equals, value, wanted))
    return bool(value == wanted)


def _compare(value: Any, name: str, than: Any) -> bool:
    if name not in COMPARE:
        raise InvalidInput(f"unknown filter {name}; known are {', '.join(COMPARE)}")
    try:
        return COMPARE[name](value, than)
    except (TypeError, ValueError):  # such as a text compared with a number
        return False


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    is_prefix = condition.match_type == "prefix"
    start = 0 if is_prefix else len(namespace) - len(path)
    part = namespace[start : start + len(path)]
    return all(wanted in ("*", name) for wanted, name in zip(path, part, strict=True))
