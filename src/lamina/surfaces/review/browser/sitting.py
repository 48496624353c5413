"""One operator's use of the page: a link that works once, a session, and the valid page.

Only the page that was shown last can decide: second tabs, older pages and forms of other sites do
not have its token.
"""

from __future__ import annotations

import hmac
import secrets

from lamina.errors import Forbidden

USED = "this link was used already; run `lamina review --browser` again for a new one"
UNKNOWN = "open the link that `lamina review --browser` printed"
STALE = "another page was opened since; nothing was decided, look at this one and decide again"


class Sitting:
    """The secrets of one sitting. They live as long as the process."""

    def __init__(self) -> None:
        self.key = secrets.token_urlsafe(32)
        self._session: str | None = None
        self._page = ""

    def enter(self, key: str) -> str:
        """Exchange the key in the link for a session, once."""
        if not _same(key, self.key):
            raise Forbidden(UNKNOWN, lacks="token")
        if self._session is not None:
            raise Forbidden(USED, lacks="token")
        self._session = secrets.token_urlsafe(32)
        return self._session

    def check(self, session: str | None) -> None:
        """Refuse requests without the session."""
        if self._session is None or session is None or not _same(session, self._session):
            raise Forbidden(UNKNOWN, lacks="token")

    def show(self) -> str:
        """Begin a page, which is then the only one that can decide; return its token."""
        self._page = secrets.token_urlsafe(16)
        return self._page

    def decide(self, page: str) -> None:
        """Refuse decisions from any page but the last; a page decides once."""
        if not self._page or not _same(page, self._page):
            raise Forbidden(STALE, lacks="page")
        self._page = ""


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), known.encode())
