"""Choose the facts that sleep made (C3): with what they rest on if that was found, or alone. Pure.

Turns are searched as if sleep had made nothing of them, so that a night never changes which of them
are found. Facts are searched for themselves, and stand with their turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lamina.model.record import Hit, Record
from lamina.search.context.aim import Aim

ALONE = 2  # facts whose sayings were not found: "lives in Porto" answers, "we moved" does not


def facts(
    goal: str, found: Sequence[Hit], sayings: frozenset[str], pairs: Iterable[tuple[str, Record]]
) -> list[Hit]:
    """Choose from the facts that a search found, and from pairs of a saying and a fact of it.

    Pairs have the newest facts first. Of a saying without a fact that was found, the fact stands
    with it that shares most with what is asked.
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
