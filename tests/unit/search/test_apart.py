"""A question about several things gets hits of several conversations: Q5."""

from __future__ import annotations

import pytest

from lamina import Memory
from lamina.model.record import Hits
from lamina.search import apart
from tests.cases import every
from tests.conftest import Desk
from tests.unit.search.test_late import with_model
from tests.unit.search.toy_model import ToyModel

PHONES = (
    "I got the new phone at the market, the phone with the large screen.",
    "The phone I got first had a small screen.",
    "My new phone is a good phone, I got it cheap.",
    "The phone got a case, too.",
    "I got used to the phone.",
    "This phone, the phone I got, rings loudly.",
)
LAPTOPS = ("We got a laptop for the office.", "It is rather loud.")
OTHERS = ("The bees are back in the garden.", "It rained all week.", "Ben plays the cello.")
COMPARES = "Which did I get first, the phone or the laptop?"
SINGLE = "Tell me about the phone and that laptop"


@pytest.fixture
def shop(desk: Desk) -> Memory:
    return filled(with_model(desk.operator(), ToyModel()))


def filled(memory: Memory) -> Memory:
    for session, texts in (("s1", PHONES), ("s2", LAPTOPS), ("s3", OTHERS)):
        for text in texts:
            memory.remember(text, layer="episodic", speaker="user", session=session)
    memory.index()
    return memory


def texts(hits: Hits) -> list[str]:
    return [hit.record.content for hit in hits]


def by_other_parts(hits: Hits) -> list[str]:
    """The order of the hits without this part."""
    plain = sorted(hits, key=lambda hit: -(hit.score - hit.parts.get("apart", 0.0)))
    return [hit.record.content for hit in plain]


def test_both_sides_come_before_the_rest_of_one(shop: Memory) -> None:
    """Q5: a turn of another conversation passes turns with better hits nearby, and says why."""
    hits = shop.search(COMPARES)
    lifted = [hit for hit in hits if "apart" in hit.parts]
    assert lifted
    assert {hit.record.session for hit in lifted} != {"s1"}
    before, after = by_other_parts(hits), texts(hits)
    laptop = LAPTOPS[0]
    assert after.index(laptop) < before.index(laptop)
    assert after[0] == before[0]
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.parts.values()))
        most = apart.OFTEN * 0.10 + apart.MOST * apart.MARGIN
        assert 0 <= hit.parts.get("apart", 0.0) <= most


def test_nothing_leaves_the_best(shop: Memory) -> None:
    """Q5: the ten best are the same, in another order."""
    hits = shop.search(COMPARES, limit=50)
    best = apart.MOST
    assert set(texts(hits)[:best]) == set(by_other_parts(hits)[:best])


@every("query", [SINGLE, "Which phone is it?", "What is said about the garden?"])
def test_a_question_about_one_thing_is_left_alone(desk: Desk, query: str) -> None:
    """Q5: the turns of one conversation may all be the answer."""
    memory = filled(with_model(desk.operator(), ToyModel()))
    assert all("apart" not in hit.parts for hit in memory.search(query))


def test_it_stands_beside_a_sentence_model_alone(desk: Desk) -> None:
    """Q5: with word vectors, conversations weigh too little for that."""
    memory = filled(desk.operator())
    assert all("apart" not in hit.parts for hit in memory.search(COMPARES))


def test_nothing_from_outside_is_lifted(desk: Desk) -> None:
    """Q5, V8: many conversations from outside do not pass an own one."""
    memory = with_model(desk.operator(), ToyModel())
    for number in range(6):
        memory.remember(
            f"We got laptop {number} of the office.",
            layer="episodic", speaker="user", session=f"o{number}", trust="external", source="web",
        )  # fmt: skip
    for hit in filled(memory).search(COMPARES):
        assert "apart" not in hit.parts or hit.record.trust != "external"
