"""The document's review commands through the program: propose, compact, dedup, confirm, reject,
lift, undo, revoke."""

from __future__ import annotations

import json

import pytest

from tests.surfaces.conftest import Call, remembered
from tests.surfaces.reviewing import proposed, state

UNKNOWN = "0" * 26


def last_event(call: Call) -> str:
    return str(call("audit", "log", "--limit", "1", "--json").json[0]["seq"])


def test_propose_confirm_rollback_undo(call: Call) -> None:
    """V1, V4: confirming supersedes the same key, rollback restores what was before, undo takes the
    rollback back."""
    tea = proposed(call, "tea")
    assert state(call, tea) == "constrained"
    assert call("review", "confirm", tea).out.startswith(f"confirmed {tea}")
    coffee = proposed(call, "coffee", "DRINK")
    assert call("review", "confirm", coffee, "--reason", "she changed her mind").code == 0
    assert (state(call, tea), state(call, coffee)) == ("superseded", "active")
    assert call("rollback", coffee).code == 0
    assert (state(call, tea), state(call, coffee)) == ("active", "tombstoned")
    assert call("undo", last_event(call)).code == 0
    assert (state(call, tea), state(call, coffee)) == ("superseded", "active")
    assert call("audit", "verify").code == 0


def test_reject_tombstones_bars_and_lift_lets_in(call: Call) -> None:
    """V1, V6: what is rejected is refused in any spelling, with exit code 1, until
    somebody lifts it."""
    tea = proposed(call, "tea")
    assert call("review", "reject", tea, "--reason", "never").code == 0
    assert state(call, tea) == "tombstoned"
    again = call("profile", "propose", "drink", "ＴＥＡ", "--reason", "said so")
    assert (again.code, tea in again.err, "review lift" in again.err) == (1, True, True)
    assert call("review", "lift", tea, "--reason", "after all").code == 0
    assert call("review", "confirm", proposed(call, "TEA")).code == 0


def test_compact_proposes_only_with_its_flag(call: Call) -> None:
    """V2: `semantic compact` shows; `--create-proposals` proposes; confirming
    supersedes the sources."""
    facts = [
        remembered(
            call,
            text,
            "--layer",
            "semantic",
            "--meta",
            "origin=test",
            "--meta",
            'topic_tags=["boiler"]',
        )["id"]
        for text in ("The boiler is old", "The boiler is loud")
    ]
    shown = call("semantic", "compact")
    assert "--create-proposals" in shown.out
    assert call("review", "list").out.strip() == "nothing waits for review"
    (group,) = call("semantic", "compact", "--create-proposals", "--json").json
    assert (group["outcome"], set(group["sources"])) == ("proposed", set(facts))
    assert call("review", "confirm", group["proposal"]).code == 0
    assert [state(call, one) for one in facts] == ["superseded", "superseded"]
    assert "nothing to merge" in call("semantic", "compact").out


def test_dedup_proposes_only_with_its_flag(call: Call) -> None:
    """V3: `procedural dedup` shows; `--create-proposals` proposes; confirming
    supersedes the duplicates."""
    steps = [
        remembered(
            call,
            text,
            "--layer",
            "procedural",
            "--meta",
            "workflow=deploy",
            "--meta",
            "canonical=false",
        )["id"]
        for text in ("Run make check, then push", "run make check then push")
    ]
    assert call("procedural", "dedup", "--json").json[0]["outcome"] == "possible"
    (group,) = call("procedural", "dedup", "--create-proposals", "--json").json
    assert call("review", "confirm", group["proposal"]).code == 0
    assert [state(call, one) for one in steps] == ["superseded", "superseded"]


def test_the_four_states_are_seen(call: Call) -> None:
    """R3: `list`, `inspect` and `search --state` show active, constrained, superseded and
    tombstoned records."""
    superseded, active = proposed(call, "green tea"), proposed(call, "black tea", "Drink")
    call("review", "confirm", superseded)
    active = proposed(call, "white tea", "Drink")
    call("review", "confirm", active)
    tombstoned = proposed(call, "iced tea")
    call("review", "reject", tombstoned, "--reason", "too cold")
    constrained = proposed(call, "mint tea")
    found = {
        "active": active,
        "constrained": constrained,
        "superseded": superseded,
        "tombstoned": tombstoned,
    }
    for name, record_id in found.items():
        assert state(call, record_id) == name
        listed = call("list", "--layer", "profile", "--state", name, "--json").json
        assert record_id in [record["id"] for record in listed]
        hits = call("search", "tea", "--state", name, "--json").json["hits"]
        assert record_id in [hit["record"]["id"] for hit in hits]
        assert {hit["record"]["state"] for hit in hits} == {name}


def test_the_queue_is_a_table_and_json(call: Call) -> None:
    """H1: `review list` has age, source, trust and what is replaced; --json has all that
    a program needs."""
    call("review", "confirm", proposed(call, "tea"))
    waiting = proposed(call, "coffee")
    out = call("review", "list").out
    for word in (
        "age",
        "source",
        "trust",
        "replaces",
        waiting,
        "profile.propose",
        "operator",
        "coffee",
    ):
        assert word in out
    (told,) = call("review", "list", "--json").json
    assert set(told) == {"record", "by", "since", "replaces", "problem", "rivals", "similar"}


def test_a_long_queue_comes_in_parts(call: Call) -> None:
    """H1: `review list --limit` says how many more there are and how to go on; --json stays a list,
    of all unless told."""
    ids = [proposed(call, f"tea {number}", f"key{number}") for number in range(5)]
    first = call("review", "list", "--limit", "2").out
    assert [one for one in ids if one in first] == ids[:2]
    assert f"3 more: `lamina review list --after {ids[1]}`" in first
    last = call("review", "list", "--after", ids[1][-8:]).out
    assert [one for one in ids if one in last] == ids[2:]
    assert "more:" not in last
    assert "nothing comes after" in call("review", "list", "--after", ids[-1]).out
    listed = call("review", "list", "--json").json
    assert [one["record"]["id"] for one in listed] == ids
    assert call("review", "list", "--json", "--limit", "2", "--after", ids[0]).json == listed[1:3]
    call("review", "confirm", ids[1])
    gone = call("review", "list", "--after", ids[1])
    assert (gone.code, "no longer waits" in gone.err) == (3, True)


def test_several_are_decided_after_a_look(call: Call) -> None:
    """V5: several ids show a preview and ask; --yes does not ask; each is a decision, and one
    failure stops no other."""
    first, second = proposed(call, "tea"), proposed(call, "Oslo", "city")
    refused = call("review", "confirm", first, second, stdin="n\n")
    assert (refused.code, "tea" in refused.out, state(call, first)) == (1, True, "constrained")
    done = call("review", "confirm", first, UNKNOWN, second, "--yes", "--json")
    assert done.code == 1
    assert [one["outcome"] for one in done.json] == ["confirmed", "failed", "confirmed"]
    third, fourth = proposed(call, "cola"), proposed(call, "Rome", "city")
    assert call("review", "reject", "--all", "--reason", "no", "--yes").code == 0
    assert [state(call, one) for one in (third, fourth)] == ["tombstoned", "tombstoned"]


@pytest.mark.parametrize("verb", ["confirm", "reject"])
def test_deciding_all_of_nothing_is_done_at_once(call: Call, verb: str) -> None:
    """V5, H1: where nothing waits, nothing is asked and nothing has failed."""
    told = call("review", verb, "--all", "--reason", "tidy")
    assert (told.code, told.out) == (0, f"nothing waits that can be {verb}ed\n")
    assert call("review", verb, "--all", "--json").json == []


def test_revoke_shows_asks_and_can_be_undone(call: Call) -> None:
    """V8: `revoke --source` previews, asks unless --yes, puts all of it under review, and `undo`
    takes it back."""
    told = remembered(call, "the bridge is closed", "--source", "web:news")["id"]
    assert "the bridge is closed" in call("revoke", "--source", "web:news", "--dry-run").out
    assert call("revoke", "--source", "web:news", "--reason", "hacked", stdin="n\n").code == 1
    assert state(call, told) == "active"
    assert call("revoke", "--source", "web:news", "--yes").code == 2
    assert call("revoke", "--source", "WEB:NEWS", "--reason", "hacked", "--yes").code == 0
    assert state(call, told) == "constrained"
    assert call("undo", last_event(call)).code == 0
    assert state(call, told) == "active"


BAD: list[tuple[tuple[str, ...], int, str]] = [
    (("review", "confirm", UNKNOWN), 3, "no record"),
    (("review", "confirm", "nonsense"), 3, "no record"),
    (("review", "confirm"), 2, "--all"),
    (("review", "reject", UNKNOWN), 3, "no record"),
    (("review", "reject", UNKNOWN, "--reason", "why"), 3, "no record"),
    (("review", "lift", UNKNOWN, "--reason", "why"), 3, "no record"),
    (("rollback", UNKNOWN), 3, "no record"),
    (("correct", UNKNOWN, "text", "--reason", "why"), 3, "no record"),
    (("forget", UNKNOWN), 3, "no record"),
    (("undo", "99999"), 3, "no event"),
    (("undo", "nine"), 2, "nine"),
    (("undo", "0"), 2, "event"),
    (("profile", "propose", "drink", "tea"), 2, "--reason"),
    (("profile", "propose", "drink", "tea", "--reason", " "), 2, "reason"),
    (("profile", "propose", "drink", "tea", "--reason", "x", "--evidence", UNKNOWN), 3, "evidence"),
    (("profile", "propose", "", "tea", "--reason", "x"), 2, "empty"),
    (("revoke", "--source", " ", "--reason", "x", "--yes"), 2, "source"),
    (("revoke", "--source", "web", "--reason", " ", "--yes"), 2, "reason"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "message"), BAD, ids=[" ".join(case[0]) for case in BAD]
)
def test_bad_input_is_told_and_leaves_no_trace(
    call: Call, arguments: tuple[str, ...], code: int, message: str
) -> None:
    """H1, V5: the right exit code, a message that names what is wrong, JSON for programs,
    and no event."""
    remembered(call, "something")
    before = last_event(call)
    outcome = call(*arguments)
    assert (outcome.code, message in outcome.err) == (code, True), outcome.err
    if code != 2 or "--json" not in arguments:
        told = call(*arguments, "--json")
        assert message in json.loads(told.err)["error"]["message"]
    assert last_event(call) == before


def test_what_cannot_be_decided_says_why(call: Call) -> None:
    """V5, R3: confirming what is not pending, rejecting twice, rolling back what is gone, a value
    that is active already."""
    tea = proposed(call, "tea")
    call("review", "confirm", tea)
    for arguments in (
        ("review", "confirm", tea),
        ("review", "reject", tea, "--reason", "no"),
        ("undo", "1"),
    ):
        assert call(*arguments).code == 1
    again = call("profile", "propose", "drink", "Tea", "--reason", "x")
    assert (again.code, tea in again.err) == (1, True)
    call("forget", tea)
    for arguments in (("forget", tea), ("rollback", tea), ("correct", tea, "x", "--reason", "y")):
        outcome = call(*arguments)
        assert (outcome.code, "tombstoned" in outcome.err) == (1, True)
    assert call("correct", remembered(call, "a")["id"], "b", "--reason", "  ").code == 2


def test_an_agent_decides_nothing(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """V7, P1: with LAMINA_ROLE=agent every operator verb is refused, and a
    proposal needs evidence."""
    tea, told = proposed(call, "tea"), remembered(call, "x")["id"]
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    for arguments in (
        ("review", "confirm", tea),
        ("review", "reject", tea, "--reason", "x"),
        ("review", "lift", tea, "--reason", "x"),
        ("review",),
        ("rollback", told),
        ("correct", told, "y", "--reason", "x"),
        ("forget", told),
        ("undo", "1"),
        ("revoke", "--source", "web", "--reason", "x", "--yes"),
        ("prune", "--layer", "episodic", "--yes"),
        ("key", "set"),
        ("key", "remove"),
    ):
        outcome = call(*arguments, stdin="12345678\n")
        assert (outcome.code, "agent" in outcome.err) == (1, True), arguments
    assert call("profile", "propose", "food", "rice", "--reason", "x").code == 2
    assert call("profile", "propose", "food", "rice", "--reason", "x", "--evidence", told).code == 0


def test_the_operator_key(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """V7: with a key set, operator verbs need it; without it the program may do what an agent may;
    nothing keeps the key."""
    assert "no key" in call("key", "status").out
    assert call("key", "set", stdin="short\n").code == 2
    assert call("key", "set", stdin="correct horse battery\n").code == 0
    assert call("key", "status", "--json").json == {"needed": True}
    told = call("remember", "x", "--json").json
    assert told["trust"] == "agent"
    refused = call("forget", told["id"])
    assert (refused.code, "LAMINA_OPERATOR_KEY" in refused.err) == (1, True)
    assert call("list").code == 0
    monkeypatch.setenv("LAMINA_OPERATOR_KEY", "wrong horse battery")
    for arguments in (("forget", told["id"]), ("key", "remove"), ("key", "set"), ("export",)):
        assert call(*arguments, stdin="another key\n").code == 1
    monkeypatch.setenv("LAMINA_OPERATOR_KEY", "correct horse battery")
    assert call("forget", told["id"]).code == 0
    assert call("remember", "y", "--json").json["trust"] == "operator"
    assert call("key", "set", stdin="a new long key\n").code == 0
    assert call("undo", "2").code == 1
    monkeypatch.setenv("LAMINA_OPERATOR_KEY", "a new long key")
    assert call("key", "remove").code == 0
    monkeypatch.delenv("LAMINA_OPERATOR_KEY")
    assert call("undo", "2").code == 0
