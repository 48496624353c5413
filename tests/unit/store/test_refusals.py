"""Promises about refusals in the trail: each is there, a flood is counted, nothing is lost."""

from __future__ import annotations

from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory, Operator, Refused
from lamina.model.record import Actor, Role
from lamina.store.tables.refusals import MOST_COUNTED, SINGLE, WINDOW, Counter, Refusal, Waiting
from tests.conftest import START, Desk, digest, quietly, verified

AGENT = Actor(Role.AGENT, "sky", "python")
FLOOD = 10_000


def refused(at: timedelta = timedelta(0), verb: str = "confirm", **more: Any) -> Refusal:
    return Refusal(START + at, AGENT, verb, "operator", **more)


def attempt(mem: Memory, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(Refused):
            mem.remember("written into the profile", layer="profile")


attempts = st.lists(
    st.tuples(st.sampled_from(["confirm", "erase", "grant"]), st.integers(-4000, 4000)),
    max_size=200,
)


@given(attempts)
def test_every_attempt_is_counted_once(tried: list[tuple[str, int]]) -> None:
    """P4: whatever is tried, and however the clock goes, entries and open counts add up to the
    number of attempts, and no more than half of a count waits for its entry."""
    counter, now = Counter(), timedelta(0)
    written: list[Refusal] = []
    for verb, seconds in tried:
        now += timedelta(seconds=seconds)
        written += counter.due([refused(now, verb)])
        for tally in counter.tallies:
            assert tally.waiting * 2 <= max(tally.total, 1)
            assert tally.total > SINGLE or not tally.waiting
    for verb in ("confirm", "erase", "grant"):
        counted = sum(one.count for one in written if one.verb == verb)
        waiting = sum(tally.waiting for tally in counter.tallies if tally.verb == verb)
        assert counted + waiting == sum(one == verb for one, _ in tried)


def test_a_flood_is_counted() -> None:
    """P4: the first have an entry each; after that there is one whenever the number doubles."""
    counter = Counter()
    written = [*counter.due(refused() for _ in range(FLOOD))]
    assert [one.count for one in written[:SINGLE]] == [1] * SINGLE
    assert [one.count for one in written[SINGLE:]] == [10 * 2**n for n in range(9)]
    (tally,) = counter.tallies
    assert sum(one.count for one in written) + tally.waiting == FLOOD


def test_a_window_ends_with_its_count() -> None:
    """P4: after an hour what is left of a count is written, and the next attempt has an entry."""
    counter = Counter()
    before = [*counter.due(refused(timedelta(seconds=n)) for n in range(15))]
    last, first = counter.due([refused(WINDOW)])
    assert len(before) == SINGLE
    assert (last.count, last.at, last.since) == (
        5,
        START + timedelta(seconds=14),
        START + timedelta(seconds=10),
    )
    assert first == refused(WINDOW)


def test_kinds_of_attempts_are_bounded() -> None:
    """P4: whoever tries ever new things fills no memory, and is counted all the same."""
    counter = Counter()
    written = [*counter.due(refused(verb=f"verb {n}") for n in range(MOST_COUNTED + 50))]
    assert len(written) == MOST_COUNTED + 50
    assert len(counter.tallies) == MOST_COUNTED


def test_what_waits_takes_little_room() -> None:
    """P4: a flood that cannot be written now is kept as a few numbers."""
    waiting = Waiting()
    for n in range(FLOOD):
        waiting.add(refused(timedelta(seconds=n), records=(f"{n:026}",)))
    kept = [*waiting]
    assert len(kept) == SINGLE
    assert sum(one.count for one in kept) == FLOOD
    assert len(kept[-1].records) <= 20


def test_a_flood_of_calls_leaves_few_entries(desk: Desk, mem: Memory, op: Operator) -> None:
    """P4: 10,000 refused calls are in the trail with their number, in few links; the store is
    unchanged to the byte, and both chains hold."""
    mem.remember("tea")
    before = {path.name: digest(path) for path in desk.folder().glob("memory.db*")}
    attempt(mem, FLOOD)
    mem._scope.resilient.reads.flush()
    assert {path.name: digest(path) for path in desk.folder().glob("memory.db*")} == before
    found = op.audit_refusals(1000)
    assert sum(one.count for one in found) == FLOOD
    assert len(found) < 100  # the clock of the tests moves on by hours meanwhile
    assert op.audit_head()["reads"]["seq"] < 100
    assert {(one.verb, one.lacks, str(one.actor)) for one in found} == {
        ("remember", "operator", "agent:sky")
    }
    assert op.status()["refused"]["attempts"] == FLOOD
    assert verified(op)


def test_processes_count_together(desk: Desk, op: Operator) -> None:
    """P4: many short handles, as of the command line, are one flood."""
    for _ in range(40):
        with desk.agent() as mem:
            attempt(mem)
    found = op.audit_refusals(1000)
    assert sum(one.count for one in found) == 40
    assert op.audit_head()["reads"]["seq"] == SINGLE + 2


def test_an_attempt_is_durable_when_the_error_is_raised(desk: Desk, mem: Memory) -> None:
    """P4: another process sees it at once; nothing has to be closed for that."""
    attempt(mem)
    (seen,) = desk.operator().audit_refusals()
    assert (seen.verb, seen.count) == ("remember", 1)


def test_records_are_named_and_nothing_else(desk: Desk, mem: Memory, op: Operator) -> None:
    """P4, P2: the ids of visible records are in the entry; texts, other ids and what is another
    user's are not."""
    own, hers = mem.remember("my secret tea"), desk.agent(user="ana").remember("hers")
    ben = desk.agent(user="ben")
    for said in ([own.id, hers.id, "0" * 26], ["./my secret tea.md"]):
        with pytest.raises(Refused):
            ben.remember("content", layer="profile", evidence=said)
    texts, named = [one.to_dict() for one in op.audit_refusals()]
    assert (named["records"], texts["records"]) == ([own.id], [])
    assert "secret" not in repr([texts, named])
    raw = b"".join(path.read_bytes() for path in desk.folder().glob("reads.db*"))
    assert b"secret" not in raw


def test_reads_and_refusals_are_two_lists(mem: Memory, op: Operator) -> None:
    """P4: the list of reads has no refusals, and the other way round."""
    attempt(mem)
    op.list()
    assert [read.action for read in op.audit_reads()] == ["list"]
    assert [one.verb for one in op.audit_refusals()] == ["remember"]


TAMPERED = {
    "hidden": "UPDATE meta SET value = json_set(value, '$.last', 0) WHERE name = 'refusals'",
    "removed": "DELETE FROM meta WHERE name = 'refusals'",
    "nonsense": "UPDATE meta SET value = '[' WHERE name = 'refusals'",
    "altered": """UPDATE events SET body = replace(body, '"remember"', '"list"')""",
    "cut off": "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)",
}


@pytest.mark.parametrize("how", TAMPERED)
def test_nobody_hides_a_refusal(desk: Desk, mem: Memory, op: Operator, how: str) -> None:
    """P4: what hides or alters a refusal is noticed by `audit verify`."""
    attempt(mem, 3)
    mem.close()
    assert verified(op)
    quietly(desk.folder() / "reads.db", TAMPERED[how])
    assert not op.audit_verify()["reads"].ok


def test_a_trail_that_cannot_be_written_refuses_all_the_same(
    desk: Desk, mem: Memory, op: Operator
) -> None:
    """P4, V7: while reads.db is locked the caller is refused as ever and the status says why the
    attempt is not in the trail; it is written when that is possible again."""
    mem.close()
    mem = desk.agent(settings={"store.busy_timeout_ms": 1})
    op.list()
    op._scope.resilient.reads.flush()
    with closing(apsw.Connection(str(desk.folder() / "reads.db"))) as locked:
        locked.execute("BEGIN IMMEDIATE")
        attempt(mem, 3)
        (problem,) = mem.problems
        assert "3 refusals are not audited yet" in problem
        assert op.audit_refusals() == []
        locked.execute("ROLLBACK")
    attempt(mem)
    assert [one.count for one in op.audit_refusals()] == [1] * 4
    assert mem.problems == []


def test_a_damaged_trail_refuses_all_the_same(desk: Desk) -> None:
    """P4, V7: nor does a damaged reads.db turn a refusal into anything else."""
    with desk.agent() as mem:
        mem.remember("tea")
    (desk.folder() / "reads.db").write_bytes(b"damaged" * 1000)
    again = desk.agent()
    attempt(again, 2)
    assert [record.content for record in again.list()] == ["tea"]
    with suppress(Exception):
        again.close()


def test_a_program_that_breaks_leaves_the_refusal(
    mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V7: whatever goes wrong while the attempt is noted, the caller sees why it was refused."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    with monkeypatch.context() as broken:
        broken.setattr(mem._scope.resilient.reads, "flush", fail)
        attempt(mem)


def test_an_agent_without_a_memory_has_no_trail(tmp_path: Path) -> None:
    """P2, P4: the log of violations takes what is tried before there is a memory; no folder is
    made, and no file that would look like the rest of a lost store."""
    from lamina.home.folder import Home
    from lamina.memory.refusals import leave_once

    home = Home(tmp_path / "home")
    home.path.mkdir(mode=0o700)
    for agent in ("sky", "../sky"):
        leave_once(home, agent, refused(verb="key set"))
    assert [entry.attempt for entry in home.read_violations(5).entries] == [
        "key set without operator"
    ] * 2
    assert [path.name for path in home.path.iterdir()] == ["violations.jsonl"]
