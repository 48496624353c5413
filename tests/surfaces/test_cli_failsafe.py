"""The fail-safe on the command line: exit code 5, one line about the store, and the commands
`lamina failsafe`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import lamina
from lamina.surfaces.cli.main import run
from tests.unit.failsafe.outages import damage, outage

AGENT = "default"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path))
    monkeypatch.setenv("LAMINA_STORE_BUSY_TIMEOUT_MS", "0")
    monkeypatch.setenv("LAMINA_STORE_RETRY_MS", "0")
    with lamina.open(AGENT, home=tmp_path) as memory:
        memory.remember("Ana was here")
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_memory_that_was_kept_is_exit_code_5(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """B4, H1: the command says where the memory is, exits with 5, and the next command
    has stored it."""
    with outage(home, AGENT):
        code, out, err = told(capsys, "remember", "Ana drinks tea")
        assert (code, out.startswith("kept in the fail-safe ")) == (5, True)
        assert err.startswith("attention: the store could not be written: ")
        code, out, _ = told(capsys, "--json", "remember", "Ana drinks milk", "--layer", "episodic")
        assert (code, json.loads(out)["stored_in"]) == (5, "failsafe")
        code, out, _ = told(capsys, "failsafe", "status")
        assert code == 0
        assert [line.split()[:2] for line in out.splitlines()[2:5]] == [
            ["file", "waiting"],
            ["short_term.jsonl", "1"],
            ["long_term.jsonl", "1"],
        ]
        assert "the oldest waits since 2" in out
    code, out, err = told(capsys, "list")
    assert (code, err) == (0, "")
    assert "Ana drinks tea" in out
    assert "nothing waits" in told(capsys, "failsafe", "status")[1]


def test_replay_tells_what_it_did(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """B4: how many were stored, constrained, known or rejected, and where the lines are now."""
    with outage(home, AGENT):
        told(capsys, "remember", "rests on nothing", "--evidence", "0" * 26)
        assert told(capsys, "failsafe", "replay")[0] == 5
    with (home / "agents" / AGENT / "failsafe" / "long_term.jsonl").open("ab") as file:
        file.write(b"edited\n")
    code, out, _ = told(capsys, "--json", "failsafe", "status")
    assert (code, json.loads(out)["waiting"]) == (0, 1)
    assert json.loads(out)["broken"][0]["line"] == 1
    code, out, _ = told(capsys, "failsafe", "replay")
    first, *rest = out.splitlines()
    assert code == 0
    assert first.startswith(
        "1 stored, 1 of them constrained, see `lamina review list`, 1 that could not be used"
    )
    assert len(rest) == 2
    code, out, _ = told(capsys, "--json", "failsafe", "replay")
    assert (code, json.loads(out)["stored"]) == (0, 0)
    assert "1 line could not be used" in told(capsys, "failsafe", "status")[1]
    assert "1 line of the fail-safe could not be used" in told(capsys, "status")[1]
    assert "fail-safe" in told(capsys, "doctor")[1]


def test_reads_without_the_store_say_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """B4, H1: what can be reached is shown, with one line on standard error about what cannot;
    nothing at all is an error."""
    with damage(home, AGENT):
        code, out, err = told(capsys, "list")
        assert (code, out, err.count("damaged")) == (1, "", 1)
        assert told(capsys, "remember", "Ana drinks tea")[0] == 5
        code, out, err = told(capsys, "search", "tea")
        assert (code, "Ana drinks tea" in out) == (0, True)
        assert (
            err.startswith("note: only the fail-safe was searched: "),
            err.count("damaged"),
        ) == (True, 1)
        code, out, err = told(capsys, "list")
        assert (
            err.startswith("attention: the store could not be read: "),
            err.count("damaged"),
        ) == (True, 1)
        code, out, err = told(capsys, "profile", "show")
        assert (code, err.count("damaged")) == (1, 1)


def test_a_status_without_the_store_knows_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """B4, H1: what is not known is not said to be nothing; where it was looked for, and why in
    vain, is said once."""
    with damage(home, AGENT):
        assert told(capsys, "remember", "Ana drinks tea")[0] == 5
        code, out, err = told(capsys, "status")
        assert (code, err, out.count("damaged")) == (1, "", 1)
        assert "unknown: the store could not be read" in out
        code, out, err = told(capsys, "--json", "status")
        found = json.loads(out)
        assert (code, err, found["store"]) == (1, "", None)
        assert found["place"] == str(home / "agents" / AGENT / "memory.db")


def test_nobody_could_look(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """B4, H1: a question that the store could not be asked is not answered
    with "nothing relevant"."""
    with damage(home, AGENT):
        assert told(capsys, "remember", "Ana drinks tea")[0] == 5
        for verb in ("search", "context"):
            code, out, _ = told(capsys, verb, "zebra")
            assert (code, out) == (5, "unknown: the store could not be read\n")
        assert json.loads(told(capsys, "--json", "search", "zebra")[1])["outcome"] == "unavailable"


def test_one_cause_is_told_once(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B4, H1: a store that is read while a required Weaviate is down is told to be not written, and
    no more."""
    monkeypatch.setenv("LAMINA_MIRRORS_WEAVIATE", "http://127.0.0.1:9")
    monkeypatch.setenv("LAMINA_MIRRORS_WEAVIATE_REQUIRED", "true")
    assert told(capsys, "remember", "Ana drinks tea")[0] == 5
    code, out, err = told(capsys, "status")
    assert (
        code,
        err,
        out.count("cannot be reached"),
        out.count("the store could not be written: "),
    ) == (0, "", 1, 1)


def test_without_the_failsafe_it_fails(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B4: `failsafe = off` is exit code 5 as well, and nothing is kept."""
    monkeypatch.setenv("LAMINA_FAILSAFE", "off")
    with outage(home, AGENT):
        code, _, err = told(capsys, "remember", "x")
    assert (code, "holds the store" in err) == (5, True)
    assert not (home / "agents" / AGENT / "failsafe").exists()


def test_captures_go_to_the_failsafe(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B4, H4: what ntfy says is kept once, whoever repeats it, and the exit code tells of it."""
    line = json.dumps(
        {"id": "m1", "event": "message", "time": 1_790_000_000, "message": "water the plants"}
    ).encode()
    with outage(home, AGENT):
        for _ in range(2):
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(line + b"\n")))
            assert told(capsys, "capture", "--source", "ntfy")[0] == 5
    _, out, _ = told(capsys, "--json", "list", "--kind", "request")
    assert [record["content"] for record in json.loads(out)] == ["water the plants"]


@pytest.mark.parametrize("away", [outage, damage])
def test_a_hook_keeps_what_was_said(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, away: object
) -> None:
    """B4, H4: a message is kept though nothing can be recalled about it, and the agent hears
    nothing bad."""
    event = json.dumps(
        {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "I drink tea"}
    ).encode()
    with away(home, AGENT):  # type: ignore[operator]
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(event)))
        assert told(capsys, "hook", "user-prompt")[0] == 0
    _, out, _ = told(capsys, "--json", "list")
    assert [record["content"] for record in json.loads(out)] == ["I drink tea", "Ana was here"]
