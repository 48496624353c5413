"""Sharing through the program: grant, revoke-grant, grants, shared, `--shared-by`, and the
log of violations."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput
from lamina.surfaces.cli.times import end_of
from tests.surfaces.conftest import Call

PAGE = Path(__file__).parents[2] / "docs" / "sharing.md"
UNKNOWN = "0" * 26


@pytest.fixture
def boiler(call: Call) -> dict[str, Any]:
    """A memory of sky's with a tag, one without, and an agent milton."""
    record: dict[str, Any] = call(
        "--agent", "sky", "remember", "The boiler is old", "--tag", "house", "--json"
    ).json
    call("--agent", "sky", "remember", "The diary is red")
    call("--agent", "milton", "remember", "I am milton")
    return record


def test_grant_read_revoke(call: Call, boiler: dict[str, Any]) -> None:
    """P3, H1: what is granted is found by every reading command, and nothing else is; after
    its end nothing."""
    made = call(
        "--agent",
        "sky",
        "grant",
        "milton",
        "--tag",
        "House",
        "--expires",
        "30d",
        "--reason",
        "works",
        "--json",
    )
    assert made.code == 0, made.err
    grant = made.json
    assert (grant["giver"], grant["agent"], grant["tag"], grant["ended_at"]) == (
        "sky",
        "milton",
        "house",
        None,
    )
    assert call("--agent", "milton", "shared", "--json").json == [grant]
    by_sky = ("--shared-by", "sky")
    hits = call("--agent", "milton", "search", "boiler diary", *by_sky, "--json").json["hits"]
    listed = call("--agent", "milton", "list", "--all", *by_sky, "--json").json
    assert (
        [hit["record"]["id"] for hit in hits]
        == [record["id"] for record in listed]
        == [boiler["id"]]
    )
    assert call("--agent", "milton", "inspect", boiler["id"], *by_sky, "--json").json == boiler
    assert "The boiler is old" in call("--agent", "milton", "inspect", boiler["id"], *by_sky).out
    assert "The boiler is old" in call("--agent", "milton", "context", "boiler", *by_sky).out
    number = str(grant["number"])
    assert call("--agent", "sky", "revoke-grant", number, "--reason", "done").out.startswith(
        f"grant {number} has ended"
    )
    gone = call("--agent", "milton", "search", "boiler", *by_sky)
    assert (gone.code, gone.out, "shares nothing with milton" in gone.err) == (3, "", True)
    assert call("--agent", "sky", "revoke-grant", number).code == 1
    assert call("--agent", "sky", "audit", "verify").code == 0


def test_tables(call: Call, boiler: dict[str, Any]) -> None:
    """H1: grants as a table, for the giver and for the reader; those that ended only
    when asked for."""
    assert call("--agent", "sky", "grants").out == "sky shares nothing now\n"
    assert call("--agent", "milton", "shared").out == "nobody shares anything with milton\n"
    said = call("--agent", "sky", "grant", "milton", "--layer", "short_term").out
    number = said.removeprefix("grant ").partition(":")[0]
    assert said == f"grant {number}: milton may read layer short_term until it is revoked\n"
    call(
        "--agent",
        "sky",
        "--user",
        "ana",
        "grant",
        "milton",
        "--tag",
        "house",
        "--expires",
        "2999-01-01",
    )
    table = call("--agent", "sky", "grants").out
    assert "layer short_term" in table
    assert "2999-01-01 00:00" in table
    assert "ana" in table
    assert "sky" in call("--agent", "milton", "shared").out
    call("--agent", "sky", "revoke-grant", number)
    assert "layer short_term" not in call("--agent", "sky", "grants").out
    assert "ended" in call("--agent", "sky", "grants", "--all").out
    assert (
        "grant " + number + ": milton may read layer short_term"
        in call("--agent", "sky", "audit", "log").out
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["milton"], 2),
        (["milton", "--tag", "house", "--layer", "world"], 2),
        (["milton", "--layer", "working"], 2),
        (["milton", "--layer", "attic"], 2),
        (["sky", "--tag", "house"], 2),
        (["aegis", "--tag", "house"], 3),
        (["milton", "--record", UNKNOWN], 3),
        (["milton", "--tag", "house", "--expires", "2020-01-01"], 2),
        (["milton", "--tag", "house", "--expires", "0d"], 2),
        (["milton", "--tag", "house", "--expires", "soon"], 2),
        (["milton", "--tag", "house", "--expires", "999999w"], 2),
        (["milton", "--tag", "house", "--expires", ""], 2),
    ],
)
def test_bad_grants(call: Call, boiler: dict[str, Any], arguments: list[str], code: int) -> None:
    """P3, H1: exit codes that mean something, and nothing granted."""
    outcome = call("--agent", "sky", "grant", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err
    assert call("--agent", "sky", "grants", "--all", "--json").json == []


@given(st.text(max_size=12) | st.from_regex(r"\d{1,8} ?[hdwx]", fullmatch=True))
def test_any_text_for_an_end(text: str) -> None:
    """P3: a span of time, a day, a text that the rules judge, or an error for people."""
    context, option = click.Context(click.Command("grant")), click.Option(["--expires"])
    with suppress(InvalidInput):
        made = end_of(context, option, text)
        assert isinstance(made, datetime) == bool(re.fullmatch(r"[0-9]{1,6}\s*[hdw]", text))


def test_agents_read_and_do_not_grant(
    call: Call, boiler: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """V7, P3: LAMINA_ROLE=agent refuses to grant, and reads what is shared."""
    call("--agent", "sky", "grant", "milton", "--tag", "house")
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    monkeypatch.setenv("LAMINA_AGENT", "milton")
    assert call("search", "boiler", "--shared-by", "sky").code == 0
    for arguments in (
        ["grant", "sky", "--tag", "house"],
        ["grants"],
        ["revoke-grant", "2"],
        ["audit", "violations"],
    ):
        assert call(*arguments).code == 1
    assert call("--agent", "sky", "list").code == 3


def test_a_misspelt_name_is_no_violation(call: Call) -> None:
    """P2, H1: whoever may open every memory crosses no boundary by a name that there cannot be."""
    call("remember", "the boiler is old")
    for options in (("--agent", "a b"), ("--user", " ana")):
        outcome = call(*options, "list")
        assert (outcome.code, "name" in outcome.err) == (2, True)
    assert call("audit", "violations").out == "nobody tried to cross a boundary\n"


def test_violations(call: Call, boiler: dict[str, Any], tmp_path: Path) -> None:
    """P2: who tried what, newest first, counted in the status; a line that is no entry is told and
    breaks nothing."""
    assert call("audit", "violations").out == "nobody tried to cross a boundary\n"
    call("--agent", "milton", "inspect", boiler["id"])
    call("--agent", "milton", "list", "--shared-by", "sky")
    with (tmp_path / "home" / "violations.jsonl").open("ab") as log:
        log.write(b"\x00\xff\n[]\n")
    shown = call("audit", "violations", "--json").json
    assert [one["attempt"] for one in shown["entries"]] == [
        "reach an agent that shares nothing",
        "reach another agent's record",
    ]
    assert shown["unreadable"] == 2
    assert len(call("audit", "violations", "--limit", "1", "--json").json["entries"]) == 1
    table = call("audit", "violations")
    assert boiler["id"] in table.out
    assert "2 lines" in table.err
    status = call("--agent", "sky", "status")
    assert "violations in the last 30 days (`lamina audit violations`): 4" in status.out
    assert "1  reach another agent's record" in status.out


def test_a_store_that_cannot_be_read_is_told(
    call: Call, boiler: dict[str, Any], tmp_path: Path
) -> None:
    """P3: beside what others share, without a failure."""
    folder = tmp_path / "home" / "agents" / "broken"
    folder.mkdir()
    (folder / "memory.db").write_bytes(b"nonsense" * 100)
    outcome = call("--agent", "milton", "shared")
    assert (outcome.code, outcome.out) == (0, "nobody shares anything with milton\n")
    assert "broken" in outcome.err


def test_the_page_about_sharing_is_true(call: Call) -> None:
    """P3: the commands of docs/sharing.md do what it says, in its order."""
    (example,) = re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    outcomes = [
        call(*shlex.split(line.removeprefix("$ lamina "))) for line in example.strip().splitlines()
    ]
    assert [outcome.code for outcome in outcomes] == [0] * len(outcomes)
    assert "tag house" in outcomes[3].out
    assert "The boiler was repaired in May" in outcomes[4].out
    assert outcomes[-1].out.startswith("grant 2 has ended")
