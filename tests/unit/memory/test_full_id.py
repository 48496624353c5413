"""Parts of ids: the beginning or the end of one stands for it, among what a handle may see."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lamina import InvalidInput, Memory, NotFound, Operator
from lamina.errors import no_record
from tests.cases import every
from tests.conftest import Desk, Ticking


@pytest.mark.parametrize("length", [6, 12, 16, 25])
def test_both_ends_stand_for_the_id(mem: Memory, clock: Ticking, length: int) -> None:
    """H1: six characters of either end are enough where they are the only ones, and so are more."""
    first = mem.remember("Ana likes tea")
    clock.jump(timedelta(days=1))
    mem.remember("Ben likes coffee")
    assert mem.full_id(first.id[:length]) == mem.full_id(first.id[-length:]) == first.id


def test_ends_differ_within_one_moment(desk: Desk) -> None:
    """H1: ids of one moment begin alike; their last six characters still tell thousands
    of them apart."""
    mem = desk.agent(clock=Ticking(step=timedelta(0)))
    made = mem.remember_many({"content": f"memory {number}"} for number in range(3000))
    assert len({record.id[:14] for record in made}) == 1
    assert len({record.id[-6:] for record in made}) == len(made)
    assert mem.full_id(made[1700].id[-6:]) == made[1700].id


def test_a_whole_id_comes_back(mem: Memory) -> None:
    """H1: whether it exists is for the verb to say that it is meant for."""
    assert mem.full_id("0" * 26) == "0" * 26


@every(
    "given", ["", "12345", "%%%%%%", "______", "no id!", "0" * 27, None, 7, b"abcdef", ["abcdef"]]
)
def test_what_is_no_part_of_an_id(mem: Memory, given: Any) -> None:
    """H1: too short, too long, a wildcard or no text: there is no such record."""
    mem.remember("Ana likes tea")
    with pytest.raises(NotFound, match="at least 6 characters"):
        mem.full_id(given)


def test_several_are_named_with_what_they_say(mem: Memory, op: Operator) -> None:
    """H1, P6, P4: what fits several is an error with some of them, bounded, without secrets, and in
    the trail of reads."""
    made = [mem.remember(f"memory {number} " + "long " * 50) for number in range(11)]
    key = mem.remember("the key is sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" * 2)
    with pytest.raises(InvalidInput, match="and others") as caught:
        mem.full_id(made[0].id[:6])
    candidates: Any = caught.value.details["candidates"]
    assert [one["id"] for one in candidates] == [
        key.id,
        *(record.id for record in reversed(made[2:])),
    ]
    assert max(len(one["content"]) for one in candidates) <= 60
    assert "aB3dE5fG7hJ9" not in caught.value.message
    mem.close()
    seen = op.audit_reads(1)[0]
    assert (seen.action, len(seen.records)) == ("full_id", 10)


def test_nobody_elses_records_count(desk: Desk) -> None:
    """P2, R12: another user's records make no part ambiguous, and are found by none; the same for
    another agent's."""
    everybody, ana, ben = desk.operator(), desk.agent(user="ana"), desk.agent(user="ben")
    hers, his, common = (
        ana.remember("Ana likes tea"),
        ben.remember("Ben likes coffee"),
        everybody.remember("it rains"),
    )
    gone = ben.remember("Ben told a secret")
    everybody.erase(gone.id)
    with pytest.raises(InvalidInput) as caught:
        ana.full_id(common.id[:7])
    candidates: Any = caught.value.details["candidates"]
    assert {one["id"] for one in candidates} == {hers.id, common.id}
    for record in (his, gone):
        with pytest.raises(NotFound) as unseen:
            ana.full_id(record.id[-8:])
        which = f"whose id begins or ends with '{record.id[-8:]}'"
        assert unseen.value.message == no_record(which).message
        assert everybody.full_id(record.id[-8:]) == record.id
    with pytest.raises(NotFound):
        desk.agent("milton").full_id(common.id[-8:])


def test_archived_erased_and_hidden_ones_count(op: Operator, clock: Ticking) -> None:
    """H1, L3, P5: what has left for the archive, was erased, was put aside or belongs to a run is
    still called by its end."""
    old, gone, hidden = (
        op.remember("an old memory"),
        op.remember("a wrong memory"),
        op.remember("a boring memory"),
    )
    clock.jump(timedelta(days=400))
    note = op.run("look around").id
    op.forget(hidden.id)
    op.erase(gone.id)
    op.prune(layers=["short_term"], older_than_days=300)
    assert op.get(old.id).archived
    for record_id in (old.id, gone.id, hidden.id, note):
        assert op.full_id(record_id[-6:]) == record_id
    with pytest.raises(InvalidInput, match="erased"):
        op.full_id(gone.id[:6])


def test_a_guest_calls_only_what_is_shared(desk: Desk) -> None:
    """P3: a part of an id finds a record that is granted, and no other of the same agent."""
    sky = desk.operator()
    shared, own = sky.remember("the boiler is old", tags=["house"]), sky.remember("Ana is ill")
    milton = desk.agent("milton")
    sky.grant("milton", tag="house")
    guest = milton.shared("sky")
    assert guest.full_id(shared.id[:6]) == guest.full_id(shared.id[-6:]) == shared.id
    with pytest.raises(NotFound):
        guest.full_id(own.id[-6:])
