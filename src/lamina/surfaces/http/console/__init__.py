"""The console: memories, lineage and reviews, as pages that change nothing and need no script."""

from __future__ import annotations

from importlib import resources

from fastapi import APIRouter, FastAPI
from starlette.responses import Response

from lamina.surfaces.http.console import (
    archive,
    audit,
    conversations,
    overview,
    page,
    people,
    projects,
    record,
    records,
    review,
    search,
)
from lamina.surfaces.http.console.timings import TimingMiddleware, Timings

PAGES = (overview, search, conversations, records, archive, record, people, projects, review, audit)
STATIC = resources.files(__package__) / "static"
static = APIRouter(include_in_schema=False)


@static.get("/console/console.css")
async def style() -> Response:
    return Response((STATIC / "console.css").read_bytes(), media_type="text/css")


@static.get("/console/icon.svg")
async def icon() -> Response:
    return Response((STATIC / "icon.svg").read_bytes(), media_type="image/svg+xml")


def mount(app: FastAPI) -> None:
    """Add the pages, their style, and a middleware that times recalls."""
    timings = Timings()
    app.state.console = page.Console(timings)
    app.add_middleware(TimingMiddleware, timings=timings)
    for module in PAGES:
        app.include_router(module.router)
    app.include_router(static)
    app.state.failure = page.failure
