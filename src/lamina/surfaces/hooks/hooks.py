"""The hooks of an agent in Python. They answer in time or not at all, and never raise.

A memory must not break its agent.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, TypeVar

from lamina.errors import LaminaError
from lamina.memory.agent import Memory
from lamina.model.clock import system_clock
from lamina.model.record import Record, Role
from lamina.surfaces.hooks import capture, context, problems, switches
from lamina.surfaces.hooks.switches import Switches

if TYPE_CHECKING:
    from subprocess import Popen

Result = TypeVar("Result")
UPKEEP = timedelta(minutes=1)  # between two checks for due jobs
# Calls that may wait for a store that does not answer; further ones are noted and skipped.
MOST_WAITING = 64


class Hooks:
    """The calls of an agent before and after its messages, and when it spawns another agent.

    One thread does all work, in order. A caller waits for at most `timeout_ms`; after that, storing
    continues in the background. Failures are noted in `problems` and in `lamina status`.
    """

    def __init__(self, memory: Memory, settings: Switches | None = None) -> None:
        self.switches = switches.read(os.environ) if settings is None else settings
        self.problems: deque[str] = deque(maxlen=MOST_WAITING)
        self._memory = memory
        self._waiting = threading.BoundedSemaphore(MOST_WAITING)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="lamina-hooks")
        self._next_look = datetime.min.replace(tzinfo=UTC)
        self._started: Popen[bytes] | None = None
        for problem in self.switches.problems:
            self._note_problem("settings", problem)

    def before_message(self, message: str, session: str | None = None) -> str:
        """Recall memories for a message, for the model to read with it; "" if there are none."""
        return self._context(
            "before_message", lambda: context.before(self._memory, message, session, self.switches)
        )

    def after_message(
        self, message: str | None, reply: str | None = None, session: str | None = None
    ) -> list[Record]:
        """Store the user's message, and the reply if enabled; return what is stored by now."""
        wanted = reply if self.switches.store_responses or self._captures_all() else None
        kept = self._do(
            "after_message",
            lambda: capture.keep(
                self._memory, message, wanted, session, project=self.switches.project
            ),
        )
        if kept and self._memory.settings["maintenance"] == "auto":
            self._upkeep()
        return kept or []

    def after_tool(self, use: Mapping[str, Any], session: str | None = None) -> list[Record]:
        """Store what matters later about a tool's use, with `hooks.capture = "all"`.

        `use` is what `remember_tool_use` takes. It returns what is stored by now.
        """
        if not self._captures_all():
            return []
        project = self.switches.project
        kept = self._do("after_tool", lambda: self._memory.remember_tool_use(use, session, project))
        return kept or []

    def on_spawn(self, task: str) -> str:
        """Recall memories for the task of an agent that is about to start."""
        return self._context(
            "on_spawn", lambda: context.before(self._memory, task, None, self.switches)
        )

    def on_start(self, about: str = "") -> str:
        """Recall what helps at the start of a session: pending items, the profile, a subject."""
        return self._context(
            "on_start", lambda: context.at_start(self._memory, about, self.switches)
        )

    def close(self) -> None:
        """Wait until everything is stored. The handle stays open for its owner."""
        self._pool.shutdown(wait=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _captures_all(self) -> bool:
        return bool(self._memory.settings["hooks.capture"] == "all")

    def _upkeep(self) -> None:
        """Start due jobs in the background; checking now and then is enough."""
        now = system_clock()
        if now < self._next_look:
            return
        self._next_look = now + UPKEEP
        home, agent = self._memory.home.path, self._memory.agent

        def start() -> None:
            from lamina.memory.jobs import ACTOR
            from lamina.memory.opening import connect
            from lamina.surfaces.maintenance import start_if_due

            more: dict[str, Any] = {"actor": ACTOR.name, "surface": ACTOR.surface, "scoped": False}
            with connect(Role.SYSTEM, agent, None, home, **more) as scheduler:
                self._started = start_if_due(scheduler.orchestrator(), home, agent, self._started)

        self._begin("upkeep", start)

    def _context(self, hook: str, work: Callable[[], str]) -> str:
        return self._do(hook, work) or ""

    def _do(self, hook: str, work: Callable[[], Result]) -> Result | None:
        """Return the result of some work, if it is ready in time."""
        future = self._begin(hook, work) if self.switches.enabled else None
        try:
            return None if future is None else future.result(self.switches.timeout_ms / 1000)
        except TimeoutError:
            problem = f"the memory did not answer within {self.switches.timeout_ms} ms"
            self._note_problem(hook, problem)
            return None

    def _begin(self, hook: str, work: Callable[[], Result]) -> Future[Result | None] | None:
        """Do something in the background; None if too much is waiting already."""
        if not self._waiting.acquire(blocking=False):
            problem = f"{MOST_WAITING} calls wait for the memory already; this one was not made"
            self._note_problem(hook, problem)
            return None
        try:
            return self._pool.submit(self._attempt, hook, work)
        except RuntimeError as error:  # closed, or the interpreter is about to exit
            self._waiting.release()
            self._note_problem(hook, str(error))
            return None

    def _attempt(self, hook: str, work: Callable[[], Result]) -> Result | None:
        try:
            return work()
        except LaminaError as error:
            self._note_problem(hook, error.message)
        except Exception as error:  # noqa: BLE001 - the agent goes on, whatever is wrong with a memory
            self._note_problem(hook, repr(error))
        finally:
            self._waiting.release()
        return None

    def _note_problem(self, hook: str, problem: str) -> None:
        self.problems.append(f"{hook}: {problem}")
        unkept = problems.note(self._memory.home, self._memory.agent, system_clock(), hook, problem)
        if unkept is not None:
            self.problems.append(f"this is not in the status: {unkept}")
