"""The routes of the API: each asks the visitor's memory one question."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from lamina.errors import NotFound
from lamina.memory.agent import Memory
from lamina.model.clock import is_id
from lamina.surfaces.http import examples, lineage, paging, params
from lamina.surfaces.http.dependencies import Who
from lamina.text.words import shown

STATUSES = {
    400: "what was asked is not acceptable",
    401: "no token, or none that opens anything",
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
router = APIRouter(prefix="/memory", responses=FAILURES)


def answers(example: Any, what: str = "the answer") -> dict[int | str, dict[str, Any]]:
    return {200: {"description": what, "content": {"application/json": {"example": example}}}}


@router.get(
    "/records",
    tags=["records"],
    response_class=Response,
    responses=answers(examples.page(examples.RECORD)),
)
async def list_records(who: Who, given: Annotated[params.Listed, Query()]) -> Response:
    """List records, the newest first."""
    return await who.json(
        lambda memory: paging.of_records(
            lambda until, limit: memory.list(**given.filters(), until=until, limit=limit),
            given.until,
            given.cursor,
            given.limit,
        )
    )


@router.get(
    "/records/{record_id}",
    tags=["records"],
    response_class=Response,
    responses=answers(examples.RECORD),
)
async def get_record(who: Who, record_id: str, _: Annotated[params.Nothing, Query()]) -> Response:
    """Show one record, whatever its state."""
    return await who.json(lambda memory: memory.get(_id(record_id)).to_dict())


@router.get(
    "/records/{record_id}/history",
    tags=["records"],
    response_class=Response,
    responses=answers(examples.page(examples.EVENT)),
)
async def get_history(
    who: Who, record_id: str, given: Annotated[params.Paged, Query()]
) -> Response:
    """Show everything that ever happened to a record, oldest first."""
    return await who.json(
        lambda memory: paging.of_items(
            memory.history(_id(record_id)), lambda event: str(event.seq), given.cursor, given.limit
        )
    )


@router.get(
    "/records/{record_id}/lineage",
    tags=["records"],
    response_class=Response,
    responses=answers(examples.LINEAGE),
)
async def get_lineage(who: Who, record_id: str, _: Annotated[params.Nothing, Query()]) -> Response:
    """Show what a record rests on, what it replaced and what replaced it, as a graph."""
    return await who.json(lambda memory: lineage.graph(memory, _id(record_id)))


@router.get("/search", tags=["search"], response_class=Response, responses=answers(examples.HITS))
async def search(who: Who, given: Annotated[params.Searched, Query()]) -> Response:
    """Find records that answer a question, with the parts of their scores; or nothing at all."""

    def found(memory: Any) -> dict[str, Any]:
        hits = memory.search(given.query, **given.arguments())
        return {**hits.to_dict(), "confidence": hits.confidence}

    return await who.json(found)


@router.get(
    "/context", tags=["search"], response_class=Response, responses=answers(examples.CONTEXT)
)
async def get_context(who: Who, given: Annotated[params.Goal, Query()]) -> Response:
    """Gather what is known for a task, fenced as data for a model to read."""

    def made(memory: Any) -> dict[str, Any]:
        found = memory.memory_context(given.goal, max_chars=given.max_chars)
        return {
            "text": found.text,
            "items": [hit.to_dict() for hit in found.items],
            "notes": list(found.notes),
        }

    return await who.json(made)


@router.get(
    "/archive",
    tags=["search"],
    response_class=Response,
    responses=answers(examples.page(examples.RECORD)),
)
async def search_archive(who: Who, given: Annotated[params.Archived, Query()]) -> Response:
    """Find archived records that hold a text, the newest first."""
    return await who.json(
        lambda memory: {
            "items": [
                record.to_dict()
                for record in memory.search_archive(
                    given.query, given.limit, since=given.since, until=given.until
                )
            ],
            "next": None,
        }
    )


@router.get(
    "/facts",
    tags=["knowledge"],
    response_class=Response,
    responses=answers(examples.page(examples.FACT)),
)
async def list_facts(who: Who, given: Annotated[params.Known, Query()]) -> Response:
    """List what is known about somebody or everybody, now or at a time."""
    return await who.json(
        lambda memory: paging.of_items(
            memory.facts(given.subject, given.attribute, given.as_of),
            lambda fact: fact.record,
            given.cursor,
            given.limit,
        )
    )


@router.get(
    "/timeline",
    tags=["knowledge"],
    response_class=Response,
    responses=answers(examples.page(examples.FACT)),
)
async def get_timeline(who: Who, given: Annotated[params.Lived, Query()]) -> Response:
    """List what holds and what held for somebody, in the order in which it began."""
    return await who.json(
        lambda memory: paging.of_items(
            memory.timeline(given.subject), lambda fact: fact.record, given.cursor, given.limit
        )
    )


@router.get(
    "/profile", tags=["knowledge"], response_class=Response, responses=answers(examples.PROFILE)
)
async def get_profile(who: Who, _: Annotated[params.Nothing, Query()]) -> Response:
    """Show what is known about the user."""
    return await who.json(lambda memory: memory.user_profile().to_dict())


@router.get(
    "/projects",
    tags=["knowledge"],
    response_class=Response,
    responses=answers(examples.page(examples.PROJECT)),
)
async def list_projects(who: Who, given: Annotated[params.Paged, Query()]) -> Response:
    """List where the projects stand, by name."""
    return await who.json(
        lambda memory: paging.of_items(
            memory.projects(), lambda project: project.project_name, given.cursor, given.limit
        )
    )


@router.get(
    "/proposals",
    tags=["review"],
    response_class=Response,
    responses=answers(examples.page(examples.PROPOSAL)),
)
async def list_proposals(who: Who, given: Annotated[params.Paged, Query()]) -> Response:
    """List what waits for a person's decision, those with most effect first; it is made with `lamina review`."""

    def found(memory: Memory) -> dict[str, Any]:
        page, following = paging.of_queue(memory.proposals, given.cursor, given.limit)
        return {"items": [one.to_dict() for one in page], "next": following}

    return await who.json(found)


@router.get(
    "/pending",
    tags=["review"],
    response_class=Response,
    responses=answers(examples.page(examples.PENDING)),
)
async def list_pending(who: Who, given: Annotated[params.Paged, Query()]) -> Response:
    """List requests, escalations, reviews and days that wait for somebody, oldest first."""
    return await who.json(
        lambda memory: paging.of_items(
            memory.pending(), lambda item: str(item["id"]), given.cursor, given.limit
        )
    )


@router.get("/status", tags=["health"], response_class=Response, responses=answers(examples.STATUS))
async def get_status(who: Who, _: Annotated[params.Nothing, Query()]) -> Response:
    """Show what is in the store, and what needs attention."""
    return await who.json(lambda memory: memory.status())


@router.get(
    "/audit",
    tags=["audit"],
    response_class=Response,
    responses=answers(examples.page(examples.EVENT)),
)
async def list_events(who: Who, given: Annotated[params.Paged, Query()]) -> Response:
    """List who changed what, the newest first. It needs a token with `--trail`."""
    return await who.trail(
        lambda operator: paging.of_trail(operator.audit_log, given.cursor, given.limit)
    )


@router.get(
    "/audit/reads",
    tags=["audit"],
    response_class=Response,
    responses=answers(examples.page(examples.READ)),
)
async def list_reads(who: Who, given: Annotated[params.Newest, Query()]) -> Response:
    """List who looked at what, the newest first. It needs a token with `--trail`."""
    return await who.trail(
        lambda operator: {
            "items": [read.to_dict() for read in operator.audit_reads(given.limit)],
            "next": None,
        }
    )


@router.get(
    "/audit/head", tags=["audit"], response_class=Response, responses=answers(examples.HEAD)
)
async def get_head(who: Who, _: Annotated[params.Nothing, Query()]) -> Response:
    """Show what fixes the whole history as it is now. It needs a token with `--trail`."""
    return await who.trail(lambda operator: operator.audit_head())


@router.get(
    "/audit/verify",
    tags=["audit"],
    response_class=Response,
    responses=answers({"events": examples.REPORT, "reads": examples.REPORT}),
)
async def verify(who: Who, _: Annotated[params.Nothing, Query()]) -> Response:
    """Check every record against the trail, within the time of a request. It needs a token with `--trail`."""
    return await who.trail(
        lambda operator: {
            name: report.to_dict() for name, report in operator.audit_verify().items()
        }
    )


def _id(given: str) -> str:
    """An id as it is written in the store; people may type it in capitals."""
    found = given.lower()
    if not is_id(found):  # not even the trail of reads needs to know
        raise NotFound(f"there is no record {shown(given, 80)}")
    return found
