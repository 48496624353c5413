"""A session for the OpenAI Agents SDK on a memory: its items are records that survive restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec
from agents import TResponseInputItem
from agents.memory import SessionABC, SessionSettings

from lamina.errors import InvalidInput
from lamina.memory.agent import Memory
from lamina.memory.operator import Operator
from lamina.model.record import Layer, Record, Trust
from lamina.model.rules import LIMITS, label
from lamina.surfaces.adapters.values import cleaned, mark, metadata_of, readable

NAME = "openai-agents"
TOOL = f"{NAME} tool"
MOST = LIMITS[1]
SPEAKERS = ("user", "assistant", "system", "developer")


class SessionEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The metadata of a record about its session: an item, or the ids of items taken back."""

    session: str
    item: dict[str, Any] | None = None
    taken_back: frozenset[str] = frozenset()


class StoredItem(NamedTuple):
    """An item, and its record."""

    record: Record
    item: dict[str, Any]


class LaminaSession(SessionABC):
    """A conversation whose items are episodic memories of one agent.

    An agent's handle removes items by adding a record that says so: they leave this session, but
    their text is still in the memory. On an operator's handle they are also forgotten, so that no
    search of the memory finds them.
    """

    def __init__(
        self, session_id: str, memory: Memory, session_settings: SessionSettings | None = None
    ) -> None:
        self.session_id = label(session_id, "session")
        self.session_settings = session_settings or SessionSettings()
        self._memory = memory
        self._tag = mark(NAME, session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Read the newest items in their order; all of them without a limit."""
        settings = self.session_settings
        most = limit if limit is not None or settings is None else settings.limit
        items = await asyncio.to_thread(self._items)
        if most is not None:
            items = items[-most:] if most > 0 else []
        return [cast("TResponseInputItem", stored.item) for stored in items]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items in order: all of them, or none with an error."""
        drafts = [self._draft(item) for item in items]
        await asyncio.to_thread(self._memory.remember_many, drafts)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the newest item."""
        popped = await asyncio.to_thread(self._take_back, 1)
        return cast("TResponseInputItem", popped[-1].item) if popped else None

    async def clear_session(self) -> None:
        """Remove all items."""
        await asyncio.to_thread(self._take_back, MOST)

    def _items(self) -> list[StoredItem]:
        """Read the current items of the session, oldest first."""
        records = self._memory.list(layers=(Layer.EPISODIC,), tags=(self._tag,), limit=MOST)
        items: list[StoredItem] = []
        for record in sorted(records, key=lambda record: record.seq):
            entry = self._own(record)
            if entry is None:
                continue
            if entry.item is not None:
                items.append(StoredItem(record, entry.item))
            else:
                items = [stored for stored in items if stored.record.id not in entry.taken_back]
        return items

    def _own(self, record: Record) -> SessionEntry | None:
        """Read an entry of this session from a record, if such a session wrote it for our user."""
        if record.user != self._memory.user:
            return None
        entry = metadata_of(record, NAME, SessionEntry)
        if entry is None or entry.session != self.session_id:
            return None
        if record.source == TOOL:  # it may come from anywhere, and is not what a speaker said
            return entry if entry.item is not None and _speaker(entry.item) is None else None
        return entry if record.source == NAME and record.trust is not Trust.EXTERNAL else None

    def _take_back(self, number: int) -> Sequence[StoredItem]:
        """Remove the newest items and return them, oldest first."""
        gone = self._items()[-number:]
        if not gone:
            return gone
        if isinstance(self._memory, Operator):
            for stored in gone:
                self._memory.forget(stored.record.id, "taken back from a session")
            return gone
        ids = [stored.record.id for stored in gone]
        self._memory.remember(
            f"{len(gone)} items were taken back from the session",
            kind="action",
            importance=0.0,
            **self._fields({"session": self.session_id, "taken_back": ids}),
        )
        return gone

    def _draft(self, item: TResponseInputItem) -> dict[str, Any]:
        if not isinstance(item, Mapping):
            raise InvalidInput(f"an item of a session is a {type(item).__name__}, not a mapping")
        value = cleaned(item)
        speaker = _speaker(value)
        content = _text(value).strip() or str(value.get("type") or "item")
        fields = self._fields({"session": self.session_id, "item": value})
        # An item without a speaker comes from a tool, and is trusted as little.
        source = NAME if speaker else TOOL
        return {**fields, "content": content, "speaker": speaker, "source": source}

    def _fields(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "layer": Layer.EPISODIC,
            "source": NAME,
            "session": self.session_id,
            "tags": [NAME, self._tag],
            "metadata": {NAME: entry},
        }


def _speaker(item: Mapping[str, Any]) -> str | None:
    """Name the speaker of an item; None if it comes from a tool."""
    role = item.get("role")
    return role if role in SPEAKERS else None


def _text(item: Mapping[str, Any]) -> str:
    """Convert an item to text: that of a message, or everything in it."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return readable(item)
