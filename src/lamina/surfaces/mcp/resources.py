"""What clients can read by address: the profile, a record, a conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from lamina.errors import NotFound
from lamina.memory.agent import Memory
from lamina.surfaces.mcp.browsing import quoted
from lamina.surfaces.mcp.quoting import entry, fitted, named
from lamina.text import words

SCHEME = "lamina://"
KIND = "text/plain"
ROOM = 100_000  # characters
MOST_TURNS = 1000
# Fields of a profile not to quote: its ids and times.
UNSAID = frozenset({"last_updated", "evidence_ids", "conflicts"})


class Resource(NamedTuple):
    """Something to read: its address, perhaps with a name in it, and how it is read."""

    name: str
    uri: str
    title: str
    description: str
    read: Callable[[Memory, str], str]

    @property
    def is_template(self) -> bool:
        return self.uri.endswith("}")


def profile(memory: Memory, name: str = "") -> str:
    """Quote what is known about the user."""
    known = memory.user_profile().to_dict()
    lines = [f"{key}: {_plain(one)}" for key, one in known.items() if one and key not in UNSAID]
    label = ["profile", *named("user", [memory.user] if memory.user else [])]
    if not lines:
        return "nothing is confirmed about the user yet"
    return fitted([entry(label, "\n".join(lines))], ROOM)[0]


def record(memory: Memory, name: str) -> str:
    """Quote one record, whatever its state."""
    return fitted([quoted(memory.get(memory.full_id(name)))], ROOM)[0]


def session(memory: Memory, name: str) -> str:
    """Quote what was remembered of a conversation, oldest first."""
    records = memory.list(session=name, limit=MOST_TURNS)
    if not records:
        raise NotFound(f"nothing is remembered of the session {words.shown(name)}")
    return fitted([quoted(one) for one in reversed(records)], ROOM)[0]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()


EVERY = (
    Resource(
        "profile",
        f"{SCHEME}profile",
        "The user's profile",
        "What people have confirmed about the user.",
        profile,
    ),
    Resource(
        "record",
        f"{SCHEME}record/{{id}}",
        "A memory",
        "One memory in full, by its id.",
        record,
    ),
    Resource(
        "session",
        f"{SCHEME}session/{{id}}",
        "A conversation",
        "What was remembered from a conversation, oldest first, by the name of its session.",
        session,
    ),
)


def find(uri: str) -> tuple[Resource, str]:
    """Resolve an address to a resource, and the name in it."""
    for one in EVERY:
        before, is_template, _ = one.uri.partition("{")
        if uri == one.uri and not is_template:
            return one, ""
        if is_template and uri.startswith(before) and uri != before:
            return one, unquote(uri.removeprefix(before))
    known = ", ".join(one.uri for one in EVERY)
    raise NotFound(f"there is nothing at {words.shown(uri)}; there are {known}")
