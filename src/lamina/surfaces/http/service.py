"""What stands behind the routes: who asks, their handle that only reads, and threads with an end to their patience."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec

from lamina.errors import LaminaError, StoreUnavailable
from lamina.home.folder import Home
from lamina.home.tokens import Access, Token
from lamina.memory import opening
from lamina.memory.agent import Memory
from lamina.model.clock import Clock
from lamina.model.record import Actor, Role
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


class Loan:
    """A visitor's handle, opened by whoever needs it first; others of the same visitor wait for that, and nobody else."""

    def __init__(self) -> None:
        self.users = 0
        self._lock = threading.Lock()
        self._handle: Memory | None = None

    def handle(self, opened: Callable[[], Memory]) -> Memory:
        with self._lock:
            if self._handle is None:
                self._handle = opened()
            return self._handle

    def close(self) -> None:
        if self._handle is not None:
            self._handle.close()


class Lending:
    """Open handles, one for each visitor since the trail of reads names tokens; those used last stay open, up to a bound.

    The lock is held for no longer than it takes to look: a store that is slow to open or to close keeps nobody else waiting.
    """

    def __init__(self, opened: Callable[[Visitor], Memory], most: int = MOST_OPEN) -> None:
        self._opened = opened
        self._most = most
        self._loans: dict[Visitor, Loan] = {}  # the one that was used last is the last
        self._ended: set[Visitor] = set()
        self._lock = threading.Lock()

    @property
    def visitors(self) -> list[Visitor]:
        """Whose handles are open."""
        return list(self._loans)

    @contextmanager
    def lent(self, visitor: Visitor) -> Iterator[Memory]:
        """A visitor's handle, which stays open for as long as the block lasts."""
        with self._lock:
            loan = self._loans.pop(visitor, None)
            gone = [] if loan is not None else self._made_room(self._most - 1)
            loan = self._loans[visitor] = loan or Loan()
            loan.users += 1
        try:
            _close(gone)
            yield loan.handle(lambda: self._opened(visitor))
        finally:
            with self._lock:
                loan.users -= 1
                gone = self._made_room(self._most)
            _close(gone)

    def end(self, visitors: set[Visitor]) -> None:
        """Close the handles of visitors who will not come back, each when nobody uses it any more."""
        with self._lock:
            self._ended |= visitors
            gone = self._made_room(self._most)
        _close(gone)

    def close(self) -> None:
        """Let every handle write what it has buffered."""
        with self._lock:
            loans = list(self._loans.values())
            self._loans.clear()
        for loan in loans:
            loan.close()

    def _made_room(self, most: int) -> list[Loan]:
        """The handles that are open no longer, for the caller to close outside of the lock."""
        idle = [visitor for visitor, loan in self._loans.items() if not loan.users]
        gone = [visitor for visitor in idle if visitor in self._ended]
        oldest = [visitor for visitor in idle if visitor not in self._ended]
        gone += oldest[: max(0, len(self._loans) - len(gone) - most)]
        self._ended.difference_update(gone)
        return [self._loans.pop(visitor) for visitor in gone]


def _close(gone: Iterable[Loan]) -> None:
    for loan in gone:
        try:
            loan.close()
        except LaminaError as error:  # whoever asks now has nothing to do with it
            log.warning("%s", error.message)


class Service:
    """The memories of a home, for visitors to read. `host` is whom sessions of browsers stand for."""

    def __init__(
        self, home: Path, host: Visitor, clock: Clock, limits: Limits | None = None
    ) -> None:
        self.home = Home(home)
        self.limits = limits or Limits()
        self.access = Access(self.home.path)
        self.sessions = Sessions(clock)
        self.clock = clock
        self._host = host
        self._lending = Lending(self._opened)
        self._over: set[Visitor] = set()  # whose handles are about to be closed
        self._threads = ThreadPoolExecutor(self.limits.threads, thread_name_prefix="lamina-http")
        self._turns: WeakValueDictionary[Visitor, asyncio.Semaphore] = WeakValueDictionary()
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
            raise StoreUnavailable(
                "the tokens cannot be read; whoever runs this server can see why"
            ) from error

    async def ask(self, visitor: Visitor, question: Callable[[Memory], Answer]) -> Answer:
        """What a visitor's memory answers, found on a thread; an error when that takes too long or too many wait."""
        if self._asked >= self.limits.threads + self.limits.waiting:
            raise StoreUnavailable("too many requests at once; try again")
        self._asked += 1
        running = asyncio.ensure_future(self._run(visitor, question))
        running.add_done_callback(self._done)
        try:
            # The thread goes on after that, and counts as busy until it is done.
            return await asyncio.wait_for(asyncio.shield(running), self.limits.answer_seconds)
        except TimeoutError:
            seconds = f"{self.limits.answer_seconds:g} seconds"
            raise StoreUnavailable(
                f"this took longer than {seconds}; ask for less, or use the command `lamina`"
            ) from None

    async def _run(self, visitor: Visitor, question: Callable[[Memory], Answer]) -> Answer:
        """Answer on a thread, of which one is always left for somebody else."""
        turn = self._turns.setdefault(visitor, asyncio.Semaphore(max(1, self.limits.threads - 1)))
        async with turn:
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, self._answered, visitor, question
            )

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
        return opening.look(
            agent, user, self.home.path, SURFACE, role=role, actor=name, clock=self.clock
        )

    def _done(self, running: asyncio.Future[Any]) -> None:
        self._asked -= 1
        if not running.cancelled():
            running.exception()  # nobody may be waiting for it any more


def _name(token: Token) -> str:
    """How a token stands in the trail."""
    return f"token {token.id}"
