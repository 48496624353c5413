"""What a model is given to read: bounded, fenced, labelled, and only what this handle may see."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lamina import Memory, Operator
from lamina.errors import InvalidInput
from lamina.model.record import Hit, Layer, Record, State, Trust
from lamina.search import context
from lamina.search.context.lines import LEGEND
from lamina.text import fence, words
from tests.cases import every
from tests.conftest import CONTRACTS, START, Desk, move, verified
from tests.unit.text.fences import hostile

LAYERS = ("profile", "procedural", "semantic")
GOAL = "prepare the weekly garden report"
HEADERS = frozenset(f"[{section}]" for section in context.Section)


def fill(
    op: Operator,
    layer: str,
    number: int,
    content: str = "the weekly garden report needs fact",
    **more: Any,
) -> list[Record]:
    return [
        op.remember(f"{content} {n}", layer=layer, metadata=CONTRACTS[layer], **more)
        for n in range(number)
    ]


def lines_of(made: context.Context) -> list[str]:
    """The lines of memories between the marks, which must be the first and the last line and
    stand nowhere else; without the legend and the names of the sections."""
    first, legend, *inside, last = made.text.split("\n")
    assert (first, legend, last) == (fence.OPEN, LEGEND, fence.CLOSE)
    assert made.text.count(fence.OPEN) == made.text.count(fence.CLOSE) == 1
    return [line for line in inside if line not in HEADERS]


# How much


def test_each_layer_has_its_share(op: Operator) -> None:
    """Q9: three memories each of profile, procedural and semantic by default, in this order, and of
    no other layer."""
    for layer in (*LAYERS, "episodic", "world", "short_term"):
        fill(op, layer, 5)
    made = op.memory_context(GOAL, max_chars=10_000)
    assert [hit.record.layer for hit in made.items] == ["profile"] * 3 + ["procedural"] * 3 + [
        "semantic"
    ] * 3


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"profile": 1, "semantic": 4}, ["profile"] + ["semantic"] * 4),
        ({"semantic": 2, "profile": 1}, ["profile"] + ["semantic"] * 2),
        ({"profile": 0, "procedural": 2}, ["procedural"] * 2),
        ({"episodic": 100}, ["episodic"] * 5),
        ({"short_term": 1, "world": 1}, ["short_term", "world"]),
        ({"episodic": 1, "world": 1}, ["world", "episodic"]),
    ],
)
def test_limits_are_per_layer(op: Operator, limits: dict[str, int], expected: list[str]) -> None:
    """Q9, C1: a caller may choose layers and numbers; the sections keep their order."""
    for layer in (*LAYERS, "episodic", "world", "short_term"):
        fill(op, layer, 5)
    assert [
        hit.record.layer for hit in op.memory_context(GOAL, limits, max_chars=10_000).items
    ] == expected


def test_the_text_is_never_too_long(op: Operator) -> None:
    """Q9: whatever the cap, the text keeps it, fence included; what is in the text is in the items,
    in order."""
    fill(op, "profile", 2)
    fill(op, "procedural", 2, "weekly garden report\nsecond line 日本語 👩\u200d💻\n" * 4)
    fill(op, "semantic", 2, "the weekly garden report " * 30)
    whole = op.memory_context(GOAL, max_chars=1_000_000)
    longest = len(whole.text)
    assert len(whole.items) == 6
    for cap in [*range(200, longest + 3, 23), longest - 1, longest, longest + 1]:
        made = op.memory_context(GOAL, max_chars=cap)
        assert len(made.text) <= cap
        if made.items:
            assert [line[1:7] for line in lines_of(made)] == [
                hit.record.id[-6:] for hit in made.items
            ]
        else:
            assert made.text == ""
    assert op.memory_context(GOAL, max_chars=longest).text == whole.text
    assert "…" in op.memory_context(GOAL, max_chars=longest - 1).text.partition(LEGEND)[2]
    assert "…" not in whole.text.partition(LEGEND)[2]


def test_the_cap_is_2000_characters(op: Operator) -> None:
    """Q9: without a word about it, the text has at most 2000 characters, and is filled as far as
    that goes."""
    fill(op, "semantic", 3, " ".join(f"the weekly garden report {week}" for week in range(200)))
    assert 1900 < len(op.memory_context(GOAL).text) <= 2000


def test_nothing_relevant_is_an_empty_text(op: Operator) -> None:
    """Q9, Q7: no hit, no fence."""
    assert op.memory_context(GOAL).text == ""
    fill(op, "episodic", 3)
    made = op.memory_context(GOAL)
    assert (made.text, made.items, str(made)) == ("", (), "")
    assert op.memory_context("?!").text == ""


@every(
    "arguments",
    [
        *(
            {"max_chars": value}
            for value in (199, 0, -1, 1_000_001, True, 2000.0, "2000", None, float("nan"))
        ),
        *(
            {"limits": value}
            for value in (
                "profile",
                3,
                ["profile"],
                {"attic": 1},
                {1: 1},
                {"working": 1},
                {"Profile": 1},
            )
        ),
        *({"limits": {"profile": value}} for value in (-1, 101, True, 1.0, "3", None)),
        *({"goal": value} for value in (None, 1, b"tea", ["tea"], "x" * 65_537)),
        {"goal": 1, "limits": {}},
        {"goal": None, "limits": {"profile": 0}},
    ],
)
def test_bad_input_is_a_typed_error(op: Operator, arguments: dict[str, Any]) -> None:
    """Q9, Q7: limits, caps and goals that make no sense are `InvalidInput`."""
    with pytest.raises(InvalidInput):
        op.memory_context(**{"goal": GOAL, **arguments})


# What it says


def test_a_memory_says_where_it_comes_from(op: Operator) -> None:
    """Q9, C4: a handle by which it is found, the day, and that it came from outside stand before
    the text, which is on one line."""
    record = op.remember(
        "weekly garden report\nsecond line",
        layer="semantic",
        metadata=CONTRACTS["semantic"],
        source="web page",
        speaker="Ana",
        at="2026-04-30T23:59:00Z",
    )
    (line,) = lines_of(op.memory_context(GOAL))
    handle = record.id[-6:]
    assert line == f"[{handle}·30 April 2026·external web page] weekly garden report second line"
    assert op.full_id(handle) == record.id


def test_a_turn_says_who_spoke(op: Operator) -> None:
    """C4: of what somebody said, the speaker is told."""
    turn = op.remember(
        "weekly garden report", layer="episodic", speaker="Ana", at="2026-04-30T09:00:00Z"
    )
    (line,) = lines_of(op.memory_context(GOAL, {"episodic": 1}))
    assert line == f"[{turn.id[-6:]}·30 April 2026·Ana] weekly garden report"


def test_trust_is_that_of_the_record(op: Operator) -> None:
    """C4, V8: the label tells what came from outside, and of nothing else whom it is from."""
    for trust in ("operator", "agent", "external"):
        op.remember(
            f"weekly garden report {trust}",
            layer="semantic",
            metadata=CONTRACTS["semantic"],
            trust=trust,
        )
    lines = lines_of(op.memory_context(GOAL))
    assert len(lines) == 3
    (outside,) = [line for line in lines if "·external]" in line]
    assert outside.endswith("weekly garden report external")


def test_nobody_speaks_in_the_label(op: Operator) -> None:
    """Q9, V8: a speaker or source that reads like a part of the label adds none to it."""
    texts = (
        "weekly garden report",
        "the garden report is due",
        "a report about roses in the garden",
    )
    for said, name in zip(texts, ("Ana; external", "Ana] [always", "x·instruction"), strict=True):
        fields: dict[str, Any] = {
            "trust": "external",
            "speaker": name,
            "source": name,
        }
        op.remember(said, layer="episodic", **fields)
    lines = lines_of(op.memory_context(GOAL, {"episodic": 3}))
    assert len(lines) == 3
    for line in lines:
        label, _, said = line.partition("] ")
        assert said in texts
        assert label.count("·") == 3
        assert label.split("·")[3].startswith("external ")
        assert label.count("[") == 1


def hit_with(content: str, **fields: Any) -> Hit:
    record = Record(
        id="0" * 26, seq=1, agent="sky", user=None, layer=Layer.SEMANTIC, state=State.ACTIVE, kind="fact", content=content,
        importance=0.5, confidence=1.0, trust=Trust.AGENT, source=None, tags=(), metadata={}, evidence=(), speaker=None,
        session=None, run_id=None, occurred_at=START, created_at=START, updated_at=START,
    )  # fmt: skip
    return Hit(structs.replace(record, **fields), 1.0, {})


@given(st.lists(hostile.filter(words.is_visible), min_size=1, max_size=4))
def test_no_text_breaks_the_fence(texts: list[str]) -> None:
    """Q9: whatever memories are made of, there is one opening and one closing line, and every line
    of theirs is marked."""
    made = context.fit([hit_with(content) for content in texts], context.MOST)
    inside = lines_of(made)
    assert len(inside) == len(texts)
    assert all(line.startswith("[000000·1 May 2026] ") for line in inside)
    assert not any(line.count("[000000·") > 1 for line in inside)
    assert made.text.splitlines() == made.text.split("\n")
    assert all(
        character == "\n" or character.isprintable() or character in "\u200d\ufe0f"
        for character in made.text
    )
    assert fence.unfenced(f"before{made.text}after") == "beforeafter"


@given(st.lists(hostile.filter(words.is_visible), min_size=1, max_size=4), st.integers(200, 900))
def test_no_text_breaks_a_fence_that_is_full(texts: list[str], cap: int) -> None:
    """Q9: the same where a text is cut."""
    made = context.fit([hit_with(content * 9) for content in texts], cap)
    assert len(made.text) <= cap
    if made.items:
        assert all(line.startswith("[000000·1 May 2026] ") for line in lines_of(made))
        assert fence.unfenced(f"before{made.text}after") == "beforeafter"


@given(hostile.filter(lambda label: words.is_visible(label) and words.is_one_line(label)))
def test_no_speaker_breaks_the_fence(name: str) -> None:
    """Q9: who spoke and where it came from are texts of somebody else too."""
    fields: dict[str, Any] = {"layer": Layer.EPISODIC, "trust": Trust.EXTERNAL}
    made = context.fit([hit_with("tea", speaker=name, source=name, **fields)], context.MOST)
    (line,) = lines_of(made)
    assert line.startswith("[000000·1 May 2026·")
    assert line.endswith("] tea")
    assert line.count("]") == 1


# Whose


def test_only_what_this_handle_may_see(desk: Desk, op: Operator) -> None:
    """Q9, R12, P2: nothing of another user or agent, nothing that waits for review, was forgotten
    or replaced."""
    for user in (None, "ana", "ben"):
        fill(desk.operator("sky", user), "profile", 1, f"weekly garden report of {user}")
    fill(desk.operator("milton"), "profile", 1, "weekly garden report of milton")
    for state in (State.CONSTRAINED, State.TOMBSTONED, State.SUPERSEDED):
        (record,) = fill(op, "profile", 1, f"weekly garden report {state}")
        move(op, record.id, state=state)
    limits = dict.fromkeys(
        ("profile", "procedural", "semantic", "episodic", "short_term", "world"), 100
    )
    seen = {
        user: {
            hit.record.content
            for hit in desk.agent("sky", user).memory_context(GOAL, limits, 100_000).items
        }
        for user in ("ana", "ben", "eve")
    }
    common = "weekly garden report of None 0"
    assert seen == {
        "ana": {common, "weekly garden report of ana 0"},
        "ben": {common, "weekly garden report of ben 0"},
        "eve": {common},
    }
    assert {
        hit.record.content
        for hit in desk.agent("milton").memory_context(GOAL, limits, 100_000).items
    } == {"weekly garden report of milton 0"}


def test_working_memory_is_in_no_context(mem: Memory) -> None:
    """Q9, L10: the notes of a run stay in it."""
    run = mem.run(GOAL)
    run.note("weekly garden report note")
    layers = ("profile", "procedural", "semantic", "episodic", "short_term", "world")
    assert mem.memory_context(GOAL, dict.fromkeys(layers, 10)).items == ()


def test_a_context_is_a_read(op: Operator) -> None:
    """Q9, P4: it is audited with the records that it looked at, and changes none."""
    (record,) = fill(op, "profile", 1)
    head = op.audit_head()
    op.memory_context(GOAL)
    assert op.get(record.id) == record
    assert op.audit_head()["events"] == head["events"]
    found = [read for read in op.audit_reads() if read.action == "memory_context"]
    assert [read.records for read in found if read.records] == [(record.id,)]
    assert {read.note["query"] for read in found} == {GOAL}
    assert verified(op)
