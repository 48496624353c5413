"""The rules of reviewing in plain Python, in words of their own, to be compared with what
the store does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from lamina.errors import NotFound, Refused
from lamina.model.record import Layer, State, Trust
from tests.property.states import ACTIVE, CONSTRAINED, SUPERSEDED, TOMBSTONED

# The layers that are believed, so that what was rejected stays out of them.
GUARDED = (Layer.PROFILE, Layer.SEMANTIC)
# What an operator can take back.
UNDONE = ("confirm", "reject", "rollback", "forget", "correct", "revoke")
Sayings = set[tuple[Any, ...]]


class Stand(NamedTuple):
    """What a decision can change about a record."""

    state: State
    superseded_by: str | None = None


Moves = dict[str, Stand]


class Fact(NamedTuple):
    """What the model knows of a record; `event` is the last one about it."""

    user: str | None
    layer: Layer
    key: str
    value: str
    stand: Stand
    event: int = 0
    settled: int = 0
    source: str | None = None
    evidence: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    trust: Trust = Trust.OPERATOR

    @property
    def state(self) -> State:
        return self.stand.state

    @property
    def sayings(self) -> Sayings:
        """What is rejected when this is: its value, and the records that it would replace."""
        joined = {(self.layer, "joins", *sorted(self.replaces))} if self.replaces else set()
        return {(self.layer, self.key, self.value), *joined}

    def is_said_of(self, user: str | None) -> bool:
        """Whether somebody said this about a person, so that a proposal can rest on it."""
        return self.layer is Layer.SHORT_TERM and self.source is not None and self.user == user

    def moved(self, state: State) -> Stand:
        return self.stand._replace(state=state)


class Deed(NamedTuple):
    """An event: what was done, and how its records stood before; what it made has
    not stood anywhere."""

    action: str
    before: dict[str, Stand | None]
    settled: dict[str, int]  # for each record, the last event before that nobody had taken back


class Model:
    """What reviewing comes to. A plan says where records go, none for no event, or raises what must
    be said."""

    def __init__(self) -> None:
        self.facts: dict[str, Fact] = {}
        self.deeds: dict[int, Deed] = {}
        self.paths: dict[str, list[State]] = {}
        self.rejected: dict[str, tuple[str | None, Sayings]] = {}

    def add(self, one: str, fact: Fact) -> None:
        self.facts[one] = fact
        self.paths[one] = [fact.state]

    def apply(self, event: int, action: str, moves: Moves, undone: int | None = None) -> None:
        settled = {one: self.facts[one].settled for one in moves}
        self.deeds[event] = Deed(action, {one: self.facts[one].stand for one in moves}, settled)
        for one, stand in moves.items():
            if stand.state is not self.facts[one].state:
                self.paths[one].append(stand.state)
            after = self.deeds[undone].settled.get(one, 0) if undone is not None else event
            self.facts[one] = self.facts[one]._replace(stand=stand, event=event, settled=after)

    def plan(self, action: str, one: Any, who: str | None, *given: str) -> Moves:
        """Where records go when somebody decides something about a record, or takes
        back an event."""
        concerned = list(self.deeds[one].before) if one in self.deeds else [one]
        if any(name not in self.facts or not self.is_visible(name, who) for name in concerned):
            raise NotFound("to this handle there is no such thing")
        moves: Moves = getattr(self, action)(one, *given)
        self.check_believable(moves)
        return moves

    def is_visible(self, one: str, who: str | None) -> bool:
        return who is None or self.facts[one].user in (None, who)

    def check_believable(self, moves: Mapping[str, Stand]) -> None:
        """Nothing rejected becomes active, and no place in the profile is taken twice."""
        for one in moves:
            if moves[one].state is ACTIVE:
                self.let_in(self.facts[one])
        people = {one: fact for one, fact in self.facts.items() if fact.layer is Layer.PROFILE}
        active = [
            fact for one, fact in people.items() if moves.get(one, fact.stand).state is ACTIVE
        ]
        if any(number > 1 for number in Counter((fact.user, fact.key) for fact in active).values()):
            raise Refused("something else stands there by now")

    def let_in(self, fact: Fact) -> Moves:
        """A new record moves nothing, but it may be barred."""
        if self.is_barred(fact):
            raise Refused("it was rejected")
        return {}

    def is_barred(self, fact: Fact) -> bool:
        """Whether somebody has rejected what a fact says, for its user or for everybody."""
        told = (
            sayings
            for user, sayings in self.rejected.values()
            if None in (fact.user, user) or fact.user == user
        )
        return fact.layer in GUARDED and any(fact.sayings & sayings for sayings in told)

    def expect(self, one: str, state: State) -> Fact:
        if self.facts[one].state is not state:
            raise Refused(f"it is not {state}")
        return self.facts[one]

    def in_place_of(self, fact: Fact, state: State = ACTIVE) -> tuple[str, ...]:
        """The values of the same key of the same person."""
        place = (fact.user, Layer.PROFILE, fact.key)
        return tuple(
            one
            for one, its in self.facts.items()
            if its[:3] == place == fact[:3] and its.state is state
        )

    def propose(self, fact: Fact) -> Moves | None:
        """A new record, or more evidence for one that waits; what is trusted less adds nothing."""
        self.let_in(fact)
        if any(self.facts[one].value == fact.value for one in self.in_place_of(fact)):
            raise Refused("it is so already")
        for one in self.in_place_of(fact, CONSTRAINED):
            its = self.facts[one]
            if its.value == fact.value:
                is_less = its.trust is Trust.OPERATOR and fact.trust is Trust.AGENT
                return (
                    None if is_less or set(fact.evidence) <= set(its.evidence) else {one: its.stand}
                )
        return {}

    def join(self, one: str, evidence: str) -> None:
        self.facts[one] = self.facts[one]._replace(evidence=(*self.facts[one].evidence, evidence))

    def confirm(self, one: str) -> Moves:
        fact = self.expect(one, CONSTRAINED)
        replaced = self.in_place_of(fact) if fact.layer is Layer.PROFILE else fact.replaces
        if any(
            self.facts[other].state is not ACTIVE or self.facts[other].event > fact.event
            for other in replaced
        ):
            raise Refused("it is stale")
        if fact.evidence and all(self.is_gone(other) for other in fact.evidence):
            raise Refused("its evidence is gone")
        return {one: fact.moved(ACTIVE), **{other: Stand(SUPERSEDED, one) for other in replaced}}

    def is_gone(self, one: str) -> bool:
        """Whether a record is known that no longer says what it said."""
        return one in self.facts and self.facts[one].state not in (ACTIVE, CONSTRAINED)

    def reject(self, one: str) -> Moves:
        return {one: self.expect(one, CONSTRAINED).moved(TOMBSTONED)}

    def bar(self, one: str) -> None:
        """Keep out what a rejected record says, unless what it would have replaced says it."""
        fact = self.facts[one]
        others = [self.facts[other] for other in (*self.in_place_of(fact), *fact.replaces)]
        said = {saying for other in others if other.state is ACTIVE for saying in other.sayings}
        self.rejected[one] = (fact.user, fact.sayings - said)

    def lift(self, one: str) -> Moves:
        if not self.rejected.get(one, (None, ()))[1]:
            raise Refused("nothing is kept out")
        return {one: self.facts[one].stand}

    def forget(self, one: str) -> Moves:
        return {one: self.expect(one, ACTIVE).moved(TOMBSTONED)}

    def rollback(self, one: str) -> Moves:
        return {**self.forget(one), **{other: Stand(ACTIVE) for other in self.superseded_by(one)}}

    def superseded_by(self, one: str) -> list[str]:
        return [other for other, fact in self.facts.items() if fact.stand == (SUPERSEDED, one)]

    def correct(self, one: str, value: str) -> Moves:
        self.expect(one, ACTIVE)
        self.let_in(self.corrected(one, value))
        return {one: Stand(SUPERSEDED)}  # by what is made now

    def corrected(self, one: str, value: str) -> Fact:
        """What stands there after a correction: an operator's own words, which rest on the same."""
        return self.facts[one]._replace(
            value=value, stand=Stand(ACTIVE), source=None, trust=Trust.OPERATOR
        )

    def tainted(self, source: str) -> set[str]:
        """What came from a source, or rests on what did."""
        found: set[str] = set()
        while (
            more := {
                one
                for one, its in self.facts.items()
                if its.source == source or found & set(its.evidence)
            }
            - found
        ):
            found |= more
        return found

    def revoke(self, source: str, who: str | None) -> Moves | None:
        """What came from a source waits; what it had superseded is back, unless that came from
        there too."""
        tainted = self.tainted(source)
        waiting = [
            one
            for one in tainted
            if self.facts[one].state is ACTIVE and who in (None, self.facts[one].user)
        ]
        back = [
            other for one in waiting for other in self.superseded_by(one) if other not in tainted
        ]
        moves = {one: Stand(ACTIVE) for one in back if not self.is_barred(self.facts[one])}
        return moves | {one: self.facts[one].moved(CONSTRAINED) for one in waiting} or None

    def undoable(self) -> list[int]:
        """The decisions that nothing has followed but what was taken back."""
        last = {
            event: {self.facts[one].settled for one in deed.before}
            for event, deed in self.deeds.items()
        }
        return [
            event
            for event, deed in self.deeds.items()
            if deed.action in UNDONE and last[event] == {event}
        ]

    def undo(self, event: int) -> Moves:
        if event not in self.undoable():
            raise Refused("something has happened since")
        deed = self.deeds[event]
        return {
            one: stand or self.facts[one].moved(TOMBSTONED) for one, stand in deed.before.items()
        }
