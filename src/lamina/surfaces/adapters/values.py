"""What adapters do with the values of other frameworks: keep them whole, find them again, and read them as text. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from lamina.model import hashing
from lamina.model.record import Record
from lamina.text import fence

DIGEST = 12  # bytes: enough that no two names ever share a tag
About = TypeVar("About", bound=msgspec.Struct)


def mark(framework: str, *names: str) -> str:
    """A tag for some names exactly as they are written; tags themselves know neither case nor outer spaces."""
    digest = hashlib.blake2b(hashing.encode(list(names)), digest_size=DIGEST).hexdigest()
    return f"{framework}:{digest}"


def told(record: Record, framework: str, form: type[About]) -> About | None:
    """What an adapter has written beside the text of a record; nothing where it is not as an adapter writes it."""
    try:
        return msgspec.convert(record.metadata.get(framework), form)
    except msgspec.ValidationError:
        return None


def cleaned(value: Any) -> Any:
    """A value without what stands in our fence: what was recalled is not remembered again."""
    if isinstance(value, str):
        return fence.unfenced(value) if fence.OPEN in value else value
    if isinstance(value, Mapping):
        return {name: cleaned(item) for name, item in value.items()}
    return [cleaned(item) for item in value] if isinstance(value, (list, tuple)) else value


def words(value: Any) -> str:
    """A value as people would read it: each text and number on a line, under its name."""
    return "\n".join(_lines(value, ""))


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _lines(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _lines(item, name)
    elif value is not None:
        yield f"{name}: {value}" if name else str(value)
