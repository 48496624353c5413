"""The one who works: a thread that holds the handle and does one thing after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import anyio

from lamina.errors import LaminaError, StoreUnavailable
from lamina.memory.agent import Memory

log = logging.getLogger("lamina")

Result = TypeVar("Result")


class Keeper:
    """Opens a handle when it is first needed, and does all work with it in one thread, in the order in which it came.

    So a client that remembers and then searches finds what it has remembered, even when it does not wait for the answer.
    `afterwards` is called behind work that has written, when its answer is on its way.
    """

    def __init__(
        self,
        opened: Callable[[], Memory],
        seconds: float,
        afterwards: Callable[[Memory], None] | None = None,
    ) -> None:
        self._opened = opened
        self._seconds = seconds
        self._afterwards = afterwards
        self._memory: Memory | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="lamina-mcp")

    async def do(self, work: Callable[[Memory], Result]) -> Result:
        """The result of some work, unless it takes too long. Whoever is cancelled before it began leaves no trace."""
        future = self._pool.submit(lambda: work(self._handle()))
        with anyio.move_on_after(self._seconds):
            result = await asyncio.wrap_future(future)
            if self._afterwards is not None:
                self._pool.submit(self._follow_up)
            return result
        begun = (
            "it may still be done"
            if not future.cancelled()
            else "it was not begun, and nothing was done"
        )
        raise StoreUnavailable(
            f"the memory did not answer within {self._seconds:g} seconds; {begun}"
        )

    def warm(self) -> Future[Memory]:
        """Open the handle behind the scenes; whatever is wrong with it is told to whoever first needs it."""
        return self._pool.submit(self._handle)

    def close(self) -> None:
        """Finish what is being done, leave what has not begun, and let go of every file."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()

    def _handle(self) -> Memory:
        if self._memory is None:
            self._memory = self._opened()
        return self._memory

    def _follow_up(self) -> None:
        memory = self._memory
        if memory is None or self._afterwards is None or not memory.wrote:
            return
        memory.wrote = False
        try:
            self._afterwards(memory)
        except LaminaError as error:  # what was asked for is done; this is only told
            log.warning("the jobs that are due were not started: %s", error.message)
