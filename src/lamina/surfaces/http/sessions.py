"""Signing in: a link that works once and briefly, and the sessions of browsers that it opens. All of it in memory."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from lamina.model.clock import Clock

LINK_LIFE = timedelta(minutes=10)
LIFE = timedelta(hours=12)
MOST = 32


class Sessions:
    """Who has signed in. Only hashes are kept, and nothing outlives the server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._links: dict[bytes, datetime] = {}
        self._open: dict[bytes, datetime] = {}

    def link(self) -> str:
        """A secret that signs one browser in, once, within some minutes."""
        return self._kept(self._links, LINK_LIFE)

    def redeem(self, link: str) -> str | None:
        """The secret of a new session, if this link was not used yet and is not too old."""
        ends = self._links.pop(_hash(link), None)
        return self._kept(self._open, LIFE) if ends is not None and self._clock() < ends else None

    def is_open(self, session: str) -> bool:
        ends = self._open.get(_hash(session))
        return ends is not None and self._clock() < ends

    def end(self, session: str) -> None:
        self._open.pop(_hash(session), None)

    def _kept(self, place: dict[bytes, datetime], life: timedelta) -> str:
        """A new secret. The oldest make room, so that nobody fills the memory of the server."""
        while len(place) >= MOST:
            del place[next(iter(place))]
        secret = secrets.token_urlsafe(32)
        place[_hash(secret)] = self._clock() + life
        return secret


def _hash(secret: str) -> bytes:
    """Looked up by its hash, a secret is never compared character by character."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()
