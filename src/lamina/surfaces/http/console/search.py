"""Search: what holds now, then what was said, each with the reasons for its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from lamina.memory.agent import Memory
from lamina.memory.browsing import Learned, is_current
from lamina.model.record import Hit, Hits, Layer, Record, State
from lamina.search import RANKERS
from lamina.surfaces.http import params
from lamina.surfaces.http.console import narrowing, page
from lamina.surfaces.http.console.charts import HEIGHT, WIDTH, Box
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller

SHOWN = 20
BESIDE = 3  # facts that were found only through statements
router = APIRouter(route_class=PageRoute, include_in_schema=False)


class SearchForm(Form, params.SearchParameters):
    """A question, which may still be missing."""

    query: Annotated[str, Field(description="what to look for")] = ""
    limit: Annotated[int, Field(ge=1, le=params.MOST_HITS)] = SHOWN


class Part(NamedTuple):
    """One part of a score."""

    name: str
    value: float
    tone: str


class ScoredHit(NamedTuple):
    """A hit with the parts of its score, and its bar."""

    record: Record
    score: float
    parts: list[Part]
    boxes: list[Box]
    duplicates: int
    rejected: tuple[str, ...]


class Successor(NamedTuple):
    """What now holds in place of a statement, or of part of it, and since when."""

    record: Record
    at: datetime
    is_whole: bool = True


@router.get("/search")
async def search(
    request: Request, caller: CurrentCaller, given: Annotated[SearchForm, Query()]
) -> Response:
    def values(memory: Memory) -> dict[str, Any]:
        hits = memory.search(given.query, **given.arguments()) if given.query.strip() else None
        return {
            "given": given,
            "outcome": None if hits is None else hits.outcome,
            "notes": () if hits is None else hits.notes,
            "takes_off": any(value < 0 for hit in hits or () for value in hit.parts.values()),
            "layers": [layer.value for layer in Layer if layer is not Layer.WORKING],
            "rankers": RANKERS,
            "facets": narrowing.facets(
                narrowing.counted(hit.record for hit in hits or ()), len(hits or ()), given
            ),
            **_ordered(memory, hits or Hits([])),
        }

    return await page.show(request, caller, "search.html", values)


def _ordered(memory: Memory, hits: Hits) -> dict[str, Any]:
    """Separate current records from statements, and add what has replaced each statement."""
    ids = [hit.record.id for hit in hits]
    learned = memory.browsing.learned_from(ids) if ids else {}
    replaced = memory.browsing.replacements(ids) if ids else {}
    scored = drawn(hits)
    current = [hit for hit in scored if is_current(hit.record)]
    later = successors([hit.record for hit in hits], learned, replaced)
    named = {hit.record.id for hit in scored}
    beside = {one.record.id: one.record for one in later.values() if one.record.id not in named}
    return {
        "current": current,
        "beside": [*beside.values()][:BESIDE],
        "said": [hit for hit in scored if not is_current(hit.record)],
        "later": later,
        "number": len(hits),
    }


def successors(
    records: Sequence[Record],
    learned: Mapping[str, Sequence[Learned]],
    replaced: Mapping[str, Record],
) -> dict[str, Successor]:
    """Find what now holds in place of outdated records, or of facts learned from them.

    If other facts from a statement still hold, only part of it is outdated.
    """
    later: dict[str, Successor] = {}
    for record in records:
        now = replaced.get(record.id)
        if now is not None:
            later[record.id] = Successor(now, now.valid_from or now.occurred_at)
            continue
        facts = learned.get(record.id, ())
        holding = {one.record.id for one in facts if one.record.state is State.ACTIVE}
        for one in facts:
            now = one.replaced_by
            if now is not None and now.state is State.ACTIVE and now.id not in holding:
                later[record.id] = Successor(now, now.valid_from or now.occurred_at, not holding)
    return later


def drawn(hits: Hits) -> list[ScoredHit]:
    """Draw a bar for every hit on a common scale; a part has the same colour on the whole page."""
    names = list(dict.fromkeys(name for hit in hits for name in hit.parts))
    longest = max((_added(hit) for hit in hits), default=1.0) or 1.0
    return [_drawn(hit, names, longest) for hit in hits]


def _added(hit: Hit) -> float:
    """Return the length of its bar before deductions."""
    return sum(value for value in hit.parts.values() if value > 0)


def _drawn(hit: Hit, names: list[str], longest: float) -> ScoredHit:
    """Draw positive parts side by side and deductions over their end, which leaves the score."""
    parts = [
        Part(name, hit.parts[name], _tone(name, hit.parts[name], names))
        for name in names
        if name in hit.parts
    ]
    boxes, end = [], 0.0
    for part in sorted(parts, key=lambda part: part.value < 0):
        begin, end = end, max(0.0, end + WIDTH * part.value / longest)
        x, width = min(begin, end), abs(end - begin)
        title = f"{part.name} {part.value:.3f}"
        boxes.append(Box(round(x, 2), 0, round(width, 2), HEIGHT, part.tone, title))
    rejected = () if hit.outdated is None else hit.outdated.rejected
    return ScoredHit(hit.record, hit.score, parts, boxes, hit.duplicates, rejected)


def _tone(name: str, value: float, names: list[str]) -> str:
    return "part-less" if value < 0 else f"part-{names.index(name) % 8}"
