"""What monitoring programs ask: whether the server is well, and its metrics."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response

from lamina.surfaces.http import metrics, params
from lamina.surfaces.http.dependencies import CurrentCaller
from lamina.surfaces.http.service import Service

UNAVAILABLE = 503
router = APIRouter(include_in_schema=False)


@router.get("/health")
async def health(request: Request) -> Response:
    """Say whether the store can be read, and nothing else: it needs no token."""
    service: Service = request.app.state.service
    return answer(await service.is_well())


@router.get("/metrics")
async def numbers(
    request: Request, caller: CurrentCaller, _: Annotated[params.NoParameters, Query()]
) -> Response:
    """Show numbers about the memory of the caller's token, and about this server."""
    status = await caller.service.ask(caller.visitor, lambda memory: memory.status())
    console = getattr(request.app.state, "console", None)
    recalls = None if console is None else console.timings.recalls
    return Response(metrics.text(status, recalls), media_type=metrics.CONTENT_TYPE)


def answer(is_well: bool) -> Response:
    """Answer in a word, with a status for programs."""
    if is_well:
        return JSONResponse({"status": "ok"})
    return JSONResponse({"status": "unavailable"}, UNAVAILABLE)
