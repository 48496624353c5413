"""The chain: what an event holds, and what it must not hold."""

from __future__ import annotations

import pytest

from lamina import Operator
from lamina.errors import LaminaError
from lamina.model import hashing
from lamina.model.record import State
from lamina.store.tables import events, records
from tests.conftest import TESTER, Desk, move, size, verified

SECRET = "xylophone"


def test_each_event_hangs_on_the_one_before(op: Operator) -> None:
    """P4: the hash of an event follows from its text and the hash before it, from the store's
    identity on."""
    for number in range(5):
        op.remember(f"m {number}")
    last = hashing.chain_seed(op._scope.store.id, "sky", "events")
    for body, digest in events.bodies(op._scope.store.database.reader()):
        last = hashing.chain_hash(last, body.encode())
        assert digest == last
    assert op.audit_head()["events"] == {"seq": 5, "hash": last.hex()}


def test_no_text_of_a_memory_is_in_the_chain(op: Operator) -> None:
    """P4: events hold hashes and open fields; content, tags, metadata, keys and speakers are
    not in them."""
    given = {
        "tags": [SECRET],
        "metadata": {SECRET: SECRET},
        "source": SECRET,
        "speaker": SECRET,
        "session": SECRET,
        "key": SECRET,
    }
    record = op.remember(SECRET, **given)  # type: ignore[arg-type]
    move(op, record.id, importance=0.1)
    op.run(SECRET).note(SECRET)
    assert not [
        body for body, _ in events.bodies(op._scope.store.database.reader()) if SECRET in body
    ]


def test_a_note_is_kept_beside_its_event(op: Operator) -> None:
    """P4, V5: a reason is in a row of its own that can be erased; the event holds
    its salted hash."""
    with op._scope.store.change(
        TESTER, "test", op._scope.clock(), note={"reason": SECRET}, details={"n": 1}
    ):
        pass
    (event,) = op.audit_log()
    assert (event.reason, event.details, event.changes) == (SECRET, {"n": 1}, ())
    ((number, position, salt, body),) = events.notes(op._scope.store.database.reader())
    ((text, _),) = events.bodies(op._scope.store.database.reader())
    assert (number, position, hashing.decode(body)) == (1, 0, {"reason": SECRET})
    assert len(hashing.decode(text)["notes"]) == 1
    assert SECRET not in text
    assert len(salt) == 16
    assert verified(op)


def test_the_same_text_has_another_hash_each_time(op: Operator) -> None:
    """P4: a hash says nothing about its text to whoever has no salt."""
    op.remember_many([{"content": "same"}, {"content": "same"}])
    hashes = [change.hash for event in op.audit_log() for change in event.changes]
    assert len(set(hashes)) == 2


def test_a_failed_change_leaves_no_event(op: Operator) -> None:
    """P4: what is rolled back was never said: the event is in the same transaction as the rows."""
    record = op.remember("x")
    before = size(op)

    def fail() -> None:
        with op._scope.store.change(
            TESTER, "test", op._scope.clock(), note={"reason": "r"}
        ) as transaction:
            row = records.by_id(transaction.db, record.id)
            assert row is not None
            transaction.update(row, state=State.TOMBSTONED)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert size(op) == before
    assert op.get(record.id) == record
    assert op.remember("y").seq == 2
    assert verified(op)


def test_a_change_of_nothing_is_no_event(op: Operator) -> None:
    """P4: a transaction that did nothing leaves no trace."""
    with op._scope.store.change(TESTER, "test", op._scope.clock()):
        pass
    assert size(op) == (0, 0)


def test_a_record_changed_twice_in_one_event(op: Operator) -> None:
    """P4: two changes of one record in one transaction follow each other, and
    history tells both."""
    record = op.remember("x", importance=0.1)
    with op._scope.store.change(TESTER, "test", op._scope.clock()) as transaction:
        for importance in (0.2, 0.3):
            row = records.by_id(transaction.db, record.id)
            assert row is not None
            transaction.update(row, importance=importance)
    _, event = op.history(record.id)
    assert [
        (change.before["importance"], change.after["importance"]) for change in event.changes
    ] == [(0.1, 0.2), (0.2, 0.3)]
    assert verified(op)


def test_many_changes_are_several_events(op: Operator) -> None:
    """P4: an event has a bounded size; a large transaction writes several, each with the note, and
    all of them or none."""
    made = op.remember_many([{"content": str(n)} for n in range(3)])
    with op._scope.store.change(
        TESTER, "test", op._scope.clock(), note={"reason": "r"}
    ) as transaction:
        for _ in range(334):
            for record in made:
                row = records.by_id(transaction.db, record.id)
                assert row is not None
                transaction.update(row, importance=0.9)
    assert [len(event.changes) for event in op.audit_log()] == [2, 500, 500, 3]
    assert [event.reason for event in op.audit_log()] == ["r", "r", "r", None]
    assert verified(op)


def test_the_log_is_newest_first_and_bounded(op: Operator) -> None:
    """P4: audit_log returns the newest first and at most as many as asked for."""
    for number in range(5):
        op.remember(str(number))
    assert [event.seq for event in op.audit_log(2)] == [5, 4]
    with pytest.raises(LaminaError):
        op.audit_log(0)


def test_every_handle_writes_the_same_chain(desk: Desk) -> None:
    """P4: agents and operators, of every user, write one chain per store."""
    op, mem, ana = desk.operator(), desk.agent(), desk.agent(user="ana")
    for handle in (op, mem, ana, op):
        handle.remember("x")
    assert [event.actor.partition(":")[0] for event in op.audit_log()] == [
        "operator",
        "agent",
        "agent",
        "operator",
    ]
    assert verified(op)
