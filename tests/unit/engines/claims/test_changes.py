"""What becomes of what was said: it changes, ends, comes back, is taken back, or
is somebody else's."""

from __future__ import annotations

import json

from benchmarks.claims import UPDATES, updated

from lamina.engines.claims import Claim
from lamina.engines.claims.extraction import extract
from tests.cases import every, golden

from .holding import START, claims, holds, turns

# Turns parted by slashes, about whom, which attribute, and what is left of it.
CHANGED = golden("engines/changes.jsonl")


@every(("told", "subject", "attribute", "left"), CHANGED)
def test_what_changes_is_known_as_it_is_now(
    told: str, subject: str, attribute: str, left: str
) -> None:
    """S2: changes, endings, returns and corrections in many wordings leave what a reader
    would say holds."""
    assert holds(told, subject, attribute, left), claims(*told.split(" / "))


def test_the_newest_value_holds_in_nearly_all_golden_cases() -> None:
    """S2: of the cases of change at least 95 in 100 end with the newest value."""
    cases = [json.loads(line) for line in UPDATES.read_text("utf-8").splitlines()]
    right = sum(updated(case)[0] for case in cases)
    assert right >= 0.95 * len(cases)


def _last(*told: str) -> Claim:
    return claims(*told)[-1]


def test_a_switch_names_what_was_there_before() -> None:
    """S2: "left Acme for Initech" says both."""
    claim = _last("I work for Acme.", "I left Acme for Initech.")
    assert (claim.attribute, claim.value, claim.replaces, claim.corrects) == (
        "employer",
        "Initech",
        "Acme",
        False,
    )


def test_a_correction_takes_back_what_was_said() -> None:
    """S2: what was a mistake had never been so."""
    claim = _last("I live in Dundee.", "Sorry, I meant Perth.")
    assert (claim.attribute, claim.value, claim.replaces, claim.corrects) == (
        "lives_in",
        "Perth",
        "Dundee",
        True,
    )


def test_a_correction_may_follow_in_the_same_breath() -> None:
    """S2: "I live in Rome, no wait, Milan"."""
    assert (
        _last("I live in Rome, no wait, Milan.").value,
        _last("I live in Rome, no wait, Milan.").corrects,
    ) == (
        "Milan",
        True,
    )


def test_without_a_value_whatever_there_was_ends() -> None:
    """S2: "we broke up" names nobody."""
    claim = _last("We broke up last week.")
    assert (claim.attribute, claim.value, claim.negated) == ("partner", "", True)


def test_what_was_known_before_the_session_can_end_in_it() -> None:
    """S2: "I've given up fencing" ends a hobby of another day."""
    known = Claim("Ann", "hobby", "fencing", 0, 1, START, 0.9, "hobby_is")
    [found] = extract(turns("Fencing is history."), [known])
    assert [(claim.attribute, claim.value, claim.negated) for claim in found] == [
        ("hobby", "fencing", True)
    ]
    assert extract(turns("Fencing is history.")) == [[]]


def test_an_answer_is_understood_by_its_question() -> None:
    """S1: a word that stands alone is a claim when somebody asked for it."""
    assert _last("Otto: What do you do these days?", "Beekeeper!").value == "Beekeeper"
    assert _last("Assistant: Are you still working for Acme?", "Not any more, no.").negated
    assert (
        _last("Otto: What's your favourite colour?", "I'd say purple.").attribute
        == "favourite:colour"
    )
    assert not claims("Otto: Nice weather!", "Beekeeper!")


def test_somebody_elses_change_changes_nothing_of_ours() -> None:
    """S2: what a sister does is hers."""
    assert holds("I have a boat / My sister Mia sold her boat", "Ann", "owns", "boat")


def test_one_spelling_for_a_favourite_thing() -> None:
    """S2: colour and color are one attribute."""
    assert holds(
        "My favourite colour is red / My favorite color is blue", "Ann", "favourite:colour", "blue"
    )


def test_what_a_clause_says_is_not_ended_by_it() -> None:
    """S2: "instead of Anzac biscuits" ends no baking on Anzac Day, which the clause states."""
    found = claims("I bake Afghans every Anzac Day instead of Anzac biscuits.")
    assert found
    assert not any(one.negated for one in found)


def test_whom_somebody_is_seeing_is_named_next() -> None:
    """S2: "his name is Joaquín" names the partner of who is seeing someone, and of nobody else."""
    (*_, named) = claims("I'm seeing someone! his name is Joaquín.")
    assert (named.attribute, named.value) == ("partner", "Joaquín")
    assert not any(one.attribute == "partner" for one in claims("I'm single. His name is Bob."))
