"""What a hook keeps: the user's message always, the reply when that is wanted, and never what was only recalled."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from lamina.errors import InvalidInput
from lamina.memory.agent import Memory
from lamina.model import hashing
from lamina.model.record import Layer, Record
from lamina.text import fence
from lamina.text.words import is_visible

SOURCE = "hook"
# A message is a turn of a conversation: sleep reads it, and what it says becomes knowledge. A reply is only a crumb.
MESSAGE: Mapping[str, Any] = {"speaker": "user", "layer": Layer.EPISODIC}
REPLY: Mapping[str, Any] = {"speaker": "assistant", "kind": "crumb", "importance": 0.2}


def keep(
    memory: Memory,
    message: object,
    reply: object = None,
    session: str | None = None,
    key: str | None = None,
) -> list[Record]:
    """Store a message and its reply, in this order and in one step. With a key each of them is stored once."""
    items = [
        {
            **fields,
            "content": text,
            "source": SOURCE,
            "session": session,
            "key": key and f"{key}-{fields['speaker']}",
        }
        for said, fields in ((message, MESSAGE), (reply, REPLY))
        if (text := own_words(said)) is not None
    ]
    return memory.remember_many(items)


def reply_key(session: str, reply: str) -> str:
    """A key for a reply: an event that comes twice is kept once."""
    return f"hook-{hashlib.blake2b(hashing.encode([session, reply]), digest_size=16).hexdigest()}"


def own_words(said: object) -> str | None:
    """What somebody said, without what stands in our fence; nothing when nothing is left."""
    if said is None:
        return None
    if not isinstance(said, str):
        raise InvalidInput(f"a message is a {type(said).__name__}, not a text")
    words = fence.unfenced(said).strip()
    return words if is_visible(words) else None
