"""Promises of tastes: which keys of a profile are proposed from what people said that they like,
and which are not."""

from __future__ import annotations

from typing import Any

import pytest

from lamina.engines import tastes
from lamina.engines.facts import Fact
from lamina.model.record import Record, State, Trust
from tests.conftest import START
from tests.unit.engines.samples import fact, record


def profile(seq: int, key: str, value: Any, user: str | None = "ana", **more: Any) -> Record:
    return record(seq, {"profile_key": key, "value": value, "reason": "said so", **more}, user=user)


def told(
    *facts: Fact, profiles: tuple[Record, ...] = (), waiting: tuple[Record, ...] = ()
) -> dict[str, Any]:
    return {taste.key: taste.value for taste in tastes.plan(facts, profiles, waiting)}


def test_a_taste_is_proposed_with_its_sources() -> None:
    """S3, V8: a list of all that holds, in the order in which it was said, trusted as little as the
    least of it."""
    (made,) = tastes.plan([fact(2, value="jazz", trust=Trust.EXTERNAL), fact(1)], [], [])
    assert (made.user, made.key, made.value) == ("ana", "likes", ["tea", "jazz"])
    assert (made.evidence, made.trust, made.replaces) == (("turn1", "turn2"), Trust.EXTERNAL, ())


@pytest.mark.parametrize("attribute", ["lives_in", "did", "owns"])
def test_what_is_no_taste_is_no_preference(attribute: str) -> None:
    """S3: only what somebody likes belongs in a profile by itself."""
    assert told(fact(1, attribute)) == {}


@pytest.mark.parametrize("fields", [{"negated": True}, {"state": State.SUPERSEDED}])
def test_what_does_not_hold_is_not_proposed(fields: dict[str, Any]) -> None:
    """S3: neither what was denied nor what is over."""
    assert told(fact(1, **fields)) == {}


def test_one_favourite_is_the_newest() -> None:
    """S2, S3: of a thing with one value the last one counts, and of two at once
    the later record."""
    assert told(fact(1, "favourite:sea food", "cod"), fact(3, "favourite:sea food", "hake")) == {
        "favourite_sea_food": "hake"
    }
    same = {"valid_from": START}
    assert told(fact(2, "diet", "vegan", **same), fact(1, "diet", "paleo", **same)) == {
        "diet": "vegan"
    }


def test_a_list_grows_from_what_the_profile_has() -> None:
    """S3: what a person confirmed stays, each thing once, in the spelling that was there; what is
    new comes last."""
    known = profile(1, "Likes", ["rain", "TEA"])
    assert told(fact(1), fact(2, value="jazz"), profiles=(known,)) == {
        "likes": ["rain", "TEA", "jazz"]
    }
    assert told(fact(1), profiles=(profile(1, "likes", "rain"),)) == {"likes": ["rain", "tea"]}


def test_what_is_known_or_waits_is_not_proposed_again() -> None:
    """S3, V9: in whatever order and case it is written; for another person it is news."""
    facts = fact(1), fact(2, value="jazz")
    assert told(*facts, profiles=(profile(1, "likes", ["Jazz", "tea"]),)) == {}
    assert told(*facts, waiting=(profile(1, "LIKES", ["Jazz", "tea"]),)) == {}
    assert (
        told(*facts, waiting=(profile(1, "likes", ["Jazz"]), profile(2, "likes", ["tea", "jazz"])))
        == {}
    )
    assert told(*facts, profiles=(profile(1, "likes", ["jazz", "tea"], user="ben"),)) == {
        "likes": ["tea", "jazz"]
    }


def test_a_new_proposal_takes_the_place_of_those_made_here() -> None:
    """V9: not of what somebody else proposed."""
    mine, others = (
        profile(1, "likes", ["rain"], origin="sleep"),
        profile(2, "likes", ["snow"], origin="ana"),
    )
    (made,) = tastes.plan([fact(1)], [], [mine, others])
    assert made.replaces == (mine.id,)


def test_tastes_of_others_have_their_name() -> None:
    """S3, R12: the profile is about its user, or whom it names; what Ben likes stands
    under his name."""
    ben = {"subject": "Ben Big"}
    assert told(fact(1, **ben)) == {"ben-big.likes": ["tea"]}
    assert told(fact(1, **ben), profiles=(profile(1, "Name", "ben  BIG"),)) == {"likes": ["tea"]}
    assert told(fact(1, **ben), profiles=(profile(1, "city", "Ben Big"),)) == {
        "ben-big.likes": ["tea"]
    }
    assert told(fact(1, user=None)) == {"ana.likes": ["tea"]}
    assert told(fact(1, user="ANA")) == {"likes": ["tea"]}


def test_tastes_come_in_one_order() -> None:
    """Q6: by user and key, whatever order the facts came in; what concerns everybody first."""
    facts = [
        fact(1),
        fact(2, "hobby", "chess"),
        fact(3, user="abe", subject="abe"),
        fact(4, user=None),
    ]
    expected = [(None, "ana.likes"), ("abe", "likes"), ("ana", "hobby"), ("ana", "likes")]
    for some in (facts, facts[::-1]):
        assert [(taste.user, taste.key) for taste in tastes.plan(some, [], [])] == expected


def test_a_rejected_value_stays_out() -> None:
    """V6: the others of its key do not; nothing is rejected unless somebody says so."""
    asked: list[tuple[str | None, str, str]] = []

    def is_rejected(user: str | None, key: str, value: str) -> bool:
        asked.append((user, key, value))
        return value == "tea"

    (made,) = tastes.plan([fact(1), fact(2, value="jazz")], [], [], is_rejected)
    assert made.value == ["jazz"]
    assert asked == [("ana", "likes", "tea"), ("ana", "likes", "jazz")]


def test_a_hundred_sources_are_enough() -> None:
    """S3: the first hundred, each once."""
    (made,) = tastes.plan(
        [
            fact(number, value=f"v{number}", evidence=("same", f"t{number}"))
            for number in range(1, 120)
        ],
        [],
        [],
    )
    assert made.evidence == ("same", *(f"t{number}" for number in range(1, 100)))
