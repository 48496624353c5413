"""Add facts to a context without removing turns (C3), so that sleep makes no context worse. Pure.

Facts lengthen the lines of the turns that they rest on, and some have their own lines. The room for
that comes from shortening all lines, never from dropping the last (docs/decisions/0049).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import structs

from lamina.model.record import Layer, Record, Trust
from lamina.search.context.item import Gathered
from lamina.search.context.lines import Line

ORIGIN = "sleep"  # in the metadata of records made by sleep
# The share of its usual room that each line gets, decreasing until all turns fit.
SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.7)

Write = Callable[[Gathered, float], list[Line]]  # given the share of its room that a line gets


def told(gathered: Gathered, write: Write) -> list[Line]:
    """Write the lines of a context, including every turn that would be there without facts.

    A fact whose turn was not found is included only if it takes no room from other lines. What
    binds is never left out.
    """
    said = _without(gathered, is_of_sleep)
    if len(said.found) == len(gathered.found) and len(said.bound) == len(gathered.bound):
        return write(gathered, 1.0)
    wanted = {id_ for line in write(said, 1.0) for id_ in line.item.ids}
    sayings = {hit.record.id for hit in said.found}

    def is_alone(record: Record) -> bool:
        return is_of_sleep(record) and sayings.isdisjoint(record.evidence)

    beside = structs.replace(_without(gathered, is_alone), bound=gathered.bound)
    for some, share in ((gathered, 1.0), *((beside, share) for share in SHARES)):
        made = write(some, share)
        if wanted <= _told_by(made):
            return made
    return write(said, 1.0)


def is_of_sleep(record: Record) -> bool:
    """Tell whether sleep made a fact and nobody has reviewed it since."""
    is_fact = record.layer is Layer.SEMANTIC and bool(record.evidence)
    is_made = is_fact and record.metadata.get("origin") == ORIGIN
    return is_made and record.trust is not Trust.OPERATOR


def _without(gathered: Gathered, is_left_out: Callable[[Record], bool]) -> Gathered:
    """Leave out some of the hits, found and binding."""
    return structs.replace(
        gathered,
        found=tuple(hit for hit in gathered.found if not is_left_out(hit.record)),
        bound=tuple(one for one in gathered.bound if not is_left_out(one[0].record)),
    )


def _told_by(made: Sequence[Line]) -> set[str]:
    """Collect the memories in lines: their own, and those that their facts rest on."""
    told = {id_ for line in made for id_ in line.item.ids}
    for line in made:
        told.update(*(one.evidence for one in (line.item.record, *line.item.others)))
    return told
