"""Skylattice's operators type what they are used to: every command line of its document, after
`lamina` and with or without the word `memory`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from lamina.surfaces.cli.main import UNDER_MEMORY, cli, memory
from tests.surfaces.conftest import Call, Outcome, remembered
from tests.surfaces.reviewing import proposed, state

SPELLINGS = ("memory", "")


@pytest.fixture(params=SPELLINGS, ids=["after memory", "short"])
def typed(request: pytest.FixtureRequest, call: Call) -> Call:
    """Run a command line of the document, in one of both spellings."""

    def run(line: str, *more: str) -> Outcome:
        return call(*f"{request.param} {line}".split(), *more)

    return run


def test_under_memory_are_the_same_commands() -> None:
    """H7: the group has no command of its own; both spellings are one object."""
    context = click.Context(cli)
    assert memory.list_commands(context) == sorted(UNDER_MEMORY)
    for name in UNDER_MEMORY:
        assert memory.get_command(context, name) is cli.get_command(context, name)


def test_reading(call: Call, typed: Call) -> None:
    """H1, H7: `memory list`, `inspect` and `search` print what the short forms print."""
    record = remembered(call, "The boiler is old")["id"]
    assert typed("list", "--json").json == call("list", "--json").json
    assert typed(f"inspect {record}").out == call("inspect", record).out
    assert record in typed("search boiler").out
    assert typed("search", "unheard").code == 4


def test_profile_memory(call: Call, typed: Call) -> None:
    """V1, V4, H7: propose, confirm, reject and roll back a value, without a reason to decide."""
    made = typed("profile propose --key drink --value tea --reason said", "--json").json
    assert (made["state"], made["metadata"]["profile_key"]) == ("constrained", "drink")
    assert made["id"] in typed("review list").out
    assert typed(f"review confirm {made['id']}").code == 0
    assert state(call, made["id"]) == "active"
    assert typed(f"rollback {made['id']}").code == 0
    assert state(call, made["id"]) == "tombstoned"
    other = proposed(call, "coffee")
    rejected = typed(f"review reject {other}")
    assert (rejected.code, rejected.out.startswith(f"rejected {other}")) == (0, True)
    event = call("audit", "log", "--limit", "1", "--json").json[0]
    assert (event["action"], "reason" in event["note"]) == ("reject", False)


def test_compaction_and_deduplication(call: Call, typed: Call) -> None:
    """V2, V3, H7: both commands with the flag that makes proposals, as the document has them."""
    for text in ("The boiler is old", "The boiler is loud"):
        topic = ("--meta", "origin=test", "--meta", 'topic_tags=["boiler"]')
        remembered(call, text, "--layer", "semantic", *topic)
        steps = ("--meta", "workflow=tea", "--meta", "canonical=false")
        remembered(call, "boil the water", "--layer", "procedural", *steps)
    for line in ("semantic compact", "procedural dedup"):
        (group,) = typed(f"{line} --create-proposals", "--json").json
        assert group["outcome"] == "proposed"
        assert typed(f"review confirm {group['proposal']}").code == 0
        assert {state(call, one) for one in group["sources"]} == {"superseded"}


def test_export(call: Call, typed: Call, tmp_path: Path) -> None:
    """H5, H7: `memory export` writes below the private home, and to a path that is given."""
    remembered(call, "tea")
    written = Path(typed("export", "--json").json["path"])
    assert written.is_relative_to(tmp_path / "home")
    assert typed("export", str(tmp_path / "all.json")).code == 0
    assert (tmp_path / "all.json").read_bytes() == written.read_bytes()


def test_status_is_state(call: Call, typed: Call, tmp_path: Path) -> None:
    """H7: the document says status; list, search, export and the review list take both words."""
    waiting = proposed(call, "tea")
    remembered(call, "tea in the morning")
    for option in ("--status", "--state"):
        (listed,) = typed(f"list {option} constrained", "--json").json
        (found,) = typed(f"search tea {option} constrained", "--json").json["hits"]
        (review,) = typed(f"review list {option} constrained", "--json").json
        assert listed["id"] == found["record"]["id"] == review["record"]["id"] == waiting
        file = tmp_path / f"{option}.json"
        assert typed(f"export {file} {option} constrained").code == 0
        assert file.read_text().count('"content":') == 1
    both = typed("list --status constrained --status active", "--json").json
    assert {one["state"] for one in both} == {"constrained", "active"}


def test_texts_by_option(call: Call, typed: Call) -> None:
    """H7: query, key and value are arguments or options, in any mixture that says each once."""
    record = remembered(call, "The boiler is old")["id"]
    assert record in typed("search --query boiler").out
    half = typed("profile propose drink --value tea --reason said", "--json")
    assert half.json["metadata"]["value"] == "tea"
    empty = typed("search", "--query", "")
    assert (empty.code, "QUERY is empty" in empty.err) == (2, True)


TWICE: tuple[tuple[str, str], ...] = (
    ("search tea --query tea", "QUERY and --query"),
    ("profile propose drink tea --key drink --reason x", "KEY and --key"),
    ("profile propose drink tea --value tea --reason x", "VALUE and --value"),
    ("list --state active --status active", "--state and --status"),
    ("search tea --state active --status superseded", "--state and --status"),
    ("review list --state constrained --status constrained", "--state and --status"),
    ("export --state active --status active", "--state and --status"),
    ("search", "needs QUERY"),
    ("profile propose --value tea --reason x", "needs KEY"),
    ("profile propose drink --reason x", "needs VALUE"),
    ("review list --status active", "lamina list --state active"),
    ("list --status alive", "alive"),
    ("forget x", "did you mean `lamina forget`"),
)


@pytest.mark.parametrize(("line", "message"), TWICE, ids=[line for line, _ in TWICE])
def test_said_twice_or_not_at_all(call: Call, line: str, message: str) -> None:
    """H7: both spellings at once are wrong usage, as is neither; nothing is done."""
    remembered(call, "tea")
    before = call("audit", "log", "--json").json
    outcome = call("memory", *line.split())
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
    assert call("audit", "log", "--json").json == before


def test_what_is_not_under_memory_is_named(call: Call) -> None:
    """H1: a command that exists elsewhere is suggested as it is typed there."""
    assert "lamina forget" in call("memory", "forgot", "x").err


class Terminal(io.StringIO):
    """A person at a keyboard."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("said", "reason"), [("a joke\n", "a joke"), ("\n", None), ("  \n", None)])
def test_a_person_is_asked_why(
    call: Call, monkeypatch: pytest.MonkeyPatch, said: str, reason: Any
) -> None:
    """V5, H7: at a terminal a rejection asks for its reason, and does without if there is none."""
    waiting = proposed(call, "tea")
    monkeypatch.setattr(sys, "stdin", Terminal(said))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    outcome = call("memory", "review", "reject", waiting)
    assert (outcome.code, "why" in outcome.err) == (0, True)
    event = call("audit", "log", "--limit", "1", "--json").json[0]
    assert (event["action"], event["note"].get("reason")) == ("reject", reason)
