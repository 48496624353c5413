"""The commands `lamina erase` and `lamina erasures`, as a person and as a program use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lamina
from lamina.surfaces.cli.main import run
from tests.conftest import quietly


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path))
    with lamina.open("default", user="ana", home=tmp_path) as hers:
        hers.remember("I have diabetes")
    with lamina.open("default", home=tmp_path) as memory:
        memory.remember("Ana was here")
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run(arguments)
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def test_a_request_is_answered_in_one_command(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P5: the preview shows what goes and what mentions the name, the command erases it, the
    certificate is there again."""
    code, shown = told(capsys, "erase", "--user", "ana", "--dry-run")
    assert (code, "I have diabetes" in shown) == (0, True)
    assert "1 memory of others that mentions the name" in shown
    code, shown = told(capsys, "erase", "--user", "ana", "--yes", "--reason", "request 17")
    assert (code, "nothing of it was found in this home afterwards" in shown) == (0, True)
    code, shown = told(capsys, "--json", "erasures", "1")
    certificate = json.loads(shown)
    assert (code, certificate["what"], len(certificate["records"]), certificate["complete"]) == (
        0,
        "user",
        1,
        True,
    )
    code, shown = told(capsys, "inspect", certificate["records"][0])
    assert (code, "[erased]" in shown) == (0, True)
    code, shown = told(capsys, "erasures")
    assert (code, "user" in shown) == (0, True)


def test_an_altered_certificate_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """P4, P5: a certificate that was altered is an error of `erasures`, `audit verify` and
    `doctor`, and each says which."""
    told(capsys, "erase", "--user", "ana", "--yes")
    folder = home / "agents" / "default"
    (folder / "erasures" / "0001.json").unlink()
    code, shown = told(capsys, "audit", "verify")
    assert (code, "?    events  certificate erasures/0001.json: cannot be compared" in shown) == (
        0,
        True,
    )
    quietly(
        folder / "memory.db",
        "UPDATE erasures SET certificate = json_set(certificate, '$.asked_for', 7)",
    )
    for command in (["erasures"], ["erasures", "1"], ["audit", "verify"], ["doctor"]):
        code, shown = told(capsys, *command)
        assert (code, "erasure 1: its certificate was altered" in " ".join(shown.split())) == (
            1,
            True,
        ), command


def test_what_a_fact_was_taken_from_is_shown(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P5: whoever erases a fact is told which turn stays, before and after, and can
    erase that too."""
    with lamina.operator("default", home=home) as operator:
        (turn, *_) = operator.remember_conversation(
            [{"speaker": "Ben", "text": "I live in Porto."}], session="s"
        )
        operator.sleep()
        (fact,) = operator.facts("Ben", "lives_in")
    code, shown = told(capsys, "erase", fact.record, "--dry-run")
    assert (code, f"stays: {turn.id}: what goes was taken from it" in shown) == (0, True)
    code, shown = told(capsys, "--json", "erase", fact.record, "--yes")
    assert (code, [one["id"] for one in json.loads(shown)["kept"]]) == (0, [turn.id])
    code, shown = told(capsys, "erasures", "1")
    assert (code, turn.id in shown) == (0, True)


def test_nobody_to_ask_is_a_no(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """P5: without --yes and without a person, nothing is erased."""
    monkeypatch.setattr("click.confirm", lambda *_, **__: False)
    code, shown = told(capsys, "erase", "--user", "ana")
    assert (code, "nothing was erased" in shown) == (1, True)
    assert told(capsys, "erase", "--user", "ana", "--dry-run")[0] == 0


def test_what_was_not_reached_is_an_exit_code(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P5: 1 when a certificate is not complete, and it says why."""
    (home / "agents" / "default" / "note.txt").write_text("diabetes")
    code, shown = told(capsys, "erase", "--user", "ana", "--yes")
    assert (code, "not reached: agents/default/note.txt" in shown) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["erase", "--yes"], 2, "say what to erase"),
        (["erase", "--user", "ana", "--session", "s", "--yes"], 2, "one of these"),
        (["erase", "--user", "nobody", "--yes"], 3, "nothing of this user"),
        (["erase", "--user", "nobody", "--yes"], 3, "`lamina list --all --speaker NAME`"),
        (["erase", "nonsense", "--yes"], 3, "there is no record"),
        (["--user", "ben", "erase", "--user", "ana", "--yes"], 1, "for the user ben"),
        (["erasures", "7"], 3, "there is no erasure 7"),
        (["erase", "--resume"], 0, "no erasure was interrupted"),
    ],
)
def test_bad_input(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    """P5: wrong requests say what is wrong, with a code that says which kind."""
    assert told(capsys, *arguments)[0] == code
    assert words in told(capsys, *arguments)[1]
