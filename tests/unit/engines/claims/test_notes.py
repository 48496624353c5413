"""Notes about somebody (S1, S2): they say what the person would say of their own things."""

from __future__ import annotations

from tests.cases import every

from .holding import claims, said

LIKELY = 0.5

OWNED = [
    ("Olu's manager is Femi Ade", [("Olu", "has:manager", "Femi Ade")]),
    ("Aylin's thesis deadline is 30 June", [("Aylin", "has:thesis deadline", "30 June")]),
    ("Bob's favourite colour is green.", [("Bob", "favourite:colour", "green")]),
    ("Ana’s dog is called Rex", [("Ana", "pet", "Rex")]),
    ("The user's birthday is 4 May", [("User", "birthday", "4 May")]),
    ("Ana's moved to Rome.", [("Ana", "lives_in", "Rome")]),  # "has moved"
    ("Today's manager is Femi Ade", []),  # a day has no manager
    ("My manager is Femi Ade", []),  # whose is not known
]


ACTING = [
    ("Olu drives a Fiat", [("Olu", "owns", "Fiat")]),
    ("Jonas Weber manages the platform team", [("Jonas Weber", "job", "manage the platform team")]),
    ("The user likes strong espresso", [("User", "likes", "strong espresso")]),
    ("Ana prefers tea over coffee", [("Ana", "likes", "tea over coffee")]),
    ("Mia's sister lives in Oslo", [("Mia's sister", "lives_in", "Oslo")]),
    ("Rent is 900 euros", []),  # no person is 900 euros
    ("Backups go to S3 every night", []),
    ("Tom bakes", []),  # may be a noun
    ("The deploy script runs at 5pm", []),
    ("Always use uv", []),
]


@every(("note", "wanted"), [*OWNED, *ACTING])
def test_a_note_says_it_of_the_owner(note: str, wanted: list[tuple[str, str, str]]) -> None:
    """S1: a note without a speaker is about whoever it names, and else about nobody."""
    found = [
        (one.subject, one.attribute, one.value)
        for one in claims(note, speaker=None)
        if one.confidence >= LIKELY
    ]
    assert found == wanted


def test_a_note_denies_what_somebody_does() -> None:
    """S2: in the words in which they would say it."""
    (denied,) = claims("Priya no longer works at Acme", speaker=None)
    assert (denied.subject, denied.attribute, denied.value) == ("Priya", "employer", "Acme")
    assert denied.negated


def test_who_names_themselves_says_it_of_themselves() -> None:
    """S1: somebody else who is named says nothing by it."""
    assert ("Ann", "owns", "Fiat") in said("Ann drives a Fiat")


def test_only_the_sentence_of_the_owner_is_about_them() -> None:
    """S1: what a note says next is not said by the same person, and words stay where they are."""
    note = "It rained. Olu's manager is Femi Ade. The server is eu-2. Ana lives in Paris."
    found = claims(note, speaker=None)
    assert [(one.subject, one.value) for one in found] == [("Olu", "Femi Ade"), ("Ana", "Paris")]
    assert all(one.value in note[one.start : one.end] for one in found)
