"""What a session has said so far: to know what ends, what is corrected, and what an answer is about. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lamina.engines.claims import Claim, values
from lamina.engines.claims.attributes import FAVOURITE


class Memory:
    """The claims of a session, the latest last."""

    def __init__(self, known: Iterable[Claim] = ()) -> None:
        self._claims: list[tuple[Claim, frozenset[str]]] = []
        for claim in known:
            self.note(claim)

    def note(self, claim: Claim) -> None:
        if not claim.negated:
            self._claims.append((claim, values.stems(claim.value)))

    def find(self, subject: str, kinds: Sequence[str], words: str) -> Claim | None:
        """The latest of some kinds that some words mean: its value shares one of theirs. No subject is anybody."""
        meant = values.stems(words)
        told = ((claim, stems) for claim, stems in reversed(self._claims) if _is_about(claim, subject, kinds))
        return next((claim for claim, stems in told if meant & stems), None)

    def last(self, subject: str, kinds: Sequence[str]) -> Claim | None:
        """The latest of some kinds."""
        return next((claim for claim, _ in reversed(self._claims) if _is_about(claim, subject, kinds)), None)

    def unnamed(self, subject: str, attribute: str, kin: str) -> str | None:
        """What was said in place of a name: "little sister"."""
        told = (claim.value for claim, _ in reversed(self._claims) if _is_about(claim, subject, [attribute]))
        return next((value for value in told if value.lower().split()[-1:] == [kin]), None)


def _is_about(claim: Claim, subject: str, kinds: Sequence[str]) -> bool:
    kind = "favourite" if claim.attribute.startswith(FAVOURITE) else claim.attribute
    return kind in kinds and (not subject or claim.subject == subject)
