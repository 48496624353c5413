"""Find seed phrases of wallets: twelve or more consecutive words that are called one, or are all in
the BIP-39 list. Pure.

`seed_words.txt` is the English list of BIP-0039, as published under the MIT licence by its authors.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import resources

from lamina.errors import StoreUnavailable
from lamina.text.secrets.patterns import Secret, lazy

SEED = "seed phrase"
FEWEST, FEWEST_DIFFERENT = 12, 9  # words of a phrase
# Words like those in the list, separated by spaces, commas, line ends or numbers: "1. abandon
# 2. ability".
ROW = lazy(
    r"(?<![a-z])[a-z]{3,8}(?:[ \t\r\n,;|/-]{1,4}(?:\(?[0-9]{1,2}[.):]{0,2}[ \t]{0,2})?"
    r"[a-z]{3,8}(?![a-z])){11,}"
)
WORD = lazy(r"[a-z]+")
# Words of any list, if the text says what they are.
PHRASE = lazy(
    r"(?:seed|recovery|mnemonic|backup|secret)[ _-](?:phrase|words)[^\w\n]{0,4}"
    r"(?: ?(?:is|are|was))?[^\w\n]{0,4}"
    r"(?P<secret>[a-z]{3,8}(?:[ ,\n]{1,2}[a-z]{3,8}){11,23})(?![a-z])"
)
# Words that no such list contains.
GRAMMAR = frozenset("the and are for was but not has your our can its his her they were".split())
ALL_KNOWN = b"\1" * FEWEST


@functools.cache
def listed() -> frozenset[str]:
    """Load the words of the list."""
    words = resources.files("lamina.text.secrets").joinpath("seed_words.txt")
    try:
        return frozenset(words.read_text("ascii").split())
    except OSError as error:  # the disk fails, so that even our own files cannot be read
        raise StoreUnavailable(
            f"the program cannot be read: {error.strerror}; nothing was stored"
        ) from error


def seeds(lowered: str) -> Iterator[Secret]:
    """Find phrases in a lower-cased text: words that are called one, or words of the list."""
    for match in PHRASE.finditer(lowered) if "phrase" in lowered or "words" in lowered else ():
        if GRAMMAR.isdisjoint(match["secret"].split()):
            yield Secret(SEED, *match.span("secret"))
    # Most texts do not contain that many consecutive words of the list, whatever the separators.
    words = WORD.findall(lowered)
    if len(words) < FEWEST or ALL_KNOWN not in bytes(map(listed().__contains__, words)):
        return
    for row in ROW.finditer(lowered):
        known: list[tuple[int, int]] = []
        for word in WORD.finditer(lowered, *row.span()):
            if word.group() in listed():
                known.append(word.span())
                continue
            yield from _phrase(lowered, known)
            known = []
        yield from _phrase(lowered, known)


def _phrase(lowered: str, known: list[tuple[int, int]]) -> Iterator[Secret]:
    """Accept a row of words as a phrase, unless it repeats too many, which is not random."""
    if len(known) >= FEWEST and len({lowered[slice(*word)] for word in known}) >= FEWEST_DIFFERENT:
        yield Secret(SEED, known[0][0], known[-1][1])
