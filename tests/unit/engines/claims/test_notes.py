"""Notes about somebody (S1, S2): they say what the person would say of their own things."""

from __future__ import annotations

from tests.cases import every

from .holding import claims

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


@every(("note", "wanted"), OWNED)
def test_a_note_says_it_of_the_owner(note: str, wanted: list[tuple[str, str, str]]) -> None:
    """S1: a note without a speaker is about whoever it names, and else about nobody."""
    found = [(one.subject, one.attribute, one.value) for one in claims(note, speaker=None)]
    assert found == wanted


def test_only_the_sentence_of_the_owner_is_about_them() -> None:
    """S1: what a note says next is not said by the same person, and words stay where they are."""
    note = "It rained. Olu's manager is Femi Ade. The server is eu-2. Ana lives in Paris."
    found = claims(note, speaker=None)
    assert [(one.subject, one.value) for one in found] == [("Olu", "Femi Ade"), ("Ana", "Paris")]
    assert all(one.value in note[one.start : one.end] for one in found)
