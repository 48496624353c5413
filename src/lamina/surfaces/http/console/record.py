"""One memory: its text, its sources, what became of it, and the people and programs involved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.errors import no_record
from lamina.memory.agent import Memory
from lamina.model.clock import is_id
from lamina.model.record import Record
from lamina.surfaces.http import lineage
from lamina.surfaces.http.console import page, tree
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller
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
WORDS = 20  # pieces of evidence to look up
NAMES = ("source", "speaker", "user", "session", "run_id", "archived")
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/records/{record_id}")
async def record(
    request: Request, caller: CurrentCaller, record_id: str, given: Annotated[Form, Query()]
) -> Response:
    wanted = record_id.lower()
    if not is_id(wanted):
        raise no_record(shown(record_id, 80))

    def values(memory: Memory) -> dict[str, Any]:
        shown_record = memory.get(wanted)
        graph = lineage.graph(memory, wanted)
        return {
            "record": shown_record,
            "fields": [(name, str(value)) for name, value in _set_fields(shown_record, NAMES)],
            "times": _set_fields(shown_record, TIMES),
            "graph": graph,
            "said": {node["id"]: node.get("content", "") for node in graph["nodes"]},
            "drawing": tree.draw(graph),
            "history": memory.history(wanted),
            "words": _words(memory, shown_record),
            "most": MOST,
        }

    return await page.show(request, caller, "record.html", values)


def _words(memory: Memory, record: Record) -> list[Record]:
    """List the turns that a record is based on, or itself if it is one: they link to their chat."""
    named = [record.id, *record.evidence][:WORDS]
    said = [memory.get(one) for one in memory.contents(named)]
    return [one for one in said if one.session is not None and one.speaker is not None]


def _set_fields(record: Record, names: Sequence[str]) -> list[tuple[str, Any]]:
    """List the fields that have a value."""
    pairs = [(name, getattr(record, name)) for name in names]
    return [(name, value) for name, value in pairs if value is not None]
