"""The parameters of addresses, for the routes and their description; the memory checks values."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from lamina.errors import InvalidInput
from lamina.model.record import Layer, State
from lamina.text.words import shown

DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
MOST_ON_A_PAGE = 500
MOST_HITS = 100

Ranker = Literal["hybrid", "overlap", "exact", "keyword", "semantic"]


def day(value: object) -> object:
    """Read a bare date as the start of that day in UTC, as times are shown."""
    return f"{value}T00:00:00Z" if isinstance(value, str) and DAY.fullmatch(value) else value


Time = Annotated[
    str | None,
    BeforeValidator(day),
    Field(description="a day, or a time with its zone", examples=["2026-05-01"]),
]
Limit = Annotated[int, Field(ge=1, le=MOST_ON_A_PAGE, description="the maximum number on a page")]
Cursor = Annotated[str | None, Field(max_length=400, description="`next` of the previous page")]
Names = Annotated[list[str], Field(max_length=50)]
Session = Annotated[str | None, Field(description="only of this conversation")]
Project = Annotated[str | None, Field(description="only of this project", examples=["importer"])]


Speaker = Annotated[str | None, Field(description="only what this person said")]
Source = Annotated[str | None, Field(description="only from this source")]


class Parameters(BaseModel):
    """Parameters of an address. Unknown names are refused: they may be meant to narrow it."""

    model_config = ConfigDict(extra="forbid")


class NoParameters(Parameters):
    """No parameters."""


class PageParameters(Parameters):
    """A page of a list."""

    limit: Limit = 50
    cursor: Cursor = None


class StateParameters(Parameters):
    """States by either of their two names."""

    state: Annotated[
        list[State], Field(max_length=50, description="only in these states (default active)")
    ] = []
    status: Annotated[list[State], Field(max_length=50, description="the same as `state`")] = []

    def states(self) -> list[State]:
        """Return the requested states; it is an error if the two names contradict each other."""
        if self.state and self.status and {*self.state} != {*self.status}:
            state, status = (", ".join(given) for given in (self.state, self.status))
            raise InvalidInput(
                f"state {state} and status {status} differ, and mean the same; give one of them"
            )
        return self.state or self.status


class ListParameters(PageParameters, StateParameters):
    """Filters of a list of records."""

    layer: Annotated[list[Layer], Field(max_length=50, description="only of these layers")] = []
    kind: Annotated[Names, Field(description="only of these kinds", examples=[["decision"]])] = []
    tag: Annotated[Names, Field(description="with any of these tags", examples=[["reports"]])] = []
    session: Session = None
    project: Project = None
    speaker: Speaker = None
    source: Source = None
    since: Time = None
    until: Time = None

    def filters(self) -> dict[str, Any]:
        return {
            "layers": self.layer or None,
            "states": self.states() or (State.ACTIVE,),
            "kinds": self.kind or None,
            "tags": self.tag or None,
            "session": self.session,
            "project": self.project,
            "speaker": self.speaker,
            "source": self.source,
            "since": self.since,
        }


class SearchParameters(StateParameters):
    """A question with filters."""

    query: Annotated[
        str, Field(description="what to look for", examples=["when does the user want reports"])
    ]
    limit: Annotated[int, Field(ge=1, le=MOST_HITS, description="the maximum number of hits")] = 10
    layer: Annotated[list[Layer], Field(max_length=50, description="only of these layers")] = []
    kind: Annotated[Names, Field(description="only of these kinds")] = []
    tag: Annotated[Names, Field(description="with any of these tags")] = []
    all_tag: Annotated[Names, Field(description="with every one of these tags")] = []
    meta: Annotated[
        Names,
        Field(description="with this value in the metadata: K=V", examples=[["room=kitchen"]]),
    ] = []
    session: Session = None
    project: Project = None
    speaker: Speaker = None
    source: Source = None
    since: Time = None
    until: Time = None
    as_of: Annotated[Time, Field(description="what was true at this time")] = None
    known_at: Annotated[Time, Field(description="what the store knew at this time")] = None
    ranker: Annotated[Ranker, Field(description="how to rank")] = "hybrid"

    def arguments(self) -> dict[str, Any]:
        return {
            "limit": self.limit,
            "layers": self.layer or None,
            "states": self.states() or None,
            "kinds": self.kind or None,
            "tags": self.tag or None,
            "all_tags": self.all_tag or None,
            "metadata": dict(map(_pair, self.meta)) or None,
            "session": self.session,
            "project": self.project,
            "speaker": self.speaker,
            "source": self.source,
            "since": self.since,
            "until": self.until,
            "as_of": self.as_of,
            "known_at": self.known_at,
            "ranker": self.ranker,
        }


class ContextParameters(Parameters):
    """The task that a context is for."""

    goal: Annotated[
        str, Field(description="the task at hand", examples=["prepare the weekly report"])
    ]
    max_chars: Annotated[int, Field(description="the maximum length of the text")] = 2000


class ArchiveParameters(Parameters):
    """A text to find in the archive."""

    query: Annotated[str, Field(description="a text that it holds", examples=["invoice"])] = ""
    limit: Limit = 50
    since: Time = None
    until: Time = None


class FactParameters(PageParameters):
    """The subject and attribute of facts."""

    subject: Annotated[str | None, Field(description="about whom", examples=["Ana"])] = None
    attribute: Annotated[str | None, Field(description="only this", examples=["lives_in"])] = None
    project: Project = None
    as_of: Annotated[Time, Field(description="what was true at this time")] = None


class TimelineParameters(PageParameters):
    """The subject of a time line."""

    subject: Annotated[str, Field(description="whose", examples=["Ana"])]


class NewestParameters(Parameters):
    """The number of newest items."""

    limit: Limit = 50


def _pair(text: str) -> tuple[str, Any]:
    """Split a name from its value, which may be JSON."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"meta {shown(text)} is not of the form K=V")
    try:
        return name, msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return name, value
