"""Promises of the commands about people and projects: what they print, and who may do
what with them."""

from __future__ import annotations

import pytest

from tests.surfaces.conftest import Call, remembered


@pytest.fixture
def filled(call: Call) -> Call:
    """A home with memories that compression knows, and one that it leaves."""
    remembered(call, "Ana lives in Oslo", "--kind", "fact")
    remembered(call, "07:00", "--kind", "preference", "--meta", "profile_key=schedule.wake_up")
    remembered(
        call,
        "Ben is her brother",
        "--kind",
        "fact",
        "--meta",
        "profile_key=relationships.Ben",
        "--meta",
        "value=brother",
    )
    remembered(call, "grow tomatoes", "--kind", "project", "--tag", "project:garden")
    remembered(call, "no water", "--kind", "fact", "--tag", "project:garden", "--tag", "blocker")
    remembered(call, "hello")
    return call


# profile and project


def test_the_profile_is_shown(filled: Call) -> None:
    """`profile show` prints what is known, a line for each thing, and with --json the fields of R10
    (H1, R10)."""
    filled("compress", "--hours", "0")
    out = filled("profile", "show").out
    for words in (
        ["schedule.wake_up", "07:00"],
        ["stable_facts", "Ana", "lives"],
        ["relationships", "name", "Ben,", "relation"],
    ):
        assert any(line.split()[: len(words)] == words for line in out.splitlines()), out
    shown = filled("profile", "show", "--json").json
    assert shown["schedule"] == {"wake_up": "07:00"}
    assert shown["relationships"] == [{"name": "Ben", "relation": "brother"}]
    assert len(shown["evidence_ids"]) == 3
    assert filled("inspect", shown["evidence_ids"][0]).code == 0


def test_what_the_facts_contradict_is_shown(call: Call) -> None:
    """`profile show` has the instructions first, and says what the facts say otherwise; so does
    `status` (H1, R10, S8)."""
    call("remember", "I love opera.", "--layer", "episodic", "--speaker", "Ana")
    evidence = call("list", "--json").json[0]["id"]
    for key, value in (("ana.likes", '["opera"]'), ("instructions.language", "answer in German")):
        call("profile", "propose", key, value, "--reason", "said so", "--evidence", evidence)
    for one in call("review", "list", "--json").json:
        call("review", "confirm", one["record"]["id"])
    call("remember", "I hate opera.", "--layer", "episodic", "--speaker", "Ana")
    call("sleep")
    lines = [line.split() for line in call("profile", "show").out.splitlines()]
    assert lines[0] == ["instructions.language", "answer", "in", "German"]
    conflict = ["conflict", "ana.likes", "opera:", "Ana", "dislikes", "opera"]
    assert conflict in lines
    assert "1 value of the profile" in call("status").out


def test_an_empty_profile_says_so(call: Call) -> None:
    """Where nothing is known, `profile show` says so, and --json has every field (H1, R10)."""
    assert "nothing is known yet" in call("profile", "show").out
    assert call("profile", "show", "--json").json["name"] is None
    assert "no projects yet" in call("project", "show").out
    assert call("project", "show", "--json").json == []


def test_projects_are_shown(filled: Call) -> None:
    """`project show` lists the projects, and shows the one that is named, in any case (H1, R10)."""
    filled("compress", "--hours", "0")
    line = filled("project", "show").out.splitlines()[1]
    assert line.split()[:5] == ["garden", "1", "1", "1", "0"]
    out = filled("project", "show", "Garden").out
    assert "grow tomatoes" in out
    assert "blockers" in out
    shown = filled("project", "show", "garden", "--json").json
    assert (shown["goals"], shown["blockers"], shown["next_steps"]) == (
        ["grow tomatoes"],
        ["no water"],
        [],
    )
    assert filled("project", "show", "--json").json == [shown]


def test_projects_that_memories_belong_to_are_listed(filled: Call) -> None:
    """H1: a project has memories before it is summed up, such as those of hooks; the number of
    them is shown, and for programs too."""
    filled("compress", "--hours", "0")
    for text in ("It uses Postgres", "The build takes ten minutes"):
        remembered(filled, text, "--project", "apollo")
    lines = [line.split()[:2] for line in filled("project", "show").out.splitlines()]
    assert lines == [["project", "memories"], ["apollo", "2"], ["garden", "1"]]
    assert filled("project", "show", "Apollo").out == "project   apollo\nmemories  2\n"
    assert [
        (one["project_name"], one["memories"]) for one in filled("project", "show", "--json").json
    ] == [("apollo", 2), ("garden", 1)]


def test_an_unknown_project_is_not_found(call: Call) -> None:
    """A project that does not exist is exit code 3 (H1)."""
    outcome = call("project", "show", "garden")
    assert (outcome.code, "garden" in outcome.err) == (3, True)


def test_the_profile_of_a_user(call: Call) -> None:
    """`--user` shows that user's profile, and no one else's (R12, H1)."""
    call("--user", "ana", "remember", "lives in Oslo", "--kind", "fact")
    call("compress", "--hours", "0")
    assert call("--user", "ana", "profile", "show", "--json").json["stable_facts"] == [
        "lives in Oslo"
    ]
    assert call("--user", "ben", "profile", "show", "--json").json["stable_facts"] == []
    assert call("profile", "show", "--json").json["stable_facts"] == []


def test_what_was_stored_steers_no_terminal(call: Call) -> None:
    """Control characters in a profile or project are spelled out (H1)."""
    remembered(call, "red \x1b[31m", "--kind", "fact")
    remembered(call, "blue \x1b[34m", "--tag", "project:garden")
    remembered(call, "ask \x1b[35m", "--kind", "request")
    outputs = [
        call("pending"),
        call("compress", "--hours", "0"),
        call("profile", "show"),
        call("project", "show", "garden"),
    ]
    assert all("\x1b" not in outcome.out and outcome.code == 0 for outcome in outputs)


# compress


def test_compress_tells_what_it_did(filled: Call) -> None:
    """`compress` says how many memories were summed up where, and --json has the four names of L9
    (L9, H1)."""
    outcome = filled("compress", "--hours", "0")
    expected = (
        "5 memories compressed; profile: relationships.Ben, schedule.wake_up, stable_facts; "
        "projects: garden; 1 left"
    )
    assert (outcome.code, outcome.out.strip()) == (0, expected)
    done = filled("compress", "--hours", "0", "--json").json
    assert {name: done[name] for name in ("compressed", "profile", "projects", "left")} == {
        "compressed": 0,
        "profile": [],
        "projects": [],
        "left": 1,
    }


def test_a_dry_run_explains_each_memory(filled: Call) -> None:
    """`compress --dry-run` shows what would become of each memory and why, and changes
    nothing (L9, H1)."""
    out = filled("compress", "--hours", "0", "--dry-run").out
    assert len(out.splitlines()) == 8
    assert "nothing summarises the kind crumb" in out
    assert out.splitlines()[-1].startswith("5 memories to compress")
    assert "and 5 more" in filled("compress", "--hours", "0", "--dry-run", "--limit", "1").out
    assert len(filled("list", "--json").json) == 6
    assert "younger than 48 hours" in filled("compress", "--dry-run").out


@pytest.mark.parametrize("hours", ["-1", "nan", "many", "1e12"])
def test_a_wrong_number_of_hours_is_wrong_usage(filled: Call, hours: str) -> None:
    """A cutoff that is none is exit code 2, and nothing happens (H1, L9)."""
    assert filled("compress", "--hours", hours).code == 2
    assert len(filled("list", "--json").json) == 6


def test_an_agent_only_proposes(filled: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """With LAMINA_ROLE=agent the profile's updates wait for review, and the command says
    so (V1, V7)."""
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    assert "3 wait for review" in filled("compress", "--hours", "0").out
    assert filled("profile", "show", "--json").json["stable_facts"] == []
    assert [item["why"] for item in filled("pending", "--json").json] == ["waits for review"] * 3


# pending


def test_pending_lists_what_waits(call: Call) -> None:
    """`pending` lists what waits for somebody, oldest first, until it is answered (L12, H1)."""
    assert call("pending").out.strip() == "nothing is pending"
    assert call("pending", "--json").json == []
    request = remembered(call, "call Ben", "--kind", "request")
    remembered(call, "render the report", "--kind", "action", "--meta", "status=pending")
    lines = call("pending").out.splitlines()
    assert lines[0].split() == ["id", "since", "why", "due", "content"]
    assert "request without a result" in lines[1]
    assert "call Ben" in lines[1]
    assert "status pending" in lines[2]
    remembered(call, "Ben was called", "--kind", "result", "--evidence", request["id"])
    assert [item["content"] for item in call("pending", "--json").json] == ["render the report"]
