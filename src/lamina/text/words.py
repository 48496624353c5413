"""Read text of any script: its normal form, its visible characters, and its words. Pure.

Functions here work on text of any language. How a text is shown in a message is here too.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lamina.text.normal_forms import normal

if TYPE_CHECKING:
    from lamina.text.screening import Screen

ANALYSER_VERSION = 4

# Letters and symbols that render as nothing: a text made of these is empty to a reader.
BLANKS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# Characters that select the form of the one before them.
SELECTORS = frozenset("\u034f\u180b\u180c\u180d\u180f") | {
    chr(n) for n in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
}
# An emoji may consist of several, connected by joiners and selectors; only there are these visible.
PICTURE = "[\u2190-\u27ff\u2900-\u2bff\U0001f000-\U0001faff]"
PARTS = re.compile(
    f"({PICTURE}(?:\ufe0f?(?:\u200d(?={PICTURE})|{PICTURE}))*\ufe0f?|[0-9#*]\ufe0f\u20e3)|(.)", re.S
)
NEW_PICTURES = re.compile("[\U0001f000-\U0001faff]")
# Accents of Latin, Greek and Cyrillic, points of Hebrew, vowel signs and the tatweel of Arabic.
ACCENTS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u0640\u064b-\u065f"
    "\u0670\u06d6-\u06ed]"
)
WORD = re.compile(r"[^\W_]+")
SPACES = re.compile(r"\s+")

# Scripts written without spaces; they are indexed by overlapping pairs of characters.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af]+"
)
# Names in code: `getUserName` is also found by its parts, and the languages C++ and C# by more than
# their letter.
IDENTIFIER = re.compile(r"\b\w*[a-z0-9][A-Z]\w*|\b[A-Za-z](?:\+\+|#)")
# The capital comes first: regex engines find it faster than a pair.
HUMPED = re.compile(r"[A-Z](?<=[a-z0-9].)")
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
SIGNS = {"+": "plusplus", "#": "sharp"}
# Porter's stemmer knows only English. These strip the Arabic article and the most common Russian
# endings.
ARTICLE = re.compile(
    "(?<![\u0621-\u064a])[\u0648\u0641\u0628\u0643\u0644]?\u0627\u0644(?=[\u0621-\u064a]{3})"
)
ENDING = re.compile(
    "(?<=[\u0430-\u045f\u0491]{3})(?:[иь]?(?:ами|ями|ах|ях|ам|ям|ов|ев|ом|ем)"
    "|[оеыи](?:го|му|ми|м|х|и|е)|[ая]я|[ую]ю|[аеиоуыэюяь])(?![\u0430-\u045f\u0491])"
)
TITLES = frozenset("dr frau herr mr mrs ms prof sir the".split())
STOP_WORDS = frozenset(
    "a about am an and any are as at be been but by can could did do does for from had has have he"
    " her his how i if in into is it its just me my no not of on or our she should so some than"
    " that the their them then there these they this to too up was we were what when where which"
    " who whom whose why will with would you your"
    " d don ll m re s t ve".split()  # left over when words are split at an apostrophe
)


def normalise(text: str) -> str:
    """Return one form of texts that read the same: width, case, spacing, nothing invisible."""
    folded = normal("NFKC", text).casefold()
    if not folded.isascii():
        folded = "".join(c for c in folded if not is_invisible(c))
        folded = normal("NFKC", folded)
    return SPACES.sub(" ", folded).strip()


def is_invisible(character: str) -> bool:
    """Tell if a character renders as nothing at all and is not a space."""
    if character in BLANKS or character in SELECTORS:
        return True
    return unicodedata.category(character) in ("Cf", "Cs")


def is_visible(text: str) -> bool:
    """Tell if a reader would see at least one character."""
    return any(_is_ink(c) for c in text)


def _is_ink(character: str) -> bool:
    if character not in BLANKS and unicodedata.category(character)[0] in "LNPS":
        return True
    # Emoji may be newer than Python's Unicode data.
    return NEW_PICTURES.match(character) is not None


def is_one_line(text: str) -> bool:
    """Tell if a text contains no line breaks and no control characters of terminals."""
    if text.isascii():
        return text.isprintable()
    return not any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in text)


def reveal(text: str) -> str:
    """Spell out every control and invisible character, so that a text is safe in a terminal."""
    if text.isascii() and text.isprintable():
        return text
    parts = (part.groups() for part in PARTS.finditer(text))
    return "".join(picture or _reveal_one(character) for picture, character in parts)


def _reveal_one(character: str) -> str:
    if character == "\n" or (character.isprintable() and not is_invisible(character)):
        return character
    return f"<U+{ord(character):04X}>"


def shown(value: object, width: int = 200) -> str:
    """Write any value for a message or a log: short, on one line, nothing hidden, no secret."""
    from lamina.text.secrets import detection  # imported here since most programs never need it

    try:
        return one_line(detection.redacted(repr(value)), width)
    except ValueError:  # a number with more digits than Python prints
        return f"a {type(value).__name__} too long to show"


def counted(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun: 1 line, 2 lines. An irregular plural is given as `many`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def meant(word: str, known: Iterable[str], alike: float = 0.6) -> str:
    """Suggest the known word that was perhaps meant, as the end of a message."""
    import difflib

    near = difflib.get_close_matches(word, known, 1, alike)
    return f"; did you mean {near[0]}?" if near else ""


def one_line(text: str, width: int = 0) -> str:
    """Put a text on one line; if a width is given, cut it with an ellipsis."""
    line = SPACES.sub(" ", reveal(text)).strip()
    return line if not width or len(line) <= width else line[: width - 1] + "…"


def analyse(text: str) -> str:
    """Prepare the words of a text for the index, separated by spaces. Most ASCII is unchanged."""
    if HUMPED.search(text) or "++" in text or "#" in text:
        text = IDENTIFIER.sub(_name_parts, text)
    if text.isascii():
        return text
    return UNSPACED.sub(_characters_and_pairs, _stem(_fold(text)))


def lengths(texts: Sequence[str], screen: Screen) -> list[int]:
    """Count the words that `analyse` makes of each text; the screen was built from the texts."""
    changed, counts = screen.with_names_in_code().tolist(), screen.word_counts().tolist()
    return [
        len(analyse(text).split()) if is_changed else count
        for text, is_changed, count in zip(texts, changed, counts, strict=True)
    ]


def terms(text: str) -> tuple[str, ...]:
    """List the distinct words of a query in order; stop words only if there are no others."""
    text = IDENTIFIER.sub(_name_parts, text)
    words = _distinct_words(text.casefold() if text.isascii() else _stem(_fold(text)))
    telling = tuple(word for word in words if word not in STOP_WORDS)
    return telling or words


def asked(text: str) -> tuple[str, ...]:
    """List the distinct words of a query unchanged: no stemming, no stop list."""
    return _distinct_words(text.casefold() if text.isascii() else _fold(text))


def tokens(text: str) -> frozenset[str]:
    """Collect the words of a text, to be compared with those of `asked`."""
    if text.isascii():
        return frozenset(WORD.findall(text.casefold()))
    return frozenset(UNSPACED.sub(_characters_and_pairs, _fold(text)).split())


def row(text: str) -> list[str]:
    """List the words of a text in order; scripts without spaces character by character."""
    if text.isascii():
        return WORD.findall(text.casefold())
    return UNSPACED.sub(lambda run: f" {' '.join(run.group())} ", _fold(text)).split()


def _distinct_words(folded: str) -> tuple[str, ...]:
    if folded.isascii():
        return tuple(dict.fromkeys(WORD.findall(folded)))
    spaced = UNSPACED.sub(lambda run: f" {_pairs(run.group()) or run.group()} ", folded)
    return tuple(dict.fromkeys(spaced.split()))


def _characters_and_pairs(run: re.Match[str]) -> str:
    return f" {' '.join(run.group())} {_pairs(run.group())} "


def _name_parts(found: re.Match[str]) -> str:
    """Put the parts of a name in code before the name."""
    name = found.group()
    sign = SIGNS.get(name[-1])
    return f"{name[0]}{sign} {name}" if sign else f"{HUMP.sub(' ', name)} {name}"


def _stem(folded: str) -> str:
    return ENDING.sub("", ARTICLE.sub("", folded))


def _fold(text: str) -> str:
    """Remove case, width and accents, encode symbols as words, and replace the rest with spaces."""
    bare = ACCENTS.sub("", normal("NFKD", text).casefold())
    return normal("NFKC", bare).translate(SPELLING)


@functools.lru_cache(4096)
def first_name(name: str | None) -> str | None:
    """Return the word by which a question would name a speaker, if there is one."""
    words = [word for word in asked(name or "") if word not in TITLES]
    return words[0] if words else None


def _spell(character: str) -> str:
    """Keep letters, digits and marks, encode symbols, drop the invisible, replace the rest."""
    if is_invisible(character):
        return ""
    if character.isalnum() or unicodedata.category(character)[0] == "M":
        return character
    if unicodedata.category(character) == "So":
        return f" u{ord(character):x} "
    return " "


class _Spelling(dict[int, str]):
    """The spelling of each character, cached, so that `str.translate` calls `_spell` only once."""

    def __missing__(self, code: int) -> str:
        spelling = self[code] = _spell(chr(code))
        return spelling


SPELLING = _Spelling()


def _pairs(run: str) -> str:
    """Split a run into overlapping pairs: scripts without spaces are searched by these."""
    return " ".join(run[start : start + 2] for start in range(len(run) - 1))
