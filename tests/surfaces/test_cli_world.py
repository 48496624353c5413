"""Promises of the commands about tools and integrations: files in, tables or JSON out, and no
secret anywhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.conftest import Call

FLIGHTS = {
    "name": "search_flights",
    "description": "Finds flights.",
    "parameters": {"properties": {"origin": {}}},
}
GITHUB = {"description": "Issues of the observatory", "auth": {"token": "${GITHUB_TOKEN}"}}


def written(tmp_path: Path, value: Any) -> str:
    """A file with JSON in it."""
    path = tmp_path / "given.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return str(path)


@pytest.fixture
def filled(call: Call, tmp_path: Path) -> Call:
    """A home that knows one tool and one integration."""
    assert call("world", "tool", "add", written(tmp_path, FLIGHTS)).code == 0
    assert call("world", "integration", "set", "github", written(tmp_path, GITHUB)).code == 0
    return call


def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "agents" / "default" / "world_model"


def test_list_shows_both_with_their_variables(filled: Call) -> None:
    """R11, H1: `world list` shows tools and integrations, what they are about, and the variables
    that they name."""
    shown = filled("world", "list").out
    assert "search_flights" in shown
    assert "Finds flights." in shown
    assert "GITHUB_TOKEN" in shown
    github, flights = filled("world", "list", "--json").json
    assert (github["world"], github["name"], github["config"]) == ("integration", "github", GITHUB)
    assert github["variables"] == ["GITHUB_TOKEN"]
    assert (flights["world"], flights["name"], flights["definition"]) == (
        "tool",
        "search_flights",
        FLIGHTS,
    )


def test_an_empty_world(call: Call) -> None:
    """H1: with nothing to show, it says so."""
    assert call("world", "list").out.strip() == "no tools or integrations"
    assert call("world", "list", "--json").json == []
    assert call("world", "sync").out.strip() == "files and records agree"


def test_show_prints_what_was_given(filled: Call) -> None:
    """R11, H1: `world show` prints one of them as it was given; an unknown name exits with 3."""
    shown = filled("world", "show", "search_flights").out
    assert json.loads(shown[shown.index("{") :]) == FLIGHTS
    assert filled("world", "show", "github", "--json").json["config"] == GITHUB
    assert filled("world", "show", "github", "--integration").code == 0
    assert filled("world", "show", "search_flights", "--integration").code == 3
    assert filled("world", "show", "nothing").code == 3


def test_they_are_found_by_search(filled: Call) -> None:
    """R11: tools and integrations are memories."""
    hits = filled("search", "observatory issues", "--json").json["hits"]
    assert hits[0]["record"]["tags"] == ["integration", "github"]


def test_several_tools_from_standard_input(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H1: with - the definition is read from standard input; a list is taken whole or
    not at all."""
    with Path(written(tmp_path, [FLIGHTS, {"name": "brew"}])).open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        kept = call("world", "tool", "add", "-", "--json").json
    assert [one["name"] for one in kept] == ["search_flights", "brew"]
    assert (
        call("world", "tool", "add", written(tmp_path, [{"name": "new"}, {"name": "a b"}])).code
        == 2
    )
    assert (
        call("world", "tool", "add", written(tmp_path, [{"name": "new"}, {"name": "BREW"}])).code
        == 1
    )
    assert len(call("world", "list", "--json").json) == 2


def test_a_secret_is_refused_with_its_field(filled: Call, tmp_path: Path) -> None:
    """R11: exit code 2, the path of the field and what to write instead, and not a letter
    of the secret."""
    given = written(tmp_path, {"auth": {"token": "hunter2hunter2"}})
    refused = filled("world", "integration", "set", "github", given, "--json")
    assert refused.code == 2
    assert json.loads(refused.err)["error"]["field"] == "auth.token"
    plain = filled("world", "integration", "set", "github", given)
    assert "auth.token" in plain.err
    assert "${NAME}" in plain.err
    assert "hunter2" not in refused.err + plain.err + refused.out + plain.out
    assert filled("world", "show", "github", "--json").json["config"] == GITHUB


@pytest.mark.parametrize(
    ("arguments", "content", "code"),
    [
        (["tool", "add"], "{", 2),
        (["tool", "add"], '{"name": "../x"}', 2),
        (["tool", "add"], "[]", 0),
        (["integration", "set", "../x"], "{}", 2),
        (["integration", "set", "con"], "{}", 2),
        (["integration", "set", "x"], "[]", 2),
    ],
)
def test_bad_input(
    call: Call, tmp_path: Path, arguments: list[str], content: str, code: int
) -> None:
    """H1: exit codes say what was wrong, and nothing is stored."""
    assert call("world", *arguments, written(tmp_path, content)).code == code
    assert call("world", *arguments, str(tmp_path / "missing.json")).code == 3
    assert call("world", "list", "--json").json == []


def test_a_mistake_in_a_file_is_named_by_line(call: Call, tmp_path: Path) -> None:
    """H1: what is not JSON is told with its line."""
    assert "line 2" in call("world", "tool", "add", written(tmp_path, '{\n"name" oops}')).err


def test_remove(filled: Call) -> None:
    """R11, H1: `world remove` hides a tool, with --integration an integration; a second time it is
    not found."""
    assert filled("world", "remove", "search_flights").out.strip() == "removed tool search_flights"
    assert filled("world", "remove", "search_flights").code == 3
    assert filled("world", "remove", "github").code == 3
    removed = filled("world", "remove", "github", "--integration", "--json").json
    assert removed == {"removed": {"world": "integration", "name": "github"}}
    assert filled("world", "list", "--json").json == []


def test_sync_takes_edits_in(filled: Call, tmp_path: Path) -> None:
    """R11, V7: `world sync` shows the change, takes it in when a person says yes, and exits with 1
    when a file is bad."""
    place = folder(tmp_path) / "integrations"
    (place / "mail.json").write_text('{"host": "localhost"}')
    refused = filled("world", "sync", stdin="n\n")
    assert (refused.code, '+  "host": "localhost"' in refused.out) == (1, True)
    assert filled("world", "show", "mail").code == 3
    assert "integration mail was added in integrations/mail.json" in filled("world", "list").out
    rehearsed = filled("world", "sync", "--dry-run", "--json").json
    assert [one["after"] for one in rehearsed["changes"]] == [{"host": "localhost"}]
    assert "applied: integration mail" in filled("world", "sync", "--yes").out
    (place / "broken.json").write_text('{\n"a": }')
    told = filled("world", "sync")
    assert told.code == 1
    assert "integrations/broken.json, line 2" in told.err
    report = filled("world", "sync", "--json")
    assert (report.code, report.json["problems"][0]["line"]) == (1, 2)


def test_agents_only_look(filled: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V7: with LAMINA_ROLE=agent the world can be read, and changed by no command."""
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    given = written(tmp_path, {"name": "x"})
    for arguments in (
        ["tool", "add", given],
        ["integration", "set", "x", given],
        ["remove", "github"],
        ["sync"],
    ):
        refused = filled("world", *arguments)
        assert (refused.code, "operator" in refused.err) == (1, True)
    assert len(filled("world", "list", "--json").json) == 2
    assert filled("world", "show", "github").code == 0
