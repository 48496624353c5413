"""The verbs that remember: one memory, many, a conversation, the notes of a run."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.engines import importance
from lamina.engines.importance import Scored
from lamina.errors import InvalidInput, LaminaError, Refused
from lamina.failsafe import spool
from lamina.failsafe.line import Action
from lamina.home.folder import Home
from lamina.home.settings import Settings
from lamina.memory.importance import Experience
from lamina.memory.redaction import Discretion
from lamina.memory.runs import Run, ending
from lamina.memory.spooling import Progress, Spooling, same_text
from lamina.memory.viewer import Times
from lamina.model import rules
from lamina.model.clock import Clock
from lamina.model.record import Actor, Draft, Layer, Record, Role, State
from lamina.search import is_quick
from lamina.store.core.store import Store
from lamina.store.core.transaction import Transaction
from lamina.text import words

if TYPE_CHECKING:
    from lamina.memory.conversations import Conversation

log = logging.getLogger("lamina")
secrets_log = logging.getLogger(
    "lamina.secrets"
)  # of its own, for who tells of them in another way
ERASED_TASK = "an erased task"

# A search embeds a few new records by itself; from here on it pays to do it once for all, behind the writers.
MANY = 2048
# So many are worth the start of an embedder when a handle is closed.
FEW = 256


class Writer(Spooling):
    """What every handle can do beside reading: remember within its own agent and user."""

    def __init__(
        self,
        home: Home,
        store: Store,
        user: str | None,
        actor: Actor,
        clock: Clock,
        settings: Settings,
    ) -> None:
        super().__init__(home, store, user, actor, clock, settings)
        self._experience = Experience(store, clock)
        self.secrets: dict[
            str, int
        ] = {}  # what looked like one in the memories that this handle has stored, by kind
        self._discretion = Discretion(settings["secrets.capture"], self._note_secrets)
        drafter = rules.Drafter(
            actor, user, self._kinds, settings["content.max_bytes"], self._score
        )
        self._draft = self._discretion.over(drafter.draft)
        self.wrote = False
        self._unindexed = 0
        self._worked = False
        self._patience = MANY if is_quick(settings["recall.embedders"]) else 1

    def remember(
        self,
        content: str,
        kind: str | None = None,
        layer: str | None = None,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        evidence: Sequence[str] | None = None,
        source: str | None = None,
        speaker: str | None = None,
        session: str | None = None,
        at: Times = None,
        key: str | None = None,
        **more: Any,
    ) -> Record:
        """Store one memory; it is durable when this returns. The same key again returns the same record.

        While the store cannot be written, the fail-safe takes it, and the record says so: `stored_in`.
        """
        # What was not given is left out here: looking at it again in the rules costs more.
        item: dict[str, Any] = {"content": content, **more}
        if kind is not None:
            item["kind"] = kind
        if layer is not None:
            item["layer"] = layer
        if tags is not None:
            item["tags"] = tags
        if importance is not None:
            item["importance"] = importance
        if metadata is not None:
            item["metadata"] = metadata
        if evidence is not None:
            item["evidence"] = evidence
        if source is not None:
            item["source"] = source
        if speaker is not None:
            item["speaker"] = speaker
        if session is not None:
            item["session"] = session
        if at is not None:
            item["at"] = at
        if key is not None:
            item["key"] = key
        return self._store_drafts([self._draft(item)])[0]

    def remember_short(
        self,
        content: str,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        **more: Any,
    ) -> Record:
        """Store one short-term memory."""
        return self.remember(
            content, layer=Layer.SHORT_TERM, tags=tags, importance=importance, **more
        )

    def remember_many(self, items: Iterable[Mapping[str, Any]]) -> builtins.list[Record]:
        """Store many memories in one transaction: all of them, or none and an error that names the item."""
        if not isinstance(items, Iterable):
            raise InvalidInput(f"items is a {type(items).__name__}, not a list of mappings")
        drafts = []
        for index, item in enumerate(items):
            try:
                drafts.append(self._draft(item))
            except LaminaError as error:
                raise _of_item(error, index) from None
        return self._store_drafts(drafts, many=True)

    def remember_conversation(
        self,
        turns: Iterable[Mapping[str, Any]],
        session: str,
        participants: Sequence[str] | None = None,
        key: str | None = None,
        keep_raw: bool = False,
    ) -> Conversation:
        """Store the turns of a conversation in their order, and beside them the episode that they make, in one step.

        A turn has `text` and may have `speaker`, `at`, `kind`, `tags`, `importance`, `metadata`, `source`; messages with
        `role` and `content` are taken as they are. With `keep_raw` the whole conversation is also kept as a file under
        `episodes/`.
        """
        from lamina.memory import conversations

        given = conversations.checked(turns, session, participants).told(
            self._discretion.conversation
        )
        drafts = []
        for index, item in enumerate(conversations.items(given, key)):
            try:
                drafts.append(self._draft(item))
            except LaminaError as error:
                raise _of_item(error, index) from None
        action: Action = "remember_conversation"
        now, kept = self._clock(), None
        made: builtins.list[Record] = []

        def whole(turns: Sequence[Record]) -> Draft:
            return self._draft(conversations.episode(given, turns, key))

        try:
            self._catch_up()
            with self._turn(), self._store.change(self.actor, action, now) as transaction:
                made = self._insert(transaction, drafts, many=True)
                made += self._insert(transaction, [whole(made)])
                conversations.check_same(made[-1], given, key)
                if keep_raw:
                    kept = conversations.keep(self._store.path_of("episodes"), given, made[-1])
            self._tell(len(made))
        except spool.OUTAGES as error:
            conversations.unkeep(kept)
            made = self._spooled(error, action, now, drafts, made, whole)
            conversations.check_same(made[-1], given, key)
            if keep_raw:
                conversations.keep(self._store.path_of("episodes"), given, made[-1])
        except BaseException:
            conversations.unkeep(kept)
            raise
        return conversations.Conversation(made[:-1], made[-1])

    def explain_importance(self, content: str, **fields: Any) -> Scored:
        """How important a memory would be that gives no importance, and why. Nothing is stored."""
        return self._experience.explain(
            structs.asdict(self._draft({"content": content, **fields, "importance": None}))
        )

    def learn(self) -> dict[str, Any]:
        """Learn what this store's operator wants, from decisions and accesses; later memories are judged by it."""
        return self._experience.learn()

    def index(self, progress: Progress | None = None) -> int:
        """Bring vectors and blocks up to date now, instead of behind the next writes; how many vectors were missing.

        Vectors of embedders that the settings no longer name are dropped, once those that they name are complete.
        """
        rules.progress(progress)
        made = self._recall.index(progress)
        self._recall.indexer.forget_others()
        return made

    def close(self) -> None:
        """Write what is buffered, index what has piled up, and let go of every file."""
        try:
            self._finish_index()
        finally:
            super().close()

    def run(self, task: str) -> Run:
        """Begin a run: a place for working memory that ends with the task."""
        draft = self._draft(
            {"content": task, "layer": Layer.WORKING, "kind": "action"}, run_id="new"
        )
        with self._store.change(self.actor, "run.open", self._clock()) as transaction:
            (opening,) = transaction.insert([structs.replace(draft, run_id=transaction.next_id())])
        self._tell(1)
        return Run(self, opening)

    def runs(self) -> builtins.list[Run]:
        """Runs that were not closed, such as those of a process that died."""
        found = self._store.open_runs(self.user)
        self._audit("runs", tuple(record.id for record in found))
        return [Run(self, record) for record in found]

    def add_note(self, run_id: str, item: Mapping[str, Any]) -> Record:
        """Store a note in a run. `Run.note` is the way to call this."""
        return self._store_drafts([self._draft(item, run_id)], "run.note", run_id)[0]

    def count_notes(self, run_id: str) -> int:
        """How many notes an open run has. `Run.note_count` is the way to ask."""
        return self._store.count_notes(rules.label(run_id, "run_id"), self.user)

    def close_run(
        self, run_id: str, task: str, summary: str | None, failure: BaseException | str | None
    ) -> Record | None:
        """Set a run's notes aside and keep its ending, in one step. `Run.close` is the way to call this."""
        with self._store.change(self.actor, "run.close", self._clock()) as transaction:
            rows = transaction.run(run_id, None)
            notes = [self._store.record(row) for row in rows]
            if not notes or not self._in_scope(notes[0]):
                raise Refused(f"the run {words.shown(task, 60)} is closed already")
            made = None
            named = (
                task if notes[0].id == run_id else ERASED_TASK
            )  # what opened it says no more what it was about
            if summary is not None or self.settings["runs.episodes"]:
                (made,) = transaction.insert(
                    [
                        ending(
                            named,
                            notes,
                            summary,
                            failure,
                            self._draft,
                            self.settings["content.max_bytes"],
                        )
                    ]
                )
            for row, note in zip(rows, notes, strict=True):
                rules.check_move(note.state, State.TOMBSTONED, self.actor.role)
                transaction.update(row, state=State.TOMBSTONED)
        self._tell(made is not None)
        return made

    def _store_drafts(
        self,
        drafts: Sequence[Draft],
        action: Action = "remember",
        run_id: str | None = None,
        *,
        many: bool = False,
    ) -> builtins.list[Record]:
        if not drafts:
            return []
        now = self._clock()
        stored: builtins.list[Record] = []
        try:
            if self._is_behind:
                self._catch_up()
            with self._turn(), self._store.change(self.actor, action, now) as transaction:
                if run_id is not None and not transaction.is_open(run_id, self.user):
                    raise Refused("this run is closed; open a new one")
                stored = self._insert(transaction, drafts, many=many)
        except spool.OUTAGES as error:
            return self._spooled(error, action, now, drafts, stored)
        self._tell(len(stored))
        return stored

    def _score(self, fields: Mapping[str, Any]) -> float:
        """How important a memory is that does not say so: by what was learned, as long as that can be read."""
        try:
            return self._experience.score(fields)
        except spool.OUTAGES:
            if self.settings["failsafe"] == "off":
                raise
            given = (
                fields.get("kind", "crumb"),
                fields["content"],
                fields.get("tags", ()),
                fields.get("metadata", {}),
            )
            return importance.score(*given)

    def _turn(self) -> AbstractContextManager[None]:
        """The time in which a required mirror takes memories; it begins before the store's own."""
        return nullcontext() if self._required is None else self._required.turn()

    def _insert(
        self, transaction: Transaction, drafts: Sequence[Draft], *, many: bool = False
    ) -> builtins.list[Record]:
        stored = self._inserted(transaction, drafts, many=many)
        if self._required is not None:  # what was stored before came to it along the events
            self._required.put([one for one in stored if one.created_at == transaction.now])
        return stored

    def _inserted(
        self, transaction: Transaction, drafts: Sequence[Draft], *, many: bool
    ) -> builtins.list[Record]:
        for draft in drafts:
            if draft.evidence or draft.key is not None:
                break
        else:
            return transaction.insert(drafts)
        stored = []
        for index, draft in enumerate(drafts):
            try:
                stored.append(self._insert_checked(transaction, draft))
            except LaminaError as error:
                raise (_of_item(error, index) if many else error) from None
        return stored

    def _note_secrets(self, kinds: Sequence[str]) -> None:
        """Tell that a memory holds secrets: by their kinds alone, wherever it is told."""
        for kind in kinds:
            self.secrets[kind] = self.secrets.get(kind, 0) + 1
        named = ", ".join(dict.fromkeys(kinds))
        if self.settings["secrets.capture"] == "redact":
            secrets_log.warning("redacted before it was stored: %s", named)
            return
        secrets_log.warning(
            "a memory holds what looks like a secret: %s; `lamina doctor` lists such memories, `lamina erase ID` removes one",
            named,
        )
        self._note_problem(
            "memories hold what looks like secrets; `lamina doctor` lists them, `lamina erase` removes them"
        )

    def _tell(self, number: int) -> None:
        """Have new records indexed: at once by a model that takes long, else when they are many."""
        self._unindexed += number
        self.wrote = True
        if self._unindexed >= self._patience:
            self._unindexed = 0
            try:
                self._recall.worker.wake()
                self._worked = True
            except (
                LaminaError
            ) as error:  # such as a setting; the memory itself is stored, so this is only told
                self._note_problem(error.message)

    def _finish_index(self) -> None:
        worked, wrote, self._worked, self._unindexed = self._worked, self._unindexed > 0, False, 0
        if not (worked or wrote) or self._store.database.inherited:
            return
        try:
            if not worked and self._store.count_unpacked() < FEW:
                return
            if worked:
                self._recall.worker.stop()
            if self._patience > 1:
                self._recall.index()
        except LaminaError as error:  # all is stored; what is missing here the next process makes
            log.warning("the index was not finished: %s", error.message)

    def _insert_checked(self, transaction: Transaction, draft: Draft) -> Record:
        """Store a draft that refers to what is there already: by its evidence, or by its key."""
        existing = transaction.find_key(draft.key, draft.user) if draft.key is not None else None
        if existing is not None:
            return same_text(existing, draft)
        if draft.key is not None:
            transaction.guard.refuse_erased(draft.user, draft.key)
        transaction.check_evidence(draft, self._note_crossing)
        vouched = self.actor.role is Role.OPERATOR  # for what it says, whatever that rests on
        return transaction.insert([draft if vouched else transaction.derived(draft)])[0]


def _of_item(error: LaminaError, index: int) -> LaminaError:
    """The error, saying which item of many it is about."""
    return type(error)(f"item {index}: {error.message}", **{**error.details, "item": index})
