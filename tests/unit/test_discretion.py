"""Secrets in new memories (P6): warned about or redacted by setting, listed by doctor, never in logs, events or errors."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import doctor
from lamina.home import Home
from tests.conftest import Desk

# Put together here, so that no scanner takes it for a real one.
TOKEN = "gh" + "p_" + "Zk3" * 12
AWS = "AK" + "IA" + "Q3EGRIJ7TZ5N2WXC"


def bytes_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


def test_a_secret_is_kept_and_told(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """P6: by default a memory keeps what it says; log, status and doctor tell that it holds a secret, and which kind."""
    memory = desk.agent()
    with caplog.at_level(logging.WARNING, "lamina"):
        record = memory.remember(f"the token is {TOKEN}")
    assert TOKEN in record.content
    assert list(memory.secrets.values()) == [1]
    assert "looks like a secret" in caplog.text
    assert TOKEN not in caplog.text
    assert any("doctor" in problem for problem in memory.status()["problems"])
    found = [finding for finding in doctor.examine(Home(desk.home), "sky") if finding.check == "secrets"]
    assert [(one.level, record.id in one.message, TOKEN in one.message) for one in found] == [("warn", True, False)]


def test_a_secret_is_redacted_by_setting(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """P6: with `secrets.capture = redact` it never reaches the disk, by whichever way it comes."""
    operator = desk.operator(settings={"secrets.capture": "redact"})
    with caplog.at_level(logging.WARNING, "lamina"):
        one = operator.remember(f"the token is {TOKEN}", metadata={"deep": [{"env": f"GITHUB_TOKEN={TOKEN}"}]})
        operator.remember_many([{"content": f"keys: {AWS} and {TOKEN}"}])
        turns = [{"speaker": "Ana", "text": f"my token is {TOKEN}"}]
        operator.remember_conversation(turns, session="s", keep_raw=True)
        with operator.run("a task") as run:
            run.note(f"login with {TOKEN}")
        operator.remember("a page", source=f"https://ana:{TOKEN}@example.org", evidence=[f"https://ana:{TOKEN}@example.org/x"])
        operator.propose_profile("token", TOKEN, f"she said {TOKEN}", [one.id])
    assert "redacted" in one.content
    assert TOKEN not in caplog.text
    operator.close()
    assert TOKEN.encode() not in bytes_of(desk.home)
    assert AWS.encode() not in bytes_of(desk.home)


def test_off_means_off(desk: Desk) -> None:
    """P6: who switches it off is told nothing."""
    memory = desk.agent(settings={"secrets.capture": "off"})
    memory.remember(f"the token is {TOKEN}")
    assert (memory.secrets, memory.status()["problems"]) == ({}, [])


def test_no_secret_in_events_reads_or_errors(desk: Desk) -> None:
    """P6, P4: reasons, queries, violations and error messages are without it, whatever the setting."""
    operator = desk.operator(settings={"secrets.capture": "off"})
    record = operator.remember("Ana likes tea")
    operator.search(f"what is {TOKEN} for?")
    operator.forget(record.id, f"it leaked: {TOKEN}")
    calls: list[Any] = [
        lambda: operator.get(TOKEN),
        lambda: operator.remember("x", kind=TOKEN),
        lambda: operator.remember("x", layer=TOKEN),
        lambda: operator.remember("x", **{TOKEN: 1}),
        lambda: operator.search("tea", ranker=TOKEN),
        lambda: operator.list(since=TOKEN),
        lambda: operator.erase(source=f"{TOKEN}\n"),
        lambda: desk.agent(TOKEN),
        lambda: desk.agent(user=f" {TOKEN}"),
    ]
    for call in calls:
        with pytest.raises(lamina.LaminaError) as caught:
            call()
        assert TOKEN not in str(caught.value.to_dict())
    operator.close()
    assert TOKEN.encode() not in bytes_of(desk.home)
