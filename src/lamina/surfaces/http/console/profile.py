"""The user's profile, and the state of projects."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.memory.agent import Memory
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller

SECTIONS = (("goals", "Goals"), ("blockers", "Blockers"), ("next_steps", "Next steps"))
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/profile")
async def profile(
    request: Request, caller: CurrentCaller, given: Annotated[Form, Query()]
) -> Response:
    def values(memory: Memory) -> dict[str, Any]:
        return {
            "profile": memory.user_profile(),
            "projects": memory.projects(),
            "sections": SECTIONS,
        }

    return await page.show(request, caller, "profile.html", values)
