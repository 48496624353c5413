"""S1: a pattern is tried only in texts that may fit it, and finds all that it fits."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.claims import answers, changes, denials, people, references, sentences
from lamina.text.hints import Hinted, hinted, hints
from lamina.text.patterns import bounded

HINTED = (
    *(answers.TAKEN_BACK, denials.RETRACTS, sentences.DOUBT, sentences.SARCASM, people.MET),
    *(people.FRIENDS, *people.HOUSEHOLD, references.DIED, changes.THAT_OVER),
)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"\bcat\b", {"cat"}),
        (r"(?i:Cat)|dogs?", {"cat", "dog"}),
        (r"(?:a|an|the) (?:red )?cat[s]?", {"cat"}),
        (r"x{0,3}(?:cat|dog)+", {"cat", "dog"}),
        (r"(?>cat)s*+", {"cat"}),
        (r"no|not", {"no"}),
        (r"cat|(?<=\w)\*", {"cat", "*"}),
        (r"cat|\w+", set()),
        (r"cat|", set()),
        (r"", set()),
        (r"[ab]", set()),
        (r"(?:cat)?", set()),
        (r"(?=cat)\w+", set()),
    ],
)
def test_what_every_match_holds(pattern: str, words: set[str]) -> None:
    """S1: the longest words without which nothing fits; none where texts with nothing in common
    fit."""
    assert hints(re.compile(pattern)) == words


def test_a_text_is_asked_once_for_all_its_parts() -> None:
    """S1: places are those of the whole text, and another text is asked anew."""
    cat = hinted(r"\bCats?\b", re.I)
    text = "A cat and two CATS."
    found = cat.search(text, 6)
    assert found is not None
    assert found.span() == (14, 18)
    assert cat.search(text, 6, 13) is None
    assert not cat.may_be_in("A dog.")
    assert [one.group() for one in cat.finditer(text)] == ["cat", "CATS"]
    assert list(cat.finditer("A dog.")) == []
    assert cat.sub(lambda found: found.group().upper(), text) == "A CAT and two CATS."
    assert cat.sub(lambda found: "", "A dog.") == "A dog."


@pytest.mark.parametrize("text", ["MİST", "mıst", "miſt", "MIST", "tanK", "TANK"])
def test_a_letter_of_ascii_has_others_that_a_pattern_takes_for_it(text: str) -> None:
    """S1: without regard to case, a pattern finds a dotted or dotless i, a long s and a Kelvin."""
    pattern = r"mist|tank"
    assert re.search(pattern, text, re.I)
    assert hinted(pattern, re.I).search(text)


def test_a_bounded_pattern_stays_bounded() -> None:
    """S1: what is too long for it finds nothing, though it holds a hint."""
    cat = Hinted(bounded("cat", longest=5))
    assert cat.search("a cat")
    assert not cat.search("a cat sat")


def test_a_pattern_without_hints_is_always_tried() -> None:
    """S1: it may fit anything."""
    assert hinted(r"\w\d").search("a1")
    assert hinted(r"\w\d").may_be_in("")


PHRASES = st.sampled_from(
    "sorry, no, * I meant scrap that wait not true my mistake /s jk if maybe would've as a friend"
    " called Tom from school my kids the oldest, Rose has died that's over PROBABLY Woman".split()
)


@given(st.lists(PHRASES, max_size=12))
def test_nothing_is_missed(words: list[str]) -> None:
    """S1: a text in which a pattern is found may fit it."""
    text = " ".join(words)
    for one in HINTED:
        assert one.pattern.search(text) is None or one.may_be_in(text), one.pattern
