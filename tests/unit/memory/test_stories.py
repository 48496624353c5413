"""Short stories in which something changes (S2, S7, V6, V9, Q10): what is known afterwards, what
held before, and in which order it came.

Turns and short-term memories come from an agent, semantic memories and decisions from a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from lamina import Conflict, Memory, Operator, Refused
from lamina.engines.claims import values
from lamina.engines.facts import Fact, fact_of, is_fact, same_value
from lamina.model.clock import moment
from lamina.search.context.item import Section
from tests.cases import golden
from tests.conftest import Desk, Ticking, verified

STORIES: list[dict[str, Any]] = golden("stories.jsonl")
# Written by another hand, which read no rule before it had written the first sixty. What was not
# looked at before it was counted: 32 of 60 of these ended well at first, then 20 of thirty more,
# then 17 of twenty. In the last 25, nothing changes: what is told later holds beside the rest.
MORE: list[dict[str, Any]] = golden("stories-2.jsonl")
# By a third hand: messages as people type them, with requests around what they tell. At first
# reading 8 of 40 ended well. The first half was read afterwards, the second half only counted.
TYPED: list[dict[str, Any]] = golden("stories-3.jsonl")
TYPED_WELL = 10
# Stories that do not end as they should, and why not.
KNOWN = {
    "messy, new gf": "which word of a note in lower case is a name is not known",
    "pregnancy, then born": "that a birth ends a pregnancy is nowhere said",
    "plan carried out": "'the kiln' lacks a word of the plan to buy 'a used kiln'",
    "teacher changes school": "what somebody does, and is doing now, are two slots",
    "number corrected": "'it' is not known from the turn before",
    "hiring frozen": "that to hire nobody is not to hire two people is nowhere said",
    "welder changes yard": "that who has started elsewhere welds there no longer is nowhere said",
}
PAST = ("did", "visited")  # what was done stays true, whatever changed by it


def told(step: Mapping[str, Any], mem: Memory, op: Operator, about: str) -> None:
    """Do one step of a story."""
    if "say" in step:
        turn = {"content": step["say"], "speaker": step["by"], "at": step["at"]}
        mem.remember_conversation([turn], session=step["at"][:10])
    elif "remember" in step:
        handle: Memory = op if step["layer"] == "semantic" else mem
        contract = {"origin": "user", "topic_tags": []} if handle is op else None
        given = {name: step[name] for name in ("kind", "layer", "at")}
        with suppress(Refused):  # of a rejected value
            handle.remember(step["remember"], speaker=step.get("by"), metadata=contract, **given)
    elif "sleep" in step:
        op.sleep()
    else:
        ((verb, value),) = [(name, step[name]) for name in step if name != "to"]
        (fact,) = [one for one in op.facts(about) if one.value == value]
        if verb == "correct":
            op.correct(fact.record, step["to"], "it was wrong")
        else:
            getattr(op, verb)(fact.record, "it is wrong")


def problems(story: Mapping[str, Any], desk: Desk) -> Iterator[str]:
    """Tell a story, and list what is known otherwise than it says."""
    mem, op, about = desk.agent(), desk.operator(), story["about"]
    for step in story["steps"]:
        if "at" in step:
            desk.clock.set(max(desk.clock.now, moment(step["at"])))
        told(step, mem, op, about)
    op.sleep()
    if story.get("confirmed"):  # a person agrees that what a person has told holds no longer
        confirm_all(op)
    for attribute, wanted in story.get("now", {}).items():
        yield from differing(attribute, op.facts(about, attribute), wanted, "now")
    for at, attribute, wanted in story.get("then", ()):
        yield from differing(attribute, op.facts(about, attribute, at), wanted, at)
    for attribute, wanted in story.get("timeline", {}).items():
        known = [one for one in op.timeline(about) if one.attribute == attribute]
        held = [one for one in known if one.valid_to is not None or one.state == "active"]
        yield from differing(attribute, held, wanted, "timeline", ordered=True)
    yield from misknown(op, story)
    if "profile" in story:
        yield from differing_profile(op, story["profile"])
    if not verified(op):
        yield "the trail does not hold"


def misknown(op: Operator, story: Mapping[str, Any]) -> Iterator[str]:
    """List what should hold and does not, and what is stale and holds, whatever its attribute."""
    for value in story.get("holds", ()):
        if not having(op.facts(story["about"]), value):
            yield f"{value} is not known: {shown(op.facts(story['about']))}"
    for at, value in story.get("held", ()):
        if not having(op.facts(story["about"], as_of=at), value):
            yield f"{value} is not known at {at}"
    for value in story.get("gone", ()):
        if stale := having(op.facts(), value):
            yield f"{value} is stale: {shown(stale)}"
        if stale := having(in_context(op, value), value):
            yield f"{value} is in the context: {shown(stale)}"
    if "gone" in story:
        confirm_all(op)
        told = str(op.user_profile().preferences)
        yield from (
            f"{value} is in the profile: {told}" for value in story["gone"] if value in told
        )


def confirm_all(op: Operator) -> None:
    """Confirm what sleep proposes, except what the facts have overtaken."""
    for one in op.proposals():
        with suppress(Conflict):
            op.confirm(one.record.id)


def in_context(op: Operator, goal: str) -> list[Fact]:
    """List the facts that a context says to hold."""
    told = [one for one in op.context(goal).reasons if one.section is not Section.SAID]
    records = [record for one in told for record in (one.record, *one.others)]
    return [fact_of(record) for record in records if is_fact(record)]


def having(facts: list[Fact], value: str) -> list[Fact]:
    """Choose the facts that say a value, with all of its words."""
    wanted = values.stems(value)
    return [
        one
        for one in facts
        if not one.negated and one.attribute not in PAST
        if wanted <= values.stems(one.value) or value in one.value  # "Thursday" of "Thursdays"
    ]


def shown(facts: list[Fact]) -> str:
    return "; ".join(f"{one.subject} {one.attribute} {one.value}" for one in facts)


def differing(
    attribute: str, facts: list[Fact], wanted: list[str], when: str, *, ordered: bool = False
) -> Iterator[str]:
    found = [one.value for one in facts if not one.negated]
    if not ordered:
        found, wanted = sorted(found), sorted(wanted)
    is_same = len(found) == len(wanted) and all(
        same_value(attribute, *both) for both in zip(found, wanted, strict=True)
    )
    if not is_same:
        yield f"{attribute} {when}: {found}, not {wanted}"


def differing_profile(op: Operator, wanted: Mapping[str, list[str]]) -> Iterator[str]:
    """Confirm what sleep proposes, and compare the profile."""
    confirm_all(op)
    profile = op.user_profile()
    found = {key: sorted(value) for key, value in profile.preferences.items()}
    if profile.conflicts or found != {key: sorted(value) for key, value in wanted.items()}:
        yield f"profile: {found}, not {wanted}; {profile.conflicts}"


@pytest.mark.parametrize("held_out", [False, True])
def test_stories_end_as_they_should(held_out: bool) -> None:
    """S2, S7, R10, V6, V9, Q10: facts, `as_of`, timeline and profile say what a reader of the story would."""
    failed = failing(story for story in STORIES if story["held_out"] is held_out)
    assert not failed, "\n".join(map(str, failed.items()))


def failing(stories: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Tell stories, each in a home of its own, and list what is wrong with which."""
    failed = {}
    for story in stories:
        with TemporaryDirectory() as home, Desk(Path(home), Ticking()) as desk:
            try:
                found = list(problems(story, desk))
            except Exception as error:  # noqa: BLE001 - all are listed
                found = [repr(error)]
        if found:
            failed[story["id"]] = found
    return failed


def test_stories_of_another_hand_end_as_they_should() -> None:
    """S2, Q10, V6: facts, `as_of`, context and profile have one right answer, and none that is stale.

    A story that ends well is no longer listed as known not to.
    """
    failed = failing(MORE)
    assert failed.keys() == KNOWN.keys(), "\n".join(map(str, failed.items()))


def test_stories_in_typed_messages_end_no_worse() -> None:
    """S2: most still miss something, often a new value that is told in passing."""
    failed = failing(TYPED)
    assert len(TYPED) - len(failed) >= TYPED_WELL, "\n".join(map(str, failed.items()))


def test_there_are_enough_stories() -> None:
    """S2: sixty. Half were not looked at until the rules stood; then the four of them that were
    not read were looked at once."""
    names = [story["id"] for story in STORIES]
    assert len(set(names)) == len(names) == 60
    assert sum(story["held_out"] for story in STORIES) == 30
    assert len({story["id"] for story in MORE}) == len(MORE) == 135
