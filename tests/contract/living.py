"""Promises of every store about memories that move by themselves: runs, promotion, archive, sleep,
jobs, mirrors."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory, Operator
from lamina.errors import NotFound
from lamina.model.record import Layer, State
from lamina.store.tables import jobs, outbox
from lamina.store.tables.outbox import Position
from lamina.store.upkeep import inspection
from tests.cases import check_all
from tests.conftest import Desk, contents, move, size, verified

MINUTE = timedelta(minutes=1)
FORMAT = Path(__file__).parents[2] / "docs" / "format.md"
ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \| .*; derived \|$", re.MULTILINE)


def derived_tables() -> list[str]:
    """List the tables that docs/format.md calls derived."""
    section = FORMAT.read_text("utf-8").split("## memory.db")[1].split("\n## ")[0]
    return [name for names in ROW.findall(section) for name in re.findall(r"\w+", names)]


def unsound(handle: Memory) -> list[inspection.Finding]:
    """List what doctor would say about a store that is not as it should be."""
    scope = handle._scope
    found = inspection.inspect(scope.resilient.folder, scope.agent, scope.settings)
    return [finding for finding in found if finding[0] != "ok"]


def talk(handle: Memory, session: str, *said: str) -> list[str]:
    turns = [{"speaker": "Ana", "text": text} for text in said]
    return [record.id for record in handle.remember_conversation(turns, session=session)]


class Living:
    """What happens to memories without anybody asking."""

    def test_runs_survive_their_process(self, desk: Desk, op: Operator) -> None:
        """L10: an open run is found by the next handle, and closing it hides its notes."""
        op.run("task").note("note")
        (run,) = desk.operator().runs()
        ending = run.close("done")
        assert ending is not None
        assert [op.get(item).state for item in ending.evidence] == [State.TOMBSTONED] * 2
        assert op.runs() == []

    def test_working_memory_is_not_found_by_others(self, op: Operator) -> None:
        """L10: notes of a run are in no list and in no search that does not ask for them."""
        op.run("task").note("a note about tea")
        assert (op.list(), len(op.search("tea"))) == ([], 0)
        assert len(op.list(layers=["working"])) == 2

    def test_promotion_moves_what_deserves_it(self, op: Operator) -> None:
        """L2: it leaves short-term memory for the layer of its kind; the rest stays."""
        made = op.remember("tea", kind="fact", importance=0.7, tags=["drink"], key="k")
        op.remember("noise", importance=0.1)
        assert op.run_once()["promoted"] == 1
        moved = op.get(made.id)
        assert (moved.layer, moved.promoted_at) == (Layer.SEMANTIC, moved.updated_at)
        assert contents(op.list(layers=["short_term"])) == ["noise"]
        assert op.remember("tea", key="k").id == made.id
        assert verified(op)

    def test_a_person_promotes_one(self, op: Operator) -> None:
        """L2: promoted by hand, one memory goes to the layer of its kind whatever its importance,
        in one event, and the others stay."""
        fact = op.remember("the boiler is old", kind="fact", importance=0.1)
        op.remember("the boiler hums", importance=0.1)
        moved = op.promote(fact.id)
        assert (moved.layer, moved.promoted_at) == (Layer.SEMANTIC, moved.updated_at)
        assert contents(op.list(layers=["short_term"])) == ["the boiler hums"]
        assert [event.action for event in op.history(fact.id)] == ["remember", "promote"]
        assert contents(op.recall_similar("boiler", top_k=1)) == ["the boiler is old"]

    def test_what_is_archived_is_still_there(self, op: Operator) -> None:
        """L4: it leaves the lists and the searches, its id and its key still lead to it, and the
        archive is searched."""
        made = [
            op.remember(f"tea {n}", key=f"k{n}", tags=["old"], importance=0.2) for n in range(3)
        ]
        op.remember("tea today")
        assert op.prune(tags=["old"]) == {"pruned": 3, "dry_run": False}
        assert contents(op.list()) == contents(op.search("tea")) == ["tea today"]
        assert [op.get(record.id).content for record in made] == ["tea 0", "tea 1", "tea 2"]
        assert op.remember("tea 0", key="k0").id == made[0].id
        assert {record.id for record in op.search_archive("tea")} == {record.id for record in made}
        assert op.status()["archived"] == 3
        assert verified(op)

    def test_what_was_archived_comes_back(self, desk: Desk, op: Operator) -> None:
        """L4: one at a time, to the layer that it had, and it is found again by all."""
        made = [op.remember(f"tea {n}", tags=["old"]) for n in range(2)]
        op.prune(tags=["old"])
        op.restore_archived(made[0].id)
        assert contents(op.list()) == contents(desk.operator().search("tea")) == ["tea 0"]
        assert op.get(made[0].id).content == "tea 0"
        assert op.get(made[1].id).content == "tea 1"
        assert verified(op)

    def test_an_archived_record_is_erased(self, op: Operator) -> None:
        """P5, L4: a file of the archive is written anew without it, and the others in it stay."""
        made = [op.remember(f"tea {n}", tags=["old"]) for n in range(3)]
        op.prune(tags=["old"])
        op.erase(made[1].id)
        assert op.get(made[1].id).kind == "erased"
        assert {record.content for record in op.search_archive("tea")} == {"tea 0", "tea 2"}
        assert verified(op)

    def test_what_was_archived_is_nobody_elses(self, desk: Desk, op: Operator) -> None:
        """R12, L4: a user does not see what another user's archive holds."""
        ana, ben = desk.operator(user="ana"), desk.operator(user="ben")
        record = ana.remember("tea of ana", tags=["old"])
        ana.prune(tags=["old"])
        assert contents(ana.search_archive("tea")) == ["tea of ana"]
        assert ben.search_archive("tea") == []
        with pytest.raises(NotFound):
            ben.get(record.id)

    def test_sleep_makes_facts_with_their_times(
        self, desk: Desk, mem: Memory, op: Operator
    ) -> None:
        """S1, S2, Q10: what was said becomes what is known; what changes is superseded, and found
        by its time."""
        talk(mem, "a", "I live in Porto.")
        before = desk.clock()
        desk.clock.jump(timedelta(days=30))
        talk(mem, "b", "I moved to Lisbon.")
        mem.sleep()
        assert [fact.value for fact in mem.facts("Ana", "lives_in")] == ["Lisbon"]
        assert [fact.value for fact in mem.facts("Ana", "lives_in", as_of=before)] == ["Porto"]
        held = mem.search("where does Ana live", layers=["semantic"], as_of=before)
        assert "Ana lives in Porto" in contents(held)
        assert verified(op)

    def test_nothing_is_read_twice(self, mem: Memory, op: Operator) -> None:
        """S1: a second night changes nothing."""
        talk(mem, "a", "I live in Porto.", "I love hiking.")
        assert mem.sleep()["turns"] == 2
        before = size(op)
        assert mem.sleep()["turns"] == 0
        assert size(op) == before

    def test_what_was_known_then(self, desk: Desk, op: Operator) -> None:
        """Q10: a search in the past sees the records as they were, whatever became of them."""
        record = op.remember("the boiler is old")
        then = desk.clock()
        op.forget(record.id, "it is new")
        op.remember("the boiler is new")
        assert contents(op.search("boiler")) == ["the boiler is new"]
        assert contents(op.search("boiler", known_at=then)) == ["the boiler is old"]

    def test_a_lease_has_one_holder(self, desk: Desk, op: Operator) -> None:
        """L6: of two who want to run jobs one may, until it lets go or its time is over."""
        here, there = op._scope.store.database, desk.operator()._scope.store.database
        now = desk.clock()
        assert jobs.take_lease(here, "m/1/a", now, 60)
        assert not jobs.take_lease(there, "m/2/b", now, 60)
        assert jobs.renew(here, "m/1/a", now + MINUTE / 2, 60)
        assert not jobs.take_lease(there, "m/2/b", now + MINUTE, 60)
        assert jobs.take_lease(there, "m/2/b", now + 2 * MINUTE, 60)
        jobs.release(there, "m/2/b")
        assert jobs.lease(here.reader()) is None

    def test_a_job_begins_once_in_a_tick(self, desk: Desk, op: Operator) -> None:
        """L6: whoever asks second is told that it has begun; what came of it is there for all."""
        here, there = op._scope.store.database, desk.operator()._scope.store.database
        now = desk.clock()
        assert jobs.take_lease(here, "m/1/a", now, 60)
        assert jobs.begin(here, "expiry", now, "m/1/a", now, 60)
        assert not jobs.begin(there, "expiry", now, "m/1/a", now, 60)
        assert jobs.finish(here, "expiry", "m/1/a", now, {"ok": True, "expired": 3})
        assert not jobs.finish(there, "expiry", "m/1/a", now, {"ok": True})
        assert jobs.states(there.reader())["expiry"].outcome == {"ok": True, "expired": 3}

    def test_jobs_run_when_they_are_due(self, op: Operator) -> None:
        """L6: every job of the timetable runs on this store, and says that it went well."""
        op.remember("tea", importance=0.9)
        done = {ran.job: ran.ok for ran in op.orchestrator().tick()}
        assert done
        assert all(done.values())
        assert {job.job for job in op.jobs() if job.overdue} == set()

    def test_events_feed_the_mirrors(self, op: Operator) -> None:
        """B7: who knows an event is told what happened after it: rows as they are now, and
        what is gone."""
        first = op.remember("tea")
        position = outbox.head(op._scope.store.database)
        second = op.remember("coffee")
        op.erase(first.id)
        changes = outbox.after(op._scope.store.database, position, 100)
        assert changes is not None
        assert [op._scope.store.record(row).id for row in changes.rows] == [second.id]
        assert changes.gone == [first.id]
        assert changes.position == outbox.head(op._scope.store.database)
        assert (
            outbox.after(op._scope.store.database, Position(position.store, 1, "00"), 100) is None
        )

    def test_a_mirror_holds_what_is_active(self, desk: Desk, op: Operator) -> None:
        """B5, B7: files for people follow the store, wherever it is."""
        handle = desk.operator(settings={"mirrors.jsonl": "sky"})
        record = handle.remember("tea")
        handle.remember("coffee")
        handle.forget(record.id, "no")
        handle.sync_mirrors()
        text = (desk.folder() / "jsonl" / "short_term.jsonl").read_text("utf-8")
        assert ("coffee" in text, "tea" in text) == (True, False)
        assert all(found.ok for found in handle.verify_mirrors().values())

    def test_the_index_follows(self, desk: Desk, op: Operator) -> None:
        """Q2: vectors are made once for each record; meaning is found with and without blocks."""
        op.remember_many(
            {"content": f"note {n} about trains", "importance": 0.5} for n in range(300)
        )
        record = op.remember("a feline sleeps on the sofa")
        assert op.index() == 301
        assert op.index() == 0
        assert (
            desk.operator().search("cat on a couch", ranker="semantic", limit=1)[0].record == record
        )
        assert contents(op.recall_similar("cat on a couch", top_k=1)) in ([], [record.content])

    def test_what_is_derived_can_be_made_anew(
        self, op: Operator, alter: Callable[[str], None]
    ) -> None:
        """P4, Q1: whichever table that docs/format.md calls derived is lost, `reindex` makes it again
        from the records, and doctor finds nothing."""
        source = op.remember("Ana said so")
        more: dict[str, Any] = {
            "tags": ["house"],
            "metadata": {"city": "Porto"},
            "evidence": [source.id],
        }
        record = op.remember("the boiler is old since 3 May 2026", **more)
        op.remember_many({"content": f"tea number {number}"} for number in range(300))
        op.index()

        def check(table: str) -> None:
            alter(f"DELETE FROM {table}")
            op.reindex()
            assert unsound(op) == []
            assert verified(op)
            assert contents(op.search("old boiler", ranker="semantic")) == [record.content]
            assert contents(op.search("boiler", metadata={"city": "Porto"})) == [record.content]
            assert contents(op.search("boiler", tags=["house"])) == [record.content]
            assert contents(op.search("what was on 3 May 2026?"))[0] == record.content
            assert op.resting_on(source.id) == [record.id]

        check_all(derived_tables(), check)

    def test_changes_reach_the_blocks(self, op: Operator) -> None:
        """Q2: a record that was packed and then hidden is not found any more."""
        made = op.remember_many({"content": f"tea number {n}"} for n in range(300))
        op.index()
        move(op, made[7].id, state=State.TOMBSTONED)
        assert made[7].id not in {hit.record.id for hit in op.search("tea number 7", limit=50)}
        assert op.search("tea number 8", limit=1)[0].record == made[8]
