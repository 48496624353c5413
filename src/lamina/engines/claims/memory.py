"""The claims of a session so far, to resolve endings, corrections and answers. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product

from lamina.engines.claims import Claim, attributes, values, words
from lamina.engines.claims.attributes import DOES, FAVOURITE, HAS

PET = "pet"
ANYBODY = ""  # a subject in queries for pets, whose owner is often not mentioned
DOING = ("habit", "hobby", "does")
RELATED = frozenset(words.RELATION.values())
THING = "thing"  # the kind of possessions named by a noun


class Memory:
    """The latest claims of a session, indexed so that lookups do not slow down as it grows.

    Claims are indexed at the first lookup, since many sessions need none.
    """

    def __init__(self, known: Iterable[Claim] = ()) -> None:
        self._number = 0
        self._noted: list[Claim] = []  # since the last lookup
        self._by_kind: dict[tuple[str, str], tuple[int, Claim]] = {}
        self._by_stem: dict[tuple[str, str, str], tuple[int, Claim]] = {}
        self._by_last_word: dict[tuple[str, str, str], str] = {}
        for claim in known:
            self.note(claim)

    def note(self, claim: Claim) -> None:
        if claim.negated:
            return
        self._noted.append(claim)
        if claim.attribute in RELATED:
            for word in claim.value.lower().split()[-1:]:
                self._by_last_word[claim.attribute, claim.subject, word] = claim.value

    def _index_noted(self) -> None:
        for claim in self._noted:
            self._index(claim)
        self._noted.clear()

    def _index(self, claim: Claim) -> None:
        self._number += 1
        latest = (self._number, claim)
        subjects = (claim.subject, ANYBODY) if claim.attribute == PET else (claim.subject,)
        kinds, stems, noun = _keys(claim.attribute, claim.value)
        for kind, subject in product(kinds, subjects):
            self._by_kind[kind, subject] = latest
            for stem in stems:
                self._by_stem[kind, subject, stem] = latest
        for stem in noun:
            self._by_stem[THING, claim.subject, stem] = latest

    def find(self, subject: str, kinds: Sequence[str], named: str) -> Claim | None:
        """Find the latest claim whose value shares a word; with ANYBODY, search all pets."""
        self._index_noted()
        keys = ((kind, subject, stem) for stem in values.stems(named) for kind in kinds)
        return _latest(self._by_stem[key] for key in keys if key in self._by_stem)

    def beside(self, claim: Claim, named: str) -> list[Claim]:
        """List other claims about activities in the words of a claim: "smoke on the porch"."""
        self._index_noted()
        keys = ((kind, claim.subject, stem) for stem in values.stems(named) for kind in DOING)
        found = (self._by_stem[key][1] for key in keys if key in self._by_stem)
        others = {id(one): one for one in found if one.at == claim.at and one is not claim}
        return list(others.values())

    def last(self, subject: str, kinds: Sequence[str]) -> Claim | None:
        """Find the latest claim of the given kinds."""
        self._index_noted()
        keys = ((kind, subject) for kind in kinds)
        return _latest(self._by_kind[key] for key in keys if key in self._by_kind)

    def unnamed(self, subject: str, attribute: str, kin: str) -> str | None:
        """Find the value that is used in place of a relative's name: "little sister"."""
        return self._by_last_word.get((attribute, subject, kin))


class Taken:
    """The claims of one turn in order, without repetitions."""

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        # By what claims are about: the number of stems of each, and the claims that have a stem.
        self._sizes: dict[tuple[object, ...], list[int]] = {}
        self._holders: dict[tuple[object, ...], list[int]] = {}

    def add(self, claim: Claim) -> bool:
        """Add a claim and return True, unless another one says the same already."""
        family, is_favourite = attributes.of(claim.attribute).family, FAVOURITE in claim.attribute
        about = (claim.subject, claim.negated, family, is_favourite)
        stems, sizes = values.stems(claim.value), self._sizes.setdefault(about, [])
        shared: Counter[int] = Counter()
        for stem in stems:
            shared.update(self._holders.get((*about, stem), ()))
        if sizes and not stems:  # "no diet" says less than "not vegetarian"
            return False
        if any(2 * number >= min(len(stems), sizes[place]) for place, number in shared.items()):
            return False
        for stem in stems:
            self._holders.setdefault((*about, stem), []).append(len(sizes))
        sizes.append(len(stems))
        self.claims.append(claim)
        return True


def _latest(found: Iterable[tuple[int, Claim]]) -> Claim | None:
    best = max(found, key=lambda numbered: numbered[0], default=None)
    return best[1] if best else None


@lru_cache(10_000)  # known claims are indexed in every session
def _keys(attribute: str, value: str) -> tuple[tuple[str, ...], frozenset[str], frozenset[str]]:
    """Return by what a claim is found: its kinds, its stems, and those of the thing it is about."""
    return _kinds(attribute), _stems(attribute, value), _noun(attribute)


def _stems(attribute: str, value: str) -> frozenset[str]:
    """Return the stems by which a claim is found: for activities, also those of the verb."""
    if attribute.startswith(DOES):
        return values.stems(value) | values.stems(attribute.removeprefix(DOES))
    return values.stems(value)


def _noun(attribute: str) -> frozenset[str]:
    """Return the stems of the thing that a claim is about: those of "bike" for a Brompton."""
    is_thing = attribute.startswith(HAS)
    return values.stems(attribute.removeprefix(HAS)) if is_thing else frozenset()


def _kinds(attribute: str) -> tuple[str, ...]:
    """Return the kinds of a claim: its attribute, or that of an open one; a car is owned."""
    kind, colon, noun = attribute.partition(":")
    if not colon:
        return (attribute,)
    is_owned = attribute.startswith(HAS) and noun.rpartition(" ")[2] in words.POSSESSIONS
    return (kind, "owns") if is_owned else (kind,)
