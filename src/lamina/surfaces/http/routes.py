"""The routes of the API: each sends one query to the visitor's memory."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from lamina.errors import no_record
from lamina.memory.agent import Memory
from lamina.model.clock import is_id
from lamina.search.context import room
from lamina.surfaces.http import examples, lineage, paging, params
from lamina.surfaces.http.dependencies import CurrentCaller
from lamina.text.words import shown

STATUSES = {
    400: "what was asked is not acceptable",
    401: "no token, or an invalid one",
    403: "this token does not open that, or the request comes from elsewhere",
    404: "there is no such thing, or none that you may see",
    405: "anything but GET and HEAD",
    413: "a request with a body",
    414: "the address is too long",
    431: "the headers are too long",
    503: "the store cannot be read now, or it took too long",
}
FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"description": what, "content": {"application/json": {"example": examples.ERROR}}}
    for status, what in STATUSES.items()
}
router = APIRouter(prefix="/memory", default_response_class=Response, responses=FAILURES)


def answers(example: Any, what: str = "the answer") -> dict[int | str, dict[str, Any]]:
    return {200: {"description": what, "content": {"application/json": {"example": example}}}}


@router.get("/records", tags=["records"], responses=answers(examples.page(examples.RECORD)))
async def list_records(
    caller: CurrentCaller, options: Annotated[params.ListParameters, Query()]
) -> Response:
    """List records, the newest first."""
    return await caller.json(
        lambda memory: paging.of_records(
            lambda until, limit: memory.list(**options.filters(), until=until, limit=limit),
            options.until,
            options.cursor,
            options.limit,
        )
    )


@router.get("/records/{record_id}", tags=["records"], responses=answers(examples.RECORD))
async def get_record(
    caller: CurrentCaller, record_id: str, _: Annotated[params.NoParameters, Query()]
) -> Response:
    """Show one record, whatever its state."""
    return await caller.json(lambda memory: memory.get(_id(record_id)).to_dict())


@router.get(
    "/records/{record_id}/history",
    tags=["records"],
    responses=answers(examples.page(examples.EVENT)),
)
async def get_history(
    caller: CurrentCaller, record_id: str, options: Annotated[params.PageParameters, Query()]
) -> Response:
    """Show everything that ever happened to a record, oldest first."""
    return await caller.json(
        lambda memory: paging.of_items(
            memory.history(_id(record_id)),
            lambda event: str(event.seq),
            options.cursor,
            options.limit,
        )
    )


@router.get("/records/{record_id}/lineage", tags=["records"], responses=answers(examples.LINEAGE))
async def get_lineage(
    caller: CurrentCaller, record_id: str, _: Annotated[params.NoParameters, Query()]
) -> Response:
    """Show the evidence of a record, what it replaced and what replaced it, as a graph."""
    return await caller.json(lambda memory: lineage.graph(memory, _id(record_id)))


@router.get("/search", tags=["search"], responses=answers(examples.HITS))
async def search(
    caller: CurrentCaller, options: Annotated[params.SearchParameters, Query()]
) -> Response:
    """Find records that answer a question, with the parts of their scores; or nothing at all."""

    def answer(memory: Memory) -> dict[str, Any]:
        hits = memory.search(options.query, **options.arguments())
        return {**hits.to_dict(), "confidence": hits.confidence}

    return await caller.json(answer)


@router.get("/context", tags=["search"], responses=answers(examples.CONTEXT))
async def get_context(
    caller: CurrentCaller, options: Annotated[params.ContextParameters, Query()]
) -> Response:
    """Collect memories about a task, fenced as data for a model to read."""

    def answer(memory: Memory) -> dict[str, Any]:
        context = memory.context(options.goal, room(options.max_chars))
        return {**context.to_dict(), "notes": list(context.notes)}

    return await caller.json(answer)


@router.get("/archive", tags=["search"], responses=answers(examples.page(examples.RECORD)))
async def search_archive(
    caller: CurrentCaller, options: Annotated[params.ArchiveParameters, Query()]
) -> Response:
    """Find archived records that contain a text, the newest first."""
    bounds = {"since": options.since, "until": options.until}

    def answer(memory: Memory) -> dict[str, Any]:
        records = memory.search_archive(options.query, options.limit, **bounds)
        return {"items": [record.to_dict() for record in records], "next": None}

    return await caller.json(answer)


@router.get("/facts", tags=["knowledge"], responses=answers(examples.page(examples.FACT)))
async def list_facts(
    caller: CurrentCaller, options: Annotated[params.FactParameters, Query()]
) -> Response:
    """List what is known about somebody or everybody, now or at a time."""
    return await caller.json(
        lambda memory: paging.of_items(
            memory.facts(options.subject, options.attribute, options.as_of, options.project),
            lambda fact: fact.record,
            options.cursor,
            options.limit,
        )
    )


@router.get("/timeline", tags=["knowledge"], responses=answers(examples.page(examples.FACT)))
async def get_timeline(
    caller: CurrentCaller, options: Annotated[params.TimelineParameters, Query()]
) -> Response:
    """List what is and was true about somebody, in the order in which it began."""
    return await caller.json(
        lambda memory: paging.of_items(
            memory.timeline(options.subject),
            lambda fact: fact.record,
            options.cursor,
            options.limit,
        )
    )


@router.get("/profile", tags=["knowledge"], responses=answers(examples.PROFILE))
async def get_profile(
    caller: CurrentCaller, _: Annotated[params.NoParameters, Query()]
) -> Response:
    """Show what is known about the user."""
    return await caller.json(lambda memory: memory.user_profile().to_dict())


@router.get("/projects", tags=["knowledge"], responses=answers(examples.page(examples.PROJECT)))
async def list_projects(
    caller: CurrentCaller, options: Annotated[params.PageParameters, Query()]
) -> Response:
    """List the status of the projects, by name."""
    return await caller.json(
        lambda memory: paging.of_items(
            memory.projects(), lambda project: project.project_name, options.cursor, options.limit
        )
    )


@router.get(
    "/proposals",
    tags=["review"],
    responses=answers(examples.page(examples.PROPOSAL)),
    description=(
        "List the waiting proposals, those with most effect first; decide with `lamina review`."
    ),
)
async def list_proposals(
    caller: CurrentCaller, options: Annotated[params.PageParameters, Query()]
) -> Response:
    """List what waits for a person's decision, those with most effect first."""

    def answer(memory: Memory) -> dict[str, Any]:
        page, following = paging.of_queue(memory.proposals, options.cursor, options.limit)
        return {"items": [proposal.to_dict() for proposal in page], "next": following}

    return await caller.json(answer)


@router.get("/pending", tags=["review"], responses=answers(examples.page(examples.PENDING)))
async def list_pending(
    caller: CurrentCaller, options: Annotated[params.PageParameters, Query()]
) -> Response:
    """List requests, escalations, reviews and days that wait for somebody, oldest first."""
    return await caller.json(
        lambda memory: paging.of_items(
            memory.pending(), lambda item: str(item["id"]), options.cursor, options.limit
        )
    )


@router.get("/status", tags=["health"], responses=answers(examples.STATUS))
async def get_status(caller: CurrentCaller, _: Annotated[params.NoParameters, Query()]) -> Response:
    """Show the contents of the store, and problems."""
    return await caller.json(lambda memory: memory.status())


@router.get("/audit", tags=["audit"], responses=answers(examples.page(examples.EVENT)))
async def list_events(
    caller: CurrentCaller, options: Annotated[params.PageParameters, Query()]
) -> Response:
    """List who changed what, the newest first. It needs a token with `--trail`."""
    return await caller.trail(
        lambda operator: paging.of_trail(operator.audit_log, options.cursor, options.limit)
    )


@router.get("/audit/reads", tags=["audit"], responses=answers(examples.page(examples.READ)))
async def list_reads(
    caller: CurrentCaller, options: Annotated[params.NewestParameters, Query()]
) -> Response:
    """List who looked at what, the newest first. It needs a token with `--trail`."""
    return await caller.trail(
        lambda operator: {
            "items": [read.to_dict() for read in operator.audit_reads(options.limit)],
            "next": None,
        }
    )


@router.get("/audit/head", tags=["audit"], responses=answers(examples.HEAD))
async def get_head(caller: CurrentCaller, _: Annotated[params.NoParameters, Query()]) -> Response:
    """Show the fingerprint of the whole history as it is now. It needs a token with `--trail`."""
    return await caller.trail(lambda operator: operator.audit_head())


@router.get(
    "/audit/verify",
    tags=["audit"],
    responses=answers({"events": examples.REPORT, "reads": examples.REPORT}),
    description=(
        "Check every record against the trail, within the time of a request."
        " It needs a token with `--trail`."
    ),
)
async def verify(caller: CurrentCaller, _: Annotated[params.NoParameters, Query()]) -> Response:
    """Check every record against the trail, within the time of a request."""
    return await caller.trail(
        lambda operator: {
            name: report.to_dict() for name, report in operator.audit_verify().items()
        }
    )


def _id(text: str) -> str:
    """Read an id in lower case, as in the store; people may type it in capitals."""
    record_id = text.lower()
    if not is_id(record_id):  # not even the trail of reads needs to know this
        raise no_record(shown(text, 80))
    return record_id
