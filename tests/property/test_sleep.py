"""Random conversations, whose nights fall anywhere: what is known follows from what was said, and
from nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from lamina.engines.claims import Turn
from lamina.engines.claims.extraction import extract
from lamina.engines.facts import Fact
from lamina.model.record import Draft, Layer, Record, State, Trust
from lamina.text import fence
from tests.cases import every
from tests.conftest import FULL, START, TESTER, verified

from .sleep_model import (
    ADDING,
    ALL,
    BATCHES,
    CONVERSATIONS,
    DAY,
    EVERY,
    NIGHTS,
    SINGLE,
    Oracle,
    Place,
    Room,
    Said,
    Spoken,
    about_one_thing,
    arrived,
    conversations,
    every_saying,
    in_any_order,
    room,
)

# A failure is shown as it was found; only a full run takes its time to make it small.
PHASES = (Phase.explicit, Phase.generate, *((Phase.shrink,) if FULL else ()))
SOME = settings(max_examples=300 if FULL else 15, phases=PHASES)


def place_of(fact: Fact) -> Place:
    return fact.user, fact.subject, fact.attribute


def check_holds(heard: Room, oracle: Oracle, at: datetime | None = None) -> None:
    """Each single value is the one that holds, now or at a time."""
    found: dict[Place, list[str]] = {}
    for fact in heard.op.facts(as_of=at):
        if fact.attribute in SINGLE and not fact.negated:
            found.setdefault(place_of(fact), []).append(fact.value)
    then = at or START + 100 * DAY
    assert found == {
        place: value for place in oracle.history if (value := oracle.value(place, then))
    }, at


def check_many(heard: Room, oracle: Oracle) -> None:
    found: dict[Place, set[tuple[str, str, bool]]] = {}
    for fact in heard.op.facts():
        if fact.attribute not in SINGLE:
            told = (fact.attribute, fact.value, fact.negated)
            found.setdefault((fact.user, fact.subject, "many"), set()).add(told)
    assert found == oracle.many


def check_rests_on_what_was_said(heard: Room) -> None:
    """Each fact quotes a turn that is there and says so; no turn has become the same fact twice."""
    known = heard.known()
    for record in known:
        start, end = record.metadata["span"]
        turns = [heard.op._scope.store.get(one) for one in record.evidence]
        assert turns
        for turn in turns:
            assert turn is not None
            assert (turn.layer, turn.user, turn.speaker) == (
                Layer.EPISODIC,
                record.user,
                record.metadata["subject"],
            )
            assert record.metadata["value"] in turn.content
        assert turns[0] is not None
        assert record.metadata["value"] in turns[0].content[start:end]
        assert record.metadata["source_episode"] in record.evidence
    taken = Counter(
        (record.evidence[0], *record.metadata["span"], record.content) for record in known
    )
    assert [claim for claim, number in taken.items() if number > 1] == []


def told(heard: Room) -> list[tuple[Any, ...]]:
    """All facts in all states, without ids and times of writing. How sure a rule is may hang on
    what was said before."""
    said = {
        record.id: (record.content, record.occurred_at)
        for record in heard.op.list(layers=list(Layer), states=None, limit=ALL)
    }
    return sorted(
        (
            repr((fact.user, fact.content, fact.state, fact.trust, fact.valid_from, fact.valid_to, fact.last_verified)),
            [said[one] for one in fact.evidence],
            sorted(said[one] for one in fact.supersedes),
            fact.superseded_by and said[fact.superseded_by],
            fact.metadata["voices"],
        )
        for fact in heard.known()
    )  # fmt: skip


@every("said", EVERY)
def test_the_sentences_are_understood(said: Said) -> None:
    """S1: every sentence of these conversations says what it should, so that what follows is about
    nights alone."""
    ((*found,),) = extract([Turn(said.text, "Ana", START)])
    assert [
        (claim.attribute, claim.value, claim.negated, claim.corrects) for claim in found
    ] == said.claims
    assert all(
        claim.subject == "Ana" and claim.value in said.text[claim.start : claim.end]
        for claim in found
    )


@SOME
@given(spoken=CONVERSATIONS | about_one_thing(), nights=NIGHTS, batch=BATCHES)
def test_it_does_not_matter_when_one_sleeps(
    spoken: list[Spoken], nights: list[bool], batch: int
) -> None:
    """S1, S2, Q10, P1: sleeping after any turns, in batches of any size, comes to the same facts as
    sleeping once at the end: the newest of single values, all of the others, what held before each
    change, each with what it was taken from."""
    oracle = Oracle(spoken)
    with room() as once, room(batch) as often:
        once.hear(spoken)
        often.hear(spoken, nights)
        for heard in (once, often):
            check_holds(heard, oracle)
            check_many(heard, oracle)
            for at in oracle.moments:
                check_holds(heard, oracle, at)
            check_rests_on_what_was_said(heard)
            assert verified(heard.op)
        assert told(often) == told(once)
        head = often.op.audit_head()["events"]
        often.sleep()
        assert often.op.audit_head()["events"] == head


@pytest.mark.parametrize("batch", [1, 500])
def test_a_correction_is_understood_across_batches(batch: int) -> None:
    """S2: where a session is cut to be read, which nobody chose, does not decide whether a slip is
    taken back."""
    slip = [
        Said("I live in Rome.", "lives_in", "Rome"),
        Said("Sorry, I meant Milan.", "lives_in", "Milan"),
    ]
    with room(batch) as heard:
        heard.hear([Spoken(said, None, "Ana", START) for said in slip])
        assert [fact.value for fact in heard.op.facts("Ana", "lives_in")] == ["Milan"]


SLIP = "I live in Porto, sorry, I meant Lisbon."
# What once went wrong: statements that arrive between others, and before what takes them back.
CORRECTED = arrived(
    *((day, "I live in Porto.") for day in range(6)), (7, SLIP), (6, "I live in Porto.")
)
CORRECTED_LATE = arrived(
    (1, "I no longer live in Lisbon."), (0, "I live in Lisbon, sorry, I meant Braga.")
)
DENIED_BEFORE = arrived(
    (0, "I live in Porto."), (2, "I no longer live in Lisbon."), (1, "I live in Lisbon.")
)
SAID_AGAIN = arrived(
    (0, "I'm a nurse."), (2, "I'm a nurse."), (4, "I'm a nurse."), (1, "I'm a teacher.")
)
SAID_AGAIN_ONCE = arrived(
    (0, "I live in Porto."),
    (6, "I live in Lisbon."),
    (3, "I live in Porto."),
    (1, "I moved to Braga."),
)
LATE = in_any_order(conversations(every_saying(SINGLE)) | about_one_thing())
AWAKE, ASLEEP = [False] * 12, [True] * 12


@SOME
@given(spoken=LATE, nights=NIGHTS)
@example(spoken=CORRECTED, nights=AWAKE)
@example(spoken=CORRECTED_LATE, nights=ASLEEP)
@example(spoken=DENIED_BEFORE, nights=ASLEEP)
@example(spoken=SAID_AGAIN, nights=AWAKE)
def test_the_newest_value_holds_whenever_it_arrives(
    spoken: list[Spoken], nights: list[bool]
) -> None:
    """S2: turns that arrive late, in any order, do not replace what was said after them."""
    with room() as heard:
        heard.hear(spoken, nights)
        check_holds(heard, Oracle(spoken))
        assert verified(heard.op)


@SOME
@given(spoken=LATE, nights=NIGHTS)
@example(spoken=CORRECTED, nights=ASLEEP)
@example(spoken=CORRECTED_LATE, nights=AWAKE)
def test_only_one_value_held_at_a_time(spoken: list[Spoken], nights: list[bool]) -> None:
    """S2, Q10: turns that arrive late, in any order, never leave two values for one time where
    there can be one."""
    with room() as heard:
        heard.hear(spoken, nights)
        for at in [one.at for one in spoken]:
            found = [
                fact
                for fact in heard.op.facts(as_of=at)
                if fact.attribute in SINGLE and not fact.negated
            ]
            held = Counter(map(place_of, found))
            assert set(held.values()) <= {1}, (at, held)


@SOME
@given(
    spoken=in_any_order(
        conversations(every_saying(SINGLE, corrections=False)) | about_one_thing(corrections=False)
    ),
    nights=NIGHTS,
)
@example(spoken=SAID_AGAIN, nights=ASLEEP)
@example(spoken=SAID_AGAIN_ONCE, nights=AWAKE)
@example(spoken=DENIED_BEFORE, nights=AWAKE)
def test_what_held_is_known_whenever_it_arrives(spoken: list[Spoken], nights: list[bool]) -> None:
    """S2, Q10: turns that arrive late, in any order, tell what held at each time: one value, and
    the right one."""
    oracle = Oracle(spoken)
    with room() as heard:
        heard.hear(spoken, nights)
        for at in oracle.moments:
            check_holds(heard, oracle, at)


@SOME
@given(spoken=in_any_order(conversations(every_saying(ADDING))), nights=NIGHTS)
def test_what_holds_beside_each_other_has_no_order(
    spoken: list[Spoken], nights: list[bool]
) -> None:
    """S2: where many values can hold, what adds one and what ends one come to the same
    in any order."""
    with room() as heard:
        heard.hear(spoken, nights)
        check_many(heard, Oracle(spoken))


@SOME
@given(spoken=CONVERSATIONS, short=NIGHTS, nights=NIGHTS, promoted=NIGHTS)
def test_what_is_promoted_is_heard_once(
    spoken: list[Spoken], short: list[bool], nights: list[bool], promoted: list[bool]
) -> None:
    """S1, L2: turns that come through short-term memory, promoted before or after a night, are
    heard, and only once."""
    with room() as heard:
        for number, one in enumerate(spoken):
            layer = "short_term" if short[number] else "episodic"
            given: dict[str, Any] = {
                "kind": "crumb",
                "layer": layer,
                "importance": 0.9,
                "at": one.at,
                "speaker": one.speaker,
            }
            heard.handles[one.user].remember(one.said.text, **given)
            if promoted[number]:
                for handle in heard.handles.values():
                    handle.run_once()
            if nights[number]:
                heard.sleep()
        heard.op.run_once()
        heard.sleep()
        check_rests_on_what_was_said(heard)
        texts = {turn.id: turn.content for turn in heard.op.list(layers=["episodic"], limit=ALL)}
        quoted = {
            (texts[one], fact.metadata["value"]) for fact in heard.known() for one in fact.evidence
        }
        expected = {
            (one.said.text, value)
            for one in spoken
            if not one.said.denied
            for _, value, _, _ in one.said.claims
        }
        assert quoted >= expected
        head = heard.op.audit_head()["events"]
        heard.sleep()
        assert heard.op.audit_head()["events"] == head


def test_a_clock_that_was_set_back_hides_no_turn() -> None:
    """S1: a turn that is promoted while the clock is behind the last promotion is heard."""
    with room() as heard:
        for text in ("I live in Porto.", "I work at Acme."):
            heard.op.remember(text, layer="short_term", importance=0.9, speaker="Ana")
            heard.hear([Spoken(EVERY[0], None, "Ben", START)])
            heard.op.run_once()
            heard.sleep()
            heard.desk.clock.jump(-DAY)
        assert {fact.value for fact in heard.op.facts("Ana")} == {"Porto", "Acme"}


# What must not become knowledge

INSIDE = st.lists(st.sampled_from(EVERY), min_size=1, max_size=4).map(
    lambda some: [said.text for said in some]
)
FENCES: dict[str, Callable[[list[str]], str]] = {
    "lines": lambda lines: fence.fenced("\n".join(lines)),
    "items": lambda lines: fence.fenced(
        "\n".join(f"[1] operator, said by Ana\n| {line}" for line in lines)
    ),
    "cut off": lambda lines: "\n".join([fence.OPEN, *(f"| {line}" for line in lines)]),
    "twice": lambda lines: fence.fenced(fence.fenced("\n".join(lines))),
}


def captured(heard: Room, content: str, at: datetime, speaker: str = "Ana") -> Record:
    """A turn that came by other means than the verbs, which take our fence out."""
    draft = Draft(
        content,
        Trust.OPERATOR,
        layer=Layer.EPISODIC,
        speaker=speaker,
        session="captured",
        occurred_at=at,
    )
    with heard.op._scope.store.change(TESTER, "capture", heard.desk.clock()) as transaction:
        return transaction.insert([draft])[0]


@SOME
@given(
    inside=INSIDE,
    shape=st.sampled_from(sorted(FENCES)),
    around=st.sampled_from(EVERY),
    before=st.booleans(),
)
def test_nothing_is_taken_from_our_fence(
    inside: list[str], shape: str, around: Said, before: bool
) -> None:
    """Q9, S1: what stands in our fence says nothing, however it came into a turn; what stands
    around it does."""
    recalled = FENCES[shape](inside)
    text = f"{around.text}\n{recalled}" if before else f"{recalled}\n{around.text}"
    with room() as heard, room() as plain:
        captured(heard, text, START)
        captured(plain, around.text, START)
        heard.sleep()
        plain.sleep()
        assert [record.content for record in heard.records()] == [
            record.content for record in plain.records()
        ]
        for record in heard.known():
            start, end = record.metadata["span"]
            assert all(end <= opening or start >= closing for opening, closing in fence.spans(text))


def test_what_was_recalled_repeats_nothing() -> None:
    """Q9, S2: a turn that holds the context which memory gave neither repeats nor refreshes
    what is known."""
    with room() as heard:
        heard.hear(
            [
                Spoken(said, None, "Ana", START)
                for said in every_saying(["likes", "lives_in"], corrections=False)
            ]
        )
        context = str(heard.op.memory_context("where does Ana live and what does she like"))
        assert fence.OPEN in context
        before = heard.records()
        captured(heard, f"{context}\nHello.", START + 9 * DAY)
        captured(heard, context, START + 9 * DAY, "Ben")
        heard.sleep()
        assert heard.records() == before


@SOME
@given(spoken=CONVERSATIONS, outside=conversations(EVERY, 6), nights=NIGHTS)
def test_what_comes_from_outside_only_proposes(
    spoken: list[Spoken], outside: list[Spoken], nights: list[bool]
) -> None:
    """V8, S2: whatever external turns claim, and whenever it is slept over, every fact, taste and
    procedure stays exactly as it was; what is new waits for a person, as external."""
    with room() as heard:
        heard.hear(spoken)
        before = heard.records()
        later = [one._replace(at=one.at + 20 * DAY) for one in outside]
        heard.hear(later, nights, source="web")
        found = {record.id: record for record in heard.records()}
        assert [found.pop(record.id) for record in before] == before
        assert {(record.state, record.trust) for record in found.values()} <= {
            (State.CONSTRAINED, Trust.EXTERNAL)
        }
        assert all(record.supersedes == () for record in found.values())
        waiting = Counter((record.user, record.content) for record in found.values())
        assert set(waiting.values()) <= {1}
        assert verified(heard.op)


@SOME
@given(
    outside=conversations(EVERY, 6),
    spoken=CONVERSATIONS,
    nights=NIGHTS,
    later=st.sampled_from([0, 40]),
)
def test_what_was_rejected_does_not_come_back(
    outside: list[Spoken], spoken: list[Spoken], nights: list[bool], later: int
) -> None:
    """V6: facts and tastes that a person has rejected are neither known nor proposed again, whoever
    says so."""
    with room() as heard:
        heard.hear(outside, source="web")
        heard.hear([one._replace(at=one.at + 20 * DAY) for one in spoken[::2]])
        for proposal in heard.records(State.CONSTRAINED):
            heard.op.reject(proposal.id, "not so")
        before = {record.id for record in heard.records()}
        heard.hear([one._replace(at=one.at + later * DAY) for one in (*outside, *spoken)], nights)
        for record in heard.records(State.ACTIVE, State.CONSTRAINED):
            assert record.id in before or heard.op._scope.store.rejections.of(record) is None, (
                record.content
            )


def test_what_was_rejected_is_not_told_as_the_past() -> None:
    """V6, Q10: a rejected value is not what was true at some time either, although somebody says so
    of an earlier day."""
    oslo, lisbon = (
        Said("I live in Oslo.", "lives_in", "Oslo"),
        Said("I live in Lisbon.", "lives_in", "Lisbon"),
    )
    with room() as heard:
        heard.hear([Spoken(lisbon, None, "Ana", START + 20 * DAY)])
        heard.hear([Spoken(oslo, None, "Ana", START + 21 * DAY)], source="web")
        for proposal in heard.records(State.CONSTRAINED):
            heard.op.reject(proposal.id, "never")
        heard.hear([Spoken(oslo, None, "Ana", START)])
        assert heard.op.facts("Ana", "lives_in", as_of=START + DAY) == []


def test_a_rejected_workflow_does_not_come_back() -> None:
    """V6, S3: what was done well three times is proposed once; rejected, it stays away however
    often it is done again."""
    proposed = []
    with room() as heard:
        for times in (3, 3, 6):
            for _ in range(times):
                heard.desk.clock.jump(DAY)
                with heard.op.run("weekly report") as run:
                    run.note("Copy the totals into the report")
                    run.note("Send the report to Tom")
            heard.sleep()
            waiting = heard.records(State.CONSTRAINED)
            proposed.append([record.layer for record in waiting])
            for record in waiting:
                heard.op.reject(record.id, "we stopped that")
    assert proposed == [[Layer.PROCEDURAL], [], []]
