"""Hanging the console under the server's app."""

from __future__ import annotations

from fastapi import FastAPI

from lamina.surfaces.http.console import (
    archive,
    audit,
    facts,
    files,
    overview,
    page,
    profile,
    record,
    records,
    review,
    search,
)
from lamina.surfaces.http.console.timings import Timed, Timings

PAGES = (overview, search, records, archive, record, facts, review, profile, audit)


def mount(app: FastAPI) -> None:
    """Add the pages, what they look like, and a watch that times recalls."""
    timings = Timings()
    app.state.console = page.Console(timings)
    app.add_middleware(Timed, timings=timings)
    for one in PAGES:
        app.include_router(one.router)
    app.include_router(files.router)
