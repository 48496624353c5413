"""Promises to whoever types something else than was meant, or looks through a narrow window."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput
from lamina.surfaces.cli import times
from tests.surfaces.conftest import Call, remembered

OPTION = click.Option(["--since"])


def past(text: str) -> Any:
    return times.past(click.Context(click.Command("list")), OPTION, text)


def in_terminal(home: Path, columns: int, *arguments: str) -> str:
    """What the program prints in a real terminal of so many columns, without colours."""
    ours, theirs = pty.openpty()
    program = [sys.executable, "-m", "lamina.surfaces.cli.main", *arguments]
    environment = {
        **os.environ,
        "LAMINA_HOME": str(home),
        "COLUMNS": str(columns),
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    with subprocess.Popen(
        program, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment
    ):
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not part:
                break
            said += part
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


# options


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (["list", "--agent", "cli"], "lamina --agent cli list"),
        (["list", "--agent=cli"], "lamina --agent cli list"),
        (["review", "list", "--home", "/tmp/a b"], "lamina --home '/tmp/a b' review list"),
        (["list", "--user"], "lamina --user USER list"),
        (["--agent", "sky", "list", "--agent", "cli"], "lamina --agent cli list"),
    ],
)
def test_an_option_of_the_program_after_a_command(call: Call, words: list[str], typed: str) -> None:
    """H1: --agent, --home and --user belong before the command, and the error is what to type."""
    outcome = call(*words)
    assert outcome.code == 2
    assert outcome.err.strip().endswith(f"belongs before the command: {typed}")


@pytest.mark.parametrize("text", ["-5 degrees outside", "--five degrees", "-x"])
def test_a_text_that_begins_with_a_dash(call: Call, text: str) -> None:
    """H1: what is taken for an option and was a text is told with the two dashes that make it one,
    which then help."""
    outcome = call("remember", text)
    assert outcome.code == 2
    assert "put -- before it: lamina remember -- " in outcome.err
    assert call("remember", "--", text).code == 0


def test_a_misspelt_option_has_its_own_hint(call: Call) -> None:
    """H1: an option that looks like another is not taken for a text, and nothing in it
    steers the terminal."""
    assert "'--tag'" in call("remember", "x", "--tga", "y").err
    assert "\x1b" not in call("remember", "-\x1b[31m red").err


# times


@pytest.mark.parametrize(
    ("text", "back"),
    [("12h", timedelta(hours=12)), ("7d", timedelta(days=7)), ("4 w", timedelta(weeks=4))],
)
def test_how_long_ago(text: str, back: timedelta) -> None:
    """H1: --since and --until take a span back from now, written as --expires has it."""
    assert abs(past(text) - (datetime.now(UTC) - back)) < timedelta(hours=1)


def test_days_by_name(call: Call) -> None:
    """H1: today and yesterday begin at midnight in UTC; what was remembered now is since yesterday
    and not until it."""
    assert past("today") - past("yesterday") == timedelta(days=1)
    assert past("today").hour == past("today").minute == 0
    remembered(call, "tea")
    assert len(call("list", "--since", "yesterday", "--json").json) == 1
    assert call("list", "--until", "7d", "--json").json == []
    assert call("search", "tea", "--since", "7d").code == 0


@pytest.mark.parametrize(
    "text", ["lately", "2026-02-30", "7 months", "999999w", "2026-05-01T10:00"]
)
def test_a_time_that_is_none_is_quoted(call: Call, text: str) -> None:
    """H1: an error says what was typed, not what became of it."""
    outcome = call("list", "--since", text)
    assert (outcome.code, f"--since '{text}'" in outcome.err) == (2, True)


@given(
    st.text(max_size=12)
    | st.from_regex(r"[0-9]{1,7} ?[hdw]", fullmatch=True)
    | st.from_regex(r"\d{4}-\d\d-\d\d", fullmatch=True)
)
def test_any_text_for_a_time(text: str) -> None:
    """H1: whatever is typed is a time in UTC, or bad input."""
    try:
        found = past(text)
    except InvalidInput:
        return
    assert found.tzinfo is UTC


# tables


@pytest.fixture
def decided(call: Call, tmp_path: Path) -> Path:
    """A home with a memory that has tags, and one that was forgotten for a reason."""
    tags = ("--tag", "garmin", "--tag", "reports", "--tag", "morning-routine")
    remembered(
        call,
        "User wants daily Garmin reports at 7am, with sleep and heart rate",
        "--importance",
        "0.9",
        *tags,
    )
    gone = remembered(call, "the weather is fine")
    call("forget", gone["id"], "--reason", "it was only a test of the weather station")
    return tmp_path / "home"


def test_a_reason_stays_at_a_hundred_columns(decided: Path) -> None:
    """H1: the trail keeps its reasons in a narrow terminal, goes on in the next line, and says
    which column is not there."""
    shown = in_terminal(decided, 100, "audit", "log")
    assert "reason" in shown.splitlines()[0]
    assert all(word in shown for word in "only test weather station".split())
    assert "not shown at this width: surface" in shown
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize("columns", [60, 80, 100, 140])
def test_no_column_vanishes_silently(decided: Path, columns: int) -> None:
    """H1: every column of a table is shown, or named as not shown; no row is longer
    than the terminal."""
    wanted = {
        "list": "id layer kind content tags imp. when",
        "audit log": "event action actor surface what reason when",
    }
    for command, names in wanted.items():
        shown = in_terminal(decided, columns, *command.split())
        assert all(name in shown for name in names.split())
        assert all(len(line) <= columns for line in shown.splitlines() if "not shown" not in line)


def test_a_dry_run_keeps_where_things_go(decided: Path) -> None:
    """L5, H1: a plan of promotion says where a memory goes, and the whole rule, at
    a hundred columns."""
    shown = in_terminal(decided, 100, "promote", "--dry-run")
    assert "episodic" in shown
    assert "not shown" not in shown
    assert "reaches" in shown


def test_a_pipe_has_no_trailing_spaces(decided: Path, call: Call) -> None:
    """H1: in a pipe each row is one line, as long as its words."""
    for command in (["config"], ["list"], ["audit", "log"]):
        lines = call(*command).out.splitlines()
        assert all(line == line.rstrip() for line in lines)
    assert len(call("audit", "log").out.splitlines()) == 4


# users and agents


def test_a_list_of_several_users_says_whose(call: Call) -> None:
    """P1, H1: without --user the owner of each memory is shown, where there is one; with it
    that is known."""
    remembered(call, "the office is closed")
    assert "user" not in call("list").out.splitlines()[0]
    call("--user", "ana", "remember", "Ana drinks tea")
    header, first, _ = call("list").out.splitlines()
    assert ("user" in header.split(), "ana" in first.split()) == (True, True)
    assert "user" not in call("--user", "ana", "list").out.splitlines()[0].split()


def test_a_misspelt_agent_is_told_who_is_here(call: Call) -> None:
    """H1: nothing found in a memory that is empty names the other agents of the home; in another it
    does not."""
    remembered(call, "tea")
    call("--agent", "sky", "remember", "coffee")
    forgotten = call("--agent", "skye", "remember", "gone", "--json").json["id"]
    call("--agent", "skye", "erase", forgotten, "--yes", "--reason", "a test")
    outcome = call("--agent", "skye", "search", "coffee")
    assert outcome.code == 4
    assert outcome.out.startswith("nothing relevant; this home also has the agents ")
    assert "sky" in outcome.out
    assert call("--agent", "sky", "search", "zebra").out.strip() == "nothing relevant"


# advice


def test_what_cannot_be_undone_says_what_can(call: Call) -> None:
    """V5, H1: an undo says what it did; twice, of an undo, or of a memory, it says what
    to do instead."""
    made = remembered(call, "tea")["id"]
    call("forget", made)
    assert call("undo", "2").out.startswith(f"undid event 2: {made}")
    again = call("undo", "2")
    assert (again.code, "event 2 was undone already" in again.err) == (1, True)
    assert "repeat what event 2 did" in call("undo", "3").err
    assert f"`lamina forget {made}`" in call("undo", "1").err
    assert call("forget", made).code == 0


def test_a_later_change_is_named(call: Call) -> None:
    """V5, H1: what stands in the way of an undo is named with its event, and undoing
    that first works."""
    made = remembered(call, "Ana drinks tea")["id"]
    corrected = call("correct", made, "Ana drinks mate", "--reason", "misheard", "--json").json[
        "id"
    ]
    call("forget", corrected)
    assert "by event 3 ('forget'); `lamina undo 3` first" in call("undo", "2").err
    assert call("undo", "3").code == call("undo", "2").code == 0


def test_a_file_that_is_there_names_the_option(call: Call, tmp_path: Path) -> None:
    """H5: an export does not overwrite, and says with which option it would."""
    target = tmp_path / "out.json"
    target.touch()
    outcome = call("export", str(target))
    assert (outcome.code, "--force" in outcome.err) == (2, True)
    assert call("export", str(target), "--force").code == 0


def test_an_import_of_nothing_fails(call: Call, tmp_path: Path) -> None:
    """H5: when everything in a file is rejected, the exit code is 1 and the known forms are named;
    some is enough for 0."""
    path = tmp_path / "strange.jsonl"
    path.write_text('{"foo": 1}\n', "utf-8")
    outcome = call("import", str(path))
    assert (outcome.code, "nothing was imported" in outcome.err, "mem0" in outcome.err) == (
        1,
        True,
        True,
    )
    assert call("import", str(path), "--json").code == 1
    path.write_text('{"foo": 1}\n{"content": "tea"}\n', "utf-8")
    assert call("import", str(path)).code == 0


def test_a_dry_run_of_compress_shows_every_memory(call: Call) -> None:
    """L9: also what would be left is shown with what it says."""
    remembered(call, "the weather is fine")
    assert "the weather is fine" in call("compress", "--dry-run").out


def test_the_demo_needs_the_plain_package_alone(tmp_path: Path) -> None:
    """`make demo` in a fresh clone installs what the product needs and not what its tests need, and
    says how much that is."""
    repository = Path(__file__).parents[2]
    planned = subprocess.run(
        ["make", "--dry-run", "demo", f"VENV={tmp_path / 'venv'}"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "lamina demo" in planned
    assert "MB" in planned
    assert "[dev]" not in planned


# agents


def test_a_name_that_is_new_is_told_beside_the_others(call: Call) -> None:
    """H1: whoever misspells an agent learns at the first write that it has begun a memory of its
    own, and only then."""
    first = call("remember", "x")
    misspelt = call("--agent", "defualt", "remember", "y")
    again = call("--agent", "defualt", "remember", "z")
    assert (first.err, again.err) == ("", "")
    assert misspelt.err == (
        "attention: this is the first memory of 'defualt'; this home also has the agents default\n"
    )


# what is not installed


@pytest.mark.parametrize(
    ("words", "module", "extra"), [(["serve"], "fastapi", "http"), (["mcp"], "mcp", "mcp")]
)
def test_a_missing_extra_says_how_it_is_installed(
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    module: str,
    extra: str,
) -> None:
    """Whoever lacks a library reads the command that brings it, from the clone and quoted
    for every shell."""
    for name in [name for name in sys.modules if name.startswith("lamina.surfaces.http")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    told = call(*words)
    assert (told.code, told.out) == (1, "")
    assert f'in a clone of Lamina, run `pip install ".[{extra}]"`' in told.err


# Ctrl-C


def test_ctrl_c_while_the_program_loads_is_no_traceback(tmp_path: Path) -> None:
    """Whoever changes their mind at once reads `interrupted`, not our files: the exit code is 130,
    as it is later."""
    (tmp_path / "apsw.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\n"
    )  # one of the first to be loaded
    for started in (["-m", "lamina"], ["-c", "from lamina.__main__ import main; main()"]):
        program = [sys.executable, *started, "search", "tea"]
        environment = {**os.environ, "LAMINA_HOME": str(tmp_path / "home")}
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(tmp_path), os.environ.get("PYTHONPATH", "")]
        )
        ended = subprocess.run(
            program, env=environment, capture_output=True, text=True, check=False
        )
        assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


def test_the_program_that_is_installed_can_be_interrupted() -> None:
    """What `lamina` calls is the small module that hears Ctrl-C before it loads the others."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]
    assert project["scripts"] == {"lamina": "lamina.__main__:main"}
    script = "import sys, lamina; print([one for one in sys.modules if one.startswith('lamina.')])"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "[]\n"


# an agent that is not there


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["search", "tea"],
        ["inspect", "0" * 26],
        ["status"],
        ["facts"],
        ["audit", "log"],
        ["review", "list"],
        ["export"],
    ],
)
def test_reading_makes_no_agent(call: Call, tmp_path: Path, words: list[str]) -> None:
    """H1: a misspelt agent is not found beside those that there are, which are named, and nothing
    is made for it."""
    call("--agent", "sky", "remember", "Ana drinks tea")
    told = call("--agent", "skye", *words)
    assert (told.code, told.out) == (3, "")
    assert "there is no agent skye" in told.err
    assert "which has sky" in told.err
    assert [path.name for path in (tmp_path / "home" / "agents").iterdir()] == ["sky"]


def test_writing_makes_an_agent(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """H1: the first memory of a new agent is stored and told; an agent may look
    before it remembers."""
    call("--agent", "sky", "remember", "Ana drinks tea")
    assert (
        "first memory of 'aegis'" in call("--agent", "aegis", "remember", "Ben drinks coffee").err
    )
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    monkeypatch.setenv("LAMINA_AGENT", "newcomer")
    assert call("list", "--json").json == []


def test_a_first_look_at_an_empty_home_is_no_error(call: Call) -> None:
    """H1: where nobody has a memory, a name cannot be misspelt."""
    told = call("list")
    assert (told.code, told.out) == (0, "no memories here\n")


def test_a_home_that_was_not_there_is_told(call: Call, tmp_path: Path) -> None:
    """H1: a misspelt home looks like an empty memory, unless the command says that it is new."""
    for place, is_told in (("nope", True), ("nope", False), ("home", False)):
        command = "remember" if place == "home" else "search"
        told = call("--home", str(tmp_path / place), command, "tea")
        assert (f"there was no home {tmp_path / place}" in told.err) == is_told
    failed = call("--home", str(tmp_path / "other"), "facts", "Ana", "--json")
    assert json.loads(failed.err)["error"]["code"] == "not_found"


def test_agents_are_listed(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """H1: name, active memories, size and last change of each; one that is damaged is told; only
    operators may ask."""
    assert call("agents").out.startswith("no agents in ")
    call("--agent", "sky", "remember", "Ana drinks tea")
    forgotten = call("--agent", "sky", "remember", "gone", "--json").json
    call("--agent", "sky", "forget", forgotten["id"])
    call("--agent", "aegis", "remember", "Ben drinks coffee")
    aegis, sky = call("agents", "--json").json
    assert (aegis["name"], aegis["memories"], sky["name"], sky["memories"]) == (
        "aegis",
        1,
        "sky",
        1,
    )
    assert sky["bytes"] > 0
    assert sky["changed_at"] > forgotten["created_at"]
    (tmp_path / "home" / "agents" / "aegis" / "memory.db").write_bytes(b"no database" * 1000)
    told = call("agents")
    assert (told.code, "lamina restore" in told.out, "sky" in told.out) == (0, True, True)
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    assert call("agents").code == 1


def test_old_attempts_are_no_warning_any_more(call: Call, tmp_path: Path) -> None:
    """P2: doctor and status speak of the last 30 days, and name the command that lists
    all of them."""
    remembered(call, "tea")
    entry = {
        "at": "2020-01-01T00:00:00.000000Z",
        "actor": "agent:sky",
        "surface": "cli",
        "attempt": "open",
        "value": "aegis",
    }
    log = tmp_path / "home" / "violations.jsonl"
    log.write_text(json.dumps(entry) + "\n")
    log.chmod(0o600)
    assert "isolation    no attempt to cross a boundary in the last 30 days" in call("doctor").out
    assert "violations" not in call("status").out
    assert "aegis" in call("audit", "violations").out
    log.write_text(
        json.dumps({**entry, "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.000000Z}"}) + "\n"
    )
    assert (
        "1 attempt to cross a boundary in the last 30 days; `lamina audit violations` lists them"
        in call("doctor").out
    )
    assert "violations in the last 30 days" in call("status").out


# narrow terminals


@pytest.mark.parametrize("columns", [50, 70, 84])
def test_a_narrow_plan_says_where_things_go(decided: Path, columns: int) -> None:
    """L5, H1: where a memory goes is the point of a dry run; what is cut is marked, and the rule is
    named as not shown."""
    shown = in_terminal(decided, columns, "promote", "--dry-run")
    assert "episodic" in shown
    assert "…" in shown
    assert f"not shown at this width: {'action, ' if columns < 84 else ''}rule" in shown
    assert all(len(line) <= columns for line in shown.splitlines() if "not shown" not in line)


@pytest.mark.parametrize("columns", [40, 60, 70, 90])
def test_what_a_narrow_trail_does_not_show_is_told(decided: Path, columns: int) -> None:
    """H1: a column of the trail is there with all its words, or named as not shown;
    none is blank."""
    shown = in_terminal(decided, columns, "audit", "log", "--limit", "1")
    head, row, *_ = shown.splitlines()
    told = next((line for line in shown.splitlines() if "not shown" in line), "")
    assert all(
        (name in head.split()) is not (name in told)
        for name in ("reason", "actor", "surface", "action", "event")
    )
    assert row.split()[0] == "3"
    assert "reason" in told or all(word in shown for word in "only test weather station".split())


def test_an_empty_column_goes_first(call: Call, tmp_path: Path) -> None:
    """H1: a column without a single value is left out before any other, and nobody has
    to be told."""
    remembered(
        call,
        (
            "User wants daily Garmin reports at 7am, with sleep and heart rate, and the weather "
            "of the day before"
        ),
    )
    shown = in_terminal(tmp_path / "home", 100, "list")
    assert "imp." in shown.splitlines()[0]
    assert "tags" not in shown
    assert "not shown" not in shown


def test_a_path_is_never_broken(call: Call, tmp_path: Path) -> None:
    """H1: whoever copies a path out of a narrow terminal has the whole of it."""
    remembered(call, "tea")
    made = call("backup").out.split()[-1]
    home = tmp_path / "home"
    shown = in_terminal(home, 50, "status").splitlines()
    assert f"home    {home}" in shown
    assert f"place   {home}/agents/default/memory.db" in shown
    assert made in in_terminal(home, 50, "restore").splitlines()


# what to do next


@pytest.mark.parametrize(
    ("words", "code", "advice"),
    [
        (["remember", "hello", "world"], 2, "put a text of several words in quotes"),
        (
            ["remember", "hi", "--layer", "semantic"],
            2,
            """--meta origin=… --meta 'topic_tags=["…"]'""",
        ),
        (
            ["remember", "hi", "--at", "tomorrow"],
            2,
            "or give a day, or say how long ago, such as 12h, 7d, 4w or yesterday",
        ),
        (
            ["facts", "Ben", "--as-of", "once"],
            2,
            "or give a day, or say how long ago, such as 12h, 7d, 4w or yesterday",
        ),
        (
            ["token", "create", "--expires", "0"],
            2,
            "or say after how long, such as 12h, 30d or 4w, or give a day",
        ),
        (["erase"], 2, "ids of records, or --session, --user, --source or --project"),
    ],
)
def test_an_error_says_what_to_type(call: Call, words: list[str], code: int, advice: str) -> None:
    """H1: what is wrong is told with what would be right, in the words of the command line."""
    remembered(call, "tea")
    told = call(*words)
    assert (told.code, told.out) == (code, "")
    assert advice in told.err


def test_quotes_are_only_advised_for_texts(call: Call) -> None:
    """H1: where a command takes an id, or nothing, quotes would not help."""
    for words in (["inspect", "0" * 26, "1" * 26], ["prune", "0" * 26]):
        told = call(*words)
        assert (told.code, "quotes" in told.err) == (2, False)


def test_what_was_advised_works(call: Call) -> None:
    """H1: the metadata of a layer and the times are taken as the errors name them."""
    remembered(
        call,
        "tea grows in Assam",
        "--layer",
        "semantic",
        "--meta",
        "origin=book",
        "--meta",
        'topic_tags=["tea"]',
    )
    remembered(call, "it rained", "--at", "yesterday")
    assert call("facts", "--as-of", "yesterday").code == 0
    assert call("search", "tea", "--known-at", "7d").code == 4
    assert call("search", "tea", "--known-at", "0h").code == 0


def test_an_empty_file_is_called_empty(call: Call, tmp_path: Path) -> None:
    """H5: an import of nothing says so."""
    (tmp_path / "empty.json").write_text("\n")
    told = call("import", str(tmp_path / "empty.json"))
    assert (told.code, "empty.json is empty" in told.err) == (2, True)


def test_inspect_shows_the_words_of_the_evidence(call: Call) -> None:
    """H1: evidence that is a memory stands with what it says, one line each; a path stands
    as it is."""
    said = remembered(call, "I drink\ntea, said Ana")["id"]
    made = remembered(call, "Ana drinks tea", "--evidence", said, "--evidence", "./notes.md")["id"]
    lines = call("inspect", made).out.splitlines()
    (place,) = [number for number, line in enumerate(lines) if line.startswith("evidence")]
    assert lines[place].split(maxsplit=1)[1] == f"{said}: I drink tea, said Ana"
    assert lines[place + 1].strip() == "./notes.md"
    assert call("inspect", made, "--json").json["evidence"] == [said, "./notes.md"]
