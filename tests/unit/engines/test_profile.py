"""Promises of the projection: what profile records say is what the profile shows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines import profile
from lamina.engines.profile import (
    ProjectMemory,
    UserProfile,
    patch_items,
    project_memories,
    project_profile,
    same_key,
)
from lamina.errors import InvalidInput
from lamina.text import words
from tests.cases import every
from tests.conftest import START
from tests.unit.engines.samples import record, told

FIELDS = [
    "instructions",
    *(
        "name",
        "preferences",
        "schedule",
        "relationships",
        "interests",
        "communication_style",
        "environment",
    ),
    *("stable_facts", "do_not_assume", "last_updated", "evidence_ids", "conflicts"),
]


def projected(items: Mapping[str, Any]) -> UserProfile:
    return project_profile(
        told(seq, key, value) for seq, (key, value) in enumerate(items.items(), 1)
    )


# The projection


def test_every_key_has_its_field() -> None:
    """R10: the keys of the document fill their fields, and every other key is a preference."""
    found = projected(
        {
            "name": "Ana",
            "schedule.wake_up": "07:00",
            "schedule.work.start": "9",
            "relationships.Ben": "brother",
            "relationships.Cleo": {"relation": "friend", "city": "Oslo"},
            "interests": ["chess", "tea"],
            "communication_style": "short",
            "environment": "work",
            "stable_facts": ["lives in Oslo"],
            "do_not_assume": ["drinks coffee"],
            "drink": "tea",
            "editor.theme": "dark",
            "schedule": "tight",
            "Instructions.language": "answer in German",
            "instructions.garden.units": "use metres",
            "instructions": "none",
        }
    )
    assert found.name == "Ana"
    assert found.schedule == {"wake_up": "07:00", "work.start": "9"}
    assert found.relationships == [
        {"name": "Ben", "relation": "brother"},
        {"name": "Cleo", "relation": "friend", "city": "Oslo"},
    ]
    assert (found.interests, found.stable_facts, found.do_not_assume) == (
        ["chess", "tea"],
        ["lives in Oslo"],
        ["drinks coffee"],
    )
    assert (found.communication_style, found.environment) == ("short", "work")
    assert found.preferences == {
        "drink": "tea",
        "editor.theme": "dark",
        "schedule": "tight",
        "instructions": "none",
    }
    assert found.instructions == {"language": "answer in German", "garden.units": "use metres"}


def test_a_profile_has_exactly_the_fields_of_the_documents() -> None:
    """R10, S8: `to_dict` has the fields of both documents, the standing instructions first and
    what the facts say otherwise last, in plain JSON values, also when nothing is known."""
    assert list(UserProfile().to_dict()) == FIELDS
    assert UserProfile().to_dict()["name"] is None
    assert projected({"name": "Ana"}).to_dict()["last_updated"] == "2026-05-01T09:00:00.000000Z"
    assert list(ProjectMemory("garden").to_dict()) == [
        "project_name",
        "goals",
        "blockers",
        "next_steps",
        "evidence_ids",
    ]


def test_a_single_text_is_a_list_of_one() -> None:
    """R10: a key that holds a list may hold one text."""
    assert projected({"interests": "chess"}).interests == ["chess"]


def test_evidence_is_that_of_the_records_that_count() -> None:
    """P1: `evidence_ids` names the records behind the profile, each once; URLs stay
    in the records."""
    ids = [f"{seq:026d}" for seq in range(90, 93)]
    found = project_profile(
        [
            told(1, "drink", "milk", evidence=(ids[2],)),
            told(2, "drink", "tea", evidence=(ids[0], "https://example.org/")),
            told(3, "name", "Ana", evidence=(ids[1], ids[0])),
        ]
    )
    assert found.evidence_ids == [ids[0], ids[1]]
    assert found.last_updated == START + timedelta(hours=3)


def test_a_users_own_record_wins() -> None:
    """R10, R12: what a user said counts more than what concerns nobody in particular,
    whichever is newer."""
    own, shared = told(1, "Drink", "tea", user="ana"), told(2, "drink", "milk")
    assert (
        project_profile([own, shared]).preferences
        == project_profile([shared, own]).preferences
        == {"Drink": "tea"}
    )


def test_the_newest_wins() -> None:
    """R10: of two records with one key the newer counts, in whatever order they come."""
    records = [told(1, "drink", "milk"), told(2, "DRINK ", "tea"), told(3, "ｄｒｉｎｋ", "water")]
    assert (
        project_profile(records).preferences
        == project_profile(records[::-1]).preferences
        == {"ｄｒｉｎｋ": "water"}
    )


@pytest.mark.parametrize("key", ["Name", "ＮＡＭＥ", " name ", "na\u200bme", "NAME"])
def test_keys_are_compared_as_a_reader_would(key: str) -> None:
    """V1: case, width, spacing and invisible characters make no other key."""
    assert same_key(key, "name")
    assert projected({key: "Ana"}).name == "Ana"


def test_a_disguised_group_is_the_group() -> None:
    """V1: `Schedule.` in another case or width is the schedule."""
    assert projected({"SCHEDULE.Wake": "7", "Ｓchedule．sleep": "22"}).schedule == {
        "Wake": "7",
        "sleep": "22",
    }


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    [
        "name",
        "interests",
        "schedule.",
        "schedule.x",
        "relationships.Ana",
        "relationships",
        ".",
        "a.b",
    ]
)


@given(st.lists(st.tuples(keys | st.text(min_size=1), json_values), max_size=8), st.randoms())
def test_whatever_a_record_holds_is_shown(pairs: list[tuple[str, Any]], random: Any) -> None:
    """R10: no value that an operator stored breaks the profile, and the order of the records does
    not matter."""
    records = [told(seq, key, value) for seq, (key, value) in enumerate(pairs, 1)]
    found = project_profile(records)
    random.shuffle(records)
    assert project_profile(records) == found
    assert list(found.to_dict()) == FIELDS
    assert all(isinstance(item, str) for name in profile.LISTS for item in getattr(found, name))


def test_records_without_a_key_say_nothing() -> None:
    """R10: a record whose key is no text is passed over."""
    assert (
        project_profile([record(1, {"profile_key": 5, "value": "x"}), record(2, {})])
        == UserProfile()
    )


# Projects


def test_projects_are_read_from_their_records() -> None:
    """R10: a project is what its record says, by name; a user's own wins, and other
    records are none."""
    garden = {
        "project": {
            "project_name": "garden",
            "goals": ["tomatoes"],
            "blockers": [],
            "next_steps": ["dig"],
        }
    }
    own = {"project": {"project_name": "Garden", "goals": ["roses"]}}
    house = {"project": {"project_name": "house"}}
    found = project_memories(
        [
            record(1, house),
            record(2, own, user="ana"),
            record(3, garden),
            record(4, {"project": "x"}),
        ]
    )
    assert [one.to_dict() for one in found] == [
        {
            "project_name": "Garden",
            "goals": ["roses"],
            "blockers": [],
            "next_steps": [],
            "evidence_ids": [],
        },
        {
            "project_name": "house",
            "goals": [],
            "blockers": [],
            "next_steps": [],
            "evidence_ids": [],
        },
    ]


# Patches


def test_a_patch_becomes_keys() -> None:
    """R10: what is nested in a patch becomes keys of their own; what is unknown is a preference."""
    patch = {
        "Name": " Ana ",
        "schedule": {"wake_up": "07:00", "hours": {"from": 9}},
        "relationships": {"Ben": "brother"},
        "preferences": {"drink": "tea", "ui": {"theme": "dark"}, "loud": False},
        "interests": ["chess", "Chess ", "tea"],
        "stable_facts": "lives in Oslo",
        "editor": "vim",
        "schedule.lunch": 12,
    }
    assert patch_items(patch) == [
        ("name", "Ana"),
        ("schedule.wake_up", "07:00"),
        ("schedule.hours", {"from": 9}),
        ("relationships.Ben", "brother"),
        ("drink", "tea"),
        ("ui", {"theme": "dark"}),
        ("loud", False),
        ("interests", ["chess", "tea"]),
        ("stable_facts", ["lives in Oslo"]),
        ("editor", "vim"),
        ("schedule.lunch", 12),
    ]


@every(
    ("patch", "named"),
    [
        (None, "None"),
        (["name"], "name"),
        ({}, "empty"),
        ({"preferences": {}}, "empty"),
        ({5: "x"}, "5"),
        ({"": "x"}, "''"),
        ({"x" * 300: "y"}, "300"),
        ({"name": None}, "name None"),
        ({"name": True}, "name True"),
        ({"name": math.nan}, "name nan"),
        ({"name": ["Ana"]}, "name"),
        ({"name": "\u200b"}, "name"),
        ({"environment": 5}, "environment 5"),
        ({"interests": 5}, "interests 5"),
        ({"interests": ["tea", None]}, r"interests\[1\]"),
        ({"stable_facts": [True]}, r"stable_facts\[0\]"),
        ({"do_not_assume": {"a": 1}}, "do_not_assume"),
        ({"schedule": "busy"}, "schedule 'busy'"),
        ({"schedule": {"x": None}}, "schedule.x None"),
        ({"schedule": {"x": math.inf}}, "schedule.x inf"),
        ({"schedule": {5: "x"}}, "schedule 5"),
        ({"schedule": {" ": "x"}}, "schedule"),
        ({"preferences": "tea"}, "preferences"),
        ({"preferences": ["tea", 5]}, r"preferences\[1\] 5"),
        ({"preferences": ["tea", " "]}, r"preferences\[1\]"),
        ({"preferences": []}, "empty"),
        ({"preferences": {"name": "Ana"}}, "'name'"),
        ({"preferences": {"schedule.x": "y"}}, "'schedule.x'"),
        ({"preferences": {"evidence_ids": "y"}}, "'evidence_ids'"),
        ({"preferences": {"drink": ""}}, "preferences.drink"),
        ({"preferences": {"drink": print}}, "preferences.drink"),
        ({"preferences": {"drink": {}}}, "preferences.drink"),
        ({"relationships": "Ben"}, "relationships"),
        ({"relationships": ["Ben"]}, r"relationships\[0\]"),
        ({"relationships": [{"name": "Ben"}]}, "relationships.Ben"),
        ({"relationships": [{"name": None, "relation": "x"}]}, "name None"),
        ({"last_updated": "now"}, "last_updated"),
        ({"Evidence_IDs": []}, "Evidence_IDs"),
        ({"drink": "tea", "DRINK": "milk"}, "'DRINK' twice"),
        ({"drink": "tea", "preferences": {"drink": "milk"}}, "'drink' twice"),
    ],
)
def test_a_wrong_patch_is_refused_by_name(patch: Any, named: str) -> None:
    """P1, R10: what no profile can hold is an error that names the field."""
    with pytest.raises(InvalidInput, match=named):
        patch_items(patch)


def entries(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from (
        (name, value)
        for name, value in data.items()
        if name not in profile.DERIVED and value not in (None, [], {})
    )


def is_preference(name: str) -> bool:
    return profile.field_of(name)[0] == "preferences" and "." not in words.normalise(name)


def is_free(name: str) -> bool:
    return words.normalise(name) not in (*profile.GROUPS, "preferences", *profile.DERIVED)


said = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20
).filter(words.is_visible)
names = said.filter(is_preference)
own = names.filter(is_free)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "name": said,
            "environment": said,
            "interests": st.lists(
                said, min_size=1, max_size=3, unique_by=lambda given: words.normalise(str(given))
            ),
            "preferences": st.dictionaries(
                own, said | st.booleans() | st.integers(-9, 9), min_size=1, max_size=3
            ),
            "schedule": st.dictionaries(names, said, min_size=1, max_size=3),
            "relationships": st.dictionaries(names, said, min_size=1, max_size=3).map(
                lambda people: [
                    {"name": name, "relation": relation} for name, relation in people.items()
                ]
            ),
        },
    ).filter(bool)
)
def test_what_is_patched_is_what_is_shown(patch: dict[str, Any]) -> None:
    """R10: a patch in the form of a profile gives that profile, and the profile is a patch that
    changes nothing."""
    try:
        items = patch_items(patch)
    except InvalidInput:  # two names that a reader cannot tell apart
        fields = (
            [entry["name"] for entry in patch.get("relationships", [])],
            patch.get("schedule"),
            patch.get("preferences"),
        )
        assert any(
            len({words.normalise(name) for name in field or ()}) < len(field or ())
            for field in fields
        )
        return
    found = projected(dict(items))
    again = projected(dict(patch_items(dict(entries(found.to_dict())))))
    assert dict(entries(found.to_dict())) == dict(entries(again.to_dict()))
    for name in ("name", "environment", "interests", "preferences"):
        if name in patch:
            assert getattr(found, name) == patch[name]


@given(json_values)
def test_any_patch_is_taken_or_refused(patch: Any) -> None:
    """P1: whatever is given as a patch is either keys with values or an error that says why."""
    try:
        items = patch_items(patch)
    except InvalidInput:
        return
    assert items
    assert len({words.normalise(key) for key, _ in items}) == len(items)


# What records say


@pytest.mark.parametrize(
    ("key", "value", "content"),
    [
        ("schedule.wake_up", "07:00", "schedule.wake_up: 07:00"),
        ("interests", ["chess", "tea"], "interests: chess; tea"),
        ("interests", [], "interests: nothing"),
        ("loud", False, "loud: false"),
        ("cups", 2, "cups: 2"),
        (
            "relationships.Ben",
            {"relation": "brother", "city": "Oslo"},
            "relationships.Ben: relation brother, city Oslo",
        ),
    ],
)
def test_a_record_reads_well(key: str, value: Any, content: str) -> None:
    """R10: the text of a profile record says its key and value, for people and for searches."""
    assert profile.content_of(key, value) == content


def test_a_projects_record_reads_well() -> None:
    """R10: the text of a project's record names what there is."""
    sections = {"goals": ["tomatoes", "roses"], "blockers": [], "next_steps": ["dig"]}
    assert (
        profile.content_of_project("garden", sections)
        == "Project garden. Goals: tomatoes; roses. Next steps: dig."
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Tea ", "tea", True),
        ("tea", "coffee", False),
        (1, 1.0, False),
        ([1], [1], True),
        ("1", 1, False),
        (True, 1, False),
    ],
)
def test_values_that_say_the_same(one: Any, other: Any, same: bool) -> None:
    """L9: texts are compared as a reader would, other values exactly."""
    assert profile.same_value(one, other) is same


def test_a_correction_of_a_list_is_its_lines() -> None:
    """V9, R10: with or without bullets, empty lines left out; of any other key the text
    is the value."""
    assert profile.read("interests", "- tea\n\n jazz \n") == ["tea", "jazz"]
    assert profile.read("drink", "- tea\n- jazz") == "- tea\n- jazz"
    assert profile.read("name", " Ana ") == "Ana"


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("name", "fact"),
        ("environment", "fact"),
        ("stable_facts", "fact"),
        ("relationships.Ben", "fact"),
        ("drink", "preference"),
    ],
)
def test_the_kind_follows_from_the_key(key: str, kind: str) -> None:
    """R5, R10: what a person is or has is a fact, what she likes a preference."""
    assert profile.kind_of(key) == kind


def test_people_may_be_given_as_the_profile_shows_them() -> None:
    """R10: somebody with a relation alone is told by it, others with all that is known."""
    people = [
        {"name": "Ben", "relation": "brother"},
        {"name": "Eva", "relation": "boss", "since": 2020},
    ]
    assert profile.patch_items({"relationships": people}) == [
        ("relationships.Ben", "brother"),
        ("relationships.Eva", {"relation": "boss", "since": 2020}),
    ]


def test_wide_dots_part_keys_and_plain_ones_leave_the_rest() -> None:
    """R10, V1: a key below a group is found by either dot, and keeps its own spelling behind a
    plain one."""
    assert profile.field_of("schedule．Monday") == ("schedule", "Monday")
    assert profile.field_of("schedule.①") == ("schedule", "①")


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
    """V9, R10: `schedule.interests` is one entry of the schedule, and its lines are
    not taken apart."""
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


# Growing


def test_preferences_as_texts() -> None:
    """R10: preferences may be a list of texts; each has a key made of its words, the same in every
    call, and never that of another value."""
    texts = ["Short answers", "tea", "Tea ", "no C++", "Name", "I like tea.", "I like tea!"]
    items = dict(patch_items({"preferences": texts}))
    assert list(items.values()) == ["Short answers", "tea", "no C++", "Name", "I like tea."]
    assert list(items)[:2] == ["short-answers", "tea"]
    assert all(profile.field_of(key)[0] == "preferences" for key in items)
    assert dict(patch_items({"preferences": texts[::-1]})).keys() == items.keys()
    for taken, patch in (({"tea": "green"}, {}), ({}, {"tea": "green"})):
        kept = dict(patch_items({"preferences": ["Tea"], **patch}, taken))
        assert kept.pop(profile.slug("Tea", hashed=True)) == "Tea"
        assert kept == patch
    assert patch_items({"preferences": ["Tea"]}, {"tea": "tea"}) == [("tea", "Tea")]


@every(
    ("key", "known", "given", "grown"),
    [
        ("interests", ["chess"], ["tea"], ["chess", "tea"]),
        ("interests", ["chess", "tea"], ["Chess ", "go"], ["chess", "tea", "go"]),
        ("stable_facts", "lives in Oslo", ["is tall"], ["lives in Oslo", "is tall"]),
        ("do_not_assume", ["a"], [], ["a"]),
        ("relationships.Ben", "brother", {"city": "Oslo"}, {"relation": "brother", "city": "Oslo"}),
        ("relationships.Ben", "brother", "colleague", "colleague"),
        ("relationships.Ben", {"city": "Oslo"}, {"city": "Rome"}, {"city": "Rome"}),
    ],
)
def test_growing(key: str, known: Any, given: Any, grown: Any) -> None:
    """R10: lists take in new lines, each once; a person's details are set one by one."""
    assert profile.grows(key)
    assert profile.grown(key, [known], given) == grown
    assert profile.grown(key, [grown], given) == grown
