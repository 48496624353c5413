"""Promises about refusals as people see them: in `audit log`, in the status and in the console."""

from __future__ import annotations

import pytest

from lamina import Memory, Operator, Refused
from tests.conftest import Desk
from tests.surfaces.conftest import Call, remembered
from tests.surfaces.served import Served


def test_audit_log_and_status(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4, H1: `audit log --refused` lists who tried what, for people and for programs, and the
    status says how many did of late; without any, neither makes much of it."""
    told = remembered(call, "tea")["id"]
    assert call("audit", "log", "--refused").out == "nobody was refused\n"
    assert "refused" not in call("status").out
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    for _ in range(12):
        assert call("forget", told).code == 1
    assert "refused" not in call("status").out
    assert call("audit", "log", "--refused").code == 1
    monkeypatch.delenv("LAMINA_ROLE")
    found = call("audit", "log", "--refused", "--json").json
    assert (found[0]["verb"], found[0]["lacks"]) == ("audit log", "operator")
    assert found[1].keys() == {
        *("at", "since", "actor", "surface", "verb", "lacks", "records", "count"),
    }
    assert sum(one["count"] for one in found if one["verb"] == "forget") == 12
    assert found[1]["records"] == [told]
    assert len(call("audit", "log", "--refused", "--limit", "2", "--json").json) == 2
    table = call("audit", "log", "--refused").out
    assert all(word in table for word in ("agent:default", "forget", "operator", told))
    status = call("status")
    assert "refused in the last 30 days (`lamina audit log --refused`): 13 attempts" in status.out
    assert "agent:default (cli), audit log" in status.out
    assert call("status", "--json").json["refused"]["attempts"] == 13
    assert call("audit", "log", "--reads", "--refused").code == 2
    assert call("audit", "verify").code == 0


def test_old_refusals_are_not_in_the_status(desk: Desk, mem: Memory, op: Operator) -> None:
    """P4: the status counts those of the last 30 days; the trail keeps all."""
    from datetime import timedelta

    with pytest.raises(Refused):
        mem.remember("x", layer="profile")
    assert op.status()["refused"]["attempts"] == 1
    assert "refused" not in mem.status()
    desk.clock.jump(timedelta(days=31))
    assert op.status()["refused"] == {"attempts": 0, "last": None}
    assert len(op.audit_refusals()) == 1


def test_the_console(desk: Desk, mem: Memory, op: Operator) -> None:
    """P4, H2: the audit page shows them with their number."""
    with Served(desk) as served:
        token = served.token(trail=True)
        assert b"Nobody was refused." in served.ask("/audit?of=refused", token).body
        for _ in range(1500):
            with pytest.raises(Refused):
                mem.remember("x", layer="profile")
        mem.close()
        page = served.ask("/audit?of=refused", token).body.decode()
    assert all(word in page for word in ("Refused", "agent:sky", "remember", "operator"))
