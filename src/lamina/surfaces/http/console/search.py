"""Searching: a question, and hits whose scores are drawn part by part."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from lamina.memory.agent import Memory
from lamina.model.record import Hit, Hits, Layer, Record
from lamina.search import RANKERS
from lamina.surfaces.http import params
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.charts import HEIGHT, WIDTH, Box
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class SearchForm(Form, params.SearchParameters):
    """A question, which may still be missing."""

    query: Annotated[str, Field(description="what to look for")] = ""


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
            "hits": [] if hits is None else drawn(hits),
            "takes_off": any(value < 0 for hit in hits or () for value in hit.parts.values()),
            "layers": [layer.value for layer in Layer if layer is not Layer.WORKING],
            "rankers": RANKERS,
        }

    return await page.show(request, caller, "search.html", values)


def drawn(hits: Hits) -> list[ScoredHit]:
    """Draw a bar for every hit, all on one scale; a part has one tone on the whole page."""
    names = list(dict.fromkeys(name for hit in hits for name in hit.parts))
    longest = max((_added(hit) for hit in hits), default=1.0) or 1.0
    return [_drawn(hit, names, longest) for hit in hits]


def _added(hit: Hit) -> float:
    """Sum up the length of its bar before anything is taken off."""
    return sum(value for value in hit.parts.values() if value > 0)


def _drawn(hit: Hit, names: list[str], longest: float) -> ScoredHit:
    """Draw what is added side by side, and what is taken off over its end: the score is left."""
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
    return ScoredHit(hit.record, hit.score, parts, boxes, hit.duplicates)


def _tone(name: str, value: float, names: list[str]) -> str:
    return "part-less" if value < 0 else f"part-{names.index(name) % 8}"
