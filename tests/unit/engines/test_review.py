"""Promises of a decision about a memory: whether it can be made, what it changes, and what it
leaves alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lamina.engines import review
from lamina.engines.review import Proposal, VersionedRecord
from lamina.errors import Conflict, Refused
from lamina.model import rejection
from lamina.model.record import Change, Event, Layer, Record, Role, State
from tests.conftest import START
from tests.unit.engines.procedures import known
from tests.unit.engines.samples import record, told

ALL = list(State)


def profile(seq: int, key: str = "drink", value: Any = "tea", **fields: Any) -> Record:
    return record(seq, {"profile_key": key, "value": value, "reason": "said so"}, **fields)


def note(seq: int, content: str, **fields: Any) -> Record:
    """Something semantic that has no place of its own."""
    return record(
        seq,
        {"origin": "x", "topic_tags": []},
        **{"content": content, "layer": Layer.SEMANTIC, **fields},
    )


def event(action: str = "confirm", seq: int = 7, **states: tuple[State, State]) -> Event:
    """An event that moved records from one state to another."""
    changes = tuple(
        Change(name, "", {"state": before.value}, {"state": after.value}, None)
        for name, (before, after) in states.items()
    )
    return Event(seq, START, action, "ana", "cli", changes, {}, {}, "")


@pytest.mark.parametrize("state", ALL)
def test_what_is_replaced_must_be_as_it_was(state: State) -> None:
    """V5: a source that is no longer active, or has changed since the proposal, makes it stale; the
    error names it."""
    proposal, old = VersionedRecord(profile(2), 5), profile(1, state=state)
    if state is not State.ACTIVE:
        with pytest.raises(Conflict, match=f"{old.id} is {state.value} by now") as caught:
            review.check_fresh(proposal, [VersionedRecord(old, 1)])
        assert caught.value.details["record"] == old.id
        return
    review.check_fresh(proposal, [VersionedRecord(old, 1), VersionedRecord(old, 5)])
    with pytest.raises(Conflict, match="changed since this was proposed"):
        review.check_fresh(proposal, [VersionedRecord(old, 1), VersionedRecord(old, 6)])


@pytest.mark.parametrize("state", ALL)
def test_only_what_waits_is_decided_and_only_what_is_active_is_changed(state: State) -> None:
    """V5, V9: the state is told in the error."""
    one = profile(1, state=state)
    for check, fit in (
        (review.check_pending, State.CONSTRAINED),
        (lambda one: review.check_active(one, "corrected"), State.ACTIVE),
    ):
        if state is fit:
            check(one)
        else:
            with pytest.raises(Refused, match=f"is {state.value}; only {fit.value} records"):
                check(one)


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({}, "X"),
        ({"kind": "crumb"}, None),
        ({"layer": Layer.SHORT_TERM}, None),
        ({"metadata": {"forget": ["X"]}}, None),
        ({"metadata": {}}, None),
    ],
)
def test_a_request_to_forget_is_known(fields: dict[str, Any], asked: str | None) -> None:
    """V7: an episodic request that names a record; it is not confirmed like a proposal, and says
    what to do instead."""
    one = record(
        1, **{"metadata": {"forget": "X"}, "kind": "request", "layer": Layer.EPISODIC, **fields}
    )
    assert review.to_forget(one) == asked
    if asked is None:
        review.check_no_request(one)
    else:
        with pytest.raises(Refused, match="`lamina forget X` hides it, `lamina erase X`"):
            review.check_no_request(one)


def test_a_correction_is_the_new_value() -> None:
    """V9: of a profile what is given is the value, of anything else the text; the rest stays."""
    said, metadata = review.corrected(profile(1), "mate", "asked her")
    assert (said, metadata) == (
        "drink: mate",
        {"profile_key": "drink", "value": "mate", "reason": "asked her"},
    )
    other = note(1, "Tea is hot")
    assert review.corrected(other, "Tea is cold", "look") == ("Tea is cold", other.metadata)


def test_a_rollback_restores_what_was_superseded_by_it_alone() -> None:
    """V4: not what somebody else replaced, nor what is in another state; what
    happened restores nothing."""
    new = profile(9)
    mine = profile(1, state=State.SUPERSEDED, superseded_by=new.id)
    others = [
        profile(2, state=State.SUPERSEDED, superseded_by="x"),
        profile(3, state=State.TOMBSTONED, superseded_by=new.id),
    ]
    assert review.restored(new, [mine, *others]) == [mine]
    assert review.restored(record(9, {}, layer=Layer.EPISODIC), [mine, *others]) == []


@pytest.mark.parametrize("action", review.UNDONE)
def test_a_decision_can_be_undone_while_it_is_the_last(action: str) -> None:
    """V4, V9: the changes come back; once one of the records has changed again,
    nothing is undone."""
    done = event(action, a=(State.ACTIVE, State.SUPERSEDED), b=(State.CONSTRAINED, State.ACTIVE))
    assert review.check_undoable(done, {"a": 7, "b": 7}, Role.OPERATOR) == done.changes
    for last in ({"a": 7, "b": 8}, {"a": 7}):
        with pytest.raises(Conflict, match="b has changed since event 7") as caught:
            review.check_undoable(done, last, Role.OPERATOR)
        assert caught.value.details["record"] == "b"


def test_what_cannot_be_undone_says_what_can() -> None:
    """V4, R3: other events are refused, and so is a move that is not legal for who asks."""
    with pytest.raises(
        Refused,
        match=r"only these can be undone: confirm, reject, rollback, forget, correct, revoke$",
    ):
        review.check_undoable(event("remember"), {}, Role.OPERATOR)
    hidden = event("forget", a=(State.ACTIVE, State.TOMBSTONED))
    assert review.check_undoable(hidden, {"a": 7}, Role.OPERATOR) == hidden.changes
    with pytest.raises(Refused, match="only an operator"):
        review.check_undoable(hidden, {"a": 7}, Role.AGENT)
    untouched = Event(
        7,
        START,
        "correct",
        "ana",
        "cli",
        (Change("a", "", {"importance": 0.5}, {}, None),),
        {},
        {},
        "",
    )
    assert review.check_undoable(untouched, {"a": 7}, Role.AGENT) == untouched.changes


def test_a_rejected_value_that_is_active_elsewhere_is_not_barred() -> None:
    """V6: what stays out is what nobody has confirmed; what is only superseded does not count."""
    rejected, same = profile(1, "interests", ["tea", "jazz"]), profile(2, "interests", ["jazz"])
    tea, jazz = rejection.fingerprints(rejected)
    assert review.barred(rejected, []) == [tea, jazz]
    assert review.barred(rejected, [same]) == [tea]
    assert review.barred(rejected, [profile(2, "interests", ["jazz"], state=State.SUPERSEDED)]) == [
        tea,
        jazz,
    ]


def test_what_was_rejected_in_the_same_place_is_similar() -> None:
    """V6: for a key, whatever was said of that key, by nobody in particular or the same person; not
    in other layers."""
    here = profile(1, user="ana")
    mine = profile(2, "Drink", "mate", user="ana")
    others = [
        profile(3, "name", "tea", user="ana"),
        profile(4, user="ben"),
        note(5, "tea", user="ana"),
    ]
    assert review.Rejected([mine, *others]).similar(here) == (mine,)
    assert review.Rejected([profile(2), mine]).similar(profile(1)) == (profile(2),)


@pytest.mark.parametrize(
    ("other", "similar"),
    [
        ("green tea", True),  # two of its two words
        ("green cars", True),  # one of two
        ("green cars rust", False),  # one of three
        ("is the", False),
    ],
)
def test_half_of_the_words_make_texts_similar(other: str, similar: bool) -> None:
    """V6: half of the words of the shorter text, which tell it from others."""
    proposal = note(1, "green tea calms people down", user="ana")
    assert review.Rejected([note(2, other)]).similar(proposal) == (
        (note(2, other),) if similar else ()
    )
    assert review.Rejected([note(2, other, user="ben")]).similar(proposal) == ()


def test_texts_without_words_are_not_similar() -> None:
    """V6: nothing in common is not everything."""
    assert review.Rejected([note(2, "?")]).similar(note(1, "!")) == ()


def test_proposals_come_in_the_order_of_what_they_change() -> None:
    """V5: those that can be confirmed first, then what replaces most, then the oldest; and all of
    it as JSON."""

    def proposal(
        seq: int, replaces: int = 0, problem: str | None = None, **fields: Any
    ) -> Proposal:
        replaced = tuple(profile(90 + number) for number in range(replaces))
        return Proposal(
            profile(seq, **fields), "propose", START, replaced, problem, ("r",), (profile(50),)
        )

    stale, small, old, large = (
        proposal(1, 5, "stale"),
        proposal(2, created_at=START + timedelta(days=9)),
        proposal(3),
        proposal(4, 2),
    )
    twin = Proposal(
        profile(5, created_at=old.record.created_at), "propose", START, (), None, (), ()
    )
    assert review.ranked([stale, small, twin, old, large]) == [large, old, twin, small, stale]
    told = large.to_dict()
    assert told["record"] == large.record.to_dict()
    assert (told["by"], told["problem"], told["rivals"]) == ("propose", None, ["r"])
    assert (told["replaces"], told["similar"]) == (
        [profile(90).id, profile(91).id],
        [profile(50).id],
    )
    assert told["since"].startswith("2026-05-01T08:00:00")


def test_a_corrected_profile_keeps_its_key() -> None:
    """V9, R10: the value is read as its key wants it, and the reason is the new one; other texts
    are as they are given."""
    key = told(1, "interests", ["tea"])
    assert review.corrected(key, "- jazz\n- rain", "typo") == (
        "interests: jazz; rain",
        {"profile_key": "interests", "value": ["jazz", "rain"], "reason": "typo"},
    )
    assert review.corrected(known(1, "Tea is hot", ["tea"]), "Tea is cold", "typo") == (
        "Tea is cold",
        {"origin": "promotion", "topic_tags": ["tea"]},
    )
