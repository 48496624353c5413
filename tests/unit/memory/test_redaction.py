"""Secrets in new memories (P6): warned about or redacted by setting, listed by doctor, never in
logs, events or errors."""

from __future__ import annotations

import importlib
import json
import logging
from pathlib import Path
from typing import Any, cast

import pytest

import lamina
from lamina.home.folder import Home
from lamina.memory import doctor
from lamina.model import rules
from lamina.model.record import Record
from lamina.surfaces.cli.main import run
from tests.conftest import Desk

# Put together here, so that no scanner takes it for a real one.
TOKEN = "gh" + "p_" + "Zk3" * 12
AWS = "AK" + "IA" + "Q3EGRIJ7TZ5N2WXC"
PASSWORD = "sunshine-Ode7"
REDACT = {"secrets.capture": "redact", "mirrors.jsonl": "sky"}


def bytes_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


def test_a_secret_is_kept_and_told(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """P6: by default a memory keeps what it says; log, status and doctor tell that it holds a
    secret, and which kind."""
    memory = desk.agent()
    with caplog.at_level(logging.WARNING, "lamina"):
        record = memory.remember(f"the token is {TOKEN}")
    assert TOKEN in record.content
    assert list(memory.secrets.values()) == [1]
    assert "looks like a secret" in caplog.text
    assert TOKEN not in caplog.text
    assert any("doctor" in problem for problem in memory.status()["problems"])
    found = [
        finding for finding in doctor.examine(Home(desk.home), "sky") if finding.check == "secrets"
    ]
    assert [(one.level, record.id in one.message, TOKEN in one.message) for one in found] == [
        ("warn", True, False)
    ]


def test_a_secret_is_redacted_by_setting(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """P6: with `secrets.capture = redact` it never reaches the disk, by whichever way it comes."""
    operator = desk.operator(settings={"secrets.capture": "redact"})
    with caplog.at_level(logging.WARNING, "lamina"):
        one = operator.remember(
            f"the token is {TOKEN}", metadata={"deep": [{"env": f"GITHUB_TOKEN={TOKEN}"}]}
        )
        operator.remember_many([{"content": f"keys: {AWS} and {TOKEN}"}])
        turns = [{"speaker": "Ana", "text": f"my token is {TOKEN}"}]
        operator.remember_conversation(turns, session="s", keep_raw=True)
        with operator.run("a task") as run:
            run.note(f"login with {TOKEN}")
        operator.remember(
            "a page",
            source=f"https://ana:{TOKEN}@example.org",
            evidence=[f"https://ana:{TOKEN}@example.org/x"],
        )
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
    """P6, P4: reasons, queries, violations and error messages are without it,
    whatever the setting."""
    operator = desk.operator(settings={"secrets.capture": "off"})
    record = operator.remember("Ana likes tea")
    operator.search(f"what is {TOKEN} for?")
    operator.forget(record.id, f"it leaked: {TOKEN}")
    calls: list[Any] = [
        lambda: operator.get(TOKEN),
        lambda: operator.remember("x", kind=TOKEN),
        lambda: operator.remember("x", layer=TOKEN),
        lambda: operator.remember("x", **cast(dict[str, Any], {TOKEN: 1})),
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


# Secrets that nothing but a name tells, wherever they stand.

BY_NAME: list[dict[str, Any]] = [
    {"password": PASSWORD},
    {"config": {"servers": [{"api_key": PASSWORD}]}},
    {"args": ["--password", PASSWORD]},
    {"profile_key": "wifi password", "value": PASSWORD},
    {"name": "API_KEY", "value": PASSWORD},
    {"passwords": {"ana": PASSWORD}},
    {"the wifi password is": 1, "note": f"wifi password: {PASSWORD}"},
]


@pytest.mark.parametrize("metadata", BY_NAME, ids=str)
def test_a_secret_by_name_is_in_no_field(desk: Desk, metadata: dict[str, Any]) -> None:
    """P6: what one field says to be a secret is gone from all of them; by default it is told, and
    `doctor` lists it."""
    operator = desk.operator(settings=REDACT)
    record = operator.remember(
        f"she logs in with {PASSWORD}.",
        metadata={**metadata, "said": [f"it is ({PASSWORD})"]},
        source=f"notes/{PASSWORD}",
        evidence=[f"./{PASSWORD}.txt"],
        tags=[PASSWORD, f"use:{PASSWORD}"],
        speaker=f"Ana {PASSWORD}",
        session=f"about {PASSWORD}",
    )
    assert len(operator.secrets) == 1
    assert record.content.startswith("she logs in with [redacted: ")
    assert all(rules.tag(tag) == tag for tag in record.tags)
    operator.close()
    assert PASSWORD.encode() not in bytes_of(desk.home).replace(
        PASSWORD.lower().encode(), PASSWORD.encode()
    )

    teller = desk.agent("teller")
    kept = teller.remember("login", metadata=metadata)
    assert kept.metadata == metadata
    assert sum(teller.secrets.values()) == 1
    (found,) = [
        finding
        for finding in doctor.examine(Home(desk.home), "teller")
        if finding.check == "secrets"
    ]
    assert (found.level, kept.id in found.message, PASSWORD in found.message) == (
        "warn",
        True,
        False,
    )


def test_a_password_in_the_profile_is_redacted(desk: Desk) -> None:
    """P6: proposed, confirmed or set, it is neither in the profile's file nor in a mirror nor in
    the store."""
    operator = desk.operator(settings=REDACT)
    said = operator.remember("we talked about the router")
    proposed = operator.propose_profile("wifi password", PASSWORD, "she said so", [said.id])
    operator.confirm(proposed.id, "right")
    operator.upsert_user_profile(
        {"alarm_password": f"{PASSWORD}2", "garage": {"door_code": 4821}}, [said.id]
    )
    assert proposed.metadata["value"] == "[redacted: password]"
    operator.close()
    assert PASSWORD.encode() not in bytes_of(desk.home)
    kept = (desk.folder() / "user_profile.json").read_text("utf-8")
    assert "redacted: password" in kept
    assert "4821" not in kept


def test_labels_are_looked_at_too(desk: Desk) -> None:
    """P6: a token in a tag, a speaker, a session or a key of metadata is told, listed and redacted
    like any other."""
    labelled: list[dict[str, Any]] = [
        {"tags": ["tea", TOKEN]},
        {"speaker": TOKEN},
        {"session": f"with {TOKEN}"},
        {"metadata": {TOKEN: 1, f"{TOKEN} ": 2}},
    ]
    warned, redacting = desk.agent("warned"), desk.agent(settings=REDACT)
    for fields in labelled:
        kept, record = warned.remember("x", **fields), redacting.remember("x", **fields)
        assert kept.content == record.content
    assert warned.secrets == redacting.secrets == {"GitHub token": 4}
    assert len(record.metadata) == 2
    redacting.close()
    (found,) = [
        finding
        for finding in doctor.examine(Home(desk.home), "warned")
        if finding.check == "secrets"
    ]
    assert found.message.startswith("in 4 memories")
    folder = bytes_of(desk.folder())
    assert TOKEN.encode() not in folder
    assert TOKEN.lower().encode() not in folder


def test_what_only_looks_random_keeps_its_name(desk: Desk) -> None:
    """P6: sessions, speakers and ids are random by nature: redacting keeps them apart, and dates
    are no PIN."""
    memory = desk.agent(settings=REDACT)
    ids = ["aB3dE5fG7hJ9kL1mN3pQ5", "zY9xW7vU5tS3rQ1pN2mL4"]
    found = [
        memory.remember("hello", session=one, speaker=one, metadata={"message_id": one})
        for one in ids
    ]
    assert [(one.session, one.speaker, one.metadata["message_id"]) for one in found] == [
        (one, one, one) for one in ids
    ]
    assert memory.secrets == {}
    dated = memory.remember(
        "met on 2024-05-01, room 2024", metadata={"alarm PIN": 2024, "tea": "steam"}
    )
    assert dated.content == "met on 2024-05-01, room [redacted: password]"
    assert dated.metadata == {"alarm PIN": "[redacted: password]", "tea": "steam"}


def test_redacted_fields_are_as_valid_as_before(desk: Desk) -> None:
    """P6, R1: a mark that is longer than what it stands for breaks no limit, and repeats no tag and
    no evidence."""
    memory = desk.agent(settings=REDACT)
    said = memory.remember("first")
    many = " ".join(["ab12"] * 50)
    record = memory.remember(
        "x",
        metadata={"password": "ab12"},
        tags=[f"a {TOKEN}", f"a {TOKEN}x", many],
        source=many,
        speaker=many,
        evidence=[said.id, f"./{TOKEN}", f"./{TOKEN}", f"https://ana:{TOKEN}@example.org"],
    )
    assert "ab12" not in str(record.to_dict())
    assert record.evidence[0] == said.id
    assert len(set(record.evidence)) == len(record.evidence) == 3
    assert all(
        len(one) <= rules.MAX_LABEL
        for one in (record.source or "", record.speaker or "", *record.tags)
    )
    assert len(record.tags) == 2


def test_a_conversation_is_kept_without_secrets(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """P6: the file of a conversation has none in any part of a turn, also where only another turn
    tells it; it is counted."""
    memory = desk.agent(settings=REDACT)
    turns: list[dict[str, Any]] = [
        {
            "speaker": TOKEN,
            "text": "see the header",
            "metadata": {"auth": [TOKEN]},
            "source": f"web:x?t={TOKEN}",
        },
        {"speaker": "Ana", "text": f"my wifi password is {PASSWORD}", "tags": {TOKEN, "tea"}},
        {"speaker": "Ben", "text": f"{PASSWORD} did not work", "kind": "fact"},
    ]
    with caplog.at_level(logging.WARNING, "lamina"):
        told = memory.remember_conversation(
            turns, session="s", participants=[TOKEN, "Ana"], keep_raw=True, key="once"
        )
        again = memory.remember_conversation(
            turns, session="s", participants=[TOKEN, "Ana"], keep_raw=True, key="once"
        )
    assert [one.id for one in again] == [one.id for one in told]
    assert told[2].content == "[redacted: password] did not work"
    assert memory.secrets == {"GitHub token": 2, "password": 2}
    assert "GitHub token, password" in caplog.text
    assert PASSWORD not in caplog.text
    (raw,) = (desk.folder() / "episodes").rglob("*.json")
    assert json.loads(raw.read_bytes())["participants"] == ["[redacted: GitHub token]", "Ana"]
    memory.close()
    for secret in (TOKEN, TOKEN.lower(), PASSWORD):
        assert secret.encode() not in bytes_of(desk.home)


def test_a_conversation_that_is_no_json_is_refused(desk: Desk) -> None:
    """P6, R1: metadata that runs in a circle is refused by the rules, and keeps nobody busy."""
    circle: dict[str, Any] = {"token": TOKEN}
    circle |= {"one": circle, "two": circle}
    with pytest.raises(lamina.InvalidInput, match="item 0"):
        desk.agent(settings=REDACT).remember_conversation(
            [{"text": "x", "metadata": circle}], session="s"
        )


def test_no_secret_in_the_trail_of_a_guest(desk: Desk) -> None:
    """P6, P3: what a guest asks for is in its trail without the secrets, as its
    own questions are."""
    desk.operator().remember("the deploy is on Monday", tags=["house"])
    milton = desk.agent("milton")
    milton.remember("hello")
    desk.operator().grant("milton", tag="house")
    milton.shared("sky").search(f"deploy with {TOKEN}")
    milton.close()
    folder = bytes_of(desk.home)
    assert b"deploy with [redacted: GitHub token]" in folder
    assert TOKEN.encode() not in folder


@pytest.mark.parametrize("mode", ["warn", "redact"])
def test_the_command_line_tells_it_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    mode: str,
) -> None:
    """P6: a terminal says once that there was a secret, and what to do; the log has
    nothing to add."""
    monkeypatch.setenv("LAMINA_SECRETS_CAPTURE", mode)
    with caplog.at_level(logging.WARNING, "lamina"):
        assert (
            run(["--home", str(tmp_path), "--agent", "sky", "remember", f"the token is {TOKEN}"])
            == 0
        )
    assert capsys.readouterr().err.count("GitHub token") == 1
    assert caplog.text == ""
    assert not logging.getLogger("lamina.secrets").disabled


def test_many_memories_are_cleaned_as_each_by_itself(desk: Desk) -> None:
    """P6: what is stored in one go, and looked at together, is what is stored one by one: secrets
    in texts, labels, names and values are gone, and nothing else is touched."""
    telling: list[dict[str, Any]] = [
        {"content": f"the token is {TOKEN}"},
        {"content": f"the password is {PASSWORD}", "tags": ["wifi"]},
        {"content": "the router", "metadata": {"password": PASSWORD, "floor": 2}},
        {"content": "a key", "metadata": {"env": [{"name": "API_KEY", "value": AWS}]}},
        {"content": "a tag", "tags": [TOKEN, "plain"]},
        {"content": "a talk", "session": "session_1", "speaker": "ana"},
        {"content": "a source", "source": f"https://ana:{PASSWORD}@example.org/x"},
        {"content": "grüße an Åse, das Passwort ist geheim123", "metadata": {"n": 1.5, "x": None}},
        {"content": "s k - " + " ".join("a1b2c3d4e5f6g7h8i9j0k1l2")},
    ]
    urgent: list[dict[str, Any]] = [
        {"content": "Critical: the boiler has failed, and all data are lost"},
        {"content": "a note", "tags": ["urgent"]},
        {"content": "a note", "metadata": {"status": "failed"}},
        {"content": f"{'tea ' * 80}at home"},
        {"content": "grüße, das ist urgent", "importance": 0.9},
    ]
    plain = [{"content": f"we met at the old harbour, {n}", "tags": ["tea"]} for n in range(40)]
    items = [*plain[:20], *telling, *urgent, *plain[20:]]
    importlib.import_module("numpy")  # where it is loaded, they are looked at together
    memory = desk.agent(settings=REDACT)
    many = memory.remember_many(items)
    single = [memory.remember(**item) for item in items]

    def said(record: Record) -> tuple[Any, ...]:
        return record.content, record.tags, record.metadata, record.session, record.source

    assert list(map(said, many)) == list(map(said, single))
    assert [one.importance for one in many] == [one.importance for one in single]
    assert PASSWORD not in str(many)
    assert TOKEN.lower() not in str(many).lower()
    assert sum("redacted" in str(said(record)) for record in many) == len(telling) - 1
