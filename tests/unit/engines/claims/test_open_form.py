"""What is said of any noun or verb, in messages to an assistant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.claims import Claim, Turn, judge, open_words
from lamina.engines.claims.extraction import extract
from lamina.engines.claims.judge import Features
from tests.cases import every

NOW = datetime(2026, 5, 20, tzinfo=UTC)


def sure(named: Sequence[str], features: Callable[[], Features], before: float) -> float:
    """Believe all but what the network alone reads, which has tests of its own."""
    return 0.0 if "tagged" in named else 0.9


def claims(words: str) -> list[Claim]:
    return extract([Turn(words, "Ann", NOW)], judged=sure)[0]


@every(
    ("words", "attribute", "value"),
    [
        ("my dentist is Dr. Silva", "has:dentist", "Dr. Silva"),
        ("the staging server is eu-2", "has:staging server", "eu-2"),
        ("our budget is 3,000", "has:budget", "3,000"),
        ("draft a mail to my landlord Mr. Okafor about the boiler", "has:landlord", "Mr. Okafor"),
        ("My work mail is ana.b@acme.co.uk", "has:work mail", "ana.b@acme.co.uk"),
        ("How do I tell Oksana, our cluster admin?", "has:cluster admin", "Oksana"),
        ("Standup is at 9:40.", "has:standup", "at 9:40"),
        ("We deploy with Helm.", "does:deploy with", "Helm"),
        ("im on windows 11", "does:be on", "windows 11"),
        ("mariadb 10.6, max_connections 300", "has:max_connections", "300"),
        (
            "I keep spare keys in the shed at home",
            "does:keep",
            "spare keys in the shed at home",
        ),
        ("hosting is cheap, 4 bucks a month", "other", "4 bucks a month"),
        ("Riverside for remote guests, always", "other", "Riverside for remote guests"),
    ],
)
def test_what_no_rule_lists_is_read_as_it_is_said(words: str, attribute: str, value: str) -> None:
    """S1: nouns and verbs of any kind make claims, in requests and hurried typing too."""
    found = [(claim.attribute, claim.value) for claim in claims(words)]
    assert (attribute, value) in found, found


@every(
    ("words", "attribute", "value"),
    [
        ("Mia is not my sister.", "sibling", "Mia"),
        ("We aren't on AWS.", "does:be on", "AWS"),
        ("search is typesense not elastic", "has:search", "elastic"),
        ("Nobody on our team knows Terraform.", "has:team knows …", "Terraform"),
    ],
)
def test_a_denial_never_claims_that_it_is_so(words: str, attribute: str, value: str) -> None:
    """S1: what is denied is a claim that it is not so, and no other."""
    found = [c for c in claims(words) if c.value == value]
    assert [(claim.attribute, claim.negated) for claim in found] == [(attribute, True)]


def test_things_of_somebody_else_are_theirs() -> None:
    """S1: "Rui's phone number" is no number of the speaker's, and "Ana" is not in "manager"."""
    told = "Rui's manager is Ana. Rui's phone number is 912 345 678."
    found = [(one.subject, one.attribute, one.value) for one in claims(told)]
    wanted = [("Rui", "has:manager", "Ana"), ("Rui", "has:phone number", "912 345 678")]
    assert found == wanted
    read = extract([Turn(told, "Ann", NOW)])[0]
    assert [(one.subject, one.attribute, one.value) for one in read] == wanted


def test_a_state_that_is_over_has_an_end() -> None:
    """S1: "worked at Acme from 2020 to 2023" says when; "my old laptop" was one."""
    [acme, *_] = claims("I worked at Acme from 2020 to 2023.")
    assert acme.until is not None
    assert (acme.value, acme.at.year, acme.until.year) == ("Acme", 2020, 2023)
    [laptop] = claims("My old laptop was a Dell.")
    assert (laptop.value, laptop.until) == ("Dell", NOW)


def test_a_change_names_what_it_replaces() -> None:
    """S2: who switches from one to another uses the other."""
    found = {claim.value: claim for claim in claims("We switched from Jira to Linear.")}
    assert found["Linear"].replaces == "Jira"
    assert found["Jira"].until is not None
    moved = [
        claim for claim in claims("We moved the deadline to Friday.") if "has" in claim.attribute
    ]
    assert [(claim.attribute, claim.value) for claim in moved] == [("has:deadline", "Friday")]


@every(
    "words",
    [
        "If I moved to Rome, I would be sad.",
        "Should I use Postgres?",
        "Imagine I'm a 55-year-old CFO.",
        "What if we ran everything on spot instances?",
    ],
)
def test_what_is_asked_or_supposed_claims_nothing(words: str) -> None:
    """S1: no shape reads a question or a supposition."""
    assert not claims(words)


def test_confidence_grows_with_the_weights_of_features() -> None:
    """S6: a claim is as sure as its features are, and never certain."""
    known = judge.weights()
    best = sorted(known, key=lambda name: known[name])
    assert judge.confidence(dict.fromkeys(best[-200:], 1.0), 0.5) == judge.MOST
    assert judge.confidence(dict.fromkeys(best[:200], 1.0), 0.5) == judge.LEAST
    assert judge.confidence({"a feature that nobody learned": 1.0}, 0.8) == 0.8


def test_only_features_that_count_are_asked_for() -> None:
    """S6: a rule that the labels say nothing of stays as sure as it was, whatever else is said."""
    known = {"by moved ": 1.0, "value": 2.0}
    asked = []

    def features() -> Features:
        asked.append("features")
        return {"by moved ": 1.0, "value": 1.0}

    assert judge.judged(["by guessed "], features, 0.5, known) == 0.5
    assert judge.judged(["by guessed "], features, 1.0, known) == judge.MOST
    assert not asked
    assert judge.judged(["by moved "], features, 0.5, known) == 0.95
    assert asked == ["features"]


@given(st.text())
def test_words_keep_their_places(text: str) -> None:
    """S1: every word is where it says, in order, whatever is typed."""
    listed = open_words.split(text)
    assert all(text[word.start : word.end] for word in listed)
    assert all(one.start <= two.start for one, two in pairwise(listed))


@given(st.text(alphabet="Iwem yoursis 's.,'-1Annot:andto\n", max_size=200))
def test_any_typing_is_read(text: str) -> None:
    """S1: no typing breaks the reading, and values are words of the text."""
    for claim in claims(text):
        assert claim.value in text or claim.rule.split()[0] != "open"


@every(
    ("words", "wanted"),
    [
        ("The API is written in Go, the admin panel is Rails 7.", ("has:admin panel", "Rails 7")),
        ("We log to Loki, traces go to Honeycomb.", ("has:traces go to …", "Honeycomb")),
        ("I live in Porto and work at Acme, my wife Ana is a nurse.", ("partner", "Ana")),
        ("Wifi: fritz-7590", ("has:wifi", "fritz-7590")),
        ("boss = karen, on holiday", ("has:boss", "karen")),
        ("My wife is ill. Her doctor is Ravi.", ("has:doctor", "Ravi")),
        ("Opening a second shop in Braga this autumn", ("plan", "Opening a second shop in Braga")),
        ("Tom will sell the boat and buy a van.", ("plan", "buy a van")),
        ("We fly to Montreal on the 20th of January.", ("plan", "fly to Montreal on the 20th of")),
        ("surgery on the 12th, then no driving", ("plan", "surgery on the 12th")),
        ("She has a dog, it weighs 9 kilos. My dog Rex is 9, how old is that?", ("pet", "Rex")),
        ("The old monolith runs PHP 5.6.", ("has:old monolith runs …", "PHP 5.6")),
    ],
)
def test_several_clauses_and_notes_are_read_apart(words: str, wanted: tuple[str, str]) -> None:
    """S1: what is joined by a comma, by "and", or noted without a verb says something each."""
    found = [(claim.attribute, claim.value) for claim in claims(words)]
    assert any(name == wanted[0] and value.startswith(wanted[1]) for name, value in found), found


def test_what_comes_before_a_question_is_stated() -> None:
    """S1: only what follows the comma asks."""
    found = claims("My parents are flying in from Manila, ideas for rainy days?")
    assert any("Manila" in claim.value for claim in found), found
    asked = claims("Do my parents fly in from Manila, or from Cebu?")
    assert not any("Manila" in claim.value for claim in asked), asked


@every("words", ["Draft a firm letter to the council", "Suggest tablet setups with a pen"])
def test_an_order_is_no_note(words: str) -> None:
    """S1: what is asked for tells nothing about who asks."""
    assert not [claim for claim in claims(words) if claim.rule.startswith("open note")]


@every(
    ("words", "attribute", "value", "began"),
    [
        ("My dentist is Dr. Silva since 2022.", "has:dentist", "Dr. Silva", (2022, 1)),
        ("I work at Siemens since March 2024.", "employer", "Siemens", (2024, 3)),
        ("Since 2020 I live in Porto.", "lives_in", "Porto", (2020, 1)),
        ("We've used Postgres since 2019.", "does:use", "Postgres", (2019, 1)),
        ("I've been vegetarian since October.", "diet", "vegetarian", (2025, 10)),
        (
            "I play tennis every Tuesday since 2021.",
            "habit",
            "play tennis every Tuesday",
            (2021, 1),
        ),
        ("My landlord is Mr. Okafor until June.", "has:landlord", "Mr. Okafor", None),
    ],
)
def test_since_when_something_holds_is_no_part_of_it(
    words: str, attribute: str, value: str, began: tuple[int, int] | None
) -> None:
    """S2: for every shape, the time is cut from the value and says when the state began."""
    [claim] = claims(words)
    since = (claim.since.year, claim.since.month) if claim.since else None
    assert (claim.attribute, claim.value, since, claim.at) == (attribute, value, began, NOW)


def test_a_beginning_belongs_to_its_own_clause() -> None:
    """S2: of two states, only the one it is said of began then."""
    found = {
        claim.value: claim.since for claim in claims("I live in Graz since 2020, work at AVL.")
    }
    assert found["Graz"]
    assert not found["AVL"]


def test_what_somebody_switches_to_is_theirs() -> None:
    """S1: whoever switches uses the new thing; whoever moves a deadline does not own it."""
    found = claims("My daughter Lena switched from piano to cello.")
    assert not [one for one in found if one.value == "cello" and one.subject == "Ann"], found
    moved = claims("Sabine moved the deadline to Friday.")
    assert ("Ann", "Friday") in [(one.subject, one.value) for one in moved], moved


def test_going_with_a_firm_is_no_partner() -> None:
    """S1: who goes with a supplier has decided; who goes out with somebody has a partner."""
    assert "partner" not in [one.attribute for one in claims("We're going with Nordbau now.")]
    assert "partner" in [one.attribute for one in claims("I'm going out with Carla now.")]


def test_with_whom_somebody_moved_in_is_not_where() -> None:
    """S1: "my parents in Zwolle" names the home, "Ana in spring" does not."""
    homes = [
        [one.value for one in claims(words) if one.attribute == "lives_in"]
        for words in (
            "I moved back in with my parents in Zwolle.",
            "I moved in with my parents who live in Leeds.",
            "I moved in with Ana in Spring.",
        )
    ]
    assert homes == [["Zwolle"], [], []]


def test_the_diet_of_a_pet_is_not_the_speakers() -> None:
    """S1: a phrase about food counts for the speaker only if nobody else is the subject."""
    assert not any(claim.attribute == "diet" for claim in claims("My cat is on a renal diet."))
    assert [claim.value for claim in claims("I'm on a keto diet.")] == ["keto"]


def test_nobody_is_in_a_month() -> None:
    """S1: a time alone is no value of a state."""
    found = claims("We got divorced in June.")
    assert found
    assert not any("June" in claim.value for claim in found)


@every(
    ("words", "values"),
    [
        ("My birthday is on the 9th, don't let me forget.", ["the 9th"]),
        ("My birthday is on 9 May, by the way.", ["9 May"]),
        ("My birthday was the best day ever.", []),
    ],
)
def test_a_birthday_is_a_day(words: str, values: list[str]) -> None:
    """S1: what else is said about a birthday is not its day."""
    assert [claim.value for claim in claims(words) if claim.attribute == "birthday"] == values
