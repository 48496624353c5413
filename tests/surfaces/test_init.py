"""Promises about beginning: a person is asked once, a script never, and jobs run by themselves."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from lamina.errors import InvalidInput
from lamina.home import calls, settings, settings_file
from lamina.home.folder import Home
from lamina.model.clock import system_clock
from lamina.surfaces import maintenance
from lamina.surfaces.cli.main import run
from tests.conftest import START, Desk

Said = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def typed(answers: str, *words: str, **variables: str) -> str:
    """Run the program in a terminal in which somebody types, and return what the terminal shows."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "lamina", *words],
        stdin=child,
        stdout=child,
        stderr=child,
        env={**os.environ, "TERM": "dumb", **variables},
        start_new_session=True,
    )
    os.close(child)
    os.write(parent, answers.encode())
    shown = b""
    with suppress(OSError):  # the end of a terminal is an error on Linux
        while piece := os.read(parent, 4096):
            shown += piece
    process.wait()
    os.close(parent)
    return shown.decode()


def test_a_script_is_never_asked(home: Path, capsys: Said) -> None:
    """Without a terminal the options say it all, and later commands take them from the file (H6)."""
    assert run(["--agent", "sky", "--user", "ana", "init", "--no-jobs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "home": str(home),
        "agent": "sky",
        "user": "ana",
        "maintenance": "off",
    }
    assert run(["remember", "tea at four", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["user"] == "ana"
    assert [*Home(home).agents()] == ["sky"]
    assert run(["--agent", "other", "remember", "coffee", "--json"]) == 0
    assert sorted(Home(home).agents()) == ["other", "sky"]


def test_a_wrong_name_leaves_no_trace(home: Path, capsys: Said) -> None:
    """A name that no agent can have is refused before a file is made (H6)."""
    assert run(["--agent", "../sky", "init"]) != 0
    assert "../sky" in capsys.readouterr().err
    assert not home.exists()


@pytest.mark.usefixtures("home")
def test_a_person_is_asked_once(home: Path) -> None:
    """The first `remember` in a terminal asks for agent, user and jobs, again after a wrong answer;
    the second does not, and neither does one in CI or with --json (H6)."""
    assert "name of the agent" not in typed("", "remember", "tea", CI="true")
    assert "name of the agent" not in typed("", "--home", f"{home}2", "remember", "tea", "--json")
    fresh = f"{home}3"
    shown = typed("../x\nsky\nana\nn\n", "--home", fresh, "remember", "tea at four")
    assert shown.count("name of the agent") == 2
    assert "remembered" in shown
    values = settings.load(Path(fresh), environment={})
    assert (values["agent"], values["user"], values["maintenance"]) == ("sky", "ana", "off")
    assert [*Home(Path(fresh)).agents()] == ["sky"]
    assert "name of the agent" not in typed("", "--home", fresh, "remember", "coffee")
    shown = typed("\n\ny\n", "--home", fresh, "init")
    assert "the agent sky keeps its memory of ana" in shown
    assert settings.load(Path(fresh), environment={})["maintenance"] == "auto"


FILES = (
    ("", 'agent = "sky"\n'),
    ("# mine\n[audit]\nreads = 'strict'\n", "agent = \"sky\"\n# mine\n[audit]\nreads = 'strict'\n"),
    ("x = 1\nagent = 'old' # why\n", 'x = 1\nagent = "sky"\n'),
    ("agent='sky'\n", "agent='sky'\n"),
)


def test_the_settings_keep_their_form() -> None:
    """A value changes in its line or comes first; comments and tables stay (H6)."""
    for before, after in FILES:
        assert settings_file.put(before, "agent", "sky") == after
    with pytest.raises(InvalidInput, match="only you can change"):
        settings_file.put('text = """\nagent = 1\n"""\n', "agent", "sky")


def test_a_next_run_is_one_that_somebody_does(desk: Desk) -> None:
    """With maintenance a due job is shown with its next run; without it, only if some program has
    run it of late (L6)."""
    with desk.operator(settings={"maintenance": "auto"}) as operator:
        assert all(job.next_run for job in operator.jobs())
    with desk.operator(settings={"maintenance": "off"}) as operator:
        assert [job.next_run for job in operator.jobs()] == [None] * 6
        operator.orchestrator().tick()
        shown = {job.job: job.next_run for job in operator.jobs()}
        assert shown["embedding"] is not None
        desk.clock.jump(timedelta(days=1))
        assert [job.next_run for job in operator.jobs()] == [None] * 6


def test_jobs_run_by_themselves() -> None:
    """Unless a person switches it off, what is due is started (L6, H6)."""
    assert settings.defaults()["maintenance"] == "auto"


def test_a_server_starts_what_is_due(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server looks now and then, and starts the jobs in a process of their own (L6)."""
    started: list[str] = []
    monkeypatch.setattr(
        maintenance, "start_if_due", lambda jobs, home, agent, earlier: started.append(agent)
    )
    looks = iter((False, False, True))
    stop = threading.Event()
    monkeypatch.setattr(stop, "wait", lambda seconds: next(looks))
    for value, expected in (("off", []), ("auto", ["sky", "sky"])):
        looks = iter((False, False, True))
        maintenance.keep_starting(
            lambda value=value: desk.operator(settings={"maintenance": value}),  # type: ignore[misc]
            desk.home,
            "sky",
            stop,
        )
        assert started == expected


def test_the_doctor_says_who_calls(home: Path, capsys: Said) -> None:
    """One line each says which agents are connected, when a hook was last called and when the tools
    were last started; what is missing is a warning that says what to do (H6)."""

    def lines() -> dict[str, tuple[str, str]]:
        capsys.readouterr()
        run(["doctor", "--json"])
        found = json.loads(capsys.readouterr().out)
        return {one["check"]: (one["level"], one["message"]) for one in found}

    assert lines()["agents"] == ("ok", "none is connected; see `lamina install --list`")
    run(["install", "claude-code", "--yes"])
    found = lines()
    assert found["agents"] == ("ok", "claude-code is connected")
    assert found["hooks"][0] == found["tools"][0] == "warn"
    place = Home(home)
    calls.note(place, "default", calls.HOOK, system_clock() - timedelta(minutes=2, seconds=5))
    calls.note(place, "default", calls.TOOLS, system_clock())
    found = lines()
    assert found["hooks"] == ("ok", "last call 2 minutes ago")
    assert found["tools"] == ("ok", "last start just now")
    (Path.home() / ".claude" / "settings.json").write_text("{}", "utf-8")
    level, message = lines()["agents"]
    assert level == "warn"
    assert "settings.json; run `lamina install claude-code`" in message
    run(["uninstall", "claude-code", "--yes"])


def test_a_hook_leaves_the_time_of_its_call(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    """A call of a hook is noted for the doctor; a home that is not there is not made for it (H6)."""
    calls.note(Home(home), "sky", calls.HOOK, START)
    assert not home.exists()
    process = subprocess.run(
        [sys.executable, "-m", "lamina", "--agent", "sky", "hook", "user-prompt"],
        input=b'{"prompt": "hello", "session_id": "s"}',
        capture_output=True,
        check=True,
    )
    assert process.stdout == b"{}\n"
    assert calls.last(Home(home), "sky", calls.HOOK) is not None
    assert (home / "status" / "sky_hook.seen").stat().st_mode & 0o777 == 0o600
