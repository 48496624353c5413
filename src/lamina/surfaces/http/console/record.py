"""One memory: what it says, what it rests on, what became of it, and who did that."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.errors import NotFound
from lamina.memory.agent import Memory
from lamina.model.clock import is_id
from lamina.model.record import Record
from lamina.surfaces.http import lineage
from lamina.surfaces.http.console import page, tree
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import Who
from lamina.text.words import shown

TIMES = (
    "occurred_at",
    "created_at",
    "updated_at",
    "promoted_at",
    "valid_from",
    "valid_to",
    "last_verified",
)
MOST = 300  # events, and rows of the table
NAMES = ("source", "speaker", "user", "session", "run_id", "archived")
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/records/{record_id}")
async def record(
    request: Request, who: Who, record_id: str, given: Annotated[Form, Query()]
) -> Response:
    wanted = record_id.lower()
    if not is_id(wanted):
        raise NotFound(f"there is no record {shown(record_id, 80)}")

    def found(memory: Memory) -> dict[str, Any]:
        one = memory.get(wanted)
        graph = lineage.graph(memory, wanted)
        return {
            "record": one,
            "fields": _fields(one),
            "times": [
                (name, getattr(one, name)) for name in TIMES if getattr(one, name) is not None
            ],
            "graph": graph,
            "said": {node["id"]: node.get("content", "") for node in graph["nodes"]},
            "drawing": tree.drawn(graph),
            "history": memory.history(wanted),
            "most": MOST,
        }

    return await page.show(request, who, "record.html", found)


def _fields(one: Record) -> list[tuple[str, str]]:
    return [(name, str(getattr(one, name))) for name in NAMES if getattr(one, name) is not None]
