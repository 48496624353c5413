"""The server over streamable HTTP on the loopback, for clients that do not start it themselves."""

from __future__ import annotations

import socket
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from lamina.surfaces.http import server as serving
from lamina.surfaces.http.guard import Limits, own_names
from lamina.surfaces.mcp.auth import Check, Note, TokenGuard
from lamina.surfaces.mcp.frames import LONGEST

PATH = "/mcp"
ADDRESS = "127.0.0.1"
CONNECTIONS = 64
DELIVERY = 10.0  # seconds to send a request and to read its answer, beside the memory's own


def listen(port: int) -> socket.socket:
    """Open a socket that listens on the loopback; 0 takes a port that is free."""
    return serving.listen(ADDRESS, port)


def app(
    server: Server[Any], port: int, whose: tuple[str, str | None], check: Check, note: Note
) -> TokenGuard:
    """Make the app behind its door. It keeps no sessions: every request stands alone."""
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
    return TokenGuard(inside, hosts, origins, whose, check, note)


def run(
    server: Server[Any],
    listening: socket.socket,
    seconds: float,
    whose: tuple[str, str | None],
    check: Check,
    note: Note,
) -> None:
    """Serve until SIGINT or SIGTERM; a call may take so many seconds."""
    limits = Limits(request_seconds=seconds + DELIVERY, connections=CONNECTIONS)
    guarded = app(server, listening.getsockname()[1], whose, check, note)
    serving.run(serving.server(guarded, limits), listening)
