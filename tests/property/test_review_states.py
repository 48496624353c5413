"""Long random reviews through real handles, with a model in plain Python beside them: whatever is
decided, the two agree."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lamina import Memory, Operator
from lamina.errors import Conflict, LaminaError, NotFound, Refused
from lamina.model.record import Draft, Layer, Record, State, Trust
from lamina.store.tables import events
from tests.conftest import FULL, TESTER, Desk, move, size, verified
from tests.property.states import ACTIVE, CONSTRAINED, NEXT, SUPERSEDED

from .review_model import GUARDED, UNDONE, Deed, Fact, Model, Moves, Stand

SIZE = settings(max_examples=1000 if FULL else 15, stateful_step_count=40)
USERS = (None, "ana", "ben")
KEYS = {"drink": "drink", "DRINK": "drink", "ＤＲＩＮＫ": "drink", "city": "city"}
VALUES = ("tea", "coffee", "water", "milk", "juice")
SOURCES = ("radio", "diary")
NO_RECORD, NO_EVENT = "0" * 26, 10_000
DECISIONS = ("confirm", "reject", "rollback", "forget", "correct", "lift")
# When several things are wrong at once, either of these may be said; that there is nothing to see
# is always said as that.
SAID: Mapping[type[LaminaError], tuple[type[LaminaError], ...]] = {
    NotFound: (NotFound,),
    Refused: (Refused, Conflict),
}

people = st.sampled_from(USERS)
values = st.sampled_from(VALUES)


class Reviewing(RuleBasedStateMachine):
    """Agents that propose, and operators that decide, each for everybody or for one person."""

    taken: ClassVar[Counter[Any]]  # the moves that were really made, and how the verbs ended

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.desk = Desk(Path(self._folder.name))
        self.model = Model()
        self.ops = {user: self.desk.operator(user=user) for user in USERS}
        self.agents = {user: self.desk.agent(user=user) for user in USERS}

    @property
    def op(self) -> Operator:
        """The one who sees everything."""
        return self.ops[None]

    def teardown(self) -> None:
        try:
            assert verified(self.op)
            for one in self.model.paths:
                self.check_history(one)
            changes = [
                change
                for event in events.latest(self.op._scope.store.database.reader(), 10_000)
                for change in event.changes
            ]
            steps = [
                (change.before["state"], change.after["state"])
                for change in changes
                if "state" in change.before
            ]
            self.taken.update(
                (State(before), State(after)) for before, after in steps if before != after
            )
        finally:
            self.desk.__exit__(None, None, None)
            self._folder.cleanup()

    def attempt(
        self,
        action: str,
        plan: Callable[[], Moves | None],
        act: Callable[[], Any],
        undone: int | None = None,
    ) -> tuple[Any, Moves]:
        """Do what the model says is done, in one event; or be told what it says is said, and
        nothing has changed."""
        before = size(self.op)
        try:
            moves = plan()
        except LaminaError as expected:
            with pytest.raises(SAID[type(expected)]) as caught:
                act()
            assert size(self.op) == before
            self.taken[action, caught.type.__name__] += 1
            return None, {}
        result = act()
        if moves is None:
            assert size(self.op) == before
            return None, {}
        assert size(self.op)[1] == before[1] + 1
        self.taken[action, "done"] += 1
        if moves:
            self.model.apply(before[1] + 1, action, moves, undone)
        return result, moves

    def learn(self, record: Record, action: str, fact: Fact) -> None:
        """Note a record that was just made, and the event that made it."""
        event = size(self.op)[1]
        self.model.add(record.id, fact._replace(event=event, settled=event))
        self.model.deeds.setdefault(event, Deed(action, {}, {})).before[record.id] = None

    def known(self, state: State, *layers: Layer) -> list[str]:
        """The records in a state, those last that nothing has happened to for long."""
        found = (
            one
            for one, fact in self.model.facts.items()
            if fact.state is state and fact.layer in (layers or Layer)
        )
        return sorted(found, key=lambda one: -self.model.facts[one].event)

    @initialize()
    def hear(self) -> None:
        """What proposals rest on: a saying of each source about each person."""
        for user in USERS:
            for source in SOURCES:
                record = self.ops[user].remember(f"{user} speaks of drinks", source=source)
                self.learn(
                    record,
                    "remember",
                    Fact(user, record.layer, "", record.content, Stand(ACTIVE), source=source),
                )

    @rule(user=people, key=st.sampled_from(list(KEYS)), value=values, data=st.data())
    def propose(self, user: str | None, key: str, value: str, data: st.DataObject) -> None:
        """A value for the profile, which sometimes somebody confirms at once."""
        said = data.draw(
            st.sampled_from(
                [one for one, fact in self.model.facts.items() if fact.is_said_of(user)]
            )
        )
        trust = data.draw(st.sampled_from((Trust.AGENT, Trust.OPERATOR)))
        handle = self.agents[user] if trust is Trust.AGENT else self.ops[user]
        fact = Fact(
            user, Layer.PROFILE, KEYS[key], value, Stand(CONSTRAINED), evidence=(said,), trust=trust
        )
        made, joined = self.attempt(
            "propose",
            lambda: self.model.propose(fact),
            lambda: handle.propose_profile(key, value, "said so", [said]),
        )
        if made is None:
            return
        if joined:
            assert list(joined) == [made.id]
            self.model.join(made.id, said)
        else:
            self.learn(made, "profile.propose", fact)
        if data.draw(st.booleans()):
            self.decide(made.id, "confirm", value, None)

    @precondition(lambda self: len(self.known(ACTIVE, Layer.SEMANTIC)) < 3)
    @rule(value=values, user=people, source=st.sampled_from((None, *SOURCES)))
    def state(self, value: str, user: str | None, source: str | None) -> None:
        """An operator says what is so."""
        fact = Fact(user, Layer.SEMANTIC, "", f"{value} is good", Stand(ACTIVE), source=source)
        given: dict[str, Any] = {
            "layer": "semantic",
            "metadata": {"origin": "sleep", "topic_tags": ["drink"]},
        }
        act = lambda: self.ops[user].remember(fact.value, source=source, **given)  # noqa: E731 - so it fits on a line
        made, _ = self.attempt("state", lambda: self.model.let_in(fact), act)
        if made is not None:
            self.learn(made, "remember", fact)

    @precondition(lambda self: len(self.known(ACTIVE, Layer.SEMANTIC)) > 1)
    @rule(data=st.data(), value=values)
    def compact(self, data: st.DataObject, value: str) -> None:
        """Propose a summary in the place of others."""
        known = self.known(ACTIVE, Layer.SEMANTIC)
        names = tuple(
            data.draw(st.lists(st.sampled_from(known), min_size=2, max_size=3, unique=True))
        )
        fact = Fact(
            None,
            Layer.SEMANTIC,
            "",
            f"in short, {value}",
            Stand(CONSTRAINED),
            evidence=names,
            replaces=names,
        )
        made, _ = self.attempt(
            "compact", lambda: self.model.let_in(fact), lambda: self.insert(fact)
        )
        if made is not None:
            self.learn(made, "compact", fact)

    def insert(self, fact: Fact) -> Record:
        metadata = {
            "origin": "memory-review",
            "topic_tags": ["drink"],
            "compacted_from": list(fact.replaces),
        }
        given: dict[str, Any] = {
            "layer": fact.layer,
            "state": fact.state,
            "metadata": metadata,
            "evidence": fact.evidence,
        }
        with self.op._scope.store.change(TESTER, "compact", self.desk.clock()) as transaction:
            (made,) = transaction.insert([Draft(fact.value, Trust.OPERATOR, **given)])
        return made

    # Decisions that a person would make: about what waits, what holds, what was rejected.

    @precondition(lambda self: self.known(CONSTRAINED))
    @rule(data=st.data())
    def confirm(self, data: st.DataObject) -> None:
        self.decide(data.draw(st.sampled_from(self.known(CONSTRAINED))), "confirm", "", None)

    @precondition(lambda self: self.known(CONSTRAINED))
    @rule(data=st.data(), regret=st.sampled_from(("", "lift", "undo")))
    def reject(self, data: st.DataObject, regret: str) -> None:
        one = data.draw(st.sampled_from(self.known(CONSTRAINED)))
        self.decide(one, "reject", "", None)
        if regret == "lift":
            self.decide(one, "lift", "", None)
        elif regret == "undo":
            self.undo(max(self.model.deeds), None)

    @precondition(lambda self: self.model.rejected)
    @rule(data=st.data())
    def lift(self, data: st.DataObject) -> None:
        self.decide(data.draw(st.sampled_from(list(self.model.rejected))), "lift", "", None)

    @precondition(lambda self: self.known(ACTIVE, *GUARDED))
    @rule(
        data=st.data(),
        action=st.sampled_from(("rollback", "forget", "correct")),
        value=values,
        regret=st.booleans(),
    )
    def take_back(self, data: st.DataObject, action: str, value: str, regret: bool) -> None:
        self.decide(data.draw(st.sampled_from(self.known(ACTIVE, *GUARDED))), action, value, None)
        if regret:
            self.undo(max(self.model.deeds), None)

    @rule(data=st.data(), action=st.sampled_from(DECISIONS), value=values, who=people)
    def decide_anything(
        self, data: st.DataObject, action: str, value: str, who: str | None
    ) -> None:
        """Any decision about anything by anybody."""
        self.decide(data.draw(st.sampled_from([*self.model.facts, NO_RECORD])), action, value, who)

    def decide(self, one: str, action: str, value: str, who: str | None) -> None:
        if action == "correct":
            self.correct(one, value, who)
            return
        given = ("so it is",) if action in ("reject", "lift") else ()
        verb = getattr(self.ops[who], action)
        _, moves = self.attempt(
            action, lambda: self.model.plan(action, one, who), lambda: verb(one, *given)
        )
        if moves and action == "reject":
            self.model.bar(one)
        elif moves and action == "lift":
            del self.model.rejected[one]

    def correct(self, one: str, value: str, who: str | None) -> None:
        plan = lambda: self.model.plan("correct", one, who, value)  # noqa: E731 - so it fits on a line
        made, moves = self.attempt(
            "correct", plan, lambda: self.ops[who].correct(one, value, "a slip")
        )
        if moves:
            self.learn(made, "correct", self.model.corrected(one, value))
            self.model.facts[one] = self.model.facts[one]._replace(stand=Stand(SUPERSEDED, made.id))

    @precondition(lambda self: self.model.undoable())
    @rule(data=st.data())
    def think_again(self, data: st.DataObject) -> None:
        """Take back a decision that nothing has followed."""
        self.undo(data.draw(st.sampled_from(self.model.undoable())), None)

    @rule(data=st.data(), who=people)
    def undo_anything(self, data: st.DataObject, who: str | None) -> None:
        """Take back any event, or none."""
        self.undo(data.draw(st.sampled_from([*self.model.deeds, NO_EVENT])), who)

    def undo(self, event: int, who: str | None) -> None:
        _, moves = self.attempt(
            "undo",
            lambda: self.model.plan("undo", event, who),
            lambda: self.ops[who].undo(event),
            event,
        )
        if moves:
            self.taken["undo of", self.model.deeds[event].action] += 1
            for one in moves:  # what it kept out may come again
                self.model.rejected.pop(one, None)

    @rule(source=st.sampled_from(SOURCES), who=people, regret=st.booleans())
    def revoke(self, source: str, who: str | None, regret: bool) -> None:
        """What a source is to be blamed for is put before a person again; nothing of it is left."""
        act = lambda: self.ops[who].revoke(source, "it lies")  # noqa: E731 - so it fits on a line
        self.attempt("revoke", lambda: self.model.revoke(source, who), act)
        if who is None:
            assert all(self.op.get(one).state is not ACTIVE for one in self.model.tainted(source))
        if regret:
            self.undo(max(self.model.deeds), None)

    @rule(data=st.data(), who=people, crash=st.booleans())
    def meanwhile(self, data: st.DataObject, who: str | None, crash: bool) -> None:
        """Another handle, and a change that moves nothing, but makes stale what would
        replace the record."""
        if not crash:
            self.ops[who].close()
        self.ops[who] = self.desk.operator(user=who)
        one = data.draw(st.sampled_from(sorted(self.model.facts)))
        self.attempt(
            "weigh",
            lambda: {one: self.model.facts[one].stand},
            lambda: move(self.op, one, importance=0.7),
        )

    @invariant()
    def the_store_is_the_model(self) -> None:
        """Every record stands as the model says."""
        found = {
            record.id: record
            for record in self.op.list(layers=list(Layer), states=None, limit=10_000)
        }
        assert {one: (record.state, record.superseded_by) for one, record in found.items()} == {
            one: fact.stand for one, fact in self.model.facts.items()
        }
        assert all(
            found[one].content.endswith(fact.value) for one, fact in self.model.facts.items()
        )

    @invariant()
    def every_place_is_taken_once(self) -> None:
        """No two active values for one key of one person, and the profile shows the one there is,
        before one for nobody."""
        active = self.op.list(layers=["profile"], limit=10_000)
        places = {
            (record.user, KEYS[record.metadata["profile_key"]]): record.metadata["value"]
            for record in active
        }
        assert len(places) == len(active)
        for user in USERS:
            shown = {
                KEYS[key]: value for key, value in self.ops[user].user_profile().preferences.items()
            }
            assert shown == {
                key: places.get((user, key), places[who, key])
                for who, key in places
                if who in (None, user)
            }

    @invariant()
    def the_last_change_is_told(self) -> None:
        last = max(self.model.facts, key=lambda one: self.model.facts[one].event, default=None)
        if last is not None:
            self.check_history(last)

    def check_history(self, one: str) -> None:
        """The states in the history are the path that the model took, each step legal, and it ends
        where the record is."""
        changes = [
            change
            for event in self.op.history(one)
            for change in event.changes
            if change.record == one
        ]
        states = [State(change.after["state"]) for change in changes if "state" in change.after]
        path = [states[0], *(after for before, after in pairwise(states) if after is not before)]
        assert path == self.model.paths[one]
        assert all(after in NEXT[before] for before, after in pairwise(path))
        record = self.op.get(one).to_dict()
        told = {
            name: value
            for name, value in changes[-1].after.items()
            if name in ("state", "superseded_by", "importance")
        }
        assert {name: record[name] for name in told} == told


def test_any_review() -> None:
    """R3, R12, V1, V2, V4, V5, V6, V8, V9, P2: after any history of proposals, decisions and their
    undoing, by whomever, the store is what the model says, no key has two active values, and what
    is not allowed is a typed error that changes nothing.

    It is not empty talk: every legal move of R3 was made, every decision was taken back, and every
    error was told.
    """

    class Counted(Reviewing):
        taken: ClassVar[Counter[Any]] = Counter()

    run_state_machine_as_test(Counted, settings=SIZE)
    taken = Counted.taken
    assert {pair for pair in taken if isinstance(pair[0], State)} == {
        (one, other) for one in NEXT for other in NEXT[one]
    }
    assert all(taken["undo of", action] for action in UNDONE), taken
    assert all(taken[action, "done"] for action in ("propose", "compact", *DECISIONS)), taken
    assert {said for _, said in taken if isinstance(said, str)} >= {
        "Refused",
        "Conflict",
        "NotFound",
    }


# What the machine has found, as short stories.


def settled(handle: Memory, op: Operator, value: str, source: str = "diary") -> str:
    """A value for the profile that somebody said and somebody confirmed."""
    said = handle.remember(f"I like {value}", source=source, tags=["said"])
    return op.confirm(handle.propose_profile("drink", value, "said so", [said.id]).id).id


def active(op: Operator) -> list[str]:
    return [record.id for record in op.list(layers=["profile"])]


@pytest.mark.parametrize("hide", ["forget", "rollback", "revoke", "prune"])
def test_what_was_hidden_does_not_come_back_beside_another(
    mem: Memory, op: Operator, hide: str
) -> None:
    """V1, V4, V5, R3: once another value has taken the place, undoing says so
    and changes nothing."""
    tea = settled(mem, op, "tea")
    given: dict[str, Any] = {
        "revoke": {"source": "diary", "reason": "lost"},
        "prune": {"layers": ["profile"]},
    }
    getattr(op, hide)(**given.get(hide, {"record_id": tea}))
    event = op.audit_log(1)[0].seq
    coffee = settled(mem, op, "coffee", "letters")
    before = size(op)
    with pytest.raises((Conflict, Refused)):
        op.restore_archived(tea) if hide == "prune" else op.undo(event)
    assert size(op) == before
    assert active(op) == [coffee]


def test_revoking_brings_back_nothing_that_came_from_there(mem: Memory, op: Operator) -> None:
    """V8: a predecessor from the same source stays superseded; it is no better than what is put
    under review."""
    tea, coffee = settled(mem, op, "tea", "radio"), settled(mem, op, "coffee", "radio")
    op.revoke("radio", "it lies")
    assert (op.get(tea).state, op.get(coffee).state) == (SUPERSEDED, CONSTRAINED)


def test_undoing_shows_nothing_of_others(desk: Desk) -> None:
    """P2, R12: an event about another user's records is not there for this one, whatever it was,
    and the attempt is noted."""
    ana, ben = desk.operator(user="ana"), desk.operator(user="ben")
    made = ben.remember("a secret")
    ben.forget(made.id)
    events = [event.seq for event in ben.history(made.id)]
    for event in events:
        with pytest.raises(NotFound):
            ana.undo(event)
    assert len(desk.violations()) == len(events)


def test_a_rejected_value_does_not_join_what_waits(desk: Desk) -> None:
    """V6: what was rejected for everybody is refused for each, even where the
    same waits already."""
    op, ana = desk.operator(), desk.operator(user="ana")
    waiting = ana.propose_profile("drink", "tea", "said so")
    op.reject(op.propose_profile("drink", "tea", "said so").id, "nobody does")
    with pytest.raises(Refused):
        ana.propose_profile("drink", "tea", "said so again")
    assert op.get(waiting.id).evidence == waiting.evidence


def test_a_chain_of_values_is_rolled_back_and_forth(mem: Memory, op: Operator) -> None:
    """V4: each rollback restores the one before, and its undo the one after; there is always
    exactly one."""
    chain = [settled(mem, op, value) for value in VALUES]
    for last, before in pairwise(reversed(chain)):
        op.rollback(last)
        assert active(op) == [before]
        op.undo(op.audit_log(1)[0].seq)
        assert active(op) == [last]
        assert op.get(before).superseded_by == last
        op.rollback(last)
        assert active(op) == [before]
    assert verified(op)


@pytest.mark.parametrize("event", [1 << 63, 1 << 200])
def test_no_event_has_such_a_number(op: Operator, event: int) -> None:
    """V4: a number that no event can have is a typed error too."""
    with pytest.raises(LaminaError):
        op.undo(event)
