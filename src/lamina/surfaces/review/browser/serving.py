"""Serve the page to one browser on this machine, until the person is done."""

from __future__ import annotations

import socket
from collections.abc import Callable

from lamina.memory.operator import Operator
from lamina.model.clock import Clock, system_clock
from lamina.surfaces.http import server
from lamina.surfaces.http.guard import Guard, Limits, own_names
from lamina.surfaces.review.browser.app import Locked, ReviewPage
from lamina.surfaces.review.browser.sitting import Sitting
from lamina.surfaces.review.decisions import Verb

HOST = "127.0.0.1"
METHODS = ("GET", "HEAD", "POST")
LIMITS = Limits(body_bytes=2 * 1024 * 1024)  # an edited text may be as long as a memory


class Serving:
    """A page that is ready to be served at an address."""

    def __init__(
        self,
        operator: Operator | Locked,
        note: Callable[[str, str], None],
        port: int = 0,
        clock: Clock = system_clock,
        about: str = "",
        decided: Callable[[str, Verb], None] | None = None,
    ) -> None:
        self._listening: socket.socket = server.listen(HOST, port)
        number = self._listening.getsockname()[1]
        self._sitting = Sitting()
        self.url = f"http://{HOST}:{number}"
        self._page = ReviewPage(operator, self._sitting, clock, self.end, about, decided)
        hosts, origins = own_names(number)
        self.app = Guard(self._page.app(), hosts, origins, LIMITS, note, METHODS)
        self._server = server.server(self.app, LIMITS)

    @property
    def link(self) -> str:
        """The address that opens the page, once."""
        return f"{self.url}/enter?key={self._sitting.key}"

    def run(self) -> None:
        """Serve until the person finishes, or a signal arrives."""
        server.run(self._server, self._listening)

    def end(self) -> None:
        """Stop after the current answer."""
        self._server.should_exit = True

    def close(self) -> None:
        """Close the handle that the page used for decisions."""
        self._page.close()
