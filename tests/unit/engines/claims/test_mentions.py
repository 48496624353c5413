"""What is known and mentioned again (S2, S7): it ends where a message says so, and nowhere else.

How likely a mention is over is given, so that these tests hang on no network; the last one asks the
network that is shipped.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from lamina.engines.claims import Claim, Turn, mentions, sentences, tagged, tagger
from lamina.engines.claims.denials import Affirmed
from lamina.engines.claims.said import Said
from lamina.engines.claims.tagger import Network, Tags
from tests.cases import every
from tests.unit.engines.claims.holding import claims as claimed

if TYPE_CHECKING:
    from lamina.engines.claims.tagger import Floats

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
BEFORE = NOW - timedelta(days=90)
Told = tuple[str, str, str]  # a subject, an attribute and a value
MEDICINE = ("Ann", "does:take", "sertraline")
BAND = ("Ann", "other", "in a band called The Gutters")
OLA = ("Zofia", "sibling", "Ola")


class Sure(Network):
    """The network that is shipped, but for how likely it takes a mention to be over."""

    def __init__(self, likely: float) -> None:
        super().__init__(tagger.shipped().numbers)
        self._given = likely

    def over(self, states: Floats) -> Floats:
        return np.full(len(states), self._given, np.float32)


def claim(subject: str, attribute: str, value: str, text: str = "", **more: Any) -> Claim:
    place = max(0, text.find(value))
    given = {"at": NOW if text else BEFORE, "confidence": 0.8, "rule": "open self", **more}
    return Claim(subject, attribute, value, place, place + len(value), **given)


def ended(
    text: str, known: list[Told], found: tuple[Claim, ...] = (), likely: float = 0.9
) -> list[str]:
    """List what a message of Ann's ends, if every mention in it is as likely over."""
    return [
        f"{one.subject}: {one.attribute} = {one.value}"
        for one in told(text, known, found, likely)
        if one.rule == mentions.RULE and one.until == NOW
    ]


def told(text: str, known: list[Told], found: tuple[Claim, ...], likely: float) -> list[Claim]:
    plain = sentences.said(text)
    said = Said(Turn(text, "Ann", NOW), plain, "Ann", 1)
    clauses = list(sentences.clauses(plain))

    def tags() -> Tags:
        read = tagger.shipped().tag(plain, clauses, is_talk=False)
        return structs.replace(read, network=Sure(likely))

    affirmed = Affirmed(claim(*one) for one in known)
    return mentions.over(said, clauses, list(found), affirmed, tags)


@every(
    ("text", "known", "wanted"),
    [
        ("I came off sertraline last week.", MEDICINE, ["Ann: does:take = sertraline"]),
        ("I left The Gutters.", BAND, ["Ann: other = in a band called The Gutters"]),
        (
            "Ola packed up and left Tucson.",
            ("Ola", "lives_in", "Tucson"),
            ["Ola: lives_in = Tucson"],
        ),
        ("I'm off the pills.", MEDICINE, []),  # it is not named
        ("Is sertraline over for me?", MEDICINE, []),  # it is asked
        ("The kiln broke.", ("Ann", "goal", "buy a used kiln"), []),  # one of its words
        ("I left The Gutters.", ("Ann", "did", "left The Gutters"), []),  # stays done
        ("No emojis there.", ("Ann", "instruction:emojis", "No emojis"), []),
        (
            "Sold the Octavia.",
            ("Ann", "has:car", "Skoda Octavia"),
            ["Ann: has:car = Skoda Octavia"],
        ),
        ("removed jest completely", ("Ann", "does:use", "Jest"), ["Ann: does:use = Jest"]),
        # What is one's brother's, a common word of a name, and another's first name.
        ("My brother quit Siemens.", ("Ann", "employer", "Siemens"), []),
        ("I got a new bike, the old one is gone.", ("Ann", "lives_in", "New York"), []),
        ("The street is closed.", ("Ann", "lives_in", "12 Baker Street"), []),
        ("Practice is over on Mondays.", ("Ann", "has:closed", "Mondays"), []),
        ("I may stop running.", ("Ann", "plan", "visit Japan in May"), []),
        ("I will quit drinking at Bosch.", ("Will", "employer", "Bosch"), []),
    ],
)
def test_what_is_known_ends_where_a_message_says_so(
    text: str, known: Told, wanted: list[str]
) -> None:
    """S2: of the speaker or of somebody who is named, by all words of the value or by its name."""
    assert ended(text, [known]) == wanted


def test_an_unlikely_mention_ends_nothing() -> None:
    """S2: what is likelier to hold holds; of kin, it has to be clearer."""
    assert ended("I came off sertraline last week.", [MEDICINE], likely=0.4) == []
    assert ended("Ola was magnanimous.", [("Ann", "partner", "Ola")], likely=0.6) == []


def test_what_another_person_ends_ends_nothing_of_the_speaker() -> None:
    """S2: whoever is named before a mention, unless the sentence speaks of the speaker, too."""
    rome = ("Ann", "other", "travel to Rome each May")
    assert ended("Our neighbours have abandoned Rome.", [rome]) == []
    assert ended("Her sister took me off sertraline.", [MEDICINE]) == [
        "Ann: does:take = sertraline"
    ]


def test_what_a_turn_says_of_a_value_wins() -> None:
    """S2: who is said to do something, or to be something else, is not gone; nor what is told anew."""
    moved = claim("Ola", "lives_in", "Poznan", "Ola moved to Poznan.")
    assert ended("Ola moved to Poznan.", [("Ann", "sibling", "Ola")], (moved,)) == []
    cousin = claim("Ann", "relative", "Nils", "Nils is not my cousin.", negated=True)
    assert ended("Nils is not my cousin.", [("Ann", "sibling", "Nils")], (cousin,)) == []
    lived = claim("Ann", "lives_in", "Ostrava", "I lived in Ostrava before Brno.", until=NOW)
    assert ended("I lived in Ostrava before Brno.", [("Ann", "lives_in", "Brno")], (lived,)) == []


def test_who_is_no_longer_what_they_were_is_replaced() -> None:
    """S2: in either order of the words; what follows takes the place, and makes no note."""
    said = "My manager is Carla."
    for text in (
        "Carla is no longer my manager, it's Dario now.",
        "Carla isn't my manager any more.",
    ):
        told = claimed(said, text)
        assert [one.value for one in told if one.negated] == ["Carla"], text
        assert not any(one.attribute == "other" and not one.until for one in told), text
    *_, new = claimed(said, "Carla is no longer my manager, it's Dario now.")
    assert (new.attribute, new.value, new.replaces) == ("has:manager", "Dario", "Carla")


def test_what_a_professional_says_of_the_speaker_counts() -> None:
    """S2: "my doctor says that I'm not allergic" ends an allergy; what a brother says does not."""
    said = "I'm allergic to peanuts."
    assert any(one.negated for one in claimed(said, "My doctor says I'm not allergic to peanuts."))
    assert not any(
        one.negated for one in claimed(said, "My brother says I'm not allergic to peanuts.")
    )


def test_what_somebody_of_a_person_gives_up_is_not_that_persons() -> None:
    """S2: "Ida's sister" is not Ida."""
    said = "My partner Ida is a nurse."
    over = claimed(said, "Ida's sister Frieda gave up nursing to bake sourdough.")
    assert not any(one.subject == "Ida" and one.negated for one in over)


def test_no_note_repeats_what_has_ended() -> None:
    """S1, S2: "came off sertraline" is the end of a fact, and no fact besides."""
    text = "I came off sertraline last week."
    note = claim("Ann", "other", "came off sertraline", text, rule=tagged.RULE)
    (only,) = told(text, [MEDICINE], (note,), 0.9)
    assert only.rule == mentions.RULE
    assert only.confidence == 0.94


def test_the_network_tells_what_is_over() -> None:
    """S2, S7: in words that no rule lists, and only then."""
    said = "I take sertraline in the morning."
    over = claimed(said, "Took my last sertraline ten days ago, the doctor agreed.")
    assert any(one.until and one.value == "sertraline" for one in over)
    still = claimed(said, "Forgot the sertraline this morning, is that bad?")
    assert not any(one.until for one in still)


def test_what_was_done_to_a_thing_is_no_habit_of_it() -> None:
    """S1: "debating has been bumped to Fridays" is no habit of somebody called Debating."""
    told = claimed("Debating has been bumped to Fridays.", speaker=None)
    assert not any(one.attribute == "habit" for one in told)
