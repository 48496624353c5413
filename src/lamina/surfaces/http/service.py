"""Identify visitors, and answer them on a few threads with read-only handles."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec

from lamina.errors import LaminaError, StoreUnavailable
from lamina.home.folder import Home
from lamina.home.tokens import Token, Tokens
from lamina.memory import opening
from lamina.memory.agent import Memory
from lamina.memory.pool import HandlePool
from lamina.memory.refusals import NOBODY, Trails
from lamina.model.clock import Clock
from lamina.model.record import Actor, Role
from lamina.store.tables.refusals import Refusal
from lamina.surfaces.http.errors import discreet
from lamina.surfaces.http.guard import Limits
from lamina.surfaces.http.sessions import Sessions

SURFACE = "http"
BEARER = "bearer"
BETWEEN_LOOKS = timedelta(seconds=2)
Answer = TypeVar("Answer")

log = logging.getLogger("lamina")


class Visitor(NamedTuple):
    """The identity behind a token or session; nothing in a request can widen it."""

    agent: str
    user: str | None
    role: Role
    name: str
    is_host: bool = False  # a signed-in browser, without a token

    @property
    def actor(self) -> Actor:
        return Actor(self.role, self.name, SURFACE)


class Service:
    """The memories of a home, for visitors to read; browser sessions stand for the host."""

    def __init__(
        self,
        home: Path,
        host: Visitor,
        clock: Clock,
        limits: Limits | None = None,
        *,
        all_agents: bool = False,
    ) -> None:
        """`all_agents` lets signed-in browsers switch between the agents of the home."""
        self.home = Home(home)
        self.limits = limits or Limits()
        self.access = Tokens(self.home.path)
        self.sessions = Sessions(clock)
        self.clock = clock
        self._host = host._replace(is_host=True)
        self._all_agents = all_agents and host.user is None
        # One handle for each visitor, since the trail of reads names tokens.
        self._pool: HandlePool[Visitor] = HandlePool(self._open_handle)
        self._trails = Trails(self.home)
        self._over: set[Visitor] = set()  # their handles are to be closed
        self._threads = ThreadPoolExecutor(self.limits.threads, thread_name_prefix="lamina-http")
        self._turns: WeakValueDictionary[Visitor, asyncio.Semaphore] = WeakValueDictionary()
        self._asked = 0
        self._looked: tuple[datetime, bool] | None = None  # when the store was last checked

    def visitor(self, authorization: list[str], session: str | None) -> Visitor | None:
        """Identify the sender of a request. If there is a token, only the token counts."""
        if not authorization:
            return self._host if session is not None and self.sessions.is_open(session) else None
        scheme, _, secret = authorization[0].partition(" ")
        if len(authorization) != 1 or scheme.lower() != BEARER:
            return None
        token = self._token(secret.strip())
        if token is None:
            return None
        role = Role.OPERATOR if token.trail else Role.AGENT
        return Visitor(token.agent, token.user, role, token.label)

    def agents(self, visitor: Visitor) -> list[str]:
        """List the agents whose memory a visitor may open: with a token, only one."""
        if self._all_agents and visitor.is_host:
            return [*self.home.agents()]
        return [visitor.agent]

    def _end_handles(self) -> None:
        """Close, on a thread, the handles whose tokens were revoked or have expired."""
        now = self.clock()
        live = {token.label for token in self.access.tokens() if token.is_open(now)}
        over = {
            visitor
            for visitor in self._pool.keys
            if not visitor.is_host and visitor.name not in live
        }
        if over - self._over:
            self._threads.submit(self._pool.end, over)
        self._over = over

    def _token(self, secret: str) -> Token | None:
        try:
            self._end_handles()
            return self.access.find(secret, self.clock())
        except LaminaError as error:  # it names files, which no visitor should see
            log.warning("%s", error.message)
            problem = "the tokens cannot be read; the operator of this server can see why"
            raise StoreUnavailable(problem) from error

    async def ask(self, visitor: Visitor, question: Callable[[Memory], Answer]) -> Answer:
        """Query a visitor's memory on a thread; raise if it takes too long or too many wait."""
        if self._asked >= self.limits.threads + self.limits.waiting:
            raise StoreUnavailable("too many requests at once; try again")
        self._asked += 1
        running = asyncio.ensure_future(self._run(visitor, question))
        running.add_done_callback(self._done)
        try:
            # The thread continues after a timeout, and counts as busy until it is done.
            return await asyncio.wait_for(asyncio.shield(running), self.limits.answer_seconds)
        except TimeoutError:
            seconds = f"{self.limits.answer_seconds:g} seconds"
            raise StoreUnavailable(
                f"this took longer than {seconds}; ask for less, or use the command `lamina`"
            ) from None

    async def _run(self, visitor: Visitor, question: Callable[[Memory], Answer]) -> Answer:
        """Answer on a thread; a visitor never takes the last one."""
        turn = self._turns.setdefault(visitor, asyncio.Semaphore(max(1, self.limits.threads - 1)))
        async with turn:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._answer, visitor, question)

    async def ask_json(self, visitor: Visitor, question: Callable[[Memory], Any]) -> bytes:
        """Query the memory, and encode the answer as JSON on that thread."""
        return await self.ask(visitor, lambda memory: msgspec.json.encode(question(memory)))

    async def is_well(self) -> bool:
        """Return whether the host's memory can be read; the result is cached for a moment."""
        now = self.clock()
        if self._looked is None or now - self._looked[0] >= BETWEEN_LOOKS:
            try:
                await self.ask(self._host, lambda memory: memory.jobs())
                self._looked = now, True
            except LaminaError as error:  # the log tells whoever runs this server
                log.warning("%s", error.message)
                self._looked = now, False
        return self._looked[1]

    def violation(self, visitor: Visitor, attempt: str, value: object) -> None:
        """Note an attempt to see what does not belong to the visitor."""
        self.home.log_violation(self.clock(), visitor.actor, attempt, value)

    def refuse(self, visitor: Visitor, verb: str, lacks: str, *, is_logged: bool = False) -> None:
        """Note a refusal in the trail of the visitor's agent."""
        refusal = Refusal(self.clock(), visitor.actor, verb, lacks)
        self._trails.leave(visitor.agent, refusal, is_logged=is_logged)

    def refuse_nobody(self, verb: str, lacks: str) -> None:
        """Note a refusal of an unidentified caller, in the trail of the host's agent."""
        self.refuse(Visitor(self._host.agent, None, Role.AGENT, NOBODY), verb, lacks)

    def close(self) -> None:
        """Finish every thread, and close every handle, which writes what it has buffered."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._pool.close()
        self._trails.close()

    def _answer(self, visitor: Visitor, question: Callable[[Memory], Answer]) -> Answer:
        try:
            with self._pool.borrow(visitor) as memory:
                return question(memory)
        except LaminaError as error:
            if (shown := discreet(error)) is error:
                raise
            raise shown from error

    def _open_handle(self, visitor: Visitor) -> Memory:
        agent, user, role, name, _ = visitor
        return opening.look(
            agent, user, self.home.path, SURFACE, role=role, actor=name, clock=self.clock
        )

    def _done(self, running: asyncio.Future[Any]) -> None:
        self._asked -= 1
        if not running.cancelled():
            running.exception()  # retrieve it, since its request may have been given up
