"""The user as the profile tells, and where the projects stand."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.memory.agent import Memory
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import Who

SECTIONS = (("goals", "Goals"), ("blockers", "Blockers"), ("next_steps", "Next steps"))
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/profile")
async def profile(request: Request, who: Who, given: Annotated[Form, Query()]) -> Response:
    def found(memory: Memory) -> dict[str, Any]:
        return {
            "profile": memory.user_profile(),
            "projects": memory.projects(),
            "sections": SECTIONS,
        }

    return await page.show(request, who, "profile.html", found)
