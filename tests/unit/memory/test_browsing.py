"""Promises of the verbs by which people leaf through a memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lamina.errors import Forbidden, InvalidInput
from lamina.model.record import Layer
from tests.conftest import CONTRACTS, START, Desk


def test_a_list_is_sorted_and_counted(desk: Desk) -> None:
    """H2: records come in the order asked for, with how many have each value, within the filter."""
    mem = desk.agent()
    one = mem.remember("tea", importance=0.2, tags=["drink"], speaker="Ana", project="house")
    desk.clock.jump(timedelta(days=40))
    two = mem.remember("bread", importance=0.9, tags=["food", "drink"], source="shop", session="s1")
    newest = mem.browsing.browse()
    assert [record.id for record in newest.records] == [two.id, one.id]
    assert (newest.total, newest.is_whole) == (2, True)
    assert newest.counts["tag"] == {"drink": 2, "food": 1}
    assert newest.counts["speaker"] == {"Ana": 1}
    assert newest.counts["source"] == {"shop": 1}
    assert newest.counts["session"] == {"s1": 1}
    assert newest.counts["project"] == {"house": 1}
    assert [*newest.counts["month"].values()] == [1, 1]
    assert [r.id for r in mem.browsing.browse(sort="oldest").records] == [one.id, two.id]
    assert [r.id for r in mem.browsing.browse(sort="importance", limit=1).records] == [two.id]
    assert [r.id for r in mem.browsing.browse(speaker="Ana").records] == [one.id]
    assert [r.id for r in mem.list(source="shop")] == [two.id]
    assert [hit.record.id for hit in mem.search("tea bread", speaker="Ana")] == [one.id]
    assert not mem.browsing.browse(tags=["nothing"]).records
    with pytest.raises(InvalidInput, match="unknown order"):
        mem.browsing.browse(sort="colour")


def test_growth_is_counted_by_day(desk: Desk) -> None:
    """H2: memories in every state are counted by layer and day, from a time on."""
    op = desk.operator()
    for days in (0, 0, 1, 40):
        op.remember(f"tea {days} days ago", at=START - timedelta(days=days))
    op.forget(op.remember("gone", at=START).id)
    grown = op.browsing.growth(START - timedelta(days=30))
    today = START.date()
    assert {(one.layer, one.day): one.number for one in grown} == {
        (Layer.SHORT_TERM, today): 3,
        (Layer.SHORT_TERM, today - timedelta(days=1)): 1,
    }


def test_moves_are_counted_by_change(desk: Desk) -> None:
    """H2: of each change since a time it is told how many memories it promoted, and how many more
    or fewer wait for a person; what was before that time is left out."""
    mem, op = desk.agent(), desk.operator()
    old = mem.remember("Ana likes tea", kind="preference")
    desk.clock.jump(timedelta(days=2))
    since = desk.clock.now
    waiting = mem.propose_profile("drink", "tea", "she said so", [old.id])
    op.promote(old.id)
    op.confirm(waiting.id)
    moves = op.browsing.moves(since)
    assert [(one.promoted, one.waiting) for one in moves if one.promoted or one.waiting] == [
        (0, -1),
        (1, 0),
        (0, 1),
    ]
    assert all(one.at >= since for one in moves)
    assert len(op.browsing.moves(START, limit=2)) == 2
    with pytest.raises(Forbidden):
        desk.agent(user="ben").browsing.moves(since)


def test_open_items_of_a_person_or_project(desk: Desk) -> None:
    """H2: what waits is listed for who said it, or for the project that it belongs to, however
    much else was said since."""
    mem = desk.agent()
    asked = mem.remember("Please call the baker", kind="request", speaker="Ana", project="house")
    other = mem.remember("Please water the plants", kind="request", speaker="Ben")
    assert {one["id"] for one in mem.browsing.open_items()} == {asked.id, other.id}
    assert [one["id"] for one in mem.browsing.open_items(speaker="Ana")] == [asked.id]
    assert [one["id"] for one in mem.browsing.open_items(project="house")] == [asked.id]
    assert not mem.browsing.open_items(speaker="Ben", project="house")


def test_the_archive_is_counted(desk: Desk) -> None:
    """H2: the number of archived memories is that of the user who asks."""
    op = desk.operator()
    op.remember("An old invoice", tags=["old"])
    desk.agent(user="ben").remember("Ben's invoice", tags=["old"])
    op.prune(tags=["old"])
    assert op.browsing.archived() == 2
    assert desk.agent(user="ana").browsing.archived() == 1


def test_conversations_are_listed_by_time(desk: Desk) -> None:
    """H2: each conversation has its times, its speakers, the number of its turns and its beginning."""
    mem = desk.agent()
    for day, name in enumerate(("first", "second")):
        at = START + timedelta(days=day)
        turns = [
            {"speaker": "Ana", "text": f"I am here, {name}.", "at": at},
            {"speaker": "Ben", "text": "Hello.", "at": at + timedelta(minutes=1)},
            {"speaker": "Ana", "text": "Bye.", "at": at + timedelta(minutes=2)},
        ]
        mem.remember_conversation(turns[: 3 - day], session=name)
    second, first = mem.browsing.conversations()
    assert (first.name, first.turns, first.speakers) == ("first", 3, ("Ana", "Ben"))
    assert (first.opening, second.opening) == ("I am here, first.", "I am here, second.")
    assert (second.name, second.turns, second.begin) == ("second", 2, START + timedelta(days=1))
    assert [one.name for one in mem.browsing.conversations(limit=1)] == ["second"]
    assert [one.name for one in mem.browsing.conversations(until=START + timedelta(hours=1))] == [
        "first"
    ]
    assert mem.browsing.conversations(speaker="Carl") == []
    assert len(mem.browsing.conversations(speaker="Ben")) == 2


def test_what_was_learned_says_what_replaced_it(desk: Desk) -> None:
    """H2, S2: from a saying one gets to the fact that rests on it, and to the one that holds now."""
    mem = desk.agent()
    turns = [
        {"speaker": "Ana", "text": "I live in Lisbon.", "at": START - timedelta(days=9)},
        {"speaker": "Ana", "text": "I moved to Porto last week.", "at": START},
    ]
    old, new = mem.remember_conversation(turns, session="s1")
    mem.sleep()
    learned = mem.browsing.learned_from([old.id, new.id, "nonsense"])
    (lisbon,) = [one for one in learned[old.id] if "Lisbon" in one.record.content]
    assert lisbon.replaced_by is not None
    assert "Porto" in lisbon.replaced_by.content
    assert mem.browsing.replacements([lisbon.record.id]) == {lisbon.record.id: lisbon.replaced_by}
    assert mem.browsing.replacements([lisbon.replaced_by.id]) == {}


def test_users_see_only_what_is_theirs(desk: Desk) -> None:
    """V6: lists, counts, conversations and what was learned leave out other users' records."""
    desk.agent(user="ana").remember("secret of Ana", tags=["hush"], session="s1", speaker="Ana")
    source = desk.agent().remember("for all", session="s2", speaker="Ben")
    desk.operator(user="ana").remember(
        "rests", layer="semantic", metadata=CONTRACTS["semantic"], evidence=[source.id]
    )
    ben = desk.agent(user="ben")
    assert "hush" not in ben.browsing.browse().counts["tag"]
    assert [one.name for one in ben.browsing.conversations()] == ["s2"]
    assert ben.browsing.learned_from([source.id]) == {}
    assert desk.agent(user="ana").browsing.learned_from([source.id])[source.id]
