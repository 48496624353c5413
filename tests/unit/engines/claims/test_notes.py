"""Notes about somebody (S1, S2): they say what the person would say of their own things."""

from __future__ import annotations

from msgspec import structs

from lamina.engines.claims.extraction import extract
from tests.cases import every

from .holding import claims, turns

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
    ("User drives a Fiat and works at Siemens", [("User", "employer", "Siemens")]),
    ("Tom bakes", []),  # may be a noun
    ("The deploy script runs at 5pm", []),
    ("Always use uv", []),
    # Whose they are, is not said.
    ("Olu can't come because I have covid.", []),
    ("Olu drives a Fiat, but I drive a BMW.", []),
    ("Olu knows my sister Mia.", []),
    # No persons.
    ("Rent is 900 euros", []),
    ("Rent will go up to 950.", []),
    ("Backups go to S3 every night", []),
    ("TODO is in Jira.", []),
    ("Support is in Manila.", []),
    ("Car has a flat tyre.", []),
    ("Dinner is at eight.", []),
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


def test_only_the_sentence_of_the_owner_is_about_them() -> None:
    """S1: what a note says next is not said by the same person, and words stay where they are."""
    note = "It rained. Olu's manager is Femi Ade. The server is eu-2. Ana lives in Paris."
    found = claims(note, speaker=None)
    assert [(one.subject, one.value) for one in found] == [("Olu", "Femi Ade"), ("Ana", "Paris")]
    assert all(one.value in note[one.start : one.end] for one in found)


@every(
    ("note", "wanted"),
    [
        ("We use PostgreSQL", [("apollo", "does:use", "PostgreSQL")]),
        ("Our database is PostgreSQL", [("apollo", "has:database", "PostgreSQL")]),
        ("We live in Porto", []),  # no project does
        ("We use what my sister uses", []),  # whose she is, is not known
        ("Olu drives a Fiat", [("Olu", "owns", "Fiat")]),
    ],
)
def test_a_note_of_a_project_says_it_of_the_project(
    note: str, wanted: list[tuple[str, str, str]]
) -> None:
    """S1, C7: "we" in a note without a speaker is the project, and nobody without one."""
    (turn,) = turns(note, speaker=None)
    (found,) = extract([structs.replace(turn, project="apollo")])
    told = [(one.subject, one.attribute, one.value) for one in found if one.confidence >= LIKELY]
    assert told == wanted
    if any(subject == "apollo" for subject, _, _ in wanted):
        assert claims(note, speaker=None) == []
