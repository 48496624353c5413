"""Conversations by day, and one as a chat with what was learned from each turn."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from lamina.errors import NotFound
from lamina.memory.agent import Memory
from lamina.memory.browsing import Learned
from lamina.model.record import Record
from lamina.store.tables.conversations import SYSTEM, Session
from lamina.surfaces.http import params
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller
from lamina.text.words import shown

SHOWN, MOST = 60, 500
VOICES = 6  # colours for speakers
router = APIRouter(route_class=PageRoute, include_in_schema=False)


class ConversationsForm(Form):
    """One conversation, or those of some time, speaker or project."""

    session: Annotated[str | None, Field(max_length=1000)] = None
    speaker: params.Speaker = None
    project: params.Project = None
    since: params.Time = None
    until: params.Time = None
    limit: Annotated[int, Field(ge=1, le=params.MOST_ON_A_PAGE)] = SHOWN


class Turn(NamedTuple):
    """A turn, the colour of its speaker, and what was learned from it."""

    record: Record
    voice: int
    learned: list[Learned]


@router.get("/conversations")
async def conversations(
    request: Request, caller: CurrentCaller, given: Annotated[ConversationsForm, Query()]
) -> Response:
    if given.session is not None:
        name = given.session
        return await page.show(
            request, caller, "conversation.html", lambda memory: _chat(memory, name)
        )

    def values(memory: Memory) -> dict[str, Any]:
        found = memory.browsing.conversations(
            given.limit + 1, given.since, given.until, given.speaker, given.project
        )
        more = len(found) > given.limit
        return {"given": given, "days": by_day(found[: given.limit]), "more": more}

    return await page.show(request, caller, "conversations.html", values)


def by_day(found: Iterable[Session]) -> list[tuple[str, list[Session]]]:
    """Group conversations by the day when they ended."""
    return [
        (f"{day:%Y-%m-%d}", [*some]) for day, some in groupby(found, lambda one: one.end.date())
    ]


def _chat(memory: Memory, session: str) -> dict[str, Any]:
    """Read the turns of a conversation in order, each with what is based on it."""
    listed = memory.list(session=session, states=None, limit=MOST)
    if not listed:
        raise NotFound(
            f"there is no conversation {shown(session, 80)}; the page Conversations lists all"
        )
    records = sorted(listed, key=lambda record: (record.occurred_at, record.seq))
    said = [record for record in records if record.speaker != SYSTEM]
    learned = memory.browsing.learned_from([record.id for record in said])
    voices = [*dict.fromkeys(record.speaker for record in said)]
    return {
        "session": session,
        "turns": [
            Turn(one, voices.index(one.speaker) % VOICES, _distinct(learned.get(one.id, [])))
            for one in said
        ],
        "speakers": [name for name in voices if name],
        "is_cut": len(listed) == MOST,
        "most": MOST,
    }


def _distinct(learned: list[Learned]) -> list[Learned]:
    """Remove entries with the same text and state, such as several periods of one fact."""
    return [*{(one.record.content, one.record.state): one for one in learned}.values()]
