"""Facts over time (S2): what a claim does to what is known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines import facts
from lamina.engines.claims import Claim, attributes
from lamina.engines.facts import Effect, Fact, Source
from lamina.model import State, Trust

DAY = timedelta(days=1)
START = datetime(2026, 5, 1, tzinfo=UTC)


def claim(attribute: str, value: str, day: int = 0, **more: Any) -> Claim:
    return Claim("Ana", attribute, value, 0, 5, START + day * DAY, 0.8, "test", **more)


def source(number: int = 0, voice: str = "ana", trust: Trust = Trust.AGENT, at: datetime = START + 100 * DAY) -> Source:
    return Source(f"turn{number}", None, None, at, voice, trust, 0.5)


class Notebook:
    """Facts of one place, as they follow from claims."""

    def __init__(self) -> None:
        self.known: list[Fact] = []
        self.past: list[Fact] = []
        self.heard = 0

    def hear(self, said: Claim, voice: str = "ana", trust: Trust = Trust.AGENT) -> Effect:
        self.heard += 1
        come_from = source(self.heard, voice, trust, said.at)
        step = facts.decide(self.known, said, come_from)
        if step.effect is Effect.REPEAT:
            assert step.fact is not None
            self.known[self.known.index(step.fact)] = facts.repeated(step.fact, said, come_from)
        elif step.effect in (Effect.NEW, Effect.CHANGE):
            self.past += [fact for fact in self.known if fact in step.ends]
            self.known = [fact for fact in self.known if fact not in step.ends]
            self.known.append(facts.made(f"fact{self.heard}", said, come_from, step))
        return step.effect

    @property
    def values(self) -> list[str]:
        return [f"{'not ' if fact.negated else ''}{fact.value}" for fact in self.known]


def test_one_value_replaces_another() -> None:
    """S2: who moves no longer lives where she lived, and may move back."""
    book = Notebook()
    effects = [book.hear(claim("lives_in", city, day)) for day, city in enumerate(("Porto", "Lisbon", "Porto"))]
    assert effects == [Effect.NEW, Effect.CHANGE, Effect.CHANGE]
    assert book.values == ["Porto"]
    assert book.known[0].valid_from == START + 2 * DAY


def test_many_values_hold_beside_each_other() -> None:
    """S2: one can like tea and coffee; switching ends only what is named."""
    book = Notebook()
    book.hear(claim("likes", "tea"))
    book.hear(claim("likes", "coffee", 1))
    assert book.values == ["tea", "coffee"]
    assert book.hear(claim("likes", "mate", 2, replaces="coffee")) is Effect.CHANGE
    assert book.values == ["tea", "mate"]


@pytest.mark.parametrize(
    ("one", "other", "attribute", "same"),
    [
        ("Lisbon", "lisbon", "lives_in", True),
        ("Lisbon", "Lisbon, Portugal", "lives_in", True),
        ("New York", "York", "lives_in", False),
        ("a nurse", "nurse", "job", True),
        ("senior nurse", "nurse", "job", True),
        ("nurse", "teacher", "job", False),
        ("hiking", "hiking in the mountains", "likes", True),
        ("went to Rome", "went to Rome with Ben", "did", False),
        ("31", "32", "age", False),
        ("ＬＩＳＢＯＮ", "Lisbon", "lives_in", True),
    ],
)
def test_when_values_are_the_same(one: str, other: str, attribute: str, same: bool) -> None:
    """S2: more words for the same are the same; for names, only words behind it."""
    assert facts.same_value(attribute, one, other) is same
    assert facts.same_value(attribute, other, one) is same


def test_repeating_refreshes_and_only_another_voice_makes_surer() -> None:
    """S2, V8: saying it again refreshes `last_verified`; another person saying so makes it surer."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto"))
    assert book.hear(claim("lives_in", "Porto", 5)) is Effect.REPEAT
    assert book.known[0].last_verified == START + 5 * DAY
    assert book.known[0].confidence == 0.8
    book.hear(claim("lives_in", "porto", 6), voice="ben")
    assert book.known[0].confidence == pytest.approx(0.88)
    book.hear(claim("lives_in", "porto", 7), voice="web", trust=Trust.EXTERNAL)
    assert book.known[0].confidence == pytest.approx(0.88)


def test_what_is_denied_ends() -> None:
    """S2: denying a value ends it, and leaves that it is not so; denying everything ends all."""
    book = Notebook()
    book.hear(claim("pet", "a cat"))
    book.hear(claim("pet", "a dog", 1))
    assert book.hear(claim("pet", "cat", 2, negated=True)) is Effect.CHANGE
    assert book.values == ["a dog", "not cat"]
    assert book.hear(claim("pet", "", 3, negated=True)) is Effect.CHANGE
    assert book.values == ["not cat", "not "]


def test_denying_what_nobody_said_changes_nothing_else() -> None:
    """S2: who lives in Porto and says that she does not live in Rome lives in Porto."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto"))
    assert book.hear(claim("lives_in", "Rome", 1, negated=True)) is Effect.KNOWN
    assert book.hear(claim("employer", "", 1, negated=True)) in (Effect.KNOWN, Effect.CHANGE)


def test_liking_ends_disliking() -> None:
    """S2: likes and dislikes of one thing exclude each other, and of other things do not."""
    book = Notebook()
    book.hear(claim("dislikes", "olives"))
    book.hear(claim("dislikes", "beets"))
    assert book.hear(claim("likes", "olives", 1)) is Effect.CHANGE
    assert [(fact.attribute, fact.value) for fact in book.known] == [("dislikes", "beets"), ("likes", "olives")]


def test_a_correction_was_always_so() -> None:
    """S2: what is taken back had never been true, and the right value holds since the wrong one did."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto"))
    step = facts.decide(book.known, claim("lives_in", "Faro", 1, corrects=True), source(9))
    assert (step.effect, step.never_true, step.valid_from) == (Effect.CHANGE, True, START)


def test_what_was_true_before_is_history() -> None:
    """S2: an older statement that arrives late ends where the newer one began."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto", 10))
    step = facts.decide(book.known, claim("lives_in", "Faro", 1), source(9))
    assert (step.effect, step.valid_from, step.valid_to) == (Effect.PAST, START + DAY, START + 10 * DAY)


def test_who_is_trusted_less_only_proposes() -> None:
    """V8: text from outside ends nothing, nor does an agent's end what an operator said; a repetition adds nothing."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto"), trust=Trust.OPERATOR)
    for trust in (Trust.AGENT, Trust.EXTERNAL):
        step = facts.decide(book.known, claim("lives_in", "Rome", 3), source(9, trust=trust))
        assert (step.effect, step.ends) == (Effect.PROPOSE, (book.known[0],))
    assert book.hear(claim("lives_in", "Porto", 3), trust=Trust.EXTERNAL) is Effect.KNOWN
    assert facts.decide([], claim("lives_in", "Rome"), source(trust=Trust.EXTERNAL)).effect is Effect.PROPOSE


def test_the_same_turn_says_it_once() -> None:
    """S1: a claim that was taken from a turn is not taken from it again."""
    said = claim("lives_in", "Porto")
    known = facts.made("fact1", said, source(1), facts.decide([], said, source(1)))
    assert facts.decide([known], said, source(1)).effect is Effect.KNOWN


def test_a_plan_holds_since_it_was_made() -> None:
    """Q10: a plan for June is one in May; the day that it speaks of is kept beside it."""
    planned = claim("plan", "visit Rome", 60)
    step = facts.decide([], planned, source(at=START))
    assert step.valid_from == START
    assert facts.metadata_of(planned, source(at=START))["when"] == "2026-06-30T00:00:00.000000Z"


def test_a_nameless_partner_is_the_one_who_is_known() -> None:
    """S2: "my wife" replaces no name, and a name takes the place of "my wife"."""
    book = Notebook()
    book.hear(claim("partner", "Lea"))
    assert book.hear(claim("partner", "wife", 1)) is Effect.REPEAT
    assert book.values == ["Lea"]
    assert Notebook().hear(claim("partner", "wife")) is Effect.NEW


said = st.builds(
    claim,
    st.sampled_from(["lives_in", "likes", "dislikes", "pet", "job"]),
    st.sampled_from(["a", "b", "c", "a b"]),
    st.integers(0, 5),
    negated=st.booleans(),
    corrects=st.booleans(),
)


@given(st.lists(said, max_size=20))
def test_one_value_stays_one(claims: list[Claim]) -> None:
    """S2: whatever is said in whatever order, a single-valued attribute has at most one active value, and nothing raises."""
    books: dict[Any, Notebook] = {}
    for one in claims:
        books.setdefault(facts.place(None, one.subject, one.attribute), Notebook()).hear(one)
    for (_, _, attribute), book in books.items():
        positive = [fact for fact in book.known if not fact.negated]
        if not attributes.of(attribute).many:
            assert len(positive) <= 1
        assert len({(fact.attribute, fact.value, fact.negated) for fact in book.known}) == len(book.known)
        for fact in positive:
            opposed = [one for one in book.known if one.negated and one.attribute == fact.attribute]
            assert not [one for one in opposed if one.value == fact.value]


@given(said)
def test_a_fact_survives_its_record(one: Claim) -> None:
    """R9: what a record keeps of a fact gives the same fact back."""
    metadata = facts.metadata_of(one, source(1))
    assert metadata["subject"] == one.subject
    assert metadata.get("negated", False) is one.negated
    assert (metadata["attribute"], metadata["value"], metadata["span"]) == (one.attribute, one.value, [one.start, one.end])


def test_every_attribute_reads_well() -> None:
    """R9: each attribute has words for a fact and for its denial, with the subject and the value in them."""
    for attribute in (*attributes.ALL, attributes.of("favourite:colour")):
        for negated in (False, True):
            words = attributes.sentence("Ana", attribute.name, "blue", negated=negated)
            assert "Ana" in words
            assert "blue" in words
    assert not attributes.known("favourite:")
    assert not attributes.known("shoe size")
    assert State.ACTIVE.value == "active"
