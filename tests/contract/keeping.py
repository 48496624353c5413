"""Promises of every store about whole memories: copies, the way back, exports, and what
a check says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator
from lamina.errors import Conflict, Corrupt, NotFound
from tests.conftest import CONTRACTS, Desk, contents, size, verified


def lived(desk: Desk, **more: Any) -> Operator:
    """A memory with something of everything."""
    op, mem, _ = (
        desk.operator(**more),
        desk.agent(**more),
        desk.agent("milton", store_id="6" * 32, **more),
    )
    first = op.remember(
        "tea", tags=["x"], metadata={"city": "Porto"}, key="k", importance=0.9, kind="fact"
    )
    op.remember(
        "the boiler is old", layer="semantic", metadata=CONTRACTS["semantic"], evidence=[first.id]
    )
    mem.remember_conversation([{"speaker": "Ana", "text": "I live in Porto."}], session="s")
    mem.sleep()
    op.run("task").note("a note")
    waiting = mem.propose_profile("drink", "tea", "said so", [first.id])
    op.confirm(waiting.id, "so it is")
    op.reject(mem.propose_profile("drink", "gin", "said so", [first.id]).id, "not so")
    op.remember("old news", tags=["old"])
    op.remember("older news", tags=["old"])
    op.prune(tags=["old"])
    op.erase(op.remember("gone for good").id)
    op.grant("milton", tag="x")
    op.forget(op.remember("hidden").id, "why not")
    op.run_once()
    op.index()
    return op


class Keeping:
    """A memory is more than its rows: it can be copied, checked, and brought back."""

    def test_a_backup_brings_everything_back(self, desk: Desk) -> None:
        """H5, B7: what was there is there again, with its archive and its trail; what was replaced
        is kept."""
        op = lived(desk)
        before, head = op.export().read_bytes(), op.audit_head()
        made = op.backup()
        op.remember("later")
        op.prune(layers=["short_term"], older_than_days=0)
        done = op.restore(made)
        assert Path(done["kept"]).is_dir()
        assert verified(op)
        assert all(report.ok for report in op.audit_verify(head).values())
        assert "later" not in contents(op.list(limit=100))
        assert {record.content for record in op.search_archive("news")} == {
            "old news",
            "older news",
        }
        assert op.audit_log(1)[0].action == "restore"
        assert len(before) < len(op.export().read_bytes())

    def test_a_backup_can_be_restored_twice(self, desk: Desk) -> None:
        """H5: a copy is not used up, and what was kept is a backup too."""
        op = lived(desk)
        made = op.backup()
        for text in ("one", "two"):
            op.remember(text)
            kept = op.restore(made)["kept"]
        op.restore(kept)
        assert "two" in contents(op.list(limit=100))
        assert verified(op)

    def test_what_was_erased_stays_erased(self, op: Operator) -> None:
        """P5: a backup from before an erasure does not bring it back."""
        gone = op.remember("Ana has diabetes")
        made = op.backup()
        op.erase(gone.id, keep_backups=True)
        op.restore(made)
        assert op.get(gone.id).kind == "erased"
        assert len(op.search("diabetes")) == 0
        assert verified(op)

    def test_a_damaged_backup_is_refused(self, op: Operator, tmp_path: Path) -> None:
        """H5: one that was altered, or is none, changes nothing."""
        op.remember("x")
        made = op.backup(tmp_path / "copy")
        (made / "memory.db").write_bytes((made / "memory.db").read_bytes()[:-1] + b"!")
        before = size(op)
        with pytest.raises(Corrupt):
            op.restore(made)
        with pytest.raises(NotFound):
            op.restore(tmp_path)
        assert size(op) == before

    def test_everything_travels(self, desk: Desk, another: Desk) -> None:
        """H5, B7: an export brings everything to an empty place of the same agent, to the byte."""
        op = lived(desk)
        exported = op.export()
        twin = another.operator(store_id="7" * 32)
        assert twin.import_(exported, trust=True)["mode"] == "restored"
        assert twin.export().read_bytes() == exported.read_bytes()
        assert verified(twin)
        assert {record.content for record in twin.search_archive("news")} == {
            "old news",
            "older news",
        }
        assert contents(twin.search("boiler"))[0] == "the boiler is old"

    def test_an_import_adds_to_what_is_there(self, op: Operator, another: Desk) -> None:
        """B5, V8: into a memory that has something already, record by record, as from
        outside, and once."""
        op.remember("tea", key="k")
        op.remember("coffee")
        twin = another.operator(store_id="7" * 32)
        twin.remember("water")
        assert twin.import_(op.export())["taken"] == 2
        assert twin.import_(op.export())["taken"] == 0
        assert sorted(contents(twin.list())) == ["coffee", "tea", "water"]
        assert verified(twin)

    def test_an_altered_export_changes_nothing(
        self, op: Operator, another: Desk, tmp_path: Path
    ) -> None:
        """H5, P4: an export that does not agree with itself is refused, and the
        place stays empty."""
        op.remember("tea")
        forged = tmp_path / "forged.json"
        forged.write_bytes(op.export().read_bytes().replace(b"tea", b"gin"))
        twin = another.operator(store_id="7" * 32)
        with pytest.raises((Corrupt, Conflict)):
            twin.import_(forged, trust=True)
        assert size(twin) == (0, 0)

    def test_the_same_history_is_the_same_everywhere(self, op: Operator, another: Desk) -> None:
        """P4, R1: the same deeds at the same times have the same ids and order in another place."""
        texts = [f"memory {n}" for n in range(5)]
        twin = another.operator()
        made = [[handle.remember(text).id for text in texts] for handle in (op, twin)]
        assert made[0] == made[1]
        assert contents(op.list()) == contents(twin.list())

    def test_status_counts_what_is_there(self, desk: Desk) -> None:
        """I: how many records there are of every layer and state, without a problem."""
        op = lived(desk)
        status = op.status()
        counted = sum(sum(states.values()) for states in status["records"].values())
        assert counted == size(op)[0]
        assert (status["archived"], status["problems"]) == (2, [])

    def test_problems_of_the_trail_name_their_place(
        self, op: Operator, alter: Callable[[str], None]
    ) -> None:
        """P4: what a check finds says where it is, and opening the memory again still works."""
        op.remember("tea")
        op.remember("coffee")
        alter("UPDATE records SET content = 'gin' WHERE seq = 2")
        report = op.audit_verify()["events"]
        assert not report.ok
        assert any("2" in problem.place for problem in report.problems)
