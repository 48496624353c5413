"""A lease that a thread renews while its holder works, so that it does not lapse."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from lamina.errors import LaminaError
from lamina.model.clock import Clock
from lamina.text.words import shown

log = logging.getLogger("lamina")

RENEWALS = 4  # while a lease lasts, so that one or two may fail


class Lease:
    """Hold a lease for the duration of a block.

    The holder checks `is_lost` where it can stop. After a fork only the parent renews, since
    threads are not inherited.
    """

    def __init__(self, renew: Callable[[datetime], bool], clock: Clock, seconds: float) -> None:
        """`renew` takes the time and returns whether the lease, taken just now, is still ours."""
        self.problem: str | None = None  # of the last renewal
        self._renew = renew
        self._clock = clock
        self._seconds = seconds
        self._until = clock() + timedelta(seconds=seconds)
        self._is_taken = False
        self._ended = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="lamina-lease", daemon=True)

    def __enter__(self) -> Self:
        self._keeper.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._keeper.join()

    def is_lost(self) -> bool:
        """Whether another process has the lease, or may have it because renewal took too long."""
        return self._is_taken or self._clock() >= self._until

    def _keep(self) -> None:
        while not (self._is_taken or self._ended.wait(self._seconds / RENEWALS)):
            try:
                self._extend()
            except LaminaError as error:
                self._note(error.message)
            except Exception as error:  # the next try may succeed, and the holder is told
                self._note(shown(error))
                log.exception("this is no way to fail")

    def _extend(self) -> None:
        now = self._clock()
        self._is_taken = not self._renew(now)
        if self._is_taken:
            log.warning("another process took the lease while a job of ours was at work")
        else:
            self.problem, self._until = None, now + timedelta(seconds=self._seconds)

    def _note(self, problem: str) -> None:
        self.problem = problem
        log.warning("the lease could not be renewed: %s", problem)
