"""The last commit that was acknowledged, looked up after a new connection."""

from __future__ import annotations

import pytest

from lamina import Memory
from lamina.store.engine.sqlite import SqliteDatabase


def reconnect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next transaction take the database for a new one."""
    monkeypatch.setattr(SqliteDatabase, "generation", 1)


def test_a_kept_commit_is_no_problem(mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """B4: after a new connection the trail has the last acknowledged event, and more since."""
    mem.remember("before")
    reconnect(monkeypatch)
    mem.remember("afterwards")
    assert mem.status()["problems"] == []


def test_a_lost_commit_is_reported_once(mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """B4, P4: an acknowledged event that is not in the trail is told with its number and hash, and
    writes go on."""
    store = mem._scope.store
    mem.remember("before")
    store.witness.note(store.head()._replace(seq=9))
    reconnect(monkeypatch)
    mem.remember("afterwards")
    mem.remember("and more")
    (problem,) = mem.status()["problems"]
    assert "event 9 with hash" in problem
    assert "was acknowledged and is not in the trail" in problem


def test_a_restored_history_is_no_loss(mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """B4: who replaces the history on purpose is told nothing about the one before."""
    store = mem._scope.store
    store.witness.note(store.head()._replace(seq=9))
    store.identify()
    reconnect(monkeypatch)
    mem.remember("afterwards")
    assert mem.status()["problems"] == []
