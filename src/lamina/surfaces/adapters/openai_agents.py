"""A session for the OpenAI Agents SDK, on a memory: its items are records, in their order, across restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

from agents import TResponseInputItem
from agents.memory import SessionABC, SessionSettings

from lamina.errors import InvalidInput
from lamina.memory import Memory
from lamina.model import Layer, Record
from lamina.operators import Operator
from lamina.rules import LIMITS, label
from lamina.surfaces.adapters.values import cleaned, mark, words

NAME = "openai-agents"
MOST = LIMITS[1]
SPEAKERS = ("user", "assistant", "system", "developer")


class LaminaSession(SessionABC):
    """A conversation whose items are episodic memories of one agent.

    An agent's handle takes items back by a newer record that says so: they are gone from this session, their text is not. On
    an operator's handle they are also forgotten, so that no search of the memory finds them either.
    """

    def __init__(self, session_id: str, memory: Memory, session_settings: SessionSettings | None = None) -> None:
        self.session_id = label(session_id, "session")
        self.session_settings = session_settings or SessionSettings()
        self._memory = memory
        self._tag = mark(NAME, session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest items, in the order in which they came; all of them without a limit."""
        settings = self.session_settings
        most = limit if limit is not None or settings is None else settings.limit
        records = await asyncio.to_thread(self._items)
        kept = records if most is None else records[-most:] if most > 0 else []
        return [cast("TResponseInputItem", dict(record.metadata[NAME]["item"])) for record in kept]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep items in their order: all of them, or none and an error."""
        drafts = [self._draft(item) for item in items]
        await asyncio.to_thread(self._memory.remember_many, drafts)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take back the newest item."""
        popped = await asyncio.to_thread(self._take_back, 1)
        return cast("TResponseInputItem", dict(popped[-1].metadata[NAME]["item"])) if popped else None

    async def clear_session(self) -> None:
        """Take back all items."""
        await asyncio.to_thread(self._take_back, MOST)

    def _items(self) -> list[Record]:
        """The items that are in the session now, oldest first."""
        found = self._memory.list(layers=(Layer.EPISODIC,), tags=(self._tag,), limit=MOST)
        items: list[Record] = []
        for record in sorted(found, key=lambda record: record.seq):
            about = record.metadata.get(NAME)
            if not isinstance(about, Mapping) or about.get("session") != self.session_id:
                continue
            if "item" in about:
                items.append(record)
            else:
                gone = frozenset(about["taken_back"])
                items = [one for one in items if one.id not in gone]
        return items

    def _take_back(self, number: int) -> Sequence[Record]:
        """Take back the newest items; which those were, oldest first."""
        gone = self._items()[-number:]
        if not gone:
            return gone
        if isinstance(self._memory, Operator):
            for record in gone:
                self._memory.forget(record.id, "taken back from a session")
            return gone
        about = {"session": self.session_id, "taken_back": [record.id for record in gone]}
        self._memory.remember(
            f"{len(gone)} items were taken back from the session",
            kind="action",
            importance=0.0,
            **self._fields(about),
        )
        return gone

    def _draft(self, item: TResponseInputItem) -> dict[str, Any]:
        if not isinstance(item, Mapping):
            raise InvalidInput(f"an item of a session is a {type(item).__name__}, not a mapping")
        kept = cleaned(item)
        speaker = kept["role"] if kept.get("role") in SPEAKERS else None
        said = _said(kept).strip() or str(kept.get("type") or "item")
        fields = self._fields({"session": self.session_id, "item": kept})
        # What nobody in the conversation has said comes from a tool, and is trusted as little.
        return {**fields, "content": said, "speaker": speaker, "source": NAME if speaker else f"{NAME} tool"}

    def _fields(self, about: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "layer": Layer.EPISODIC,
            "source": NAME,
            "session": self.session_id,
            "tags": [NAME, self._tag],
            "metadata": {NAME: about},
        }


def _said(item: Mapping[str, Any]) -> str:
    """What an item says: the text of a message, or all that it holds."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return words(item)
