"""Choose facts made by sleep (C3): with the turn they rest on if that was found, or alone. Pure.

Turns are searched as if sleep had not processed them, so that a night never changes which of them
are found. Facts are searched separately, and shown with their turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lamina.model.record import Hit, Record
from lamina.search.context.aim import Aim

ALONE = 2  # facts whose turns were not found: "lives in Porto" is an answer, "we moved" is not


def facts(
    goal: str, found: Sequence[Hit], sayings: frozenset[str], pairs: Iterable[tuple[str, Record]]
) -> list[Hit]:
    """Choose from the facts that a search found, and from pairs of a turn and a fact from it.

    Pairs are given with the newest facts first. If no fact of a turn was found, choose the one that
    shares most with the prompt.
    """
    beside = [hit for hit in found if not sayings.isdisjoint(hit.record.evidence)]
    alone = [hit for hit in found if sayings.isdisjoint(hit.record.evidence)][:ALONE]
    served = {saying for hit in beside for saying in hit.record.evidence}
    aim, best = Aim(goal), dict[str, tuple[float, Record]]()
    for saying, fact in pairs:
        weight = aim.shared(fact.content)
        if saying not in served and (saying not in best or weight > best[saying][0]):
            best[saying] = weight, fact
    chosen = {hit.record.id: hit for hit in (*beside, *alone)}
    for weight, fact in best.values():
        chosen.setdefault(fact.id, Hit(fact, 0.0, {"rests on": weight}))
    return list(chosen.values())
