"""Sign browsers in: a link that works once and briefly, and the session that it opens.

All of it is in memory.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from lamina.model.clock import Clock

LINK_LIFE = timedelta(minutes=10)
LIFE = timedelta(hours=12)
MOST = 32


class Sessions:
    """Open links and sessions. Only hashes are stored, and only as long as the server runs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._links: dict[bytes, datetime] = {}
        self._open: dict[bytes, datetime] = {}

    def link(self) -> str:
        """Make a secret that signs one browser in, once, within a few minutes."""
        return self._new_secret(self._links, LINK_LIFE)

    def redeem(self, link: str) -> str | None:
        """Open a session and return its secret, if the link is unused and not too old."""
        ends = self._links.pop(_hash(link), None)
        if ends is None or self._clock() >= ends:
            return None
        return self._new_secret(self._open, LIFE)

    def is_open(self, session: str) -> bool:
        ends = self._open.get(_hash(session))
        return ends is not None and self._clock() < ends

    def end(self, session: str) -> None:
        self._open.pop(_hash(session), None)

    def _new_secret(self, ends: dict[bytes, datetime], life: timedelta) -> str:
        """Add a secret; the oldest are removed, so that they never fill the memory."""
        while len(ends) >= MOST:
            del ends[next(iter(ends))]
        secret = secrets.token_urlsafe(32)
        ends[_hash(secret)] = self._clock() + life
        return secret


def _hash(secret: str) -> bytes:
    """Hash a secret, so that it is never compared character by character."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()
