"""The chain of reads: who looked at what, without touching what was looked at."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator
from lamina.errors import Corrupt, LaminaError, NotFound
from tests.conftest import Desk, digest, quietly, verified


def seen(op: Operator) -> list[tuple[str, dict[str, Any]]]:
    """Actions and notes of all reads, oldest first."""
    return [(read.action, dict(read.note)) for read in reversed(op.audit_reads(10_000))]


def test_every_read_is_in_the_trail(desk: Desk, op: Operator) -> None:
    """P4: get, list, search, history and runs are audited with time, actor, surface and
    what came back."""
    mem = desk.agent(surface="mcp")
    record = mem.remember("tea")
    mem.get(record.id)
    mem.list()
    mem.search("tea time")
    mem.history(record.id)
    mem.runs()
    mem.close()
    reads = op.audit_reads()[::-1]
    assert [read.action for read in reads] == ["get", "list", "search", "history", "runs"]
    assert [read.records for read in reads] == [(record.id,)] * 4 + [()]
    assert {(str(read.actor), read.actor.surface) for read in reads} == {("agent:sky", "mcp")}
    assert [read.at for read in reads] == sorted(read.at for read in reads)
    assert reads[2].note == {"query": "tea time"}
    assert verified(op)


def test_reads_of_some_kinds_are_found_among_others(desk: Desk, op: Operator) -> None:
    """P4: with kinds and a time only such reads come, the newest first, with their notes."""
    for text in ("tea", "bread", "milk"):
        desk.clock.jump(timedelta(days=1))
        with desk.agent() as mem:  # each leaves a link of the chain
            mem.list()
            mem.search(text)
            mem.runs()
    reads = op._scope.store.reads
    found = reads.latest(10, actions={"search"})
    assert [read.note["query"] for read in found] == ["milk", "bread", "tea"]
    assert [read.note["query"] for read in reads.latest(1, actions={"search"})] == ["milk"]
    since = desk.clock.now - timedelta(days=1, hours=1)
    assert len(reads.latest(10, since, {"search"})) == 2
    assert not reads.latest(10, actions={"forget"})


def test_a_search_without_words_is_audited_too(op: Operator) -> None:
    """P4, Q7: what was asked counts, not what was found."""
    op.search("")
    op.search("zebra")
    assert seen(op) == [("search", {"query": ""}), ("search", {"query": "zebra"})]


def test_the_user_is_in_the_note(desk: Desk, op: Operator) -> None:
    """P4, R12: whose handle it was is known, and can be erased with the query."""
    with desk.agent(user="ana") as mem:
        mem.search("tea")
    assert seen(op) == [("search", {"query": "tea", "user": "ana"})]


def test_queries_are_not_in_the_chain(desk: Desk, op: Operator) -> None:
    """P4: query texts and users are in erasable rows, the events hold salted hashes."""
    with desk.agent(user="xaver") as mem:
        mem.search("xylophone")
    op.audit_reads()
    with closing(sqlite3.connect(desk.folder() / "reads.db")) as connection:
        bodies = " ".join(body for (body,) in connection.execute("SELECT body FROM events"))
        assert "xylophone" not in bodies
        assert "xaver" not in bodies
        assert connection.execute("SELECT count(*) FROM notes").fetchone() == (1,)


def test_a_read_changes_no_byte_of_the_store(desk: Desk) -> None:
    """P4, Q6: opening, reading in every way, auditing and closing leave memory.db as it was,
    to the byte."""
    with desk.operator() as op:
        record = op.remember("tea")
    path = desk.folder() / "memory.db"
    before = digest(path)
    with desk.operator() as op:
        (
            op.get(record.id),
            op.list(),
            op.search("tea"),
            op.history(record.id),
            op.runs(),
            op.status(),
        )
        op.audit_log(), op.audit_head(), op.audit_verify()
        assert digest(path) == before
    assert digest(path) == before
    assert len(seen(desk.operator())) == 5


def test_strict_reads_are_durable_at_once(desk: Desk, op: Operator) -> None:
    """P4: with audit.reads = strict, another handle sees a read before the reader has flushed or
    closed anything."""
    strict = desk.agent(settings={"audit.reads": "strict"})
    strict.search("tea")
    assert seen(op) == [("search", {"query": "tea"})]
    strict.list()
    assert [action for action, _ in seen(op)] == ["search", "list"]


def test_buffered_reads_are_written_at_close(desk: Desk, op: Operator) -> None:
    """P4: what is buffered is in the trail once the handle is closed."""
    with desk.agent() as mem:
        for number in range(2500):
            mem.search(f"q{number}")
    assert [note["query"] for _, note in seen(op)] == [f"q{number}" for number in range(2500)]
    assert verified(op)


def test_the_newest_reads_come_first(op: Operator) -> None:
    """P4: at most as many as asked for, across the links of the chain."""
    for number in range(5):
        op.search(f"q{number}")
        op._scope.store.reads.flush()
    assert [read.note["query"] for read in op.audit_reads(3)] == ["q4", "q3", "q2"]
    assert op.audit_head()["reads"]["seq"] == 5


def test_without_reads_there_is_nothing(desk: Desk, op: Operator) -> None:
    """P4: who never read has no trail of reads, and no file for it."""
    op.remember("x")
    assert op.audit_reads() == []
    assert verified(op)
    assert not (desk.folder() / "reads.db").exists()


@pytest.mark.parametrize(
    "query",
    ["\ud800", "tea \udfff", "a\0b", "\U0010ffff", "\u202e"],
    ids=["half", "half too", "nul", "last", "bidi"],
)
def test_no_query_keeps_reads_out_of_the_trail(desk: Desk, op: Operator, query: str) -> None:
    """P4: whatever is asked, it and the reads around it are audited, and the handle
    can be closed."""
    mem = desk.agent()
    mem.search("before")
    try:
        mem.search(query)
    except LaminaError:
        query = ""
    mem.search("after")
    mem.close()
    found = [note["query"] for _, note in seen(op)]
    assert (found[0], found[-1]) == ("before", "after")
    assert len(found) == 3
    assert verified(op)


def test_a_head_from_before_the_first_read_still_fits(op: Operator) -> None:
    """P4: a head that was exported when there were no reads yet is no sign of a
    rewritten history later."""
    op.remember("x")
    head = op.audit_head()
    op.search("x")
    assert [
        problem for report in op.audit_verify(head).values() for problem in report.problems
    ] == []


def test_a_head_from_earlier_still_fits(op: Operator) -> None:
    """P4: history may grow after a head was exported."""
    op.search("x")
    head = op.audit_head()
    op.search("y")
    op.remember("z")
    assert all(report.ok for report in op.audit_verify(head).values())


TAMPERED = {
    "a changed query": ["UPDATE notes SET body = replace(body, 'tea', 'gin') WHERE event = 1"],
    "a missing query": ["DELETE FROM notes WHERE event = 1"],
    "a changed event": ["UPDATE events SET body = replace(body, 'search', 'list') WHERE seq = 1"],
    "a missing event": ["DELETE FROM notes WHERE event = 1", "DELETE FROM events WHERE seq = 1"],
    "another owner": ["UPDATE meta SET value = 'x' WHERE name = 'store_id'"],
}


@pytest.mark.parametrize("how", TAMPERED)
def test_altered_reads_are_noticed(desk: Desk, how: str) -> None:
    """P4: a read that was changed or removed breaks the chain of reads."""
    with desk.operator() as op:
        for query in ("tea", "coffee"):
            op.search(query)
            op._scope.store.reads.flush()
        assert verified(op)
    quietly(desk.folder() / "reads.db", "; ".join(TAMPERED[how]))
    report = desk.operator().audit_verify()
    assert not report["reads"].ok
    assert report["events"].ok


def test_a_trail_that_is_gone_is_noticed_with_a_head(desk: Desk) -> None:
    """P4: removing reads.db, or its end, is seen against a head that was kept elsewhere."""
    with desk.operator() as op:
        op.search("tea")
        op._scope.store.reads.flush()
        op.search("coffee")
        head = op.audit_head()
    quietly(
        desk.folder() / "reads.db",
        "DELETE FROM notes WHERE event = 2; DELETE FROM events WHERE seq = 2",
    )
    with desk.operator() as op:
        assert op.audit_verify()["reads"].ok
        assert "cut off" in op.audit_verify(head)["reads"].problems[0].message
    for name in ("reads.db", "reads.db-wal", "reads.db-shm"):
        (desk.folder() / name).unlink(missing_ok=True)
    assert "gone" in desk.operator().audit_verify(head)["reads"].problems[0].message


def foreign(desk: Desk) -> tuple[Path, str]:
    """A store with a memory, and another program's database where its reads belong."""
    desk.agent().remember("tea")
    path = desk.folder() / "reads.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    return path, digest(path)


def test_a_foreign_log_is_left_alone(desk: Desk) -> None:
    """P4: a foreign file in place of the log is refused, and is as it was, to the byte, as the
    message says."""
    path, before = foreign(desk)
    with pytest.raises(Corrupt, match="not a log of reads; it was left as it is"):
        desk.agent(settings={"audit.reads": "strict"}).search("tea")
    assert digest(path) == before


def test_reads_go_on_without_their_log(desk: Desk) -> None:
    """P4: a log that cannot be written keeps nobody from reading; the reads are kept, and the
    status says so."""
    foreign(desk)
    mem = desk.agent()
    assert len(mem.search("tea")) == 1
    mem._scope.store.reads.flush()
    assert "1 read is not audited yet" in mem.status()["problems"][0]


def test_a_failed_read_tells_nobody_what_exists(desk: Desk, op: Operator) -> None:
    """P2, P4: a read that found nothing because of its scope names no record in the trail."""
    record = desk.agent(user="ana").remember("x")
    with desk.agent(user="ben") as ben, pytest.raises(NotFound):
        ben.get(record.id)
    assert all(record.id not in read.records for read in op.audit_reads())


def test_exports_are_reads(op: Operator) -> None:
    """P4: taking everything out is a read, with the place and the number of records."""
    op.remember("x")
    target = op.export()
    assert seen(op) == [("export", {"path": str(target), "records": 1})]


def test_a_read_is_plain_json(op: Operator) -> None:
    """P4: a read shows at, action, actor, surface, records and note."""
    op.search("tea")
    (read,) = op.audit_reads()
    assert read.to_dict() == {
        "at": "2026-05-01T08:00:02.000000Z",
        "action": "search",
        "actor": str(op.actor),
        "surface": "python",
        "records": [],
        "note": {"query": "tea"},
    }
