"""The archive: memories that have left the store, found by a text that they hold."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.memory.agent import Memory
from lamina.surfaces.http import params
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import Who

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class Sought(Form, params.Archived):
    """What to look for, and when it happened."""

    @property
    def is_asked(self) -> bool:
        return bool(self.query.strip() or self.since or self.until)


@router.get("/archive")
async def archive(request: Request, who: Who, given: Annotated[Sought, Query()]) -> Response:
    def found(memory: Memory) -> dict[str, Any]:
        number = memory.status()["archived"]
        if not given.is_asked:
            return {"given": given, "items": None, "number": number}
        items = memory.search_archive(
            given.query, given.limit, since=given.since, until=given.until
        )
        return {"given": given, "items": items, "number": number}

    return await page.show(request, who, "archive.html", found)
