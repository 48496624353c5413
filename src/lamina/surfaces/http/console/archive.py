"""The archive: memories that have left the store, found by text."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.memory.agent import Memory
from lamina.surfaces.http import params
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class ArchiveForm(Form, params.ArchiveParameters):
    """A text to look for, and when it happened."""

    @property
    def is_asked(self) -> bool:
        return bool(self.query.strip() or self.since or self.until)


@router.get("/archive")
async def archive(
    request: Request, caller: CurrentCaller, given: Annotated[ArchiveForm, Query()]
) -> Response:
    def values(memory: Memory) -> dict[str, Any]:
        number, items = memory.browsing.archived(), None
        if given.is_asked:
            items = memory.search_archive(
                given.query, given.limit, since=given.since, until=given.until
            )
        return {"given": given, "items": items, "number": number}

    return await page.show(request, caller, "archive.html", values)
