"""Facts over time (S2): what a claim does to what is known."""

from __future__ import annotations

from datetime import datetime
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines import fact_lists, facts
from lamina.engines.claims import Claim, attributes
from lamina.engines.decision import Effect
from lamina.engines.facts import Fact, Source
from lamina.model import hashing
from lamina.model.record import Layer, Record, State, Trust, iso
from tests.cases import every
from tests.unit.engines.claimed import DAY, START, claim
from tests.unit.engines.samples import record


def source(
    number: int = 0,
    voice: str = "ana",
    trust: Trust = Trust.AGENT,
    at: datetime = START + 100 * DAY,
) -> Source:
    return Source(f"turn{number}", None, None, at, voice, trust, 0.5)


class Notebook:
    """Facts of one place, as they follow from claims."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.heard = 0

    def hear(self, said: Claim, voice: str = "ana", trust: Trust = Trust.AGENT) -> Effect:
        self.heard += 1
        come_from = source(self.heard, voice, trust, said.at)
        step = facts.decide(self.facts, said, come_from)
        if step.effect is not Effect.PROPOSE:
            record = (
                f"fact{self.heard}"
                if step.effect in (Effect.NEW, Effect.CHANGE, Effect.PAST)
                else None
            )
            self.facts = facts.after(self.facts, said, come_from, step, record)
        return step.effect

    @property
    def known(self) -> list[Fact]:
        return [fact for fact in self.facts if fact.state is State.ACTIVE]

    def held(self, day: float) -> list[str]:
        """Which values held on a day."""
        return [
            fact.value for fact in self.facts if fact.holds(START + day * DAY) and not fact.negated
        ]

    @property
    def values(self) -> list[str]:
        return [f"{'not ' if fact.negated else ''}{fact.value}" for fact in self.known]


def test_one_value_replaces_another() -> None:
    """S2: who moves no longer lives where she lived, and may move back."""
    book = Notebook()
    effects = [
        book.hear(claim("lives_in", city, day))
        for day, city in enumerate(("Porto", "Lisbon", "Porto"))
    ]
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


@every(
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
    """S2, V8: saying it again refreshes `last_verified`; another person saying so
    makes it surer."""
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
    """S2: who lives in Porto and says that she does not live in Rome lives in Porto; denying all of
    nothing is nothing."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto"))
    assert book.hear(claim("lives_in", "Rome", 1, negated=True)) is Effect.NEW
    assert book.values == ["Porto", "not Rome"]
    assert Notebook().hear(claim("employer", "", 1, negated=True)) is Effect.KNOWN


def test_liking_ends_disliking() -> None:
    """S2: likes and dislikes of one thing exclude each other, and of other things do not."""
    book = Notebook()
    book.hear(claim("dislikes", "olives"))
    book.hear(claim("dislikes", "beets"))
    assert book.hear(claim("likes", "olives", 1)) is Effect.CHANGE
    assert [(fact.attribute, fact.value) for fact in book.known] == [
        ("dislikes", "beets"),
        ("likes", "olives"),
    ]


def test_a_correction_was_always_so() -> None:
    """S2: what is taken back had never been true, and the right value holds since the
    wrong one did."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto"))
    assert book.hear(claim("lives_in", "Faro", 1, corrects=True)) is Effect.CHANGE
    assert (book.values, book.held(0)) == (["Faro"], ["Faro"])
    assert [(fact.value, fact.state, fact.valid_to) for fact in book.facts[:1]] == [
        ("Porto", State.SUPERSEDED, None)
    ]


def test_what_was_true_before_is_history() -> None:
    """S2: an older statement that arrives late ends where the newer one began."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto", 10))
    step = facts.decide(book.known, claim("lives_in", "Faro", 1), source(9))
    assert (step.effect, step.valid_from, step.valid_to) == (
        Effect.PAST,
        START + DAY,
        START + 10 * DAY,
    )


def test_who_is_trusted_less_only_proposes() -> None:
    """V8: text from outside ends nothing, nor does an agent's end what an operator said; a
    repetition adds nothing."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto"), trust=Trust.OPERATOR)
    for trust in (Trust.AGENT, Trust.EXTERNAL):
        step = facts.decide(book.known, claim("lives_in", "Rome", 3), source(9, trust=trust))
        assert (step.effect, step.ends) == (Effect.PROPOSE, (book.known[0],))
    assert book.hear(claim("lives_in", "Porto", 3), trust=Trust.EXTERNAL) is Effect.KNOWN
    assert (
        facts.decide([], claim("lives_in", "Rome"), source(trust=Trust.EXTERNAL)).effect
        is Effect.PROPOSE
    )


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


def slip(wrong: str, right: str, day: int) -> list[Claim]:
    """What "I live in Porto, sorry, I meant Lisbon." says."""
    return [
        claim("lives_in", wrong, day),
        claim("lives_in", right, day, replaces=wrong, corrects=True),
    ]


def test_what_was_said_again_later_still_holds() -> None:
    """S2, Q10: a statement that arrives late, between two that say the same, holds between them and
    ends neither."""
    book = Notebook()
    for day, job in ((1, "nurse"), (4, "nurse"), (6, "nurse"), (2, "teacher")):
        book.hear(claim("job", job, day))
    assert book.values == ["nurse"]
    assert [book.held(day) for day in range(7)] == [
        [],
        ["nurse"],
        ["teacher"],
        ["teacher"],
        ["nurse"],
        ["nurse"],
        ["nurse"],
    ]
    assert book.hear(claim("job", "teacher", 5)) is Effect.PAST
    assert [book.held(day) for day in (4, 5, 6)] == [["nurse"], ["teacher"], ["nurse"]]


def test_a_past_value_that_was_said_again_is_known_of_both_times() -> None:
    """S2, Q10: what is repeated about the past counts when something older arrives in between."""
    book = Notebook()
    for day, city in ((1, "Porto"), (7, "Lisbon"), (4, "Porto"), (2, "Braga")):
        book.hear(claim("lives_in", city, day))
    assert [book.held(day) for day in (1, 2, 3, 4, 6, 7)] == [
        ["Porto"],
        ["Braga"],
        ["Braga"],
        ["Porto"],
        ["Porto"],
        ["Lisbon"],
    ]


def test_a_late_statement_does_not_undo_a_correction() -> None:
    """S2: what was said before a correction, and arrives after it, is not what holds."""
    book = Notebook()
    for said in (
        *(claim("lives_in", "Porto", day) for day in range(1, 7)),
        *slip("Porto", "Lisbon", 8),
        claim("lives_in", "Porto", 7),
    ):
        book.hear(said)
    assert book.values == ["Lisbon"]
    assert {len(book.held(day / 2)) for day in range(2, 20)} == {1}


def test_a_late_correction_takes_back_what_held_then() -> None:
    """S2, Q10: a correction of a time before a denial leaves one value for that time, and the
    denial denies another."""
    book = Notebook()
    for said in (claim("lives_in", "Lisbon", 2, negated=True), *slip("Lisbon", "Braga", 1)):
        book.hear(said)
    assert (book.held(1), book.held(2)) == (["Braga"], ["Braga"])
    book = Notebook()
    for said in (
        claim("lives_in", "Porto", 1),
        claim("lives_in", "Porto", 9),
        *slip("Porto", "Lisbon", 5),
    ):
        book.hear(said)
    assert (book.held(1), book.held(8), book.held(9)) == (["Lisbon"], ["Lisbon"], ["Porto"])


def test_a_denial_ends_what_arrives_after_it() -> None:
    """S2: a denial counts from its time on, although what it denies was not known yet, or is said
    again later."""
    book = Notebook()
    for said in (
        claim("lives_in", "Porto", 1),
        claim("lives_in", "Lisbon", 3, negated=True),
        claim("lives_in", "Lisbon", 2),
    ):
        book.hear(said)
    assert [book.held(day) for day in (1, 2, 3)] == [["Porto"], ["Lisbon"], []]
    book = Notebook()
    for said in (
        claim("lives_in", "Porto", 1),
        claim("lives_in", "Porto", 5),
        claim("lives_in", "Porto", 3, negated=True),
    ):
        book.hear(said)
    assert [book.held(day) for day in (1, 3, 5)] == [["Porto"], [], ["Porto"]]


SAYINGS = {
    "one": [
        ("lives_in", "Porto", False),
        ("lives_in", "Porto", True),
        ("lives_in", "Faro", False),
        ("lives_in", "Faro", True),
    ],
    "many": [("likes", "tea", False), ("likes", "tea", True), ("dislikes", "tea", False)],
}


@pytest.mark.parametrize("number", SAYINGS)
def test_the_order_in_which_claims_arrive_does_not_matter(number: str) -> None:
    """S2, Q10: four days of statements and denials, in all orders, come to what they come to in
    their own order."""
    for sayings in product(SAYINGS[number], repeat=4):
        days = [
            claim(attribute, value, day, negated=denied)
            for day, (attribute, value, denied) in enumerate(sayings)
        ]
        told = set()
        for order in permutations(days):
            book = Notebook()
            for said in order:
                book.hear(said)
            held = [
                [fact for fact in book.facts if fact.holds(one.at) and not fact.negated]
                for one in days
            ]
            told.add(
                tuple(frozenset((fact.attribute, fact.value) for fact in then) for then in held)
            )
        assert len(told) == 1, days


def test_a_late_statement_of_somebody_trusted_less_interrupts_nothing() -> None:
    """V8: an agent's word about a time at which an operator's held only proposes."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto", 1), trust=Trust.OPERATOR)
    book.hear(claim("lives_in", "Faro", 5), trust=Trust.OPERATOR)
    assert book.hear(claim("lives_in", "Rome", 2)) is Effect.PROPOSE
    assert book.held(2) == ["Porto"]


def test_who_is_trusted_less_renews_nothing() -> None:
    """V8: an agent who repeats what an operator said does not let it hold against what the operator
    says of a time before."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto", 1), trust=Trust.OPERATOR)
    assert book.hear(claim("lives_in", "Porto", 5)) is Effect.REPEAT
    book.hear(claim("lives_in", "Faro", 3), trust=Trust.OPERATOR)
    assert book.values == ["Faro"]


@pytest.mark.parametrize("said", [None, "yesterday", ["yesterday"], [None], [], {}])
def test_times_that_are_none_are_left_alone(said: object) -> None:
    """R9: whatever somebody wrote as the times at which a fact was said, its own
    times are known."""
    told = {"subject": "Ana", "attribute": "lives_in", "value": "Porto", "said": said}
    kept: dict[str, Any] = dict.fromkeys(Record.__struct_fields__)
    kept |= {
        "id": "1",
        "layer": Layer.SEMANTIC,
        "state": State.ACTIVE,
        "metadata": told,
        "evidence": (),
    }
    record = Record(**{**kept, "occurred_at": START, "last_verified": START + DAY})
    assert facts.fact_of(record).said == (START, START + DAY)


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
    """S2: whatever is said in whatever order, a single-valued attribute has at most one active
    value, and nothing raises."""
    books: dict[Any, Notebook] = {}
    for one in claims:
        books.setdefault(facts.slot(None, one.subject, one.attribute), Notebook()).hear(one)
    for (_, _, attribute), book in books.items():
        positive = [fact for fact in book.known if not fact.negated]
        if not attributes.of(attribute).many:
            assert len(positive) <= 1
            assert all(len(book.held(day / 2)) <= 1 for day in range(14))
        assert len({(fact.attribute, fact.value, fact.negated) for fact in book.known}) == len(
            book.known
        )
        for fact in positive:
            opposed = [one for one in book.known if one.negated and one.attribute == fact.attribute]
            assert not [one for one in opposed if one.value == fact.value]


@given(said)
def test_a_fact_survives_its_record(one: Claim) -> None:
    """R9: what a record keeps of a fact gives the same fact back."""
    metadata = facts.metadata_of(one, source(1))
    assert metadata["subject"] == one.subject
    assert metadata.get("negated", False) is one.negated
    assert (metadata["attribute"], metadata["value"], metadata["span"]) == (
        one.attribute,
        one.value,
        [one.start, one.end],
    )


def test_every_attribute_reads_well() -> None:
    """R9: each attribute has words for a fact and for its denial, with the subject and the
    value in them."""
    for attribute in (*attributes.ALL, attributes.of("favourite:colour")):
        for negated in (False, True):
            words = attributes.sentence("Ana", attribute.name, "blue", negated=negated)
            assert "Ana" in words
            assert "blue" in words
    assert not attributes.known("favourite:")
    assert not attributes.known("shoe size")
    assert State.ACTIVE.value == "active"


def test_liking_and_disliking_are_one_place() -> None:
    """S2: who dislikes what she liked has changed her mind."""
    assert facts.slot(None, "Ana", "dislikes") == facts.slot(None, "ana", "likes")


@pytest.mark.parametrize(
    "attribute", ["lives_in", "employer", "origin", "visited", "name", "partner"]
)
def test_a_name_is_known_by_its_beginning(attribute: str) -> None:
    """S2: Lisbon, Portugal is Lisbon, but York is not New York."""
    assert facts.same_value(attribute, "Lisbon", "Lisbon, Portugal")
    assert not facts.same_value(attribute, "York", "New York")


@pytest.mark.parametrize(
    ("attribute", "same"),
    [("likes", True), ("did", False), ("plan", False), ("goal", False), ("age", False)],
)
def test_more_words_may_say_the_same(attribute: str, same: bool) -> None:
    """S2: green tea is tea to who likes it; what was done or planned is another thing
    with every word."""
    assert facts.same_value(attribute, "tea", "green tea") is same
    assert facts.same_value(attribute, "tea green", "green tea") is same


def test_partners_of_other_names_are_others() -> None:
    """S2: "my wife" is who she was; another name is another person, and a word for a wife says
    nothing of a city."""
    book = Notebook()
    book.hear(claim("partner", "Ben"))
    assert facts.says(book.facts[0], claim("partner", "husband"))
    assert not facts.says(book.facts[0], claim("partner", "Tom"))
    book = Notebook()
    book.hear(claim("likes", "tea"))
    assert not facts.says(book.facts[0], claim("likes", "wife"))


def test_a_fact_speaks_of_a_day_to_come_only_if_it_does() -> None:
    """S2: what is said of now has no day of its own."""
    now = source(at=claim("plan", "trip", 3).at)
    assert "when" not in facts.metadata_of(claim("plan", "trip", 3), now)
    assert facts.metadata_of(claim("plan", "trip", 5), now)["when"] == iso(
        claim("plan", "trip", 5).at
    )


def test_a_fact_is_told_without_the_times_it_was_said() -> None:
    """S2: as plain values that JSON can hold."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto"))
    told_ = book.facts[0].to_dict()
    hashing.check_json(told_ | {"voices": list(told_["voices"])}, "fact")
    assert "said" not in told_
    assert (told_["value"], told_["state"], told_["valid_to"]) == ("Porto", "active", None)


def test_facts_are_chosen_by_name_first_name_or_not_at_all() -> None:
    """S2: without a subject all are meant; a first name is enough."""
    records = [
        _fact(1, "Ana Silva", "lives_in"),
        _fact(2, "Ben", "likes"),
        _fact(3, "ana silva", "likes"),
    ]
    assert [fact.record[-1] for fact in fact_lists.chosen(records, None, None)] == ["3", "1", "2"]
    assert [fact.record[-1] for fact in fact_lists.chosen(records, "ANA", None)] == ["3", "1"]
    assert [fact.record[-1] for fact in fact_lists.chosen(records, "Ana Silva", "lives_in")] == [
        "1"
    ]
    assert fact_lists.chosen(records, "Silva", None) == []


def _fact(seq: int, subject: str, attribute: str) -> Any:
    metadata = {"subject": subject, "attribute": attribute, "value": "x"}
    return record(seq, metadata, layer=Layer.SEMANTIC, state=State.ACTIVE)


def test_what_was_said_is_remembered_fifty_times() -> None:
    """S2: of when somebody said so, the latest fifty."""
    book = Notebook()
    for day in range(60):
        book.hear(claim("lives_in", "Porto", day))
    assert len(book.facts[0].said) == 50
