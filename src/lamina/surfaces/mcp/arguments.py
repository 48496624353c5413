"""The arguments of the tools.

Clients see the names and docstrings of these classes in the schemas: they are part of the protocol.
No argument says whose memory it is: that is decided where the server is started.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from lamina.model.rules import (
    KINDS,
    MAX_CONTENT_BYTES,
    MAX_HOURS,
    MAX_LABEL,
    MAX_QUERY_BYTES,
    MAX_REASON_BYTES,
    MAX_TAGS,
)

MAX_HITS = 100
MAX_EVIDENCE = 100
MAX_CHARS = 100_000
LEAST_CHARS = 200

Label = Annotated[str, Meta(max_length=MAX_LABEL)]
Labels = Annotated[list[Label], Meta(max_length=MAX_TAGS)]
Id = Annotated[
    str, Meta(min_length=1, max_length=64, description="the id of a record, as `search` gives it")
]
Reason = Annotated[
    str,
    Meta(min_length=1, max_length=MAX_REASON_BYTES, description="why, for the person who decides"),
]
Time = Annotated[str, Meta(max_length=64)]
Room = Annotated[
    int,
    Meta(
        ge=LEAST_CHARS,
        le=MAX_CHARS,
        description="longest `text`, in characters",
    ),
]
Layers = Annotated[
    list[Literal["short_term", "episodic", "semantic", "procedural", "profile", "world"]],
    Meta(max_length=6, description="only these layers; without it all of them"),
]

# Some clients take no argument without a type.
VALUES = [
    *({"type": name} for name in ("string", "number", "boolean", "object")),
    {"type": "array", "items": {"type": "string"}},
]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a tool."""


class Remember(Arguments, frozen=True):
    """One memory to keep."""

    content: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MAX_CONTENT_BYTES,
            description="what to remember, as a sentence that stands alone",
        ),
    ]
    kind: (
        Annotated[
            Label,  # the memory knows kinds of its own, and says which
            Meta(description="what it is; without it crumb", extra_json_schema={"enum": [*KINDS]}),
        ]
        | None
    ) = None
    layer: (
        Annotated[
            str,  # the memory itself says what an agent may not write, and keeps who tried
            Meta(
                description="episodic for what happened; without it short_term",
                extra_json_schema={"enum": ["episodic", "short_term"]},
            ),
        ]
        | None
    ) = None
    tags: Annotated[
        Labels,
        Meta(description="short words to find it by; `project:<name>` files it under a project"),
    ] = []
    importance: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=1,
                description="0 to 1; from 0.7 on it is kept long-term; without it judged",
            ),
        ]
        | None
    ) = None
    source: (
        Annotated[
            Label,
            Meta(
                description="where it comes from, such as web:example.com;"
                " what is not said by the user or you"
            ),
        ]
        | None
    ) = None
    speaker: Annotated[Label, Meta(description="who said it")] | None = None
    session: Annotated[Label, Meta(description="the conversation that it belongs to")] | None = None
    project: Annotated[Label, Meta(description="the project that it belongs to")] | None = None
    at: (
        Annotated[
            Time, Meta(description="when it happened, ISO-8601 with a time zone; without it now")
        ]
        | None
    ) = None
    evidence: Annotated[
        list[Label],
        Meta(max_length=MAX_EVIDENCE, description="ids of records, URLs or paths that support it"),
    ] = []
    metadata: Annotated[dict[str, Any], Meta(description="more about it, as JSON")] = {}
    key: (
        Annotated[
            Label,
            Meta(description="an idempotency key: a retry with the same key stores nothing twice"),
        ]
        | None
    ) = None


class Search(Arguments, frozen=True):
    """A question to the memory."""

    query: Annotated[
        str,
        Meta(max_length=MAX_QUERY_BYTES, description="what to look for: a question or a few words"),
    ]
    limit: Annotated[int, Meta(ge=1, le=MAX_HITS, description="how many at most")] = 10
    layers: Layers | None = None
    kinds: Annotated[Labels, Meta(description="only these kinds, as in `remember`")] = []
    tags: Annotated[Labels, Meta(description="only with any of these tags")] = []
    session: Annotated[Label, Meta(description="only of this conversation")] | None = None
    project: Annotated[Label, Meta(description="only of this project")] | None = None
    since: (
        Annotated[Time, Meta(description="only what happened since, ISO-8601 with a time zone")]
        | None
    ) = None
    until: (
        Annotated[Time, Meta(description="only what happened before, ISO-8601 with a time zone")]
        | None
    ) = None
    as_of: (
        Annotated[Time, Meta(description="what was true then, ISO-8601 with a time zone")] | None
    ) = None
    max_chars: Room = 8000


class RecallContext(Arguments, frozen=True):
    """A task to prepare for."""

    goal: Annotated[str, Meta(max_length=MAX_QUERY_BYTES, description="what you are about to do")]
    per_layer: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=20,
                description="only profile, procedures and facts, and so many of each at most",
            ),
        ]
        | None
    ) = None
    session: (
        Annotated[Label, Meta(description="leave out what this session was given before")] | None
    ) = None
    project: Annotated[Label, Meta(description="the project that you work on")] | None = None
    max_chars: Room = 2000


class Propose(Arguments, frozen=True):
    """A value of the profile to put before a person."""

    key: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MAX_LABEL,
            description="such as name, schedule.wake_up, relationships.ana, interests",
        ),
    ]
    value: Annotated[
        Any, Meta(description="the value of that key", extra_json_schema={"anyOf": VALUES})
    ]
    reason: Reason
    evidence: Annotated[
        list[Id],
        Meta(
            min_length=1, max_length=MAX_EVIDENCE, description="ids of the records that it rests on"
        ),
    ]


class RequestForget(Arguments, frozen=True):
    """A record that should be forgotten."""

    record_id: Id
    reason: Reason


class Correct(Arguments, frozen=True):
    """What a record should say instead."""

    record_id: Id
    text: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MAX_CONTENT_BYTES,
            description="what is right: a whole sentence, or the value of a fact or of the profile",
        ),
    ]
    reason: Reason


class Feedback(Arguments, frozen=True):
    """How good a memory was."""

    record_id: Id
    verdict: Annotated[
        Literal["helpful", "wrong", "outdated"], Meta(description="what it was for your task")
    ]


class Get(Arguments, frozen=True):
    """A record to read."""

    record_id: Id
    max_chars: Room = 8000


class Recent(Arguments, frozen=True):
    """A span of time that ends now."""

    hours: Annotated[float, Meta(gt=0, le=MAX_HOURS, description="how far back")] = 24
    tags: Annotated[Labels, Meta(description="only with any of these tags")] = []
    limit: Annotated[int, Meta(ge=1, le=MAX_HITS, description="how many at most")] = 20
    max_chars: Room = 8000


class Facts(Arguments, frozen=True):
    """Whom or what to know about."""

    subject: (
        Annotated[Label, Meta(min_length=1, description="a name; without it everyone")] | None
    ) = None
    attribute: Annotated[Label, Meta(description="only this, such as lives_in")] | None = None
    as_of: Annotated[Time, Meta(description="what held then, ISO-8601 with a time zone")] | None = (
        None
    )
    max_chars: Room = 8000


class Timeline(Arguments, frozen=True):
    """Whose history to read."""

    subject: Annotated[Label, Meta(min_length=1, description="a name, such as Ana")]
    max_chars: Room = 8000


class Pending(Arguments, frozen=True):
    """What is open."""

    max_chars: Room = 8000


class Status(Arguments, frozen=True):
    """Nothing is asked."""
