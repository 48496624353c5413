"""Promises of every store about what is decided: reviews, corrections, erasures, grants, and the
trail of all of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from lamina import Memory, Operator
from lamina.errors import Conflict, NotFound, Refused
from lamina.model.record import State
from tests.conftest import CONTRACTS, Desk, contents, move, size, verified

Alter = Callable[[str], None]
ALTERED = {
    "content": "UPDATE records SET content = 'coffee' WHERE seq = 1",
    "state": "UPDATE records SET state = 'tombstoned' WHERE seq = 4",
    "trust": "UPDATE records SET trust = 'external' WHERE seq = 4",
    "tags": "UPDATE records SET tags = '[]' WHERE seq = 1",
    "metadata": "UPDATE records SET metadata = '{}' WHERE seq = 1",
    "user": """UPDATE records SET "user" = 'ben' WHERE seq = 1""",
    "salt": "UPDATE records SET salt = (SELECT salt FROM records WHERE seq = 4) WHERE seq = 1",
    "gone": "DELETE FROM records WHERE seq = 4",
    "body": "UPDATE events SET body = replace(body, 'remember', 'imagined') WHERE seq = 1",
    "hash": "UPDATE events SET hash = (SELECT hash FROM events WHERE seq = 2) WHERE seq = 1",
    "hole": "DELETE FROM events WHERE seq = 2",
    "note": "UPDATE notes SET body = replace(body, 'wrong', 'right')",
    "grant": "UPDATE grants SET agent = 'aegis'",
    "tag": "DELETE FROM tags",
    "link": "DELETE FROM links",
    "archive": "UPDATE archived SET line = line + 1",
    "erased": "DELETE FROM erased",
}


def proposed(handle: Memory, value: str) -> str:
    said = handle.remember(f"I like {value}")
    return handle.propose_profile("drink", value, "said so", [said.id]).id


class Deciding:
    """What people decide holds, can be taken back, and is told."""

    def test_every_change_is_in_the_trail(self, op: Operator) -> None:
        """P4: one event a change, with before and after; and all of it verifies."""
        record = op.remember("x")
        move(op, record.id, state=State.TOMBSTONED)
        made, moved = op.history(record.id)
        assert (made.action, made.changes[0].after["state"]) == ("remember", "active")
        assert (moved.changes[0].before["state"], moved.changes[0].after["state"]) == (
            "active",
            "tombstoned",
        )
        assert [event.seq for event in op.audit_log()] == [2, 1]
        assert verified(op)

    def test_a_head_fixes_what_was(self, op: Operator) -> None:
        """P4: a head that was kept fits later; one of another history does not."""
        op.remember("x")
        head = op.audit_head()
        op.remember("y")
        assert all(report.ok for report in op.audit_verify(head).values())
        forged = {**head, "events": {"seq": 1, "hash": "0" * 64}}
        assert not op.audit_verify(forged)["events"].ok

    def test_reads_are_told(self, op: Operator) -> None:
        """P4: who read what is in a trail of its own."""
        record = op.remember("tea")
        op.get(record.id)
        op.search("tea")
        assert [read.action for read in op.audit_reads()][:2] == ["search", "get"]

    @pytest.mark.parametrize("how", ALTERED)
    def test_altered_rows_are_noticed(
        self, desk: Desk, op: Operator, alter: Alter, how: str
    ) -> None:
        """P4: rows that were changed behind our back, wherever, are found by a check."""
        desk.agent("milton", store_id="6" * 32)
        first = op.remember("tea", tags=["x"], metadata={"city": "Porto"})
        second = op.remember("coffee", evidence=[first.id], importance=0.1)
        op.grant("milton", tag="x")
        op.forget(second.id, "wrong")
        op.prune(layers=["short_term"], importance_below=0.2, states=["tombstoned"])
        op.erase(op.remember("gone for good").id)
        op.remember("more", tags=["x"], evidence=[first.id])
        assert verified(op)
        alter(ALTERED[how])
        assert not verified(op)

    def test_a_proposal_is_confirmed_once(self, mem: Memory, op: Operator) -> None:
        """V1, V5: it waits, is confirmed with lineage, and another for the same key
        is stale then."""
        first = op.confirm(proposed(mem, "tea"))
        one, other = proposed(mem, "coffee"), proposed(mem, "water")
        assert {waiting.record.id for waiting in op.proposals()} == {one, other}
        now = op.confirm(one, "she changed her mind")
        before = op.get(first.id)
        assert (before.state, before.superseded_by, now.supersedes) == (
            State.SUPERSEDED,
            now.id,
            (first.id,),
        )
        with pytest.raises(Conflict, match="propose it again"):
            op.confirm(other)
        assert op.user_profile().preferences["drink"] == "coffee"
        assert verified(op)

    def test_what_was_rejected_stays_out(self, mem: Memory, op: Operator) -> None:
        """V6: the same value does not come back until a person lets it in again."""
        rejected = proposed(mem, "tea")
        op.reject(rejected, "not so")
        with pytest.raises(Refused, match="rejected"):
            proposed(mem, "Tea")
        op.lift(rejected, "it is so")
        assert op.get(proposed(mem, "tea")).state is State.CONSTRAINED

    def test_a_rollback_and_its_undoing(self, mem: Memory, op: Operator) -> None:
        """V4: the predecessor is active again, and then it is not."""
        op.confirm(proposed(mem, "tea"))
        second = op.confirm(proposed(mem, "coffee"))
        op.rollback(second.id, "wrong")
        assert op.user_profile().preferences["drink"] == "tea"
        op.undo(op.audit_log(1)[0].seq)
        assert op.user_profile().preferences["drink"] == "coffee"
        assert verified(op)

    def test_correcting_keeps_what_was(self, op: Operator) -> None:
        """V5: the new record leads to the old one and back; searches find the new one alone."""
        old = op.remember("Ana lives in Porto", layer="semantic", metadata=CONTRACTS["semantic"])
        new = op.correct(old.id, "Ana lives in Lisbon", "she moved")
        assert (op.get(old.id).superseded_by, new.supersedes) == (new.id, (old.id,))
        assert contents(op.search("where does Ana live")) == ["Ana lives in Lisbon"]
        op.undo(op.audit_log(1)[0].seq)
        assert contents(op.search("where does Ana live")) == ["Ana lives in Porto"]

    def test_forgetting_hides_and_undo_brings_back(self, op: Operator) -> None:
        """V5: what is forgotten is found by nobody, until it is undone."""
        record = op.remember("tea")
        op.forget(record.id, "no")
        assert (op.list(), len(op.search("tea")), op.get(record.id).state) == (
            [],
            0,
            State.TOMBSTONED,
        )
        op.undo(op.audit_log(1)[0].seq)
        assert op.list() == [op.get(record.id)]
        assert op.get(record.id).state is State.ACTIVE

    def test_a_source_is_revoked_with_what_rests_on_it(self, op: Operator) -> None:
        """V7: all that came from a source, and what was derived from that, waits for
        a person again."""
        page = op.remember("a page", source="web:x")
        derived = op.remember("so it is", evidence=[page.id])
        other = op.remember("something else", source="web:y")
        assert {record.id for record in op.revoke("web:x", "hacked")} == {page.id, derived.id}
        assert op.list() == [op.get(other.id)]
        assert op.revoke("nowhere", "why") == []

    def test_an_erased_record_is_a_stub(self, op: Operator) -> None:
        """P5: its id still answers and nothing that it said; its words find nothing, and
        the trail verifies."""
        gone = op.remember("Ana has diabetes", tags=["health"], metadata={"since": "May"}, key="k")
        kept = op.remember("Ana has a cat", evidence=[op.remember("she said so").id])
        certificate = op.erase(gone.id, reason="request 17")
        stub = op.get(gone.id)
        assert (stub.content, stub.tags, stub.kind, stub.state) == (
            "[erased]",
            (),
            "erased",
            State.TOMBSTONED,
        )
        assert gone.id in certificate.records
        assert [hit.record.id for hit in op.search("diabetes health May")] == []
        assert op.get(kept.id) == kept
        assert op.erasures() == [certificate]
        assert verified(op)

    def test_what_was_derived_is_erased_too(self, mem: Memory, op: Operator) -> None:
        """P5: what a machine made of an erased record alone goes with it."""
        said = mem.remember("Ana drinks oolong")
        proposal = mem.propose_profile("drink", "oolong", "she said so", [said.id])
        assert [one["id"] for one in op.erasable(said.id)["derived"]] == [proposal.id]
        op.erase(said.id)
        assert op.get(proposal.id).kind == "erased"

    def test_a_user_is_erased(self, desk: Desk, op: Operator) -> None:
        """P5: everything of one user goes, and nothing of another."""
        for user in ("ana", "ben"):
            desk.operator(user=user).remember(f"{user} has a secret")
        op.erase(user="ana")
        assert contents(op.list()) == ["ben has a secret"]
        assert verified(op)

    def test_a_grant_covers_what_it_names(self, desk: Desk, op: Operator) -> None:
        """P3: another agent reads what was granted to it, finds it, and nothing when
        the grant ends."""
        boiler = op.remember("the boiler is old", layer="semantic", metadata=CONTRACTS["semantic"])
        other = op.remember("the cat is shy")
        milton = desk.agent("milton", store_id="6" * 32)
        with pytest.raises(NotFound):
            milton.shared("sky")
        given = op.grant("milton", layer="semantic")
        guest = milton.shared("sky")
        assert (contents(guest.list()), guest.get(boiler.id)) == (["the boiler is old"], boiler)
        assert contents(guest.search("boiler cat")) == ["the boiler is old"]
        with pytest.raises(NotFound):
            guest.get(other.id)
        op.revoke_grant(given.number)
        assert guest.list() == []
        with pytest.raises(NotFound):
            milton.shared("sky")
        assert verified(op)

    def test_a_grant_expires(self, desk: Desk, op: Operator) -> None:
        """P3: at its time it ends, also for a handle that was open."""
        op.remember("tea", tags=["x"])
        milton = desk.agent("milton", store_id="6" * 32)
        op.grant("milton", tag="x", expires=desk.clock.now + timedelta(hours=1))
        guest = milton.shared("sky")
        assert contents(guest.list()) == ["tea"]
        desk.clock.jump(timedelta(hours=1))
        assert guest.list() == []
        assert (op.grants(), len(op.grants(include_ended=True))) == ([], 1)

    def test_a_failed_decision_changes_nothing(self, op: Operator) -> None:
        """V5: what may not be decided leaves no event."""
        record = op.remember("x")
        before = size(op)
        for attempt in (
            lambda: op.confirm(record.id),
            lambda: op.reject(record.id, "no"),
            lambda: op.undo(1),
        ):
            with pytest.raises((Refused, Conflict)):
                attempt()
        assert size(op) == before
