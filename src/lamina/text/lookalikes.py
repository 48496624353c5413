"""One form for all texts that a reader would take for the same, however they are disguised. Pure.

The form is for comparing, never for reading: it has no spaces, no accents and no case, and a letter that looks like a Latin one
is that letter, whatever script it comes from. Signs that carry meaning, such as a minus or a decimal point, become words.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal

from lamina.errors import InvalidInput
from lamina.text.confusables import PROTOTYPES
from lamina.text.normal_forms import normal
from lamina.text.words import ACCENTS, WORD, is_invisible, shown

# Letters whose usual shapes are the same or nearly so, chosen by hand, script by script. A capital counts as
# much as its small letter, since case is gone by then (the Cyrillic в looks like no b, but В does). Two letters of one alphabet
# share no row, or words of that language would fall together; only the single strokes of Latin, Lisu and Cherokee, and a few
# Carrier syllables do. A letter whose Unicode name says of which Latin letter it is a form needs no entry: `_named` reads it.
LOOK_ALIKES = {
    "2": "ƨ",
    "3": "ȝɜʒз",
    "4": "Ꮞ",
    "5": "ƽ",
    "6": "бᏮ",
    "8": "ȣ",
    "a": "ɑαаᎪᗅᗩ⍺ⲁꓮ𐌀",
    "ae": "æ",
    "b": "ƅβвᏴᑲᗷⲃꓐ𐌁",
    "c": "сᏟᑕⲥꓚ𐌂𐐽",
    "d": "ԁᎠᑯᗞᗪꓓ",
    "e": "ɛεеᎬ℮ⲉꓰ𐌄",
    "f": "ᖴꓝ",
    "g": "ɡցᏀꓖ",
    "h": "ηнհᎻᕼⲏꓧ",
    "j": "ȷϳјյᎫᒍꓙ",
    "k": "κкᏦᛕⲕꓗ𐌊",
    "l": "1iıǀɩιіӏլᎥᏞᒪᛁⲓⵏꓡꓲ𐌉𐑃",  # I, l and 1 are one stroke in many fonts: "a1lergic", "aIlergic"
    "m": "μмᎷᗰⲙꓟ𐌌",
    "n": "νոᑎⲛꓠ",
    "o": "0οоօଠഠဝⲟⵔ〇ꓳ𐌏𐐬",
    "oe": "œ",
    "p": "ρрᏢᑭ⍴ⲣꓑ",
    "q": "ԛզᑫ",
    "r": "Ꭱᖇꓣ",
    "s": "ѕտᏚᔕꓢ𐑈",
    "t": "τтᎢⲧꓔ𐌕",
    "u": "սᑌꓴ",
    "v": "ѵᏙᐯꓦ",
    "w": "ԝᎳᗯ⍵ꓪ",
    "x": "×χх᙭ⲭⵝꓫ𐌗",
    "y": "υуᎽⲩꓬ",
    "z": "ζᏃᘔⲍꓜ",
    "ك": "ک",
    "ه": "ہە",
    "ي": "ی",
}
# Small letters that look like a Latin one only to somebody who reads a Latin word; in a word of their own script they are
# themselves, or what their capital looks like (ν is a v in "loνe", but Ν is an N in "ΝΟΤ"). The bare form has the former as
# capitals, which nobody takes for Latin again.
IN_LATIN_WORDS = {
    "b": "ь",
    "e": "є",
    "h": "һ",
    "n": "ηπпռ",
    "o": "σ",
    "q": "գ",
    "r": "г",
    "u": "μυ",
    "v": "ν",
    "w": "ωшա",
    "y": "γү",
}
# What Unicode's data lacks, or has for a letter of the other case.
MORE_TWINS = {"D": "Ԁ", "I": "ꓲ", "L": "Լ", "Q": "Ԛ", "k": "κ", "l": "ӏ", "x": "χ"}
LETTERS = frozenset({"Lu", "Ll", "Lt", "Lo"})  # of a script; modifiers such as ʼ belong to all
NAMED = re.compile(
    r"(?:LATIN SMALL LETTER|LATIN LETTER SMALL CAPITAL|NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER"
    r"|REGIONAL INDICATOR SYMBOL LETTER) ([A-Z])(?: WITH .+)?"
)
# Letters by category, but drawn as the apostrophes, colons and exclamation marks that they stand in for.
DRAWN_AS_MARKS = frozenset("ǃʹʺʻʼʽʾʿˀˁˈˉˊˋˌːˑˮ꞉ꞌ")
# Arrows, boxes and bullets, degrees, and signs that merely adorn a name; other pictures say something.
ORNAMENT = re.compile("[\u00a9\u00ae\u00b0\u2190-\u21ff\u2500-\u25ff]")
# Accents that may sit on a letter of any script, besides those that `text` knows.
MORE_ACCENTS = re.compile(
    "[\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ua670-\ua672\ufe20-\ufe2f]"
)
# й is a letter of its own: мой is not мои.
LOOSE_BREVE = re.compile("(?<![иИ])\u0306")
# To be ignored by their definition although no category says so.
IGNORABLE = re.compile("[\u2065\ufff0-\ufff8\U0001d159\U000e0000-\U000e0fff]")
# The last ones because compatibility forms would get them wrong: a lunate sigma looks like c, a trademark is no part of a word.
ALIASES = {
    "٫": ".",
    "٬": ",",
    "٪": "%",
    "⁄": "/",
    "∕": "/",
    "∶": ":",
    "−": "-",
    "ϲ": "c",
    "Ϲ": "C",
    "™": "",
    "℠": "",
}
RAISED = re.compile("(?<=[0-9])(?=[¹²³⁰⁴-⁹¼-¾⅐-⅞])")
LATIN = re.compile("[A-Za-z]")
MARKED = re.compile(r"(\w?)(\W+)")  # marks and pictures are no word characters

BETWEEN = {
    ".": "point",
    ",": "point",
    ":": "point",
    "/": "over",
    "-": "to",
    "~": "to",
    "+": "plus",
    "*": "x",
    "^": "power",
}
COMPARED = {"<": "less", "≤": "most", ">": "more", "≥": "least", "±": "plusminus"}
# Marks without which the text would say something else, in the order in which they are looked for.
SPELLED = (
    (re.compile(r"\b([^\W\d_])\+\+"), r"\1plusplus"),  # C++ is not C
    (re.compile(r"\b([^\W\d_])#(?!\w)"), r"\1sharp"),
    (
        re.compile(r"(?<![\w-])([aаα][bвβ]|[^\W\d_])\+(?![\w+])"),
        r"\1plus",
    ),  # blood groups and grades
    (re.compile(r"(?<![\w-])([aаα][bвβ]|[^\W\d_])-(?![\w-])"), r"\1minus"),
    (re.compile(r"(?<=\d)[,'’_](?=\d{3}(?!\d))"), ""),  # 1,000 is 1000
    (re.compile(r"(?<=\d{3})-(?=\d{3})"), ""),  # 555-1234 is 5551234
    (re.compile(r"(?<=\d)[.,]0{1,2}(?![.,]?\d)"), ""),  # 7.0 is 7
    (
        re.compile(r"(?<=\d) *([-.,:/~+*^]) *(?=\d)"),
        lambda found: BETWEEN[found[1]],
    ),  # 1.5 is not 15
    (
        re.compile(r"(?<![\w.])(?<!\. )\.(?=\d)"),
        "0point",
    ),  # unless there is one before every letter
    (re.compile(r"(?<![\w-])(?<!- )-(?=\d)"), "minus"),
    (re.compile(r"(?<![-=])([<≤>≥±]) *(?=\d)"), lambda found: COMPARED[found[1]]),
    (re.compile(r"(?<=\d) *%"), "percent"),
    (re.compile(r"\$ *(?=\d)|(?<=\d) *\$"), "dollar"),
)


def bare(text: str) -> str:
    """The text without its disguise; a text without any letter, digit or picture keeps its own characters."""
    seen = _seen(text)
    return _letters(seen) or seen.replace(" ", "") or text.translate(PLAIN).replace(" ", "") or text


def skeleton(name: str) -> str:
    """Write each letter of a name that is drawn like a Latin one as that letter; keep accents and case."""
    return name.translate(TWINS)


def foreign_letter(name: str) -> str | None:
    """The first letter that passes for a Latin one in a word of several scripts, such as аna."""
    if name.isascii():
        return None
    for word in WORD.findall(name):
        letters: list[str] = [one for one in word if unicodedata.category(one) in LETTERS]
        strangers = [one for one in letters if _script(one) != "LATIN" and _is_like_latin(one)]
        if strangers and len(set(map(_script, letters))) > 1:
            return strangers[0]
    return None


def _script(letter: str) -> str:
    """The script of a letter, by its Unicode name. Phonetic letters belong to no Latin word."""
    name = unicodedata.name(letter, "")
    return "PHONETIC" if letter in "ɑɡ" or "SMALL CAPITAL" in name else name.partition(" ")[0]


def _is_like_latin(letter: str) -> bool:
    code = ord(letter.casefold()[0])
    return (LATIN_LOOKS.get(code) or LOOKS[code]).isascii()


def fingerprint(layer: str, key: str, value: object) -> bytes:
    """A hash that is the same for every disguise of a key and its value in a layer."""
    return hashlib.sha256(
        f"[{json.dumps(layer)},{json.dumps(bare(key))},{_shape(value)}]".encode()
    ).digest()


def _shape(value: object) -> str:
    """JSON in one spelling: texts are bare, numbers and truths are texts, the order of keys does not count."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return json.dumps(bare(value))
    if isinstance(value, bool):
        return json.dumps(bare(str(value)))
    if isinstance(value, (int, float)):
        return json.dumps(bare(_digits(value)))
    if isinstance(value, Mapping):
        return (
            "{"
            + ",".join(
                sorted(
                    f"{json.dumps(bare(str(key)))}:{_shape(item)}" for key, item in value.items()
                )
            )
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_shape, value)) + "]"
    raise InvalidInput(
        f"{shown(value)} is a {type(value).__name__}, which JSON cannot hold; give a text, a number, a list or a dict"
    )


def _digits(number: float) -> str:
    """A number as people write it: no exponent, no negative zero."""
    return format(Decimal(number) if isinstance(number, int) else Decimal(repr(number + 0.0)), "f")


def _seen(text: str) -> str:
    """What meets the eye: nothing hidden, no accents, one kind of space, dash and digit, no case."""
    text = text.translate(PLAIN)
    if not text.isascii():
        text = normal("NFKD", RAISED.sub("^", text)).translate(PLAIN)
        text = LOOSE_BREVE.sub("", text)
        text = WORD.sub(_latin, text) if UNLIKE_CAPITALS.search(text) else text
        text = normal("NFKD", text.casefold())
    return text.casefold()


def _latin(found: re.Match[str]) -> str:
    """A word that is mostly Latin, with all of its letters Latin."""
    word = found.group()
    return (
        word.translate(LATIN_LOOKS)
        if not word.isascii() and 2 * len(LATIN.findall(word)) >= len(word)
        else word
    )


def _letters(seen: str) -> str:
    """The letters, digits and pictures of a text, and words for the marks that count."""
    for pattern, word in SPELLED:
        seen = pattern.sub(word, seen)
    looks = seen.translate(LOOKS)
    if looks.isascii():
        return looks
    return normal("NFC", MARKED.sub(_settled, normal("NFD", looks)))


def _settled(found: re.Match[str]) -> str:
    """A character and the marks on it: none of them stands twice, and none of another script on a Latin letter."""
    kept = [found[1]]
    for character in found[2]:
        is_mark = unicodedata.category(character)[0] == "M"
        if not is_mark or not (character == kept[-1] or kept[-1].isascii()):
            kept.append(character)
    return "".join(kept)


class _Plain(dict[int, str]):
    """Each character as it is seen whatever stands around it, looked up once."""

    def __missing__(self, code: int) -> str:
        plain = self[code] = _plain(chr(code))
        return plain


class _Looks(dict[int, str]):
    """Each character as the letter or digit that it looks like, looked up once."""

    def __missing__(self, code: int) -> str:
        looks = self[code] = _looks(chr(code))
        return looks


def _plain(character: str) -> str:
    category = unicodedata.category(character)
    if character.isspace():
        return " "
    if category == "Cc" or is_invisible(character) or IGNORABLE.match(character):
        return ""
    if character != "\u0306" and (ACCENTS.match(character) or MORE_ACCENTS.match(character)):
        return ""
    if category == "Pd":
        return "-"
    if unicodedata.digit(character, None) is not None and not unicodedata.decomposition(character):
        return str(unicodedata.digit(character))
    return ALIASES.get(character, character)


def _looks(character: str) -> str:
    category = unicodedata.category(character)
    if character in DRAWN_AS_MARKS or ORNAMENT.match(character):
        return ""
    if category == "Sc" and character != "$":
        return unicodedata.name(character).removesuffix(" SIGN").casefold().translate(LOOKS)
    if category[0] in "LNM" or category in ("So", "Co", "Cn"):
        return _named(character)
    return ""


def _named(character: str) -> str:
    """The plain letter that the name of a character speaks of, or the character."""
    found = NAMED.fullmatch(unicodedata.name(character, ""))
    return found[1].casefold().translate(LOOKS) if found and not character.isascii() else character


def _table(rows: dict[str, str]) -> dict[int, str]:
    return {
        ord(character): letter for letter, characters in rows.items() for character in characters
    }


PLAIN = _Plain()
# Unlike the rows above, these keep case and accents apart: a name made of them alone looks Latin.
TWINS = {ord(letter): twin for letter, twin in PROTOTYPES.items() if twin.isalnum()}
TWINS |= _table(MORE_TWINS)
UNLIKE_CAPITALS = re.compile(f"[{''.join(IN_LATIN_WORDS.values())}]")
LATIN_LOOKS = _table(IN_LATIN_WORDS)
LOOKS = _Looks({code: chr(code).upper() for code in LATIN_LOOKS} | _table(LOOK_ALIKES))
