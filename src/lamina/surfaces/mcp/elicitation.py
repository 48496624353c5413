"""What the protocol says about questions to the person at a client, in both versions.

Up to 2025-11-25 a server asks over the connection of a call, and waits. From 2026-07-28 on it sends
the question instead of an answer, and the client calls again with the person's answer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from lamina.surfaces.mcp.auth import CLIENT
from lamina.text.words import shown

log = logging.getLogger("lamina")

Context = ServerRequestContext[Any, Any]


class Mode(StrEnum):
    """How a client asks: in its own dialog, or by leading the person to our page."""

    FORM = "form"
    URL = "url"


def granted(entries: Iterable[str]) -> dict[str, frozenset[Mode]]:
    """Read the setting `mcp.elicitation`: which clients may ask, and how."""
    allowed: dict[str, frozenset[Mode]] = {}
    for entry in entries:
        mode, _, name = entry.partition(" ")
        allowed[name] = allowed.get(name, frozenset()) | {Mode(mode)}
    return allowed


def is_sent_along(context: Context) -> bool:
    """Return whether a question is sent instead of the answer to a call."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def is_possible(context: Context) -> bool:
    """Return whether a question can reach the client: with the older protocol, not over HTTP."""
    return is_sent_along(context) or context.session.can_send_request


def name(context: Context) -> str | None:
    """Name the client: over HTTP by its token, over a pipe by the name that it gives."""
    if context.request is not None:
        name = context.request.scope.get(CLIENT)
        return name if isinstance(name, str) else None
    params = context.session.client_params
    return None if params is None else params.client_info.name


def supported(context: Context) -> frozenset[Mode]:
    """List how a client says that it can ask; if it names no mode, a form is meant."""
    capabilities = context.session.client_capabilities
    can = None if capabilities is None else capabilities.elicitation
    if can is None:
        return frozenset()
    modes = {Mode.FORM} if can.form is not None or can.url is None else set()
    return frozenset(modes | ({Mode.URL} if can.url is not None else set()))


async def sent(
    context: Context, asked: types.ElicitRequestParams, seconds: float
) -> types.ElicitResult | None:
    """Ask over the connection of the call; None if there is no valid answer."""
    try:
        return await context.session.send_request(
            types.ElicitRequest(params=asked),
            types.ElicitResult,
            seconds,
            ServerMessageMetadata(related_request_id=context.request_id),
        )
    except (MCPError, ValidationError) as error:
        log.warning("a client did not answer a question: %s", shown(str(error)))
        return None


async def completed(context: Context, question: str) -> None:
    """Tell a client with the older protocol that the person is done on a page."""
    await context.session.send_elicit_complete(question, context.request_id)
