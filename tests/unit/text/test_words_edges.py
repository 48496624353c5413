"""The edges of what text means: each special character and word by itself, and each form in which words are read."""

from __future__ import annotations

import pytest

from lamina.text import words as text
from tests.cases import every

STOP_WORDS = (
    "a about am an and any are as at be been but by can could did do does for from had has have he her his how i if in"
    " into is it its just me my no not of on or our she should so some than that the their them then there these they"
    " this to too up was we were what when where which who whom whose why will with would you your"
    " d don ll m re s t ve"
).split()


@pytest.mark.parametrize(
    "blank", "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0", ids=lambda blank: f"U+{ord(blank):04X}"
)
def test_each_blank_letter_is_empty_to_a_reader(blank: str) -> None:
    """R8, V6: letters and symbols that render as nothing are seen by nobody and make no other text."""
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
    """V6: without what hides between them, a letter and its accent are the one letter that a reader sees."""
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
    """H1: a line that fits is whole, one that does not ends with an ellipsis inside the width; no width, no cut."""
    assert text.one_line("abcde", 5) == "abcde"
    assert text.one_line("abcdef", 5) == "abcd…"
    assert text.one_line(" a \n b " + "x" * 500) == "a b " + "x" * 500


def test_values_are_shown_short() -> None:
    """H1: at most 200 characters unless told otherwise; a number that Python would not print is named by its type."""
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
    """Q3: a name in code is its parts and itself; the index holds the same words that a query asks for."""
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
    """Q8: the article of Arabic and the commonest endings of Russian do not keep a word from being found."""
    assert text.terms(one) == text.terms(other)
    assert text.analyse(one).split() == text.analyse(other).split()
    assert text.asked(one) != text.asked(other)


def test_short_words_keep_their_ending() -> None:
    """Q8: three letters have to be left of a word."""
    assert text.terms("это") == ("это",)
    assert text.terms("книгами") == ("книг",)
    assert text.terms("الي") == ("الي",)


def test_words_of_every_script_are_read_in_order() -> None:
    """Q1, Q2, Q8: characters without spaces by themselves and in pairs, pictures as words, accents and width gone."""
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
