"""A part of something known is corrected by a contrast (S2, V9): the rest stays as it was."""

from __future__ import annotations

from tests.cases import every

from .holding import claims

CORRECTED = [
    (
        ("The dress fitting is on April 5th at 11.", "No, it's on the 4th, not the 5th."),
        "dress fitting is on April 4th at 11",
    ),
    (
        ("The demo is on Tuesday at 3pm in Room 12.", "not room 12, room 14"),
        "demo is on Tuesday at 3pm in room 14",
    ),
    (
        ("The party is in Leeds on Friday.", "The party isn't in Leeds but in York."),
        "party is in York on Friday",
    ),
    (("I paid 300 for the bike.", "not 300 but 350"), "paid 350 for the bike"),
    (("The offsite is 3 days in Porto.", "It's 4 days, not 3."), "4 days in Porto"),
]


@every(("told", "right"), CORRECTED)
def test_a_contrast_corrects_a_part(told: tuple[str, str], right: str) -> None:
    """S2: the right word takes the place of the wrong one, and nothing else is claimed of it."""
    before, *_, after = claims(*told)
    assert after.value.removeprefix("the ").removeprefix("The ") == right
    assert after.replaces == before.value
    assert after.corrects
    assert not after.negated


def test_what_changed_was_right_before() -> None:
    """S2: "now" tells of a change; what was said before had been so."""
    (*_, after) = claims("The demo is on Tuesday in Room 12.", "It's in room 14 now, not room 12.")
    assert after.replaces == "The demo is on Tuesday in Room 12"
    assert not after.corrects


@every(
    "told",
    [
        ("The demo is in Room 12 at 3.", "Is it in room 14, not room 12?"),  # asked
        ("The demo is in Room 12 at 3.", "We need 3 chairs, not tables."),  # another thing
        ("The demo is in Room 12 at 3.", "I am not in room 12."),  # nothing in its place
        ("Always answer in German, in 5 lines.", "I need 6 eggs, not 5."),  # an instruction
    ],
)
def test_other_contrasts_correct_nothing(told: tuple[str, str]) -> None:
    """S2: a question, another thing, and a denial without a right word."""
    assert not any(one.rule == "contrasted" for one in claims(*told))
