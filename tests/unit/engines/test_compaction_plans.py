"""What compaction plans, written out as a whole, and bounds that are met exactly."""

from __future__ import annotations

import pytest
from msgspec import structs

from lamina.engines import compaction
from lamina.engines.compaction import Group
from lamina.errors import InvalidInput
from lamina.model.record import Layer, Trust
from tests.unit.engines.procedures import RADAR, known, numbers, procedure
from tests.unit.engines.samples import hour, ids


def test_what_says_the_same_as_a_whole() -> None:
    """V2, P1: one record in the words of the best, with all tags, the newest spelling of topics,
    and where it comes from."""
    records = [
        known(
            1,
            "Tea is hot",
            ["tea"],
            tags=("a", "b"),
            importance=0.9,
            confidence=0.4,
            kind="decision",
            user="u",
        ),
        known(
            2,
            "tea is HOT!",
            ["Tea", "drinks"],
            tags=("b", "c"),
            trust=Trust.OPERATOR,
            confidence=0.6,
            user="u",
        ),
    ]
    assert compaction.compact(records[::-1]) == [
        Group(
            layer=Layer.SEMANTIC,
            why="2 records say the same",
            sources=tuple(records),
            content="tea is HOT!",
            kind="fact",
            tags=("a", "b", "c"),
            metadata={
                "origin": "memory-review",
                "topic_tags": ["Tea", "drinks"],
                "compacted_from": list(ids(1, 2)),
            },
            importance=0.9,
            confidence=0.6,
            trust=Trust.AGENT,
            occurred_at=hour(2),
            user="u",
            speaker=None,
        )
    ]


def test_a_topic_as_a_whole() -> None:
    """V2, P1: its lines in their order, as sure as the least sure of them; of several kinds it is
    an insight."""
    records = [
        known(1, "Tea is hot", ["tea"], confidence=0.4, speaker="Ana"),
        known(2, "Milk is\ncold", ["Tea"], importance=0.8, kind="decision"),
    ]
    (group,) = compaction.compact(records)
    assert (group.content, group.kind, group.confidence) == (
        "About tea:\n- Ana: Tea is hot\n- Milk is cold",
        "insight",
        0.4,
    )
    assert (group.speaker, group.importance, group.why) == (None, 0.8, "2 records about tea")
    assert group.metadata["topic"] == "tea"
    (alike,) = compaction.compact([structs.replace(one, kind="result") for one in records])
    assert alike.kind == "result"


@pytest.mark.parametrize(("characters", "groups"), [(256, 1), (257, 0)])
def test_a_topic_has_256_characters(characters: int, groups: int) -> None:
    """V2: a longer one could be no label; nor could one that is longer to a reader than
    it was written."""
    topic = "x" * characters
    assert len(compaction.compact([known(1, "a b", [topic]), known(2, "c d", [topic])])) == groups
    grown = "㍿" * (characters // 4) + "x" * (characters % 4)  # four letters to a reader
    assert len(compaction.compact([known(1, "a b", [grown]), known(2, "c d", [grown])])) == groups


@pytest.mark.parametrize(("most", "groups"), [(4, [[1, 2, 3]]), (3, [[2, 3]])])
def test_a_page_takes_no_more_than_half_of_the_lines(most: int, groups: list[list[int]]) -> None:
    """V2: two lines of four may be one page's; of three they are too many."""
    page = known(
        1,
        "About tea:\n- a b\n- c d",
        metadata={"origin": "memory-review", "topic": "tea", "topic_tags": ["tea"]},
    )
    found = compaction.compact([page, known(2, "e f", ["tea"]), known(3, "g h", ["tea"])], most)
    assert numbers(found) == groups


@pytest.mark.parametrize(("room", "sizes"), [(40, [2]), (39, [])])
def test_a_text_takes_no_more_than_half_of_the_room(room: int, sizes: list[int]) -> None:
    """V2: with its bullet, behind the headline, and to the last byte; both then fill it."""
    headline = len("About tea:")
    texts = [letter * (20 - len("\n- ")) for letter in "ab"]
    found = compaction.compact(
        [known(seq, one, ["tea"]) for seq, one in enumerate(texts, 1)], 20, headline + room
    )
    assert [len(group.sources) for group in found] == sizes
    assert [len(group.content) for group in found] == [headline + room for _ in sizes]


@pytest.mark.parametrize("most", [2, 4000])
def test_as_few_as_two_and_as_many_as_4000(most: int) -> None:
    """V2: these numbers are allowed, the next ones are not."""
    assert compaction.compact([], most) == []
    for wrong in (1, 4001):
        with pytest.raises(InvalidInput):
            compaction.compact([], wrong)


def test_a_finding_of_the_radar_beside_another_text() -> None:
    """V2, R7: where one says the same of the same repository and was no finding, nothing is
    promised of both."""
    records = [
        known(1, "finder", metadata=RADAR, importance=0.9),
        known(2, "Finder", metadata={**RADAR, "origin": "sleep"}),
    ]
    (group,) = compaction.compact(records)
    assert (group.content, group.metadata["origin"]) == ("finder", "memory-review")


def test_a_telling_as_a_whole() -> None:
    """V3: the fittest stands for all, with what its own metadata says."""
    records = [
        procedure(
            1,
            "build push check copy",
            metadata={"workflow": "w", "canonical": False, "by": "me"},
            user="u",
        ),
        procedure(2, "build push check copy quickly", "w", tags=("t",), importance=0.4, user="u"),
    ]
    (group,) = compaction.dedup(records)
    assert (group.layer, group.content, group.user) == (
        Layer.PROCEDURAL,
        "build push check copy",
        "u",
    )
    assert group.why == "2 records of the workflow w differ in 2 steps"
    assert group.metadata == {
        "workflow": "w",
        "canonical": True,
        "by": "me",
        "duplicates": list(ids(1, 2)),
        "differences": [
            {"step": "build push check copy", "in": list(ids(1))},
            {"step": "build push check copy quickly", "in": list(ids(2))},
        ],
    }
    assert (group.tags, group.importance, group.occurred_at) == (("t",), 0.5, hour(2))


def test_a_summary_names_at_most_64_topics() -> None:
    """V2: the topics of what is summed up, as many as a record is to have."""
    topics = [f"t{number}" for number in range(70)]
    (group,) = compaction.compact([known(1, "Tea is hot", topics), known(2, "tea is hot!", topics)])
    assert group.metadata["topic_tags"] == topics[:64]
