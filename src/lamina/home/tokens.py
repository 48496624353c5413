"""Access tokens: secrets that open one agent's memory over HTTP. Only their hashes are stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from lamina.errors import Corrupt, InvalidInput, NotFound, StoreUnavailable
from lamina.home import ownership
from lamina.home.folder import (
    agent_name,
    hold_lock,
    make_private_folder,
    refuse_link,
    user_name,
    write_private,
)
from lamina.model import rules
from lamina.model.record import iso
from lamina.text import words

FILE_NAME = "tokens.json"
LOCK = "tokens.lock"
PREFIX = "lamina_"
SECRET_BYTES = 32
MOST = 1000


class Token(msgspec.Struct, frozen=True):
    """The stored part of a token: the memory that it opens and until when, but not its secret.

    With `trail` it may also read the audit trail, which is for operators. With `tools` it may use
    the tools of the MCP server, which remember and propose.
    """

    id: str
    agent: str
    user: str | None
    name: str | None
    trail: bool
    created: datetime
    expires: datetime | None
    hash: bytes
    tools: bool = False

    @property
    def label(self) -> str:
        """The name of the token in the trail."""
        return f"token {self.id}"

    def is_open(self, now: datetime) -> bool:
        return self.expires is None or now < self.expires

    def to_dict(self) -> dict[str, Any]:
        """Return the token in the form that people see: without its hash."""
        return {
            "id": self.id,
            "agent": self.agent,
            "user": self.user,
            "name": self.name,
            "trail": self.trail,
            "tools": self.tools,
            "created": iso(self.created),
            "expires": None if self.expires is None else iso(self.expires),
        }


class _File(msgspec.Struct, frozen=True):
    """The content of the file."""

    tokens: tuple[Token, ...] = ()


class Tokens:
    """The tokens of one home. What another process creates or revokes takes effect at once."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / FILE_NAME
        self._seen: tuple[int, ...] | None = None
        self._known: tuple[Token, ...] = ()

    def tokens(self) -> tuple[Token, ...]:
        """List all tokens, the oldest first, including expired ones."""
        try:
            status = self._path.lstat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreUnavailable(f"{self._path} cannot be read: {error.strerror}") from error
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self._seen:
            self._known = self._read()
            self._seen = stamp
        return self._known

    def find(self, secret: str, now: datetime) -> Token | None:
        """Find the open token with this secret. Compare with all, to take constant time."""
        digest = _hash(secret)
        fitting = [token for token in self.tokens() if hmac.compare_digest(token.hash, digest)]
        return fitting[0] if fitting and fitting[0].is_open(now) else None

    def create(
        self,
        agent: str,
        user: str | None,
        now: datetime,
        *,
        expires: datetime | None = None,
        name: str | None = None,
        trail: bool = False,
        tools: bool = False,
    ) -> tuple[Token, str]:
        """Create a token; return it with its secret, which cannot be found out later."""
        if expires is not None and expires <= now:
            problem = "would open nothing: that is past"
            raise InvalidInput(f"a token that expires at {iso(expires)} {problem}")
        if trail and user is not None:
            raise InvalidInput("the audit trail concerns all users; a token for it has no user")
        label = None if name is None else rules.label(name, "name")
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        with self._alone():
            known = self._read()
            if len(known) >= MOST:
                advice = "revoke some with `lamina token revoke`"
                raise InvalidInput(f"there are {len(known):,} tokens already; {advice}")
            taken = {token.id for token in known}
            while (token_id := secrets.token_hex(4)) in taken:
                pass
            names = (token_id, agent_name(agent), user_name(user), label)
            token = Token(*names, trail, now, expires, _hash(secret), tools)
            self._write((*known, token))
        return token, secret

    def revoke(self, token_id: str) -> Token:
        """Revoke a token: from now on it opens nothing."""
        with self._alone():
            known = self._read()
            revoked = [token for token in known if token.id == token_id]
            if not revoked:
                advice = "see `lamina token list`"
                raise NotFound(f"there is no token {words.shown(token_id)}; {advice}")
            self._write(tuple(token for token in known if token.id != token_id))
        return revoked[0]

    def _read(self) -> tuple[Token, ...]:
        refuse_link(self._path)
        try:
            with ownership.opened(self._path) as file:
                return msgspec.json.decode(file.read(), type=_File).tokens
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreUnavailable(f"{self._path} cannot be read: {error.strerror}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            advice = "remove it and create the tokens anew"
            raise Corrupt(f"{self._path} is damaged; {advice}") from None

    def _write(self, tokens: tuple[Token, ...]) -> None:
        body = msgspec.json.format(msgspec.json.encode(_File(tokens)), indent=2)
        write_private(self._path, body + b"\n")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let only one process at a time change the file."""
        make_private_folder(self._home)
        with hold_lock(self._home / LOCK):
            yield


def _hash(secret: str) -> bytes:
    """Hash a secret. It has 256 random bits and cannot be guessed, so a plain hash is enough."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()
