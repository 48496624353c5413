"""Disguises: what a reader takes for the same is one, and what means something else stays apart."""

from __future__ import annotations

import string
import unicodedata
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina.errors import InvalidInput
from lamina.text.lookalikes import IN_LATIN_WORDS, LOOK_ALIKES, bare, fingerprint, skeleton
from lamina.text.words import is_visible
from tests.cases import every
from tests.conftest import FULL

TEXTS = st.text(st.characters(codec="utf-8"))
WORDS = st.text(st.characters(categories=("Lu", "Ll", "Lo", "Nd"), codec="utf-8"), min_size=1)
HIDDEN = (
    "\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2064\u2065\ufeff\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e\u2800\u3164\uffa0"
    "\ufe00\ufe0f\U000e0041\U000e0100\u202a\u202e\u2066\u2069\x00\x07\x1b\x7f"
)
SPACES = (
    "\t\n\r\x0b\x0c\x85\u00a0\u1680\u2000\u2003\u2007\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)

VALUE = "Allergic to peanuts since May 7"


def between(value: str, hidden: str) -> str:
    return hidden.join(value)


def shifted(value: str, capital: int, small: int) -> str:
    """The value in one of the many alphabets that Unicode has twice."""
    return "".join(
        chr(capital + ord(c) - 65)
        if "A" <= c <= "Z"
        else chr(small + ord(c) - 97)
        if "a" <= c <= "z"
        else c
        for c in value
    )


def swapped(value: str, letters: str, alike: str) -> str:
    return value.translate(str.maketrans(letters, alike))


DISGUISES = {
    "case: upper": VALUE.upper(),
    "case: lower": VALUE.lower(),
    "case: swapped": VALUE.swapcase(),
    "width: full": "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in VALUE),
    "width: one word": VALUE.replace("peanuts", "ｐｅａｎｕｔｓ"),
    "accents: composed": swapped(VALUE, "aeou", "áëõū"),
    "accents: decomposed": unicodedata.normalize("NFD", swapped(VALUE, "aeou", "áëõū")),
    "accents: repeated": "".join(
        c + "\u0301\u0301\u0336\u0327" if c.isalpha() else c for c in VALUE
    ),
    "accents: strokes and hooks": swapped(VALUE, "ltoaegd", "łŧøąęɠđ"),
    "accents: of another script": "".join(c + "\u0e48\u093c" if c.isalpha() else c for c in VALUE),
    "accents: enclosing": between(VALUE, "\u20dd"),
    "zero width: space": between(VALUE, "\u200b"),
    "zero width: joiner": between(VALUE, "\u200d"),
    "zero width: non-joiner": between(VALUE, "\u200c"),
    "zero width: word joiner": between(VALUE, "\u2060"),
    "zero width: byte order mark": "\ufeff" + VALUE,
    "bidi: override": f"\u202d{VALUE}\u202c",
    "bidi: isolates": VALUE.replace("peanuts", "\u2066peanuts\u2069"),
    "bidi: marks": between(VALUE, "\u200e"),
    "tag characters": VALUE + "".join(chr(0xE0000 + ord(c)) for c in "not"),
    "variation selectors": between(VALUE, "\ufe0f"),
    "variation selectors: more": between(VALUE, "\U000e0101"),
    "soft hyphen": between(VALUE, "\u00ad"),
    "combining grapheme joiner": between(VALUE, "\u034f"),
    "filler: Hangul": between(VALUE, "\u3164"),
    "filler: Braille": VALUE.replace(" ", " \u2800"),
    "control characters": between(VALUE, "\x07"),
    "look-alikes: Cyrillic": swapped(VALUE, "Aeopcyi", "Аеорсуі"),
    "look-alikes: Cyrillic capitals": swapped(VALUE.upper(), "AECOTMSIP", "АЕСОТМЅІР"),
    "look-alikes: Greek": swapped(VALUE, "Aotiu", "Αοτιυ"),
    "look-alikes: Greek capitals": swapped(VALUE.upper(), "AEINOTMYP", "ΑΕΙΝΟΤΜΥΡ"),
    "look-alikes: Armenian": swapped(VALUE, "ouengl", "օսeոցl"),
    "look-alikes: Cherokee": swapped(VALUE.upper(), "AERGTPSMLC", "ᎪᎬᎡᏀᎢᏢᏚᎷᏞᏟ"),
    "look-alikes: Cherokee small": swapped(VALUE.upper(), "AET", "ꭺꭼꭲ"),
    "look-alikes: Coptic": swapped(VALUE, "aotpn", "ⲁⲟⲧⲣⲛ"),
    "look-alikes: Lisu": swapped(VALUE.upper(), "ALERGICTOPNUSMY", "ꓮꓡꓰꓣꓖꓲꓚꓔꓳꓑꓠꓴꓢꓟꓬ"),
    "look-alikes: syllabics": swapped(VALUE.upper(), "ALCPNUSM", "ᗩᒪᑕᑭᑎᑌᔕᗰ"),
    "look-alikes: Old Italic": swapped(VALUE.upper(), "AECIOTM", "𐌀𐌄𐌂𐌉𐌏𐌕𐌌"),
    "look-alikes: Latin": swapped(VALUE, "aegi", "ɑɛɡı"),
    "look-alikes: small capitals": swapped(VALUE.lower(), "alergictopnum", "ᴀʟᴇʀɢɪᴄᴛᴏᴘɴᴜᴍ"),
    "look-alikes: modifiers": swapped(VALUE.lower(), "aegopt", "ᵃᵉᵍᵒᵖᵗ"),
    "look-alikes: I for l": VALUE.replace("ll", "Il"),
    "look-alikes: 1 for l": VALUE.replace("ll", "1l"),
    "look-alikes: 1 for i": VALUE.replace("i", "1"),
    "look-alikes: 0 for o": VALUE.replace("o", "0"),
    "digits: mathematical": VALUE.replace("7", "𝟟"),
    "digits: Arabic": VALUE.replace("7", "٧"),
    "digits: Devanagari": VALUE.replace("7", "७"),
    "digits: circled": VALUE.replace("7", "❼"),
    "digits: keycap": VALUE.replace("7", "7\ufe0f\u20e3"),
    "mathematical: bold": shifted(VALUE, 0x1D400, 0x1D41A),
    "mathematical: sans italic": shifted(VALUE, 0x1D608, 0x1D622),
    "mathematical: monospace": shifted(VALUE, 0x1D670, 0x1D68A),
    "mathematical: fraktur": shifted(VALUE, 0x1D56C, 0x1D586),
    "enclosed: circled": shifted(VALUE, 0x24B6, 0x24D0),
    "enclosed: parenthesised": shifted(VALUE, 0x1F110, 0x249C),
    "enclosed: black circles": shifted(VALUE.upper(), 0x1F150, 0),
    "enclosed: black squares": shifted(VALUE.upper(), 0x1F170, 0),
    "enclosed: flags": shifted(VALUE.upper(), 0x1F1E6, 0),
    "ligature": VALUE.replace("st", "ﬆ").replace("s", "ſ"),
    "spacing: within words": between(VALUE, " "),
    "spacing: none": VALUE.replace(" ", ""),
    "spacing: lines": VALUE.replace(" ", "\r\n\t "),
    "spacing: ideographic": VALUE.replace(" ", "\u3000"),
    "spacing: no-break": VALUE.replace(" ", "\u00a0"),
    "spacing: Ogham and thin": VALUE.replace(" ", "\u1680\u2009"),
    "punctuation: quotes": f"“{VALUE}”!",
    "punctuation: Markdown": f"**{VALUE}**",
    "punctuation: within words": VALUE.replace("peanuts", "pea-nuts"),
    "punctuation: between letters": between(VALUE, "."),
    "punctuation: dashes between letters": between(VALUE, "-"),
    "punctuation: wide": VALUE.replace(" ", "。") + "！",
    "punctuation: drawn by letters": VALUE + "ǃ",
    "ornaments": f"→ ▪ {VALUE} ™",
}


@every("family", DISGUISES)
def test_a_disguise_hides_nothing(family: str) -> None:
    """V6: one value in more than fifty disguises is one value, as a text and as a fingerprint."""
    disguised = DISGUISES[family]
    assert disguised != VALUE, "the test disguises nothing"
    assert bare(disguised) == bare(VALUE)
    assert fingerprint("profile", "allergy", disguised) == fingerprint("profile", "allergy", VALUE)
    assert fingerprint("profile", disguised, "x") == fingerprint("profile", VALUE, "x")


@every("mark", string.punctuation)
def test_punctuation_around_a_text_is_no_other_text(mark: str) -> None:
    """V6: whatever a keyboard has besides letters and digits may stand around a text."""
    assert (
        bare(f"{mark}I like tea{mark}")
        == bare(f"{mark}{mark} I like tea {mark}")
        == bare("I like tea")
    )


@every("letter", LOOK_ALIKES)
def test_every_look_alike_passes_for_its_letter(letter: str) -> None:
    """V6: a letter of the table is its Latin letter in a word, as a small letter and
    as a capital."""
    for alike in LOOK_ALIKES[letter]:
        if alike in "".join(IN_LATIN_WORDS.values()):
            continue
        assert bare(f"te{alike}am") == bare(f"te{alike.upper()}am") == bare(f"te{letter}am"), alike


@every("letter", IN_LATIN_WORDS)
def test_small_letters_pass_for_latin_in_latin_words(letter: str) -> None:
    """V6: ν is a v in "loνe", although its capital is an N."""
    for alike in IN_LATIN_WORDS[letter]:
        assert bare(f"te{alike}am") == bare(f"te{letter}am"), alike


def test_the_tables_are_in_order() -> None:
    """V6: every look-alike stands once, in order, in the form in which it is looked for."""
    for table in (LOOK_ALIKES, IN_LATIN_WORDS):
        assert list(table) == sorted(table)
        entries = "".join(table.values())
        assert len(entries) == len(set(entries))
        assert all(list(row) == sorted(row) for row in table.values())
        assert all(unicodedata.normalize("NFKD", c).casefold() == c for c in entries)


@every(
    "alphabet",
    [
        "абвгдежзийклмнопрстуфхцчшщъыьэюя",
        "абвгґдеєжзиійклмнопрстуфхцчшщьюя",
        "абвгдђежзијклљмнњопрстћуфхцчџш",
        "абвгдѓежзѕијклљмнњопрстќуфхцчџш".replace("ѓ", "").replace(
            "ќ", ""
        ),  # these two are accented
        "аәбвгғдежзийкқлмнңоөпрстуұүфхһцчшщъыіьэюя",
        "αβγδεζηθικλμνξοπρστυφχψω",
        "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ",
        "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
        "אבגדהוזחטיכךלמםנןסעפףצץקרשת",
        "กขคฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ",
        "अआइईउऊएऐओऔकखगघचछजझटठडढणतथदधनपफबभमयरलवशषसह",
        "აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ",
        "ⲁⲃⲅⲇⲉⲍⲏⲑⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱ",
    ],
)
def test_no_alphabet_is_mangled(alphabet: str) -> None:
    """V6: two letters of one alphabet never become one."""
    assert len({bare(letter) for letter in alphabet}) == len(alphabet)


# Eight sentences in each of eight scripts; within a script they differ in a word, a sign or a
# number.
SENTENCES = {
    "Latin": (
        "I like tea|I like the sea|I like team|I do not like tea|I liked tea|I like 7 teas|I "
        "like 9 teas|You like tea"
    ),
    "Cyrillic": (
        "Я люблю чай|Я люблю кофе|Я не люблю чай|Ты любишь чай|Это мой бой|Это мои бои|Много "
        "битв|Много бить"
    ),
    "Greek": (
        "Μου αρέσει το τσάι|Μου αρέσει ο καφές|Δεν μου αρέσει το τσάι|Σου αρέσει το τσάι|Πίνω "
        "νερό|Πίνω γάλα|Γάμος|Νόμος"
    ),
    "Han": "我喜欢茶|我喜欢荼|我不喜欢茶|你喜欢茶|他喜欢茶|我喜欢水|早上七点|早上九点",
    "Kana": "ちゃがすき|ちやかすき|コーヒーがすき|コピーがすき|はしをわたる|はじをしる|パンをたべる|バンをかう",
    "Arabic": (
        "أحب الشاي|أحب القهوة|لا أحب الشاي|هو يحب الشاي|اشرب الماء|في الساعة ٧|في الساعة ٩|عندي "
        "حساسية"
    ),
    "Thai": "ฉันชอบชา|ฉันไม่ชอบชา|ฉันชอบกาแฟ|เขาชอบชา|ใกล้บ้าน|ไกลบ้าน|เสือสวย|เสื้อสวย",
    "Devanagari": ("मुझे चाय पसंद है|मुझे चाय पसंद नहीं|मुझे कॉफ़ी पसंद है|उसे चाय पसंद है|सात बजे|नौ बजे|दिन|दीन"),
}
PAIRS = [pair for lines in SENTENCES.values() for pair in combinations(lines.split("|"), 2)]


def test_other_sentences_stay_apart() -> None:
    """V6: two hundred pairs of sentences in eight scripts that say different
    things are different."""
    assert len(SENTENCES) == 8
    assert len(PAIRS) >= 200
    assert [pair for pair in PAIRS if bare(pair[0]) == bare(pair[1])] == []
    every = [line for lines in SENTENCES.values() for line in lines.split("|")]
    assert len({bare(line) for line in every}) == len(every)


@every(
    ("one", "other"),
    [
        ("not allergic", "allergic"),
        ("7am", "9am"),
        ("7am", "7pm"),
        ("чай", "tea"),
        ("茶", "荼"),
        ("1.5 mg", "15 mg"),
        (".5 mg", "5 mg"),
        ("-5 degrees", "5 degrees"),
        ("at −5", "at 5"),
        ("3-4 cups", "34 cups"),
        ("1/2", "1.2"),
        ("10⁶", "106"),
        ("< 5", "> 5"),
        ("$5", "€5"),
        ("paid in €", "paid in £"),
        ("5%", "5"),
        ("C++", "C"),
        ("C#", "C"),
        ("blood group O-", "blood group O+"),
        ("👍 on Friday", "👎 on Friday"),
        ("🎂", "🎁"),
        (":)", ":("),
        ("!!!", "???"),
        ("", " "),
        ("\u200b", "\u200c"),
    ],
)
def test_a_small_difference_in_meaning_is_a_difference(one: str, other: str) -> None:
    """V6: what means something else is let through, even where only a sign tells."""
    assert bare(one) != bare(other)


@every(
    ("one", "other"),
    [
        ("résumé", "resume"),
        ("7 a.m.", "7AM"),
        ("10 mg", "10mg"),
        ("1,000 steps", "1000 steps"),
        ("call 555-1234", "call 555 1234"),
        ("7.0", "7"),
        ("10¹²", "10\u200b¹\u200b²"),
        ("C++", "С++"),
        ("blood group AB-", "blood group АВ−"),
        ("½ cup", "1/2 cup"),
        ("3–4 cups", "3 to 4 cups"),
        ("GPT-4", "gpt 4"),
        ("don’t", "donʼt"),
        ("20 °C", "20C"),
        ("loνe", "love"),
        ("есть", "eсть"),
        ("йод", "и\u0306од"),
        ("ガ", "ｶﾞ"),
        ("한국", unicodedata.normalize("NFD", "한국")),
        ("لا", "ﻻ"),
        ("كتاب", "كــتَاب"),
        ("ไม่", "ไม่\u0e48"),
        ("！！！", "! ! !"),
        ("👩‍🚀", "👩🚀"),
        ("❤\ufe0f", "❤"),
    ],
)
def test_a_difference_that_says_nothing_is_none(one: str, other: str) -> None:
    """V6: accents, ways of writing numbers, and the forms of other scripts do not
    make another text."""
    assert bare(one) == bare(other)


@given(TEXTS)
@example("¨")
@example("²5½")
@example("петь ω")
@example("и\u0301\u0306")
@example("ก่\u0e49\u0e48")
@example("\u1100\u1160\u1161")
@example("ǰ\u0345\u0301")
@example(" -5 1.0.0 c++")
def test_the_bare_form_is_bare(text: str) -> None:
    """V6: there is nothing left to take off a bare text, and only an empty text is
    bared to nothing."""
    once = bare(text)
    assert bare(once) == once
    assert bool(once) == bool(text)


def test_every_character_has_one_bare_form() -> None:
    """V6: the bare form of every character, alone and among letters and digits, is bare."""
    for code in range(0, 0x110000, 1 if FULL else 97):
        for text in (chr(code), f"a{chr(code)}b", f"5{chr(code)}6"):
            once = bare(text)
            assert bare(once) == once, hex(code)


@given(TEXTS.filter(is_visible), st.integers(0, 30), st.sampled_from(HIDDEN))
@example("и\u0306", 1, "\u200b")
@example("´", 0, "\u200b")
@example("10²", 2, "\u200b")
def test_hidden_characters_are_nowhere_seen(text: str, place: int, hidden: str) -> None:
    """V6: a hidden character may stand anywhere in a text."""
    assert bare(text[:place] + hidden + text[place:]) == bare(text)


@given(st.lists(st.sampled_from(VALUE.split()), min_size=1), st.data())
def test_spaces_and_case_may_stand_anywhere(words: list[str], data: st.DataObject) -> None:
    """V6: any spacing and any case of a text is the same text."""
    text = " ".join(words)
    drawn = [
        data.draw(st.sampled_from(["", *SPACES]))
        + data.draw(st.sampled_from([c.upper(), c.lower()]))
        for c in text
    ]
    assert bare("".join(drawn)) == bare(text)


@given(WORDS)
def test_normal_forms_are_one(word: str) -> None:
    """V6: a text composed and decomposed is the same text."""
    assert (
        bare(unicodedata.normalize("NFC", word))
        == bare(unicodedata.normalize("NFD", word))
        == bare(word)
    )


@every(
    "part",
    [
        VALUE + ". ",
        "Я люблю чай ",
        "e\u0301",
        "5 ",
        "1.",
        "- ",
        "a+",
        "ก่",
        "ν",
        "🎂",
        "< ",
        "\u200b",
        "lονe",
    ],
)
def test_a_long_text_is_bared_like_a_short_one(part: str) -> None:
    """V6: a text of a mebibyte is no trouble."""
    long = part * (2**20 // len(part.encode()))
    assert bare(bare(long)) == bare(long)


def test_a_fingerprint_is_of_layer_key_and_value() -> None:
    """V6: the same value elsewhere is another thing; the same value there is the same
    in all spellings."""
    mark = fingerprint("profile", "drink", "tea")
    assert len(mark) == 32
    assert mark == fingerprint("profile", " Drink ", "ＴЕА")
    assert mark != fingerprint("semantic", "drink", "tea")
    assert mark != fingerprint("profile", "food", "tea")
    assert mark != fingerprint("profile", "drinkt", "ea")


# Each line is one value in several spellings.
VALUES: tuple[tuple[object, ...], ...] = (
    (7, 7.0, "7", "7.0", "٧", " 7 "),
    (-7, -7.0, "-7", "−7"),
    (0, 0.0, -0.0, "0"),
    (1.5, "1.5", "1,5"),
    (1e-7, "0.0000001"),
    (10**22, 1e22, "1" + "0" * 22),
    (True, "true", "TRUE"),
    (False, "false"),
    (None,),
    ("null",),
    ("tea",),
    (["tea"], ("Tea",)),
    ([["tea"]],),
    (["tea", "milk"], ["TEA", "mіlk"]),
    (["milk", "tea"],),
    (["tea, milk"],),
    ({"drink": "tea"}, {"Drink": "Tea!"}),
    ({"drink": ["tea"]},),
    ({"drink": "tea", "cups": 7}, {"CUPS": "7", "drink": "tea"}),
    ({"drink": "7", "cups": "tea"},),
    ([],),
    ({},),
    ("",),
    ("[]", "[ ]"),
    ("{}",),
    ("!!!",),
)


@every("spellings", VALUES)
def test_a_value_has_one_fingerprint(spellings: tuple[object, ...]) -> None:
    """V6: numbers and truths are what they are written as, and the order of keys does not count."""
    assert len({fingerprint("profile", "key", value) for value in spellings}) == 1


def test_structure_counts() -> None:
    """V6: a list is not its text, its order tells, and a key does not change
    places with another."""
    assert len({fingerprint("profile", "key", spellings[0]) for spellings in VALUES}) == len(VALUES)


def test_what_json_cannot_hold_has_no_fingerprint() -> None:
    """V6: a value of an unknown kind is an error, not a guess."""
    with pytest.raises(InvalidInput, match="is a bytes, which JSON cannot hold"):
        fingerprint("profile", "key", b"tea")


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("Сара", "Capa"),
        ("ΜΑΡΙΑ", "MAPIA"),
        ("ІӀΙ", "III"),
        ("ӏіӏу", "lily"),
        ("κοχ", "kox"),
        ("ԚԼԀ", "QLD"),
        ("ꓮꓠꓠ", "ANN"),
        ("Ᏼob", "Bob"),
        ("ırmak", "ırmak"),
        ("José", "José"),
        ("Илья", "Илья"),
        ("Ian l1 O0 m|", "Ian l1 O0 m|"),
    ],
)
def test_a_skeleton_keeps_case_and_accents(name: str, looks: str) -> None:
    """R12, P2: letters drawn like Latin ones become these in their case; ASCII, accents and the Turkish dotless i stay."""
    assert skeleton(name) == looks
