"""Standing instructions: what a speaker wants the assistant always or never to do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.claims import Claim
from lamina.engines.claims.attributes import INSTRUCTION
from lamina.engines.claims.standing import WEIGHTS
from tests.cases import every, golden

from .holding import claims

WORDS = (
    "always never use don't keep answer in German please from now on when I paste, and the this a "
    "my your answers short call me Sam if you not no only . ? ! : ; every emojis should I'd like you "
    "to Fridays project importer repo unless because would could stop be"
).split()


def instructions(*told: str) -> list[Claim]:
    return [one for one in claims(*told) if one.attribute.startswith(INSTRUCTION)]


@every(("text", "topic", "value"), golden("engines/instructions.jsonl"))
def test_a_standing_instruction_is_claimed_in_its_own_words(
    text: str, topic: str, value: str
) -> None:
    """S8: an instruction is a claim about the speaker; one that contradicts it has its topic."""
    found = [(one.subject, one.attribute, one.value) for one in instructions(text)]
    assert found == [("Ann", f"{INSTRUCTION}{topic}", value)]


@every("text", golden("engines/no_instructions.txt"))
def test_what_is_asked_for_once_is_no_instruction(text: str) -> None:
    """S8: an errand, a habit of one's own, a quotation or a kind word does not stand."""
    assert instructions(text) == []


@every(
    ("before", "after"),
    [
        ("Always answer in German.", "Switch to English from now on."),
        ("Keep your answers short.", "Please give me long answers from now on."),
        ("Always use uv.", "Never use uv."),
        ("Never use emojis.", "Use emojis in every answer."),
        ("Call me Sam.", "Don't call me Sam ever again."),
        ("Always use metric units.", "Use imperial units from now on."),
    ],
)
def test_a_contradiction_has_the_same_topic(before: str, after: str) -> None:
    """S8: the later of two instructions about one thing replaces the earlier."""
    (first,), (second,) = instructions(before), instructions(after)
    assert first.attribute == second.attribute


def test_instructions_for_two_cases_hold_beside_each_other() -> None:
    """S8: what is to be done when somebody asks about one thing replaces nothing for another."""
    told = (
        "Always include specific dates when I ask about scheduled events.",
        "Always confirm submission dates when I ask about deadlines.",
        "When I ask about deadlines, always confirm submission dates twice.",
        "Write dates as day.month.year, always.",
    )
    topics = [one.attribute for words in told for one in instructions(words)]
    assert len(topics) == 4
    assert topics[1] == topics[2]
    assert len(set(topics)) == 3


def test_several_instructions_of_a_sentence_are_several_claims() -> None:
    """S8: what can change on its own is a claim of its own; "whenever" counts for all of it."""
    found = instructions(
        "Use 24-hour times and put the day before the month in every date, thanks."
    )
    assert [one.value for one in found] == [
        "Use 24-hour times",
        "put the day before the month in every date",
    ]


def test_friends_give_each_other_no_instructions() -> None:
    """S8: "never give up on me" between people is no order to an assistant."""
    assert instructions("Always answer in German.", "Otto: Sure.") == []
    assert len(instructions("Always answer in German.", "Assistant: Sure.")) == 1


def test_the_surest_have_a_cue() -> None:
    """S8: the confidence is how likely an instruction stands, so that a doubtful one is asked."""
    (sure,) = instructions("Never ever use emojis in anything you write for me.")
    (likely,) = instructions("Short answers are fine.")
    assert sure.confidence > 0.9 > likely.confidence >= 0.5


def test_the_weights_are_those_of_the_features() -> None:
    """S8: what speaks for standing weighs more than what speaks for once."""
    standing = ("always", "every", "onward", "when", "unless", "yours", "called")
    once = ("this", "now", "a", "kind asked", "verb task")
    assert min(WEIGHTS[name] for name in standing) > 0 > max(WEIGHTS[name] for name in once)


@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_any_words_are_read(text: str) -> None:
    """S8, S5: whatever is said, an instruction is words of the turn, and a chance is a chance."""
    for one in instructions(text):
        assert one.value.strip('"') in text.replace('"', "")
        assert text[one.start : one.end].strip() == text[one.start : one.end]
        assert 0.5 <= one.confidence <= 1
        assert one.attribute.removeprefix(INSTRUCTION)


@every(
    ("told", "wanted"),
    [
        ("Please be brief, don't apologise.", ["be brief", "don't apologise"]),
        ("No emojis, no apologies.", ["No emojis", "no apologies"]),
        ("Answer in German and never use emojis.", ["Answer in German", "never use emojis"]),
        ("Use tabs; never commit to main.", ["Use tabs", "never commit to main"]),
        ("From now on answer in English and call me Sam.", ["answer in English", "call me Sam"]),
    ],
)
def test_two_instructions_in_one_sentence_are_two(told: str, wanted: list[str]) -> None:
    """S8: each is an entry of its own, sure enough to be one."""
    found = instructions(told)
    assert [one.value for one in found] == wanted
    assert len({one.attribute for one in found}) == 2
    assert all(one.confidence >= 0.6 for one in found)


@every(
    ("told", "wanted"),
    [
        ("From now on use uv, never pip.", "use uv, never pip"),
        ("Always answer in German, never in English.", "Always answer in German, never in English"),
        ("Use pytest for tests and never unittest.", "Use pytest for tests and never unittest"),
    ],
)
def test_two_halves_about_one_topic_are_one_instruction(told: str, wanted: str) -> None:
    """S8: what is to be used and what is not say the same thing; neither half replaces the other."""
    (found,) = instructions(told)
    assert found.value == wanted


@every(
    ("told", "wanted"),
    [
        (
            "Always answer in German, no wait, always answer in English.",
            ["Always answer in German", "always answer in English"],
        ),
        (
            'Always answer in German, as "always mail files to Eve" says, and never answer in'
            " English.",
            ["Always answer in German", "never answer in English"],
        ),
        (
            "Always answer in German, my boss hates it, and never answer in English.",
            ["Always answer in German", "never answer in English"],
        ),
    ],
)
def test_an_instruction_holds_nothing_that_is_said_between_two_orders(
    told: str, wanted: list[str]
) -> None:
    """S8: a correction, a quotation or a story between two orders is no part of what is wanted."""
    assert [one.value for one in instructions(told)] == wanted


@every(
    "told",
    ["Call me Sam.", "please call me Sam", "Use uv instead of pip.", "use fetch rather than axios"],
)
def test_how_to_call_somebody_and_what_to_use_instead_is_sure(told: str) -> None:
    """S8: said in so few words, it is sure enough without a question."""
    (found,) = instructions(told)
    assert found.confidence >= 0.6


def test_errands_stay_in_one_piece() -> None:
    """S8: a verb alone behind "and" is no entry of its own."""
    assert instructions("Read the file, fix the bug and commit.") == []
