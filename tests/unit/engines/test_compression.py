"""Promises of compression: what is summed up where, on which evidence, and what stays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lamina.engines import compression, profile
from lamina.engines.compression import Decision, Fate, Joined, Plan, Shelf, Summary, Target
from lamina.engines.profile import slug
from lamina.model import hashing, rules
from lamina.model.record import Layer, Record, State, Trust
from lamina.text import words
from tests.cases import every
from tests.conftest import START
from tests.unit.engines.samples import hour, ids, one_id, record, told

NOW = START + timedelta(days=100)


def item(
    seq: int, content: str, kind: str = "fact", tags: Sequence[str] = (), **fields: Any
) -> Record:
    """A short-term memory that is old enough."""
    fields = {
        "metadata": {},
        "layer": Layer.SHORT_TERM,
        "kind": kind,
        "tags": tuple(tags),
        **fields,
    }
    return record(seq, content=content, **fields)


def planned(
    items: Sequence[Record],
    active: Sequence[Record] = (),
    waiting: Sequence[Record] = (),
    hours: float = 48,
    may_confirm: bool = True,
) -> Plan:
    return compression.plan(items, active, waiting, NOW, hours, may_confirm=may_confirm)


def said(plan: Plan) -> dict[str, Any]:
    """What the summaries of a plan say, by key or name."""
    return {summary.key: summary.value for summary in plan.summaries}


def stored(summary: Summary, seq: int, user: str | None = None) -> Record:
    """The record that a summary becomes."""
    metadata: dict[str, Any] = {
        "profile_key": summary.key,
        "value": summary.value,
        "reason": "compressed",
    }
    if summary.shelf is Shelf.PROJECT:
        metadata = {
            "origin": "compression",
            "topic_tags": [],
            "project": {"project_name": summary.key, **summary.value},
        }
    state = State.CONSTRAINED if summary.constrained else State.ACTIVE
    fields = {
        "trust": summary.trust,
        "occurred_at": summary.occurred_at,
        "importance": summary.importance,
    }
    return record(
        seq, metadata, user=user, state=state, evidence=summary.evidence, created_at=NOW, **fields
    )


# Milton's rules, one by one


@pytest.mark.parametrize(("age", "left"), [(47.9, 1), (48, 0), (500, 0)])
def test_only_what_is_older_than_the_cutoff(age: float, left: int) -> None:
    """L9: items created at or before now − cutoff are compressed, younger ones stay."""
    when = NOW - timedelta(hours=age)
    plan = planned([item(1, "Ana lives in Oslo", created_at=when, occurred_at=START)])
    assert len(plan.left) == left
    assert len(plan.compressed) == 1 - left


@pytest.mark.parametrize("kind", ["fact", "decision"])
def test_facts_and_decisions_are_stable(kind: str) -> None:
    """L9: facts and decisions without a project become stable facts."""
    assert said(planned([item(1, "Ana lives in Oslo", kind)])) == {
        "stable_facts": ["Ana lives in Oslo"]
    }


def test_a_preference_has_a_key_of_its_own() -> None:
    """L9: a preference becomes a key of the profile, made of its words, with its text
    as the value."""
    assert said(planned([item(1, "Prefers tea.", "preference")])) == {"prefers-tea": "Prefers tea."}


@pytest.mark.parametrize("kind", ["preference", "fact", "decision"])
def test_a_key_that_is_given_is_taken(kind: str) -> None:
    """L9: a memory that names its profile_key sets that key, to its value or else to its text."""
    one = item(1, "She wants tea", kind, metadata={"profile_key": "Drink", "value": "tea"})
    two = item(2, "Ana", kind, metadata={"profile_key": "NAME"})
    three = item(3, "07:00", kind, metadata={"profile_key": "schedule.wake_up"})
    four = item(4, "both", kind, metadata={"profile_key": "interests", "value": ["chess", "tea"]})
    expected = {
        "Drink": "tea",
        "name": "Ana",
        "schedule.wake_up": "07:00",
        "interests": ["chess", "tea"],
    }
    assert said(planned([one, two, three, four])) == expected


@pytest.mark.parametrize("key", [None, 5, "", "\n", "x" * 300, ["drink"]])
def test_a_key_that_is_none_is_passed_over(key: Any) -> None:
    """L9: a profile_key that cannot be one does not keep a memory from being compressed."""
    assert said(planned([item(1, "likes tea", "preference", metadata={"profile_key": key})])) == {
        "likes-tea": "likes tea"
    }


@pytest.mark.parametrize("value", [None, "", 5, True, ["Ana", 5], []])
def test_a_value_that_does_not_fit_its_key_is_passed_over(value: Any) -> None:
    """L9: where a text belongs, only a text is taken from metadata; otherwise what the
    memory says counts."""
    one = item(1, "Ana", metadata={"profile_key": "name", "value": value})
    two = item(2, "tea", metadata={"profile_key": "interests", "value": value})
    assert said(planned([one, two])) == {"name": "Ana", "interests": ["tea"]}


@pytest.mark.parametrize("kind", ["preference", "fact", "decision"])
def test_do_not_assume_has_its_list(kind: str) -> None:
    """L9: the tag do_not_assume leads to that list, whatever else a memory says of itself."""
    one = item(
        1, "that Ana drinks coffee", kind, ["do_not_assume"], metadata={"profile_key": "drink"}
    )
    assert said(planned([one])) == {"do_not_assume": ["that Ana drinks coffee"]}


def test_projects_are_sorted_by_tags() -> None:
    """L9: tags goal, blocker, next and next_step sort a project's items; else kind project is a
    goal, the rest is next."""
    items = [
        item(1, "grow tomatoes", "fact", ["project:garden", "goal"]),
        item(2, "no water", "preference", ["blocker", "project:garden"]),
        item(3, "dig", "crumb", ["project:garden", "next"]),
        item(4, "sow", "decision", ["project:garden", "next_step"]),
        item(5, "feed the family", "project", ["project:garden"]),
        item(6, "call Ben", "request", ["project:garden"]),
        item(7, "a roof", "project", ["project:house"]),
    ]
    plan = planned(items)
    assert said(plan) == {
        "garden": {
            "goals": ["grow tomatoes", "feed the family"],
            "blockers": ["no water"],
            "next_steps": ["dig", "sow", "call Ben"],
        },
        "house": {"goals": ["a roof"], "blockers": [], "next_steps": []},
    }
    assert {summary.shelf for summary in plan.summaries} == {Shelf.PROJECT}
    assert len(plan.compressed) == 7


def test_an_item_of_two_projects_is_in_both() -> None:
    """L9: several project tags lead to each project, and several sorting tags to each section."""
    plan = planned(
        [item(1, "buy a spade", tags=["project:garden", "project:house", "goal", "next"])]
    )
    both = {"goals": ["buy a spade"], "blockers": [], "next_steps": ["buy a spade"]}
    assert said(plan) == {"garden": both, "house": both}
    assert plan.decisions == ((f"{1:026d}", Fate.PROJECT, "garden, house", "its tags say where"),)


@every(
    ("kind", "tags"),
    [
        *((kind, ()) for kind in rules.KINDS if kind not in compression.PROFILE_KINDS),
        ("crumb", ("do_not_assume",)),
        ("crumb", ("project:",)),
        ("project", ("goal", "garden")),
        ("odd", ("project",)),
    ],
)
def test_what_nothing_summarises_stays(kind: str, tags: Sequence[str]) -> None:
    """L9: everything else stays in short-term memory, and the plan says why."""
    plan = planned([item(1, "hello", kind, tags)])
    assert (plan.summaries, plan.joined, plan.compressed) == ((), (), ())
    assert plan.decisions[0].fate is Fate.LEFT
    assert kind in plan.decisions[0].rule


# Evidence and merging


def test_summaries_name_their_sources() -> None:
    """P1: a summary has the ids of what it sums up as evidence, in the order in which they came."""
    items = [item(seq, content) for seq, content in ((3, "c"), (1, "a"), (2, "b"))]
    (summary,) = planned(items).summaries
    assert summary.value == ["a", "b", "c"]
    assert summary.evidence == tuple(f"{seq:026d}" for seq in (1, 2, 3))


def test_a_list_is_merged_with_what_it_says() -> None:
    """L9, P1: a list grows by what it does not have, keeps its order, and its evidence is the old
    and the new."""
    before = told(1, "stable_facts", ["lives in Oslo", "has a dog"], evidence=("e" * 26,))
    (summary,) = planned(
        [item(5, "Lives  in OSLO"), item(6, "has a cat"), item(7, "Has a cat")], [before]
    ).summaries
    assert summary.value == ["lives in Oslo", "has a dog", "has a cat"]
    assert summary.evidence == ("e" * 26, *(f"{seq:026d}" for seq in (5, 6, 7)))


def test_a_project_is_merged_with_what_it_says() -> None:
    """L9: a project's sections grow like lists, and its name is compared as a reader would."""
    sections = {"goals": ["tomatoes"], "blockers": [], "next_steps": []}
    before = record(
        1,
        {"origin": "compression", "project": {"project_name": "Garden", **sections}},
        evidence=("e" * 26,),
    )
    (summary,) = planned([item(5, "roses", tags=["project:garden", "goal"])], [before]).summaries
    assert (summary.key, summary.value["goals"]) == ("Garden", ["tomatoes", "roses"])
    assert summary.evidence == ("e" * 26, f"{5:026d}")


def test_what_is_known_is_joined() -> None:
    """L9: a memory that says what is known already is compressed: it becomes evidence, and no
    record is made anew."""
    before = told(1, "stable_facts", ["lives in Oslo"], evidence=("e" * 26,))
    drink = told(2, "drink", "Tea", evidence=())
    plan = planned(
        [item(5, "lives in oslo"), item(6, "tea", metadata={"profile_key": "drink"})],
        [before, drink],
    )
    assert plan.summaries == ()
    assert {one.record.id: one.evidence for one in plan.joined} == {
        before.id: ("e" * 26, f"{5:026d}"),
        drink.id: (f"{6:026d}",),
    }
    assert len(plan.compressed) == 2
    assert {one.fate for one in plan.decisions} == {Fate.KNOWN}


def test_a_repetition_does_not_lower_trust() -> None:
    """V8: what an operator said stays trusted when an agent repeats it; the repetition is no
    evidence then."""
    before = told(1, "drink", "tea", trust=Trust.OPERATOR)
    plan = planned([item(5, "tea", metadata={"profile_key": "drink"})], [before])
    assert (plan.summaries, plan.joined, len(plan.compressed)) == ((), (), 1)


def test_evidence_is_not_joined_across_users() -> None:
    """R12: a user's memory is no evidence of a record that concerns everybody."""
    plan = planned(
        [item(5, "tea", metadata={"profile_key": "drink"}, user="ana")], [told(1, "drink", "tea")]
    )
    assert (plan.summaries, plan.joined, len(plan.compressed)) == ((), (), 1)


def test_a_users_list_begins_with_what_concerns_everybody() -> None:
    """R12: a user's first line of a list does not hide the lines that everybody has."""
    (summary,) = planned(
        [item(5, "has a cat", user="ana")], [told(1, "stable_facts", ["speaks English"])]
    ).summaries
    assert summary.value == ["speaks English", "has a cat"]


def test_the_newest_statement_counts() -> None:
    """L9: of several values for one key the one that was said last counts, and what agrees with it
    is its evidence."""
    values = ["tea", "coffee", "Tea", "water", "tea"]
    items = [
        item(
            seq,
            value,
            metadata={"profile_key": "drink"},
            occurred_at=START + timedelta(minutes=when),
        )
        for seq, (value, when) in enumerate(zip(values, [1, 2, 3, 0, 4], strict=True), 1)
    ]
    plan = planned(items)
    assert said(plan) == {"drink": "tea"}
    assert plan.summaries[0].evidence == tuple(f"{seq:026d}" for seq in (1, 3, 5))
    assert plan.summaries[0].occurred_at == START + timedelta(minutes=4)
    assert len(plan.compressed) == 5


def test_a_correction_is_not_undone() -> None:
    """L9: what was said before a key was set does not set it back, though it
    is compressed later."""
    corrected = told(50, "drink", "coffee", trust=Trust.OPERATOR)
    plan = planned([item(5, "tea", metadata={"profile_key": "drink"})], [corrected])
    assert (plan.summaries, plan.joined, len(plan.compressed)) == ((), (), 1)
    assert plan.decisions[0].rule == "something newer is known"


def test_a_time_in_the_future_does_not_last() -> None:
    """L9: a statement with a time that has not come yet counts as said when it was remembered."""
    future = item(
        1, "tea", metadata={"profile_key": "drink"}, occurred_at=START + timedelta(days=9999)
    )
    assert said(planned([future, item(2, "milk", metadata={"profile_key": "drink"})])) == {
        "drink": "milk"
    }


def test_what_is_too_long_stays() -> None:
    """L9: a text that is no line of a profile stays as it is, and the rest is compressed."""
    plan = planned([item(1, "x" * 5000), item(2, "short"), item(3, "y" * 5000, "preference")])
    assert said(plan) == {"stable_facts": ["short"]}
    assert len(plan.left) == 2


def test_a_list_that_is_full_takes_no_more() -> None:
    """L9: a summary never grows beyond what a record can hold; what does not fit stays."""
    plan = planned([item(seq, f"{seq:04d}" * 1000) for seq in range(1, 50)])
    assert 0 < len(plan.compressed) < 49
    assert len(plan.compressed) + len(plan.left) == 49
    rules.metadata({"profile_key": "stable_facts", "value": plan.summaries[0].value})


def test_what_was_brought_back_is_young_again() -> None:
    """L9: a memory that somebody brought back from the archive is not sent there again at once."""
    assert planned([item(1, "Ana lives in Oslo", last_verified=NOW)]).compressed == ()


# Trust and review


def test_what_comes_from_outside_waits() -> None:
    """V8: external text is planned apart, as proposals, also where a person may confirm; it builds
    on what is trusted."""
    active = told(1, "stable_facts", ["a"], trust=Trust.OPERATOR)
    items = [
        item(5, "b", trust=Trust.EXTERNAL),
        item(6, "c"),
        item(7, "dig", tags=["project:garden"], trust=Trust.EXTERNAL),
    ]
    plan = planned(items, [active])
    found = {(one.key, one.constrained): one for one in plan.summaries}
    assert found["stable_facts", False].value == ["a", "c"]
    assert found["stable_facts", True].value == ["a", "c", "b"]
    assert found["garden", True].value["next_steps"] == ["dig"]
    assert {key: one.trust for key, one in found.items()} == {
        ("stable_facts", False): Trust.AGENT,
        ("stable_facts", True): Trust.EXTERNAL,
        ("garden", True): Trust.EXTERNAL,
    }


def test_without_authority_the_profile_waits() -> None:
    """V1, V8: for an agent and the scheduler what concerns the profile waits, and
    projects do not."""
    plan = planned([item(1, "a"), item(2, "dig", tags=["project:garden"])], may_confirm=False)
    assert {one.key: one.constrained for one in plan.summaries} == {
        "stable_facts": True,
        "garden": False,
    }


def test_trust_is_the_lowest_of_the_sources() -> None:
    """V8: what is derived is trusted as little as the least of its sources."""
    items = [item(1, "a", trust=Trust.OPERATOR), item(2, "b", trust=Trust.AGENT)]
    assert planned(items[:1]).summaries[0].trust is Trust.OPERATOR
    assert planned(items).summaries[0].trust is Trust.AGENT


def test_a_proposal_builds_on_the_one_before() -> None:
    """V1: a second proposal holds what the first one proposes, so that confirming the
    last loses nothing."""
    active = told(1, "stable_facts", ["a"])
    first = told(2, "stable_facts", ["a", "b"], state=State.CONSTRAINED, evidence=("e" * 26,))
    foreign = told(3, "stable_facts", ["a", "x"], state=State.CONSTRAINED, trust=Trust.EXTERNAL)
    plan = planned([item(5, "c")], [active], [first, foreign], may_confirm=False)
    assert said(plan) == {"stable_facts": ["a", "b", "c"]}
    assert plan.summaries[0].evidence == ("e" * 26, f"{5:026d}")
    assert said(planned([item(5, "c")], [active], [first, foreign])) == {"stable_facts": ["a", "c"]}


@pytest.mark.parametrize("may_confirm", [True, False])
def test_what_is_summed_up_already_is_only_archived(may_confirm: bool) -> None:
    """L9: after a crash, what is evidence of an active or a waiting summary of its key is
    compressed and written no more."""
    ids = [f"{seq:026d}" for seq in (5, 6)]
    active = told(1, "stable_facts", ["other words"], evidence=(ids[0],))
    waiting = told(2, "drink", "tea", state=State.CONSTRAINED, evidence=(ids[1],))
    waiting = structs.replace(waiting, metadata={**waiting.metadata, "origin": "compression"})
    items = [item(5, "a"), item(6, "tea", "preference", metadata={"profile_key": "Drink"})]
    plan = planned(items, [active], [waiting], may_confirm=may_confirm)
    assert (plan.summaries, plan.joined) == ((), ())
    assert plan.compressed == tuple(ids)


# Keys


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("Prefers tea over coffee!", "prefers-tea-over-coffee"),
        ("  Likes   JAZZ ", "likes-jazz"),
        ("お茶が好き", "お茶が好き"),
    ],
)
def test_a_key_is_made_of_words(content: str, key: str) -> None:
    """L9: the key of a preference can be read, in every script."""
    assert slug(content) == key


def test_keys_of_different_texts_differ() -> None:
    """L9: texts that a reader tells apart never share a key, nor does one take the place
    of a field."""
    contents = [
        "I like C",
        "I like C++",
        "I like C#",
        "🍵",
        "☕",
        "name",
        "interests",
        "a-b",
        "a b",
        "x " * 99,
        "x " * 98,
    ]
    assert len({slug(content) for content in contents}) == len(contents)
    for content in contents:
        assert profile.field_of(slug(content))[0] == "preferences"
        assert rules.label(slug(content), "key")


@given(st.text(min_size=1).filter(words.is_visible), st.text(min_size=1).filter(words.is_visible))
def test_one_text_has_one_key(one: str, other: str) -> None:
    """L9: a key is stable: the same text gives the same key, in every case and spacing, and is
    always allowed."""
    assert slug(one) == slug(words.normalise(one))
    assert rules.label(slug(one), "key")
    if words.normalise(one).rstrip(".!") != words.normalise(other).rstrip(".!"):
        assert slug(one) != slug(other)


# Nothing is lost


def memories() -> st.SearchStrategy[Record]:
    metadata = st.fixed_dictionaries(
        {},
        optional={
            "profile_key": st.sampled_from(["name", "drink", "Interests", 5]),
            "value": st.sampled_from(["x", 1, None]),
        },
    )
    tags = st.lists(
        st.sampled_from(
            ["project:a", "project:b", "goal", "next", "blocker", "do_not_assume", "z"]
        ),
        max_size=3,
    )
    return st.builds(
        lambda seq, age, **fields: item(seq, **fields, created_at=NOW - timedelta(hours=age)),
        seq=st.integers(1000, 9999),
        age=st.integers(0, 100),
        content=st.sampled_from(["tea", "Tea ", "milk", "x" * 5000, "dig", "🍵", "a b", "A  B"]),
        kind=st.sampled_from(["fact", "preference", "decision", "project", "crumb", "request"]),
        tags=tags,
        metadata=metadata,
        trust=st.sampled_from(Trust),
    )


@given(
    st.lists(memories(), max_size=12, unique_by=lambda one: one.seq),
    st.booleans(),
    st.integers(0, 100),
    st.booleans(),
)
def test_no_memory_is_lost(items: list[Record], may_confirm: bool, hours: int, half: bool) -> None:
    """L9, P1, V8: each memory is compressed or left, every source is known, external text waits;
    again changes nothing.

    `half` applies a first plan to some of the memories before the second one sees all of them.
    """
    active: list[Record] = []
    waiting: list[Record] = []
    for step, some in enumerate([items[::2], items] if half else [items]):
        plan = planned(some, active, waiting, hours, may_confirm)
        assert sorted([*plan.compressed, *plan.left]) == sorted(one.id for one in some)
        known = {one.id for one in items}
        for number, summary in enumerate(plan.summaries):
            assert summary.evidence
            assert set(summary.evidence) <= known
            external = summary.trust is Trust.EXTERNAL
            assert summary.constrained == (
                external or (summary.shelf is Shelf.PROFILE and not may_confirm)
            )
            made = stored(summary, 100_000 * (step + 1) + number)
            (waiting if summary.constrained else active).append(made)
        for joined in plan.joined:
            for place in (active, waiting):
                place[:] = [
                    record(one.seq, one.metadata, **fields_of(one) | {"evidence": joined.evidence})
                    if one is joined.record
                    else one
                    for one in place
                ]
        again = planned(some, active, waiting, hours, may_confirm)
        assert (again.summaries, again.joined) == ((), ())
        assert again.compressed == plan.compressed


def fields_of(one: Record) -> dict[str, Any]:
    names = ("state", "user", "trust", "occurred_at", "created_at", "importance")
    return {name: getattr(one, name) for name in names}


@pytest.mark.parametrize(("most", "proposed"), [(0, 0), (1, 1), (2, 2), (3, 3), (9, 3)])
def test_no_more_proposals_than_are_taken(most: int, proposed: int) -> None:
    """V9: each key is a proposal; those beyond the allowance stay as they are, and say why."""
    items = [
        item(number, f"Likes {what}", "preference")
        for number, what in enumerate(("tea", "jazz", "rain"), 1)
    ]
    plan = compression.plan(items, [], [], NOW, 48, may_confirm=False, most_proposals=most)
    assert len(plan.summaries) == proposed
    assert [one.rule for one in plan.decisions if one.fate is Fate.LEFT] == [
        "the daily limit of proposals is reached"
    ] * (3 - proposed)


def test_a_list_takes_128_kib() -> None:
    """L9: lines are added while they fit into the room of a record, to the last that does; the next
    says that it is full."""
    plan = planned([item(number, f"{number:03d}{'x' * 4000}") for number in range(1, 40)])
    size = len(hashing.encode(said(plan)["stable_facts"]))
    assert 128 * 1024 - 4010 < size <= 128 * 1024
    assert {one.rule for one in plan.decisions if one.fate is Fate.LEFT} == {"the summary is full"}


def test_a_key_of_many_words_ends_with_eight_letters_of_its_hash() -> None:
    """L9: keys stay the same from version to version, so the form of the hash does too."""
    assert re.fullmatch(r"i-like-c-[0-9a-f]{8}", profile.slug("I like C++"))
    assert profile.slug("I like tea.") == profile.slug("I like tea!") == "i-like-tea"


def test_what_is_known_is_told_as_known() -> None:
    """L9: a repetition of a value says that it changes nothing."""
    there = told(1, "drink", "tea")
    plan = planned(
        [item(2, "x", "preference", metadata={"profile_key": "drink", "value": "Tea"})], [there]
    )
    assert [(one.fate, one.rule) for one in plan.decisions] == [(Fate.KNOWN, "says what is known")]


def test_a_plan_as_a_whole() -> None:
    """L9, P1: what is written, what is joined, and what becomes of each memory, in the order in
    which they came."""
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
    """P1: what is new comes before what is repeated; with ten thousand there is no
    room for more."""

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
    """L9, R12: of its own user and trusted no more; a proposal that holds it already takes none a
    second time."""
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
    """L9: a proposal that rests on a memory, and was not made here, need not say what
    the memory says."""
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
    assert profile.slug("x" * 60) == "x" * 60
    assert len(profile.slug("x" * 61)) == 69
    assert profile.slug("🍵").startswith("preference-")
    assert profile.slug(f"{'x' * 59} yy").startswith("x" * 59 + "-")
    assert "--" not in profile.slug(f"{'x' * 59} yy")
