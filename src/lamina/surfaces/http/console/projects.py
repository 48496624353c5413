"""Projects: the status of each, and everything that belongs to one."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.engines.facts import Fact
from lamina.errors import NotFound
from lamina.memory.agent import Memory
from lamina.surfaces.http import params
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.facts import line
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller
from lamina.text.words import shown

SECTIONS = (("goals", "Goals"), ("blockers", "Blockers"), ("next_steps", "Next steps"))
SHOWN = 12
router = APIRouter(route_class=PageRoute, include_in_schema=False)


class ProjectForm(Form):
    """The project to show; all of them without one."""

    project: params.Project = None


@router.get("/projects")
async def projects(
    request: Request, caller: CurrentCaller, given: Annotated[ProjectForm, Query()]
) -> Response:
    now = caller.service.clock()

    def values(memory: Memory) -> dict[str, Any]:
        states = {state.project_name: state for state in memory.projects()}
        numbers = memory.browsing.browse(limit=1).counts["project"]
        names = sorted({*states, *numbers})
        common = {"sections": SECTIONS, "states": states, "numbers": numbers, "names": names}
        if given.project is None:
            return {**common, "project": None}
        return {**common, **_one(memory, given.project, given.project in names)}

    def _one(memory: Memory, name: str, is_known: bool) -> dict[str, Any]:
        listed = memory.list(project=name, limit=SHOWN)
        if not listed and not is_known:
            raise NotFound(f"there is no project {shown(name, 80)}; the page Projects lists all")
        return {
            "project": name,
            "instructions": memory.user_profile(name).instructions,
            "recap": memory.recap(project=name),
            "line": line(_facts(memory, name), now),
            "open": memory.browsing.open_items(project=name),
            "sessions": memory.browsing.conversations(SHOWN, project=name),
            "newest": listed,
        }

    return await page.show(request, caller, "projects.html", values)


def _facts(memory: Memory, name: str) -> list[Fact]:
    """List what belongs to a project now, and everything ever known about the project itself."""
    known = (*memory.timeline(name), *memory.facts(project=name))
    return [*{fact.record: fact for fact in known}.values()]
