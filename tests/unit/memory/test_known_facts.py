"""The facts of a store while a night reads them again and again."""

from __future__ import annotations

from collections.abc import Mapping

from lamina import Memory, Operator
from lamina.engines import fact_lists
from lamina.memory.known_facts import FactReader
from lamina.model.record import Record, State


def told(handle: Memory, *said: str) -> None:
    turns = [{"speaker": "Ana", "text": text} for text in said]
    handle.remember_conversation(turns, session=f"s{len(said)}")
    handle.sleep()


def test_only_what_has_changed_is_read_again(op: Operator) -> None:
    """S2, S5: a reader knows the facts as they are now, and reads each once for every change."""
    night, reader, read = op._scope.store.night, FactReader(), []

    def changed(known: Mapping[int, int]) -> tuple[dict[int, int], list[Record]]:
        versions, new = night.changed_facts(known)
        read.append({record.metadata["value"] for record in new})
        return versions, new

    def check() -> None:
        records = night.facts(tuple(State), None)
        assert reader.read(changed) == fact_lists.of_records(records)

    check()
    told(op, "I live in Porto.", "I work as a nurse.")
    check()
    check()
    told(op, "I moved to Lisbon.")
    check()
    (home,) = op.facts("Ana", "lives_in")
    op.erase(home.record, reason="asked to")
    check()
    assert [{*values} for values in read] == [
        set(),
        {"Porto", "nurse"},
        set(),
        {"Porto", "Lisbon"},
        set(),
    ]


def test_a_transaction_sees_the_same_facts(op: Operator) -> None:
    """S2: what was read before it began is not read again in it."""
    told(op, "I live in Porto.")
    store, reader = op._scope.store, FactReader()
    before = reader.read(store.night.changed_facts)
    with store.change(op._scope.actor, "sleep", op._scope.clock()) as transaction:
        assert transaction.changed_facts(reader._versions)[1] == []
        assert reader.read(transaction.changed_facts) == before
