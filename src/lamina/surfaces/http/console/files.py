"""The files that the pages need: a stylesheet and an icon. There is no script."""

from __future__ import annotations

from importlib import resources

from fastapi import APIRouter
from starlette.responses import Response

STATIC = resources.files(__package__) / "static"
router = APIRouter(include_in_schema=False)


@router.get("/console/console.css")
async def style() -> Response:
    return Response((STATIC / "console.css").read_bytes(), media_type="text/css")


@router.get("/console/icon.svg")
async def icon() -> Response:
    return Response((STATIC / "icon.svg").read_bytes(), media_type="image/svg+xml")
