"""Promises to whoever types an id: a part of it is enough, wherever the program takes one."""

from __future__ import annotations

import pytest

from tests.surfaces.conftest import Call, remembered
from tests.surfaces.reviewing import proposed, state


def end(record_id: str) -> str:
    return record_id[-6:]


def test_every_command_takes_the_end_of_an_id(call: Call) -> None:
    """H1: inspect, review, rollback, correct, forget, grant, runs, archive restore,
    erase and --evidence."""
    tea = proposed(call, "tea")
    assert call("review", "confirm", end(tea)).out.startswith(f"confirmed {tea}")
    assert call("rollback", end(tea)).code == 0
    milk, water = proposed(call, "milk"), proposed(call, "water", "other")
    assert call("review", "reject", end(milk), end(water), "--reason", "never", "--yes").code == 0
    assert (state(call, end(milk)), state(call, end(water))) == ("tombstoned", "tombstoned")
    assert call("review", "lift", end(milk), "--reason", "after all").code == 0
    note = remembered(call, "Ana drinks espreso")["id"]
    corrected = call(
        "correct", end(note), "Ana drinks espresso", "--reason", "misspelt", "--json"
    ).json["id"]
    resting = remembered(
        call, "She sleeps badly", "--evidence", end(corrected), "--evidence", "./notes.md"
    )
    assert resting["evidence"] == [corrected, "./notes.md"]
    other = call(
        "profile",
        "propose",
        "sleep",
        "bad",
        "--reason",
        "so",
        "--evidence",
        end(corrected),
        "--json",
    ).json
    assert other["evidence"] == [corrected]
    assert call("--agent", "milton", "remember", "plan the week").code == 0
    assert call("grant", "milton", "--record", end(corrected)).code == 0
    assert call("--agent", "milton", "inspect", end(corrected), "--shared-by", "default").code == 0
    assert call("forget", end(resting["id"])).code == 0
    assert call("prune", "--layer", "short_term", "--yes").code == 0
    assert call("archive", "restore", end(corrected)).code == 0
    assert call("erase", end(corrected), "--yes").code == 0
    assert "erased" in call("inspect", end(corrected)).out


def test_an_id_as_tables_and_people_write_it(call: Call) -> None:
    """H1: in capital letters, and after the ellipsis that a table cuts it with."""
    record_id = remembered(call, "Ana likes tea")["id"]
    for typed in (
        record_id.upper(),
        record_id[:12].upper(),
        f"…{end(record_id)}",
        f"...{end(record_id)}",
    ):
        assert call("inspect", typed, "--json").json["id"] == record_id


def test_an_id_that_could_be_several(call: Call) -> None:
    """H1: wrong usage, with the ids and what they say; nothing is done."""
    tea, coffee = (remembered(call, text)["id"] for text in ("Ana likes tea", "Ben likes coffee"))
    outcome = call("forget", tea[:6])
    assert outcome.code == 2
    assert outcome.out == ""
    assert f"{tea}  'Ana likes tea'\n" in outcome.err
    assert f"{coffee}  'Ben likes coffee'\n" in outcome.err
    assert (state(call, tea), state(call, coffee)) == ("active", "active")


@pytest.mark.parametrize("typed", ["zzzzzz", "abc", "no such id", "0" * 26])
def test_an_id_that_is_none(call: Call, typed: str) -> None:
    """H1: exit code 3, as for a whole id that nothing has; several decisions are not begun."""
    remembered(call, "Ana likes tea")
    for words in (
        ["inspect"],
        ["forget"],
        ["review", "confirm"],
        ["erase", "--yes"],
        ["runs", "close"],
    ):
        outcome = call(*words, typed)
        assert (outcome.code, "there is no" in outcome.err) == (3, True)


def test_an_agent_is_told_nothing_of_other_users(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P2, R12: with --user, ids of others make nothing ambiguous and are not found."""
    hers = remembered(call, "Ana likes tea")["id"]
    monkeypatch.setenv("LAMINA_USER", "ben")
    his = remembered(call, "Ben likes coffee")["id"]
    monkeypatch.setenv("LAMINA_USER", "eve")
    assert call("inspect", his[:6], "--json").json["id"] == hers
    assert call("inspect", end(his)).code == 3
