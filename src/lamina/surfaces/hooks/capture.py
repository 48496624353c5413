"""Store what passes a hook: the user's messages, replies if wanted, never recalled memories."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from lamina.errors import InvalidInput
from lamina.memory.agent import Memory
from lamina.model import hashing
from lamina.model.record import Layer, Record
from lamina.text import fence, persons
from lamina.text.words import is_visible

SOURCE = "hook"
# A message is a turn of a conversation, which sleep turns into knowledge. A reply is a crumb.
MESSAGE: Mapping[str, Any] = {"speaker": persons.USER, "layer": Layer.EPISODIC}
REPLY: Mapping[str, Any] = {"speaker": "assistant", "kind": "crumb", "importance": 0.2}


def keep(
    memory: Memory,
    message: object,
    reply: object = None,
    session: str | None = None,
    key: str | None = None,
    project: str | None = None,
) -> list[Record]:
    """Store a message and its reply in one step; with a key, each is stored only once."""
    items = []
    for text, fields in ((own_words(message), MESSAGE), (own_words(reply), REPLY)):
        if text is not None:
            own_key = key and f"{key}-{fields['speaker']}"
            own = {"content": text, "source": SOURCE, "session": session, "key": own_key}
            items.append({**fields, **own, "project": project})
    return memory.remember_many(items)


def reply_key(session: str, reply: str) -> str:
    """Make a key for a reply, so that an event sent twice is stored once."""
    return f"hook-{hashlib.blake2b(hashing.encode([session, reply]), digest_size=16).hexdigest()}"


def own_words(text: object) -> str | None:
    """Remove fenced text; return None if nothing is left."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidInput(f"a message is a {type(text).__name__}, not a text")
    rest = fence.unfenced(text).strip()
    return rest if is_visible(rest) else None
