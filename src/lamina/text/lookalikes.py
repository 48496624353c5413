"""Reduce texts that look the same to a reader to one form, whatever their disguise. Pure.

The form is for comparison, never for reading: it has no spaces, accents or case, and a letter of
any script that looks like a Latin one is replaced with that. Signs that carry meaning, such as a
minus or a decimal point, become words.
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

# Letters whose usual shapes are the same or nearly so, chosen by hand, script by script. Stored
# hashes of rejected values depend on these rows. Capitals count as much as small letters, since
# case is gone by then (the Cyrillic в does not look like b, but В does look like B). Two letters
# of one alphabet never share a row, or different words of that language would become the same;
# only the single strokes of Latin, Lisu and Cherokee, and a few Carrier syllables do. A letter
# whose Unicode name tells which Latin letter it is a form of needs no entry: see `_letter_in_name`.
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
    # I, l and 1 are one stroke in many fonts: "a1lergic", "aIlergic".
    "l": "1iıǀɩιіӏլᎥᏞᒪᛁⲓⵏꓡꓲ𐌉𐑃",
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
# Small letters that look like a Latin one only within a Latin word; in a word of their own script
# they stand for themselves, or for what their capital looks like (ν is a v in "loνe", but Ν is an
# N in "ΝΟΤ"). In the bare form the former are capitals, which are not replaced again.
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
# Pairs that are missing in Unicode's data, or listed there for the other case.
MORE_TWINS = {"D": "Ԁ", "I": "ꓲ", "L": "Լ", "Q": "Ԛ", "k": "κ", "l": "ӏ", "x": "χ"}
LETTERS = frozenset({"Lu", "Ll", "Lt", "Lo"})  # of a script; modifiers such as ʼ belong to all
LETTER_NAME = re.compile(
    r"(?:LATIN SMALL LETTER|LATIN LETTER SMALL CAPITAL"
    r"|NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER"
    r"|REGIONAL INDICATOR SYMBOL LETTER) ([A-Z])(?: WITH .+)?"
)
# Letters by category, but drawn like apostrophes, colons and exclamation marks, and used for them.
DRAWN_AS_MARKS = frozenset("ǃʹʺʻʼʽʾʿˀˁˈˉˊˋˌːˑˮ꞉ꞌ")
# Arrows, boxes and bullets, degrees, and signs that merely decorate a name; other pictures have a
# meaning.
ORNAMENT = re.compile("[\u00a9\u00ae\u00b0\u2190-\u21ff\u2500-\u25ff]")
# Accents on letters of any script, besides those in `words`.
MORE_ACCENTS = re.compile(
    "[\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ua670-\ua672\ufe20-\ufe2f]"
)
# й is a separate letter: мой is not мои.
LOOSE_BREVE = re.compile("(?<![иИ])\u0306")
# Ignorable by definition, although no category says so.
IGNORABLE = re.compile("[\u2065\ufff0-\ufff8\U0001d159\U000e0000-\U000e0fff]")
# The last ones are here because compatibility forms would get them wrong: a lunate sigma looks like
# c, and a trademark sign is not part of a word.
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
MARKED = re.compile(r"(\w?)(\W+)")  # marks and pictures are not word characters

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
# Marks that change the meaning of a text, in the order in which they are replaced.
SPELLED = (
    (re.compile(r"\b([^\W\d_])\+\+"), r"\1plusplus"),  # C++ is not C
    (re.compile(r"\b([^\W\d_])#(?!\w)"), r"\1sharp"),
    # Blood groups and grades.
    (re.compile(r"(?<![\w-])([aаα][bвβ]|[^\W\d_])\+(?![\w+])"), r"\1plus"),
    (re.compile(r"(?<![\w-])([aаα][bвβ]|[^\W\d_])-(?![\w-])"), r"\1minus"),
    (re.compile(r"(?<=\d)[,'’_](?=\d{3}(?!\d))"), ""),  # 1,000 is 1000
    (re.compile(r"(?<=\d{3})-(?=\d{3})"), ""),  # 555-1234 is 5551234
    (re.compile(r"(?<=\d)[.,]0{1,2}(?![.,]?\d)"), ""),  # 7.0 is 7
    (re.compile(r"(?<=\d) *([-.,:/~+*^]) *(?=\d)"), lambda sign: BETWEEN[sign[1]]),  # 1.5 is not 15
    # Unless there is one before every letter.
    (re.compile(r"(?<![\w.])(?<!\. )\.(?=\d)"), "0point"),
    (re.compile(r"(?<![\w-])(?<!- )-(?=\d)"), "minus"),
    (re.compile(r"(?<![-=])([<≤>≥±]) *(?=\d)"), lambda sign: COMPARED[sign[1]]),
    (re.compile(r"(?<=\d) *%"), "percent"),
    (re.compile(r"\$ *(?=\d)|(?<=\d) *\$"), "dollar"),
)


def bare(text: str) -> str:
    """Return the bare form of a text. One without letters, digits and pictures keeps its signs."""
    seen = _seen(text)
    return _letters(seen) or seen.replace(" ", "") or text.translate(PLAIN).replace(" ", "") or text


def skeleton(name: str) -> str:
    """Replace letters that look like a Latin one with that; keep accents and case."""
    return name.translate(TWINS)


def drawn_like(letter: str) -> list[str]:
    """List the letters whose skeleton is this one."""
    return [one for one in (letter, *DRAWN_LIKE.get(letter, ())) if skeleton(one) == letter]


def foreign_letter(name: str) -> str | None:
    """Find the first letter that looks like a Latin one in a word that mixes scripts (аna)."""
    if name.isascii():
        return None
    for word in WORD.findall(name):
        letters: list[str] = [letter for letter in word if unicodedata.category(letter) in LETTERS]
        scripts = set(map(_script, letters))
        strangers = (letter for letter in letters if _script(letter) != "LATIN")
        stranger = next(filter(_is_like_latin, strangers), None)
        if stranger is not None and len(scripts) > 1:
            return stranger
    return None


def _script(letter: str) -> str:
    """Return the script of a letter by its Unicode name. Phonetic letters do not count as Latin."""
    name = unicodedata.name(letter, "")
    return "PHONETIC" if letter in "ɑɡ" or "SMALL CAPITAL" in name else name.partition(" ")[0]


def _is_like_latin(letter: str) -> bool:
    code = ord(letter.casefold()[0])
    return (LATIN_LOOKS.get(code) or LOOKS[code]).isascii()


def fingerprint(layer: str, key: str, value: object) -> bytes:
    """Hash a key and its value in a layer; all disguises of them have the same hash."""
    claim = f"[{json.dumps(layer)},{json.dumps(bare(key))},{_shape(value)}]"
    return hashlib.sha256(claim.encode()).digest()


def _shape(value: object) -> str:
    """Write JSON canonically: bare texts, numbers and booleans as texts, sorted keys."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return json.dumps(bare(value))
    if isinstance(value, bool):
        return json.dumps(bare(str(value)))
    if isinstance(value, (int, float)):
        return json.dumps(bare(_digits(value)))
    if isinstance(value, Mapping):
        fields = (f"{json.dumps(bare(str(key)))}:{_shape(item)}" for key, item in value.items())
        return "{" + ",".join(sorted(fields)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_shape, value)) + "]"
    problem = f"{shown(value)} is a {type(value).__name__}, which JSON cannot hold"
    raise InvalidInput(f"{problem}; give a text, a number, a list or a dict")


def _digits(number: float) -> str:
    """Write a number as people do: no exponent, no negative zero."""
    return format(Decimal(number) if isinstance(number, int) else Decimal(repr(number + 0.0)), "f")


def _seen(text: str) -> str:
    """Reduce a text to its visible form without accents and case, with plain dashes and digits."""
    text = text.translate(PLAIN)
    if not text.isascii():
        text = normal("NFKD", RAISED.sub("^", text)).translate(PLAIN)
        text = LOOSE_BREVE.sub("", text)
        text = WORD.sub(_latin_word, text) if UNLIKE_CAPITALS.search(text) else text
        text = normal("NFKD", text.casefold())
    return text.casefold()


def _latin_word(found: re.Match[str]) -> str:
    """Make all letters Latin in a word that is mostly Latin."""
    word = found.group()
    if word.isascii() or 2 * len(LATIN.findall(word)) < len(word):
        return word
    return word.translate(LATIN_LOOKS)


def _letters(seen: str) -> str:
    """Keep letters, digits and pictures; spell out marks that matter and drop the others."""
    for pattern, word in SPELLED:
        seen = pattern.sub(word, seen)
    looks = seen.translate(LOOKS)
    if looks.isascii():
        return looks
    return normal("NFC", MARKED.sub(_drop_marks, normal("NFD", looks)))


def _drop_marks(found: re.Match[str]) -> str:
    """Drop repeated marks on a character, and all marks on a Latin letter."""
    kept = [found[1]]
    for character in found[2]:
        is_mark = unicodedata.category(character)[0] == "M"
        if not is_mark or not (character == kept[-1] or kept[-1].isascii()):
            kept.append(character)
    return "".join(kept)


class _Plain(dict[int, str]):
    """The visible form of each character regardless of its context, looked up once."""

    def __missing__(self, code: int) -> str:
        plain = self[code] = _as_seen(chr(code))
        return plain


class _Looks(dict[int, str]):
    """The letter or digit that each character looks like, looked up once."""

    def __missing__(self, code: int) -> str:
        looks = self[code] = _look(chr(code))
        return looks


def _as_seen(character: str) -> str:
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


def _look(character: str) -> str:
    category = unicodedata.category(character)
    if character in DRAWN_AS_MARKS or ORNAMENT.match(character):
        return ""
    if category == "Sc" and character != "$":
        return unicodedata.name(character).removesuffix(" SIGN").casefold().translate(LOOKS)
    if category[0] in "LNM" or category in ("So", "Co", "Cn"):
        return _letter_in_name(character)
    return ""


def _letter_in_name(character: str) -> str:
    """Return the plain letter in the Unicode name of a character, or the character itself."""
    name = LETTER_NAME.fullmatch(unicodedata.name(character, ""))
    return name[1].casefold().translate(LOOKS) if name and not character.isascii() else character


def _table(rows: dict[str, str]) -> dict[int, str]:
    return {
        ord(character): letter for letter, characters in rows.items() for character in characters
    }


PLAIN = _Plain()
# Unlike the rows above, these preserve case and accents: a name made only of them looks Latin.
TWINS = {ord(letter): twin for letter, twin in PROTOTYPES.items() if twin.isalnum()}
TWINS |= _table(MORE_TWINS)
DRAWN_LIKE: dict[str, list[str]] = {}
for _code, _twin in TWINS.items():
    DRAWN_LIKE.setdefault(_twin, []).append(chr(_code))
UNLIKE_CAPITALS = re.compile(f"[{''.join(IN_LATIN_WORDS.values())}]")
LATIN_LOOKS = _table(IN_LATIN_WORDS)
LOOKS = _Looks({code: chr(code).upper() for code in LATIN_LOOKS} | _table(LOOK_ALIKES))
