"""What a session has said so far: to know what ends, what is corrected, and what an answer is about. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from lamina.engines.claims import Claim, attributes, values
from lamina.engines.claims.attributes import FAVOURITE

ANYBODY = ""


class Memory:
    """The latest claims of a session, by what is asked about them: a long session is as quick to ask as a short one."""

    def __init__(self, known: Iterable[Claim] = ()) -> None:
        self._number = 0
        self._by_kind: dict[tuple[str, str], tuple[int, Claim]] = {}
        self._by_stem: dict[tuple[str, str, str], tuple[int, Claim]] = {}
        self._by_last_word: dict[tuple[str, str, str], str] = {}
        for claim in known:
            self.note(claim)

    def note(self, claim: Claim) -> None:
        if claim.negated:
            return
        self._number += 1
        kind, latest = _kind(claim), (self._number, claim)
        last = claim.value.lower().split()[-1:]
        for subject in (claim.subject, ANYBODY):
            self._by_kind[kind, subject] = latest
            for stem in values.stems(claim.value):
                self._by_stem[kind, subject, stem] = latest
            for word in last:
                self._by_last_word[kind, subject, word] = claim.value

    def find(self, subject: str, kinds: Sequence[str], words: str) -> Claim | None:
        """The latest of some kinds that some words mean: its value shares one of theirs. No subject is anybody."""
        keys = ((kind, subject, stem) for stem in values.stems(words) for kind in kinds)
        return _latest(self._by_stem[key] for key in keys if key in self._by_stem)

    def last(self, subject: str, kinds: Sequence[str]) -> Claim | None:
        """The latest of some kinds."""
        keys = ((kind, subject) for kind in kinds)
        return _latest(self._by_kind[key] for key in keys if key in self._by_kind)

    def unnamed(self, subject: str, attribute: str, kin: str) -> str | None:
        """What was said in place of a name: "little sister"."""
        return self._by_last_word.get((attribute, subject, kin))


class Taken:
    """The claims of one turn in their order, none of them twice."""

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        self._sizes: dict[
            tuple[object, ...], list[int]
        ] = {}  # how many stems each claim about the same has
        self._holders: dict[tuple[object, ...], list[int]] = {}  # which of them have a stem

    def add(self, claim: Claim) -> bool:
        """Take a claim, unless another says the same already; whether it was taken."""
        about = (
            claim.subject,
            claim.negated,
            attributes.of(claim.attribute).family,
            FAVOURITE in claim.attribute,
        )
        stems, sizes = values.stems(claim.value), self._sizes.setdefault(about, [])
        shared: Counter[int] = Counter()
        for stem in stems:
            shared.update(self._holders.get((*about, stem), ()))
        if sizes and (not stems or 0 in sizes):
            return False
        if any(2 * number >= min(len(stems), sizes[place]) for place, number in shared.items()):
            return False
        for stem in stems:
            self._holders.setdefault((*about, stem), []).append(len(sizes))
        sizes.append(len(stems))
        self.claims.append(claim)
        return True


def _latest(found: Iterable[tuple[int, Claim]]) -> Claim | None:
    best = max(found, key=lambda one: one[0], default=None)
    return best[1] if best else None


def _kind(claim: Claim) -> str:
    return "favourite" if claim.attribute.startswith(FAVOURITE) else claim.attribute
