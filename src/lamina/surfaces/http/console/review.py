"""The queue of proposals: their changes, and the commands that decide about them."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.engines.review import Proposal, to_forget
from lamina.memory.agent import Memory
from lamina.surfaces.cli.reviewer import wording
from lamina.surfaces.http import paging, params
from lamina.surfaces.http.console import difference, formatting, page
from lamina.surfaces.http.console.difference import Row
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import Caller, CurrentCaller

ON_A_PAGE = 20
WHY = "why"
router = APIRouter(route_class=PageRoute, include_in_schema=False)


class ReviewForm(Form):
    """A page of the queue."""

    cursor: params.Cursor = None


class ReviewItem(NamedTuple):
    """A proposal with everything that a person needs to decide."""

    proposal: Proposal
    place: str
    origin: str
    cautions: list[str]
    rows: list[Row]
    commands: list[tuple[str, str]]


@router.get("/review")
async def review(
    request: Request, caller: CurrentCaller, given: Annotated[ReviewForm, Query()]
) -> Response:
    home, (agent, user, *_) = caller.service.home.path, caller.visitor

    def typed(*verb: str) -> str:
        return formatting.command(home, agent, user, *verb)

    def values(memory: Memory) -> dict[str, Any]:
        queue, following = paging.of_queue(memory.proposals, given.cursor, ON_A_PAGE)
        items = [_item(proposal, caller) for proposal in queue]
        return {
            "waiting": items,
            "number": queue.total,
            "next": following,
            "given": given,
            "review": typed("review"),
            "browser": typed("review", "--browser"),
            "sleep": typed("sleep"),
        }

    return await page.show(request, caller, "review.html", values)


def _item(proposal: Proposal, caller: Caller) -> ReviewItem:
    lines = (*wording.obstacles(proposal), *wording.echoes(proposal))
    return ReviewItem(
        proposal,
        wording.place(proposal.record),
        wording.origin(proposal),
        [line.plain.lstrip("!?~ ") for line in lines],
        difference.rows(proposal),
        _commands(proposal, caller),
    )


def _commands(proposal: Proposal, caller: Caller) -> list[tuple[str, str]]:
    """List the commands for each possible decision."""
    record_id, asked = proposal.record.id, to_forget(proposal.record)
    verbs: list[tuple[str, tuple[str, ...]]] = []
    if asked is not None:
        verbs = [
            ("hide what it names", ("forget", asked)),
            ("remove that for good", ("erase", asked)),
        ]
    elif proposal.problem is None:
        verbs = [("confirm", ("review", "confirm", record_id))]
    verb = "decline" if asked else "reject"
    verbs.append((verb, ("review", "reject", record_id, "--reason", WHY)))
    home, (agent, user, *_) = caller.service.home.path, caller.visitor
    return [(name, formatting.command(home, agent, user, *command)) for name, command in verbs]
