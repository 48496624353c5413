"""Claims out of German, Spanish, French, Portuguese and Italian."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.claims import spoken, tagged, tongues
from tests.cases import every, golden

from .holding import START, claims

SENTENCES = golden("engines/languages.jsonl")
WORDS = sorted({word for _, text, _ in SENTENCES for word in text.split()})
ENGLISH = (
    "See ya!",
    "Go get 'em, Jon!",
    "Call me Sam.",
    "Never use emojis.",
    "metric only",
    "Hola! My dog is called Pepe and I live in Madrid.",
    "Die another day is my favourite film.",
    "Translate this into German, please.",
    "no",
    "",
)


@every(("code", "text", "wanted"), SENTENCES)
def test_a_sentence_is_read_in_its_language(code: str, text: str, wanted: list[list[str]]) -> None:
    """Q8, S1, S8: the attributes of English where it has one; a dash denies, a tilde is over.

    What the network notes beside them has none, but nothing is noted where nothing is stated.
    """
    found = [
        [one.subject, one.attribute, "-" * one.negated + "~" * (one.until is not None) + one.value]
        for one in claims(text)
        if one.rule != tagged.RULE or not wanted
    ]
    assert sorted(one[:2] for one in found) == sorted(one[:2] for one in wanted)
    for subject, attribute, value in wanted:
        values = [one[2] for one in found if one[:2] == [subject, attribute]]
        assert any(_alike(one, value) for one in values), (values, value, code)


def _alike(one: str, other: str) -> bool:
    """Tell if two values have the same mark, and the shorter is in the longer."""
    short, long = sorted((one, other), key=len)
    is_same = one[:1] == other[:1] or not {one[:1], other[:1]} & {"-", "~"}
    return is_same and short.lstrip("-~").lower() in long.lower()


@every("text", ENGLISH)
def test_english_stays_english(text: str) -> None:
    """Q8: no table reads an English turn, however short it is."""
    assert spoken.of(text) is None


def test_what_others_do_is_not_the_speakers() -> None:
    """S1: where the parents live and work is noted at most, in the words that say whose it is."""
    told = claims("Meine Eltern wohnen in Bonn und arbeiten bei Bosch.")
    assert all(one.attribute == tagged.NOTE and "Eltern" in one.value for one in told)


def test_what_is_over_has_an_end() -> None:
    """S1: a state of the past ended before it was told."""
    (claim,) = claims("Antes vivía en Bogotá.")
    assert claim.until == START
    assert not claim.negated


def test_friends_give_each_other_no_instructions_in_any_language() -> None:
    """S8: only an assistant is told what to do for ever."""
    assert claims("Antworte immer auf Deutsch.", "Otto: Klar.") == []
    assert len(claims("Antworte immer auf Deutsch.", "Assistant: Klar.")) == 1


def test_every_table_has_its_sentences() -> None:
    """Q8: at least twenty sentences check each language."""
    for tongue in tongues.ALL:
        assert sum(code == tongue.code for code, _, _ in SENTENCES) >= 20


@given(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join))
def test_any_words_are_read(text: str) -> None:
    """Q8, S5: whatever is said, a claim has words of the turn and a subject."""
    for claim in claims(text):
        assert claim.subject
        assert 0 < claim.confidence <= 1
        assert claim.value in text
        assert text[claim.start : claim.end]
