"""Facts in a context: they stand with their sayings, and push none of these out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lamina.model.record import Hit, Layer, Outdated
from lamina.search.context import Context, Gathered, build, topics
from lamina.search.context.nights import is_of_sleep
from tests.cases import every
from tests.unit.search.test_context_parts import hit

GOAL = "What did Ana plant in the garden?"
SAYINGS = [
    "I planted two apple trees in the garden, and a row of beans beside the old brick wall.",
    "The garden is full of slugs again. I think that the beans will not make it this year.",
    "Roses!",
    "My sister gave me seeds of a very rare tomato for the garden, from her trip to Naples.",
    "We dug up the lawn, since nobody ever used it, and the clover that came after it is fine.",
]


def fact(number: int, content: str, *sayings: int) -> Hit:
    evidence = tuple(f"{one:026d}" for one in sayings)
    made = {"metadata": {"origin": "sleep"}, "evidence": evidence, "speaker": None}
    return hit(number, content, layer=Layer.SEMANTIC, **made)


def told(made: Context) -> set[str]:
    """The memories that a context tells, with those that its facts rest on."""
    own = {one for item in made.reasons for one in item.ids}
    facts = (one for item in made.reasons for one in (item.record, *item.others))
    return own | {source for one in facts for source in one.evidence}


said = st.lists(
    st.tuples(st.sampled_from(SAYINGS), st.integers(0, 5)).map(lambda one: f"{one[0]} " * one[1]),
    min_size=1,
    max_size=25,
)
made_of = st.lists(
    st.tuples(st.integers(1, 30), st.sampled_from(("Ana: planted beans", "Ana likes " * 12))),
    max_size=12,
)


@given(said, made_of, made_of, st.integers(300, 2500))
def test_no_fact_pushes_a_saying_out(
    sayings: list[str],
    facts: list[tuple[int, str]],
    binding: list[tuple[int, str]],
    budget: int,
) -> None:
    """C3: whatever a night makes, a context tells what it told before; and keeps its budget."""
    turns = tuple(hit(n, f"{text} Number {n} of them.") for n, text in enumerate(sayings, 1))
    found = tuple(fact(n, text, source) for n, (source, text) in enumerate(facts, 40))
    bound = tuple(
        (fact(n, text, source), "food") for n, (source, text) in enumerate(binding[:3], 60)
    )
    before = build(Gathered(GOAL, found=turns), budget)
    after = build(Gathered(GOAL, found=(*turns, *found), bound=bound), budget)
    assert told(before) <= told(after)
    assert len(after.text) <= budget


def test_facts_stand_with_their_sayings() -> None:
    """C3: where there is room, nothing is left out for it."""
    turns = tuple(hit(n, text) for n, text in enumerate(SAYINGS, 1))
    facts = (fact(10, "Ana: planted two apple trees", 1), fact(11, "Ana has a sister", 30))
    made = build(Gathered(GOAL, found=(*turns, *facts)), 2000)
    assert {item.record.id for item in made.reasons if is_of_sleep(item.record)} == {
        one.record.id for one in facts
    }
    assert "Ana: planted two apple trees — “I planted" in made.text


def test_a_fact_alone_takes_no_lines_room() -> None:
    """C3: what a fact without its saying would push out, stays, and the fact does not come."""
    turns = tuple(hit(n, f"{SAYINGS[3]} {SAYINGS[4]} {n}") for n in range(1, 30))
    alone = fact(40, "Ana planted a rare tomato", 99)
    before = build(Gathered(GOAL, found=turns), 1000)
    after = build(Gathered(GOAL, found=(*turns, alone)), 1000)
    assert after == before


def test_what_is_no_longer_so_keeps_its_line() -> None:
    """C3: where what holds now is long, it is cut, and what was said stays."""
    now = "user wants: Always use quantified bullet points when I ask about resume content style"
    turns = tuple(hit(n, f"{SAYINGS[3]} {SAYINGS[4]} {n}") for n in range(1, 20))
    before = build(Gathered(GOAL, found=turns), 2000)
    over = Outdated(now=(now,))
    marked = (*turns[:4], *(structs.replace(one, outdated=over) for one in turns[4:]))
    after = build(Gathered(GOAL, found=marked), 2000)
    assert told(before) <= told(after)
    assert "(no longer; now: user wants: Always" in after.text


@every(
    "case",
    [
        ("did", "Ana: went camping two weekends ago", False),
        ("visited", "Ana has been to a holiday camp", False),
        ("did", "Ana: stopped eating gluten", True),
        ("allergy", "Ana is allergic to nuts", True),
        ("plan", "Ana plans: away until Friday", True),
    ],
)
def test_days_that_are_over_bind_nobody(case: tuple[str, str, bool]) -> None:
    """C1: what somebody did on some weekend is no constraint; what they cannot eat is."""
    attribute, content, expected = case
    record = hit(1, content, layer=Layer.SEMANTIC, metadata={"attribute": attribute}).record
    assert topics.binds(record) is expected
