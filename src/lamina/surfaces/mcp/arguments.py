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
    str, Meta(min_length=1, max_length=64, description="the id of a memory, as `search` returns it")
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
        description="the longest `text`, in characters",
    ),
]
Layers = Annotated[
    list[Literal["short_term", "episodic", "semantic", "procedural", "profile", "world"]],
    Meta(max_length=6, description="only these layers; default: all"),
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
            description="what to remember, as a sentence that makes sense on its own",
        ),
    ]
    kind: (
        Annotated[
            Label,  # the memory knows kinds of its own, and says which
            Meta(
                description="what sort of memory it is; default: crumb",
                extra_json_schema={"enum": [*KINDS]},
            ),
        ]
        | None
    ) = None
    layer: (
        Annotated[
            str,  # the memory itself says what an agent may not write, and keeps who tried
            Meta(
                description="episodic for events; default: short_term",
                extra_json_schema={"enum": ["episodic", "short_term"]},
            ),
        ]
        | None
    ) = None
    tags: Annotated[
        Labels,
        Meta(description="short labels to find it by; `project:<name>` files it under a project"),
    ] = []
    importance: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=1,
                description="0 to 1; from 0.7 it is kept long-term; default: estimated",
            ),
        ]
        | None
    ) = None
    source: (
        Annotated[
            Label,
            Meta(
                description="where it comes from, such as web:example.com,"
                " if neither the user nor you said it"
            ),
        ]
        | None
    ) = None
    speaker: Annotated[Label, Meta(description="who said it")] | None = None
    session: Annotated[Label, Meta(description="the conversation that it belongs to")] | None = None
    project: Annotated[Label, Meta(description="the project that it belongs to")] | None = None
    at: (
        Annotated[
            Time, Meta(description="when it happened, ISO-8601 with a time zone; default: now")
        ]
        | None
    ) = None
    evidence: Annotated[
        list[Label],
        Meta(max_length=MAX_EVIDENCE, description="ids of records, URLs or paths that support it"),
    ] = []
    metadata: Annotated[
        dict[str, Any], Meta(description="more data about it, as a JSON object")
    ] = {}
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
    limit: Annotated[int, Meta(ge=1, le=MAX_HITS, description="the most results to return")] = 10
    layers: Layers | None = None
    kinds: Annotated[Labels, Meta(description="only these kinds, as in `remember`")] = []
    tags: Annotated[Labels, Meta(description="only what has any of these tags")] = []
    session: Annotated[Label, Meta(description="only from this conversation")] | None = None
    project: Annotated[Label, Meta(description="only from this project")] | None = None
    since: (
        Annotated[
            Time, Meta(description="only what happened since then, ISO-8601 with a time zone")
        ]
        | None
    ) = None
    until: (
        Annotated[
            Time, Meta(description="only what happened before then, ISO-8601 with a time zone")
        ]
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
                description="only profile, procedures and facts, at most this many of each",
            ),
        ]
        | None
    ) = None
    session: (
        Annotated[Label, Meta(description="leave out what this conversation was given before")]
        | None
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
        Any, Meta(description="the value for that key", extra_json_schema={"anyOf": VALUES})
    ]
    reason: Reason
    evidence: Annotated[
        list[Id],
        Meta(
            min_length=1, max_length=MAX_EVIDENCE, description="ids of the memories that support it"
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
            description="the right text: a whole sentence, or the value of a fact or profile key",
        ),
    ]
    reason: Reason


class Feedback(Arguments, frozen=True):
    """How good a memory was."""

    record_id: Id
    verdict: Annotated[
        Literal["helpful", "wrong", "outdated"], Meta(description="how it was for your task")
    ]


class Get(Arguments, frozen=True):
    """A record to read."""

    record_id: Id
    max_chars: Room = 8000


class Recent(Arguments, frozen=True):
    """A span of time that ends now."""

    hours: Annotated[float, Meta(gt=0, le=MAX_HOURS, description="how many hours back")] = 24
    tags: Annotated[Labels, Meta(description="only what has any of these tags")] = []
    limit: Annotated[int, Meta(ge=1, le=MAX_HITS, description="the most results to return")] = 20
    max_chars: Room = 8000


class Facts(Arguments, frozen=True):
    """Whom or what to list facts about."""

    subject: (
        Annotated[Label, Meta(min_length=1, description="a name; default: everyone")] | None
    ) = None
    attribute: (
        Annotated[Label, Meta(description="only this attribute, such as lives_in")] | None
    ) = None
    as_of: (
        Annotated[Time, Meta(description="what was true then, ISO-8601 with a time zone")] | None
    ) = None
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
