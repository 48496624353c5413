"""What can be asked in an address, for the routes and for their description. Whether it is allowed, the memory decides."""

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
    """A bare date means the start of that day in UTC, as times are shown."""
    return f"{value}T00:00:00Z" if isinstance(value, str) and DAY.fullmatch(value) else value


Time = Annotated[
    str | None,
    BeforeValidator(day),
    Field(description="a day, or a time with its zone", examples=["2026-05-01"]),
]
Limit = Annotated[int, Field(ge=1, le=MOST_ON_A_PAGE, description="how many on a page at most")]
Cursor = Annotated[str | None, Field(max_length=400, description="`next` of the page before")]
Some = Annotated[list[str], Field(max_length=50)]


class Given(BaseModel):
    """Parameters of an address. A name that is not known is refused: it may have been meant to narrow the answer."""

    model_config = ConfigDict(extra="forbid")


class Nothing(Given):
    """No parameters."""


class Paged(Given):
    """A page of a list."""

    limit: Limit = 50
    cursor: Cursor = None


class Listed(Paged):
    """Which records to list."""

    layer: Annotated[list[Layer], Field(max_length=50, description="only of these layers")] = []
    state: Annotated[
        list[State], Field(max_length=50, description="only in these states; active unless told")
    ] = []
    kind: Annotated[Some, Field(description="only of these kinds", examples=[["decision"]])] = []
    tag: Annotated[Some, Field(description="with any of these tags", examples=[["reports"]])] = []
    since: Time = None
    until: Time = None

    def filters(self) -> dict[str, Any]:
        return {
            "layers": self.layer or None,
            "states": self.state or (State.ACTIVE,),
            "kinds": self.kind or None,
            "tags": self.tag or None,
            "since": self.since,
        }


class Searched(Given):
    """A question."""

    query: Annotated[
        str, Field(description="what to look for", examples=["when does the user want reports"])
    ]
    limit: Annotated[int, Field(ge=1, le=MOST_HITS, description="how many hits at most")] = 10
    layer: Annotated[list[Layer], Field(max_length=50, description="only of these layers")] = []
    state: Annotated[list[State], Field(max_length=50, description="only in these states")] = []
    kind: Annotated[Some, Field(description="only of these kinds")] = []
    tag: Annotated[Some, Field(description="with any of these tags")] = []
    all_tag: Annotated[Some, Field(description="with every one of these tags")] = []
    meta: Annotated[
        Some, Field(description="with this value in the metadata: K=V", examples=[["room=kitchen"]])
    ] = []
    since: Time = None
    until: Time = None
    as_of: Annotated[Time, Field(description="what was true at this time")] = None
    known_at: Annotated[Time, Field(description="what the store knew at this time")] = None
    ranker: Annotated[Ranker, Field(description="how to rank")] = "hybrid"

    def arguments(self) -> dict[str, Any]:
        return {
            "limit": self.limit,
            "layers": self.layer or None,
            "states": self.state or None,
            "kinds": self.kind or None,
            "tags": self.tag or None,
            "all_tags": self.all_tag or None,
            "metadata": _metadata(self.meta) or None,
            **{
                name: getattr(self, name)
                for name in ("since", "until", "as_of", "known_at", "ranker")
            },
        }


class Goal(Given):
    """What a context is for."""

    goal: Annotated[
        str, Field(description="the task at hand", examples=["prepare the weekly report"])
    ]
    max_chars: Annotated[int, Field(description="how long the text may be")] = 2000


class Archived(Given):
    """What to look for in the archive."""

    query: Annotated[str, Field(description="a text that it holds", examples=["invoice"])] = ""
    limit: Limit = 50
    since: Time = None
    until: Time = None


class Known(Paged):
    """About whom, and what."""

    subject: Annotated[str | None, Field(description="about whom", examples=["Ana"])] = None
    attribute: Annotated[str | None, Field(description="only this", examples=["lives_in"])] = None
    as_of: Annotated[Time, Field(description="what was true at this time")] = None


class Lived(Paged):
    """Whose time line."""

    subject: Annotated[str, Field(description="whose", examples=["Ana"])]


class Newest(Given):
    """How many of the newest."""

    limit: Limit = 50


def _metadata(given: list[str]) -> dict[str, Any]:
    """Pairs of a name and a value, which may be JSON."""
    return dict(map(_pair, given))


def _pair(given: str) -> tuple[str, Any]:
    name, equals, value = given.partition("=")
    if not equals:
        raise InvalidInput(f"meta {shown(given)} is not of the form K=V")
    try:
        return name, msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return name, value
