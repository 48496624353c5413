"""What stands behind the routes: who asks, their handle that only reads, and threads with an end to their patience."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
from lamina.surfaces.http.errors import discreet
from lamina.surfaces.http.guard import Limits
from lamina.surfaces.http.sessions import Sessions

SURFACE = "http"
BEARER = "bearer"
MOST_OPEN = 32  # handles, of which each has files open
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


class Lending:
    """Open handles, one for each visitor since the trail of reads names tokens; those used last stay open, up to a bound."""

    def __init__(self, opened: Callable[[Visitor], Memory], most: int = MOST_OPEN) -> None:
        self._opened = opened
        self._most = most
        self._open: dict[Visitor, Memory] = {}  # the one that was used last is the last
        self._used: Counter[Visitor] = Counter()
        self._ended: set[Visitor] = set()
        self._lock = threading.Lock()

    @property
    def visitors(self) -> list[Visitor]:
        """Whose handles are open."""
        return list(self._open)

    @contextmanager
    def lent(self, visitor: Visitor) -> Iterator[Memory]:
        """A visitor's handle, which stays open for as long as the block lasts."""
        with self._lock:
            handle = self._open.pop(visitor, None)
            if handle is None:
                self._make_room(self._most - 1)
                handle = self._opened(visitor)
            self._open[visitor] = handle
            self._used[visitor] += 1
        try:
            yield handle
        finally:
            with self._lock:
                self._used[visitor] -= 1
                self._make_room(self._most)

    def end(self, visitors: set[Visitor]) -> None:
        """Close the handles of visitors who will not come back, each when nobody uses it any more."""
        with self._lock:
            self._ended |= visitors
            self._make_room(self._most)

    def close(self) -> None:
        """Let every handle write what it has buffered."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def _make_room(self, most: int) -> None:
        idle = [visitor for visitor in self._open if not self._used[visitor]]
        gone = [visitor for visitor in idle if visitor in self._ended]
        oldest = [visitor for visitor in idle if visitor not in self._ended]
        gone += oldest[: max(0, len(self._open) - len(gone) - most)]
        for visitor in gone:
            handle = self._open.pop(visitor)
            self._ended.discard(visitor)
            del self._used[visitor]
            try:
                handle.close()
            except LaminaError as error:  # whoever asks now has nothing to do with it
                log.warning("%s", error.message)


class Service:
    """The memories of a home, for visitors to read. `host` is whom sessions of browsers stand for."""

    def __init__(self, home: Path, host: Visitor, clock: Clock, limits: Limits | None = None) -> None:
        self.home = Home(home)
        self.limits = limits or Limits()
        self.access = Access(self.home.path)
        self.sessions = Sessions(clock)
        self.clock = clock
        self._host = host
        self._lending = Lending(self._opened)
        self._over: set[Visitor] = set()  # whose handles are about to be closed
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
        return Visitor(token.agent, token.user, role, _name(token))

    def _end_handles(self) -> None:
        """Have those handles closed, on a thread, whose tokens were revoked or have expired."""
        now = self.clock()
        live = {_name(token) for token in self.access.tokens() if token.is_open(now)}
        over = {one for one in self._lending.visitors if one != self._host and one.name not in live}
        if over - self._over:
            self._threads.submit(self._lending.end, over)
        self._over = over

    def _token(self, secret: str) -> Token | None:
        try:
            self._end_handles()
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
        self._lending.close()

    def _answered(self, visitor: Visitor, question: Callable[[Memory], Answer]) -> Answer:
        try:
            with self._lending.lent(visitor) as memory:
                return question(memory)
        except LaminaError as error:
            if (told := discreet(error)) is error:
                raise
            raise told from error

    def _opened(self, visitor: Visitor) -> Memory:
        agent, user, role, name = visitor
        return handles.look(agent, user, self.home.path, SURFACE, role=role, actor=name, clock=self.clock)

    def _done(self, running: asyncio.Future[Any]) -> None:
        self._asked -= 1
        if not running.cancelled():
            running.exception()  # nobody may be waiting for it any more


def _name(token: Token) -> str:
    """How a token stands in the trail."""
    return f"token {token.id}"
