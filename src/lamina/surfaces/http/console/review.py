"""What waits for a person: what would change, and the commands that decide. Deciding is done with the program `lamina`."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.engines.review import Proposal, to_forget
from lamina.memory.agent import Memory
from lamina.surfaces.cli.reviewer import wording
from lamina.surfaces.http import paging, params
from lamina.surfaces.http.console import difference, page, words
from lamina.surfaces.http.console.difference import Row
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import Asking, Who

ON_A_PAGE = 20
WHY = "why"
router = APIRouter(route_class=PageRoute, include_in_schema=False)


class Queue(Form):
    """A page of what waits."""

    cursor: params.Cursor = None


class Waiting(NamedTuple):
    """A proposal with what a person needs to decide."""

    proposal: Proposal
    place: str
    origin: str
    cautions: list[str]
    rows: list[Row]
    commands: list[tuple[str, str]]


@router.get("/review")
async def review(request: Request, who: Who, given: Annotated[Queue, Query()]) -> Response:
    def found(memory: Memory) -> dict[str, Any]:
        part, following = paging.of_queue(memory.proposals, given.cursor, ON_A_PAGE)
        shown = [_waiting(one, who) for one in part]
        return {"waiting": shown, "number": part.total, "next": following, "given": given}

    return await page.show(request, who, "review.html", found)


def _waiting(proposal: Proposal, who: Asking) -> Waiting:
    record = proposal.record
    cautions = [
        one.plain.lstrip("!?~ ")
        for one in (*wording.obstacles(proposal), *wording.echoes(proposal))
    ]
    rows = difference.rows(proposal)
    return Waiting(
        proposal,
        wording.place(record),
        wording.origin(proposal),
        cautions,
        rows,
        _commands(proposal, who),
    )


def _commands(proposal: Proposal, who: Asking) -> list[tuple[str, str]]:
    """What to type for each decision that is open."""
    record_id, asked = proposal.record.id, to_forget(proposal.record)
    verbs: list[tuple[str, tuple[str, ...]]] = []
    if asked is not None:
        verbs = [
            ("hide what it names", ("forget", asked)),
            ("remove that for good", ("erase", asked)),
        ]
    elif proposal.problem is None:
        verbs = [("confirm", ("review", "confirm", record_id))]
    verbs.append(
        ("decline" if asked else "reject", ("review", "reject", record_id, "--reason", WHY))
    )
    home, (agent, user, *_) = who.service.home.path, who.visitor
    return [(name, words.command(home, agent, user, *verb)) for name, verb in verbs]
