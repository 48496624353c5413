"""One truth (S7): whatever is said, remembered, decided and taken back, in any order, everything
that answers what is known gives the same answer."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lamina.engines import facts
from lamina.engines.claims import attributes
from lamina.engines.feedback import Verdict
from lamina.engines.review import Proposal
from lamina.errors import Conflict, Refused
from lamina.model import rejection
from lamina.model.record import Layer, Record, State
from tests.conftest import FULL, START, Desk, verified
from tests.property.sleep_model import DAY, every_saying

# A failure is shown as it was found; only a full run takes its time to make it small.
PHASES = (Phase.explicit, Phase.generate, *((Phase.shrink,) if FULL else ()))
SIZE = settings(max_examples=300 if FULL else 12, stateful_step_count=25, phases=PHASES)
ASKED = ("lives_in", "likes", "dislikes")
# What is over, or taken back, besides what the model of sleep knows of.
TAKEN_BACK = [
    "I used to live in Faro.",
    "I misspoke, I don't live in Porto.",
    "Scrap that.",
    "I don't like tea any more.",
]
SAYINGS = [*(said.text for said in every_saying(ASKED)), *TAKEN_BACK]
DAYS = range(6)
LATER = START + 60 * DAY
CONTRACT = {"origin": "notes", "topic_tags": ["ana"]}
# Where and how a sentence is remembered: agents write short-term memory, people all layers.
WAYS = ("semantic", "short_term", "episodic", "talk", "web")

texts, days, places = st.sampled_from(SAYINGS), st.sampled_from(DAYS), st.integers(0, 50)


class Knowing(RuleBasedStateMachine):
    """An agent and an operator on one memory, and one person who speaks of herself."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.desk = Desk(Path(self._folder.name))
        self.barred: dict[str, set[bytes]] = {}  # by the record that was taken back
        self.taken: Counter[str] = Counter()
        self.has_declined = False  # whether a person kept something in the profile

    @initialize()
    def open(self) -> None:
        self.desk.clock.set(LATER)
        self.mem, self.op = self.desk.agent(), self.desk.operator()

    def teardown(self) -> None:
        try:
            assert verified(self.op)
        finally:
            self.desk.__exit__(None, None, None)
            self._folder.cleanup()

    # What comes in

    @rule(text=texts, day=days, way=st.sampled_from(WAYS), is_person=st.booleans())
    def tell(self, text: str, day: int, way: str, is_person: bool) -> None:
        at = START + day * DAY
        handle = self.op if is_person or way == "semantic" else self.mem
        if way == "talk":
            turn = {"content": text, "speaker": "Ana", "at": at}
            handle.remember_conversation([turn], session=f"talk {day}")
            return
        if way == "web":  # what it says waits for a person
            self.mem.remember(text, layer="episodic", source="web", speaker="Ana", at=at)
            return
        given: dict[str, Any] = {"kind": "fact", "importance": 0.9, "metadata": CONTRACT}
        with suppress(Refused):  # a rejected value
            handle.remember(text, layer=way, speaker="Ana", at=at, **given)

    @rule()
    def sleep(self) -> None:
        self.op.sleep()

    @rule()
    def promote(self) -> None:
        self.op.run_once()

    # What people decide

    def known(self) -> list[facts.Fact]:
        return self.op.facts()

    def decide(self, verb: str, place: int, *given: str) -> None:
        fact = self.known()[place % len(self.known())]
        record = self.op.get(fact.record)
        try:
            getattr(self.op, verb)(fact.record, *given)
        except (Conflict, Refused):  # what it would bring back is rejected, or stands elsewhere
            return
        self.taken[verb] += 1
        if verb != "correct":
            self.barred[record.id] = set(rejection.fingerprints(record))

    @precondition(lambda self: self.known())
    @rule(place=places)
    def reject(self, place: int) -> None:
        self.decide("reject", place, "it is not so")

    @precondition(lambda self: self.known())
    @rule(place=places)
    def roll_back(self, place: int) -> None:
        self.decide("rollback", place, "it is not so")

    @precondition(lambda self: self.known())
    @rule(place=places)
    def forget(self, place: int) -> None:
        self.decide("forget", place, "nobody needs it")

    @precondition(lambda self: self.known())
    @rule(place=places, value=st.sampled_from(["Porto", "Faro", "tea", "rowing"]))
    def correct(self, place: int, value: str) -> None:
        self.decide("correct", place, value, "misheard")

    @precondition(lambda self: self.known())
    @rule(place=places, verdict=st.sampled_from(Verdict))
    def give_feedback(self, place: int, verdict: Verdict) -> None:
        """V7: an agent's word changes nothing that is known."""
        known = self.known()
        with suppress(Conflict, Refused):  # somebody has declined it
            self.mem.feedback(known[place % len(known)].record, verdict.value)
            self.taken["feedback"] += 1
        assert self.known() == known

    @rule(place=places)
    def forget_what_was_said(self, place: int) -> None:
        said = self.op.list(layers=["episodic", "short_term"], limit=100)
        if said:
            self.op.forget(said[place % len(said)].id, "private")

    @rule(place=places, is_confirmed=st.booleans())
    def judge(self, place: int, is_confirmed: bool) -> None:
        waiting = [one.record for one in self.op.proposals() if facts.is_fact(one.record)]
        if not waiting:
            return
        record = waiting[place % len(waiting)]
        if is_confirmed:
            with suppress(Conflict, Refused):
                self.op.confirm(record.id)
                self.taken["confirm"] += 1
            return
        held = dict.fromkeys(self.fingerprints(self.op.list(layers=["semantic"], limit=500)), True)
        self.op.reject(record.id, "no")
        self.barred[record.id] = set(rejection.fingerprints(record)) - held.keys()

    def proposed(self) -> list[Proposal]:
        return [one for one in self.op.proposals() if "profile_key" in one.record.metadata]

    @precondition(lambda self: self.proposed())
    @rule(place=places, is_confirmed=st.booleans())
    def judge_profile(self, place: int, is_confirmed: bool) -> None:
        """V5: what the queue shows without a problem can be confirmed, and the rest cannot."""
        waiting = self.proposed()
        chosen = waiting[place % len(waiting)]
        if not is_confirmed:
            self.op.reject(chosen.record.id, "no")
            self.has_declined = True
        elif chosen.problem is None:
            self.op.confirm(chosen.record.id)
            self.taken["profile"] += 1
        else:
            with pytest.raises(Conflict):
                self.op.confirm(chosen.record.id)

    @rule()
    def follow_every_advice(self) -> None:
        """R10: a person who does all that sleep proposes has a profile without conflicts."""
        self.op.sleep()
        can_follow = True
        for one in self.op.proposals():
            asked = one.record.metadata.get("forget")
            if "profile_key" in one.record.metadata and one.problem is not None:
                can_follow = False  # what it rests on was forgotten meanwhile
            elif "profile_key" in one.record.metadata:
                self.op.confirm(one.record.id)
            elif asked is not None and self.op.get(asked).layer is Layer.PROFILE:
                # An agent may ask to forget a fact, too: sleep then has something new to say.
                self.op.forget(asked, "the facts have changed")
        followed = can_follow and not self.has_declined
        assert not followed or self.op.user_profile().conflicts == []

    @rule(place=st.integers(0, 3))
    def undo(self, place: int) -> None:
        log = self.op.audit_log(10)
        if place >= len(log):
            return
        event = log[place]
        with suppress(Conflict, Refused):
            for record in self.op.undo(event.seq):
                self.barred.pop(record.id, None)
                self.taken["undo"] += 1

    # What must be so at any time

    @invariant()
    def now_is_told_alike(self) -> None:
        """The list of facts, the timeline, the view of SQL and the records agree about today."""
        listed = {fact.record for fact in self.known()}
        assert len(listed) == len(self.known())
        assert listed == {one.id for one in self.active()}
        assert listed == {one.record for one in self.timeline() if one.state is State.ACTIVE}
        assert listed == {fact.record for fact in self.op.facts(as_of=LATER + 30 * DAY)}
        assert listed <= {row[0] for row in self.viewed() if row[1] is None}

    @invariant()
    def then_is_told_alike(self) -> None:
        """So do those that answer what was true at a time, and a search finds nothing else."""
        for day in DAYS:
            at = START + day * DAY
            held = {fact.record for fact in self.op.facts(as_of=at)}
            assert held == {fact.record for fact in self.timeline() if fact.holds(at)}
            found = self.op.search("Ana lives in Porto", layers=["semantic"], as_of=at)
            told = {hit.record.id for hit in found if facts.is_fact(hit.record)}
            assert told <= held

    @invariant()
    def nothing_is_two_things(self) -> None:
        """Where one value can hold, one does, at any time."""
        for at in (None, *(START + day * DAY for day in DAYS)):
            held = [fact for fact in self.op.facts(as_of=at) if not fact.negated]
            single = [one.slot for one in held if not attributes.of(one.attribute).many]
            assert len(single) == len(set(single)), at

    @invariant()
    def what_was_taken_back_stays_out(self) -> None:
        """V6: a rejected value is not known, now or of any time, by whatever path it came."""
        out = {one for some in self.barred.values() for one in some}
        for at in (None, *(START + day * DAY for day in DAYS)):
            known = [self.op.get(fact.record) for fact in self.op.facts(as_of=at)]
            if at is None:
                assert not out & set(self.fingerprints(known))
            made_since = [one for one in known if one.state is State.ACTIVE]
            assert not out & set(self.fingerprints(made_since))

    @invariant()
    def the_profile_agrees_or_says_so(self) -> None:
        """R10: what the profile has from the facts is a fact, or shows as a conflict."""
        found = self.op.user_profile()
        doubted = {(one["key"], one["value"]) for one in found.conflicts}
        held = [fact for fact in self.known() if not fact.negated]
        for key, lines in found.preferences.items():
            attribute = key.removeprefix("ana.")
            values = [fact.value for fact in held if fact.attribute == attribute]
            for line in lines:
                is_held = any(facts.same_value(attribute, line, value) for value in values)
                assert is_held is ((key, line) not in doubted), (key, line)

    def active(self) -> list[Record]:
        found = self.op.list(layers=["semantic"], limit=500)
        return [one for one in found if facts.is_fact(one)]

    def timeline(self) -> list[facts.Fact]:
        return self.op.timeline("Ana")

    def viewed(self) -> list[tuple[Any, ...]]:
        with self.op._scope.store.read() as db:
            return list(db.execute("SELECT id, superseded_by FROM facts"))

    @staticmethod
    def fingerprints(records: list[Record]) -> list[bytes]:
        return [one for record in records for one in rejection.fingerprints(record)]


def test_whatever_happens_there_is_one_truth() -> None:
    """S7, S2, R10, V4, V5, V6, V9, Q10: facts, timeline, the profile, `as_of`, the view of SQL and the search agree after
    every step, one value holds where one can, and what was taken back does not come again."""
    run_state_machine_as_test(Knowing, settings=SIZE)
