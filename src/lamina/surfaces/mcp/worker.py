"""Do all work with a handle in one thread, one task after another."""

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


class HandleWorker:
    """Opens a handle on first use, and does all work with it in one thread, in order.

    So a client that remembers and then searches finds what it remembered, even if it does not wait
    for the answer. `afterwards` is called after work that has written, while its answer is being
    sent.
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
        """Run some work, unless it takes too long. Work cancelled before it starts is not done."""
        future = self._pool.submit(lambda: work(self._handle()))
        with anyio.move_on_after(self._seconds):
            result = await asyncio.wrap_future(future)
            if self._afterwards is not None:
                self._pool.submit(self._follow_up)
            return result
        is_begun = not future.cancelled()
        fate = "it may still be done" if is_begun else "it was not started, and nothing was done"
        raise StoreUnavailable(
            f"the memory did not answer within {self._seconds:g} seconds; {fate}"
        )

    def warm(self) -> Future[Memory]:
        """Open the handle in the background; a problem is reported when it is first needed."""
        return self._pool.submit(self._handle)

    def close(self) -> None:
        """Finish the current work, drop what has not started, and close the handle."""
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
        except LaminaError as error:  # the request itself has succeeded; this is only logged
            log.warning("the jobs that are due were not started: %s", error.message)
