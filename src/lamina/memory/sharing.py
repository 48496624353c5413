"""Grants: an operator decides which agent may read what, for how long, and can end it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from lamina.errors import Conflict, Forbidden, InvalidInput, NotFound, Refused
from lamina.home.folder import agent_name
from lamina.memory.scope import Part
from lamina.model import clock as clocks
from lamina.model import rules
from lamina.model.record import Layer, Role, State
from lamina.store.core.transaction import Transaction
from lamina.store.tables import grants
from lamina.store.tables.grants import Grant, Terms
from lamina.text import words

if TYPE_CHECKING:
    pass


class Sharing(Part):
    """Share memories of a scope with other agents."""

    def end_all_but(self, kept: Collection[Grant], reason: str) -> None:
        """End open grants except some: a backup may contain grants that have been ended since."""
        staying = rules.several(kept, "kept")
        for grant in self.given(include_ended=False):
            if grant not in staying:
                self.end(grant.number, reason)

    def grant(
        self,
        agent: object,
        layer: object = None,
        tag: object = None,
        record: object = None,
        expires: object = None,
        reason: object = None,
    ) -> Grant:
        """Let an agent read one layer, one tag or one record; never create the same grant twice."""
        self._check_operator("grant")
        now = self._scope.clock()
        terms = Terms(
            self._grantee(agent),
            self._scope.user,
            **self._what(layer, tag, record),
            expires_at=None if expires is None else clocks.moment(expires, "expires"),
        )
        if terms.expires_at is not None and terms.expires_at <= now:
            raise InvalidInput(
                f"expires {words.shown(expires)} is past; give a time to come, or none for a grant"
                " without end"
            )
        note = {"to": terms.agent, "covers": terms.covers, **_why(reason)}
        with self._store.change(self._scope.actor, grants.GRANT, now, note) as transaction:
            if terms.record is not None:
                self._check_record(transaction, terms.record)
            for known in grants.in_transaction(self._store, transaction):
                if known.is_open(now) and known.is_like(terms):
                    raise Conflict(
                        f"{known.agent} may read {known.covers} already, by grant {known.number};"
                        f" to change it, end that one first: `lamina revoke-grant {known.number}`",
                        grant=known.number,
                    )
            return grants.add(self._store, transaction, terms)

    def end(self, number: object, reason: object = None) -> Grant:
        """End an active grant."""
        self._check_operator("revoke-grant")
        if isinstance(number, bool) or not isinstance(number, int):
            raise InvalidInput(
                f"grant {words.shown(number)} is not the number of a grant; see `lamina grants`"
            )
        with self._store.change(
            self._scope.actor, grants.END, self._scope.clock(), _why(reason)
        ) as transaction:
            known = [
                one
                for one in grants.in_transaction(self._store, transaction)
                if one.number == number
            ]
            if not known or not self._is_own(known[0]):
                raise NotFound(f"there is no grant {words.shown(number)}; see `lamina grants`")
            over = known[0].ended_at or known[0].expires_at
            if over is not None and over <= transaction.now:
                raise Refused(
                    f"the grant {number} has ended already, at {over.isoformat(timespec='seconds')}"
                )
            return grants.end(self._store, transaction, number)

    def given(self, include_ended: bool = False) -> list[Grant]:
        """List the active grants of this scope, or all that there ever were."""
        now = self._scope.clock()
        own = [grant for grant in grants.given(self._store) if self._is_own(grant)]
        return [grant for grant in own if include_ended or grant.is_open(now)]

    def _is_own(self, grant: Grant) -> bool:
        return self._scope.user is None or grant.user == self._scope.user

    def _grantee(self, agent: object) -> str:
        name = agent_name(agent)
        if name == self._store.agent:
            raise InvalidInput(f"{name} reads its own memory anyway; grant to another agent")
        if not self._scope.home.agent_folder(name).is_dir():
            known = [other for other in self._scope.home.agents() if other != self._store.agent]
            hint = f"; there are {', '.join(known)}" if known else ""
            raise NotFound(f"there is no agent {words.shown(name)} in this home{hint}", known=known)
        return name

    def _what(self, layer: object, tag: object, record: object) -> dict[str, Any]:
        """Check that exactly one thing is granted."""
        named = [
            name
            for name, value in (("layer", layer), ("tag", tag), ("record", record))
            if value is not None
        ]
        if len(named) != 1:
            given = " and ".join(named) if named else "nothing"
            raise InvalidInput(
                f"a grant is for one layer, one tag or one record; {given} was given"
            )
        if layer is not None:
            chosen = rules.one_of(Layer, layer, "layer")
            if chosen is Layer.WORKING:
                raise InvalidInput(
                    "working memory is seen within its run only; it cannot be granted"
                )
            return {"layer": chosen.value}
        return (
            {"tag": rules.tag(tag)}
            if tag is not None
            else {"record": self._scope.visible("grant", record).id}
        )

    def _check_record(self, transaction: Transaction, record_id: str) -> None:
        """Raise if another agent could not see the record anyway."""
        row = transaction.find(record_id)
        if row is None:
            raise Refused(
                f"the record {record_id} is archived; bring it back first: `lamina archive restore`"
            )
        record = self._store.record(row)
        if record.layer is Layer.WORKING:
            raise InvalidInput("working memory is seen within its run only; it cannot be granted")
        if record.state is State.TOMBSTONED:
            raise Refused(
                f"the record {record_id} is tombstoned; a withdrawn record cannot be granted"
            )

    def _check_operator(self, verb: str) -> None:
        if self._scope.actor.role is not Role.OPERATOR:
            raise Forbidden(
                f"{verb} is for operators: agents propose, people decide", lacks="operator"
            )


def _why(reason: object) -> dict[str, str]:
    return {} if reason is None else {"reason": rules.reason(reason)}
