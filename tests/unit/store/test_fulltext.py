"""The full-text index: written with its record, asked with the filter inside, made anew
from the records."""

from __future__ import annotations

import pytest

from lamina import Memory, Operator
from lamina.model.record import State
from lamina.store.tables import fulltext
from tests.conftest import TESTER, Desk, contents, move, verified


def test_a_memory_can_be_found_at_once(mem: Memory) -> None:
    """Q3: the index is written in the transaction of its record."""
    mem.remember("green tea")
    assert contents(mem.search("tea")) == ["green tea"]


def test_what_was_rolled_back_is_not_in_the_index(op: Operator) -> None:
    """Q3: no word stays behind of a record that was never stored."""

    def fail() -> None:
        with op._scope.store.change(TESTER, "test", op._scope.clock()) as transaction:
            transaction.insert([op._scope.draft({"content": "tea"})])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert op.search("tea", ranker="keyword").outcome == "nothing_relevant"
    assert fulltext.missing(op._scope.store.database.reader()) == []


def test_words_of_the_text_count_more_than_tags(mem: Memory) -> None:
    """Q3: tags are searched too, and count half."""
    mem.remember_many(
        [
            {"content": "something else", "tags": ["tea"]},
            {"content": "tea something"},
            {"content": "nothing here"},
        ]
    )
    assert contents(mem.search("tea")) == ["tea something", "something else"]


@pytest.mark.parametrize("query", ["meeting", "meetings", "MEETING", "Meets"])
def test_forms_of_a_word_are_found(mem: Memory, query: str) -> None:
    """Q3: English endings and case make no difference."""
    mem.remember("They have meetings")
    assert contents(mem.search(query)) == ["They have meetings"]


def test_the_filter_is_inside_the_query(mem: Memory) -> None:
    """Q3, R12: the limit counts what the filter lets through, so better matches outside it hide
    nothing inside."""
    mem.remember_many(
        [{"content": "tea tea tea"}] * 50
        + [{"content": "a long text that also says tea", "tags": ["x"]}]
    )
    assert contents(mem.search("tea", tags=["x"], limit=1)) == ["a long text that also says tea"]


def test_equal_matches_are_cut_the_same_way(mem: Memory) -> None:
    """Q6: among equal matches the newest come first, so that the cut is always the same."""
    made = mem.remember_many([{"content": "tea"}] * 150)
    assert [hit.record.seq for hit in mem.search("tea", limit=3)] == [
        record.seq for record in made[:-4:-1]
    ]


def test_hidden_records_stay_in_the_index_and_out_of_sight(op: Operator) -> None:
    """R3, Q3: a tombstoned memory is found only by who asks for its state."""
    record = op.remember("tea")
    move(op, record.id, state=State.TOMBSTONED)
    assert contents(op.search("tea")) == []
    assert contents(op.search("tea", states=["tombstoned"])) == ["tea"]


def test_the_index_is_made_anew_from_the_records(desk: Desk, op: Operator) -> None:
    """Q3: rebuilding gives the same answers, and the trail says that it was done."""
    op.remember_many([{"content": f"tea {n}", "tags": ["猫の手"]} for n in range(20)])
    op.run("tea")
    before = [hit.to_dict() for hit in op.search("tea 猫の手")]
    with op._scope.store.database.atomic() as transaction:
        transaction.cursor.execute("INSERT INTO words (words) VALUES ('delete-all')")
    assert len(fulltext.missing(op._scope.store.database.reader())) == 21
    op.close()
    op = desk.operator()
    assert desk.agent().search("tea", ranker="keyword").outcome == "nothing_relevant"
    op.reindex()
    after = [hit.to_dict() for hit in op.search("tea 猫の手")]
    assert [hit["record"] for hit in after] == [hit["record"] for hit in before]
    assert fulltext.missing(op._scope.store.database.reader()) == []
    assert op.audit_log(1)[0].action == "reindex"
    assert verified(op)
