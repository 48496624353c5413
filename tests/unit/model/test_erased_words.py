"""What goes with a memory that is erased, decided from texts and evidence alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lamina.model import erased_words
from lamina.model.erased_words import Trace

NAMES = [f"01kqh8tgyg61zr991hkvamhx{n:02d}" for n in range(10)]


def trace(
    number: int, said: str, *evidence: int, origin: str | None = None, vouched: bool = False
) -> Trace:
    return Trace(NAMES[number], tuple(NAMES[one] for one in evidence), (said,), origin, vouched)


def decided(
    chosen: list[Trace], resting: list[Trace], own: set[str] | None = None
) -> dict[int, bool]:
    found = erased_words.verdicts(chosen, resting, own or set())
    return {NAMES.index(one.id): one.goes for one in found}


def test_what_sleep_made_goes_always() -> None:
    """S3, P5: sleep makes it again from what is left."""
    assert decided([trace(0, "a")], [trace(1, "b", 0, 2, origin="sleep")]) == {1: True}


def test_what_holds_a_word_of_its_own_goes() -> None:
    """P5: whoever wrote it, and whatever else it rests on."""
    resting = [trace(1, "the wombat again", 0, 2, vouched=True), trace(2, "the weather", 0, 3)]
    assert decided([trace(0, "a wombat")], resting, {"wombat"}) == {1: True, 2: False}


def test_what_says_the_same_goes() -> None:
    """P5: four words in a row, or all of a shorter text."""
    resting = [
        trace(1, "as said, Ana lives in Rome now", 0, 2),
        trace(2, "Ana has lived long in Rome", 0, 2),
    ]
    assert decided([trace(0, "Ana lives in Rome.")], resting) == {1: True, 2: False}
    assert decided([trace(0, "green tea")], [trace(1, "likes GREEN  tea best", 0, 2)]) == {1: True}


def test_what_rests_on_nothing_else_goes_unless_an_operator_wrote_it() -> None:
    """P5, V7."""
    resting = [trace(1, "so it is", 0), trace(2, "be careful", 0, vouched=True)]
    assert decided([trace(0, "a")], resting) == {1: True, 2: False}


def test_it_goes_on_along_the_evidence() -> None:
    """P5: what rests on what goes is looked at too; behind one that stays, nothing is touched."""
    resting = [trace(1, "one", 0), trace(2, "two", 1), trace(3, "three", 0, 9), trace(4, "four", 3)]
    assert decided([trace(0, "a")], resting) == {1: True, 2: True, 3: False}


def test_a_trace_holds_every_text_of_a_record() -> None:
    """P5: content, names, tags, values of metadata, and evidence that is no record; no ids."""
    fields = {
        "id": NAMES[0],
        "content": "c",
        "speaker": "s",
        "source": None,
        "session": "t",
        "key": "k",
        "tags": ["g"],
        "metadata": {"origin": "sleep", "deep": [{"x": "m"}, 3]},
        "evidence": [NAMES[1], "/path"],
    }
    found = erased_words.trace(fields)
    assert set(found.texts) == {"c", "s", "t", "k", "g", "m", "sleep", "/path"}
    assert (found.origin, found.sources) == ("sleep", [NAMES[1]])


def test_what_repeats_what_goes_goes_too() -> None:
    """P5: also one step further: the second says what only the first had said."""
    resting = [trace(1, "a quokka instead", 0), trace(2, "the quokka again", 1, 9)]
    assert decided([trace(0, "a wombat")], resting, {"wombat", "quokka"}) == {1: True, 2: True}


def test_a_signature_knows_words_and_runs_in_any_script() -> None:
    """P5, Q8: whole words in any case and accent, several everyday words in a row, and scripts
    without spaces."""
    words = erased_words.Signature(frozenset({"zanzibarit", "unuvar"}))
    assert words.is_in("Der ZANZIBARIT!")
    assert words.is_in("Ünüvar")
    assert not words.is_in("zanzibarits")
    said = [trace(0, "I told her about the house"), trace(1, "我喜欢绿茶")]
    runs = erased_words.Signature(frozenset(), frozenset(erased_words.runs(said)))
    assert runs.is_in("yes, I told her about it")
    assert runs.is_in("他说我喜欢绿茶。")
    assert not runs.is_in("I told him about her house")
    assert words.masked("/x/zanzibarit.json") == "/x/….json"


SAID = st.lists(st.sampled_from("tea rome ana lives green wombat in".split()), max_size=6).map(
    " ".join
)


@given(SAID, st.lists(st.tuples(SAID, st.sets(st.integers(0, 5), max_size=3)), max_size=5))
def test_verdicts_are_closed(said: str, others: list[tuple[str, set[int]]]) -> None:
    """P5: each record is judged at most once, only what rests on something that goes is, and
    nothing that only rests on what goes stays, as long as no operator wrote it."""
    resting = [trace(place + 1, text, *evidence) for place, (text, evidence) in enumerate(others)]
    found = erased_words.verdicts([trace(0, said)], resting, set())
    gone = {NAMES[0], *(one.id for one in found if one.goes)}
    assert len({one.id for one in found}) == len(found)
    for one in resting:
        verdict = next((v for v in found if v.id == one.id), None)
        assert (verdict is not None) == bool(
            gone.intersection(one.sources) - {one.id} or one.id in gone
        )
        if one.sources and set(one.sources) <= gone:
            assert one.id in gone
