"""The verbs that read: what they find by default, and what they refuse."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from lamina import Memory, Operator
from lamina.errors import InvalidInput
from lamina.model.record import LONG_TERM, State
from lamina.search import RANKERS
from tests.cases import every
from tests.conftest import CONTRACTS, START, Desk, Ticking, contents, move, size

LIMITS: list[Any] = [0, -1, 10_001, True, False, "5", 5.0, None, math.nan, math.inf, 10**400, [5]]
ASKING: dict[str, Callable[[Memory, Any], object]] = {
    "search": lambda mem, limit: mem.search("tea", limit),
    "search by keyword": lambda mem, limit: mem.search("tea", limit=limit, ranker="keyword"),
    "query_relevant": lambda mem, limit: mem.query_relevant("tea", limit),
    "recall_similar": lambda mem, limit: mem.recall_similar("tea", limit),
    "query_recent": lambda mem, limit: mem.query_recent(24, None, limit),
    "list": lambda mem, limit: mem.list(limit=limit),
}


@every("limit", LIMITS)
@every("verb", ASKING)
def test_limits_that_are_none(mem: Memory, verb: str, limit: Any) -> None:
    """Q7: a limit outside 1–10,000, or no whole number, is an error that says so; also when nothing
    would be found."""
    for _ in range(2):
        with pytest.raises(InvalidInput, match="not a whole number from 1 to 10,000"):
            ASKING[verb](mem, limit)
        mem.remember("tea")


@every("verb", ASKING)
@every("limit", [1, 3, 10_000])
def test_limits_that_are_some(mem: Memory, verb: str, limit: int) -> None:
    """Q7: a limit is an upper bound."""
    mem.remember_many([{"content": "tea", "layer": "episodic"}] * 5)
    found: Any = ASKING[verb](mem, limit)
    assert len(found) == min(limit, 5)


QUERIES: list[Any] = [
    None,
    5,
    b"tea",
    ["tea"],
    True,
    object(),
    "x" * 65_537,
    "é" * 32_769,
    "猫" * 21_846,
    "\ud800" * 65_537,
]


@every("query", QUERIES)
@every("ask", ["search", "query_relevant", "recall_similar"])
def test_queries_that_are_none(mem: Memory, ask: str, query: Any) -> None:
    """Q7: a query that is no text, or longer than 64 KiB, is an error."""
    mem.remember("tea")
    with pytest.raises(InvalidInput, match="the query"):
        getattr(mem, ask)(query)


@every("ranker", RANKERS)
@every(
    "query",
    [
        "tea \ud800",
        "\udfff tea",
        "tea\0",
        "\0",
        "tea\n\r\t",
        "tea " * 16_384,
        "x" * 65_536,
        "猫" * 21_845,
        "tea\u202e",
        '"tea" AND (',
        "tea*",
        "content:tea",
        "{content} : tea",
        "NEAR(tea)",
        "-tea",
        "^tea",
        "%s %d {0} tea",
        "\\b(tea",
        "tea' OR 1=1 --",
    ],
)
def test_odd_queries_are_only_text(mem: Memory, ranker: str, query: str) -> None:
    """Q7, Q8: half pairs, NULs, syntax of other languages and very long queries are searched for,
    and never an error."""
    mem.remember_many([{"content": "green tea"}, {"content": "猫猫猫"}, {"content": "x"}])
    hits = mem.search(query, ranker=ranker)
    if ranker != "hybrid" and "tea" in query:
        assert "green tea" in contents(hits)


@every(
    "filters",
    [
        {"ranker": "best"},
        {"ranker": ""},
        {"ranker": None},
        {"ranker": "HYBRID"},
        {"ranker": ["hybrid"]},
        {"ranker": 5},
        {"layers": ["attic"]},
        {"layers": "semantic"},
        {"layers": [None]},
        {"layers": [5]},
        {"layers": 5},
        {"layers": ["semantic", "Semantic"]},
        {"layers": ["working"]},
        {"layers": frozenset({"working"})},
        {"states": ["alive"]},
        {"states": "active"},
        {"states": [["active"]]},
        {"states": 5},
        {"kinds": ["recipe"]},
        {"kinds": "fact"},
        {"kinds": [5]},
        {"kinds": [["fact"]]},
        {"tags": "tea"},
        {"tags": [5]},
        {"tags": [""]},
        {"tags": ["a\nb"]},
        {"tags": ["\ud800"]},
        {"tags": ["x" * 257]},
        {"tags": [f"t{n}" for n in range(257)]},
        {"all_tags": "tea"},
        {"all_tags": [None]},
        {"all_tags": ["\0"]},
        {"since": "yesterday"},
        {"since": datetime(2026, 1, 1)},
        {"since": True},
        {"until": math.nan},
        {"until": "2026-01-01"},
        {"until": []},
        {"as_of": "now"},
        {"as_of": 1e20},
        {"known_at": datetime(2026, 1, 1)},
        {"known_at": "0001-01-01T00:00:00+23:00"},
        {"known_at": -math.inf},
        {"run_id": "x"},
        {"run_id": 5},
        {"run_id": ""},
    ],
)
@every("query", ["tea", "?!"])
def test_filters_that_are_none(mem: Memory, query: str, filters: dict[str, Any]) -> None:
    """Q3, Q7: an unknown or misshapen ranker, layer, state, kind, tag, time or run is an error,
    whatever is asked."""
    mem.remember("tea")
    before = size(mem)
    with pytest.raises(InvalidInput):
        mem.search(query, **filters)
    assert size(mem) == before


@pytest.mark.parametrize("name", ["ranker", "layers", "states", "kinds"])
def test_what_is_unknown_is_told_with_what_is_known(mem: Memory, name: str) -> None:
    """R5, Q7: the error lists what there is."""
    given: Any = "nonsense" if name == "ranker" else ["nonsense"]
    with pytest.raises(InvalidInput, match=r"'nonsense'; known are .*, ") as caught:
        mem.search("tea", **{name: given})
    known: Any = caught.value.details["known"]
    assert len(known) >= 4


@every(
    "hours",
    [0, -1, math.nan, math.inf, -math.inf, "24", None, True, 1_000_001, [1], 10**400],
)
def test_hours_that_are_none(mem: Memory, hours: Any) -> None:
    """Q1: hours are a number above 0."""
    with pytest.raises(InvalidInput, match="hours"):
        mem.query_recent(hours)


@every(
    "bias",
    [math.nan, math.inf, -math.inf, "x", "0.5", None, True, [0.5], 1j, 10**400],
)
def test_a_bias_that_is_none(mem: Memory, bias: Any) -> None:
    """Q1: a bias is a finite number."""
    mem.remember("tea")
    with pytest.raises(InvalidInput, match="recency_bias"):
        mem.query_relevant("tea", recency_bias=bias)


def test_what_is_recent(mem: Memory, clock: Ticking) -> None:
    """Q1: `query_recent` gives what happened within the hours, newest first, by when it happened
    and not when it was told."""
    mem.remember_many(
        [
            {"content": f"{age} hours", "at": START - timedelta(hours=age)}
            for age in (30, 1, 24, 23, 0, 100)
        ]
    )
    clock.set(START)
    assert contents(mem.query_recent()) == ["0 hours", "1 hours", "23 hours", "24 hours"]
    clock.set(START)
    assert contents(mem.query_recent(0.5)) == ["0 hours"]
    clock.set(START)
    assert contents(mem.query_recent(hours=1_000, limit=5)) == [
        "0 hours",
        "1 hours",
        "23 hours",
        "24 hours",
        "30 hours",
    ]
    clock.set(START + timedelta(days=60))
    assert mem.query_recent() == []


def test_recent_with_any_of_the_tags(mem: Memory, clock: Ticking) -> None:
    """Q1: tags match any, however they are written; no tags given is no filter."""
    mem.remember_many(
        [{"content": "a", "tags": ["A"]}, {"content": "b", "tags": ["b", "x"]}, {"content": "c"}]
    )
    assert set(contents(mem.query_recent(tags=["a", " B "]))) == {"a", "b"}
    assert contents(mem.query_recent(tags=["y"])) == []
    assert set(contents(mem.query_recent(tags=[]))) == {"a", "b", "c"}
    with pytest.raises(InvalidInput, match="tags"):
        mem.query_recent(tags="a")


def test_recent_is_what_is_active_and_mine(desk: Desk, op: Operator) -> None:
    """Q1, R12: no hidden, no working and nobody else's memory is recent."""
    move(op, op.remember("hidden").id, state=State.TOMBSTONED)
    op.run("task")
    desk.agent(user="ben").remember("of ben")
    desk.agent(user="ana").remember("of ana")
    op.remember("of all")
    assert set(contents(desk.agent(user="ana").query_recent())) == {"of ana", "of all"}


def test_similar_memories_are_long_term(op: Operator) -> None:
    """Q4: `recall_similar` looks at the long-term layers alone, other searches at
    short-term memory too."""
    for layer, metadata in CONTRACTS.items():
        op.remember("a cup of green tea", layer=layer, metadata=metadata)
    run = op.run("a cup of green tea")
    hits = op.recall_similar("green tea", 50)
    assert {hit.record.layer for hit in hits} == set(LONG_TERM)
    for ranker in RANKERS:
        layers = {hit.record.layer for hit in op.search("green tea", 50, ranker=ranker)}
        assert layers == {*LONG_TERM, "short_term"}
        layers = {hit.record.layer for hit in run.search("green tea", 50, ranker=ranker)}
        assert layers == {*LONG_TERM, "short_term", "working"}


def test_similar_is_five_without_a_number(op: Operator) -> None:
    """Q4, I: `top_k` is 5."""
    op.remember_many([{"content": f"green tea {n}", "layer": "episodic"} for n in range(9)])
    assert len(op.recall_similar("green tea")) == 5
    assert len(op.recall_similar("green tea", top_k=2)) == 2


@pytest.mark.parametrize("ranker", RANKERS)
def test_an_empty_store_has_no_answer(mem: Memory, ranker: str) -> None:
    """Q7: a new store answers nothing, with every filter and at every time."""
    for filters in (
        {},
        {"as_of": START},
        {"known_at": START},
        {"tags": ["a"]},
        {"metadata": {"a": 1}},
        {"layers": ["world"]},
    ):
        hits = mem.search("tea", ranker=ranker, **filters)
        assert (len(hits), hits.outcome, hits.notes) == (0, "nothing_relevant", ())


@pytest.mark.parametrize("ranker", RANKERS)
def test_reads_are_audited_with_what_they_found(desk: Desk, ranker: str) -> None:
    """P4: every search is in the trail of reads, with its query and the records that it gave, found
    or not."""
    mem = desk.agent()
    record = mem.remember("green tea")
    mem.search("green tea", ranker=ranker)
    mem.search("?!", ranker=ranker)
    mem.close()
    reads = desk.operator().audit_reads()
    searches = [(read.note["query"], read.records) for read in reads if read.action == "search"]
    assert searches == [("?!", ()), ("green tea", (record.id,))]


@pytest.mark.parametrize(
    "times",
    [{"since": START}, {"since": START.timestamp()}, {"since": "2026-05-01T10:00:00+02:00"}],
)
def test_times_in_every_spelling(mem: Memory, times: dict[str, Any]) -> None:
    """Q3, R4: an aware datetime, epoch seconds and ISO-8601 mean the same; since is included, until
    is not."""
    mem.remember_many(
        [{"content": f"tea {n}", "at": START + timedelta(microseconds=n)} for n in (-1, 0, 1)]
    )
    for ranker in RANKERS:
        assert set(contents(mem.search("tea", ranker=ranker, **times))) == {"tea 0", "tea 1"}
        until = {"until": times["since"]}
        assert set(contents(mem.search("tea", ranker=ranker, **until))) == {"tea -1"}


def test_what_rests_on_a_record(desk: Desk) -> None:
    """P1, P2: the other way round than evidence, and of another user's records nothing."""
    memory = desk.agent()
    base = memory.remember("a turn")
    one = memory.remember("what follows", evidence=[base.id])
    desk.agent(user="ana").remember("hers", evidence=[base.id])
    assert desk.agent(user="ben").resting_on(base.id) == [one.id]
    assert len(memory.resting_on(base.id)) == 2
    assert memory.resting_on(one.id) == []


def test_a_day_that_was_spoken_of_earlier_has_come(op: Operator, clock: Ticking) -> None:
    """L12: "tomorrow" counts from when it was said, also when that was stored later."""
    made = op.remember("The flight is tomorrow", at=clock.now - timedelta(days=1))
    assert [(item["id"], item["why"]) for item in op.pending()] == [(made.id, "the day has come")]


def test_days_that_come_again(desk: Desk, op: Operator, clock: Ticking) -> None:
    """L12: a recurring day is pending on each of its days, that day alone, and in the file for
    other programs; what is done about it settles this time only."""
    op.remember("Put the bins out every Monday")
    op.remember("Pay the rent on the first of the month")
    op.remember("Ana's party is every year on 4 June")
    op.remember("Jeden Freitag Sport")
    op.remember("We danced every Monday")
    start = clock.now
    due: dict[str, list[str]] = {}
    for day in range(1, 63):
        clock.set(start + timedelta(days=day))
        for item in op.pending():
            assert item["due"] == clock.now.date().isoformat()
            due.setdefault(item["content"].split()[0], []).append(item["due"])
    assert due.keys() == {"Put", "Pay", "Ana's", "Jeden"}
    assert due["Put"][:2] == ["2026-05-04", "2026-05-11"]
    assert len(due["Put"]) == 9
    assert due["Pay"] == ["2026-06-01", "2026-07-01"]
    assert due["Ana's"] == ["2026-06-04"]
    assert due["Jeden"][0] == "2026-05-08"
    clock.set(start + timedelta(days=66))  # a Monday
    (bins,) = op.pending()
    op.orchestrator().tick()
    written = json.loads((desk.home / "status" / "sky_pending.json").read_text("utf-8"))
    assert [item["id"] for item in written] == [bins["id"]]
    op.remember("The bins are out", kind="action", evidence=[bins["id"]])
    assert op.pending() == []
    clock.set(start + timedelta(days=73))
    assert [item["id"] for item in op.pending()] == [bins["id"]]


def test_a_request_waits_until_its_result(op: Operator) -> None:
    """L12: requests, escalations and pending things are listed until something answers them."""
    asked = op.remember("Book a table", kind="request")
    op.remember("Disk is full", kind="escalation", metadata={"escalated_to": "Aegis"})
    op.remember("Waiting for the courier", metadata={"status": "pending"})
    assert len(op.pending()) == 3
    op.remember("Table booked", kind="result", evidence=[asked.id])
    assert asked.id not in [item["id"] for item in op.pending()]


def test_each_user_sees_their_own_pending_things(desk: Desk) -> None:
    """L12, R12: what waits for Ana is none of Ben's business."""
    desk.agent(user="ana").remember("Call the bank", kind="request")
    assert contents_of(desk.agent(user="ben").pending()) == []
    assert contents_of(desk.agent(user="ana").pending()) == ["Call the bank"]


def contents_of(items: list[dict[str, Any]]) -> list[str]:
    return [item["content"] for item in items]
