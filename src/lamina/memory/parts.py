"""The parts of a handle, imported and created on first use, since agents start often."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lamina.errors import StoreUnavailable

if TYPE_CHECKING:
    from lamina.memory.audit import Audit
    from lamina.memory.backups import Backups
    from lamina.memory.browsing import Browsing
    from lamina.memory.context import Contexts
    from lamina.memory.derived import Derived
    from lamina.memory.drafting import Drafting
    from lamina.memory.erasure import Erasures
    from lamina.memory.exchange import Exchange
    from lamina.memory.facts import Facts
    from lamina.memory.failsafe import Failsafe
    from lamina.memory.feedback import Feedback
    from lamina.memory.importance import Importance
    from lamina.memory.inspect import Inspect
    from lamina.memory.jobs import Jobs
    from lamina.memory.lifecycle import Lifecycle
    from lamina.memory.profiles import Profiles
    from lamina.memory.proposals import Proposals
    from lamina.memory.read import Read
    from lamina.memory.redaction import Redaction
    from lamina.memory.remember import Remember
    from lamina.memory.reviews import Reviews
    from lamina.memory.runs import Runs
    from lamina.memory.scope import Scope
    from lamina.memory.sessions import Sessions
    from lamina.memory.shared import Shared
    from lamina.memory.sharing import Sharing
    from lamina.memory.sleep.night import Sleep
    from lamina.memory.statements import Statements
    from lamina.memory.status import Status
    from lamina.memory.status_files import StatusFiles
    from lamina.memory.world import WorldModel

ORIGINS = {
    "audit": "audit.Audit",
    "backups": "backups.Backups",
    "browsing": "browsing.Browsing",
    "context": "context.Contexts",
    "derived": "derived.Derived",
    "drafting": "drafting.Drafting",
    "erasures": "erasure.Erasures",
    "exchange": "exchange.Exchange",
    "facts": "facts.Facts",
    "failsafe": "failsafe.Failsafe",
    "feedback": "feedback.Feedback",
    "importance": "importance.Importance",
    "inspect": "inspect.Inspect",
    "jobs": "jobs.Jobs",
    "lifecycle": "lifecycle.Lifecycle",
    "profiles": "profiles.Profiles",
    "proposals": "proposals.Proposals",
    "read": "read.Read",
    "redaction": "redaction.Redaction",
    "remember": "remember.Remember",
    "reviews": "reviews.Reviews",
    "runs": "runs.Runs",
    "sessions": "sessions.Sessions",
    "shared": "shared.Shared",
    "sharing": "sharing.Sharing",
    "sleep": "sleep.night.Sleep",
    "statements": "statements.Statements",
    "status": "status.Status",
    "status_files": "status_files.StatusFiles",
    "world": "world.WorldModel",
}


class Parts:
    """One part for each noun. Each takes the scope; parts that need others get them here."""

    audit: Audit
    backups: Backups
    browsing: Browsing
    context: Contexts
    derived: Derived
    drafting: Drafting
    erasures: Erasures
    exchange: Exchange
    facts: Facts
    failsafe: Failsafe
    feedback: Feedback
    importance: Importance
    inspect: Inspect
    jobs: Jobs
    lifecycle: Lifecycle
    profiles: Profiles
    proposals: Proposals
    read: Read
    redaction: Redaction
    remember: Remember
    reviews: Reviews
    runs: Runs
    sessions: Sessions
    shared: Shared
    sharing: Sharing
    sleep: Sleep
    statements: Statements
    status: Status
    status_files: StatusFiles
    world: WorldModel

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._lock = threading.RLock()  # a part may ask for others while it is being created

    def __getattr__(self, name: str) -> Any:
        """Create a part, once for all threads; from then on it is an ordinary attribute."""
        if name not in ORIGINS:
            raise AttributeError(f"a handle has no part {name!r}")
        with self._lock:
            if name not in self.__dict__:
                self.__dict__[name] = _class_of(name)(self._scope)
            return self.__dict__[name]

    def made(self, name: str) -> bool:
        """Return whether a part was used: an unused one needs no closing."""
        return name in self.__dict__


def _class_of(name: str) -> Any:
    module, _, kind = ORIGINS[name].rpartition(".")
    try:
        return getattr(import_module(f"lamina.memory.{module}"), kind)
    except OSError as error:  # the disk failed, even for our own files
        raise StoreUnavailable(
            f"the program cannot be read: {error.strerror}; nothing was stored"
        ) from error
