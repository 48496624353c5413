"""Correct a part of something known: "it's on the 4th, not the 5th", "4401, not 4410". Pure.

`answers.py` reads contrasts with a whole value; here the wrong words stand inside a longer one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import structs

from lamina.engines.claims import Claim, attributes, values
from lamina.engines.claims.denials import Affirmed
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause, by_sentence

RULE = "contrasted"
SURE = 0.85
MOST_WORDS = 3  # of what is wrong
FAR = 120  # characters on either side in which the right words are looked for
NOT = re.compile(r"(?:\bnot|n't)\b(?! only| just| yet| sure)", re.I)
WORD = re.compile(r"(?<!['’\w])(?:\w[\w./:-]*\w|\w)")
BREAK = re.compile(r"[,;:!?\n(]|\bbut\b", re.I)
SMALL = frozenset("a an the on in at by for to from of with it's its is was be".split())
NOW = re.compile(r"\b(?:now|any ?more|any longer|these days|since)\b", re.I)


class Contrast(NamedTuple):
    """What is right, where it stands, and what is wrong."""

    right: str
    start: int
    end: int
    wrong: str


def corrected(
    said: Said, clauses: Sequence[Clause], claims: Sequence[Claim], affirmed: Affirmed
) -> list[Claim]:
    """Correct the known value that a contrast names a part of; what else it says is left out."""
    kept = list(claims)
    for one in _contrasts(said, clauses):
        known = _meant(said, one, affirmed)
        if known is None or any(claim.corrects for claim in kept):
            continue
        value = _replaced(known.value, one.wrong, one.right)
        about = known.subject, known.attribute, value
        made = said.claim(*about, (one.start, one.end), SURE, RULE)
        is_change = bool(NOW.search(said.plain, one.start, one.end + 1 + len("any more")))
        right = values.stems(one.right)
        kept = [claim for claim in kept if not _says(claim, one, right, known)]
        kept.append(structs.replace(made, replaces=known.value, corrects=not is_change))
    return kept


def _contrasts(said: Said, clauses: Sequence[Clause]) -> Iterator[Contrast]:
    """List what stands on either side of "not": "the 4th, not the 5th", "not May but June"."""
    for sentence in by_sentence(clauses):
        if any(clause.asks or clause.doubted for clause in sentence):
            continue
        first, last = sentence[0].start, sentence[-1].end
        for cue in NOT.finditer(said.plain, first, last):
            least, most = max(first, cue.start() - FAR), min(last, cue.end() + FAR)
            stop = BREAK.search(said.plain, cue.end(), most)
            end = stop.start() if stop else most
            wrong = _words(said.plain, cue.end(), end)
            if not 0 < len(wrong) <= MOST_WORDS:
                continue
            span = wrong[0].start(), wrong[-1].end()
            before = _words(said.plain, least, cue.start())[::-1]
            behind = _words(said.plain, end, most) if stop else []
            for places in (before, behind):
                if right := _alike(said.plain, places, wrong):
                    begin, over = min(right[0], span[0]), max(right[1], span[1])
                    yield Contrast(said.plain[slice(*right)], begin, over, said.plain[slice(*span)])
                    break


def _words(plain: str, start: int, end: int) -> list[re.Match[str]]:
    """List the telling words of a stretch."""
    found = WORD.finditer(plain, start, end)
    return [one for one in found if one.group().lower() not in SMALL]


def _alike(
    plain: str, places: Sequence[re.Match[str]], wrong: Sequence[re.Match[str]]
) -> tuple[int, int] | None:
    """Find the nearest words that can take the place of the wrong ones: names, or numbers."""
    count = len(wrong)
    for place in range(min(3, len(places) - count + 1)):
        some = sorted(places[place : place + count], key=lambda one: one.start())
        pairs = zip(some, wrong, strict=True)
        if all(_is_like(one.group(), other.group()) for one, other in pairs):
            return some[0].start(), some[-1].end()
    return None


def _is_like(one: str, other: str) -> bool:
    """Tell if two words are both numbers or both names, or the same."""
    if one.casefold() == other.casefold():
        return True
    numbers = _is_number(one), _is_number(other)
    if any(numbers):
        return all(numbers)
    return values.is_name(one) and values.is_name(other)


def _is_number(word: str) -> bool:
    return any(map(str.isdigit, word))


def _meant(said: Said, one: Contrast, affirmed: Affirmed) -> Claim | None:
    """Find the latest known value of the speaker that has the wrong words, and others."""
    for known in affirmed.sharing_any(said.speaker, one.wrong):
        is_part = known.value.casefold() != one.wrong.casefold()
        is_other = known.attribute.startswith(attributes.INSTRUCTION)
        if is_part and not is_other and _place(known.value, one.wrong):
            return known
    return None


def _place(value: str, wrong: str) -> re.Match[str] | None:
    return re.search(rf"(?<!\w){re.escape(wrong)}(?!\w)", value, re.I)


def _replaced(value: str, wrong: str, right: str) -> str:
    found = _place(value, wrong)
    return f"{value[: found.start()]}{right}{value[found.end() :]}" if found else value


def _says(claim: Claim, one: Contrast, right: frozenset[str], known: Claim) -> bool:
    """Tell if a claim was made of the contrast's own words, or denies what they correct."""
    if claim.negated and (claim.attribute, claim.value) == (known.attribute, known.value):
        return True
    is_there = claim.start < one.end and one.start < claim.end
    is_wrong = bool(values.stems(claim.value) & values.stems(one.wrong))
    return is_there and (is_wrong or bool(right & values.stems(claim.value)))
