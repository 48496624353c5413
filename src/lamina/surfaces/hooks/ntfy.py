"""Messages of ntfy, which come as lines of JSON: each becomes a request that waits for a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

import msgspec

from lamina.errors import InvalidInput, LaminaError, StoreUnavailable
from lamina.memory.agent import Memory
from lamina.model.clock import system_clock
from lamina.model.record import Record, Trust
from lamina.text.words import one_line, shown

MOST_BYTES = 1024 * 1024
SOURCE = "ntfy"
KEPT = ("topic", "title", "priority", "click", "attachment")
Told = Callable[[int, str], None]


@dataclass
class Counts:
    """How many lines became what."""

    stored: int = 0
    known: int = 0  # they were stored before
    ignored: int = 0  # such as those that only keep the connection open
    bad: int = 0
    failed: int = 0  # the store did not take them

    def to_dict(self) -> dict[str, int]:
        return asdict(self)


def stored(
    memory: Memory, stream: BinaryIO | None, tell: Told, counts: Counts, trust: Trust | None = None
) -> Iterator[Record]:
    """Store each message as it comes. What is none is told with its line, and the next one is read."""
    for number, line in enumerate(lines(stream), 1):
        try:
            fields = None if line is not None and not line.strip() else request(line)
            if fields is None:
                counts.ignored += 1
                continue
            began = system_clock()
            record = memory.remember(**fields, trust=trust)
        except StoreUnavailable as error:
            counts.failed += 1
            tell(number, error.message)
        except LaminaError as error:
            counts.bad += 1
            tell(number, error.message)
        else:
            if record.created_at < began:
                counts.known += 1
            else:
                counts.stored += 1
            yield record


def lines(stream: BinaryIO | None) -> Iterator[bytes | None]:
    """The lines of a stream as they come; None for one that is too long to be a message."""
    while stream is not None and (line := stream.readline(MOST_BYTES + 1)):
        if len(line) <= MOST_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(MOST_BYTES)
        yield None


def request(line: bytes | None) -> dict[str, Any] | None:
    """The memory that a message becomes; nothing for an event that is no message. Pure."""
    if line is None:
        raise InvalidInput(f"it has more than {MOST_BYTES:,} bytes")
    try:
        given = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"this is not JSON: {one_line(str(error), 200)}") from None
    if not isinstance(given, dict) or not isinstance(given.get("event"), str):
        raise InvalidInput(
            "this is no event of ntfy: a JSON object with the field `event` is needed"
        )
    if given["event"] != "message":
        return None
    if given.get("encoding"):
        raise InvalidInput(
            f"the message is encoded as {shown(given['encoding'], 40)}; only texts are remembered"
        )
    name, said, title = given.get("id"), given.get("message"), given.get("title")
    if not isinstance(name, str) or not isinstance(said, str):
        raise InvalidInput("the message has no `id` or no `message`")
    return {
        "content": f"{title}: {said}" if isinstance(title, str) and title.strip() else said,
        "kind": "request",
        "source": SOURCE,
        "key": f"{SOURCE}:{name}",
        "at": _time(given),
        "tags": _tags(given),
        "metadata": {
            "request_id": name,
            **{field: given[field] for field in KEPT if given.get(field) is not None},
        },
    }


def _time(given: Mapping[str, Any]) -> float | None:
    time = given.get("time")
    return (
        float(time)
        if isinstance(time, (int, float)) and not isinstance(time, bool) and abs(time) < 1e12
        else None
    )


def _tags(given: Mapping[str, Any]) -> list[str]:
    tags = given.get("tags")
    return (
        [SOURCE, *(tag for tag in tags if isinstance(tag, str) and tag.strip())]
        if isinstance(tags, list)
        else [SOURCE]
    )
