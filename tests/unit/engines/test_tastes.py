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


# The profile follows the facts


def test_what_the_facts_contradict_leaves_the_list() -> None:
    """S3, R10: a value that was denied, that its opposite ended, or that rests on a fact which has
    ended is left out of the next proposal; the reason names the record of the fact."""
    known = profile(1, "likes", ["rain", "tea"], origin="sleep")
    denied = fact(2, negated=True)
    hated = fact(2, "dislikes")
    over = fact(1, state=State.TOMBSTONED)
    for against in (denied, hated, over):
        (made,) = [one for one in tastes.plan([against], [known], []) if one.key == "likes"]
        assert (made.value, made.ends) == (["rain"], ())
        assert [(one.value, one.fact) for one in made.dropped] == [("tea", against.record)]


def test_an_entry_of_which_nothing_is_left_is_to_go() -> None:
    """S3, R10: it is named, and no empty value is proposed."""
    (made,) = tastes.plan(
        [fact(1, "diet", "vegan", state=State.SUPERSEDED)],
        [profile(1, "diet", "vegan", origin="sleep")],
        [],
    )
    assert (made.value, made.ends) == (None, (f"{1:026d}",))


def test_what_a_person_said_does_not_rest_on_a_fact_that_only_agrees() -> None:
    """R10, V7: an entry with other evidence stays when such a fact ends; one that cites what the
    fact cites does not."""
    over = fact(1, state=State.TOMBSTONED)
    given = profile(1, "likes", ["tea"])
    assert tastes.plan([over], [given], []) == []
    citing = record(1, given.metadata, user="ana", evidence=over.evidence)
    (made,) = tastes.plan([over], [citing], [])
    assert made.ends == (citing.id,)


def test_a_proposal_that_the_facts_overtook_is_withdrawn() -> None:
    """V5, S3: ours alone; nothing takes its place if nothing is left to say."""
    mine = profile(1, "likes", ["tea"], origin="sleep")
    others = profile(2, "likes", ["tea"])
    (made,) = tastes.plan([fact(1, state=State.SUPERSEDED)], [], [mine, others])
    assert (made.value, made.replaces, made.ends) == (None, (mine.id,), ())


def test_a_fact_that_holds_again_is_no_conflict() -> None:
    """R10: of several facts that say it, one that holds is enough."""
    known = profile(1, "likes", ["tea"], origin="sleep")
    again = [fact(1, state=State.SUPERSEDED), fact(3)]
    assert tastes.Topics(again, [known]).contradictions(known) == []


# Whom it is about


@pytest.mark.parametrize("speaker", ["user", "me", "Human"])
def test_a_role_is_the_person_of_the_profile(speaker: str) -> None:
    """R10, R12: who speaks as the user has plain keys; another person has a name in front."""
    found = told(fact(1, user=None, subject=speaker), fact(2, user=None, value="jazz"))
    assert found == {"likes": ["tea"], "ana.likes": ["jazz"]}


def test_a_name_is_proposed() -> None:
    """R10: the only name that was given is that of the profile; of several, each has its person's
    name in front. Whoever gave the name of the profile has plain keys."""
    bob: dict[str, Any] = {"user": None, "subject": "Bob"}
    named = fact(1, "name", "Bob Stone", **bob)
    other = fact(2, "name", "Ana Lee", user=None)
    assert told(named) == {"name": "Bob Stone"}
    assert told(named, other) == {"bob.name": "Bob Stone", "ana.name": "Ana Lee"}
    known = (profile(1, "name", "Bob Stone", user=None),)
    assert told(named, fact(2, **bob), profiles=known) == {"likes": ["tea"]}


# Instructions


def test_instructions_have_keys_of_their_own() -> None:
    """S8: one for each topic, in a project where one is named; the newest counts."""
    found = told(
        fact(1, "instruction:language", "answer in French"),
        fact(2, "instruction:language", "answer in German"),
        fact(3, "instruction:garden/commit messages", "keep them short"),
    )
    assert found == {
        "instructions.language": "answer in German",
        "instructions.garden.commit_messages": "keep them short",
    }


def test_an_instruction_that_is_taken_back_is_to_go() -> None:
    """S8: when it is denied, as any other entry."""
    known = profile(1, "instructions.language", "answer in German", origin="sleep")
    taken_back = fact(2, "instruction:language", "answer in German", negated=True)
    (made,) = tastes.plan([taken_back], [known], [])
    assert (made.value, made.ends) == (None, (known.id,))
