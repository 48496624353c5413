"""What text means, for every script: normal form, what is visible, and the words that a search looks for. Pure."""

from __future__ import annotations

import re
import unicodedata

ANALYSER_VERSION = 1

# Letters and symbols that render as nothing: a text made of these is empty to a reader.
BLANKS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
WORD = re.compile(r"[^\W_]+")
SPACES = re.compile(r"\s+")

# Scripts that are written without spaces; they are indexed by overlapping pairs of characters.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af]+"
)
STOP_WORDS = frozenset(
    "a about am an and any are as at be been but by can could did do does for from had has have he her his how i if in"
    " into is it its just me my no not of on or our she should so some than that the their them then there these they"
    " this to too up was we were what when where which who whom whose why will with would you your".split()
)


def normalise(text: str) -> str:
    """One form for texts that a reader would call the same: width, case, spacing, invisible characters."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        folded = "".join(c for c in folded if not is_invisible(c))
        folded = unicodedata.normalize("NFKC", folded)
    return SPACES.sub(" ", folded).strip()


def is_invisible(character: str) -> bool:
    """Characters that render as nothing at all and are not spaces."""
    if character in BLANKS:
        return True
    if unicodedata.category(character) in ("Cf", "Cs"):
        return True
    return character == "\u034f" or "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def is_visible(text: str) -> bool:
    """Whether a reader would see at least one character."""
    found = WORD.search(text)
    if found and found.group()[0] not in BLANKS:
        return True
    return any(c not in BLANKS and unicodedata.category(c)[0] in "LNPS" for c in text)


def reveal(text: str) -> str:
    """The text with every control and invisible character spelled out, safe to print in a terminal."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c == "\n" or _harmless(c) else f"<U+{ord(c):04X}>" for c in text)


def _harmless(character: str) -> bool:
    # The joiner inside an emoji is part of what a reader sees.
    return character == "\u200d" or (character.isprintable() and not is_invisible(character)) or character == "\ufe0f"


def one_line(text: str, width: int = 0) -> str:
    """The text on one line, cut with an ellipsis when a width is given."""
    line = SPACES.sub(" ", reveal(text)).strip()
    return line if not width or len(line) <= width else line[: width - 1] + "…"


def analyse(text: str) -> str:
    """The words of a text as the index holds them, separated by spaces. ASCII needs no help."""
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFKC", text).casefold()
    return UNSPACED.sub(_pairs, "".join(map(_spelled, folded)))


def terms(text: str) -> tuple[str, ...]:
    """The distinct words that a query asks for, in their order; stop words only when there is nothing else."""
    found = WORD.findall(text.casefold()) if text.isascii() else analyse(text).split()
    words = tuple(dict.fromkeys(found))
    telling = tuple(word for word in words if word not in STOP_WORDS)
    return telling or words


def match_any(words: tuple[str, ...]) -> str:
    """A full-text expression for any of the words; each is quoted, so no query is ever taken for syntax."""
    return " OR ".join(f'"{word}"' for word in words)


def _spelled(character: str) -> str:
    """Letters, digits and their marks stay, pictures become words, the invisible disappears, the rest separates."""
    if is_invisible(character):
        return ""
    if character.isalnum() or unicodedata.category(character)[0] == "M":
        return character
    if unicodedata.category(character) == "So":
        return f" u{ord(character):x} "
    return " "


def _pairs(found: re.Match[str]) -> str:
    run = found.group()
    if len(run) == 1:
        return f" {run} "
    return " " + " ".join(run[i : i + 2] for i in range(len(run) - 1)) + " "
