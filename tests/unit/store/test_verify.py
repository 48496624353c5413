"""Does the store still say what was written into it?"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator
from lamina.errors import Corrupt, InvalidInput
from lamina.model.clock import EPOCH
from lamina.store.tables import records
from tests.cases import every
from tests.conftest import TESTER, Desk, move, quietly, tamper, verified

GOLDEN = Path(__file__).parents[2] / "golden" / "schema_5.db"
FIELDS = [*records.HASHED, "event", "salt"]
FORGED = {"seq": "9", "id": "'forged'", "key": "NULL"}
COPY = f"INSERT INTO records SELECT {', '.join(FORGED.get(name, name) for name in FIELDS)} FROM records WHERE seq = 1"
LAST = "(SELECT max(seq) FROM events)"

TAMPERED = {
    "content": "UPDATE records SET content = 'coffee' WHERE seq = 1",
    "importance": "UPDATE records SET importance = 0.99 WHERE seq = 1",
    "state": "UPDATE records SET state = 'tombstoned' WHERE seq = 1",
    "layer": "UPDATE records SET layer = 'profile' WHERE seq = 1",
    "trust": "UPDATE records SET trust = 'external' WHERE seq = 1",
    "user": "UPDATE records SET user = 'ben' WHERE seq = 1",
    "time": "UPDATE records SET occurred_at = occurred_at + 1 WHERE seq = 1",
    "key": "UPDATE records SET key = 'k' WHERE seq = 1",
    "tags of a record": "UPDATE records SET tags = '[]' WHERE seq = 1",
    "metadata": "UPDATE records SET metadata = '{}' WHERE seq = 1",
    "evidence": "UPDATE records SET evidence = '[]' WHERE seq = 2",
    "salt": "UPDATE records SET salt = zeroblob(16) WHERE seq = 1",
    "last event": "UPDATE records SET event = 2 WHERE seq = 1",
    "id": "UPDATE records SET id = 'x' WHERE seq = 3",
    "number": "UPDATE records SET seq = 9 WHERE seq = 3",
    "deleted record": "DELETE FROM records WHERE seq = 3",
    "forged record": COPY,
    "missing tag": "DELETE FROM tags",
    "forged tag": "INSERT INTO tags VALUES ('forged', 1)",
    "missing link": "DELETE FROM links",
    "forged link": "INSERT INTO links SELECT id, 'supersedes', 1 FROM records WHERE seq = 2",
    "changed note": "UPDATE notes SET body = '{}'",
    "missing note": "DELETE FROM notes",
    "forged note": "INSERT INTO notes SELECT 1, 0, salt, body FROM notes",
    "changed event": "UPDATE events SET body = replace(body, 'remember', 'reminder') WHERE seq = 1",
    "changed hash": "UPDATE events SET hash = zeroblob(32) WHERE seq = 1",
    "changed actor": "UPDATE events SET body = replace(body, 'operator:', 'agent:') WHERE seq = 2",
    "changed number": f"UPDATE events SET records = records + 1 WHERE seq = {LAST}",
    "deleted event": "DELETE FROM events WHERE seq = 2",
    "deleted last event": f"DELETE FROM notes; DELETE FROM events WHERE seq = {LAST}",
    "renumbered event": f"UPDATE events SET seq = 99 WHERE seq = {LAST}",
    "no events": "DELETE FROM notes; DELETE FROM events",
    "store id": "UPDATE meta SET value = 'x' WHERE name = 'store_id'",
    "text that is bytes": "UPDATE records SET content = CAST(x'ff61' AS TEXT) WHERE seq = 1",
    "note that is bytes": "UPDATE notes SET body = CAST(x'ff61' AS TEXT)",
    "tags that are no JSON": "UPDATE records SET tags = 'x' WHERE seq = 1",
    "evidence that is no JSON": "UPDATE records SET evidence = '{' WHERE seq = 2",
    "event in another form": "UPDATE events SET body = body || ' ' WHERE seq = 1",
}
SCHEMA = {
    "dropped trigger": "DROP TRIGGER events_stay",
    "dropped view": "DROP VIEW facts",
    "another view": "DROP VIEW facts; CREATE VIEW facts AS SELECT 1 AS id",
    "added trigger": "CREATE TRIGGER spy AFTER INSERT ON records BEGIN SELECT 1; END",
    "added table": "CREATE TABLE spy (x)",
    "dropped index": "DROP INDEX records_by_key",
}


def fill(op: Operator) -> None:
    first = op.remember("tea", tags=["a"], metadata={"n": 1}, importance=0.5)
    op.remember("derived", evidence=[first.id])
    op.remember("third")
    with op._scope.store.change(
        TESTER, "test", op._scope.clock(), note={"reason": "why"}, details={"n": 1}
    ):
        pass
    move(op, first.id, importance=0.6)


def test_an_honest_store_verifies(op: Operator) -> None:
    """P4: what was only written through Lamina verifies, with its numbers and its head."""
    fill(op)
    report = op.audit_verify()["events"]
    assert (report.ok, report.events, report.records) == (True, 5, 3)
    assert report.head == op.audit_head()["events"]["hash"]
    assert report.to_dict()["ok"] is True


@every("how", TAMPERED)
def test_altered_rows_are_noticed(desk: Desk, how: str) -> None:
    """P4: a change of any row behind our back is reported with its place, and never a crash."""
    with desk.operator() as op:
        fill(op)
    quietly(desk.folder() / "memory.db", TAMPERED[how])
    report = desk.operator().audit_verify()["events"]
    assert not report.ok
    assert report.problems[0].place
    assert not [problem for problem in report.problems if "schema" in problem.place]


@pytest.mark.parametrize("how", SCHEMA)
def test_an_altered_schema_is_noticed(desk: Desk, how: str) -> None:
    """P4: a trigger, table, view or index that we did not make, or that is gone, is reported."""
    with desk.operator() as op:
        fill(op)
    tamper(desk.folder() / "memory.db", SCHEMA[how])
    report = desk.operator().audit_verify()["events"]
    assert ["schema" in problem.place for problem in report.problems] == [True]


def test_a_cut_off_end_is_noticed_with_a_head(desk: Desk) -> None:
    """P4: an end that touched no record can be cut off unseen, but not against a head that
    was kept elsewhere."""
    with desk.operator() as op:
        op.remember("x")
        with op._scope.store.change(TESTER, "test", op._scope.clock(), details={"n": 1}):
            pass
        head = op.audit_head()
    quietly(desk.folder() / "memory.db", "DELETE FROM events WHERE seq = 2")
    op = desk.operator()
    assert op.audit_verify()["events"].ok
    assert "cut off" in op.audit_verify(head)["events"].problems[0].message


def test_a_rewritten_history_is_noticed_with_a_head(desk: Desk, tmp_path: Path) -> None:
    """P4: a whole other history under the same store id verifies by itself, but not
    against the head."""
    op = desk.operator()
    op.remember("what really happened")
    head = op.audit_head()
    with Desk(tmp_path / "other") as other:
        forged = other.operator()
        forged.remember("what should have happened")
        assert verified(forged)
        assert "rewritten" in forged.audit_verify(head)["events"].problems[0].message
    assert all(report.ok for report in op.audit_verify(head).values())


def test_a_head_of_another_store_says_so(desk: Desk, tmp_path: Path) -> None:
    """P4: an exchanged store is noticed by its id."""
    head = desk.operator().audit_head()
    with Desk(tmp_path / "other") as other, pytest.raises(Corrupt, match="exchanged"):
        other.operator(store_id="6" * 32).audit_verify(head)


HEADS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no events": lambda head: head.pop("events"),
    "no store": lambda head: head.pop("store"),
    "no number": lambda head: head["reads"].pop("seq"),
    "a word": lambda head: head["events"].update(seq="many"),
    "a huge number": lambda head: head["events"].update(seq=10**30),
    "infinity": lambda head: head["reads"].update(seq=math.inf),
    "a list": lambda head: head.update(events=[]),
    "nothing": lambda head: head.update(events=None),
}


@pytest.mark.parametrize("how", HEADS)
def test_what_is_no_head_is_an_error(op: Operator, how: str) -> None:
    """P4, I: a head in another form is a typed error, not a store that passes."""
    op.remember("x")
    head = op.audit_head()
    HEADS[how](head)
    with pytest.raises(InvalidInput, match="not a head"):
        op.audit_verify(head)


def test_verification_tells_how_far_it_is(op: Operator) -> None:
    """P4: progress ends with everything done."""
    op.remember_many([{"content": str(n)} for n in range(1500)])
    told: list[tuple[int, int]] = []
    op.audit_verify(progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (1503, 1503)


def test_problems_are_shown_up_to_a_number(desk: Desk) -> None:
    """P4: a store that is altered everywhere is reported in a readable length."""
    with desk.operator() as op:
        op.remember_many([{"content": str(n)} for n in range(100)])
    quietly(desk.folder() / "memory.db", "UPDATE records SET content = 'x'")
    report = desk.operator().audit_verify()["events"]
    assert 1 < len(report.problems) <= 20


def test_counters_and_marks_survive_an_export(desk: Desk, tmp_path: Path) -> None:
    """H5, V7: how much was proposed today and how far sleep has read come along, since events tell
    of both."""
    agent, op = desk.agent(), desk.operator()
    said = agent.remember_conversation(
        [{"speaker": "Ana", "text": "I live in Rome."}], session="s1"
    )
    agent.propose_profile("town", "Rome", "said so", [said[0].id])
    op.sleep()
    allowed, marks = (
        op._scope.store.rejections.allowance(desk.clock.now),
        op._scope.store.night.slept(),
    )
    assert marks.seq > 0
    export = op.export(tmp_path / "all.json")
    with Desk(tmp_path / "new", desk.clock) as other:
        new = other.operator()
        new.import_(export, trust=True)
        assert verified(new)
        assert (
            new._scope.store.rejections.allowance(desk.clock.now),
            new._scope.store.night.slept(),
        ) == (
            allowed,
            marks,
        )


def test_what_older_versions_did_not_tell_is_uncovered(desk: Desk) -> None:
    """B1: counters of a store that an older version wrote verify, and are listed as not covered
    until they change."""
    desk.folder("golden").mkdir(parents=True)
    shutil.copyfile(GOLDEN, desk.folder("golden") / "memory.db")
    op = desk.operator("golden")
    report = op.audit_verify()["events"]
    assert report.ok
    (place,) = [
        part["place"]
        for part in report.to_dict()["uncovered"]
        if part["place"].startswith("proposals of day")
    ]
    desk.clock.set(EPOCH + timedelta(days=int(place.split()[-1]), hours=1))
    agent = desk.agent("golden")
    agent.propose_profile("lake", "Como", "said so", [agent.remember("she swims").id])
    after = op.audit_verify()["events"]
    assert after.ok
    assert place not in [part.place for part in after.uncovered]


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("UPDATE proposed SET number = 0", "proposals of day"),
        ("UPDATE slept SET seq = seq + 1", "how far sleep has read"),
    ],
)
def test_an_altered_counter_stays_visible_when_it_goes_on(
    desk: Desk, statement: str, place: str
) -> None:
    """P4, V7: the next event does not hide that a counter was altered before it: it does not follow
    from the one before."""
    agent, op = desk.agent(), desk.operator()

    def happen(town: str) -> None:
        said = agent.remember_conversation(
            [{"speaker": "Ana", "text": f"I live in {town}."}], session=town
        )
        agent.propose_profile("town", town, "said so", [said[0].id])
        op.sleep()

    happen("Rome")
    assert op.audit_verify()["events"].uncovered == ()
    quietly(desk.folder() / "memory.db", statement)
    assert op.audit_verify()["events"].problems[0].place.startswith(place)
    happen("Oslo")
    report = op.audit_verify()["events"]
    assert report.ok
    assert [part.place.startswith(place) for part in report.uncovered] == [True]
