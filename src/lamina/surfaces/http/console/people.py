"""People: the user's profile, and what holds, held, is open and was said about everyone."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from lamina.memory.agent import Memory
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.facts import FactsForm, line
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller
from lamina.text.words import normalise

SHOWN = 12
NAMED = 40  # people; others can be searched by name
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/people")
async def people(
    request: Request, caller: CurrentCaller, given: Annotated[FactsForm, Query()]
) -> Response:
    now = caller.service.clock()

    def values(memory: Memory) -> dict[str, Any]:
        number = Counter(fact.subject for fact in memory.facts())
        profile = memory.user_profile()
        subject = given.subject or profile.name or next((n for n, _ in number.most_common(1)), None)
        is_user = subject is None or normalise(subject) == normalise(profile.name or "")
        found: dict[str, Any] = {
            "subjects": sorted(number.most_common(NAMED)),
            "unnamed": max(0, len(number) - NAMED),
            "subject": subject,
            "profile": profile,
            "shows_profile": is_user or not given.subject,
            "line": line(memory.timeline(subject) if subject is not None else [], now),
            "open": [],
            "sessions": [],
        }
        if subject is not None:
            found["open"] = memory.browsing.open_items(speaker=subject)
            found["sessions"] = memory.browsing.conversations(SHOWN, speaker=subject)
        return found

    return await page.show(request, caller, "people.html", values)


@router.get("/facts")
async def facts(request: Request) -> Response:
    """Lead on from the former address."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/people{query}", 303)


@router.get("/profile")
async def profile(request: Request, given: Annotated[Form, Query()]) -> Response:
    """Lead on from the former address."""
    return RedirectResponse(
        "/people" if given.theme is None else f"/people?theme={given.theme}", 303
    )
