"""The server over streamable HTTP on the loopback, for clients that do not start it themselves."""

from __future__ import annotations

import logging
import socket
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lamina.errors import LaminaError
from lamina.surfaces.http import errors, health, metrics
from lamina.surfaces.http import server as serving
from lamina.surfaces.http.console.timings import Timings
from lamina.surfaces.http.guard import Limits, own_names
from lamina.surfaces.mcp.auth import HEALTH, METRICS, Check, Note, TokenGuard
from lamina.surfaces.mcp.frames import LONGEST
from lamina.surfaces.mcp.worker import HandleWorker

PATH = "/mcp"
ADDRESS = "127.0.0.1"
CONNECTIONS = 64
DELIVERY = 10.0  # seconds to send a request and to read its answer, besides the memory's own

log = logging.getLogger("lamina")


def listen(port: int) -> socket.socket:
    """Open a socket that listens on the loopback; 0 chooses a free port."""
    return serving.listen(ADDRESS, port)


def app(
    server: Server[Any],
    port: int,
    whose: tuple[str, str | None],
    check: Check,
    note: Note,
    keeper: HandleWorker,
    timings: Timings,
) -> TokenGuard:
    """Create the app behind its guard. It has no sessions: every request is independent."""
    hosts, origins = own_names(port)
    inside = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=LONGEST,
        transport_security=TransportSecuritySettings(
            allowed_hosts=sorted(host.decode() for host in hosts),
            allowed_origins=sorted(origin.decode() for origin in origins),
        ),
    )
    inside.router.routes += _told(keeper, timings)
    return TokenGuard(inside, hosts, origins, whose, check, note)


def run(
    server: Server[Any],
    listening: socket.socket,
    seconds: float,
    whose: tuple[str, str | None],
    check: Check,
    note: Note,
    keeper: HandleWorker,
    timings: Timings,
) -> None:
    """Serve until SIGINT or SIGTERM; a call may take `seconds`."""
    limits = Limits(request_seconds=seconds + DELIVERY, connections=CONNECTIONS)
    guarded = app(server, listening.getsockname()[1], whose, check, note, keeper, timings)
    serving.run(serving.server(guarded, limits), listening)


def _told(keeper: HandleWorker, timings: Timings) -> list[Route]:
    """Create the routes for health and metrics."""

    async def tell_health(_: Request) -> Response:
        try:
            await keeper.do(lambda memory: memory.jobs())
        except LaminaError as error:  # the log tells whoever runs this server
            log.warning("%s", error.message)
            return health.answer(False)
        return health.answer(True)

    async def tell_numbers(_: Request) -> Response:
        try:
            status = await keeper.do(lambda memory: memory.status())
        except LaminaError as error:
            return errors.answer(error)
        return Response(metrics.text(status, timings.recalls), media_type=metrics.CONTENT_TYPE)

    return [Route(HEALTH, tell_health), Route(METRICS, tell_numbers)]
