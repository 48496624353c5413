"""What stands behind the routes: who asks, their handle that only reads, and threads with an end to their patience."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from lamina import handles
from lamina.access import Access, Token
from lamina.clock import Clock
from lamina.errors import LaminaError, StoreUnavailable
from lamina.home import Home
from lamina.memory import Memory
from lamina.model import Actor, Role
from lamina.surfaces.http.guard import Limits
from lamina.surfaces.http.sessions import Sessions

SURFACE = "http"
BEARER = "bearer"
Answer = TypeVar("Answer")

log = logging.getLogger("lamina")


class Visitor(NamedTuple):
    """Who asks. It comes from a token or a session, and nothing in a request can widen it."""

    agent: str
    user: str | None
    role: Role
    name: str

    @property
    def actor(self) -> Actor:
        return Actor(self.role, self.name, SURFACE)


class Service:
    """The memories of a home, for visitors to read. `host` is whom sessions of browsers stand for."""

    def __init__(self, home: Path, host: Visitor, clock: Clock, limits: Limits | None = None) -> None:
        self.home = Home(home)
        self.limits = limits or Limits()
        self.access = Access(self.home.path)
        self.sessions = Sessions(clock)
        self.clock = clock
        self._host = host
        self._handles: dict[Visitor, Memory] = {}
        self._opening = threading.Lock()
        self._threads = ThreadPoolExecutor(self.limits.threads, thread_name_prefix="lamina-http")
        self._asked = 0

    def visitor(self, authorization: list[str], session: str | None) -> Visitor | None:
        """Who a request comes from. A token that is given decides, whatever else is there."""
        if not authorization:
            return self._host if session is not None and self.sessions.is_open(session) else None
        scheme, _, secret = authorization[0].partition(" ")
        if len(authorization) != 1 or scheme.lower() != BEARER:
            return None
        token = self._token(secret.strip())
        if token is None:
            return None
        role = Role.OPERATOR if token.trail else Role.AGENT
        return Visitor(token.agent, token.user, role, f"token {token.id}")

    def _token(self, secret: str) -> Token | None:
        try:
            return self.access.find(secret, self.clock())
        except LaminaError as error:  # it names files, which is for whoever runs the server
            log.warning("%s", error.message)
            raise StoreUnavailable("the tokens cannot be read; whoever runs this server can see why") from error

    async def ask(self, visitor: Visitor, question: Callable[[Memory], Answer]) -> Answer:
        """What a visitor's memory answers, found on a thread; an error when that takes too long or too many wait."""
        if self._asked >= self.limits.threads + self.limits.waiting:
            raise StoreUnavailable("too many requests at once; try again")
        self._asked += 1
        running = asyncio.get_running_loop().run_in_executor(self._threads, self._answered, visitor, question)
        running.add_done_callback(self._done)
        try:
            # The thread goes on after that, and counts as busy until it is done.
            return await asyncio.wait_for(asyncio.shield(running), self.limits.answer_seconds)
        except TimeoutError:
            seconds = f"{self.limits.answer_seconds:g} seconds"
            raise StoreUnavailable(f"this took longer than {seconds}; ask for less, or use the command `lamina`") from None

    async def ask_json(self, visitor: Visitor, question: Callable[[Memory], Any]) -> bytes:
        """The same, written as JSON on that thread."""
        return await self.ask(visitor, lambda memory: msgspec.json.encode(question(memory)))

    def violation(self, visitor: Visitor, attempt: str, value: object) -> None:
        """Note that somebody tried to see what is not theirs."""
        self.home.log_violation(self.clock(), visitor.actor, attempt, value)

    def close(self) -> None:
        """Let every thread finish, and every handle write what it has buffered."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        while self._handles:
            _, handle = self._handles.popitem()
            handle.close()

    def _answered(self, visitor: Visitor, question: Callable[[Memory], Answer]) -> Answer:
        return question(self._handle(visitor))

    def _handle(self, visitor: Visitor) -> Memory:
        with self._opening:
            found = self._handles.get(visitor)
            if found is None:
                agent, user, role, name = visitor
                found = handles.look(agent, user, self.home.path, SURFACE, role=role, actor=name, clock=self.clock)
                self._handles[visitor] = found
            return found

    def _done(self, running: asyncio.Future[Any]) -> None:
        self._asked -= 1
        if not running.cancelled():
            running.exception()  # nobody may be waiting for it any more
