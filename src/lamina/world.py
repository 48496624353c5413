"""The world model: tools and integrations as records that searches find, in step with files that people edit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from lamina import canon, rules
from lamina.clock import Clock
from lamina.errors import Conflict, InvalidInput, NotFound, Refused
from lamina.formats.world import (
    HELD,
    INTEGRATION,
    TOOL,
    Given,
    Problem,
    World,
    digest,
    entry_name,
    file_of,
    integration,
    note_taken,
    read_files,
    telling,
    tool,
    write_files,
    written,
)
from lamina.model import Actor, Draft, Layer, Record, Role, State, Trust
from lamina.store.reads import Read
from lamina.store.records import Filter, Row
from lamina.store.store import Store
from lamina.store.transaction import Transaction
from lamina.text import shown

FOLDER = "world_model"
EVERY = sys.maxsize

Key = tuple[str, str]


class WorldModel:
    """The tools and integrations of an agent: what an operator said, for all its users alike.

    The records count, and the files follow them. What people edited in the files is taken in by the next change or `sync`.
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        draft: Callable[[object], Draft],
        actor: Actor,
        clock: Clock,
        user: str | None = None,
        told: Callable[[int], None] = lambda made: None,
    ) -> None:
        self._store = store
        self._folder = folder
        self._draft = draft
        self._actor = actor
        self._clock = clock
        self._user = user
        self._told = told

    def set_tool(self, definition: Given) -> Record:
        """Keep a tool; another definition of the same name is superseded, the same one stays."""
        return self.set_tools([definition])[0]

    def set_tools(self, definitions: Sequence[Given]) -> list[Record]:
        """Keep several tools, all of them or none."""
        if not isinstance(definitions, Sequence):
            raise InvalidInput(f"definitions {shown(definitions)} is not a list of tools")
        return self._set(TOOL, [tool(definition) for definition in definitions])

    def set_integration(self, name: str, config: Given) -> Record:
        """Keep the config of an integration. Secrets are named by their environment variable, never kept."""
        return self._set(INTEGRATION, [integration(name, config)])[0]

    def remove(self, kind: str, name: str) -> None:
        """Hide a tool or an integration, and take it out of the files."""
        if kind not in [*HELD]:  # whatever was given, hashable or not
            raise InvalidInput(f"unknown kind {shown(kind)}; known are {', '.join(HELD)}", known=[*HELD])
        known = entry_name(name, kind)
        with self._edit("remove") as edit:
            edit.check_file(kind, known)
            edit.drop(kind, known)

    def sync(self) -> dict[str, Any]:
        """Take in what people edited, then bring the files into line. What is wrong is told and left as it is."""
        with self._edit("sync") as edit:
            pass
        return {"taken": edit.taken, "written": edit.files, "problems": [problem.to_dict() for problem in edit.problems]}

    @property
    def has_files(self) -> bool:
        """Whether the world model was ever written into files."""
        return self._folder.is_dir()

    def tools(self) -> list[dict[str, Any]]:
        """The definitions of all tools as they were given, by name."""
        return [dict(record.metadata[HELD[TOOL]]) for record in self.records(TOOL)]

    def integrations(self) -> dict[str, dict[str, Any]]:
        """The configs of all integrations as they were given."""
        found = self.records(INTEGRATION)
        return {record.metadata["name"]: dict(record.metadata[HELD[INTEGRATION]]) for record in found}

    def records(self, kind: str | None = None) -> list[Record]:
        """The current records of tools and integrations, or of one of the two, by name."""
        current = current_records(self._store, self._user)
        found = [current[key][0] for key in sorted(current) if kind in (None, key[0])]
        note = {} if self._user is None else {"user": self._user}
        self._store.reads.add(Read(self._clock(), self._actor, "world", tuple(record.id for record in found), note))
        return found

    def _set(self, kind: str, items: Sequence[Given]) -> list[Record]:
        with self._edit("set") as edit:
            for item in items:
                edit.check_file(kind, item["metadata"]["name"])
            return [edit.put(kind, item) for item in items]

    def _edit(self, action: str) -> Edit:
        if self._actor.role is not Role.OPERATOR:
            raise Refused("only an operator may change the world model; agents read it")
        if self._user is not None:
            raise Refused(f"the world model is for all users of {self._store.agent}; open the handle without a user")
        change = self._store.change(self._actor, f"world.{action}", self._clock())
        return Edit(self._store, change, self._folder, self._draft, self._told)


class Edit:
    """The world model within one transaction: first what people edited, then the change, then the files."""

    def __init__(
        self,
        store: Store,
        transaction: Transaction,
        folder: Path,
        draft: Callable[[object], Draft],
        told: Callable[[int], None],
    ) -> None:
        self._store = store
        self._transaction = transaction
        self._folder = folder
        self._draft = draft
        self._told = told
        self._made = 0
        self._current: dict[Key, list[Record]] = {}
        self.problems: list[Problem] = []
        self.taken: list[str] = []
        self._taken: set[Key] = set()
        self.files: list[str] = []

    def __enter__(self) -> Edit:
        self._transaction.__enter__()
        try:
            # Nobody else writes until the end of the transaction: what is current now stays so, and so do the files.
            self._current = current_records(self._store, None)
            self._take(read_files(self._folder))
        except BaseException as error:
            self._transaction.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None:
                self._write()
        except BaseException as failure:
            self._transaction.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._transaction.__exit__(kind, error, trace)
        if error is None:
            self._note_taken()
            self._told(self._made)

    def put(self, kind: str, item: Given) -> Record:
        """Store an entry in the place of what had its name; the same again changes nothing."""
        draft, name = self._draft(item), item["metadata"]["name"]
        former = self._current.get((kind, name), [])
        if former and canon.encode(former[0].metadata) == canon.encode(draft.metadata):
            return former[0]
        for other_kind, other in self._current:
            if other_kind == kind and other != name and other.casefold() == name.casefold():
                raise Conflict(f"there is {kind} {other!r}, which differs from {name!r} in case alone; use one spelling")
        made = self._transaction.replace([self._row(record) for record in former], draft)
        self._current[kind, name] = [made]
        self._made += 1
        return made

    def drop(self, kind: str, name: str) -> None:
        """Set an entry aside."""
        former = self._current.pop((kind, name), None)
        if former is None:
            known = ", ".join(own for own_kind, own in sorted(self._current) if own_kind == kind)
            raise NotFound(f"there is no {kind} {name!r}" + (f"; known are {known}" if known else ""))
        for record in former:
            rules.check_move(record.state, State.TOMBSTONED, Role.OPERATOR)
            self._transaction.update(self._row(record), state=State.TOMBSTONED)

    def check_file(self, kind: str, name: str) -> None:
        """Raise when the file that has to change holds something that could not be taken in."""
        for problem in self.problems:
            if problem.file == file_of(kind, name):
                raise Conflict(f"{problem.message}; repair or delete the file first", file=problem.file)

    def _take(self, found: World) -> None:
        """Make records of what differs from what we wrote. Where nothing differs, the records are right."""
        self.problems += found.problems
        known = written(self._folder)
        for kind, entries in ((TOOL, found.tools), (INTEGRATION, found.integrations)):
            for name, given in entries.items():
                if known.get(kind, {}).get(name) == digest(given):
                    continue
                with telling(self.problems, file_of(kind, name)):
                    before = self._made
                    self.put(kind, tool(given) if kind == TOOL else integration(name, given))
                    if self._made > before:
                        self.taken.append(f"{kind} {name}")
                        self._taken.add((kind, name))

    def _write(self) -> None:
        """The files as the records are now, except those with problems: they hold what is kept nowhere else."""
        held = self._held()
        tools = [value for (kind, _), value in held.items() if kind == TOOL]
        integrations = {name: value for (kind, name), value in held.items() if kind == INTEGRATION}
        kept = {problem.file for problem in self.problems}
        self.files = write_files(self._folder, tools, integrations, kept, self._taken)

    def _note_taken(self) -> None:
        """From now on what was taken from people is no edit of theirs any more. One process after the other writes that."""
        held = self._held()
        if self._taken & held.keys():
            with self._store.database.atomic():
                note_taken(self._folder, {key: held[key] for key in self._taken & held.keys()})

    def _held(self) -> dict[Key, Given]:
        """What the files have to say, as the records are now."""
        return {key: records[0].metadata[HELD[key[0]]] for key, records in self._current.items()}

    def _row(self, record: Record) -> Row:
        row = self._transaction.find(record.id)
        if row is None or self._store.record(row).state is not State.ACTIVE:
            raise Conflict(f"{record.metadata['name']} was changed meanwhile; look at it and try again", record=record.id)
        return row


def current_records(store: Store, user: str | None) -> dict[Key, list[Record]]:
    """The entries of the world model, each with its active records, newest first.

    Only what an operator vouches for is one, and it is nobody's in particular; anything else is a memory like others.
    """
    current: dict[Key, list[Record]] = {}
    for record in store.listed(Filter(user, (Layer.WORLD,), (State.ACTIVE,)), EVERY):
        if record.user is None and record.trust is Trust.OPERATOR and (key := _key(record.metadata)) is not None:
            current.setdefault(key, []).append(record)
    return current


def _key(metadata: Given) -> Key | None:
    """Which entry some metadata holds; none when it does not hold one as we would have made it."""
    kind, name = metadata.get("world"), metadata.get("name")
    if kind not in (TOOL, INTEGRATION) or HELD[kind] not in metadata:
        return None
    try:
        item = tool(metadata[HELD[kind]]) if kind == TOOL else integration(name, metadata[HELD[kind]])
    except InvalidInput:
        return None
    own: str = item["metadata"]["name"]
    return (kind, own) if own == name else None
