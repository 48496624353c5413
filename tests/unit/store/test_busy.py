"""Waiting for another process: as long as the settings say, said after a second, and
ended by Ctrl-C."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from lamina.errors import StoreUnavailable
from lamina.store.engine.busy import BusyHandler
from lamina.store.engine.sqlite import SqliteDatabase
from tests.conftest import Desk

PATH = Path("lamina.db")


def waited(limit_ms: int) -> list[float]:
    """How long each wait of a file that stays locked is, in seconds."""
    slept: list[float] = []
    patience, tries = BusyHandler(PATH, limit_ms, slept.append), 0
    while patience(tries):
        tries += 1
    return slept


@pytest.mark.parametrize("limit_ms", [0, 1, 2, 20, 999, 1000, 30_000])
def test_it_waits_as_long_as_it_may(limit_ms: int) -> None:
    """B2: short at first and longer later, and in all as long as `store.busy_timeout_ms` says."""
    slept = waited(limit_ms)
    assert sum(slept) == pytest.approx(limit_ms / 1000)
    assert slept[:-1] == sorted(slept[:-1])
    assert max(slept, default=0) <= 0.1


def test_a_long_wait_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """H1: after a second it is said which file is waited for and how long; short
    waits say nothing."""
    waited(900)
    assert not caplog.records
    waited(30_000)
    (told,) = caplog.records
    assert told.levelno == logging.WARNING
    assert told.getMessage() == "waiting for another process that writes to lamina.db, up to 30 s"


def test_every_wait_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    """B2: a connection that waited once may wait as long the next time, and says so again."""
    patience = BusyHandler(PATH, 1500, lambda _: None)
    for _ in range(2):
        tries = 0
        while patience(tries):
            tries += 1
        assert tries > 10
    assert len(caplog.records) == 2


def test_a_locked_store_is_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """B2, H1: a write that finds the file locked waits in this way, and fails with the file's name
    when it was too long."""
    slept: list[float] = []
    monkeypatch.setattr(BusyHandler.__init__, "__defaults__", (slept.append,))
    holder, op = (
        desk.operator(),
        desk.operator(settings={"store.busy_timeout_ms": 2000, "failsafe": "off"}),
    )
    with (
        holder._scope.store.database.atomic(),
        pytest.raises(StoreUnavailable, match="another process"),
    ):
        op.remember("x")
    assert sum(slept) == pytest.approx(2)
    assert "waiting for another process" in caplog.text


def test_who_waits_can_stop(desk: Desk) -> None:
    """H1: Ctrl-C ends the wait at once, nothing is stored, and the handle goes on."""

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    holder, op = desk.operator(), desk.operator(settings={"failsafe": "off"})
    op.remember("before")
    database = op._scope.store.database
    assert isinstance(database, SqliteDatabase)
    with holder._scope.store.database.atomic():
        database.writer().connection.set_busy_handler(BusyHandler(PATH, 30_000, interrupted))
        with pytest.raises(KeyboardInterrupt):
            op.remember("during")
    op.remember("after")
    assert [record.content for record in op.list()] == ["after", "before"]
