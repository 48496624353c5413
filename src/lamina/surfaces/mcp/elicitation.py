"""What the protocol says about questions to the person at a client, in both of its eras.

Up to 2025-11-25 a server asks over the connection of a call, and waits. From 2026-07-28 on it sends
the question in place of an answer, and the client calls again with what the person said.
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
    """How a client asks: in a dialog of its own, or by leading the person to our page."""

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
    """Tell if a question is sent in place of the answer to a call."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def is_possible(context: Context) -> bool:
    """Tell if a question can reach the client: in the older era HTTP here has no way back."""
    return is_sent_along(context) or context.session.can_send_request


def name(context: Context) -> str | None:
    """Name the client: over HTTP by its token, over a pipe as it calls itself."""
    if context.request is not None:
        name = context.request.scope.get(CLIENT)
        return name if isinstance(name, str) else None
    params = context.session.client_params
    return None if params is None else params.client_info.name


def supported(context: Context) -> frozenset[Mode]:
    """List how a client says that it can ask; one that names no mode means a form."""
    capabilities = context.session.client_capabilities
    can = None if capabilities is None else capabilities.elicitation
    if can is None:
        return frozenset()
    modes = {Mode.FORM} if can.form is not None or can.url is None else set()
    return frozenset(modes | ({Mode.URL} if can.url is not None else set()))


async def sent(
    context: Context, asked: types.ElicitRequestParams, seconds: float
) -> types.ElicitResult | None:
    """Ask over the connection of the call; None without an answer that is one."""
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
    """Tell a client of the older era that the person is done on a page."""
    await context.session.send_elicit_complete(question, context.request_id)
