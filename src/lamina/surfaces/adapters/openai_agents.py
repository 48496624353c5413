"""A session for the OpenAI Agents SDK, on a memory: its items are records, in their order, across restarts."""

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
from lamina.surfaces.adapters.values import cleaned, mark, told, words

NAME = "openai-agents"
TOOL = f"{NAME} tool"
MOST = LIMITS[1]
SPEAKERS = ("user", "assistant", "system", "developer")


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a record says about its session: an item of it, or which items were taken back."""

    session: str
    item: dict[str, Any] | None = None
    taken_back: frozenset[str] = frozenset()


class Kept(NamedTuple):
    """An item, and the record that holds it."""

    record: Record
    item: dict[str, Any]


class LaminaSession(SessionABC):
    """A conversation whose items are episodic memories of one agent.

    An agent's handle takes items back by a newer record that says so: they are gone from this session, their text is not. On
    an operator's handle they are also forgotten, so that no search of the memory finds them either.
    """

    def __init__(
        self, session_id: str, memory: Memory, session_settings: SessionSettings | None = None
    ) -> None:
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
        return [cast("TResponseInputItem", one.item) for one in kept]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep items in their order: all of them, or none and an error."""
        drafts = [self._draft(item) for item in items]
        await asyncio.to_thread(self._memory.remember_many, drafts)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take back the newest item."""
        popped = await asyncio.to_thread(self._take_back, 1)
        return cast("TResponseInputItem", popped[-1].item) if popped else None

    async def clear_session(self) -> None:
        """Take back all items."""
        await asyncio.to_thread(self._take_back, MOST)

    def _items(self) -> list[Kept]:
        """The items that are in the session now, oldest first."""
        found = self._memory.list(layers=(Layer.EPISODIC,), tags=(self._tag,), limit=MOST)
        items: list[Kept] = []
        for record in sorted(found, key=lambda record: record.seq):
            about = self._own(record)
            if about is None:
                continue
            if about.item is not None:
                items.append(Kept(record, about.item))
            else:
                items = [one for one in items if one.record.id not in about.taken_back]
        return items

    def _own(self, record: Record) -> About | None:
        """What a record says about this session, if such a session has written it, for the same user."""
        about = told(record, NAME, About) if record.user == self._memory.user else None
        if about is None or about.session != self.session_id:
            return None
        if record.source == TOOL:  # it may come from anywhere, and speaks for nobody
            return about if about.item is not None and _speaker(about.item) is None else None
        return about if record.source == NAME and record.trust is not Trust.EXTERNAL else None

    def _take_back(self, number: int) -> Sequence[Kept]:
        """Take back the newest items; which those were, oldest first."""
        gone = self._items()[-number:]
        if not gone:
            return gone
        if isinstance(self._memory, Operator):
            for one in gone:
                self._memory.forget(one.record.id, "taken back from a session")
            return gone
        about = {"session": self.session_id, "taken_back": [one.record.id for one in gone]}
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
        speaker = _speaker(kept)
        said = _said(kept).strip() or str(kept.get("type") or "item")
        fields = self._fields({"session": self.session_id, "item": kept})
        # What nobody in the conversation has said comes from a tool, and is trusted as little.
        return {**fields, "content": said, "speaker": speaker, "source": NAME if speaker else TOOL}

    def _fields(self, about: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "layer": Layer.EPISODIC,
            "source": NAME,
            "session": self.session_id,
            "tags": [NAME, self._tag],
            "metadata": {NAME: about},
        }


def _speaker(item: Mapping[str, Any]) -> str | None:
    """Who in the conversation has said an item; nobody, if it comes from a tool."""
    role = item.get("role")
    return role if role in SPEAKERS else None


def _said(item: Mapping[str, Any]) -> str:
    """What an item says: the text of a message, or all that it holds."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return words(item)
