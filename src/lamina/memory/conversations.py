"""Conversations: turns become records of their own, beside one record of the episode that they make."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from lamina.errors import Conflict, InvalidInput, Refused
from lamina.home.folder import make_private_folder, refuse_link, write_private
from lamina.model import hashing, rules
from lamina.model.clock import moment
from lamina.model.record import Layer, Record, iso
from lamina.text import fence
from lamina.text.words import shown

# Messages of language models have these names for the same.
MESSAGE_FIELDS = {"role": "speaker", "content": "text"}
TURN_FIELDS = ("text", "speaker", "at", "kind", "tags", "importance", "metadata", "source")


class Conversation(list[Record]):
    """The records of the turns, in their order, and the record of the whole."""

    def __init__(self, turns: Iterable[Record], episode: Record) -> None:
        super().__init__(turns)
        self.episode = episode


class Given(msgspec.Struct, frozen=True):
    """A conversation as it was told, checked as far as it is one."""

    turns: tuple[Mapping[str, Any], ...]
    session: str
    participants: tuple[str, ...]

    def told(
        self, tell: Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, Any]]]
    ) -> Given:
        """The same conversation, with everything in it as it is told: its turns, and who took part in what."""
        whole, *turns = tell(
            [{"session": self.session, "participants": self.participants}, *self.turns]
        )
        return Given(tuple(turns), whole["session"], tuple(dict.fromkeys(whole["participants"])))

    def raw(self) -> bytes:
        """The whole of it as canonical JSON: what its hash is over."""
        turns = [
            {**turn, "at": iso(moment(turn["at"]))} if turn.get("at") is not None else turn
            for turn in self.turns
        ]
        return hashing.encode(
            {"session": self.session, "participants": self.participants, "turns": turns}
        )

    def hash(self) -> str:
        return hashlib.sha256(self.raw()).hexdigest()


def checked(turns: object, session: str, participants: Sequence[str] | None) -> Given:
    if isinstance(turns, (str, bytes, Mapping)) or not isinstance(turns, Iterable):
        raise InvalidInput(
            f"turns is a {type(turns).__name__}, not a list of mappings such as {{'speaker': …, 'text': …}}"
        )
    given = [_turn(turn, index) for index, turn in enumerate(turns)]
    if not given:
        raise InvalidInput("a conversation needs at least one turn")
    said = tuple(turn for turn in map(_unfenced, given) if turn is not None)
    if not said:
        raise Refused("these turns are what memory_context gave; they are remembered already")
    if participants is None:
        names = [turn["speaker"] for turn in said if turn.get("speaker") is not None]
    elif isinstance(participants, (list, tuple)):
        names = list(participants)
    else:
        raise InvalidInput(f"participants {shown(participants)} is not a list of names")
    checked_names = tuple(dict.fromkeys(rules.label(name, "participant") for name in names))
    return Given(said, rules.label(session, "session"), checked_names)


def items(given: Given, key: str | None) -> Iterator[dict[str, Any]]:
    """The turns as memories to store. With a key, each turn has one that follows from it."""
    for index, turn in enumerate(given.turns):
        item = {
            "content" if name == "text" else name: value
            for name, value in turn.items()
            if value is not None
        }
        item |= {"layer": Layer.EPISODIC, "session": given.session}
        if key is not None:
            item["key"] = f"{rules.label(key, 'key')}/{index}"
        yield item


def episode(given: Given, turns: Sequence[Record], key: str | None) -> dict[str, Any]:
    """The episode as a memory to store. Who spoke is in its metadata, what was said in the turns: it competes with none."""
    item: dict[str, Any] = {
        "content": f"Conversation {given.session}, {len(turns)} {'turn' if len(turns) == 1 else 'turns'}",
        "layer": Layer.EPISODIC,
        "kind": "data",
        "speaker": "system",  # nobody said this: where a turn answers, the turn is the answer
        "session": given.session,
        "at": turns[0].occurred_at,
        "evidence": [turn.id for turn in turns],
        "trust": rules.lowest_trust(turn.trust for turn in turns),
        "metadata": {"participants": list(given.participants), "raw_hash": given.hash()},
    }
    if key is not None:
        item["key"] = f"{rules.label(key, 'key')}/episode"
    return item


def check_same(episode: Record, given: Given, key: str | None) -> None:
    """Raise when a key brought back the episode of another conversation."""
    if episode.metadata.get("raw_hash") != given.hash():
        raise Conflict(f"the key {shown(key)} was used for another conversation", record=episode.id)


def keep(folder: Path, given: Given, episode: Record) -> Path | None:
    """Write the whole conversation to a file of its day, unless it is there; its SHA-256 is the episode's `raw_hash`.

    Another content under that name was left by a process that died before it could store the episode.
    """
    place = folder / episode.occurred_at.date().isoformat()
    for part in (folder, place):
        refuse_link(part)
        make_private_folder(part)
    path = place / f"{episode.id}.json"
    if path.is_file() and path.read_bytes() == given.raw():
        return None
    try:
        write_private(path, given.raw())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def unkeep(path: Path | None) -> None:
    """Take the file back whose episode was not stored."""
    if path is not None:
        path.unlink(missing_ok=True)


def _unfenced(turn: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A turn without the memories that somebody was given to read; none when nothing is left of it."""
    said = turn["text"]
    if not isinstance(said, str) or fence.OPEN not in said:
        return turn
    rest = fence.unfenced(said).strip()
    return {**turn, "text": rest} if rest else None


def _turn(turn: object, index: int) -> Mapping[str, Any]:
    if not isinstance(turn, Mapping):
        raise InvalidInput(
            f"turn {index} is a {type(turn).__name__}, not a mapping with a text", item=index
        )
    given = {name: meant for name, meant in MESSAGE_FIELDS.items() if meant not in turn}
    named: dict[Any, Any] = {given.get(name, name): value for name, value in turn.items()}
    unknown = [name for name in named if name not in TURN_FIELDS]
    if unknown:
        raise InvalidInput(
            f"turn {index}: unknown field {shown(unknown[0])}; known are {', '.join(TURN_FIELDS)}",
            item=index,
        )
    if named.get("text") is None:
        raise InvalidInput(f"turn {index} has no text", item=index)
    return named
