"""Store values of other frameworks unchanged, find them again, and convert them to text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from lamina.model import hashing
from lamina.model.record import Record
from lamina.text import fence

DIGEST = 12  # bytes: enough to keep tags of different names distinct
Metadata = TypeVar("Metadata", bound=msgspec.Struct)


def mark(framework: str, *names: str) -> str:
    """Make a tag for names exactly as written; tags themselves ignore case and outer spaces."""
    digest = hashlib.blake2b(hashing.encode(list(names)), digest_size=DIGEST).hexdigest()
    return f"{framework}:{digest}"


def metadata_of(record: Record, framework: str, form: type[Metadata]) -> Metadata | None:
    """Read an adapter's metadata of a record; None if it is not in the adapter's form."""
    try:
        return msgspec.convert(record.metadata.get(framework), form)
    except msgspec.ValidationError:
        return None


def cleaned(value: Any) -> Any:
    """Remove fenced text from a value: recalled memories are not stored again."""
    if isinstance(value, str):
        return fence.unfenced(value) if fence.OPEN in value else value
    if isinstance(value, Mapping):
        return {name: cleaned(item) for name, item in value.items()}
    return [cleaned(item) for item in value] if isinstance(value, (list, tuple)) else value


def readable(value: Any) -> str:
    """Format a value for people: each text and number on a line, below its name."""
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
