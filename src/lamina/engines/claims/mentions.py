"""Tell which of the things that are known a turn says to be over. Pure.

"Came off sertraline", "deleted my GitLab account", "Lisbon is cancelled": no list has all the words
in which something ends. But what is known is known, and the network says of every word with which
status it is a value. So where a known value is mentioned again, the network is asked whether it is
one that has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from msgspec import structs

from lamina.engines.claims import Claim, attributes, open_words, tagged, values
from lamina.engines.claims.denials import Affirmed
from lamina.engines.claims.open_words import Word
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.tagger import Tags
from lamina.text.words import tokens

RULE = "over"
LASTING = frozenset("did visited birthday age origin nationality name".split())  # cannot end
LEAST = 0.5
SHORT = 2  # letters of a word that names nothing


class Mention(NamedTuple):
    """A known value, where a clause mentions it, and how likely the clause says that it is over."""

    known: Claim
    start: int
    end: int
    likely: float


def over(
    said: Said,
    clauses: Sequence[Clause],
    claims: Sequence[Claim],
    affirmed: Affirmed,
    tags: Callable[[], Tags],
) -> list[Claim]:
    """Add the ends of known values that a turn mentions as over; no note repeats these values."""
    ended: dict[int, Mention] = {}
    for clause in clauses:
        if clause.asks or clause.doubted:
            continue
        for one in _mentions(said, clause, affirmed, tags):
            best = ended.get(id(one.known))
            is_surer = one.likely > (best.likely if best else LEAST)
            if is_surer and not _is_told(said, one, claims):
                ended[id(one.known)] = one
    ends = [_end(said, one) for one in ended.values()]
    return [*(one for one in claims if not _repeats(one, ends)), *ends]


def _mentions(
    said: Said, clause: Clause, affirmed: Affirmed, tags: Callable[[], Tags]
) -> Iterator[Mention]:
    part = said.part(clause)
    persons = (said.speaker, *affirmed.named(sorted(tokens(said.plain))))
    found = (known for person in persons for known in affirmed.sharing_any(person, part))
    for known in filter(_may_end, found):
        words = tags().words
        if span := _named(known, words, open_words.within(words, clause.start, clause.end)):
            start, end = words[span[0]].start, words[span[1] - 1].end
            yield Mention(known, start, end, likely(tags(), span))


def likely(tags: Tags, span: tuple[int, int]) -> float:
    """Compute how likely what some words name is over."""
    return float(tags.over()[slice(*span)].mean())


def _end(said: Said, one: Mention) -> Claim:
    about = one.known.subject, one.known.attribute, one.known.value
    ended = said.claim(*about, (one.start, one.end), round(one.likely, 2), RULE)
    return structs.replace(ended, until=said.turn.at)


def _repeats(claim: Claim, ends: Sequence[Claim]) -> bool:
    """Tell if a note is made of a clause in which something ends."""
    return claim.rule == tagged.RULE and any(
        claim.start <= end.start and end.end <= claim.end for end in ends
    )


def _may_end(known: Claim) -> bool:
    return known.attribute not in LASTING and not known.attribute.startswith(attributes.INSTRUCTION)


def _named(known: Claim, words: Sequence[Word], around: tuple[int, int]) -> tuple[int, int] | None:
    """Find the words of a clause that name a known value: all of them, or one of its names."""
    stems = values.stems(known.value)
    named = values.stems(" ".join(word for word in known.value.split() if _is_name(word)))
    places = [n for n in range(*around) if values.stem(words[n].text) in (named or stems)]
    found = {values.stem(words[n].text) for n in places}
    if not found or not (named or found == stems):
        return None
    return places[0], places[-1] + 1


def _is_name(word: str) -> bool:
    return word[:1].isupper() and len(word) > SHORT and word.isalpha()


def _is_told(said: Said, one: Mention, claims: Sequence[Claim]) -> bool:
    """Tell if a turn says by itself whether a value holds: of the value, or of what it is.

    What somebody does who is mentioned, or is said to be besides, ends nothing either.
    """
    mention, known = values.stems(said.plain[one.start : one.end]), one.known
    for claim in claims:
        if claim.rule == tagged.RULE:
            continue
        if mention & values.stems(claim.subject):
            return True
        if claim.subject != known.subject:
            continue
        is_same = claim.attribute == known.attribute
        if is_same and not attributes.of(claim.attribute).many:
            return True
        if mention & values.stems(f"{claim.value} {claim.replaces or ''}") and (
            is_same or claim.negated
        ):
            return True
    return False
