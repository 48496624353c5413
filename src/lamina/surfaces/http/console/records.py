"""The list of memories, the newest first, a page at a time."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.memory.agent import Memory
from lamina.model.record import Layer, State
from lamina.model.rules import KINDS
from lamina.surfaces.http import paging, params
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class RecordsForm(Form, params.ListParameters):
    """Filters of the list."""


@router.get("/records")
async def records(
    request: Request, caller: CurrentCaller, given: Annotated[RecordsForm, Query()]
) -> Response:
    def values(memory: Memory) -> dict[str, Any]:
        listed = paging.of_records(
            lambda until, limit: memory.list(**given.filters(), until=until, limit=limit),
            given.until,
            given.cursor,
            given.limit,
        )
        kinds = [*KINDS, *memory.settings["kinds.extra"]]
        items = [{**item, "day": item["occurred_at"][:10]} for item in listed["items"]]
        return {"given": given, "items": items, "next": listed["next"], "choices": _choices(kinds)}

    return await page.show(request, caller, "records.html", values)


def _choices(kinds: list[str]) -> dict[str, list[str]]:
    return {
        "layer": [layer.value for layer in Layer],
        "state": [state.value for state in State],
        "kind": sorted(kinds),
    }
