"""Promises of compaction: what is summed up, that nothing said is lost, and that it comes
to an end."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.compaction import Group, compact, dedup
from lamina.engines.review import differences
from lamina.errors import InvalidInput
from lamina.model import hashing, rules
from lamina.model.record import Layer, Record, State, Trust
from lamina.text import fence
from lamina.text import words as text
from tests.cases import every
from tests.conftest import START
from tests.unit.engines.procedures import RADAR, known, numbers, procedure
from tests.unit.engines.samples import record


def confirmed(group: Group, seq: int) -> Record:
    """The record that a group becomes when a person confirms it."""
    names = (
        "kind",
        "content",
        "tags",
        "importance",
        "confidence",
        "trust",
        "occurred_at",
        "user",
        "speaker",
        "layer",
    )
    evidence = tuple(source.id for source in group.sources)
    return record(
        seq, group.metadata, evidence=evidence, **{name: getattr(group, name) for name in names}
    )


def applied(records: Sequence[Record], groups: Sequence[Group]) -> list[Record]:
    """What is active once all groups are confirmed."""
    gone = {source.id for group in groups for source in group.sources}
    seq = max((one.seq for one in records), default=0)
    made = [confirmed(group, seq + number) for number, group in enumerate(groups, 1)]
    return [one for one in records if one.id not in gone] + made


def lines(group: Group) -> list[str]:
    return group.content.split("\n")


# What says the same


@every(
    "other",
    [
        *(
            "ana prefers tea",
            "ANA PREFERS TEA",
            "Ana  prefers\n\ttea",
            "  Ana prefers tea  ",
            "Ａｎａ　ｐｒｅｆｅｒｓ　ｔｅａ",
        ),
        *(
            "Ana prefers tea.",
            "“Ana prefers tea!”",
            "Ana prefers, tea…",
            "**Ana prefers tea**",
            "Áná prefers téa",
            "Ana pre\u200bfers tea",
        ),
    ],
)
def test_the_same_text(other: str) -> None:
    """V2: texts that differ in case, width, spacing, accents or punctuation alone are one group."""
    (group,) = compact([known(1, "Ana prefers tea"), known(2, other), known(3, "Ana prefers milk")])
    assert numbers([group]) == [[1, 2]]
    assert group.why == "2 records say the same"
    assert group.layer is Layer.SEMANTIC


@every(
    ("one", "other"),
    [
        *(
            ("it weighs 1.5 kg", "it weighs 15 kg"),
            ("it is -5 outside", "it is 5 outside"),
            ("Ana writes C++", "Ana writes C"),
        ),
        *(
            ("load < limit", "load > limit"),
            ("Ana -> Ben", "Ana <- Ben"),
            ("use tail -f", "use tail -F"),
            ("clean ./a", "clean /a"),
        ),
        *(
            ("Ana likes hail", "Ana likes hall"),
            ("she is now here", "she is nowhere"),
            ("room lO", "room 10"),
            ("50 %", "50"),
        ),
        *(
            ("Ana likes tea", "Ana likes no tea"),
            ("Ana met Ben", "Ben met Ana"),
            ("delete *", "delete"),
            ("мой дом", "мои дом"),
        ),
    ],
)
def test_what_differs_stays_apart(one: str, other: str) -> None:
    """V2: what a reader would not take for the same is never superseded by the other."""
    assert compact([known(1, one), known(2, other)]) == []
    both = [known(1, one), known(2, other), known(3, f"{one}!"), known(4, f"{other}!")]
    assert numbers(compact(both)) == [[1, 3], [2, 4]]


def test_wide_signs_are_signs() -> None:
    """V2: signs count, but not their width."""
    assert numbers(
        compact([known(1, "load = limit"), known(2, "load ＝ limit"), known(3, "load limit")])
    ) == [[1, 2]]


@pytest.mark.parametrize(
    ("best", "fields"),
    [
        (1, {"trust": Trust.OPERATOR, "importance": 0.1}),
        (1, {"importance": 0.9}),
        (2, {"trust": Trust.OPERATOR}),
        (3, {}),
    ],
)
def test_the_best_text_is_kept(best: int, fields: dict[str, Any]) -> None:
    """V2: of texts that say the same, that of the most trusted, then most important, then newest
    record is kept."""
    said = ["Likes TEA", "likes tea", "Likes tea."]
    records = [known(seq, said[seq - 1], **(fields if seq == best else {})) for seq in (1, 2, 3)]
    (group,) = compact(records)
    assert group.content == said[best - 1]


def test_speakers_are_apart() -> None:
    """V2: the same words of different people are different memories; the group keeps
    who said them."""
    records = [
        known(seq, "I like tea", speaker=name) for seq, name in enumerate(["Ana", "Ben", "Ana"], 1)
    ]
    (group,) = compact(records)
    assert numbers([group]) == [[1, 3]]
    assert group.speaker == "Ana"


def test_days_are_apart() -> None:
    """V2: "yesterday" said on another day is another day; a date with its year is
    always the same."""
    week = START + timedelta(days=7)
    records = [
        *(known(1, "Ana met Ben yesterday"), known(2, "Ana met Ben yesterday", occurred_at=week)),
        *(known(3, "Ana left on 7 May 2023"), known(4, "Ana left on 7 May 2023", occurred_at=week)),
        *(
            known(5, "Ben comes tomorrow", occurred_at=week),
            known(6, "Ben comes tomorrow!", occurred_at=week),
        ),
    ]
    assert numbers(compact(records)) == [[3, 4], [5, 6]]


def test_users_are_apart() -> None:
    """V2, R12: nobody's records are grouped with those of another, nor with unscoped ones."""
    users = [None, "ana", "ben"]
    records = [known(seq, "likes tea", ["tea"], user=user) for seq, user in enumerate(users, 1)]
    assert compact(records) == []
    assert dedup([procedure(seq, "run make", user=user) for seq, user in enumerate(users, 1)]) == []


@every(
    "fields",
    [
        *({"state": state} for state in State if state is not State.ACTIVE),
        *({"layer": layer} for layer in Layer if layer is not Layer.SEMANTIC),
        {"kind": "project", "metadata": {"origin": "compression", "topic_tags": ["tea"]}},
        {
            "metadata": {
                "origin": "import",
                "topic_tags": ["tea"],
                "project": {"project_name": "tea"},
            }
        },
        {"metadata": {"origin": "sleep", "topic_tags": ["tea"], "attribute": "drink"}},
        {"valid_from": START},
        {"valid_to": START},
    ],
)
def test_what_is_left_out(fields: dict[str, Any]) -> None:
    """V2: only active semantic records are summed up, and none that is a project's state or holds
    for a time of its own."""
    assert compact([known(1, "likes tea", ["tea"]), known(2, "likes tea", ["tea"], **fields)]) == []


# What shares a topic


def test_a_topic_is_summed_up() -> None:
    """V2: records that share a topic tag become a headline and one line for each text, in the order
    in which they happened."""
    records = [
        known(1, "The watch\n\n syncs  at night", ["garmin", "Sleep"]),
        known(2, "Ana runs on Sunday", ["ＧＡＲＭＩＮ "], occurred_at=START),
        known(3, "Ben cooks", ["food"]),
    ]
    (group,) = compact(records)
    assert lines(group) == [
        "About garmin:",
        f"- Ana runs on Sunday (said on {START.date()})",
        "- The watch syncs at night",
    ]
    assert numbers([group]) == [[2, 1]]
    assert group.why == "2 records about garmin"
    ids = [f"{seq:026d}" for seq in (2, 1)]
    topics = ["garmin", "Sleep"]
    assert group.metadata == {
        "origin": "memory-review",
        "topic_tags": topics,
        "compacted_from": ids,
        "topic": "garmin",
    }


def test_a_line_says_who_and_when() -> None:
    """V2: in a summary it is still known who said something, and on which day if the words
    hang on it."""
    records = [
        known(1, "I met Ben yesterday", ["x"], speaker="Ana"),
        known(2, "The door is red", ["x"]),
    ]
    (group,) = compact(records)
    assert lines(group) == [
        "About x:",
        f"- Ana: I met Ben yesterday (said on {START.date()})",
        "- The door is red",
    ]
    assert group.speaker is None


def test_the_largest_topic_is_first() -> None:
    """V2: each record is in one group; the largest topic takes its records first, and ties go by
    the name."""
    records = [
        *(known(1, "a", ["b", "large"]), known(2, "b", ["large", "b"]), known(3, "c", ["large"])),
        *(known(4, "d", ["b", "large"]), known(5, "e", ["z", "y"]), known(6, "f", ["y", "z"])),
    ]
    groups = compact(records)
    assert [(group.metadata["topic"], *numbers([group])) for group in groups] == [
        ("large", [1, 2, 3, 4]),
        ("y", [5, 6]),
    ]


def test_the_largest_is_what_is_left() -> None:
    """V2: a topic counts with the records that larger topics have left."""
    tags = (
        [["large", "mid"]] * 3 + [["large"]] * 3 + [["mid"], ["mid", "small"], ["small"], ["small"]]
    )
    groups = compact([known(seq, f"text {seq}", topics) for seq, topics in enumerate(tags, 1)])
    assert numbers(groups) == [[1, 2, 3, 4, 5, 6], [8, 9, 10]]


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(1, []), (2, [2]), (5, [5]), (6, [5]), (7, [5, 2]), (11, [5, 5]), (15, [5, 5, 5])],
)
def test_no_more_than_most(count: int, sizes: list[int]) -> None:
    """V2: a topic with more records than a summary takes becomes several, the oldest first; one
    alone is left."""
    groups = compact([known(seq, f"text {seq}", ["x"]) for seq in range(1, count + 1)], most=5)
    assert [len(group.sources) for group in groups] == sizes
    assert [seq for group in numbers(groups) for seq in group] == list(range(1, sum(sizes) + 1))


def test_no_more_than_the_room() -> None:
    """V2: a summary is cut by whole records, and a source whose text has no room in it is not
    superseded by it."""
    records = [known(seq, f"{seq} " + "é" * 20, ["x"]) for seq in range(1, 6)]
    groups = compact(records, max_bytes=150)
    assert numbers(groups) == [[1, 2, 3], [4, 5]]
    assert all(len(group.content.encode()) <= 150 for group in groups)
    assert compact(records, max_bytes=90) == []


def test_a_long_text_stays_on_its_own() -> None:
    """V2: a text that takes more than half of the room is left as it is, and keeps no others from
    being summed up."""
    records = [
        known(1, "short", ["x"]),
        known(2, "long " * 20_000, ["x"]),
        known(3, "brief", ["x"]),
    ]
    assert numbers(compact(records)) == [[1, 3]]


@pytest.mark.parametrize("most", [1, 0, -1, 4001])
def test_an_impossible_number(most: int) -> None:
    """V2: a summary of fewer than two, or of more than its metadata can name, is an error."""
    with pytest.raises(InvalidInput, match="not between 2 and 4,000"):
        compact([], most=most)


@every(
    "topics",
    [None, "garmin", 5, [None, 5], [""], ["\u200b"], ["a\x07b"], ["x" * 257], ["\ufdfa" * 100], {}],
)
def test_odd_topics_are_none(topics: Any) -> None:
    """V2: what cannot stand in a headline is no topic, and no reason to fail."""
    assert compact([known(1, "a", topics), known(2, "b", topics)]) == []


def test_the_fence_is_not_put_together() -> None:
    """V2, Q9: a text on two lines does not become the mark of our fence on one, so nothing after it
    is cut away."""
    parted = fence.OPEN.replace(" ", "\n", 1)
    (group,) = compact([known(1, f"{parted} evil", ["x"]), known(2, "good", ["x", fence.OPEN])])
    assert rules.content(group.content) == group.content
    assert lines(group)[2] == "- good"
    assert compact([known(1, "a", [fence.OPEN]), known(2, "b", [fence.OPEN])]) == []


# What was summed up before


def test_a_summary_waits_for_news() -> None:
    """V2: a confirmed summary proposes nothing by itself; what is newer about its topic is added,
    and its lines stay."""
    records = [known(1, "a", ["x", "y"]), known(2, "b", ["x"]), known(3, "c", ["y"])]
    records = applied(records, compact(records))
    assert compact(records) == []
    records.append(known(9, "d", ["x"]))
    (group,) = compact(records)
    assert lines(group) == ["About x:", "- a", "- b", "- d"]
    assert group.why == "2 records about x"
    records = applied(records, [group])
    assert compact(records) == []
    assert sorted(one.content for one in records) == [group.content, "c"]


def test_a_full_summary_is_left() -> None:
    """V2: a summary with half of its lines or more is left alone, so nobody reads the same lines
    again and again."""
    records = [known(seq, f"text {seq}", ["x"]) for seq in (1, 2, 3)]
    records = applied(records, compact(records, most=5))
    assert compact([*records, known(8, "new", ["x"])], most=5) == []
    assert numbers(
        compact([*records, known(8, "new", ["x"]), known(9, "newer", ["x"])], most=5)
    ) == [[8, 9]]


def test_a_line_is_not_said_again() -> None:
    """V2: what repeats a line of a summary joins that summary, which keeps its text
    and its topic."""
    records = [known(1, "likes tea", ["x"]), known(2, "likes milk", ["x"])]
    (summary,) = records = applied(records, compact(records, most=2))
    (group,) = compact(
        [*records, known(8, "Likes TEA!", ["z"], importance=0.9, trust=Trust.OPERATOR)], most=2
    )
    assert (group.content, group.why) == (summary.content, "2 records say the same")
    assert group.metadata["topic"] == "x"
    assert group.metadata["topic_tags"] == ["x", "z"]


def test_a_repeated_text_may_be_repeated_again() -> None:
    """V2: a summary of one text takes in a later repetition, and joins its topic when something new
    comes up there."""
    records = [
        known(1, "likes tea", ["x"]),
        known(2, "Likes tea", ["x"]),
        known(3, "likes milk", ["x"]),
    ]
    records = applied(records, compact(records))
    assert compact(records) == []
    assert numbers(compact([*records, known(9, "likes tea.", ["x"])])) == [[4, 9]]
    assert numbers(compact([*records, known(9, "likes juice", ["x"])])) == [[4, 3, 9]]


def test_summaries_that_overlap() -> None:
    """V2: summaries of a topic that share lines become one, with each line once and no more sources
    than allowed."""
    orders = [
        ["a", "b", "c"],
        ["a", "c", "b"],
        ["b", "a", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["c", "b", "a"],
    ]
    metadata = {"origin": "memory-review", "topic": "x", "topic_tags": ["x"], "compacted_from": []}
    pages = [
        known(seq, "\n- ".join(["About x:", *order]), metadata=metadata)
        for seq, order in enumerate(orders, 1)
    ]
    (group,) = compact([*pages, known(9, "d", ["x"])], most=6)
    assert numbers([group]) == [[1, 2, 3, 4, 5, 6]]
    assert lines(group) == ["About x:", "- a", "- b", "- c"]


@pytest.mark.parametrize(
    ("written", "line"), [("a and b", "a and b"), ("Ana has:\n- a\n- b", "Ana has: - a - b")]
)
def test_a_corrected_summary_is_a_text(written: str, line: str) -> None:
    """V2, V9: a summary that a person has rewritten is no list to add to, but a text
    like any other."""
    records = [known(1, "a", ["x"]), known(2, "b", ["x"])]
    (summary,) = applied(records, compact(records))
    rewritten = msgspec.structs.replace(summary, content=written)
    (group,) = compact([rewritten, known(9, "c", ["x"])])
    assert lines(group) == ["About x:", f"- {line}", "- c"]


def test_lines_do_not_run_together() -> None:
    """V2: summaries are the same when their lines are, not when the same letters are in them."""
    records = [known(seq, said, ["x"]) for seq, said in enumerate(["a b", "c", "a", "b c"], 1)]
    records = applied(records, compact(records, most=2))
    assert compact(records, most=2) == []


# What a group is worth


def test_what_is_derived() -> None:
    """V2, V8: a group is trusted as its least trusted source, as important and as new as the most,
    and no surer than any."""
    records = [
        known(
            1,
            "tea",
            ["x"],
            trust=Trust.OPERATOR,
            importance=0.9,
            confidence=0.4,
            tags=("a", "b"),
            kind="fact",
        ),
        known(
            2,
            "Tea",
            ["y"],
            trust=Trust.EXTERNAL,
            importance=0.2,
            confidence=0.7,
            tags=("c", "a"),
            kind="decision",
        ),
        known(3, "milk", ["z"], trust=Trust.OPERATOR, confidence=0.3, kind="preference"),
        known(4, "juice", ["z"], trust=Trust.AGENT, confidence=0.6, kind="preference"),
        known(5, "wine", ["w"]),
        known(6, "beer", ["w"], kind="insight"),
    ]
    same, topic, mixed = compact(records)[0], compact(records)[2], compact(records)[1]
    assert (same.trust, same.importance, same.confidence, same.kind) == (
        Trust.EXTERNAL,
        0.9,
        0.7,
        "fact",
    )
    assert (same.tags, same.metadata["topic_tags"]) == (("a", "b", "c"), ["x", "y"])
    assert same.occurred_at == records[1].occurred_at
    assert (topic.trust, topic.confidence, topic.kind) == (Trust.AGENT, 0.3, "preference")
    assert mixed.kind == "insight"


def test_radar_keeps_its_contract() -> None:
    """V2, R7: findings of the radar that say the same of one repository stay findings, with all
    their references."""
    other = {
        **RADAR,
        "evidence_refs": ["scan-2", "scan-1"],
        "source_handle": "ben",
        "topic_tags": ["search", "speed"],
    }
    records = [
        known(1, "A fast finder", metadata=RADAR, importance=0.9),
        known(2, "a fast finder", metadata=other),
    ]
    (group,) = compact(records)
    ids = [one.id for one in records]
    expected = {
        **RADAR,
        "evidence_refs": ["scan-1", "scan-2"],
        "topic_tags": ["search", "speed"],
        "compacted_from": ids,
    }
    assert group.metadata == expected
    assert compact([*applied(records, [group]), known(2, "seeker", ["search"])]) == []
    again = [*applied(records, [group]), known(9, "A FAST FINDER", metadata=RADAR)]
    assert compact(again)[0].metadata["origin"] == "radar"


@pytest.mark.parametrize(
    "change",
    [
        {"repo_slug": "ben/finder"},
        {"origin": "promotion"},
        {"source_url": ""},
        {"evidence_refs": ["r" * 262_000]},
    ],
)
def test_radar_is_not_claimed_for_others(change: dict[str, Any]) -> None:
    """V2, R7: what is not all of one repository, not whole, or too large is a plain summary;
    nothing is claimed for it."""
    records = [known(1, "finder", metadata=RADAR), known(2, "Finder", metadata={**RADAR, **change})]
    (group,) = compact([*records, known(3, "a " * 9000, metadata={**RADAR, "topic_tags": []})])
    assert group.metadata.keys() == {"origin", "topic_tags", "compacted_from"}
    assert group.metadata["origin"] == "memory-review"


def test_radar_by_topic() -> None:
    """V2, R7: a summary of several findings about a topic promises nothing about one repository."""
    (group,) = compact([known(1, "finder", metadata=RADAR), known(2, "seeker", metadata=RADAR)])
    assert group.metadata.keys() == {"origin", "topic_tags", "compacted_from", "topic"}
    rules.check_contract(group.layer, group.metadata)


def test_a_group_always_fits_a_record() -> None:
    """V2, V3, R7, R8: however much the sources bring, the record can be stored; what is left comes
    next time."""
    tags = [tuple(f"tag-{seq}-{number}" for number in range(100)) for seq in range(5)]
    topics = [[f"{seq}" + chr(0x1F600 + number) * 250 for number in range(100)] for seq in range(5)]
    many = [known(seq, "same", topics[seq % 5], tags=tags[seq % 5]) for seq in range(1, 4101)]
    (group,) = compact(many)
    assert (len(group.sources), len(group.tags)) == (4000, rules.MAX_TAGS)
    rules.metadata(group.metadata)
    (rest,) = compact(applied(many, [group]))
    assert len(rest.sources) == 101
    full = {"workflow": "deploy", "canonical": True, "note": "n" * 262_080}
    (told,) = dedup([procedure(1, "run make", metadata=full), procedure(2, "Run make")])
    assert told.metadata.keys() == {"workflow", "canonical", "duplicates"}


# Procedures


def test_a_procedure_is_told_once() -> None:
    """V3: duplicates within a workflow become one canonical record that names all of them, its own
    source too."""
    records = [
        procedure(
            1,
            "Run make, then push",
            canonical=True,
            metadata={"workflow": "deploy", "canonical": True, "tool": "make"},
        ),
        procedure(
            2,
            "run MAKE then push",
            tags=("b",),
            importance=0.9,
            trust=Trust.EXTERNAL,
            confidence=0.3,
        ),
        procedure(3, "run make then push", "release"),
    ]
    (group,) = dedup(records)
    ids = [one.id for one in records[:2]]
    assert group.metadata == {
        "workflow": "deploy",
        "canonical": True,
        "tool": "make",
        "duplicates": ids,
    }
    assert (group.layer, group.content, group.kind) == (
        Layer.PROCEDURAL,
        "Run make, then push",
        "action",
    )
    assert (group.trust, group.importance, group.confidence, group.tags) == (
        Trust.EXTERNAL,
        0.9,
        1.0,
        ("b",),
    )
    assert group.why == "2 records of the workflow deploy say the same"


def test_differing_steps_are_listed() -> None:
    """V3: all procedures of a workflow are one group, and the proposal lists the steps that only
    some of them have, with where they are; how steps are written does not matter."""
    records = [
        procedure(1, "1. Pull the branch\n2. Run all tests\n3. Upload the wheel", canonical=True),
        procedure(2, "pull the branch, then run all tests; build the docs -> upload the wheel"),
        procedure(3, "- Pull the branch\n- Never upload on Fridays. Upload the wheel!"),
    ]
    (group,) = dedup(records)
    assert group.content == records[0].content
    assert group.metadata["differences"] == [
        {"step": "Run all tests", "in": [records[0].id, records[1].id]},
        {"step": "build the docs", "in": [records[1].id]},
        {"step": "Never upload on Fridays", "in": [records[2].id]},
    ]
    assert group.why == "3 records of the workflow deploy differ in 3 steps"
    assert differences(group.metadata) == [
        "in 2 of 3: Run all tests",
        "in 1 of 3: build the docs",
        "in 1 of 3: Never upload on Fridays",
    ]


@every("found", [None, "x", [1], [{}], [{"step": 1, "in": []}], [{"step": "x", "in": "y"}]])
def test_differences_of_another_program_are_none(found: Any) -> None:
    """V3, H5: what another program keeps under the same name is not read as ours."""
    assert differences({"differences": found, "duplicates": ["a"]}) == []


@pytest.mark.parametrize(
    ("best", "fields"),
    [
        (1, {"canonical": True, "trust": Trust.EXTERNAL, "importance": 0.1}),
        (1, {"trust": Trust.OPERATOR, "importance": 0.1}),
        (1, {"importance": 0.9}),
        (2, {"canonical": "yes"}),
        (3, {"canonical": 1}),
    ],
)
def test_the_canonical_record(best: int, fields: dict[str, Any]) -> None:
    """V3: the canonical one, the most trusted, the most important, the longest, then the newest
    stands for all."""
    said = (
        ["Run make", "Run make, then push it now!", "run make"]
        if best < 3
        else ["run make", "run Make", "run makE"]
    )
    said[1] = said[1] if best == 3 else "Run make!!"
    (group,) = dedup(
        [procedure(seq, said[seq - 1], **(fields if seq == best else {})) for seq in (1, 2, 3)]
    )
    assert group.content == said[best - 1]
    assert group.metadata["canonical"] is True


@every(
    "fields",
    [
        *({"state": state} for state in State if state is not State.ACTIVE),
        *({"layer": layer} for layer in Layer if layer is not Layer.PROCEDURAL),
        *({"workflow": name} for name in (None, "", 5, "No Slug", "release")),
    ],
)
def test_what_is_no_duplicate_by_its_place(fields: dict[str, Any]) -> None:
    """V3: only active procedures of the same workflow are compared."""
    assert dedup([procedure(1, "run make"), procedure(2, "run make", **fields)]) == []


# Whatever is remembered

WORDS = st.sampled_from("tea Tea milk. a b ab 1 1.5 yesterday not Ana 茶 quickly".split())
TEXTS = st.lists(WORDS, min_size=1, max_size=7).map(" ".join)


@st.composite
def memories(draw: st.DrawFn, layer: Layer = Layer.SEMANTIC, first: int = 1) -> list[Record]:
    """Records of some people, in no order."""
    drawn: list[Record] = []
    for seq in range(first, first + draw(st.integers(0, 12))):
        semantic = {
            "origin": "sleep",
            "topic_tags": draw(st.lists(st.sampled_from("x X y z".split()), max_size=3)),
        }
        procedural = {
            "workflow": draw(st.sampled_from(["w", "v"])),
            "canonical": draw(st.booleans()),
        }
        one = record(
            seq,
            semantic if layer is Layer.SEMANTIC else procedural,
            layer=layer,
            content=draw(TEXTS),
            user=draw(st.sampled_from([None, None, "ana"])),
            speaker=draw(st.sampled_from([None, None, None, "Ben"])),
            kind=draw(st.sampled_from(["fact", "decision"])),
            trust=draw(st.sampled_from(list(Trust))),
            importance=draw(st.sampled_from([0.1, 0.5, 0.9])),
            confidence=draw(st.sampled_from([0.2, 1.0])),
            occurred_at=START + timedelta(hours=draw(st.integers(0, 50))),
        )
        drawn.append(one)
    return draw(st.permutations(drawn))


def words(said: str) -> str:
    """The words of a text, in their order, with a space around each."""
    return f" {' '.join(text.WORD.findall(text.normalise(said)))} "


def sayings(source: Record) -> Iterator[str]:
    """What must not be lost when a record is superseded."""
    told = source.content.split("\n- ")
    yield from told[1:] if len(told) > 1 else told


def check(groups: Sequence[Group], records: Sequence[Record]) -> None:
    """What is promised of every group."""
    counted = Counter(source.id for group in groups for source in group.sources)
    assert set(counted.values()) <= {1}
    assert counted.keys() <= {one.id for one in records}
    for group in groups:
        assert len(group.sources) >= 2
        assert list(group.sources) == sorted(
            group.sources, key=lambda one: (one.occurred_at, one.seq)
        )
        assert {(source.user, source.layer, source.state) for source in group.sources} == {
            (group.user, group.layer, State.ACTIVE)
        }
        assert group.trust is rules.lowest_trust(source.trust for source in group.sources)
        assert group.confidence in {source.confidence for source in group.sources}
        assert group.importance == max(source.importance for source in group.sources)
        assert group.occurred_at == max(source.occurred_at for source in group.sources)
        rules.check_contract(group.layer, rules.metadata(group.metadata))
        assert rules.content(group.content) == group.content
        assert rules.tags(group.tags) == group.tags


@given(st.data(), st.integers(2, 6), st.sampled_from([40, 80, 4096]))
def test_compaction_comes_to_an_end(data: st.DataObject, most: int, max_bytes: int) -> None:
    """V2, V8: in every round each source is in one group and visible in it, and confirming all
    leaves nothing to propose."""
    records: list[Record] = []
    for _ in range(3):
        records += data.draw(memories(first=max((one.seq for one in records), default=0) + 1))
        groups = compact(records, most, max_bytes)
        assert compact(data.draw(st.permutations(records)), most, max_bytes) == groups
        check(groups, records)
        for group in groups:
            for source in group.sources:
                assert all(words(said) in words(group.content) for said in sayings(source))
            if "about" in group.why:
                assert len(group.content.encode()) <= max_bytes
                assert max(len(group.sources), group.content.count("\n- ")) <= most
        records = applied(records, groups)
        assert compact(records, most, max_bytes) == []


@given(st.data())
def test_deduplication_comes_to_an_end(data: st.DataObject) -> None:
    """V3, V8: each duplicate is in one group of its workflow, and confirming all leaves
    nothing to propose."""
    records: list[Record] = []
    for _ in range(2):
        records += data.draw(
            memories(Layer.PROCEDURAL, max((one.seq for one in records), default=0) + 1)
        )
        groups = dedup(records)
        assert dedup(data.draw(st.permutations(records))) == groups
        check(groups, records)
        for group in groups:
            assert {source.metadata["workflow"] for source in group.sources} == {
                group.metadata["workflow"]
            }
            assert group.metadata["duplicates"] == [source.id for source in group.sources]
            assert group.content in {source.content for source in group.sources}
        records = applied(records, groups)
        assert dedup(records) == []


def test_many_records_in_any_order() -> None:
    """V2: thousands of records give the same groups in whatever order they come, and canonical
    bytes in every process."""
    chance = random.Random(5)
    vocabulary = [f"word{number}" for number in range(50)]
    records = [
        known(seq, " ".join(chance.choices(vocabulary, k=2)), chance.choices(["x", "y", "z"], k=2))
        for seq in range(1, 3001)
    ]
    groups = compact(records)
    chance.shuffle(records)
    assert compact(records) == groups
    check(groups, records)
    assert compact(applied(records, groups)) == []
    assert all(hashing.encode(group.metadata) for group in groups)
