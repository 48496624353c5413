"""The language of a text, and whether its writer speaks of themselves."""

from __future__ import annotations

from lamina.engines.claims import spoken
from tests.cases import every


@every(
    ("text", "expected"),
    [
        ("I moved to Bergen last month.", True),
        ("i'm a nurse", True),
        ("My manager is Sandra Hoff.", True),
        ("Call me Sam", True),
        ("We deploy on Fridays", True),
        ("Ich wohne seit März in Köln und arbeite bei der Post", True),
        ("我住在北京", True),
        ("The staging server is eu-2 behind the Frankfurt gateway", False),
        ("Disk I/O is slow, i.e. below 10 MB/s in us-east-1", False),
        ("Ana's dentist is Dr. Hale", False),
        ("User wants daily reports at 7am", False),
        ("", False),
    ],
)
def test_who_speaks_of_themselves(text: str, expected: bool) -> None:
    """S1, S7: a pronoun counts in its own language, and not as a part of a name."""
    assert spoken.is_own(text) is expected


def test_we_in_a_note_of_a_project_is_the_project() -> None:
    """S7: only who says "I" speaks of themselves there."""
    assert not spoken.is_own("We use SQLite.", alone=True)
    assert spoken.is_own("We use SQLite, but I prefer Postgres.", alone=True)
    assert spoken.is_own("We use SQLite.")
