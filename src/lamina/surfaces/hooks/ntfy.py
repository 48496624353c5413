"""Messages from ntfy as lines of JSON: each becomes the fields of a memory to store."""

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
Report = Callable[[int, str], None]  # of a problem, with its line number


@dataclass
class Counts:
    """The numbers of lines by outcome."""

    stored: int = 0
    known: int = 0  # stored before
    ignored: int = 0  # such as keep-alive events
    bad: int = 0
    failed: int = 0  # not accepted by the store

    def to_dict(self) -> dict[str, int]:
        return asdict(self)


def store_messages(
    memory: Memory,
    stream: BinaryIO | None,
    report: Report,
    counts: Counts,
    trust: Trust | None = None,
) -> Iterator[Record]:
    """Store each message as it arrives; report invalid lines, and read on."""
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
            report(number, error.message)
        except LaminaError as error:
            counts.bad += 1
            report(number, error.message)
        else:
            if record.created_at < began:
                counts.known += 1
            else:
                counts.stored += 1
            yield record


def lines(stream: BinaryIO | None) -> Iterator[bytes | None]:
    """Read lines as they arrive; yield None for one that is too long to be a message."""
    while stream is not None and (line := stream.readline(MOST_BYTES + 1)):
        if len(line) <= MOST_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(MOST_BYTES)
        yield None


def request(line: bytes | None) -> dict[str, Any] | None:
    """Convert a message to the fields of a memory; None for other events."""
    if line is None:
        raise InvalidInput(f"it has more than {MOST_BYTES:,} bytes")
    try:
        event = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"this is not JSON: {one_line(str(error), 200)}") from None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise InvalidInput(
            "this is not an event of ntfy: a JSON object with the field `event` is needed"
        )
    if event["event"] != "message":
        return None
    if event.get("encoding"):
        raise InvalidInput(
            f"the message is encoded as {shown(event['encoding'], 40)}; only texts are remembered"
        )
    name, message, title = event.get("id"), event.get("message"), event.get("title")
    if not isinstance(name, str) or not isinstance(message, str):
        raise InvalidInput("the message has no `id` or no `message`")
    kept = {field: event[field] for field in KEPT if event.get(field) is not None}
    return {
        "content": f"{title}: {message}" if isinstance(title, str) and title.strip() else message,
        "kind": "request",
        "source": SOURCE,
        "key": f"{SOURCE}:{name}",
        "at": _time(event),
        "tags": _tags(event),
        "metadata": {"request_id": name, **kept},
    }


def _time(event: Mapping[str, Any]) -> float | None:
    time = event.get("time")
    if not isinstance(time, (int, float)) or isinstance(time, bool) or abs(time) >= 1e12:
        return None
    return float(time)


def _tags(event: Mapping[str, Any]) -> list[str]:
    tags = event.get("tags")
    others = tags if isinstance(tags, list) else []
    return [SOURCE, *(tag for tag in others if isinstance(tag, str) and tag.strip())]
