"""S1, S6: what only the network reads is noted in words that are understood by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.claims import Claim, Turn, open_words, sentences, tagged, tagger
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import MASK
from lamina.engines.claims.tagger import Network, Tags
from tests.cases import every

from .holding import START

WORDS = (
    "the cat Mochi is 9 , and so we moved to Graz because my . rent ( diabetic ) it I'm on".split()
)


class Pointing(Network):
    """A network that says of every value that it is about one word, or about the speaker."""

    def __init__(self, whom: int = 0) -> None:
        super().__init__({})
        self.whom = whom

    def about(self, states: tagger.Floats, named: tagger.Floats, place: int) -> tagger.Floats:
        likely: tagger.Floats = np.eye(len(named) + 1, dtype=np.float32)[self.whom]
        return likely


def seen(plain: str, values: Sequence[str], *, status: str = "holds", about: str = "") -> Tags:
    """What a network would say that takes these words for values."""
    words = open_words.split(plain)
    statuses = np.zeros((len(words), len(tagger.STATUSES)), np.float32)
    begins = np.zeros(len(words), np.float32)
    place = 0
    for value in values:
        place = plain.index(value, place)
        first, last = open_words.within(words, place, place + len(value))
        statuses[first:last, tagger.STATUSES.index(status)], begins[first] = 1, 1
    whom = next((n for n, word in enumerate(words, 1) if word.text == about), 0)
    network = Pointing(whom)
    return Tags(plain, plain.lower(), words, statuses, begins, statuses, statuses, network)


def notes(
    text: str, *values: str, about: str = "", status: str = "holds", known: str = ""
) -> list[str]:
    """The notes that are made of a turn, where some words of it are known from another claim."""
    said = Said(Turn(text, "user", START), text, "user", 0)
    start = text.index(known)
    other = Claim("user", "owns", known, start, start + len(known), START, 0.9, "has")
    found = tagged.proposals(
        seen(text, values, status=status, about=about),
        said,
        list(sentences.clauses(text)),
        [other] if known else [],
        lambda subject, first, last: not known or last <= start or first >= other.end,
    )
    return [f"{claim.subject} {claim.attribute}: {claim.value}" for _, claim in found]


@every(
    ("text", "values", "wanted"),
    [
        ("Since the diagnosis, got it at 29", ["29"], ["user other: got it at 29"]),
        ("No meat: fish is fine, thanks", ["fish"], ["user other: fish is fine"]),
        ("The old rate was 70, and I raised it to 85", ["85"], ["user other: raised it to 85"]),
        (
            "Production's stuck on Java 8 because a client refuses",
            ["stuck on Java 8"],
            ["user other: Production's stuck on Java 8"],
        ),
        (
            "we're people across Chennai, Austin and Dresden",
            ["Chennai", "Austin and Dresden"],
            ["user other: people across Chennai, Austin and Dresden"],
        ),
        ("tea, please", ["tea"], []),
        ("What fits a Brompton from 2019?", ["Brompton"], ["user other: Brompton"]),
    ],
)
def test_a_note_is_understood_by_itself(text: str, values: list[str], wanted: list[str]) -> None:
    """S1: values of one clause are one note, with the words around them that say what they are."""
    assert notes(text, *values) == wanted


def test_only_a_past_state_loses_its_not() -> None:
    """S1: "not head any more" was head; of what is so now, a note never says the contrary."""
    told, value = "not head of department any more", "head of department"
    assert notes(told, value, status="ended") == [f"user other: {value}"]
    assert notes(told, value) == [f"user other: {told}"]


def test_a_note_does_not_name_its_person_twice() -> None:
    """S1: a note about Theo says what is so of Theo."""
    [note] = notes("Theo is into volcanoes", "into volcanoes", about="theo")
    assert note == "Theo other: into volcanoes"


def test_a_note_leaves_out_what_is_said_of_another() -> None:
    """S1: beside "my sister rides", the note about Leo is his alone, with the whole of his name."""
    text = "Leo Marsh paints boats while Priya rides"
    assert notes(text, "paints boats", about="marsh", known="Priya") == [
        "Leo Marsh other: paints boats"
    ]
    assert notes(text, "paints boats", about="leo") == ["Leo Marsh other: paints boats"]


def test_what_is_said_of_a_thing_far_away_is_not_said_of_the_speaker() -> None:
    """S1: a note about a thing names it; otherwise it would be read as one about the speaker."""
    near, far = "the boiler is off for six days", "the boiler: it was fixed, and is off"
    assert notes(near, "off for six days", about="boiler") == [
        "user other: the boiler is off for six days"
    ]
    assert notes(far, "off", about="boiler") == []


def test_masked_words_are_in_no_note() -> None:
    """S1: two values with a link between them are not joined into a note that holds the link."""
    text = f"my desk is up here {MASK * 4} near the lift"
    for note in notes(text, "up here", "near the lift"):
        assert MASK not in note


def test_a_plan_is_noted_as_one() -> None:
    """S1: what is planned is a plan."""
    assert notes("thesis defence 27 June", "27 June", status="planned") == [
        "user plan: thesis defence 27 June"
    ]


def test_a_time_alone_is_no_note() -> None:
    """S1: when something is that another claim says already, is nothing of its own."""
    text = "I visit Graz on 12 June"
    assert notes(text, "12 June", known="visit Graz") == []
    assert notes("I see you on 12 June", "12 June") == ["user other: see you on 12 June"]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=40), st.data())
def test_a_note_has_words_of_its_turn(words: list[str], data: st.DataObject) -> None:
    """S1, S5: whatever is taken for a value, a note is a part of the turn, and not too long."""
    text = " ".join(words)
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    value = " ".join(words[first:last])
    for note in notes(text, value, about=data.draw(st.sampled_from(["", "mochi"]))):
        said = note.partition(": ")[2]
        assert said in text
        assert len(open_words.split(said)) <= max(tagged.NOTE_WORDS, len(open_words.split(value)))
