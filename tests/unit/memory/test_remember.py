"""Whose words a memory has."""

from __future__ import annotations

from typing import Any

from lamina import Memory, Operator
from lamina.search.context.builder import section_of
from lamina.search.context.item import Section

MANAGER = "My manager is Sandra Hoff."


def learned(op: Operator, handle: Memory, **given: Any) -> list[tuple[str, str]]:
    """Remember a statement in the first person, and list who was found to have which manager."""
    handle.remember(MANAGER, kind="fact", **given)
    op.sleep()
    return [(fact.subject, fact.value) for fact in op.facts(attribute="has:manager")]


def test_an_operator_who_says_i_is_the_user(op: Operator) -> None:
    """S7, R1: the speaker is stored with the memory, and is the one whom hooks name, so that facts
    from both are about one person."""
    assert learned(op, op) == [("user", "Sandra Hoff")]
    assert [one.speaker for one in op.list(kinds=["fact"], layers=["short_term"])] == ["user"]
    turn = {"speaker": "user", "text": "My manager is Ola Lund now."}
    op.remember_conversation([turn], session="monday")
    op.sleep()
    assert [fact.value for fact in op.facts("user", "has:manager")] == ["Ola Lund"]


def test_a_given_speaker_stays(op: Operator) -> None:
    """R1: what the caller says about a memory is not changed."""
    assert learned(op, op, speaker="Ana") == [("Ana", "Sandra Hoff")]


def test_the_i_of_an_agent_or_of_a_mail_is_nobody(op: Operator, mem: Memory) -> None:
    """V8, S7: an agent may mean itself, and a mail somebody else: neither becomes a fact."""
    assert learned(op, mem) == []
    assert learned(op, op, source="mail") == []


def test_what_speaks_of_others_has_no_speaker(op: Operator) -> None:
    """H5: a public export leaves out what people said, and nothing else."""
    assert op.remember("The build takes 20 minutes").speaker is None


def test_an_explicit_memory_in_the_first_person_stands_with_what_is_known(op: Operator) -> None:
    """C1: explicit memories that wait to be promoted are current; turns are what was said."""
    turn = op.remember(MANAGER, speaker="user", session="monday")
    assert section_of(op.remember(MANAGER)) is Section.KNOWN
    assert section_of(turn) is Section.SAID
