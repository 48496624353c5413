"""Promises of the commands that move memories: what they show before, what they ask, what they did,
and how they exit."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.conftest import Call, remembered

AGENT_FOLDER = Path("home", "agents", "default")
DECISION = {"id", "action", "layer", "rule", "importance", "threshold", "twin"}
FILE = {"number", "file", "why", "lines", "made_at", "sha256"}


@pytest.fixture
def filled(call: Call) -> Call:
    """A home with one memory that deserves promotion and two that do not."""
    remembered(
        call,
        "User wants daily Garmin reports",
        "--importance",
        "0.9",
        "--kind",
        "preference",
        "--tag",
        "garmin",
    )
    remembered(call, "Garmin sleep data read", "--importance", "0.2", "--meta", "tool=downloader")
    remembered(call, "hello", "--importance", "0.1")
    return call


@pytest.fixture
def pruned(filled: Call) -> Call:
    """The same home after the two unimportant ones have left."""
    assert filled("prune", "--below", "0.5", "--yes").code == 0
    return filled


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def error(outcome: Any) -> dict[str, Any]:
    """The error of a command that was told to print JSON, and printed nothing else."""
    assert outcome.out == ""
    told: dict[str, Any] = json.loads(outcome.err)["error"]
    return told


def listed(call: Call) -> list[str]:
    return [record["content"] for record in call("list", "--all", "--json").json]


# promote


def test_promote_tells_what_it_did(filled: Call) -> None:
    """`promote` says it in one line, `--json` in the five fields (L5, H1)."""
    assert filled("promote").out == "promoted 1 at 0.70, nothing was rotated, 2 remain\n"
    done = {"ok": True, "promoted": 0, "rotated": False, "remaining": 2, "threshold": 0.7}
    assert filled("promote", "--json").json == done


def test_a_dry_run_shows_the_rule_for_each(filled: Call) -> None:
    """`promote --dry-run` shows for every entry what would be done and why, what moves first, and
    changes nothing (L7)."""
    outcome = filled("promote", "--dry-run")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert "importance 0.90 reaches 0.70" in lines[1]
    assert "promote" in lines[1]
    assert sum("is below 0.70" in line for line in lines) == 2
    assert lines[-2:] == [
        "1 to promote, 2 to keep",
        "`lamina promote ID` promotes one that is kept, whatever its importance",
    ]
    assert {record["layer"] for record in filled("list", "--json").json} == {"short_term"}


def test_a_dry_run_as_json(filled: Call) -> None:
    """`--json` gives a list with one decision for each entry, in the order in which they
    came (L7, H1)."""
    first, *others = filled("promote", "--dry-run", "--json").json
    assert [one.keys() for one in (first, *others)] == [DECISION] * 3
    assert (first["action"], first["layer"], first["rule"]) == (
        "promote",
        "semantic",
        "importance 0.90 reaches 0.70",
    )
    assert {(one["action"], one["layer"], one["twin"]) for one in others} == {("keep", None, None)}


def test_a_dry_run_names_every_rule(filled: Call, tmp_path: Path) -> None:
    """Tags, twins and rotation explain themselves too (L7)."""
    rules = "short_term_max_lines: 1\npromote_tags: [goal]\ndeduplicate: 0.95\n"
    (tmp_path / "home" / "retention_rules.yaml").write_text(rules)
    remembered(filled, "a goal", "--importance", "0.1", "--tag", "goal")
    twin = remembered(
        filled, "User wants daily Garmin reports", "--importance", "0.8", "--kind", "preference"
    )
    decided = {one["id"]: one for one in filled("promote", "--dry-run", "--json").json}
    said = [one["rule"] for one in decided.values()]
    assert said[1] == "the oldest, beyond the most that short-term memory holds"
    assert said[3] == "the tag goal always promotes"
    assert decided[twin["id"]]["twin"] == next(iter(decided))
    assert (
        decided[twin["id"]]["rule"]
        == f"says the same as {next(iter(decided))}, and joins it as evidence"
    )
    table = filled("promote", "--dry-run").out
    assert table.splitlines()[-2] == "2 to promote, 1 to join, 1 to rotate, 1 to keep"
    assert (
        filled("promote").out == "promoted 2 at 0.70, archived 1 joined and 1 rotated, 1 remain\n"
    )


def test_a_long_dry_run_is_cut(filled: Call) -> None:
    """`--limit` bounds the lines, and the end says of how many; nothing at all is said
    as such (H1)."""
    out = filled("promote", "--dry-run", "--limit", "1").out
    assert (
        out.splitlines()[-2] == "1 to promote, 2 to keep; the first 1 of 3 are shown, see --limit"
    )
    assert filled("promote", "--dry-run", "--limit", "0").code == 2
    filled("prune", "--layer", "short_term", "--yes")
    assert filled("promote", "--dry-run").out == "short-term memory is empty\n"
    assert filled("promote", "--dry-run", "--json").json == []


def test_an_agent_may_promote(filled: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promotion is no privilege (V7)."""
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    assert filled("promote", "--json").json["promoted"] == 1


def test_a_person_promotes_one(filled: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """L2, V7: `promote ID` moves that one and no other; it is for operators, takes a part of an id,
    and refuses what is not short-term memory."""
    hello = filled("list", "--json").json[0]["id"]
    done = filled("promote", hello[-6:])
    assert done.out.startswith(f"promoted {hello}  episodic  active")
    assert len(filled("list", "--layer", "short_term", "--json").json) == 2
    again = filled("promote", hello)
    assert (again.code, "episodic memory" in again.err) == (1, True)
    assert filled("promote", "0" * 26).code == 3
    assert filled("promote", hello, "--dry-run").code == 2
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    refused = filled("promote", hello)
    assert (refused.code, "for operators" in refused.err) == (1, True)


def test_promote_tells_that_it_could_not_tell(filled: Call, tmp_path: Path) -> None:
    """A status folder that cannot be written is said beside what was done (L5)."""
    (tmp_path / "home" / "status").write_text("in the way")
    outcome = filled("promote")
    assert (outcome.code, outcome.out.startswith("promoted 1")) == (0, True)
    assert f"attention: {tmp_path / 'home' / 'status'}" in outcome.err
    assert filled("promote", "--json").json["ok"] is True


def test_bad_rules_are_an_error_with_their_line(filled: Call, tmp_path: Path) -> None:
    """Nothing is promoted by a file that makes no sense; the error names file and line (L6)."""
    (tmp_path / "home" / "retention_rules.yaml").write_text(
        "promote_threshold: 0.7\nshort_term_max_lines: -1\n"
    )
    for arguments in (["promote"], ["promote", "--dry-run"]):
        outcome = filled(*arguments, "--json")
        assert outcome.code == 2
        assert (
            "retention_rules.yaml, line 2: short_term_max_lines = -1" in error(outcome)["message"]
        )
    assert {record["layer"] for record in filled("list", "--json").json} == {"short_term"}


# prune


def test_prune_shows_and_asks(
    filled: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It shows what would go and asks; only a yes moves it, and it is in the archive then (L11)."""
    answer(monkeypatch, "n\n")
    outcome = filled("prune", "--below", "0.5")
    assert outcome.code == 1
    assert "Garmin sleep data read" in outcome.out
    assert "move 2 to the archive?" in outcome.out + outcome.err
    assert len(listed(filled)) == 3
    assert not (tmp_path / AGENT_FOLDER / "archive").exists()
    answer(monkeypatch, "y\n")
    outcome = filled("prune", "--below", "0.5")
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "2 moved to the archive")
    assert listed(filled) == ["User wants daily Garmin reports"]


def test_prune_does_not_ask_when_told(filled: Call) -> None:
    """`--yes` is for scripts, with --json too (L11, H1)."""
    assert (
        filled("prune", "--below", "0.15", "--yes").out.splitlines()[-1] == "1 moved to the archive"
    )
    assert filled("prune", "--below", "0.5", "--yes", "--json").json == {
        "pruned": 1,
        "dry_run": False,
    }


def test_a_preview_changes_nothing(filled: Call) -> None:
    """`--dry-run` counts and shows, without a question (L11)."""
    outcome = filled("prune", "--tag", "garmin", "--dry-run")
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "1 would go to the archive")
    assert filled("prune", "--tag", "garmin", "--dry-run", "--json").json == {
        "pruned": 1,
        "dry_run": True,
    }
    assert len(listed(filled)) == 3


def test_json_without_yes_is_refused(filled: Call) -> None:
    """A program is not asked; it has to say yes beforehand (L11, H1)."""
    outcome = filled("prune", "--below", "0.5", "--json")
    assert outcome.code == 1
    told = error(outcome)
    assert (told["code"], "--yes" in told["message"]) == ("refused", True)
    assert len(listed(filled)) == 3


def test_nothing_to_prune(filled: Call) -> None:
    """Where nothing matches nobody is asked, and a real run does not call itself a
    dry one (L11)."""
    assert filled("prune", "--tag", "nowhere").out.endswith("0 moved to the archive\n")
    assert filled("prune", "--tag", "nowhere", "--yes", "--json").json == {
        "pruned": 0,
        "dry_run": False,
    }


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--layer", "working"],
        ["--layer", "attic"],
        ["--below", "7"],
        ["--below", "nan"],
        ["--older-than", "-1"],
        ["--tag", " "],
    ],
)
def test_prune_needs_a_bound(filled: Call, arguments: list[str]) -> None:
    """Without a bound, or with one that makes no sense, it is wrong usage, and
    nothing goes (L11)."""
    outcome = filled("prune", *arguments, "--yes", "--json")
    assert outcome.code == 2
    assert error(outcome)["message"]
    assert len(listed(filled)) == 3


def test_agents_do_not_prune(pruned: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under LAMINA_ROLE=agent whatever takes memories away or brings them back is refused;
    searching is not (V7)."""
    (first, *_) = pruned("archive", "search", "garmin", "--json").json
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    for arguments in (
        ["prune", "--below", "1", "--yes"],
        ["archive", "restore", first["id"]],
        ["archive", "list"],
    ):
        outcome = pruned(*arguments, "--json")
        assert (outcome.code, error(outcome)["code"]) == (1, "refused")
    assert len(pruned("archive", "search", "garmin", "--json").json) == 1


# archive


def test_archive_search_says_file_and_line(pruned: Call, tmp_path: Path) -> None:
    """A record in JSON with its place beside it, or a line of a table (L4, H1)."""
    (record,) = pruned("archive", "search", "GARMIN", "--json").json
    file, line = record["archived"].rsplit(":", 1)
    lines = (tmp_path / AGENT_FOLDER / file).read_text("utf-8").splitlines()
    assert json.loads(lines[int(line) - 1])["id"] == record["id"]
    assert record["content"] == "Garmin sleep data read"
    outcome = pruned("archive", "search", "downloader")
    assert outcome.code == 0
    assert record["id"] in outcome.out
    assert "file and line" in outcome.out


def test_archive_search_without_a_hit(pruned: Call) -> None:
    """Nothing found is exit code 4, as with every search (L4, Q7)."""
    outcome = pruned("archive", "search", "zebra")
    assert (outcome.code, outcome.out) == (4, "nothing in the archive holds this\n")
    outcome = pruned("archive", "search", "zebra", "--json")
    assert (outcome.code, outcome.json) == (4, [])
    assert pruned("archive", "search", "garmin", "--until", "2020-01-01").code == 4
    assert pruned("archive", "search", "garmin", "--since", "2020-01-01").code == 0


def test_archive_search_is_bounded(pruned: Call) -> None:
    """`--limit` takes the newest and says that there may be more; what makes no sense is wrong
    usage (H1)."""
    outcome = pruned("archive", "search", "e", "--limit", "1")
    assert "hello" in outcome.out
    assert "Garmin" not in outcome.out
    assert "there may be more" in outcome.err
    for arguments in (
        ["", "--json"],
        ["x", "--limit", "0", "--json"],
        ["x", "--since", "lately", "--json"],
    ):
        outcome = pruned("archive", "search", *arguments)
        assert (outcome.code, error(outcome)["code"]) == (2, "invalid_input")


def test_archive_list(pruned: Call, tmp_path: Path) -> None:
    """The files with why and how much, and their digests for whoever checks them (H1, P4)."""
    (file,) = pruned("archive", "list", "--json").json
    assert file.keys() == FILE
    assert (file["why"], file["lines"]) == ("pruned", 2)
    assert (tmp_path / AGENT_FOLDER / file["file"]).is_file()
    assert file["made_at"].endswith("Z")
    assert "pruned" in pruned("archive", "list").out


def test_an_empty_archive(call: Call) -> None:
    """Nothing there is said as such (H1)."""
    assert call("archive", "list").out == "nothing is archived\n"
    assert call("archive", "list", "--json").json == []
    assert call("archive", "search", "x").code == 4


def test_archive_restore(pruned: Call) -> None:
    """Brought back, in any spelling of the id, they are found as before; a second time is refused,
    an unknown id not found."""
    found = pruned("archive", "search", "e", "--json").json
    outcome = pruned("archive", "restore", *(record["id"].upper() for record in found), "--json")
    assert [record["id"] for record in outcome.json] == [record["id"] for record in found]
    assert not any("archived" in record for record in outcome.json)
    assert (
        pruned("search", "sleep data", "--json").json["hits"][0]["record"]["content"]
        == "Garmin sleep data read"
    )
    assert pruned("archive", "search", "e").code == 4
    assert pruned("archive", "restore", found[0]["id"]).code == 1
    assert pruned("archive", "restore", "0" * 26).code == 3
    assert pruned("archive", "restore").code == 2


def test_an_archived_record_can_be_inspected(pruned: Call) -> None:
    """`inspect` shows it with its history and where it lies; `status` counts it (R3, H1)."""
    (record,) = pruned("archive", "search", "garmin", "--json").json
    shown = pruned("inspect", record["id"], "--json").json
    assert shown["archived"] == record["archived"]
    assert [event["action"] for event in shown["history"]] == ["remember", "prune"]
    assert record["archived"].rsplit("/", 1)[1] in pruned("inspect", record["id"]).out.replace(
        "\n", ""
    )
    assert pruned("status", "--json").json["archived"] == 2


def test_a_lost_file_is_an_error_with_its_name(pruned: Call, tmp_path: Path) -> None:
    """Whatever needs a file that is gone says which, and that a backup may have it (P4)."""
    (file,) = pruned("archive", "list", "--json").json
    (record,) = pruned("archive", "search", "garmin", "--json").json
    (tmp_path / AGENT_FOLDER / file["file"]).unlink()
    for arguments in (
        ["archive", "search", "garmin"],
        ["archive", "restore", record["id"]],
        ["inspect", record["id"]],
        ["export"],
    ):
        outcome = pruned(*arguments, "--json")
        assert outcome.code == 1
        assert error(outcome)["code"] == "corrupt"
        assert file["file"] in error(outcome)["message"]
    assert pruned("audit", "verify").code == 1
    assert pruned("list").code == 0


def test_users_see_their_own_archive(call: Call) -> None:
    """`--user` limits what is pruned, searched and restored (R12)."""
    for user in ("ana", "ben"):
        assert (
            call("--user", user, "remember", f"secret of {user}", "--importance", "0.1").code == 0
        )
    assert call("--user", "ana", "prune", "--below", "0.5", "--yes", "--json").json["pruned"] == 1
    (record,) = call("--user", "ana", "archive", "search", "secret", "--json").json
    assert call("--user", "ben", "archive", "search", "secret").code == 4
    assert call("--user", "ben", "archive", "restore", record["id"]).code == 3
    assert call("--user", "ben", "archive", "list").code == 1
    assert call("--user", "ana", "archive", "restore", record["id"]).code == 0


SKY_SCHEDULE = """
every:
  - {name: memory_rotate_check, minutes: 10}
  - {name: heartbeat, seconds: 30}
daily:
  - {name: morning_brief, at: "07:00"}
"""


def test_the_schedule_of_another_program(filled: Call, tmp_path: Path) -> None:
    """L6, H7: with Sky's own schedule.yaml our jobs run, and status and doctor name what is not
    ours; a wrong entry of ours is an error with its line."""
    path = tmp_path / "home" / "schedule.yaml"
    path.write_text(SKY_SCHEDULE, "utf-8")
    assert "memory_rotate_check" in filled("run", "--once").out
    others = ["heartbeat", "daily: morning_brief"]
    assert filled("status", "--json").json["other_jobs"] == others
    shown = filled("status")
    assert "not ours, in schedule.yaml: heartbeat, daily: morning_brief" in shown.out
    checked = filled("doctor")
    assert checked.code == 0
    assert "entries of others, which are ignored: heartbeat, daily: morning_brief" in checked.out
    path.write_text(SKY_SCHEDULE.replace("10", "soon"), "utf-8")
    refused = filled("run", "--once")
    assert refused.code != 0
    assert "line 3: minutes = soon is not a whole number" in refused.err
