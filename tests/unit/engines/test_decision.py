"""The table that decides what a claim does (S2, S7, V8)."""

from __future__ import annotations

from datetime import datetime
from itertools import product

from lamina.engines import decision, facts
from lamina.engines.claims import Claim
from lamina.engines.decision import TABLE, Effect, Relation, Standing, Time
from lamina.model.record import State, Trust
from tests.unit.engines.claimed import DAY, START, claim
from tests.unit.engines.test_facts import Notebook, source

ALL = list(product(Relation, Standing, Time))


def on(day: float) -> datetime:
    return START + day * DAY


def over(value: str, begin: float, end: float, attribute: str = "employer") -> Claim:
    return claim(attribute, value, begin, until=on(end))


def test_every_case_is_decided_and_every_row_decides_one() -> None:
    """S2: no combination is left out, and no row is there in vain."""
    deciding = {decision.row(*case) for case in ALL}
    assert deciding == set(TABLE)


def test_external_text_decides_nothing() -> None:
    """V8: whatever it says of whatever time, it is known, or a person decides."""
    effects = {decision.row(*case).effect for case in ALL if case[1] is Standing.EXTERNAL}
    assert effects == {Effect.KNOWN, Effect.PROPOSE}


def test_who_is_trusted_less_ends_nothing() -> None:
    """V8: it repeats, it is known, or a person decides."""
    effects = {decision.row(*case).effect for case in ALL if case[1] is Standing.LESS}
    assert effects == {Effect.KNOWN, Effect.REPEAT, Effect.PROPOSE}


def test_a_state_that_is_over_is_no_fact_of_today() -> None:
    """S2, Q10: it held from its beginning to its end, and is in the history."""
    book = Notebook()
    assert book.hear(over("Acme", 1, 5)) is Effect.PAST
    assert book.values == []
    assert [book.held(day) for day in (0, 1, 4, 5)] == [[], ["Acme"], ["Acme"], []]
    assert book.hear(over("Acme", 2, 4)) is Effect.KNOWN


def test_used_to_ends_what_is_known() -> None:
    """S2: "I used to work at Acme" after "I work at Acme" ends it; said before, it does not."""
    book = Notebook()
    book.hear(claim("employer", "Acme", 1))
    assert book.hear(over("Acme", 9, 9)) is Effect.END
    assert (book.values, book.held(8), book.held(9)) == ([], ["Acme"], [])
    book = Notebook()
    book.hear(claim("employer", "Acme", 9))
    assert book.hear(over("Acme", 1, 3)) is Effect.PAST
    assert (book.values, book.held(2), book.held(5)) == (["Acme"], ["Acme"], [])


def test_a_state_of_unknown_beginning_held_some_time_before() -> None:
    """S2, Q10: it is in the history, and at no known time."""
    book = Notebook()
    assert book.hear(over("Acme", 9, 9)) is Effect.PAST
    (fact,) = book.facts
    assert (fact.state, fact.valid_from, fact.valid_to) == (State.SUPERSEDED, on(9), on(9))
    assert not any(book.held(day) for day in range(20))
    assert book.hear(over("Acme", 12, 12)) is Effect.KNOWN


def test_what_is_over_takes_no_time_from_what_is_known() -> None:
    """S2, Q10: where one value can hold, it fills the time that nothing else has."""
    book = Notebook()
    book.hear(claim("employer", "Globex", 4))
    assert book.hear(over("Acme", 1, 9)) is Effect.PAST
    assert [book.held(day) for day in (1, 3, 4, 9)] == [["Acme"], ["Acme"], ["Globex"], ["Globex"]]
    assert book.values == ["Globex"]


def test_only_who_is_trusted_enough_ends_by_used_to() -> None:
    """V8: an agent's "used to" does not end what an operator said."""
    book = Notebook()
    book.hear(claim("employer", "Acme", 1), trust=Trust.OPERATOR)
    assert book.hear(over("Acme", 9, 9)) is Effect.PROPOSE
    assert book.values == ["Acme"]


def test_history_that_ends_nothing_needs_no_more_trust() -> None:
    """V8, Q10: an agent may tell what was so before what an operator said began."""
    book = Notebook()
    book.hear(claim("lives_in", "Hamburg", 5), trust=Trust.OPERATOR)
    assert book.hear(claim("lives_in", "Berlin", 2)) is Effect.PAST
    assert (book.values, book.held(3)) == (["Hamburg"], ["Berlin"])


def test_a_retraction_takes_back_for_good() -> None:
    """S2: "I misspoke, I have no sister" leaves no time at which there was one, and makes none."""
    book = Notebook()
    book.hear(claim("sibling", "Mia", 1))
    assert book.hear(claim("sibling", "", 2, negated=True, corrects=True)) is Effect.CHANGE
    assert not any(book.held(day) for day in range(5))
    assert not [fact for fact in book.known if not fact.negated]


def test_one_of_two_ends_alone() -> None:
    """S2: "the dog died" leaves the cat."""
    book = Notebook()
    for pet in ("dog", "cat"):
        book.hear(claim("pet", pet, 1))
    book.hear(claim("pet", "dog", 2, negated=True))
    assert book.held(2) == ["cat"]


def test_a_correction_of_one_of_many_takes_back_the_one_that_it_names() -> None:
    """S2: not the one that was said last; and what is known already is repeated, not doubled."""
    book = Notebook()
    for day, drink in enumerate(("tea", "coffee", "mate"), 1):
        book.hear(claim("likes", drink, day))
    assert book.hear(claim("likes", "cocoa", 4, replaces="tea", corrects=True)) is Effect.CHANGE
    assert sorted(book.values) == ["cocoa", "coffee", "mate"]
    assert book.hear(claim("likes", "mate", 5, replaces="coffee", corrects=True)) is Effect.REPEAT
    assert sorted(book.values) == ["cocoa", "mate"]


def test_a_state_of_a_time_to_come_is_a_plan() -> None:
    """S2: who will live in Berlin in June lives where she lives, and plans it."""
    said = claim("lives_in", "Berlin", 30)
    plan = facts.planned(said, source(at=START))
    assert (plan.attribute, plan.value) == ("plan", "lives in Berlin")
    assert facts.planned(said, source(at=said.at)) == said
    for attribute in ("plan", "goal", "birthday"):
        later = claim(attribute, "x", 30)
        assert facts.planned(later, source(at=START)) == later
