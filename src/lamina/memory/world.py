"""The world model: tools and integrations as records, synchronised with files that people edit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.engines import review
from lamina.errors import Conflict, Forbidden, InvalidInput, LaminaError, Refused
from lamina.formats.world import (
    HELD,
    INTEGRATION,
    TOOL,
    Given,
    Problem,
    entry_name,
    file_of,
    integration,
    note_taken,
    telling,
    tool,
    write_files,
)
from lamina.formats.world_edits import Edited, FileEdit, Key, Stamp, edited, unreadable
from lamina.memory.refusals import recorded
from lamina.memory.scope import Part
from lamina.memory.world_entries import check_case, check_known, current_records, entry_key, held
from lamina.model import hashing, rules
from lamina.model.record import Actor, Draft, Layer, Record, Role, State, Trust
from lamina.store.core.store import Store
from lamina.store.core.transaction import Transaction
from lamina.store.tables.reads import Read
from lamina.store.tables.records import Filter, Row
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.memory.refusals import recorded
from lamina.memory.scope import Scope

FOLDER = "world_model"


@recorded
class WorldModel(Part):
    """The tools and integrations of an agent, defined by an operator for all its users.

    The records are authoritative, and the files follow them. Since anyone with access may have
    edited the files, a change only proposes their edits; with `sync` an operator accepts them.
    """

    def __init__(self, scope: Scope, *, whole: bool = False) -> None:
        """Open the world model of a scope; with `whole`, that of all users, to write its files."""
        super().__init__(scope)
        self._folder = scope.resilient.path_of("world_model")
        self._user = None if whole else scope.user
        self._draft, self._changed = scope.draft, scope.changed
        if whole:
            limit = scope.settings["content.max_bytes"]
            self._draft = rules.Drafter(scope.actor, None, scope.kinds, limit).draft
            self._changed = _ignore

    def set_tool(self, definition: Given) -> Record:
        """Set a tool; it supersedes a different definition of the same name."""
        return self.set_tools([definition])[0]

    def set_tools(self, definitions: Sequence[Given]) -> list[Record]:
        """Set several tools, all or none."""
        if not isinstance(definitions, Sequence):
            raise InvalidInput(f"definitions {shown(definitions)} is not a list of tools")
        return self._set(TOOL, [tool(definition) for definition in definitions])

    def set_integration(self, name: str, config: Given) -> Record:
        """Set the configuration of an integration; name secrets by environment variable only."""
        return self._set(INTEGRATION, [integration(name, config)])[0]

    def remove(self, kind: str, name: str) -> None:
        """Hide a tool or an integration, and remove it from the files."""
        if kind not in [*HELD]:  # whatever was given, hashable or not
            raise InvalidInput(
                f"unknown kind {shown(kind)}; known are {', '.join(HELD)}", known=[*HELD]
            )
        known = entry_name(name, kind)
        self._check_operator()
        check_known(current_records(self._store, None), kind, known)
        with self._edit("remove") as edit:
            edit.check_file(kind, known)
            edit.drop(kind, known)

    def edited(self) -> Edited:
        """Compare the files with what Lamina wrote there. Nothing changes."""
        return edited(self._folder, held(current_records(self._store, self._user)))

    def sync(self, edits: Sequence[FileEdit] | None = None) -> dict[str, Any]:
        """Apply edits, then bring the files into line; leave and report wrong entries.

        With `edits`, apply only those that a person has seen, and propose any newer ones.
        """
        self._check_operator()
        seen = self.edited().edits if edits is None else rules.several(edits, "edits")
        if not all(isinstance(edit, FileEdit) for edit in seen):
            raise InvalidInput(
                f"edits {shown(edits)} is not a list of edits as `edited` returns it"
            )
        with self._edit("sync", {edit.stamp for edit in seen if not edit.is_deleted_file}) as edit:
            pass
        return {
            "taken": edit.taken,
            "written": edit.files,
            "problems": [problem.to_dict() for problem in edit.problems],
        }

    def write(self) -> list[str]:
        """Bring the files into line with the records, and propose edits; list the written files."""
        with self._edit("write") as edit:
            pass
        return edit.files

    def follow(self) -> str | None:
        """Write the files after a decision; return the problem if that fails."""
        try:
            self.write()
        except LaminaError as error:
            return error.message
        return None

    @property
    def has_files(self) -> bool:
        """Return whether the world model was ever written to files."""
        return self._folder.is_dir()

    def tools(self) -> list[dict[str, Any]]:
        """Return the definitions of all tools as they were given, by name."""
        return [dict(record.metadata[HELD[TOOL]]) for record in self.records(TOOL)]

    def integrations(self) -> dict[str, dict[str, Any]]:
        """Return the configurations of all integrations as they were given."""
        found = self.records(INTEGRATION)
        return {
            record.metadata["name"]: dict(record.metadata[HELD[INTEGRATION]]) for record in found
        }

    def records(self, kind: str | None = None) -> list[Record]:
        """Return the current records of tools, integrations or both, by name."""
        current = current_records(self._store, self._user)
        found = [current[key][0] for key in sorted(current) if kind in (None, key[0])]
        note = {} if self._user is None else {"user": self._user}
        self._store.reads.add(
            Read(
                self._scope.clock(),
                self._scope.actor,
                "world",
                tuple(record.id for record in found),
                note,
            )
        )
        return found

    def _set(self, kind: str, items: Sequence[Given]) -> list[Record]:
        with self._edit("set") as edit:
            for item in items:
                edit.check_file(kind, item["metadata"]["name"])
            return [edit.put(kind, item) for item in items]

    def _check_operator(self) -> None:
        if self._scope.actor.role is not Role.OPERATOR:
            raise Forbidden(
                "only an operator may change the world model; agents read it", lacks="operator"
            )
        if self._user is not None:
            raise Forbidden(
                f"the world model is for all users of {self._store.agent}; open the handle without"
                " a user",
                lacks="access",
            )

    def _edit(self, action: str, adopted: Collection[Stamp] = ()) -> Edit:
        self._check_operator()
        problems = self._propose(adopted)
        change = self._store.change(self._scope.actor, f"world.{action}", self._scope.clock())
        return Edit(
            self._store, change, self._folder, self._draft, self._changed, adopted, problems
        )

    def _propose(self, adopted: Collection[Stamp]) -> list[Problem]:
        """Propose edits of the files, except those about to be accepted; return the problems.

        Proposals are stored before any file is rewritten, so that a crash loses no edit.
        """
        found = self.edited()
        edits = [edit for edit in found.edits if edit.stamp not in adopted]
        done: dict[Key, Given | None] = dict.fromkeys(unreadable(self._folder, found.problems))
        problems: list[Problem] = []
        if edits:
            files = Actor(Role.SYSTEM, FOLDER, self._scope.actor.surface)
            with self._store.change(files, review.FROM_FILES, self._scope.clock()) as transaction:
                proposing = Proposing(self._store, transaction, self._draft)
                for edit in edits:
                    with telling(problems, edit.file):
                        proposing.propose(edit)
                        done[edit.key] = edit.after
            self._changed(len(done))
        if done:
            with self._store.database.atomic():
                note_taken(self._folder, done)
        return problems


class Proposing:
    """Propose edits of the files to a person, since their author is unknown."""

    def __init__(
        self, store: Store, transaction: Transaction, draft: Callable[[object], Draft]
    ) -> None:
        self._store = store
        self._transaction = transaction
        self._draft = draft
        self._current = current_records(store, None)

    def propose(self, edit: FileEdit) -> None:
        """Store an edit as a proposal, unless it is waiting, or was rejected or erased before."""
        if edit.after is None:
            for record in self._current.get(edit.key, ()):
                self._request(record, edit)
            return
        check_case(self._current, *edit.key)
        item = tool(edit.after) if edit.kind == TOOL else integration(edit.name, edit.after)
        given = {**item, "trust": Trust.EXTERNAL, "source": f"{FOLDER}/{edit.file}"}
        made = structs.replace(self._draft(given), state=State.CONSTRAINED)
        guard = self._transaction.guard
        is_out = guard.is_erased(None, made.content) or guard.rejected(made) is not None
        if not is_out and not self._waits(Layer.WORLD, made.metadata):
            self._insert(made)

    def _request(self, record: Record, edit: FileEdit) -> None:
        """Ask whether to remove an entry; a declined request is not repeated."""
        asked = {review.FORGET: record.id}
        why = f"{edit.kind} {edit.name} is no longer in {FOLDER}/{edit.file}"
        item = {
            "content": f"Forget {record.id}: {why}",
            "layer": Layer.EPISODIC,
            "kind": "request",
            "metadata": asked,
        }
        made = self._draft(
            {
                **item,
                "evidence": [record.id],
                "trust": Trust.EXTERNAL,
                "source": f"{FOLDER}/{edit.file}",
            }
        )
        chosen = Filter(None, (Layer.EPISODIC,), (State.TOMBSTONED,), metadata=rules.facets(asked))
        earlier = map(self._store.record, self._transaction.listed(chosen))
        is_declined = any(self._store.rejections.has(one.id) for one in earlier)
        if not self._waits(Layer.EPISODIC, asked) and not is_declined:
            self._insert(structs.replace(made, state=State.CONSTRAINED))

    def _waits(self, layer: Layer, metadata: Given) -> bool:
        """Return whether the same proposal is waiting already."""
        waiting = map(
            self._store.record,
            self._transaction.listed(Filter(None, (layer,), (State.CONSTRAINED,))),
        )
        return any(hashing.encode(one.metadata) == hashing.encode(metadata) for one in waiting)

    def _insert(self, made: Draft) -> None:
        guard = self._transaction.guard
        if not guard.allowance():
            raise Refused(
                "the daily limit of proposals is reached (setting review.per_day), so edits stay"
                " in the files; `lamina world sync` shows and applies them"
            )
        (record,) = self._transaction.insert([made])
        if made.layer not in rules.BELIEVED:  # otherwise it was counted when it was made
            guard.check_new(record)


class Edit:
    """One transaction on the world model: accept edits, apply the change, write the files."""

    def __init__(
        self,
        store: Store,
        transaction: Transaction,
        folder: Path,
        draft: Callable[[object], Draft],
        changed: Callable[[int], None],
        adopted: Collection[Stamp] = (),
        problems: Sequence[Problem] = (),
    ) -> None:
        self._store = store
        self._transaction = transaction
        self._folder = folder
        self._draft = draft
        self._changed = changed
        self._adopted = adopted
        self._made = 0
        self._dropped: list[Record] = []
        self._current: dict[Key, list[Record]] = {}
        self.problems = list(problems)
        self.taken: list[str] = []
        self._taken: set[Key] = set()
        self.files: list[str] = []

    def __enter__(self) -> Edit:
        self._transaction.__enter__()
        try:
            # No one else writes until the transaction ends: records and files stay unchanged.
            self._current = current_records(self._store, None)
            self._take(edited(self._folder, held(self._current)))
        except BaseException as error:
            self._transaction.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._close_answered()
                self._write()
        except BaseException as failure:
            self._transaction.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._transaction.__exit__(kind, error, trace)
        if error is None:
            self._note_taken()
            self._changed(self._made)

    def put(self, kind: str, item: Given) -> Record:
        """Store an entry in place of one with the same name; the same entry changes nothing."""
        draft, name = self._draft(item), item["metadata"]["name"]
        former = self._current.get((kind, name), [])
        is_same = former and hashing.encode(former[0].metadata) == hashing.encode(draft.metadata)
        if is_same and former[0].trust is draft.trust:
            return former[0]
        check_case(self._current, kind, name)
        made = self._transaction.replace([self._row(record) for record in former], draft)
        self._current[kind, name] = [made]
        self._made += 1
        return made

    def drop(self, kind: str, name: str) -> None:
        """Hide an entry."""
        check_known(self._current, kind, name)
        for record in self._current.pop((kind, name)):
            rules.check_move(record.state, State.TOMBSTONED, Role.OPERATOR)
            self._transaction.update(self._row(record), state=State.TOMBSTONED)
            self._dropped.append(record)

    def check_file(self, kind: str, name: str) -> None:
        """Raise if the file to be changed has content that could not be accepted."""
        for problem in self.problems:
            if problem.file == file_of(kind, name):
                raise Conflict(
                    f"{problem.message}; repair or delete the file first", file=problem.file
                )

    def _take(self, found: Edited) -> None:
        """Accept the edits that the operator wants; the others were proposed, or are newer."""
        told = {problem.file for problem in self.problems}
        self.problems += found.problems
        for edit in found.edits:
            with telling(self.problems, edit.file):
                if edit.stamp in self._adopted:
                    self._adopt(edit)
                elif edit.file not in told:
                    raise Conflict(
                        f"{edit.kind} {edit.name} was {edit.what} there just now; look at it and"
                        " try again"
                    )

    def _adopt(self, edit: FileEdit) -> None:
        if edit.after is None:
            self.drop(*edit.key)
        else:
            self.put(
                edit.kind,
                tool(edit.after) if edit.kind == TOOL else integration(edit.name, edit.after),
            )
        self.taken.append(f"{'removal of ' if edit.after is None else ''}{edit.kind} {edit.name}")
        self._taken.add(edit.key)

    def _close_answered(self) -> None:
        """Close proposals that are already fulfilled: a proposed entry, or a removal."""
        waiting = Filter(None, (Layer.WORLD,), (State.CONSTRAINED,))
        for row in self._transaction.listed(waiting) if self._made else ():
            record = self._store.record(row)
            now = [
                one.metadata
                for one in self._current.get(entry_key(record.metadata) or ("", ""), ())
            ]
            if record.user is None and hashing.encode(record.metadata) in map(hashing.encode, now):
                self._transaction.update(row, state=State.TOMBSTONED)
        for gone in self._dropped:
            asked = rules.facets({review.FORGET: gone.id})
            for row in self._transaction.listed(
                Filter(None, (Layer.EPISODIC,), (State.CONSTRAINED,), metadata=asked)
            ):
                if review.to_forget(self._store.record(row)) == gone.id:
                    self._transaction.update(row, state=State.TOMBSTONED)

    def _write(self) -> None:
        """Write the files, except those with problems, whose content is nowhere else."""
        now = held(self._current)
        tools = [value for (kind, _), value in now.items() if kind == TOOL]
        integrations = {name: value for (kind, name), value in now.items() if kind == INTEGRATION}
        kept = {problem.file for problem in self.problems}
        self.files = write_files(self._folder, tools, integrations, kept, self._taken)

    def _note_taken(self) -> None:
        """Note that accepted edits are no longer edits; one process at a time writes this."""
        now = held(self._current)
        if self._taken:
            with self._store.database.atomic():
                note_taken(self._folder, {key: now.get(key) for key in self._taken})

    def _row(self, record: Record) -> Row:
        row = self._transaction.find(record.id)
        if row is None or self._store.record(row).state is not State.ACTIVE:
            raise Conflict(
                f"{record.metadata['name']} was changed meanwhile; look at it and try again",
                record=record.id,
            )
        return row


def whole_world(scope: Scope) -> WorldModel:
    """Open the world model of all users, even for a handle of one user: the files are shared."""
    return WorldModel(scope, whole=True)


def _ignore(count: int) -> None:
    """Index nothing: only the files follow, and no record is new."""
