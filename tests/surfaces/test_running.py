"""Promises of `lamina run`: a line for each job, a table of how they stand, and help for those who
run nothing."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lamina.home import schedule
from lamina.home.retention import PRESETS, Retention, RetentionFile
from lamina.home.schedule import Timetable
from lamina.memory.jobs import LEASE, Orchestrator
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.tables import jobs
from lamina.surfaces import maintenance, signals
from lamina.surfaces.cli import run
from tests.conftest import START, Desk, Ticking
from tests.unit.store.scratch import scratch


class House:
    """One orchestrator with two jobs, of which one can be made to fail."""

    def __init__(self, home: Path, database: SqliteDatabase) -> None:
        self.home = home
        self.database = database
        self.clock = Ticking(step=timedelta(0))
        self.fails = self.ends = False
        work = {"memory_rotate_check": self.check, "embedding": self.embed}
        self.orchestrator = Orchestrator(
            database, work, Timetable(home), self.clock, lambda job, outcome: None
        )

    def check(self) -> Mapping[str, Any]:
        self.clock.jump(timedelta(seconds=2))
        return {"ok": True, "promoted": 12, "rotated": False, "remaining": 247, "threshold": 0.7}

    def embed(self) -> Mapping[str, Any]:
        if self.fails:
            raise ValueError("the model is\n\x1b[31maway")
        if self.ends:
            signal.raise_signal(signal.SIGTERM)
        return {"made": 3, "spaces": ["a"]}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with closing(scratch(tmp_path / "jobs.db")) as database:
        yield House(tmp_path, database)


def test_a_line_for_each_job(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """L6: time, job, outcome, duration and what was done, on one line; when all is done,
    it says so."""
    assert run.once_through(house.orchestrator, as_json=False) == 0
    assert [line.split(None, 6) for line in capsys.readouterr().out.splitlines()] == [
        [
            "2026-05-01",
            "08:00:00",
            "memory_rotate_check",
            "ok",
            "2.00",
            "s",
            "promoted 12, rotated false, remaining 247, threshold 0.7",
        ],
        ["2026-05-01", "08:00:02", "embedding", "ok", "0.00", "s", "made 3"],
    ]
    assert run.once_through(house.orchestrator, as_json=False) == 0
    assert capsys.readouterr().out == "nothing to run now\n"


def test_a_failed_job_is_seen(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """L6: a failure is in its line with the message, which cannot steer the terminal, and --once
    exits with 1."""
    house.fails = True
    assert run.once_through(house.orchestrator, as_json=False) == 1
    line = capsys.readouterr().out.splitlines()[1]
    assert "embedding            failed" in line
    assert "away" in line
    assert "\x1b" not in line
    run.jobs_table(house.orchestrator.outlook())
    shown = capsys.readouterr().out
    assert "failed: ValueError" in shown
    assert "\x1b" not in shown


def test_programs_get_json_lines(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """L6, H1: with --json each run is an object on a line of its own, and nothing
    else is printed."""
    run.once_through(house.orchestrator, as_json=True)
    run.once_through(house.orchestrator, as_json=True)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["job"] == "memory_rotate_check"
    assert first["started_at"] == "2026-05-01T08:00:00.000000Z"
    assert (first["seconds"], first["outcome"]["promoted"]) == (2.0, 12)
    assert second["outcome"] == {"ok": True, "made": 3, "spaces": ["a"]}


def test_the_table_shows_how_jobs_stand(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """L6: last run, outcome and next run of every job; one that nobody runs is
    marked as overdue."""
    run.jobs_table(house.orchestrator.outlook())
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["memory_rotate_check", "10", "min", "never", "2026-05-01", "08:00"],
        ["embedding", "5", "min", "never", "2026-05-01", "08:00"],
    ]
    house.fails = True
    house.orchestrator.tick()
    house.clock.set(START + timedelta(minutes=15))
    run.jobs_table(house.orchestrator.outlook())
    check, embedding = capsys.readouterr().out.splitlines()[1:]
    assert check.split() == [
        "memory_rotate_check",
        "10",
        "min",
        "2026-05-01",
        "08:00",
        "ok",
        "2026-05-01",
        "08:15",
    ]
    assert embedding.split()[-2:] == ["overdue", "1"]


def test_what_is_not_ours_is_told_at_the_start(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    """L6, H7: `lamina run` begins with what it runs, and then names what is not ours, once."""
    file = "every:\n - {name: heartbeat, seconds: 5}\ndaily:\n - {name: brief, at: noon}\n"
    (house.home / "schedule.yaml").write_text(file, "utf-8")
    house.ends = True
    assert run.keep_running(house.orchestrator, as_json=True) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[1].endswith("entries of others, which are ignored: heartbeat, daily: brief")
    assert len([line for line in told if "heartbeat" in line]) == 1


def test_signals_are_as_before_afterwards(house: House) -> None:
    """L6: the program's own handling of signals ends with the command."""
    before = [signal.getsignal(number) for number in signals.ENDING]
    with run.until_signal() as stop:
        assert [signal.getsignal(number) for number in signals.ENDING] != before
        signal.raise_signal(signal.SIGTERM)
        assert stop.wait(60)
        assert [signal.getsignal(number) for number in signals.ENDING] == before
    assert [signal.getsignal(number) for number in signals.ENDING] == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_night_over_hostile_text(tmp_path: Path, number: signal.Signals) -> None:
    """S5, L6: `lamina run` ends a night before the next text when it is told to; the next
    one reads everything."""
    hostile = [
        "a@" * 10_000,
        " " * 20_000 + "!",
        "".join(f"I like tea{place}. " for place in range(1500)),
    ] * 20
    with Desk(tmp_path) as desk:
        mem = desk.agent("default")
        mem.remember_conversation(
            [{"speaker": "Ana", "text": text} for text in hostile], session="s"
        )
    only = "".join(
        f"  - {{name: {name}, minutes: {60 * (name == 'consolidation')}}}\n"
        for name in schedule.KNOWN
    )
    (tmp_path / schedule.FILE_NAME).write_text(f"every:\n{only}", "utf-8")
    program = [sys.executable, "-m", "lamina", "--home", str(tmp_path), "run", "--json"]
    with (
        Desk(tmp_path) as desk,
        subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process,
    ):
        mem = desk.agent("default")
        while not any(job.last_run for job in mem.jobs()):
            assert process.poll() is None
            time.sleep(0.01)  # for the other process to begin
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
        ran = json.loads(out)
        assert (
            process.returncode,
            ran["job"],
            ran["outcome"]["stopped"],
            ran["outcome"]["turns"],
        ) == (
            0,
            "consolidation",
            True,
            0,
        )
        assert mem.sleep()["turns"] == len(hostile)


def test_nothing_is_started_when_nothing_is_due(house: House) -> None:
    """L6: no process is started when all was run in this tick, or while another has the lease."""
    jobs.take_lease(house.database, "elsewhere/1/word", START, LEASE)
    assert maintenance.start_if_due(house.orchestrator, house.home, "sky") is None
    jobs.release(house.database, "elsewhere/1/word")
    house.orchestrator.tick()
    assert maintenance.start_if_due(house.orchestrator, house.home, "sky") is None


def test_what_is_due_is_started_beside_the_caller(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L6: when something is due, `lamina run --once` is started for this agent and all its users,
    one at a time, and reaped."""
    monkeypatch.setenv("LAMINA_USER", "ana")
    process = maintenance.start_if_due(house.orchestrator, house.home, "sky")
    assert process is not None
    assert process.args[-6:] == ["--home", str(house.home), "--agent", "sky", "run", "--once"]  # type: ignore[index]
    process.wait()
    again = maintenance.start_if_due(house.orchestrator, house.home, "sky", process)
    assert again is not None
    assert again is not process
    again.wait()


def test_a_start_that_fails_does_not_disturb(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    """L6: when no process can be started, the caller goes on, and the log says why."""
    assert maintenance.start_if_due(house.orchestrator, house.home / "gone", "sky") is None
    assert "could not be started: No such file or directory" in caplog.text


def test_the_page_shows_every_key(tmp_path: Path) -> None:
    """L6, L7: the two files in docs/running.md name every job and every rule, and
    are the defaults."""
    page = (Path(__file__).parents[2] / "docs" / "running.md").read_text("utf-8")
    every, rules = re.findall(r"```yaml\n(.*?)```", page, re.S)
    (tmp_path / "schedule.yaml").write_text(every, "utf-8")
    (tmp_path / "retention_rules.yaml").write_text(rules, "utf-8")
    assert schedule.read(tmp_path / "schedule.yaml") == schedule.DEFAULT
    assert RetentionFile(tmp_path).current() == Retention()
    assert re.findall(r"- name: (\w+)", every) == list(schedule.KNOWN)
    assert re.findall(r"^(\w+):", rules, re.M) == [
        field.name for field in msgspec.structs.fields(Retention)
    ]
    assert set(re.findall(r"^\| `(\w+)`", page, re.M)) == set(PRESETS)
