"""Lines of the fail-safe: a `record_type`, a validated payload and a checksum. Pure."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from lamina.errors import InvalidInput
from lamina.model.clock import ALPHABET, ID, moment
from lamina.model.record import Actor, Draft, iso, plain
from lamina.model.rules import MAX_LABEL

ITEM: Literal["memory_item"] = "memory_item"
ERASED: Literal["erased"] = "erased"
CHECKSUM = b',"checksum":"'
ENDING = len(CHECKSUM) + 64 + len(b'"}')
EMPTY: tuple[Any, ...] = (None, (), {}, [])


# Parts of a line stay in the trail forever, so there must be no room for words in it (P4).
Number = Annotated[int, Meta(ge=0, lt=1 << 62)]
Action = Literal["remember", "remember_conversation", "run.note"]


class Commit(msgspec.Struct, frozen=True):
    """An event that is in the trail if a write of unknown outcome happened."""

    event: Number
    hash: str


class Line(msgspec.Struct, frozen=True):
    """One memory that waits, with its author and time. A batch is kept as a whole or not at all."""

    record_type: Literal["memory_item", "erased"]
    id: Annotated[str, Meta(pattern=f"^{ID.pattern}$", max_length=26)]
    at: Annotated[datetime, Meta(tz=True)]
    order: Number  # the size of both files before its batch, or more; it only grows
    batch: Annotated[str, Meta(pattern="^[0-9a-f]{16}$", max_length=16)]
    part: Number
    of: Number
    action: Action
    actor: Actor
    payload: Draft | None = None  # None once it was erased
    unless: Commit | None = None


class LinePosition(NamedTuple):
    """The position of a line: file, line number, first byte and length."""

    file: str
    number: int
    start: int
    size: int


class Broken(NamedTuple):
    """A line that cannot be used, with the reason, and the id of the memory if it is readable."""

    place: LinePosition
    why: str
    id: str | None = None


class Contents(NamedTuple):
    """What waits in the order it was written, what cannot be used, and the state of the files."""

    waiting: tuple[tuple[Line, LinePosition], ...] = ()
    broken: tuple[Broken, ...] = ()
    files: tuple[tuple[str, int, int], ...] = ()

    @property
    def lines(self) -> list[Line]:
        """List the memories that wait, without those erased meanwhile."""
        return [line for line, _ in self.waiting if line.payload is not None]


class Item(NamedTuple):
    """A memory to keep, with the id that it will have in the store."""

    id: str
    draft: Draft


def encoded(line: Line, of: int) -> bytes:
    """Write a line; a checksum at its end covers every byte before it."""
    draft = line.payload
    payload = (
        {}
        if draft is None
        else {name: plain(getattr(draft, name)) for name in draft.__struct_fields__}
    )
    told: dict[str, Any] = {
        "record_type": line.record_type,
        "id": line.id,
        "at": iso(line.at),
        "order": line.order,
        "batch": line.batch,
        "part": line.part,
        "of": of,
        "action": line.action,
        "actor": line.actor,
    }
    if line.unless is not None:
        told["unless"] = line.unless
    if draft is not None:
        told["payload"] = {name: value for name, value in payload.items() if value not in EMPTY}
    body = msgspec.json.encode(told, enc_hook=dict)
    return body[:-1] + CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


_lines = msgspec.json.Decoder(Line)


def decoded(raw: bytes) -> Line:
    """Read a line back; ValueError says what is wrong with it."""
    raw = raw.rstrip(b"\n")
    body, ending = raw[:-ENDING] + b"}", raw[-ENDING:]
    if not raw.startswith(b"{") or not ending.startswith(CHECKSUM):
        raise ValueError("it is torn, or not a line of the fail-safe")
    if ending != CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b'"}':
        raise ValueError("its checksum is wrong: it was edited or damaged")
    try:
        line = _lines.decode(body)
        moment(line.at)
    except (msgspec.DecodeError, InvalidInput, RecursionError) as error:
        raise ValueError(f"it is not a valid line of the fail-safe: {error}") from None
    if max(len(line.actor.name), len(line.actor.surface)) > MAX_LABEL:
        raise ValueError("it is not a valid line of the fail-safe: nobody has such a name")
    return line


def emptied(raw: bytes) -> bytes:
    """Reduce an erased line to its position in its batch; nothing is left of an invalid one."""
    try:
        line = decoded(raw)
    except ValueError:
        return b""
    return encoded(msgspec.structs.replace(line, record_type=ERASED, payload=None), line.of)


def suffix(chance: bytes) -> str:
    """Make the end of an id that the store cannot assign now, as long and as unique as its own."""
    number = int.from_bytes(chance[:8], "big")
    return "".join(ALPHABET[number >> shift & 31] for shift in range(55, -5, -5))
