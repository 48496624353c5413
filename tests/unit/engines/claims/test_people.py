"""Who is meant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lamina.engines.claims import Turn
from lamina.engines.claims.extraction import extract
from lamina.engines.claims.people import People, is_machine, relations
from tests.cases import every

from .holding import claims

MENTIONED: tuple[tuple[str, list[tuple[str, str]]], ...] = (
    ("my sister Mia", [("sibling", "Mia")]),
    ("My mum, Carol, is here", [("parent", "Carol")]),
    ("Biscuit, our old spaniel", [("pet", "Biscuit")]),
    ("Ruby's my girlfriend", [("partner", "Ruby")]),
    ("my dog is called Rex", [("pet", "Rex")]),
    ("My wife is Eva.", [("partner", "Eva")]),
    ("My husband is now Tom and I am glad", [("partner", "Tom")]),
    ("My sister is Eva Lang.", [("sibling", "Eva Lang")]),
    ("My dog is Rufus!", [("pet", "Rufus")]),
    ("My dog's name is Rufus", [("pet", "Rufus")]),
    ("The name of my dog is Rufus", [("pet", "Rufus")]),
    ("My wife, Eva, paints", [("partner", "Eva")]),
    ("My boss is Dr. Weber.", [("", "Weber")]),
    ("My best friend is Paul.", [("friend", "Paul")]),
    ("My kids are Tom and Anna.", [("child", "Tom"), ("child", "Anna")]),
    ("My cats' names are Otis and Fern", [("pet", "Otis"), ("pet", "Fern")]),
    ("My wife is not Eva.", []),
    ("My wife isn't Eva.", []),
    ("My girlfriend was Anna.", []),
    ("my wife is eva", []),
    ("my wife's name is eva", [("partner", "eva")]),
    ("my wife is called eva, and she works a lot", [("partner", "eva")]),
    ("my sister, who is called ada, is a nurse", [("sibling", "ada")]),
    ("my brother named leo is 5", [("sibling", "leo")]),
    ("my brother is called away.", []),
    ("my brother called yesterday.", [("sibling", "brother")]),
    ("my son is named after him", [("child", "son")]),
    ("my dog's name is rufus", [("pet", "rufus")]),
    ("my wife is a nurse", [("partner", "wife")]),
    ("My wife is Italian.", [("partner", "wife")]),
    ("My sister is Head of Sales.", [("sibling", "sister")]),
    ("my kids", [("child", "kids")]),
    ("our kids", []),
    ("my horse painting", []),
    ("my neighbour Earl", [("", "Earl")]),
    ("your sister Mia", []),
)


@every(("words", "wanted"), MENTIONED)
def test_relations_are_found(words: str, wanted: list[tuple[str, str]]) -> None:
    """S1: people and animals of the speaker, by their name or what is said in place of it."""
    assert [(one.attribute, one.shown) for one in relations(words)] == wanted


def test_a_name_takes_the_place_of_what_was_said_before_it_was_known() -> None:
    """S1: who says "my sister", and a day later what she is called, has one sister."""
    told = claims("My little sister moved to Rome.", "My sister is Eva.")
    assert [(c.value, c.replaces) for c in told if c.attribute == "sibling"] == [
        ("little sister", None),
        ("Eva", "little sister"),
    ]


def test_who_is_called_jan_has_no_nickname_by_that() -> None:
    """S1: a name is said once; it says nothing about who has it."""
    told = claims("My brother is called Jan.", "I have a sister, Eva.", "I took my dog to the vet.")
    about = [(c.attribute, c.value) for c in told if c.attribute != "did"]
    assert about == [("sibling", "Jan"), ("sibling", "Eva"), ("pet", "dog")]


def test_she_is_whom_only_one_person_fits() -> None:
    """S1: a pronoun with two candidates means nobody."""
    people = People(["Ann", "Otto"])
    people.listen("my sister Mia and my brother Sam", "Ann", 0)
    assert people.meant("she", 0) == "Mia"
    people.listen("my aunt Zoe", "Ann", 1)
    assert people.meant("she", 1) == ""
    assert people.meant("she", 9) == ""


def test_somebody_without_a_name_may_be_meant_as_well() -> None:
    """S1: "my mother called. She is a nurse" says nothing about Mia."""
    assert not [
        c
        for c in claims("My sister Mia is here, and my mother. She is a nurse.")
        if c.attribute == "job"
    ]


def test_a_pronoun_is_claimed_for_the_one_who_was_named() -> None:
    """S1: third persons by simple pronouns."""
    [claim] = [
        c
        for c in claims("My daughter Leah called.", "She's an electrician now.")
        if c.attribute == "job"
    ]
    assert (claim.subject, claim.value) == ("Leah", "electrician")


def test_my_sister_is_she_who_was_named_once() -> None:
    """S1: a relation stands for its name."""
    [claim] = [
        c for c in claims("My sister Mia called.", "My sister is a nurse.") if c.attribute == "job"
    ]
    assert claim.subject == "Mia"


def test_machines_are_known_by_their_role() -> None:
    """S1: an assistant claims nothing."""
    assert all(map(is_machine, ("assistant", "AI", "Bot", "system", "tool", "Agent 7")))
    assert not any(map(is_machine, ("Ann", "user", None, "")))


def test_a_friendship_is_with_the_one_who_listens() -> None:
    """S1: "our friendship" names nobody, but where two talk it is clear who is meant."""
    at = datetime(2024, 5, 1, 9, tzinfo=UTC)
    thanks = Turn("Thanks for being such a good friend!", "Ann", at)
    [found, _] = extract([thanks, Turn("Any time.", "Otto", at)])
    assert [(one.subject, one.attribute, one.value) for one in found] == [("Ann", "friend", "Otto")]
    assert extract([thanks]) == [[]]
    assert extract([thanks, Turn("Any time.", "Assistant", at)]) == [[], []]


def test_a_name_may_follow_a_little_later() -> None:
    """S1: who was spoken of without a name in this talk is named in the next turns; not
    a day later."""
    at = datetime(2024, 5, 1, 9, tzinfo=UTC)
    for later, wanted in ((timedelta(minutes=5), ["Kyle"]), (timedelta(days=1), [])):
        said = [
            Turn("My youngest is so cute!", "Ann", at),
            Turn("His name is Kyle.", "Ann", at + later),
        ]
        assert [one.value for one in extract(said)[1]] == wanted
