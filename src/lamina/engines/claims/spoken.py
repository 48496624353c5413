"""Tell in which language something is said, by the words that only it has. Pure."""

from __future__ import annotations

import re

from lamina.engines.claims.tongues import ALL, Tongue

WORD = re.compile(r"[^\W\d_][\w'-]*")
ENGLISH = re.compile(
    r"\b(?:the|and|to|of|is|was|my|it|that|for|you|have|has|with|an|at|but|i'm|i've|i|not|we|now"
    r"|from|she|he|her|his|they|this|these|today|yesterday|are|were|been|got|going|no|new|again|any"
    r"|up|our|just|don't|can't|didn't|it's|since|last|week|year)\b",
    re.I,
)
MARKS = tuple(frozenset(tongue.marks.split()) for tongue in ALL)
MARKED = frozenset().union(*MARKS)
NEAR = 400  # characters that tell the language


def is_foreign(plain: str) -> bool:
    """Tell if words that English has not stand in a turn, and none of English; names are of all."""
    if plain.isascii() or {*ENGLISH.findall(plain.lower())} - {"i"}:  # "i" is of other languages
        return False
    return any(word[0].islower() and not word.isascii() for word in WORD.findall(plain))


def of(plain: str) -> Tongue | None:
    """Choose the language of a turn: that of most words, if it has more than English has."""
    lowered = plain[:NEAR].lower()
    if MARKED.isdisjoint(lowered.split()):
        return None
    words = WORD.findall(lowered)
    marked = [word for word in words if word in MARKED]
    english = len(ENGLISH.findall(plain[:NEAR]))
    needed = min(len(words), 12) / (4 if english else 6)
    if not marked or len(marked) < needed or len(marked) <= english:
        return None
    listed = [sum(word in marks for word in marked) for marks in MARKS]
    return ALL[listed.index(max(listed))]
