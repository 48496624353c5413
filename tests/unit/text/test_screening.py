"""Looking at many texts at once: nothing that a closer look would find is missed."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from lamina.text import cues, dates, words
from lamina.text.screening import LONGEST, Parts, Screen, Words
from lamina.text.secrets import detection, phrases, seeds, suspects
from tests.unit.text.secret_samples import SHAPED

SEED_WORDS = sorted(seeds.listed())[::140]
# What secrets are made of, and what they stand between.
PIECES = (
    *SHAPED.values(),
    *SEED_WORDS,
    *"s k - l i v e 1 2 a dash Underscore minus password: key= TOKEN is x7q9aB3 my pin 1234".split(),
    *"https://ana:s3cret@host seed phrase words 密码 und Paßwort, the \n \t \x1f . ( -p".split(),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join) | st.text(max_size=60)


@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_no_text_with_a_secret_is_passed_over(texts: list[str]) -> None:
    """P6: what one look at many texts does not mark holds no secret, whatever stands beside it."""
    marks = suspects.holding(Screen(texts)).tolist()
    assert len(marks) == len(texts)
    for text, is_marked in zip(texts, marks, strict=True):
        assert is_marked or not detection.in_text(text)


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4))
def test_no_name_of_a_secret_is_passed_over(texts: list[str], names: list[str]) -> None:
    """P6: the same for labels and for names and values of metadata."""
    found = suspects.among(texts, names)
    assert found <= {*texts, *names}
    assert all(text in found for text in texts if detection.in_text(text))
    assert all(name in found for name in names if phrases.may_name(name.lower()))


PARTS = st.text("abC 1:-=é", min_size=1, max_size=6)


@given(st.lists(st.text("abcAC 12:-=.é", max_size=20), min_size=1), st.lists(PARTS, min_size=1))
def test_a_text_that_holds_a_part_is_marked(texts: list[str], parts: list[str]) -> None:
    """A text that holds a part, at its beginning or end too and in any case, is marked."""
    lowered = [part.lower() for part in parts]
    marks = Screen(texts).holding(Parts(lowered))
    for text, is_marked in zip(texts, marks, strict=True):
        assert is_marked or not any(part in text.lower() for part in lowered)


WORDS = st.text("abC1-'é", min_size=1, max_size=10)


@given(st.lists(st.text("abAC 1-'.,é\n\x1f", max_size=30), min_size=1), st.lists(WORDS, min_size=1))
def test_a_text_that_holds_a_word_is_marked(texts: list[str], listed: list[str]) -> None:
    """A text that holds a word, in any case and before any mark, is marked."""
    lowered = {word.lower() for word in listed}
    marks = Screen(texts).with_words(Words(lowered))
    for text, is_marked in zip(texts, marks, strict=True):
        assert is_marked or lowered.isdisjoint(word.rstrip(".,") for word in text.lower().split())


def test_a_text_with_words_that_begin_alike_is_not_marked() -> None:
    """Words are compared beyond the characters by which they are found, and up to their end."""
    texts = ["we crash", "crashes are rare", "a crashing bore", "crisis", "a car crash, again"]
    assert Screen(texts).with_words(Words(["crash"])).tolist() == [True, False, False, False, True]


def test_a_plain_text_is_not_marked() -> None:
    """Most texts need no closer look: those without any part are not marked, and parts do not
    reach from one text into the next."""
    texts = ["we met at the old ha", "rbour and had tea", "", "a lovely morning"]
    assert Screen(texts).holding(Parts(["harbour"])).tolist() == [False] * 4
    assert Screen(texts).holding(Parts(["lovely"])).tolist() == [False, False, False, True]
    assert not any(suspects.holding(Screen(texts)).tolist())


def test_many_and_long_texts_keep_their_places() -> None:
    """Each mark belongs to its text, among many; a very long text is always marked."""
    texts = ["nothing here"] * 1000
    texts[512], texts[-1] = "key=aB3dE5fG7hJ9kL1mN3pQ5", "a" * (LONGEST + 1)
    marked = [
        place
        for place, is_marked in enumerate(suspects.holding(Screen(texts)).tolist())
        if is_marked
    ]
    assert marked == [512, 999]


NOW = datetime(2026, 5, 7, tzinfo=UTC)
WHEN = ("last Friday", "7 May 2023", "in 1999", "twice", "two weeks ago", "Tomorrow?", "5月7日")
SAID = (*WHEN, "this summer", "on 3/4/2024", "mar", "Tues", "a", "tea", "in Rome", "marvellous")


@given(st.lists(st.lists(st.sampled_from(SAID)).map(" ".join), min_size=1, max_size=6))
def test_no_date_and_no_cue_is_passed_over(texts: list[str]) -> None:
    """H3: the dates and cues of many texts are those of each text by itself."""
    screen = Screen(texts)
    for text, is_marked in zip(texts, dates.may_hold(screen), strict=True):
        assert is_marked or not dates.find(text, NOW)
    speakers = ["user"] * len(texts)
    assert cues.of_all(texts, speakers, screen) == [cues.of(text, "user") for text in texts]


@given(st.lists(st.text("aB c+#\n\t\x1fé1", max_size=12), min_size=1, max_size=6))
def test_the_words_of_many_texts_are_counted(texts: list[str]) -> None:
    """H1: many texts have as many words as each has by itself, names in code included."""
    expected = [len(words.analyse(text).split()) for text in texts]
    assert words.lengths(texts, Screen(texts)) == expected
