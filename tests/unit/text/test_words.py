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
    """H1, V6: no control or format character reaches a terminal unspelled, but for line ends and
    what emoji are joined with."""
    for character in text.reveal(value):
        harmless = character in "\n\u200d\ufe0f" or (
            character.isprintable() and not text.is_invisible(character)
        )
        assert harmless, f"U+{ord(character):04X}"


@pytest.mark.parametrize("joiner", ["\u200d", "\ufe0f"], ids=["ZWJ", "VS16"])
def test_a_joiner_outside_an_emoji_is_revealed(joiner: str) -> None:
    """V6: joiners are what a reader sees inside an emoji only; between letters they hide, and are
    spelled out."""
    assert text.reveal(f"ad{joiner}min") == f"ad<U+{ord(joiner):04X}>min"


def test_a_selector_after_a_picture_counts_once() -> None:
    """V6: one selector belongs to a picture; a row of them behind it is a message
    that nobody sees."""
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
    """Q3, Q7: terms are distinct words of letters, digits and marks; quoted, nothing in them can
    end the quote."""
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
    """Q3, Q7, Q8: stop words count only when there is nothing else, unspaced scripts are paired,
    emoji are words."""
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
    """Q3, Q7: random texts (20,000 in full) and everything that looks like syntax are searched for,
    and none is an error."""
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


STOP_WORDS = (
    "a about am an and any are as at be been but by can could did do does for from had has "
    "have he her his how i if in"
    " into is it its just me my no not of on or our she should so some than that the their "
    "them then there these they"
    " this to too up was we were what when where which who whom whose why will with would you your"
    " d don ll m re s t ve"
).split()


@pytest.mark.parametrize(
    "blank", "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0", ids=lambda blank: f"U+{ord(blank):04X}"
)
def test_each_blank_letter_is_empty_to_a_reader(blank: str) -> None:
    """R8, V6: letters and symbols that render as nothing are seen by nobody and make
    no other text."""
    assert not text.is_visible(blank)
    assert text.is_invisible(blank)
    assert text.reveal(blank) == f"<U+{ord(blank):04X}>"


@pytest.mark.parametrize("code", [0x034F, 0xFE00, 0xFE0F, 0xE0100, 0xE01EF], ids=hex)
def test_selectors_are_invisible_up_to_the_last(code: int) -> None:
    """V6: the first and the last of each row of selectors."""
    assert text.is_invisible(chr(code))


@pytest.mark.parametrize("code", [0xFDFF, 0xFE10, 0xE01F0], ids=hex)
def test_what_stands_beside_the_selectors_is_none(code: int) -> None:
    """V6: their neighbours are characters of their own."""
    assert not text.is_invisible(chr(code))


@every("sign", [chr(code) for code in range(0x21, 0x7F)])
def test_every_plain_sign_is_seen(sign: str) -> None:
    """R8: no letter, digit or sign of ASCII is taken for nothing."""
    assert text.is_visible(sign)
    assert not text.is_invisible(sign)


def test_half_a_pair_is_seen_by_nobody() -> None:
    """V6: what no program can show makes no other text."""
    assert text.normalise("t\ud800ea") == "tea"


def test_a_letter_and_its_accent_meet_again() -> None:
    """V6: without what hides between them, a letter and its accent are the one letter that
    a reader sees."""
    assert text.normalise("e\u200b\u0301") == "é"


@pytest.mark.parametrize("picture", ["\U0001f000", "\U0001faff", "\U0001fae8"])
def test_pictures_may_be_newer_than_python(picture: str) -> None:
    """R8: a picture that the table of characters does not know yet is visible."""
    assert text.is_visible(picture)


@pytest.mark.parametrize(
    ("line", "one"),
    [
        ("a b", True),
        ("", True),
        ("é b", True),
        ("a\u00a0b", True),
        ("a\tb", False),
        ("é\x85", False),
    ],
)
def test_what_breaks_a_line_is_known(line: str, one: bool) -> None:
    """R8: in ASCII and beyond it."""
    assert text.is_one_line(line) is one


@pytest.mark.parametrize(
    ("value", "revealed"),
    [
        ("a\x07b", "a<U+0007>b"),
        ("a\nb", "a\nb"),
        ("1\ufe0f\u20e3", "1\ufe0f\u20e3"),
        ("é\x1b[0m", "é<U+001B>[0m"),
        ("\t", "<U+0009>"),
    ],
)
def test_control_characters_are_spelled_out(value: str, revealed: str) -> None:
    """H1: four digits at least, and keycaps are pictures."""
    assert text.reveal(value) == revealed


def test_a_line_is_cut_where_the_width_ends() -> None:
    """H1: a line that fits is whole, one that does not ends with an ellipsis inside the width; no
    width, no cut."""
    assert text.one_line("abcde", 5) == "abcde"
    assert text.one_line("abcdef", 5) == "abcd…"
    assert text.one_line(" a \n b " + "x" * 500) == "a b " + "x" * 500


def test_values_are_shown_short() -> None:
    """H1: at most 200 characters unless told otherwise; a number that Python would not print is
    named by its type."""
    assert text.shown("x" * 198) == f"'{'x' * 198}'"
    assert text.shown("x" * 199) == f"'{'x' * 198}…"
    assert text.shown("abc", 4) == "'ab…"
    assert text.shown(10**5000) == "a int too long to show"


@every("word", STOP_WORDS)
def test_each_stop_word_is_left_out(word: str) -> None:
    """Q3: a query is what is left without them; alone, a stop word is the query."""
    assert text.terms(f"{word.upper()} tea") == ("tea",)
    assert text.terms(word) == (word,)
    assert text.asked(f"{word} tea") == (word, "tea")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("getUserName", ("get", "user", "name", "getusername")),
        ("parseHTTPServer", ("parse", "http", "server", "parsehttpserver")),
        ("utf8Text", ("utf8", "text", "utf8text")),
        ("C++", ("cplusplus", "c")),
        ("f# code", ("fsharp", "f", "code")),
        ("ALLCAPS Title", ("allcaps", "title")),
    ],
)
def test_names_in_code_are_found_by_their_parts(code: str, words: tuple[str, ...]) -> None:
    """Q3: a name in code is its parts and itself; the index holds the same words that a
    query asks for."""
    assert text.terms(code) == words
    assert set(words) <= text.tokens(text.analyse(code))


def test_most_of_ascii_is_indexed_as_it_is() -> None:
    """Q3: what holds no name in code needs no help."""
    assert text.analyse("Plain words, 1 + 2.") == "Plain words, 1 + 2."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("книгами", "книга"),
        ("новая", "новую"),
        ("والكتاب", "كتاب"),
        ("الكتاب", "كتاب"),
        ("кни\u0301ги", "книга"),
    ],
)
def test_endings_and_articles_are_taken_off(one: str, other: str) -> None:
    """Q8: the article of Arabic and the commonest endings of Russian do not keep a word
    from being found."""
    assert text.terms(one) == text.terms(other)
    assert text.analyse(one).split() == text.analyse(other).split()
    assert text.asked(one) != text.asked(other)


def test_short_words_keep_their_ending() -> None:
    """Q8: three letters have to be left of a word."""
    assert text.terms("это") == ("это",)
    assert text.terms("книгами") == ("книг",)
    assert text.terms("الي") == ("الي",)


def test_words_of_every_script_are_read_in_order() -> None:
    """Q1, Q2, Q8: characters without spaces by themselves and in pairs, pictures as words, accents
    and width gone."""
    assert text.row("Tea at 東京都, ça☕va") == ["tea", "at", "東", "京", "都", "ca", "u2615", "va"]
    assert text.row("Tea b, a") == ["tea", "b", "a"]
    assert text.tokens("東京都 ＴＥＡ") == {"東", "京", "都", "東京", "京都", "tea"}
    assert text.tokens("Tea b, a") == {"tea", "b", "a"}
    assert text.asked("the 東京都 tea the") == ("the", "東京", "京都", "tea")
    assert text.asked("猫") == ("猫",)
    assert len(text.asked("हिन्दी में")) == 2  # vowel signs hold a word together
    assert text.analyse("東京都").split() == ["東", "京", "都", "東京", "京都"]
    assert text.asked("a\u200bb\u00adc é—ü") == ("abc", "e", "u")


@pytest.mark.parametrize("title", "dr frau herr mr mrs ms prof sir the".split())
def test_nobody_is_called_by_a_title(title: str) -> None:
    """Q5: a question calls a speaker by the first name; without any name by nothing."""
    assert text.first_name(f"{title.capitalize()}. Ana Smith") == "ana"
    assert text.first_name(title) is None


def test_a_speaker_without_a_name_has_no_first_name() -> None:
    """Q5: neither nothing nor signs are a name."""
    assert [text.first_name(name) for name in (None, "", "?!", "Ana")] == [None, None, None, "ana"]
