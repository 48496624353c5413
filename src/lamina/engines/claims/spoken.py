"""Detect the language of a text by words that no other language has. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from lamina.engines.claims.tongues import ALL, Tongue
from lamina.text import persons

WORD = re.compile(r"[^\W\d_][\w'-]*")
ENGLISH = frozenset(
    "the and to of is was my it that for you have has with an at but i'm i've i not we now from she"
    " he her his they this these today yesterday are were been got going no new again any up our"
    " just don't can't didn't it's since last week year".split()
)
OTHERS = frozenset(
    "der die das und ist ich nicht ein eine mit auf für zu den dem wir mein meine bin habe le la"
    " les et est je un une des pas que du en suis mon ma j'ai el los las es yo por con para una soy"
    " mi muy il che di sono non per ho het een ik van niet mijn os um uma não eu meu minha och jag"
    " är og jeg det nie jest w".split()
)
# Split words as the lists do: "don't" is one word, "Ana's" is two.
JOINED = "|".join(sorted(word for word in ENGLISH | OTHERS if "'" in word))
LISTED = re.compile(rf"(?:{JOINED})\b|\w+", re.I)
MARKS = tuple(frozenset(tongue.marks.split()) for tongue in ALL)
MARKED = frozenset().union(*MARKS)
# English words by which people speak of themselves, but not "i.e.", "I/O" and "me" in a name.
OWN = re.compile(r"(?<![\w./-])(?:(?:I|i|[Mm](?:e|y|ine))|(?P<us>[Ww]e|[Oo]urs?))(?!\.\w|[\w/-])")
NEAR = 400  # characters that are read to detect the language


def is_english(plain: str) -> bool:
    """Tell if rules for English may be applied: other languages give nothing, not nonsense."""
    words = _listed(plain)
    return _count(words, ENGLISH) >= _count(words, OTHERS)


def is_foreign(plain: str) -> bool:
    """Tell if a turn has words of other languages and none of English; names do not count."""
    if plain.isascii():
        return False
    if ENGLISH.intersection(_listed(plain)) - {"i"}:  # other languages have the word "i" too
        return False
    return any(word[0].islower() and not word.isascii() for word in WORD.findall(plain))


def of(plain: str) -> Tongue | None:
    """Return the language with most words in a turn, if it has more of them than English."""
    lowered = plain[:NEAR].lower()
    if MARKED.isdisjoint(lowered.split()):
        return None
    words = WORD.findall(lowered)
    marked = [word for word in words if word in MARKED]
    english = _count(_listed(plain[:NEAR]), ENGLISH)
    needed = min(len(words), 12) / (4 if english else 6)
    if not marked or len(marked) < needed or len(marked) <= english:
        return None
    listed = [sum(word in marks for word in marked) for marks in MARKS]
    return ALL[listed.index(max(listed))]


def is_own(plain: str, *, alone: bool = False) -> bool:
    """Tell if those who write a text speak of themselves; "eu" is a pronoun in Portuguese only.

    Who writes for others says "we" of all of them; then only "I" counts, which is `alone`.
    """
    if any(not (alone and found["us"]) for found in OWN.finditer(plain)):
        return True
    if persons.ABOUT_ME.search(plain):
        return True
    return of(plain) is not None and persons.asks_of_self(plain)


def _listed(plain: str) -> list[str]:
    if plain.isascii():
        return LISTED.findall(plain.lower())
    return list(map(str.lower, LISTED.findall(plain)))


def _count(words: Sequence[str], among: Set[str]) -> int:
    return sum(map(among.__contains__, words))
