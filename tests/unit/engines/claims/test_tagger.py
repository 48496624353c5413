"""S1, S6: the network says which words state something, and claims are judged by it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from lamina.engines.claims import Claim, Turn, open_words, sentences, tagger
from lamina.engines.claims.extraction import extract
from lamina.engines.claims.tagger import Network, Tags

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)


def tagged(text: str) -> Tags:
    plain = sentences.said(text)
    return tagger.shipped().tag(plain, list(sentences.clauses(plain)), is_talk=False)


def claims(text: str, speaker: str = "user") -> list[Claim]:
    (found,) = extract([Turn(text, speaker, NOW)])
    return found


def likely(text: str, words: str) -> float:
    """How likely some words of a text are a value."""
    tags = tagged(text)
    start = tags.lowered.index(words.lower())
    first, last = tags.span(start, start + len(words))
    return float(tags.statuses[first:last].sum(axis=1).mean())


@given(st.text(max_size=300))
def test_any_typing_can_be_tagged(text: str) -> None:
    """S1: every word has shares of statuses between nothing and one, whatever is typed."""
    tags = tagged(text)
    assert len(tags.statuses) == len(tags.words)
    assert np.isfinite(tags.statuses).all()
    assert (tags.statuses >= 0).all()
    assert (tags.statuses.sum(axis=1) <= 1.0001).all()
    for place in range(min(3, len(tags.words))):
        assert tags.about(place).sum() == pytest.approx(1, abs=1e-3)


def test_the_same_words_give_the_same_numbers() -> None:
    """Q6: tagging is deterministic, whatever was tagged before."""
    text = "My dentist is Dr. Silva and we deploy with Helm."
    first = tagged(text).statuses
    tagged("something else, of another length, in between")
    assert (tagged(text).statuses == first).all()


def test_what_is_stated_is_told_from_what_is_asked() -> None:
    """S1: a value that is stated is likelier one than the same words in a question."""
    stated = likely("My laptop is a ThinkPad T480.", "ThinkPad T480")
    assert stated > 0.5 > likely("Is a ThinkPad T480 any good?", "ThinkPad T480")


def test_a_long_turn_is_tagged_in_part() -> None:
    """S5: more words than anybody says are not tagged, so that no turn takes long."""
    tags = tagged("word " * (2 * tagger.MOST_WORDS))
    assert len(tags.words) == len(tags.statuses) == tagger.MOST_WORDS
    assert tags.span(0, 10**6) == (0, tagger.MOST_WORDS)


def test_a_network_without_knowledge_makes_no_claims() -> None:
    """S6: what no shape fits is claimed only if the network sees a value."""
    numbers = dict(tagger.shipped().numbers)
    numbers["out"] = np.zeros_like(numbers["out"])
    numbers["out_bias"] = np.array([20.0] + [0.0] * 8, np.float16)
    blind = Network(numbers)
    text = "dad had his hip done two weeks ago, still on crutches"
    (found,) = extract([Turn(text, "user", NOW)], network=lambda: blind)
    assert all(claim.rule != "tagged" for claim in found)


def test_a_network_claim_is_a_note_in_the_words_of_the_speaker() -> None:
    """S1, S7: what only the network reads replaces nothing, and shows what its value is of."""
    text = "STM32F411, 100 MHz, no RTOS, superloop. Allergic kid, two cats, Volvo V60, 24v system."
    for claim in claims(text):
        if claim.rule == "tagged":
            assert claim.attribute in ("other", "plan")
            assert claim.value in text
            assert claim.replaces is None


def test_talk_between_people_is_not_read_by_the_network_alone() -> None:
    """S1: where two people talk, the network only judges what rules and shapes have read."""
    turns = [
        Turn("omg hi, did you get the results?", "Ana", NOW),
        Turn("yeah, this morning. chem resit, august, ugh. 24v, 12 kids, V60", "Ben", NOW),
    ]
    assert all(claim.rule != "tagged" for found in extract(turns) for claim in found)


def test_words_and_inputs_are_as_many() -> None:
    """S1: the network is told something of each word."""
    plain = "I've moved: Porto, since May 2024!"
    words = open_words.split(plain)
    given = tagger.inputs(plain, words, list(sentences.clauses(plain)), is_talk=True)
    assert len(given.words) == len(given.kinds) == len(given.endings) == len(words)
    assert {len(marks) for marks in given.marks} == {tagger.MARKS}


def test_the_number_of_threads_is_left_as_it_was() -> None:
    """S5: the library behind numpy works with one thread while a turn is tagged, and only then."""
    before = [one["num_threads"] for one in threadpool_info()]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tagged, ["My dentist is Dr. Silva."] * 200))
    assert [one["num_threads"] for one in threadpool_info()] == before


@pytest.mark.parametrize("words", ["tea", "Green tea.", "Porto", "Dr. Silva", "24v"])
def test_a_bare_value_states_nothing(words: str) -> None:
    """S1: without a word that says what it is of, a value is no note."""
    assert all(claim.rule != "tagged" for claim in claims(words))
