"""What engines plan, written out as a whole, and bounds that are met exactly."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from lamina.engines import (
    aging,
    awareness,
    compaction,
    compression,
    importance,
    learning,
    profile,
    promotion,
    review,
    tastes,
    workflows,
)
from lamina.engines.compaction import Group, Steps
from lamina.engines.compression import Decision, Fate, Joined, Plan, Shelf, Summary, Target
from lamina.engines.learning import Model
from lamina.engines.workflows import Workflow
from lamina.errors import InvalidInput
from lamina.home.retention import Retention
from lamina.model import rules
from lamina.model.record import Entry, Layer, State, Trust
from tests.cases import every
from tests.conftest import START

from . import test_aging, test_awareness, test_tastes, test_workflows
from .test_awareness import memory
from .test_compaction import RADAR, known, numbers, procedure
from .test_compression import NOW, item, planned, said
from .test_profile import record, told
from .test_workflows import ended


def one_id(number: int) -> str:
    return f"{number:026d}"


def ids(*numbers: int) -> tuple[str, ...]:
    return tuple(map(one_id, numbers))


def hour(number: int) -> datetime:
    return START + timedelta(hours=number)


# Aging


@pytest.mark.parametrize(
    ("days", "why"),
    [
        (
            571,
            "never wanted, it came 571 days ago, at least half of what was stated: 0.90 became 0.50",
        ),
        (523, "never wanted, it came 523 days ago: 0.90 became 0.51"),
    ],
)
def test_who_stated_it_is_told_that_half_is_kept(days: int, why: str) -> None:
    """S4: once it is within five hundredths of that half."""
    (sunk,) = aging.plan([test_aging.entry(0.9, days, given=True)], test_aging.NOW)
    assert sunk.why == why


@pytest.mark.parametrize(
    ("accesses", "days", "why"),
    [
        (1, 0, "wanted once, last today: 0.40 became 0.43"),
        (3, 1, "wanted 3 times, last 1 day ago: 0.40 became 0.46"),
        (3, 2, "wanted 3 times, last 2 days ago: 0.40 became 0.46"),
    ],
)
def test_how_often_it_was_wanted_is_told(accesses: int, days: int, why: str) -> None:
    """S4: and when last, in words."""
    (raised,) = aging.plan([test_aging.entry(0.4, days, accesses, importance=0.1)], test_aging.NOW)
    assert (raised.why, raised.entry.importance) == (why, 0.1)


@pytest.mark.parametrize(("before", "made"), [(0.35, 1), (0.45, 1), (0.3501, 0), (0.4499, 0)])
def test_a_change_of_five_hundredths_is_made(before: float, made: int) -> None:
    """S4: up or down, and one that is smaller is not."""
    assert len(aging.plan([test_aging.entry(0.4, importance=before)], test_aging.NOW)) == made


# Awareness


def test_what_waits_is_told_in_200_characters() -> None:
    """L12: a longer text is cut."""
    requests = [memory(seq, "request", content="x" * (199 + seq)) for seq in (1, 2)]
    told_ = [
        one["content"] for one in awareness.pending(requests, frozenset(), test_awareness.TODAY, {})
    ]
    assert told_ == ["x" * 200, "x" * 199 + "…"]


def test_only_texts_name_what_is_answered() -> None:
    """L12: whatever else somebody wrote beside them."""
    assert awareness.answers(
        [memory(1, metadata={"answers": ["a", 5, None], "request_id": "b"})]
    ) == {"a", "b"}
    assert awareness.answers([memory(1, metadata={"answers": 5})]) == frozenset()


# Compression


def test_a_plan_as_a_whole() -> None:
    """L9, P1: what is written, what is joined, and what becomes of each memory, in the order in which they came."""
    everywhere = told(1, "stable_facts", ["Lives in Oslo"], evidence=ids(90), importance=0.9)
    items = [
        item(6, "dig", tags=["project:Garden", "next"], importance=0.7),
        item(5, "lives in oslo"),
        item(9, "has a cat", importance=0.6),
        item(7, "wants roses", "project", tags=["project:Garden"]),
        item(8, "x", "crumb"),
        item(10, "Prefers tea", "preference", occurred_at=NOW + timedelta(days=5)),
        item(11, "lives in OSLO"),
        item(12, "young", created_at=NOW),
    ]
    assert planned(items, [everywhere]) == Plan(
        summaries=(
            Summary(
                Shelf.PROFILE, "prefers-tea", "Prefers tea", ids(10), Trust.AGENT, 0.5, hour(10)
            ),
            Summary(
                Shelf.PROFILE,
                "stable_facts",
                ["Lives in Oslo", "has a cat"],
                ids(90, 5, 9, 11),
                Trust.AGENT,
                0.9,
                hour(9),
            ),
            Summary(
                Shelf.PROJECT,
                "Garden",
                {"goals": ["wants roses"], "blockers": [], "next_steps": ["dig"]},
                ids(6, 7),
                Trust.AGENT,
                0.7,
                hour(7),
            ),
        ),
        joined=(),
        decisions=(
            Decision(one_id(5), Fate.KNOWN, "stable_facts", "says what is known"),
            Decision(one_id(6), Fate.PROJECT, "Garden", "its tags say where"),
            Decision(one_id(7), Fate.PROJECT, "Garden", "kind project"),
            Decision(
                one_id(8), Fate.LEFT, None, "nothing summarises the kind crumb outside a project"
            ),
            Decision(one_id(9), Fate.PROFILE, "stable_facts", "kind fact"),
            Decision(one_id(10), Fate.PROFILE, "prefers-tea", "kind preference"),
            Decision(one_id(11), Fate.KNOWN, "stable_facts", "says what is known"),
            Decision(one_id(12), Fate.LEFT, None, "younger than 48 hours"),
        ),
    )


@pytest.mark.parametrize(
    ("tag", "section"),
    [
        ("goal", "goals"),
        ("blocker", "blockers"),
        ("next", "next_steps"),
        ("next_step", "next_steps"),
    ],
)
def test_each_tag_has_its_section(tag: str, section: str) -> None:
    """L9: whatever the kind says; each section once."""
    one = item(1, " dig ", "project", ["project: Garden ", "project:", tag, tag])
    assert compression.targets(one) == [
        Target(Shelf.PROJECT, "Garden", section, "dig", "its tags say where")
    ]


def test_where_a_memory_goes() -> None:
    """L9: by its project, by `do_not_assume`, by the key that it names, then by its kind."""

    def target(*given: Any, **more: Any) -> list[tuple[Any, ...]]:
        return [one[1:] for one in compression.targets(item(1, " tea ", *given, **more))]

    key = {"profile_key": " Drink ", "value": " green tea "}
    assert target("fact", ["project:a", "project:b"]) == [
        (name, "next_steps", "tea", "kind fact") for name in "ab"
    ]
    assert target("fact", ["do_not_assume"], metadata=key) == [
        ("do_not_assume", "", "tea", "tag do_not_assume")
    ]
    assert target("fact", metadata=key) == [("Drink", "", "green tea", "its profile_key")]
    assert target("fact", metadata={"profile_key": "drink"}) == [
        ("drink", "", "tea", "its profile_key")
    ]
    assert target("fact", metadata={"profile_key": "interests", "value": ["a", "b"]}) == [
        ("interests", "", "a", "its profile_key"),
        ("interests", "", "b", "its profile_key"),
    ]
    assert target("fact", metadata={"profile_key": "interests", "value": []}) == [
        ("interests", "", "tea", "its profile_key")
    ]
    assert target("preference") == [("tea", "", "tea", "kind preference")]
    assert target("decision") == [("stable_facts", "", "tea", "kind decision")]


@pytest.mark.parametrize(
    ("characters", "rule"),
    [(4094, "kind fact"), (4095, "longer than a summary takes (4,096 bytes)")],
)
def test_a_line_has_4096_bytes(characters: int, rule: str) -> None:
    """L9: with the quotes around it, to the last one; in a list and as a single value."""
    for kind in ("fact", "preference"):
        (decided,) = planned([item(1, "x" * characters, kind)]).decisions
        assert decided.rule == rule.replace("fact", kind)


@pytest.mark.parametrize(("characters", "taken"), [(4056, 32), (4057, 31)])
def test_a_list_is_filled_to_the_last_byte(characters: int, taken: int) -> None:
    """L9: 128 KiB, with the quotes and commas; a shorter line that comes later still fits."""
    lines = [item(number, f"{number:04d}".ljust(4094, "x")) for number in range(1, 32)]
    plan = planned([*lines, item(40, "y" * characters)])
    assert len(said(plan)["stable_facts"]) == taken
    assert [one.rule for one in plan.decisions if one.fate is Fate.LEFT] == [
        "the summary is full"
    ] * (32 - taken)
    assert len(planned([*lines, item(40, "y" * 4057), item(41, "z")]).left) == 1


def test_a_summary_names_ten_thousand_sources() -> None:
    """P1: what is new comes before what is repeated; with ten thousand there is no room for more."""

    def grown(before: int, *said_: str) -> Plan:
        there = told(
            1, "stable_facts", ["a"], evidence=tuple(f"e{number}" for number in range(before))
        )
        return planned([item(seq, one) for seq, one in enumerate(said_, 5)], [there])

    (full,) = grown(9_997, "a", "b", "a", "c", "a").summaries
    assert full.evidence[9_997:] == ids(5, 6, 8)
    assert grown(9_999, "b").summaries[0].evidence[9_999:] == ids(5)
    (refused,) = grown(10_000, "b").decisions
    assert (refused.fate, refused.rule) == (Fate.LEFT, "the summary is full")
    assert [one.rule for one in grown(9_999, "b", "c").decisions] == [
        "kind fact",
        "the summary is full",
    ]
    (joined,) = grown(9_998, "a", "a", "a").joined
    assert joined.evidence[9_998:] == ids(5, 6)
    assert grown(10_000, "a").joined == ()


def test_a_repetition_is_evidence_of_the_first_record_that_says_it() -> None:
    """L9, R12: of its own user and trusted no more; a proposal that holds it already takes none a second time."""
    active = told(1, "interests", ["tea"], evidence=ids(90), trust=Trust.OPERATOR)
    waiting = told(2, "interests", ["tea", "jazz"], state=State.CONSTRAINED)
    plan = planned(
        [item(5, "jazz", metadata={"profile_key": "interests"})],
        [active],
        [waiting],
        may_confirm=False,
    )
    assert plan.joined == (Joined(waiting, ids(5)),)
    plan = planned(
        [item(5, "tea", metadata={"profile_key": "interests"})],
        [active],
        [waiting],
        may_confirm=False,
    )
    assert plan.joined == (Joined(waiting, ids(5)),)
    trusted = item(5, "tea", metadata={"profile_key": "interests"}, trust=Trust.OPERATOR)
    assert planned([trusted], [active], [waiting], may_confirm=False).joined == (
        Joined(active, ids(90, 5)),
    )


def test_a_memory_of_two_summaries_has_one_decision() -> None:
    """L9: it stays if one of them could not take it, and names both."""
    goals = [f"{number}".ljust(4060, "x") for number in range(32)]
    large = record(1, {"project": {"project_name": "a", "goals": goals, "next_steps": ["dig"]}})
    (decided,) = planned([item(5, "y" * 2000, tags=["project:b", "project:a"])], [large]).decisions
    assert decided == Decision(one_id(5), Fate.LEFT, "a, b", "the summary is full")
    (decided,) = planned([item(5, "dig", tags=["project:a", "project:b"])], [large]).decisions
    assert decided == Decision(one_id(5), Fate.PROJECT, "a, b", "kind fact")


def test_what_somebody_else_proposed_stands_for_nothing() -> None:
    """L9: a proposal that rests on a memory, and was not made here, need not say what the memory says."""
    waiting = told(2, "drink", "tea", state=State.CONSTRAINED, evidence=ids(5))
    plan = planned([item(5, "milk", metadata={"profile_key": "drink"})], [], [waiting])
    assert said(plan) == {"drink": "milk"}


def test_what_was_rejected_is_left_out_of_a_plan() -> None:
    """V6: with its reason; another line of the same memory does not save it."""
    items = [item(5, "tea", metadata={"profile_key": "interests", "value": ["tea", "jazz"]})]
    plan = compression.plan(
        items, [], [], NOW, 48, may_confirm=True, is_rejected=lambda target: target.value == "tea"
    )
    assert said(plan) == {"interests": ["jazz"]}
    assert plan.decisions == (Decision(one_id(5), Fate.LEFT, "interests", "rejected before"),)
    assert (plan.left, plan.compressed) == (ids(5), ())


def test_a_value_said_at_the_same_moment_changes_nothing() -> None:
    """L9: a later one does; of two memories of one moment the one that came later counts."""
    there = told(1, "drink", "tea", evidence=ids(90), occurred_at=hour(4), created_at=hour(4))

    def drinks(*when: int) -> dict[str, Any]:
        keyed = {"profile_key": "drink"}
        return said(
            planned(
                [
                    item(seq, f"milk {seq}", metadata=keyed, occurred_at=hour(at))
                    for seq, at in enumerate(when, 20)
                ],
                [there],
            )
        )

    assert drinks(4) == {}
    assert drinks(5) == {"drink": "milk 20"}
    assert drinks(5, 5) == {"drink": "milk 21"}
    assert drinks(6, 5) == {"drink": "milk 20"}


def test_a_key_has_sixty_characters() -> None:
    """L9: one more, and its beginning and a hash stand for it."""
    assert compression.slug("x" * 60) == "x" * 60
    assert len(compression.slug("x" * 61)) == 69
    assert compression.slug("🍵").startswith("preference-")
    assert compression.slug(f"{'x' * 59} yy").startswith("x" * 59 + "-")
    assert "--" not in compression.slug(f"{'x' * 59} yy")


# Compaction


def test_what_says_the_same_as_a_whole() -> None:
    """V2, P1: one record in the words of the best, with all tags, the newest spelling of topics, and where it comes from."""
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
    """V2, P1: its lines in their order, as sure as the least sure of them; of several kinds it is an insight."""
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
    """V2: a longer one could be no label; nor could one that is longer to a reader than it was written."""
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


@pytest.mark.parametrize(
    ("content", "words", "telling"),
    [
        ("run the tests, then (push) it!", ("run", "test", "push"), ()),
        ("run the boxes", ("run", "box"), ()),
        ("stop nginx 3 times", ("stop", "nginx", "3", "tim"), ("stop", "3")),
        ("ask Ana", ("ask", "ana"), ("ana",)),
        ("tar -x ./a", ("tar", "-x", "./a"), ("-x", "./a")),
        ("“quote” ‘it’ `now` [all]", ("quot", "now", "all"), ("all",)),
        ("café XBOXX", ("café", "xboxx"), ("café", "xboxx")),
        ("bus gas glass cats", ("bus", "gas", "glass", "cat"), ()),
    ],
)
def test_the_words_of_a_procedure(
    content: str, words: tuple[str, ...], telling: tuple[str, ...]
) -> None:
    """V3: without marks around them, fillers and endings; names, numbers, flags and what turns it are telling."""
    assert compaction._steps(content) == Steps(words, frozenset(telling))


@every(
    "filler",
    "- – — • a an the and then is are be it its this that these those please just so also".split(),
)
def test_a_filler_is_no_word_of_a_procedure(filler: str) -> None:
    """V3: whatever stands around it."""
    assert compaction._steps(f"build {filler} push") == Steps(("build", "push"), frozenset())


def test_a_finding_of_the_radar_beside_another_text() -> None:
    """V2, R7: where one says the same of the same repository and was no finding, nothing is promised of both."""
    records = [
        known(1, "finder", metadata=RADAR, importance=0.9),
        known(2, "Finder", metadata={**RADAR, "origin": "sleep"}),
    ]
    (group,) = compaction.compact(records)
    assert (group.content, group.metadata["origin"]) == ("finder", "memory-review")


@every(
    "word", "no sin once none skip mai one twelve without only before until if or all any".split()
)
def test_a_word_that_turns_it_makes_another_procedure(word: str) -> None:
    """V3: however plain it is."""
    plain = "build push restart check copy move"
    assert compaction.dedup([procedure(1, plain), procedure(2, f"{plain} {word}")]) == []


@pytest.mark.parametrize(("length", "added"), [(4, False), (5, True), (9, False), (10, True)])
def test_one_word_of_five_may_be_added(length: int, added: bool) -> None:
    """V3: of the longer one; two of ten, and not of nine."""
    longer = "build push restart check copy move sort mail print scan".split()[:length]
    shorter = longer[: -(1 if length < 9 else 2)]
    found = compaction.dedup([procedure(1, " ".join(shorter)), procedure(2, " ".join(longer))])
    assert bool(found) is added


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
    assert group.why == "2 records of the workflow w say nearly the same"
    assert group.metadata == {
        "workflow": "w",
        "canonical": True,
        "by": "me",
        "duplicates": list(ids(1, 2)),
    }
    assert (group.tags, group.importance, group.occurred_at) == (("t",), 0.5, hour(2))


# Workflows


def test_a_workflow_as_a_whole() -> None:
    """S3, P1: its name, its steps, why, its evidence, how often, as trusted as the least trusted."""
    runs = [
        ended(1, "Fetch 10 mails. Sort them.", tags=("b", "a"), importance=0.8),
        ended(2, "x", "failure", metadata={"failure": "no net"}),
        ended(3, "Fetch 12 mails. Sort them.", trust=Trust.OPERATOR, tags=("a", "c")),
        ended(4, "Fetch 30 mails; sort them.", user=None),
    ]
    assert workflows.plan(runs, (), test_workflows.NOW) == [
        Workflow(
            slug="morning_briefing",
            content="Morning briefing:\n1. Fetch … mails\n2. sort them.",
            why="succeeded 3 times, last on 1 May 2026; failed once, on 1 May 2026: no net",
            evidence=ids(1, 3, 4),
            successes=3,
            failures=1,
            trust=Trust.AGENT,
            importance=0.8,
            occurred_at=hour(4),
            user=None,
            tags=("b", "a", "c"),
        )
    ]
    (made,) = workflows.plan(runs, (), test_workflows.NOW)
    assert made.metadata == {
        "workflow": "morning_briefing",
        "canonical": False,
        "origin": "sleep",
        "successes": 3,
        "failures": 1,
        "last_success": f"{hour(4):%Y-%m-%dT%H:%M:%S.%fZ}",
    }


def times(status: str, count: int = 3) -> int:
    """How many times of a status make a workflow, beside three successes."""
    runs = [ended(seq) for seq in (1, 2, 3)] + [
        ended(seq, status=status) for seq in range(4, 4 + count)
    ]
    (made,) = workflows.plan(runs, (), test_workflows.NOW)
    return made.successes - made.failures


@every(
    "status", "success succeeded successful ok okay done complete completed finished passed".split()
)
def test_each_word_for_a_success(status: str) -> None:
    """S3: counts as one."""
    assert times(status) == 6


@pytest.mark.parametrize(
    "status", "failure failed fail error aborted crashed timeout cancelled canceled".split()
)
def test_each_word_for_a_failure(status: str) -> None:
    """S3: counts as one, and any other word as nothing."""
    assert times(status) == 0
    assert times(f"un{status}") == 3


@pytest.mark.parametrize(("minutes", "successes"), [(60, 3), (61, 6)])
def test_tools_within_an_hour_are_one_time(minutes: int, successes: int) -> None:
    """S3: to the minute."""
    runs = [
        ended(
            10 * day + place,
            f"step {tool}",
            metadata={"tool": tool},
            occurred_at=START + timedelta(days=day, minutes=after),
        )
        for day in (1, 2, 3)
        for place, (tool, after) in enumerate((("a", 0), ("b", minutes)))
    ]
    (made,) = workflows.plan(runs, (), test_workflows.NOW)
    assert made.successes == successes


def test_what_goes_on_and_what_begins_anew() -> None:
    """S3: another tool, the retry of one that failed, or an ending goes on; the same tool again is another time."""

    def sizes(*told_: tuple[str | None, str]) -> list[int]:
        records = [
            ended(
                seq,
                f"step {seq}",
                status,
                metadata={"tool": tool} if tool else {},
                occurred_at=START + timedelta(minutes=seq),
            )
            for seq, (tool, status) in enumerate(told_, 1)
        ]
        return [
            len(time.told) for time in workflows._times(filter(None, map(workflows._told, records)))
        ]

    ok, bad = "success", "failure"
    assert sizes(("a", ok), ("b", ok), (None, ok)) == [3]
    assert sizes(("a", bad), ("a", ok)) == [2]
    assert sizes(("a", ok), ("a", ok)) == [1, 1]
    assert sizes((None, ok), ("a", ok)) == [1, 1]
    assert sizes((None, bad), (None, ok)) == [1, 1]
    assert sizes(("a", ok), ("a", bad)) == [1, 1]


@every(
    ("task", "stable"),
    [
        ("Report of 3 May 2026", "Report"),
        ("Report for week 12", "Report for week"),
        ("Review PR #7", "Review PR"),
        ("Deploy 1.2.3 to live", "Deploy to live"),
        ("Backup no. 17", "Backup no."),
        ("Close ticket number 4711:", "Close ticket"),
        ("Clean up until 5 June 2026", "Clean up"),
        ("Do it the 21st", "Do it"),
        ("Order shirt XX 12", "Order shirt XX"),
        ("phase 1", "phase 1"),
        ("2026-05-01", "2026-05-01"),
        ("Wake up tomorrow", "Wake up tomorrow"),
    ],
)
def test_what_varies_is_left_out_of_a_task(task: str, stable: str) -> None:
    """S3: days, numbers of two digits and more, and what hangs on them; a day that is relative is a word."""
    assert workflows._unvaried(task, START) == stable


def test_a_tasks_name_is_found_in_this_order() -> None:
    """S3: `workflow`, `run`, `task`; what is no visible text is passed over, and 2,000 characters are read."""

    def name(**metadata: Any) -> str | None:
        found = workflows._told(ended(1, name=None, metadata=metadata))
        return None if found is None else found.name

    assert name(workflow="a 10", run="b 10", task="c 10") == "a 10"
    assert name(run="b 10", task="c 10") == "b"
    assert name(workflow=" ", run=7, task="c 10") == "c"
    assert name(tool="x") is None
    assert name(workflow="x" * 2001) == "x" * 2000


def test_a_procedure_has_twelve_steps_of_240_characters() -> None:
    """S3: what is beyond is left out; a long step is cut."""
    words = [f"{chr(97 + place)}{chr(97 + place)}xyz" for place in range(14)]
    runs = [ended(seq, ". ".join([*words, "w" * 300])) for seq in (1, 2, 3)]
    assert workflows.plan(runs, (), test_workflows.NOW)[0].content.split("\n")[1:] == [
        f"{number}. {word}." for number, word in enumerate(words[:12], 1)
    ]
    (made,) = workflows.plan([ended(seq, "w" * 300) for seq in (1, 2, 3)], (), test_workflows.NOW)
    assert len(made.content) == len("Morning briefing:\n1. ") + 240


def test_a_step_has_the_tool_that_did_it() -> None:
    """S3: behind the last step of its record, unless that names it."""

    def steps(content: str, tool: str | None) -> list[str]:
        return [step.said for step in workflows._split(content, tool)]

    assert steps("Fetch mails. Sort them.", "imap") == ["Fetch mails.", "Sort them (imap)"]
    assert steps("Fetch mails by IMAP.", "imap") == ["Fetch mails by IMAP."]
    assert steps("- Fetch mails\n2) sort\n\n* ", None) == ["Fetch mails", "sort"]
    assert steps("", "imap") == []
    assert steps("一。二！three? four", None) == ["一。", "二！", "three?", "four"]


@every(
    "word",
    "not no never don doesn cannot without skip nicht kein nie sans jamais nunca sin не нет".split(),
)
def test_each_word_that_denies_a_step(word: str) -> None:
    """S3: makes another one of it, with the same words."""
    (plain,), (denied,) = (
        workflows._split("restart server"),
        workflows._split(f"{word} restart server"),
    )
    assert (denied.words, denied.denied, plain.denied) == (plain.words, True, False)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("alpha beta gamma", "alpha beta gamma delta epsilon", True),  # three of five
        ("alpha beta gamma", "alpha beta delta", False),  # two of four
    ],
)
def test_three_fifths_of_their_words_make_two_steps_one(one: str, other: str, alike: bool) -> None:
    """S3: exactly these are enough."""
    (first,), (second,) = workflows._split(one), workflows._split(other)
    assert workflows._is_alike(first, second) is alike


@pytest.mark.parametrize(("shared", "proposed"), [(8, 0), (7, 1)])
def test_four_fifths_of_its_words_say_it_already(shared: int, proposed: int) -> None:
    """S3: of the words of its steps, exactly these are enough."""
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
    runs = [ended(seq, " ".join(words)) for seq in (1, 2, 3)]
    own = record(
        50,
        {"workflow": "morning-briefing"},
        layer=Layer.PROCEDURAL,
        content=" ".join(words[:shared]),
    )
    assert len(workflows.plan(runs, [own], test_workflows.NOW)) == proposed


@pytest.mark.parametrize(
    ("having", "steps"), [(2, ["1. alpha beta", "2. gamma delta"]), (1, ["1. alpha beta"])]
)
def test_a_step_of_most_times_is_one_of_the_procedure(having: int, steps: list[str]) -> None:
    """S3: two of three are most; one is not."""
    runs = [
        ended(seq, "alpha beta\ngamma delta" if seq <= having else "alpha beta")
        for seq in (1, 2, 3)
    ]
    assert workflows.plan(runs, (), test_workflows.NOW)[0].content.split("\n")[1:] == steps


def test_half_of_the_times_are_not_most() -> None:
    """S3: a step that two of four times have is left out."""
    runs = [
        ended(seq, "alpha beta\ngamma delta" if seq <= 2 else "alpha beta") for seq in (1, 2, 3, 4)
    ]
    assert "gamma" not in workflows.plan(runs, (), test_workflows.NOW)[0].content


def test_steps_come_in_the_order_that_they_mostly_had() -> None:
    """S3: by where in their times they stood on average, the newest time first where that is equal."""
    told_ = [
        "alpha beta\ngamma delta\neta theta",
        "gamma delta\nalpha beta\neta theta",
        "gamma delta\nalpha beta\neta theta",
    ]
    runs = [ended(seq, one) for seq, one in enumerate(told_, 1)]
    (made,) = workflows.plan(runs, (), test_workflows.NOW)
    assert made.content.split("\n")[1:] == ["1. gamma delta", "2. alpha beta", "3. eta theta"]
    equal = [ended(seq, one) for seq, one in enumerate([told_[0], told_[1], told_[0], told_[1]], 1)]
    (made,) = workflows.plan(equal, (), test_workflows.NOW)
    assert made.content.split("\n")[1:3] == ["1. gamma delta", "2. alpha beta"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("morning_brief-1.x", "Morning brief 1 x"),
        ("Write C++ notes.", "Write C++ notes"),
        ("éclairs: bake", "Éclairs: bake"),
        ("x" * 200, "X" + "x" * 118 + "…"),
    ],
)
def test_a_workflow_has_a_headline(name: str, title: str) -> None:
    """S3: in words, with a capital, at most 120 characters long, and without a point behind it."""
    assert workflows._title(name) == title


def test_a_slug_has_sixty_characters() -> None:
    """R7: of a name that is none, one more makes a hash of it; a slug may be as long as a label."""
    assert workflows.slug("X" * 60) == "x" * 60
    assert len(workflows.slug("X" * 61)) == 69
    assert workflows.slug("x" * rules.MAX_LABEL) == "x" * rules.MAX_LABEL
    assert len(workflows.slug("x" * (rules.MAX_LABEL + 1))) == 69
    assert workflows.slug("早").startswith("workflow-")


def test_the_name_in_use_is_kept() -> None:
    """S3: that of the newest procedure that is a slug, whatever it was called since; else the newest slug that was given."""
    runs = [
        ended(1, name="morning_briefing"),
        ended(2, name="Morning briefing"),
        ended(3, name="Morning Briefing"),
    ]
    other = {"layer": Layer.PROCEDURAL, "content": "Make coffee"}
    slugs = [
        record(50, {"workflow": "morning-briefing"}, **other),
        record(51, {"workflow": "Morning briefing"}, **other),
    ]
    assert [made.slug for made in workflows.plan(runs, (), test_workflows.NOW)] == [
        "morning_briefing"
    ]
    assert [made.slug for made in workflows.plan(runs, slugs, test_workflows.NOW)] == [
        "morning-briefing"
    ]
    assert [made.slug for made in workflows.plan(runs, slugs[1:], test_workflows.NOW)] == [
        "morning-briefing"
    ]


def test_what_concerns_everybody_comes_first() -> None:
    """S3, Q6: before any user, whatever the name; in workflows as in tastes."""
    runs = [ended(seq, user=user) for seq, user in enumerate(["A", None] * 3, 1)]
    assert [made.user for made in workflows.plan(runs, (), test_workflows.NOW)] == [None, "A"]
    facts_ = [test_tastes.fact(1, user="A"), test_tastes.fact(2, user=None)]
    assert [made.user for made in tastes.plan(facts_, [], [])] == [None, "A"]


def test_a_run_counts_from_the_moment_at_which_it_ended() -> None:
    """S3: what ends now has ended, and why it is proposed needs no failure to be told."""
    runs = [ended(seq) for seq in (1, 2, 3)]
    (made,) = workflows.plan(runs, (), runs[-1].occurred_at)
    assert made.why == "succeeded 3 times, last on 1 May 2026"
    assert workflows.plan(runs, (), runs[-1].occurred_at - timedelta(microseconds=1)) == []


def test_what_was_stored_twice_is_known_by_the_first() -> None:
    """S3, P1: the evidence is the record that came first, in whatever order they are read."""
    again = ended(9, occurred_at=hour(1))
    runs = [again, *(ended(seq) for seq in (1, 2, 3))]
    for some in (runs, runs[::-1]):
        (made,) = workflows.plan(some, (), test_workflows.NOW)
        assert made.evidence == ids(1, 2, 3)


def test_any_name_has_a_slug() -> None:
    """R7: also one with half a character in it."""
    assert rules.SLUG.fullmatch(workflows.slug("report \ud800"))


# Profile


def test_a_project_without_a_name_has_none() -> None:
    """R10: and a record that is no project says nothing."""
    assert profile._project(record(1, {})) == profile.ProjectMemory("", [], [], [], [])


@pytest.mark.parametrize("person", ["Ben", {"relation": "brother"}, ["name"], None])
def test_somebody_without_a_name_is_refused(person: Any) -> None:
    """R10: a text that holds the word is no mapping with a name."""
    with pytest.raises(InvalidInput, match=r"relationships\[0\] .* is not a mapping with a name"):
        profile.patch_items({"relationships": [person]})


def test_a_key_that_is_no_label_is_refused_by_its_name() -> None:
    """R10: what is refused is a key of the profile, a field of the patch, or a name in a group."""
    for patch, named in (
        ({"relationships": {"x" * 250: "brother"}}, "a key of the profile"),
        ({"x" * 300: 1}, "a field of the patch"),
        ({"schedule": {"x" * 300: 1}}, "a name in schedule"),
    ):
        with pytest.raises(InvalidInput, match=f"^{named} "):
            profile.patch_items(patch)


def test_a_key_below_a_group_that_is_called_like_a_list_is_a_text() -> None:
    """V9, R10: `schedule.interests` is one entry of the schedule, and its lines are not taken apart."""
    assert profile.read("schedule.interests", "- tea\n- jazz") == "- tea\n- jazz"
    assert profile.read("INTERESTS", "- tea\n- jazz") == ["tea", "jazz"]


def test_a_memory_for_a_key_as_a_whole() -> None:
    """R10: its text is cut to the bytes that there are, never within a letter; its value is not."""
    assert profile.item("drink", "té", "said so", 9, origin="sleep") == {
        "content": "drink: t",
        "kind": "preference",
        "metadata": {"profile_key": "drink", "value": "té", "reason": "said so", "origin": "sleep"},
    }


def test_half_a_character_is_no_text() -> None:
    """R10, R8: although a reader would see the rest of it."""
    for key in ("name", "interests", "drink"):
        with pytest.raises(InvalidInput):
            profile.checked(key, "a\ud800")


# Promotion


def entry(importance_: float, age: float = 10, **fields: Any) -> Entry:
    known_: dict[str, Any] = {
        "seq": 1,
        "event": 1,
        "id": "id1",
        "user": None,
        "kind": "crumb",
        "trust": Trust.AGENT,
        "tags": (),
    }
    return Entry(
        **{**known_, "importance": importance_, "since": START - timedelta(days=age), **fields}
    )


def rule(one: Entry, **retention: Any) -> str:
    (decided,) = promotion.plan([one], START, Retention(**retention))
    return decided.rule


def test_a_floor_above_the_threshold_lowers_nothing() -> None:
    """L7: then nothing is told of days."""
    assert (
        rule(entry(0.6), time_decay_per_day=0.01, time_decay_floor=0.9)
        == "importance 0.60 is below 0.70"
    )
    assert (
        rule(entry(0.5), time_decay_per_day=0.01)
        == "importance 0.50 is below 0.60, lowered after 10 days"
    )
    assert (
        rule(entry(0.6), time_decay_per_day=0.01)
        == "importance 0.60 reaches 0.60, lowered after 10 days"
    )


@pytest.mark.parametrize(
    ("value", "age", "expired"),
    [(0.29, 10, True), (0.3, 10, False), (0.29, 9.99, False), (0.29, -1, False)],
)
def test_what_expires(value: float, age: float, expired: bool) -> None:
    """L7: below the importance and from the day on."""
    told_ = rule(entry(value, age), expire_after_days=10)
    assert (told_ == f"importance {value:.2f} and 10 days old: expired") is expired


def test_numbers_are_told_apart() -> None:
    """L7: with as many decimals as it takes."""
    assert rule(entry(0.699999)) == "importance 0.699999 is below 0.700000"
    assert promotion._told_apart(0.1 + 0.2, 0.3) == ("0.30000000000000004", "0.3")
    assert promotion._told_apart(1e-20, 0.0) == ("1e-20", "0.0")
    assert promotion._told_apart(0.5, 0.5) == ("0.50", "0.50")


def test_the_oldest_make_room() -> None:
    """L3: as many as are beyond the most; what is promoted takes none."""
    entries = [entry(0.9 if seq == 2 else 0.1, seq=seq, id=f"id{seq}") for seq in range(1, 6)]
    decided = promotion.plan(entries, START, Retention(short_term_max_lines=2))
    assert [one.action.value for one in decided] == ["rotate", "promote", "rotate", "keep", "keep"]
    assert decided[0].rule == "the oldest, beyond the most that short-term memory holds"
    assert [one.id for one in promotion.promotable(entries, START, Retention())] == ["id2"]


# Review


@pytest.mark.parametrize(
    ("negated", "words"),
    [
        (True, "Ana does not live in Faro any more"),
        (False, "Ana lives in Faro"),
        ("x", "Ana lives in Faro"),
    ],
)
def test_a_corrected_fact_is_told_anew(negated: Any, words: str) -> None:
    """V9: in its own words, as a denial where it was one, with the rule that it was corrected."""
    metadata = {"subject": "Ana", "attribute": "lives_in", "value": "Porto", "negated": negated}
    kept = record(1, metadata, layer=Layer.SEMANTIC)
    assert review.corrected(kept, "Faro", "typo") == (
        words,
        {**metadata, "value": "Faro", "rule": "corrected"},
    )


def test_a_corrected_profile_keeps_its_key() -> None:
    """V9, R10: the value is read as its key wants it, and the reason is the new one; other texts are as they are given."""
    key = told(1, "interests", ["tea"])
    assert review.corrected(key, "- jazz\n- rain", "typo") == (
        "interests: jazz; rain",
        {"profile_key": "interests", "value": ["jazz", "rain"], "reason": "typo"},
    )
    assert review.corrected(known(1, "Tea is hot", ["tea"]), "Tea is cold", "typo") == (
        "Tea is cold",
        {"origin": "promotion", "topic_tags": ["tea"]},
    )


# Learning


@pytest.mark.parametrize("label", ["category", "escalated_to", "status", "tool", "workflow"])
def test_each_label_of_metadata_is_shown(label: str) -> None:
    """L8: those that the schema names, and no other."""
    shown = learning.features(
        "fact", "x", (), {label: "mail", "colour": "red"}, None, None, Trust.AGENT
    )
    assert shown == ("kind=fact", "trust=agent", "length=short", f"{label}=mail", "word=x")


@pytest.mark.parametrize("status", ["failure", "failed", "ERROR"])
def test_each_status_that_is_a_failure(status: str) -> None:
    """L8: counts more than the word in a text."""
    scored = importance.explain("crumb", "x", (), {"status": status})
    assert [(reason.name, reason.amount) for reason in scored.reasons] == [
        ("kind=crumb", 0.5),
        ("failure", 0.2),
    ]


def test_an_example_weighs_a_hundred_at_most() -> None:
    """L8: and more than nothing."""
    for weight in (100.5, 0.0, -1.0):
        with pytest.raises(InvalidInput):
            learning.learn([learning.Example(kind="crumb", content="x", liked=True, weight=weight)])


def test_reasons_as_strong_as_each_other_come_by_name() -> None:
    """L8, Q6: whichever way they point."""
    scored = Model({"tag=a": 0.2, "tag=z": -0.2}, 1.0, 0.1, 40, 20, 0.1).explain(
        "crumb", "x", ("z", "a"), {}
    )
    assert [reason.name for reason in scored.reasons[1:3]] == ["learned tag=a", "learned tag=z"]


def test_a_weight_of_nothing_is_not_kept() -> None:
    """L8, P6: what is rounded away is in no model, and no bias is a nothing below zero."""
    cases = [
        learning._Case(f"text {place}", ("tag=a", "tag=b")[:place], 0.5, bool(place), 1.0)
        for place in range(3)
    ]
    data = learning._numbers(cases, ["tag=a", "tag=b"])
    model = learning._model(["tag=a", "tag=b"], data, np.array([9.0, 0.0, 0.0004, 0.6]), 0.12344)
    assert model == Model({"tag=b": 0.6}, 1.0, -0.2, 3, 2, 0.1234)
    nothing = learning._model(["tag=a", "tag=b"], data, np.zeros(4), 0.0)
    assert str(nothing.bias) == "0.0"


def test_a_model_that_moves_nothing_gives_no_reasons() -> None:
    """L8: weights that take each other away are no reason, for the sum is the score."""
    scored = Model({"kind=crumb": 0.5, "trust=agent": -0.5}, 1.0, 0.0, 40, 20, 0.1).explain(
        "crumb", "x", (), {}
    )
    assert [(reason.name, reason.amount) for reason in scored.reasons] == [("kind=crumb", 0.5)]
    assert scored.importance == 0.5


@pytest.mark.parametrize("weight", [-9.0, -0.4, 0.7, 9.0])
def test_an_explanation_fits_any_score(weight: float) -> None:
    """L8: the amounts of the reasons sum to the importance, wherever it was cut off."""
    model = Model({"kind=error": weight}, 0.5, 0.1, 40, 20, 0.1)
    scored = model.explain("error", "x", (), {}, "chat", "ana", Trust.OPERATOR)
    assert scored.importance == model.score("error", "x", (), {}, "chat", "ana", Trust.OPERATOR)
    assert sum(reason.amount for reason in scored.reasons) == pytest.approx(
        scored.importance, abs=1e-9
    )
