"""Verbs that remember: one memory, many, or the turns of a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.errors import InvalidInput, LaminaError, Refused
from lamina.failsafe.line import Action
from lamina.failsafe.spool import OUTAGES
from lamina.memory.drafting import of_item
from lamina.memory.failsafe import same_text
from lamina.model.record import Draft, Layer, Record, Role, Trust
from lamina.store.core.transaction import Transaction
from lamina.text import persons

if TYPE_CHECKING:
    from lamina.memory.conversations import Conversation
    from lamina.memory.scope import Scope


class Remember:
    """Store drafts; the fail-safe accepts them while the store is unavailable."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._failsafe = scope.parts.failsafe

    def one(self, item: Mapping[str, Any]) -> Record:
        """Store one memory."""
        return self.stored([_attributed(self._scope.draft(item))])[0]

    def many(self, items: Iterable[Mapping[str, Any]]) -> list[Record]:
        """Store all items in one transaction, or none, with an error that names the item."""
        if not isinstance(items, Iterable):
            raise InvalidInput(f"items is a {type(items).__name__}, not a list of mappings")
        return self.stored(self._scope.parts.drafting.drafts(items), many=True)

    def conversation(
        self,
        turns: Iterable[Mapping[str, Any]],
        session: str,
        participants: Sequence[str] | None,
        key: str | None,
        keep_raw: bool,
        project: str | None = None,
    ) -> Conversation:
        """Store the turns of a conversation and the episode that they form, in one step."""
        from lamina.memory import conversations

        scope = self._scope
        checked = conversations.checked(turns, session, participants)
        talk = checked.cleaned(scope.parts.redaction.clean_turns)
        drafts = self._scope.parts.drafting.drafts(conversations.items(talk, key, project))
        action: Action = "remember_conversation"
        now, file = scope.clock(), None
        stored: list[Record] = []

        def episode(turns: Sequence[Record]) -> Draft:
            return scope.draft(conversations.episode(talk, turns, key, project, keep_raw=keep_raw))

        try:
            self._failsafe.before_write()
            with (
                self._failsafe.turn(),
                scope.store.change(scope.actor, action, now) as transaction,
            ):
                stored = self.insert(transaction, drafts, many=True)
                stored += self.insert(transaction, [episode(stored)])
                conversations.check_same(stored[-1], talk, key)
                if keep_raw:
                    stored[-1] = conversations.with_raw_hash(transaction, stored[-1], talk)
                    file = conversations.keep(self._folder(), talk, stored[-1])
            scope.changed(len(stored))
        except OUTAGES as error:
            conversations.unkeep(file)
            stored = self._failsafe.keep(error, action, now, drafts, stored, episode)
            conversations.check_same(stored[-1], talk, key)
            if keep_raw and conversations.RAW_HASH in stored[-1].metadata:
                conversations.keep(self._folder(), talk, stored[-1])
        except BaseException:
            conversations.unkeep(file)
            raise
        return conversations.Conversation(stored[:-1], stored[-1])

    def stored(
        self,
        drafts: Sequence[Draft],
        action: Action = "remember",
        run_id: str | None = None,
        *,
        many: bool = False,
    ) -> list[Record]:
        """Store drafts in one transaction; into a run only while it is open."""
        if not drafts:
            return []
        scope, failsafe = self._scope, self._failsafe
        now = scope.clock()
        stored: list[Record] = []
        if knowledge := [draft for draft in drafts if draft.layer is Layer.SEMANTIC]:
            scope.parts.statements.read_ahead(knowledge, now)
        try:
            failsafe.before_write()
            with failsafe.turn(), scope.store.change(scope.actor, action, now) as transaction:
                if run_id is not None and not transaction.is_open(run_id, scope.user):
                    raise Refused("this run is closed; open a new one")
                stored = self.insert(transaction, drafts, many=many)
        except OUTAGES as error:
            return failsafe.keep(error, action, now, drafts, stored)
        scope.changed(len(stored))
        return stored

    def insert(
        self, transaction: Transaction, drafts: Sequence[Draft], *, many: bool = False
    ) -> list[Record]:
        """Insert drafts, and make a required mirror accept the new records."""
        for draft in drafts:
            if draft.evidence or draft.key is not None or draft.layer is Layer.SEMANTIC:
                stored = self._inserted_one_by_one(transaction, drafts, many=many)
                break
        else:  # any() with a generator would take longer than storing a single memory
            stored = transaction.insert(drafts)
        required = self._failsafe.required
        if required is not None:  # it received the records of earlier writes through events
            required.put([record for record in stored if record.created_at == transaction.now])
        return stored

    def _inserted_one_by_one(
        self, transaction: Transaction, drafts: Sequence[Draft], *, many: bool
    ) -> list[Record]:
        stored = []
        for index, draft in enumerate(drafts):
            try:
                stored.append(self._insert_checked(transaction, draft))
            except LaminaError as error:
                raise (of_item(error, index) if many else error) from None
        return stored

    def _insert_checked(self, transaction: Transaction, draft: Draft) -> Record:
        """Store a draft that depends on other records through its evidence, key or content."""
        if draft.key is not None:
            existing = transaction.find_key(draft.key, draft.user)
            if existing is not None:
                return same_text(existing, draft)
            transaction.guard.refuse_erased(draft.user, draft.key)
        transaction.check_evidence(draft, self._scope.note_crossing)
        # An operator vouches for the content of a draft, whatever its evidence.
        vouched = self._scope.actor.role is Role.OPERATOR
        draft = draft if vouched else transaction.derived(draft)
        if draft.layer is Layer.SEMANTIC:
            return self._scope.parts.statements.insert(transaction, draft)
        return transaction.insert([draft])[0]

    def _folder(self) -> Any:
        return self._scope.resilient.path_of("episodes")


def _attributed(draft: Draft) -> Draft:
    """Name who says "I" in an operator's memory: the person whom the profile is about.

    An agent that writes "I" may mean itself, and an external text means somebody else.
    """
    if draft.speaker is not None or draft.trust is not Trust.OPERATOR:
        return draft
    from lamina.engines.claims import spoken  # agents need none of its tables

    # "We" in a note of a project is the project.
    is_own = spoken.is_own(draft.content, alone="project" in draft.metadata)
    return structs.replace(draft, speaker=persons.USER) if is_own else draft
