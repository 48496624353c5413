"""Signs: what a text could answer, and what a question wants to hear."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lamina.text import cues
from lamina.text.cues import ASKS, ASSISTANT, DATE, NAME, NUMBER, PLACE, USER, WISH
from lamina.text.screening import Screen
from tests.cases import every


@every(
    ("text", "expected"),
    [
        ("hello", 0),
        ("", 0),
        ("I went there yesterday", DATE),
        ("It was last week", DATE),
        ("See you next Friday", DATE | NAME),
        ("three weeks ago", DATE | NUMBER),
        ("back in 2019", DATE | NUMBER),
        ("on May 5", DATE | NUMBER | NAME),
        ("at 5 pm", DATE | NUMBER),
        ("at 5:30pm it ends", DATE | NUMBER),
        ("the 3rd of it", DATE | NUMBER),
        ("for the past years", DATE),
        ("since may", DATE),
        ("I may come", 0),
        ("she marches on", 0),
        ("two cups", NUMBER),
        ("a dozen eggs", NUMBER),
        ("7", NUMBER),
        ("someone often", 0),
        ("we met in Paris", PLACE | NAME),
        ("flew from Oslo", PLACE | NAME),
        ("Visiting the Louvre", NAME),
        ("visiting the Louvre", PLACE | NAME),
        ("in paris", 0),
        ("it was Ana", NAME),
        ("Ana was there", 0),
        ("Was it you?", ASKS),
        ("Was it you? ", ASKS),
        ('He said "was it you?"', ASKS),
        ("Was it you?)", ASKS),
        ("Was it you? [shares a photo]", ASKS),
        ("Was it you? I think so.", 0),
        ("¿no", 0),
        ("what now?!", 0),
    ],
)
def test_signs_of_a_text(text: str, expected: int) -> None:
    """Q5: a text shows whether it tells a time, a number, a place or a name, and whether it ends
    with a question."""
    assert cues.of(text, None) == expected


@every(
    ("text", "expected"),
    [
        ("Always answer in French.", WISH),
        ("Thanks! never use tabs", WISH),
        ("From now on, short answers", WISH),
        ("Use metric units whenever I ask about cooking", WISH),
        ("I prefer window seats", WISH),
        ("I really prefer tea", WISH),
        ("I'd rather walk", WISH),
        ("we always go there", 0),
        ("He has never been late", 0),
        ("I asked him", 0),
        ("she prefers tea", 0),
    ],
)
def test_a_wish_shows(text: str, expected: int) -> None:
    """Q5: a text shows that it states a standing instruction or a preference, alone or among
    others."""
    assert cues.of(text, None) & WISH == expected
    read = cues.of_all(["hello", text], [None, None], Screen(["hello", text]))
    assert [sign & WISH for sign in read] == [0, expected]


@every(
    ("question", "expected"),
    [
        ("How do I bake bread?", True),
        ("Can you suggest a hotel?", True),
        ("Which libraries should we use?", True),
        ("Can you help me with my CV?", True),
        ("Where is the tin?", False),
        ("Which hotel did I book?", False),
        ("Can you tell me what I said about tea?", False),
        ("What did you recommend for dinner?", False),
        ("", False),
    ],
)
def test_what_asks_for_help(question: str, expected: bool) -> None:
    """Q5: a call for help or advice is told from a question about what was said or done."""
    assert cues.asks_for_help(question) is expected


@every(
    ("question", "expected"),
    [
        ("How many books have I read?", True),
        ("Which did I get first, the phone or the laptop?", True),
        ("How long was it between the move and the wedding?", True),
        ("Who came first among Ana, Ben and Caro?", True),
        ("What activities does Mel enjoy?", True),
        ("Which cities has Jon visited?", True),
        ("Where has Ana been?", True),
        ("Where is the tin?", False),
        ("When did Ana move to Porto?", False),
        ("What is Ana's favourite dish?", False),
        ("What does Ben play?", False),
        ("tea " * 200 + "or coffee?", False),
        ("", False),
    ],
)
def test_what_asks_for_several_things(question: str, expected: bool) -> None:
    """Q5: who counts, compares or lists needs more than one place of the past."""
    assert cues.asks_for_several(question) is expected


@every(
    ("speaker", "expected"),
    [
        (None, 0),
        ("", 0),
        ("Ana", 0),
        ("user", USER),
        ("User", USER),
        ("HUMAN", USER),
        ("assistant", ASSISTANT),
        ("AI", ASSISTANT),
        ("system", ASSISTANT),
        ("tool", ASSISTANT),
        ("the assistant", 0),
        ("users", 0),
    ],
)
def test_roles_of_speakers(speaker: str | None, expected: int) -> None:
    """Q5: a speaker that is a role shows as that; a person shows as nobody in particular."""
    assert cues.of("hello", speaker) == expected
    assert cues.of("hello?", speaker) == expected | ASKS


@every(
    ("question", "expected"),
    [
        ("When did Ana come?", DATE),
        ("what day is it", DATE),
        ("Which year was that?", DATE),
        ("how long ago was it", DATE),
        ("How many cups?", NUMBER),
        ("how old is she", NUMBER),
        ("How long is it?", NUMBER),
        ("what is the total", NUMBER),
        ("Where is the tin?", PLACE),
        ("Which city do they live in?", PLACE),
        ("Who drinks tea?", NAME),
        ("whose tea is this", NAME),
        ("the name of the cat", NAME),
        ("What does Ana like?", 0),
        ("whenever", 0),
        ("wherever", 0),
        ("totally", 0),
        ("", 0),
        ("When and where, and who?", DATE),
        ("WHERE AND WHO", PLACE),
    ],
)
def test_what_a_question_wants(question: str, expected: int) -> None:
    """Q5: a question wants a time, a number, a place or a name by its own words; the
    first that fits."""
    assert cues.wanted(question) == expected


@every(
    ("question", "expected"),
    [
        ("What did you recommend for dinner?", True),
        ("which restaurant did you suggest", True),
        ("What have you recommended for dinner?", True),
        ("the restaurant that you suggested", True),
        ("You once told me about a tea; which?", True),
        ("Remind me of the recipe", True),
        ("What was your advice?", True),
        ("what was your first recommendation", True),
        ("In our last conversation, what came up?", True),
        ("We talked about hotels; which one was cheap?", True),
        ("What did the assistant say about tea?", True),
        ("Can you recommend a restaurant?", False),
        ("Could you please tell me when Ana came?", False),
        ("would you list my appointments", False),
        ("What did I say about tea?", False),
        ("What did Ana suggest?", False),
        ("you", False),
        ("", False),
    ],
)
def test_what_the_assistant_said(question: str, expected: bool) -> None:
    """Q5: a question about what the assistant said is told from a request to it, and from
    one about others."""
    assert cues.about_assistant(question) is expected


@every(
    ("question", "expected"),
    [
        ("In which order did I bring that up throughout our conversations?", True),
        ("Sum up all those long chats", True),
        ("What was decided in our conversation?", False),
        ("How many sessions did the course have?", False),
    ],
)
def test_conversations_as_such(question: str, expected: bool) -> None:
    """Q5: a question about conversations as such is about both who spoke."""
    assert cues.about_conversations(question) is expected


@given(st.text(), st.none() | st.text(max_size=12))
def test_any_text_has_signs(text: str, speaker: str | None) -> None:
    """Q5: no text is without an answer, and signs are bits of their own."""
    assert 0 <= cues.of(text, speaker) < 1 << 7
    assert cues.wanted(text) in (0, DATE, NUMBER, PLACE, NAME)
    assert cues.about_assistant(text) in (True, False)
    assert len({DATE, NUMBER, PLACE, NAME, ASKS, USER, ASSISTANT}) == 7


def test_a_long_text_is_looked_at_in_its_beginning() -> None:
    """Q5: what lies behind the first characters of a very long text shows nothing."""
    assert cues.of("x" * cues.LONGEST + " yesterday?", None) == 0
    assert cues.of("x" * (cues.LONGEST - 12) + " yesterday?", None) == DATE | ASKS


PIECES = st.sampled_from(
    "in since during for over the last next this past day days week weeks month months "
    "years ago later may sept Friday monday 7"
    " 19 2023 3rd 5pm ٣ ten tens two thirds first Visit visiting to from Ana Paris, é İ ; ? .".split()
)


@given(st.lists(PIECES).map(" ".join) | st.text())
def test_no_sign_is_passed_over(text: str) -> None:
    """What is left out at a glance shows no sign: each pattern says the same of the whole text."""
    patterns = {DATE: cues.TIMES, NUMBER: cues.COUNTED, PLACE: cues.PLACES, NAME: cues.NAMES}
    said = {DATE: text.lower(), NUMBER: text.lower(), PLACE: text, NAME: text}
    for sign, pattern in patterns.items():
        assert bool(cues.of(text, None) & sign) == (pattern.search(said[sign]) is not None)
