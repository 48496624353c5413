"""What text means: normal form, what is visible, and the words that a search looks for."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina import Memory
from lamina.text import words as text
from tests.cases import every
from tests.conftest import FULL, Desk, contents

TEXTS = st.text(st.characters(codec="utf-8"))
HIDDEN = "\u200b\u200c\u200e\u2060\ufeff\u00ad\u034f\u061c\u115f\u1160\u17b4\u2800\u3164\uffa0\ufe00\U000e0041\U000e0100\u202e\u2066"
SYNTAX = [
    "don't",
    "c++",
    "a AND",
    "AND",
    "NOT",
    "OR",
    '"',
    '""',
    "NEAR(",
    "NEAR(a b, 2)",
    "*",
    "a*",
    "^",
    "^a",
    "-",
    "-a",
    ":",
]
SYNTAX += [
    "content:",
    "content : a",
    "{content tags} : a",
    "(",
    ")",
    "a + b",
    "'",
    "\\",
    "%",
    "_",
    ";",
    "--",
    "/*",
    "\x00",
    "a\x00b",
]


@given(TEXTS)
@example("\u3164\u1161")
@example("ǰ\u0345\u0301")
@example("a\u00a8")
@example("\u1100\u1160\u1161")
def test_normal_form_is_normal(value: str) -> None:
    """V6: normalising twice is normalising once."""
    once = text.normalise(value)
    assert text.normalise(once) == once


@pytest.mark.parametrize(
    "disguise",
    [
        "ＴＥＡ",
        "Tea",
        " t\u200be\u2060a ",
        "te\ufe0fa",
        "t\u00ade\U000e0061a",
        "tea\u3164",
        "ⓣⓔⓐ",
        "\ttea\n",
    ],
)
def test_disguises_have_one_normal_form(disguise: str) -> None:
    """V6: width, case, spacing and invisible characters do not make another text."""
    assert text.normalise(disguise) == "tea"


@given(TEXTS, st.integers(0, 30), st.sampled_from(HIDDEN))
def test_a_hidden_character_changes_no_normal_form(value: str, place: int, hidden: str) -> None:
    """V6: what nobody sees makes no difference, wherever it stands."""
    composed = unicodedata.normalize("NFKC", value)
    if any(
        unicodedata.combining(c) or unicodedata.category(c)[0] in "MC" for c in value + composed
    ):
        return  # a mark may join another letter once something stands between
    assert text.normalise(composed[:place] + hidden + composed[place:]) == text.normalise(composed)


@given(TEXTS)
@example(HIDDEN)
@example("\x1b[31mred\x9b0m\r\x08\x7f")
@example("ab\u2028\u2029\x85")
def test_nothing_hides_in_what_is_revealed(value: str) -> None:
    """H1, V6: no control or format character reaches a terminal unspelled, but for line ends and what emoji are joined with."""
    for character in text.reveal(value):
        harmless = character in "\n\u200d\ufe0f" or (
            character.isprintable() and not text.is_invisible(character)
        )
        assert harmless, f"U+{ord(character):04X}"


@pytest.mark.parametrize("joiner", ["\u200d", "\ufe0f"], ids=["ZWJ", "VS16"])
def test_a_joiner_outside_an_emoji_is_revealed(joiner: str) -> None:
    """V6: joiners are what a reader sees inside an emoji only; between letters they hide, and are spelled out."""
    assert text.reveal(f"ad{joiner}min") == f"ad<U+{ord(joiner):04X}>min"


def test_a_selector_after_a_picture_counts_once() -> None:
    """V6: one selector belongs to a picture; a row of them behind it is a message that nobody sees."""
    assert text.reveal("❤\ufe0f") == "❤\ufe0f"
    assert "<U+FE0F>" in text.reveal("❤\ufe0f\ufe0f\ufe0f")


@pytest.mark.parametrize(
    "selector", ["\u180b", "\u180c", "\u180d", "\u180f"], ids=["FVS1", "FVS2", "FVS3", "FVS4"]
)
def test_mongolian_selectors_are_invisible_too(selector: str) -> None:
    """V6: every variation selector renders as nothing, those of Mongolian like the others."""
    assert text.normalise(f"t{selector}ea") == "tea"
    assert text.reveal(selector) == f"<U+{ord(selector):04X}>"


@pytest.mark.parametrize(
    "value", ["plain", "zwei\nZeilen", "naïve café", "👩‍👧 ❤️", "猫", "हिन्दी", "مرحبا"]
)
def test_ordinary_text_is_shown_as_it_is(value: str) -> None:
    """H1, Q8: revealing spoils no text of any script."""
    assert text.reveal(value) == value


@given(TEXTS, st.integers(2, 50))
def test_one_line_is_one_line(value: str, width: int) -> None:
    """H1, P2: however long and broken, it fits into the width and has no line end of any kind."""
    line = text.one_line(value, width)
    assert len(line) <= width
    assert len(line.splitlines()) <= 1


@given(TEXTS)
@example('"')
@example("a\0b")
def test_terms_cannot_be_taken_for_syntax(value: str) -> None:
    """Q3, Q7: terms are distinct words of letters, digits and marks; quoted, nothing in them can end the quote."""
    words = text.terms(value)
    assert len(set(words)) == len(words)
    for word in words:
        assert word
        assert not any(c.isspace() or c in '"\0' for c in word)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("What is the best tea?", ("best", "tea")),
        ("to be or not to be", ("to", "be", "or", "not")),
        ("Tea tea TEA", ("tea",)),
        ("don't", ("don", "t")),
        ("", ()),
        ("?!… —", ()),
        ("\u200b\u3164", ()),
        ("東京都", ("東京", "京都")),
        ("tea☕", ("tea", "u2615")),
    ],
)
def test_the_words_of_a_query(query: str, words: tuple[str, ...]) -> None:
    """Q3, Q7, Q8: stop words count only when there is nothing else, unspaced scripts are paired, emoji are words."""
    assert text.terms(query) == words


SCRIPTS = {
    "Chinese": ("我昨天在公园里喝了绿茶", "昨天喝绿茶"),
    "Japanese": ("明日は京都で会議があります", "京都の会議"),
    "Korean": ("서울에서 고양이를 보았다", "고양이"),
    "Thai": ("ฉันชอบกินข้าวผัดกุ้ง", "ข้าวผัด"),
    "Thai-word": ("ภาษาไทย", "ไทย"),
    "Lao": ("ຂ້ອຍມັກເຂົ້າໜຽວ", "ເຂົ້າໜຽວ"),
    "German": ("Die Tür in der Straße klemmt", "tür strasse"),
    "umlaut": ("Das Müsli schmeckt", "musli"),
    "accents": ("naïve café crème", "CAFE"),
    "Arabic": ("القط ينام على السرير", "القط"),
    "Hebrew": ("הכלב ישן", "הכלב"),
    "Russian": ("Собака любит гулять в парке", "собака"),
    "Greek": ("Η Αθήνα είναι όμορφη", "Αθήνα"),
    "Hindi": ("मुझे चाय पसंद है", "चाय"),
    "Vietnamese": ("Việt Nam có phở ngon", "phở"),
    "fullwidth": ("Ｆｕｌｌｗｉｄｔｈ ｔｅａ", "fullwidth"),
    "emoji": ("Der Kuchen war 🎂 mit Kerzen", "🎂"),
}
WORDS = {
    "Japanese": ("黒猫がいる", "猫"),
    "Chinese": ("我喜欢喝茶", "茶"),
    "Korean": ("집에 개가 있다", "개"),
    "alone": ("山", "山"),
}


@every("script", SCRIPTS)
def test_every_script_is_found(desk: Desk, script: str) -> None:
    """Q8: a natural query finds the memory among others, in every script."""
    memory, query = SCRIPTS[script]
    mem = desk.agent()
    mem.remember_many([{"content": other} for other, _ in SCRIPTS.values()])
    assert memory in contents(mem.search(query))


@pytest.mark.parametrize("script", WORDS)
def test_a_word_of_one_character_is_found(desk: Desk, script: str) -> None:
    """Q8: in Chinese, Japanese and Korean one character is a word, and a natural query."""
    memory, query = WORDS[script]
    mem = desk.agent()
    mem.remember(memory)
    assert contents(mem.search(query)) == [memory]


def test_greek_capitals_have_no_accents(desk: Desk) -> None:
    """Q8: accents are ignored in every script; Greek in capitals is written without them."""
    mem = desk.agent()
    mem.remember("Η Αθήνα είναι όμορφη")
    assert len(mem.search("ΑΘΗΝΑ")) == 1


def test_no_query_breaks_a_search(desk: Desk) -> None:
    """Q3, Q7: random texts (20,000 in full) and everything that looks like syntax are searched for, and none is an error."""
    order = random.Random(20261115)
    pool = [
        *"abc \t\"'()*^-+:{}[],.\\/%_&|!~<>=?@#$;\0",
        "AND ",
        "NEAR",
        "é",
        "猫",
        "\u200b",
        "🎂",
        "\U0010ffff",
        "\u0301",
        "ß",
        "İ",
    ]
    mem = desk.agent()
    mem.remember_many([{"content": one} for one in ("a b c", "don't c++", "猫 é ß", "AND near")])
    queries = [
        "".join(order.choices(pool, k=order.randrange(12)))
        for _ in range(20_000 if FULL else 5_000)
    ]
    for query in [*queries, *SYNTAX]:
        assert mem.search(query).outcome in ("found", "nothing_relevant")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """One store for every example of a property."""
    with Desk(tmp_path_factory.mktemp("library")) as desk:
        mem = desk.agent()
        mem.remember_many([{"content": one, "tags": ["tea"]} for one, _ in SCRIPTS.values()])
        yield mem


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_every_text_can_be_searched_for(library: Memory, query: str) -> None:
    """Q3, Q7: any text is a valid query; it finds something or it says that there is nothing."""
    hits = library.search(query)
    assert hits.outcome == ("found" if len(hits) else "nothing_relevant")


def test_one_is_told_as_one() -> None:
    """H1: a number and its noun agree."""
    assert [text.counted(number, "link") for number in (0, 1, 2, 1000)] == [
        "0 links",
        "1 link",
        "2 links",
        "1,000 links",
    ]
    assert text.counted(1, "file is", "files are") == "1 file is"
    assert text.counted(2, "file is", "files are") == "2 files are"
