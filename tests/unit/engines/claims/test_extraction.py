"""Claims of a session, whatever was said in it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.claims import Turn, attributes
from lamina.engines.claims.extraction import extract
from lamina.text import fence
from tests.cases import every

from .holding import START, claims, turns

WORDS = (
    "I my we she Mia Acme Rome love sold the a in to was went with and but if not no longer "
    "sister dog called favourite is 'm"
    " been because that who every day, . ? ! \" ( - : I'm sorry meant actually again now "
    "name vegan nurse 34"
).split()
OTHER_TONGUES = (
    "Ik woon in Utrecht en ik ben lerares.",
    "私はローマに住んでいます。",
    "Я живу в Риме и работаю учителем.",
    "أعيش في روما وأعمل معلمة",
    "Mieszkam w Krakowie i jestem nauczycielką.",
)
HOSTILE = (
    "I " * 10_000,
    "my " * 7_000,
    "and I " * 3_000,
    '"' * 20_000,
    "(" * 20_000,
    "[" * 20_000,
    "Aa " * 7_000,
    "sold the " * 2_000,
    "I love a and a, a and a " * 800,
    "\x00\ufffc\u200b" * 5_000,
    "my older sister my older brother " * 600,
    f"{fence.OPEN}\n[" * 350,
)


def test_every_claim_has_the_words_that_say_it() -> None:
    """S1, P1: the span is in the turn, and the value is among its words."""
    text = "By the way, I live in Oslo! My sister Mia is a nurse - we sold the boat."
    found = claims(text)
    assert {text[claim.start : claim.end] for claim in found} >= {
        "I live in Oslo",
        "My sister Mia",
        "My sister Mia is a nurse",
    }
    assert all(claim.value in text[claim.start : claim.end] for claim in found)


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join), max_size=4))
def test_any_words_give_sound_claims(told: list[str]) -> None:
    """S1: spans lie in their turns, subjects are somebody, attributes are known,
    and nothing breaks."""
    listed = turns(*told)
    for turn, found in zip(listed, extract(listed), strict=True):
        for claim in found:
            assert 0 <= claim.start < claim.end <= len(turn.text)
            assert claim.subject
            assert attributes.known(claim.attribute)
            assert claim.value or claim.negated
            assert 0 < claim.confidence < 1


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    """S1: no text makes extraction fail, and a list comes back for each turn."""
    assert len(extract([Turn(text, "Ann", START)])) == 1


@every("text", HOSTILE)
def test_a_long_senseless_turn_is_read_in_time(text: str) -> None:
    """S1: no text is expensive; this test would hang."""
    assert len(extract([Turn(text, "Ann", START)])) == 1


@pytest.mark.parametrize("text", OTHER_TONGUES)
def test_other_languages_give_nothing(text: str) -> None:
    """S1: nothing rather than nonsense, where there is no table of the language."""
    assert not claims(text)


def test_machines_claim_nothing() -> None:
    """S1: what an assistant says of itself is not knowledge."""
    assert not claims("I live in the cloud and I love your garden.", speaker="assistant")


def test_without_a_speaker_only_third_persons_are_claimed() -> None:
    """S1: nobody knows who "I" is."""
    found = claims("I live in Rome. Ben works at Acme. My sister is nice.", speaker=None)
    assert [(claim.subject, claim.attribute, claim.value) for claim in found] == [
        ("Ben", "employer", "Acme")
    ]


def test_a_session_without_turns_has_no_claims() -> None:
    """S1: empty in, empty out."""
    assert extract([]) == []
    assert extract([Turn("", None, START)]) == [[]]


def test_the_day_that_is_spoken_of_is_the_time_of_a_deed() -> None:
    """S2: what was done yesterday was done yesterday; a state holds since it was told."""
    [deed] = claims("I visited the museum yesterday.")
    assert deed.at == datetime(2026, 1, 4, tzinfo=UTC)
    [state] = [
        claim for claim in claims("I moved to Rome yesterday.") if claim.attribute == "lives_in"
    ]
    assert state.at == START


def test_a_plan_has_its_day() -> None:
    """S2: what will be done on Friday."""
    [plan] = claims("I'm going to visit Graz on Friday.")
    assert plan.at == datetime(2026, 1, 9, tzinfo=UTC)


def test_reading_twice_finds_the_same() -> None:
    """S1: extraction is a pure function."""
    told = turns(
        "I live in Rome and my sister Mia is vegan.",
        "Sorry, I meant Milan.",
        "She's not vegan any more.",
    )
    assert extract(told) == extract(told)


def test_a_turn_claims_the_same_thing_once() -> None:
    """S1: saying it twice in one breath is one claim."""
    found = claims("I love jazz. Jazz is my passion. I love jazz!")
    assert [(claim.attribute, claim.value) for claim in found] == [("likes", "jazz")]


@every(
    ("note", "attribute", "value"),
    [
        ("The user lives in Lisbon.", "lives_in", "Lisbon"),
        ("user works at Acme", "employer", "Acme"),
    ],
)
def test_a_note_about_the_user_names_a_person(note: str, attribute: str, value: str) -> None:
    """S7: what an agent writes about the user is read like what is said of anybody by name."""
    (found,) = extract([Turn(note, None, START)])
    assert [(one.subject, one.attribute, one.value) for one in found] == [
        ("User", attribute, value)
    ]


@every(
    ("said", "attribute", "value"),
    [
        ("I live in Porto and work at Acme.", "employer", "Acme"),
        ("We live in Rome and work for Initech.", "employer", "Initech"),
    ],
)
def test_a_second_verb_is_read(said: str, attribute: str, value: str) -> None:
    """S1: a word that may be a noun is a verb before at, as or for."""
    (found,) = extract([Turn(said, "Ana", START)])
    assert (attribute, value) in [(one.attribute, one.value) for one in found]
    assert not any(one.attribute.startswith("does:live at") for one in found)
