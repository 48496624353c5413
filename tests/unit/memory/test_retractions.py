"""Retractions, denials and decisions, from what was said to what is known (S2, S7)."""

from __future__ import annotations

from datetime import timedelta

from lamina import Memory, Operator
from lamina.model.record import State
from tests.cases import every
from tests.conftest import START, verified

DAY = timedelta(days=1)


def told(mem: Memory, op: Operator, *turns: str) -> None:
    """Say one turn a day, and sleep after each."""
    for day, text in enumerate(turns):
        turn = {"text": text, "speaker": "Ana", "at": START + day * DAY}
        mem.remember_conversation([turn], session=f"day {day}")
        op.sleep()


def known(op: Operator, attribute: str) -> list[str]:
    return sorted(fact.value for fact in op.facts("Ana", attribute) if not fact.negated)


@every(
    ("turns", "attribute", "left"),
    [
        (("My sister is Mia.", "I misspoke, I have no sister."), "sibling", []),
        (("I have a dog called Rex.", "I don't have a dog any more."), "pet", []),
        (("Our cache is Redis.", "Scrap that, we are not using Redis."), "has:cache", []),
        (
            ("We deploy with Helm.", "We're not deploying with Helm any more."),
            "does:deploy with",
            [],
        ),
        (("My sisters are Mia and Zoe.", "I have no sister."), "sibling", ["Mia", "Zoe"]),
        (("My brother is Tom.", "Mia is not my sister."), "sibling", ["Tom"]),
        (("I have a dog called Rex.", "I have no pets."), "pet", []),
        (("I have no sister.",), "sibling", []),
        (("I live in Porto.", "Scrap that."), "lives_in", ["Porto"]),  # that is of another session
    ],
)
def test_what_is_denied_holds_no_longer(
    mem: Memory, op: Operator, turns: tuple[str, ...], attribute: str, left: list[str]
) -> None:
    """S2: in another session, too; where it is not clear who is meant, nothing ends; and a denial
    never makes a positive fact."""
    told(mem, op, *turns)
    assert known(op, attribute) == left
    assert verified(op)


def test_what_was_taken_back_never_held(mem: Memory, op: Operator) -> None:
    """S2, Q10: a retraction reaches back to the beginning; a denial ends what held until then."""
    told(mem, op, "My sister is Mia.", "I misspoke, I have no sister.")
    then = op.facts("Ana", "sibling", as_of=START + DAY / 2)
    assert [one.value for one in then if not one.negated] == []
    told(mem, op, "I have a cat called Tom.", "I don't have a cat any more.")
    assert [one.value for one in op.facts("Ana", "pet", as_of=START + DAY / 2)] == ["Tom"]


def test_scrap_that_takes_back_the_turn_before(mem: Memory, op: Operator) -> None:
    """S2: of the same speaker in the same session."""
    turns = [{"text": text, "speaker": "Ana"} for text in ("I live in Porto.", "Scrap that.")]
    mem.remember_conversation(turns, session="one")
    op.sleep()
    assert known(op, "lives_in") == []


def test_a_decision_keeps_its_reason(mem: Memory, op: Operator) -> None:
    """S1, S7: in the fact, in its sentence, and over a confirmation."""
    told(mem, op, "We decided to use Postgres because the licence is simple.")
    (fact,) = op.facts("Ana", "decision")
    assert (fact.value, fact.reason) == ("use Postgres", "the licence is simple")
    assert fact.to_dict()["reason"] == "the licence is simple"
    record = op.get(fact.record)
    assert record.kind == "decision"
    assert record.content == "Ana decided: use Postgres, because the licence is simple"
    assert op.get(fact.record).state is State.ACTIVE


def test_an_explicit_decision_is_the_fact(op: Operator) -> None:
    """S7: its own words stay, and it has its reason."""
    made = op.remember(
        "We decided to use Postgres because the licence is simple.",
        kind="decision",
        layer="semantic",
        speaker="Ana",
        metadata={"origin": "notes", "topic_tags": []},
    )
    assert made.metadata["reason"] == "the licence is simple"
    assert made.content.startswith("We decided")
    assert [one.record for one in op.facts("Ana", "decision")] == [made.id]
