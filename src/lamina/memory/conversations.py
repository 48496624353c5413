"""Conversations: each turn becomes a record, with one more for the episode that they form."""

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
from lamina.store.core.transaction import Transaction
from lamina.text import fence
from lamina.text.words import shown

# Language models use these names in their messages.
MESSAGE_FIELDS = {"role": "speaker", "content": "text"}
RAW_HASH, TURNS_HASH = "raw_hash", "turns_hash"
TURN_FIELDS = ("text", "speaker", "at", "kind", "tags", "importance", "metadata", "source")


class Conversation(list[Record]):
    """The records of the turns in order, and the record of the episode."""

    def __init__(self, turns: Iterable[Record], episode: Record) -> None:
        super().__init__(turns)
        self.episode = episode


class Talk(msgspec.Struct, frozen=True):
    """A conversation as a caller gives it, checked."""

    turns: tuple[Mapping[str, Any], ...]
    session: str
    participants: tuple[str, ...]

    def cleaned(
        self, clean: Callable[[Sequence[Mapping[str, Any]]], Sequence[Mapping[str, Any]]]
    ) -> Talk:
        """Clean all fields together: turns, session and participants."""
        head = {"session": self.session, "participants": self.participants}
        whole, *turns = clean([head, *self.turns])
        return Talk(tuple(turns), whole["session"], tuple(dict.fromkeys(whole["participants"])))

    def raw(self) -> bytes:
        """The whole conversation as canonical JSON, whose bytes are hashed."""
        turns = [
            {**turn, "at": iso(moment(turn["at"]))} if turn.get("at") is not None else turn
            for turn in self.turns
        ]
        return hashing.encode(
            {"session": self.session, "participants": self.participants, "turns": turns}
        )

    def hash(self) -> str:
        return hashlib.sha256(self.raw()).hexdigest()


def checked(turns: object, session: str, participants: Sequence[str] | None) -> Talk:
    if isinstance(turns, (str, bytes, Mapping)) or not isinstance(turns, Iterable):
        raise InvalidInput(
            f"turns is a {type(turns).__name__}, not a list of mappings"
            " such as {'speaker': …, 'text': …}"
        )
    given = [_turn(turn, index) for index, turn in enumerate(turns)]
    if not given:
        raise InvalidInput("a conversation needs at least one turn")
    said = tuple(turn for turn in map(_unfenced, given) if turn is not None)
    if not said:
        raise Refused("these turns are recalled context; they are remembered already")
    if participants is None:
        names = [turn["speaker"] for turn in said if turn.get("speaker") is not None]
    elif isinstance(participants, (list, tuple)):
        names = list(participants)
    else:
        raise InvalidInput(f"participants {shown(participants)} is not a list of names")
    checked_names = tuple(dict.fromkeys(rules.label(name, "participant") for name in names))
    return Talk(said, rules.label(session, "session"), checked_names)


def items(talk: Talk, key: str | None, project: str | None) -> Iterator[dict[str, Any]]:
    """Make an item of each turn. With a key, each turn gets a key derived from it."""
    for index, turn in enumerate(talk.turns):
        item = {
            "content" if name == "text" else name: value
            for name, value in turn.items()
            if value is not None
        }
        item |= {"layer": Layer.EPISODIC, "session": talk.session, "project": project}
        if key is not None:
            item["key"] = f"{rules.label(key, 'key')}/{index}"
        yield item


def episode(
    talk: Talk,
    turns: Sequence[Record],
    key: str | None,
    project: str | None,
    *,
    keep_raw: bool,
) -> dict[str, Any]:
    """Make the item of the episode.

    The participants are in its metadata and the words in the turns, so that it outranks no turn.
    Without a file there is no `raw_hash`; a hash of the turns distinguishes conversations.
    """
    name = RAW_HASH if keep_raw else TURNS_HASH
    plural = "turn" if len(turns) == 1 else "turns"
    item: dict[str, Any] = {
        "content": f"Conversation {talk.session}, {len(turns)} {plural}",
        "layer": Layer.EPISODIC,
        "kind": "data",
        "speaker": "system",  # if a turn answers a question, the turn is the answer
        "session": talk.session,
        "project": project,
        "at": turns[0].occurred_at,
        "evidence": [turn.id for turn in turns],
        "trust": rules.lowest_trust(turn.trust for turn in turns),
        "metadata": {"participants": list(talk.participants), name: talk.hash()},
    }
    if key is not None:
        item["key"] = f"{rules.label(key, 'key')}/episode"
    return item


def check_same(episode: Record, talk: Talk, key: str | None) -> None:
    """Raise Conflict if a key returned the episode of another conversation."""
    if (episode.metadata.get(RAW_HASH) or episode.metadata.get(TURNS_HASH)) != talk.hash():
        raise Conflict(f"the key {shown(key)} was used for another conversation", record=episode.id)


def with_raw_hash(transaction: Transaction, episode: Record, talk: Talk) -> Record:
    """Add the hash of its file to an episode that was stored without one."""
    row = None if RAW_HASH in episode.metadata else transaction.find(episode.id)
    if row is None:
        return episode
    return transaction.update(row, metadata={**episode.metadata, RAW_HASH: talk.hash()})


def keep(folder: Path, talk: Talk, episode: Record) -> Path | None:
    """Write the conversation to a file of its day, unless the file exists.

    Its SHA-256 is the episode's `raw_hash`. If the file has other content, a process died before
    it could store the episode.
    """
    place = folder / episode.occurred_at.date().isoformat()
    for part in (folder, place):
        refuse_link(part)
        make_private_folder(part)
    path = place / f"{episode.id}.json"
    if path.is_file() and path.read_bytes() == talk.raw():
        return None
    try:
        write_private(path, talk.raw())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def unkeep(path: Path | None) -> None:
    """Remove the file of an episode that could not be stored."""
    if path is not None:
        path.unlink(missing_ok=True)


def _unfenced(turn: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Remove recalled memories from a turn; return None if nothing is left of it."""
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
