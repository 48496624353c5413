"""The list of memories as a dense table: sorted, filtered, and exported as shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.memory.agent import Memory
from lamina.surfaces.http import paging, params
from lamina.surfaces.http.console import narrowing, page
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller

NEWEST = "newest"
# The columns that can be sorted by, each with its order and its heading.
COLUMNS = (
    ("", "memory"),
    ("importance", "imp."),
    ("kind", "kind"),
    ("", "tags"),
    ("speaker", "said by"),
    ("", "trust"),
    (NEWEST, "when"),
)
EXPORTED = (
    "id", "occurred_at", "layer", "state", "kind", "importance", "confidence", "trust", "speaker",
    "session", "source", "tags", "content",
)  # fmt: skip
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # prefixes that make a spreadsheet evaluate a cell
router = APIRouter(route_class=PageRoute, include_in_schema=False)


class RecordsForm(Form, params.ListParameters):
    """Filters of the list, its order, and the form of an export."""

    sort: Literal["newest", "oldest", "importance", "changed", "speaker", "kind"] = "newest"
    format: Literal["html", "json", "csv"] = "html"


@router.get("/records")
async def records(
    request: Request, caller: CurrentCaller, given: Annotated[RecordsForm, Query()]
) -> Response:
    if given.format == "html":
        return await page.show(
            request, caller, "records.html", lambda memory: _listed(memory, given)
        )
    items = await caller.service.ask(caller.visitor, lambda memory: _listed(memory, given)["items"])
    exported = msgspec.json.encode(items) if given.format == "json" else _csv(items)
    kind = "application/json" if given.format == "json" else "text/csv; charset=utf-8"
    name = f'attachment; filename="memories.{given.format}"'
    return Response(exported, media_type=kind, headers={"Content-Disposition": name})


def _listed(memory: Memory, given: RecordsForm) -> dict[str, Any]:
    """List a page of the requested records; there is only one page unless sorted by time."""
    sort = NEWEST if given.cursor else given.sort
    number = 1 if sort == NEWEST else given.limit
    browsed = memory.browsing.browse(**given.filters(), until=given.until, sort=sort, limit=number)
    if sort == NEWEST:
        listed = paging.of_records(
            lambda until, limit: memory.list(**given.filters(), until=until, limit=limit),
            given.until,
            given.cursor,
            given.limit,
        )
    else:
        listed = {"items": [record.to_dict() for record in browsed.records], "next": None}
    return {
        **listed,
        "given": given,
        "browsed": browsed,
        "facets": narrowing.facets(browsed.counts, browsed.total, given),
        "columns": COLUMNS,
    }


def _csv(items: Sequence[Mapping[str, Any]]) -> str:
    """Format a CSV table; values that a spreadsheet would evaluate are marked as text."""
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(EXPORTED)
    table.writerows([_cell(item[name]) for name in EXPORTED] for item in items)
    return written.getvalue()


def _cell(value: Any) -> str:
    text = ", ".join(value) if isinstance(value, list) else "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULAS) else text
