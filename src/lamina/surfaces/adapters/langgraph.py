"""A store for LangGraph, on a memory: items are records, an update is a newer record, and nothing is overwritten."""

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
from lamina.surfaces.adapters.values import cleaned, mark, told, words

NAME = "langgraph"
MOST = LIMITS[1]
NEWEST = 16  # versions of an item that are looked at: a clock that was set back may have put them out of order
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": lambda value, than: float(value) > float(than),
    "$gte": lambda value, than: float(value) >= float(than),
    "$lt": lambda value, than: float(value) < float(than),
    "$lte": lambda value, than: float(value) <= float(than),
}


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a record says about the item that it is a version of; without a value, that it is deleted."""

    namespace: tuple[str, ...]
    key: str
    indexed: bool
    first: Annotated[
        int, msgspec.Meta(ge=0)
    ]  # the place of its first version in the store; 0 when this is it
    created: Annotated[datetime, msgspec.Meta(tz=True)] | None
    value: dict[str, Any] | None = None


class Version(NamedTuple):
    """A version of an item."""

    record: Record
    about: About


Newest = dict[tuple[tuple[str, ...], str], Version]


class LaminaStore(BaseStore):
    """A `BaseStore` whose items are episodic memories of one agent, found by their words and their meaning.

    An agent's handle deletes by a newer record that says so: the item is gone from this store, its text is not. On an
    operator's handle what is deleted or replaced is also forgotten, so that no search of the memory finds it either.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see what was there before; writes are done together, the last one of an item counts."""
        given = list(ops)
        results = [self._read(op) for op in given]
        writes = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        self._write(list(writes.values()))
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                found = self._current(op.namespace, op.key)
                return None if found is None else _item(found)
            case SearchOp():
                return self._found(op)
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
        items = [
            _memory_of(op, before)
            for op, before in zip(ops, earlier, strict=True)
            if op.value is not None or before is not None
        ]
        self._memory.remember_many(items)

    def _write_as_operator(self, memory: Operator, ops: Sequence[PutOp]) -> None:
        """Put what is new, and forget every version before it, whoever has put that."""
        for op in ops:
            listed = self._listed(_item_tag(op.namespace, op.key), MOST)
            earlier = [one.record for one in listed if one.record.state is State.ACTIVE]
            if op.value is not None:
                memory.remember(**_memory_of(op, self._current(op.namespace, op.key)))
            for one in earlier:
                memory.forget(one.id, "replaced or deleted in a LangGraph store")

    def _current(self, namespace: tuple[str, ...], key: str) -> Version | None:
        """The newest version of an item, unless that says that it is deleted."""
        newest = self._newest(self._listed(_item_tag(namespace, key), NEWEST))
        return newest.get((namespace, key))

    def _found(self, op: SearchOp) -> list[SearchItem]:
        end = op.offset + op.limit
        if not op.query:
            records = self._newest(self._whole(_prefix_tag(op.namespace_prefix))).values()
            found = [_found_item(one) for one in records if _fits(one, op)]
            return found[op.offset : end]
        ranked: list[SearchItem] = []
        for hit in self._ranked(op, end):
            version = self._own(hit.record)
            current = version and self._current(version.about.namespace, version.about.key)
            if (
                current
                and current.record.id == hit.record.id
                and current.about.indexed
                and _fits(current, op)
            ):
                ranked.append(_found_item(current, hit.score))
                if len(ranked) == end:
                    break
        return ranked[op.offset : end]

    def _ranked(self, op: SearchOp, end: int) -> Iterator[Hit]:
        """What answers a query, the best first. More are asked for while those that count are too few."""
        asked, seen = min(MOST, 4 * max(1, end)), 0
        while op.query:
            hits = self._memory.search(
                op.query, asked, layers=(Layer.EPISODIC,), tags=(_prefix_tag(op.namespace_prefix),)
            )
            yield from hits[seen:]
            if len(hits) < asked or asked == MOST:
                return
            seen, asked = len(hits), min(MOST, 4 * asked)

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {namespace for namespace, _ in self._newest(self._whole(_prefix_tag(())))}
        kept = {
            one[: op.max_depth]
            for one in found
            if all(_matches(rule, one) for rule in op.match_conditions or ())
        }
        return sorted(kept)[op.offset : op.offset + op.limit]

    def _own(self, record: Record) -> Version | None:
        """The version that a record is: one that such a store has put, for the same user, and nobody from elsewhere."""
        if (
            record.source != NAME
            or record.trust is Trust.EXTERNAL
            or record.user != self._memory.user
        ):
            return None
        about = told(record, NAME, About)
        return None if about is None else Version(record, about)

    def _listed(self, tag: str, limit: int) -> list[Version]:
        """Versions in every state: where the newest was forgotten, an older one must not come back for it."""
        found = self._tagged(tag, limit)
        own = [version for record in found if (version := self._own(record))]
        if (
            len(own) < len(found) == limit < MOST
        ):  # what others have put there must not crowd out our own
            return self._listed(tag, MOST)
        return own

    def _tagged(self, tag: str, limit: int) -> list[Record]:
        return self._memory.list(layers=(Layer.EPISODIC,), tags=(tag,), states=None, limit=limit)

    def _whole(self, tag: str) -> list[Version]:
        """Every version under a namespace; rather an error than a part that looks like the whole."""
        found = self._tagged(tag, MOST)
        if len(found) == MOST:
            raise InvalidInput(
                f"there are {MOST:,} versions or more under this namespace; ask for a narrower one, or by query"
            )
        return [version for record in found if (version := self._own(record))]

    def _newest(self, versions: Iterable[Version]) -> Newest:
        """The items that some versions leave, in the order in which they were first put."""
        last: Newest = {}
        for version in sorted(versions, key=lambda version: version.record.seq):
            last[version.about.namespace, version.about.key] = version
        alive = [
            one
            for one in last.items()
            if one[1].record.state is State.ACTIVE and one[1].about.value is not None
        ]
        return dict(sorted(alive, key=lambda one: one[1].about.first or one[1].record.seq))


def _memory_of(op: PutOp, before: Version | None) -> dict[str, Any]:
    """The record that a write becomes. When it was first put is carried along from version to version."""
    about: dict[str, Any] = {
        "namespace": list(op.namespace),
        "key": op.key,
        "indexed": op.index is not False,
    }
    tags = [_prefix_tag(op.namespace[:depth]) for depth in range(len(op.namespace) + 1)]
    if before is not None:
        first, created = (
            before.about.first or before.record.seq,
            before.about.created or before.record.created_at,
        )
        about |= {"first": first, "created": iso(created)}
    else:
        about |= {"first": 0, "created": None}
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
    """What an item says: all of it, or the fields that are to be found."""
    if not isinstance(index, (list, tuple)):
        return words(value).strip()
    return (
        "\n".join(text for path in index for text in get_text_at_path(dict(value), path)).strip()
        or words(value).strip()
    )


def _item(version: Version) -> Item:
    return Item(**_fields(version))


def _found_item(version: Version, score: float | None = None) -> SearchItem:
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
    """Whether a value is as a filter wants it: equal, in relation to something, or so in each of its parts."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_related(value, name, than) for name, than in wanted.items())
        return isinstance(value, Mapping) and all(
            _equals(value.get(name), item) for name, item in wanted.items()
        )
    if isinstance(wanted, (list, tuple)):
        same_length = isinstance(value, (list, tuple)) and len(value) == len(wanted)
        return same_length and all(map(_equals, value, wanted))
    return bool(value == wanted)


def _related(value: Any, name: str, than: Any) -> bool:
    if name not in COMPARE:
        raise InvalidInput(f"unknown filter {name}; known are {', '.join(COMPARE)}")
    try:
        return COMPARE[name](value, than)
    except (TypeError, ValueError):  # such as a text that is to be greater than a number
        return False


def _matches(rule: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = rule.path
    if len(namespace) < len(path):
        return False
    part = (
        namespace[: len(path)]
        if rule.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return all(wanted in ("*", name) for wanted, name in zip(path, part, strict=True))
