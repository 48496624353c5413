"""Pages of `lamina review --browser` for the person at a client, each for one proposal."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from lamina.memory.operator import Operator
from lamina.surfaces.review.browser.app import Locked
from lamina.surfaces.review.browser.serving import Serving
from lamina.surfaces.review.decisions import Verb

MOST = 4  # pages that are open at a time
GRACE = 5.0  # seconds for a pending answer when the server ends


class ReviewPages:
    """Open pages, and return what was decided on them. They close by themselves."""

    def __init__(
        self, opened: Callable[[str], Operator | Locked], note: Callable[[str, str], None]
    ) -> None:
        self._opened = opened  # takes the surface for the trail
        self._note = note
        self._pages: dict[str, Page] = {}

    def open(self, surface: str, proposal: str, seconds: float) -> str | None:
        """Open a page about a proposal; return its link, or None if too many are open."""
        self._pages = {link: page for link, page in self._pages.items() if page.is_alive}
        if len(self._pages) >= MOST:
            return None
        page = Page(self._opened(surface), self._note, proposal, seconds)
        self._pages[page.link] = page
        return page.link

    async def decided(self, link: str) -> Verb | None:
        """Wait until the proposal of a page is decided; None if the page is closed first."""
        page = self._pages.get(link)
        if page is None:
            return None
        # Cancelling the wait does not close the page.
        return await asyncio.shield(asyncio.wrap_future(page.decision))

    def end(self, link: str) -> None:
        """Close a page."""
        if (page := self._pages.get(link)) is not None:
            page.end()

    def close(self) -> None:
        """Close every page, after the pending answers."""
        for page in self._pages.values():
            page.end()
        for page in self._pages.values():
            page.join()


class Page:
    """One page in its own thread."""

    def __init__(
        self,
        operator: Operator | Locked,
        note: Callable[[str, str], None],
        proposal: str,
        seconds: float,
    ) -> None:
        self.decision: Future[Verb | None] = Future()
        self._proposal = proposal
        self._serving = Serving(operator, note, about=proposal, decided=self._note_decision)
        self.link = self._serving.link
        self._timer = threading.Timer(seconds, self._serving.end)
        self._timer.daemon = True
        self._thread = threading.Thread(target=self._run, name="lamina-review", daemon=True)
        self._timer.start()
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def end(self) -> None:
        self._serving.end()

    def join(self) -> None:
        self._thread.join(GRACE)

    def _run(self) -> None:
        try:
            self._serving.run()
        finally:
            self._timer.cancel()
            self._serving.close()
            if not self.decision.done():
                self.decision.set_result(None)

    def _note_decision(self, proposal: str, verb: Verb) -> None:
        if proposal == self._proposal and not self.decision.done():
            self.decision.set_result(verb)
