"""Promises of the command line: words in, tables or JSON out, and exit codes
that mean something."""

from __future__ import annotations

import inspect
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from lamina.surfaces.cli.main import FILE_OF, cli, memory
from tests.surfaces.conftest import Call, remembered


def test_remember_prints_the_record_as_json(call: Call) -> None:
    """`remember --json` prints a record with the names of R1, times in ISO-8601 with Z, and the
    score (R1, R4, H1)."""
    record = remembered(
        call,
        "Sleep improved",
        "--score",
        "8",
        "--tag",
        "Sleep ",
        "--meta",
        "category=health",
        "--meta",
        "retry=1",
    )
    assert (record["importance"], record["score"]) == (0.8, 8)
    assert record["tags"] == ["sleep"]
    assert record["metadata"] == {"category": "health", "retry": 1}
    assert record["created_at"].endswith("Z")
    assert record["trust"] == "operator"


def test_remember_reads_standard_input(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With - the text comes from standard input (H1)."""
    source = tmp_path / "input.txt"
    source.write_text("from a pipe: 日本語", "utf-8")
    with source.open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert remembered(call, "-")["content"] == "from a pipe: 日本語"


def test_a_key_stores_once(call: Call) -> None:
    """The same --key returns the same record; another text under it is a conflict with exit
    code 1 (L1)."""
    first, again = (remembered(call, "once", "--key", "k") for _ in range(2))
    assert first["id"] == again["id"]
    assert call("remember", "twice", "--key", "k").code == 1


def test_list_and_inspect_show_what_was_stored(call: Call) -> None:
    """`list` shows records newest first, `inspect` one with its history (H1)."""
    old, new = remembered(call, "older"), remembered(call, "newer", "--evidence", "./notes.md")
    assert [record["id"] for record in call("list", "--json").json] == [new["id"], old["id"]]
    shown = call("inspect", new["id"], "--json").json
    assert shown["evidence"] == ["./notes.md"]
    assert [event["action"] for event in shown["history"]] == ["remember"]
    table = call("inspect", new["id"]).out
    assert "newer" in table
    assert "operator:" in table


def test_memories_of_one_speaker_are_listed(call: Call) -> None:
    """`list --speaker` shows what one person said, and nobody else's (H1)."""
    said = remembered(call, "I live in Porto", "--speaker", "Ana")
    remembered(call, "I live in Oslo", "--speaker", "Ben")
    assert [one["id"] for one in call("list", "--speaker", "Ana", "--json").json] == [said["id"]]
    assert call("list", "--speaker", "Zoe").out == "no memory matches\n"


def test_search_finds_explains_and_abstains(call: Call) -> None:
    """A search prints hits with parts that add up; no match prints so and exits with 4
    (Q3, Q6, Q7)."""
    remembered(call, "User wants daily Garmin reports at 7am", "--importance", "0.9")
    found = call("search", "garmin", "--json")
    (hit,) = found.json["hits"]
    assert found.json["outcome"] == "found"
    assert sum(hit["parts"].values()) == pytest.approx(hit["score"])
    assert "words" in call("search", "garmin", "--explain").out
    nothing = call("search", "zebra")
    assert (nothing.code, nothing.out.strip()) == (4, "nothing relevant")
    answer = call("search", "zebra", "--json").json
    assert (answer["outcome"], answer["hits"]) == ("nothing_relevant", [])
    assert answer["confidence"] < 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["remember", "x", "--importance", "nan"], 2),
        (["remember", "x", "--importance", "high"], 2),
        (["remember", "x", "--importance", "1.1"], 2),
        (["remember", "x", "--score", "11"], 2),
        (["remember", "  "], 2),
        (["remember", "x", "--kind", "poem"], 2),
        (["remember", "x", "--layer", "attic"], 2),
        (["remember", "x", "--meta", "novalue"], 2),
        (["remember", "x", "--at", "some day"], 2),
        (["remember", "x", "--layer", "profile"], 2),
        (["search", "x", "--limit", "0"], 2),
        (["search", "x", "--ranker", "magic"], 2),
        (["inspect", "nope"], 3),
        (["import", "/nowhere/at/all.json"], 3),
        (["restore", "/nowhere", "--yes"], 3),
        (["audit", "verify", "--head", "/nowhere"], 2),
        (["--agent", "../x", "list"], 2),
        (["frobnicate"], 2),
        (["remember"], 2),
    ],
)
def test_bad_input_has_one_shape_and_a_code(
    call: Call, arguments: Sequence[str], code: int
) -> None:
    """Bad input exits with its code, prints one JSON error on stderr with --json, and stores
    nothing (H1)."""
    outcome = call(*arguments, "--json")
    assert outcome.code == code
    error = json.loads(outcome.err)["error"]
    assert error["code"]
    assert error["message"]
    assert outcome.out == ""
    assert call("list", "--all", "--json").json == []


def test_a_long_task_is_closed_later(call: Call, tmp_path: Path) -> None:
    """A run of a process that died is listed and closed from the command line (L10)."""
    code = (
        "import lamina, os; run = lamina.open('default').run('report'); run.note('half done'); "
        "os._exit(9)"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        env={**os.environ, "LAMINA_HOME": str(tmp_path / "home")},
    )
    (run_entry,) = call("runs", "list", "--json").json
    assert (run_entry["task"], run_entry["note_count"]) == ("report", 1)
    ending = call("runs", "close", run_entry["id"], "--failed", "the process died", "--json").json
    assert ending["layer"] == "episodic"
    assert "the process died" in ending["content"]
    assert call("runs", "list").out.strip() == "no open runs"
    assert call("runs", "close", run_entry["id"]).code == 3


def test_export_import_restore_everything(call: Call, tmp_path: Path) -> None:
    """Export, import into an empty home and export again gives the same bytes (H5)."""
    remembered(call, "kept", "--tag", "a")
    first, second = tmp_path / "one.json", tmp_path / "two.json"
    assert call("export", str(first)).code == 0
    other = str(tmp_path / "other")
    assert (
        call("--home", other, "import", str(first), "--trust", "--json").json["mode"] == "restored"
    )
    assert call("--home", other, "export", str(second)).code == 0
    assert first.read_bytes() == second.read_bytes()


def test_an_export_into_a_work_tree_is_refused(call: Call, tmp_path: Path) -> None:
    """Private memories do not go into a repository unless they are public or it is
    forced (H5, B6)."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    target = str(tmp_path / "repo" / "memories.json")
    remembered(call, "private")
    assert call("export", target).code == 1
    assert call("export", target, "--public").code == 0
    assert call("export", target, "--force").code == 0


def test_backup_and_restore(call: Call, tmp_path: Path) -> None:
    """A restored backup is the store as it was, and the trail says that it was restored (B1)."""
    kept = remembered(call, "kept")
    backup = str(tmp_path / "backup")
    assert call("backup", backup).code == 0
    remembered(call, "too much")
    assert call("restore", backup, "--yes").code == 0
    assert [record["id"] for record in call("list", "--json").json] == [kept["id"]]
    assert call("audit", "log", "--json").json[0]["action"] == "restore"
    assert call("audit", "verify").code == 0


def test_verify_fails_with_a_head_of_another_history(call: Call, tmp_path: Path) -> None:
    """A head that was kept elsewhere exposes a history that was replaced (P4)."""
    remembered(call, "one")
    backup = str(tmp_path / "backup")
    call("backup", backup)
    remembered(call, "two")
    head = tmp_path / "head.json"
    head.write_text(call("audit", "head").out, "utf-8")
    assert call("audit", "verify", "--head", str(head)).code == 0
    call("restore", backup, "--yes")
    outcome = call("audit", "verify", "--head", str(head))
    assert outcome.code == 1
    assert "event 2" in outcome.out


def test_reads_are_in_the_trail(call: Call) -> None:
    """`audit log --reads` shows who searched for what (P4)."""
    remembered(call, "Garmin")
    call("search", "garmin")
    reads = call("audit", "log", "--reads", "--json").json
    assert [(read["action"], read["note"].get("query")) for read in reads] == [("search", "garmin")]


def test_an_agent_is_refused_operator_verbs(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """LAMINA_ROLE=agent leaves remember and search, and refuses what only an operator
    may do (V7)."""
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    assert remembered(call, "said by an agent")["trust"] == "agent"
    for verb in (
        ["export"],
        ["backup"],
        ["audit", "verify"],
        ["restore", "x", "--yes"],
        ["import", "x"],
        ["reindex"],
    ):
        outcome = call(*verb, "--json")
        assert outcome.code == 1, verb
        assert json.loads(outcome.err)["error"]["code"] == "refused"
    assert call("remember", "x", "--layer", "world").code == 1
    monkeypatch.setenv("LAMINA_ROLE", "king")
    assert call("list").code == 2


def test_status_shows_bytes_and_counts(call: Call) -> None:
    """`status` counts records by layer and state, and bytes by part (B7)."""
    remembered(call, "one")
    status = call("status", "--json").json
    assert status["records"] == {"short_term": {"active": 1}}
    assert status["bytes"]["memory.db"] > 0
    assert "memory.db" in call("status").out


def test_doctor_is_content_with_a_new_home(call: Call) -> None:
    """`doctor` creates nothing, finds nothing wrong with a healthy store, and exits with
    0 (B1, B6)."""
    assert call("doctor").code == 0
    remembered(call, "one")
    findings = call("doctor", "--json").json
    assert {finding["level"] for finding in findings} == {"ok"}


def test_doctor_creates_nothing(call: Call, tmp_path: Path) -> None:
    """Looking does not make a home (B6)."""
    call("doctor")
    assert not (tmp_path / "home").exists()


def test_config_tells_where_values_come_from(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """`config` shows each setting's value and its origin."""
    monkeypatch.setenv("LAMINA_AUDIT_READS", "strict")
    settings = {entry["name"]: entry for entry in call("config", "--json").json}
    assert (settings["audit.reads"]["value"], settings["audit.reads"]["origin"]) == (
        "strict",
        "LAMINA_AUDIT_READS",
    )


def test_stored_text_cannot_steer_the_terminal(call: Call) -> None:
    """Escape sequences and invisible characters are printed as their names (H1)."""
    record = remembered(call, "red \x1b[31m alert \u200b\u202e hidden")
    for outcome in (
        call("list"),
        call("inspect", record["id"]),
        call("search", "alert", "--explain"),
    ):
        assert "\x1b[31m" not in outcome.out
        assert "<U+001B>" in outcome.out
        assert "<U+202E>" in outcome.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(call: Call, shell: str) -> None:
    """Each shell gets a script that names the program (H1)."""
    assert "_LAMINA_COMPLETE" in call("completion", shell).out


def test_a_closed_pipe_is_not_a_traceback(tmp_path: Path) -> None:
    """`lamina list | head` ends quietly when the reader goes away (H1)."""
    environment = {**os.environ, "LAMINA_HOME": str(tmp_path)}
    fill = (
        "import lamina; lamina.open('default').remember_many({'content': f'memory {n}'} for n "
        "in range(5000))"
    )
    subprocess.run([sys.executable, "-c", fill], check=True, env=environment)
    command = f"{sys.executable} -m lamina.surfaces.cli.main list --limit 5000 | head -1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env=environment, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("id ")


def test_users_are_kept_apart(call: Call) -> None:
    """--user limits reading and writing to one person's memories and those of nobody
    in particular (R12)."""
    hers = call("--user", "ana", "remember", "Ana's secret", "--json").json
    remembered(call, "for everybody")
    assert [record["content"] for record in call("--user", "ben", "list", "--json").json] == [
        "for everybody"
    ]
    assert call("--user", "ben", "inspect", hers["id"]).code == 3
    assert len(call("--user", "ana", "list", "--json").json) == 2


def test_a_damaged_store_can_be_restored(call: Call, tmp_path: Path) -> None:
    """A store that cannot be opened is set aside whole, and the backup takes its place (B1)."""
    kept = remembered(call, "kept")
    backup = str(tmp_path / "backup")
    call("backup", backup)
    damaged = tmp_path / "home" / "agents" / "default" / "memory.db"
    damaged.write_bytes(b"\0" * 5000)
    assert call("list").code == 1
    outcome = call("restore", backup, "--yes")
    assert outcome.code == 0, outcome.err
    assert "damaged" in outcome.out
    assert [record["id"] for record in call("list", "--json").json] == [kept["id"]]
    assert call("audit", "verify").code == 0
    (aside,) = (tmp_path / "home" / "agents" / "default" / "damaged").iterdir()
    assert (aside / "memory.db").read_bytes() == b"\0" * 5000


def test_a_lost_store_is_not_silently_replaced(call: Call, tmp_path: Path) -> None:
    """When memory.db is gone but reads.db is there, opening says so instead of
    starting anew (B1)."""
    remembered(call, "kept")
    call("search", "kept")
    for path in (tmp_path / "home" / "agents" / "default").glob("memory.db*"):
        path.unlink()
    outcome = call("list")
    assert outcome.code == 1
    assert "lamina restore" in outcome.err


def test_an_agent_that_knows_its_name_gets_no_other_memory(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With LAMINA_ROLE=agent and LAMINA_AGENT another agent's memory does not exist, and the
    attempt is logged (P2, V7)."""
    call("--agent", "aegis", "remember", "secret of aegis")
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    monkeypatch.setenv("LAMINA_AGENT", "sky")
    outcome = call("--agent", "aegis", "list")
    assert outcome.code == 3
    assert "secret" not in outcome.out + outcome.err
    assert "aegis" in (tmp_path / "home" / "violations.jsonl").read_text("utf-8")
    assert call("list").code == 0


def test_a_day_is_a_time(call: Call) -> None:
    """A bare date means the start of that day in UTC, for --at, --since and --until (H1)."""
    remembered(call, "on the first", "--at", "2026-11-01")
    remembered(call, "on the third", "--at", "2026-11-03")
    found = call("list", "--since", "2026-11-01", "--until", "2026-11-02", "--json").json
    assert [record["occurred_at"] for record in found] == ["2026-11-01T00:00:00.000000Z"]


def test_a_full_output_is_not_a_traceback(tmp_path: Path) -> None:
    """An output that cannot be written ends with a sentence and exit code 1 (H1)."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    command = f"{sys.executable} -m lamina.surfaces.cli.main config > /dev/full"
    environment = {**os.environ, "LAMINA_HOME": str(tmp_path)}
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "cannot be written" in done.stderr


def test_backups_are_listed_and_nothing_is_restored_unasked(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`restore` without a path lists the backups; without a yes it changes nothing (B1, H1)."""
    remembered(call, "x")
    made = call("backup", "--json").json["path"]
    assert call("restore", "--json").json == [made]
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    assert call("restore", made).code == 1
    assert [event["action"] for event in call("audit", "log", "--json").json] == ["remember"]


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command of a group and of the groups in it, as it is typed; those under `memory` are
    the same ones again."""
    for name in group.list_commands(click.Context(group)):
        command = group.commands[name]
        if command is memory:
            continue
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}".strip(), command


def test_a_command_is_a_function_with_its_name() -> None:
    """A stack trace names the command: `lamina review list` is the function `review_list` in a file of the table."""
    for path, command in commands(cli):
        function = inspect.unwrap(command.callback or cli)
        assert function.__name__.rstrip("_") == path.replace(" ", "_").replace("-", "_")
        assert function.__module__ == f"lamina.surfaces.cli.{FILE_OF[path.split()[0]]}"


def test_a_command_loads_no_other() -> None:
    """A short command imports its own file and what all share: it must not wait for the others."""
    script = (
        "import sys; from lamina.surfaces.cli.main import run; run(['key', 'status'])\n"
        "print(*(name for name in sys.modules if name.startswith('lamina.surfaces.cli.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name.rpartition(".")[2] for name in done.stdout.splitlines()[-1].split()}
    assert loaded == {"main", "invocation", "options", "output", "times", "key"}
