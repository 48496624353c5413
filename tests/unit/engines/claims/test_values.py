"""Where values begin and end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.claims import values
from tests.cases import every

CUT: tuple[tuple[str, str, list[str]], ...] = (
    ("place", "Rome now, lovely", ["Rome"]),
    ("place", "New York City with my wife", ["New York City"]),
    ("place", "a small town", []),
    ("place", "the Netherlands.", ["Netherlands"]),
    ("name", "Mia's coming", ["Mia"]),
    ("names", "Otis and Fern, who fight", ["Otis", "Fern"]),
    ("org", "Acme in the data team", ["Acme"]),
    ("org", "the council.", ["council"]),
    ("number", "34 and tired", ["34"]),
    ("number", "34 km", []),
    ("job", "a bus driver at night", ["bus driver"]),
    ("job", "a big fan", []),
    ("thing", "a Golf, about 120k miles", ["Golf"]),
    ("thing", "it", []),
    ("things", "jazz, blues and techno because they swing", ["jazz", "blues", "techno"]),
    ("things", "hiking in the mountains", ["hiking in the mountains"]),
    ("doing", "went to a fair last week", ["went to a fair"]),
    ("date", "on 12 May, I think", ["12 May"]),
    ("diet", "a vegan now", ["vegan"]),
)


@every(("kind", "words", "wanted"), CUT)
def test_a_value_is_its_words_and_no_more(kind: str, words: str, wanted: list[str]) -> None:
    """S1: values are short: articles, times and the story around them are left out."""
    assert [words[start:end] for start, end in values.cut(kind, words, 0, len(words))] == wanted


@given(
    st.sampled_from(sorted(values.CUTTERS)),
    st.text(alphabet="Aa bI'm, and. the my 3\n", max_size=60),
)
def test_values_stay_inside(kind: str, words: str) -> None:
    """S1: a value is never empty, and never outside of what was given."""
    for start, end in values.cut(kind, words, 0, len(words)):
        assert 0 <= start < end <= len(words)


def test_words_of_one_stem_mean_the_same() -> None:
    """S2: who gave up teaching was a teacher."""
    assert values.stems("teaching") == values.stems("a teacher")
    assert values.stems("meditating") == values.stems("meditate")
    assert values.stems("engagement") == values.stems("engaged")


def test_jobs_are_told_from_other_nouns() -> None:
    """S1: "I'm a nurse", but not "I'm a mother" or "I'm a Londoner"."""
    assert all(map(values.is_job, ("nurse", "estate agent", "yoga instructor", "blacksmith")))
    assert not any(map(values.is_job, ("mother", "Londoner", "big believer", "")))
