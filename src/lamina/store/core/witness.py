"""Remember the last commit that a server has acknowledged, to notice if it is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina.store.engine.sql import Cursor, Database

if TYPE_CHECKING:
    from lamina.store.tables.events import Head


class Witness:
    """The last event that a server has told this process is durable.

    After a failover the new server must have it: a standby that lagged behind has lost commits.
    """

    def __init__(self, database: Database) -> None:
        self.problems: list[str] = []
        self._database = database
        self._head: Head | None = None
        self._generation = database.generation

    def note(self, head: Head) -> None:
        """Remember the event of a commit that was acknowledged."""
        self._head = head

    def forget(self) -> None:
        """Start again, because the history was replaced on purpose."""
        self._head = None

    def check(self, cursor: Cursor, now: Head) -> None:
        """Check, after a reconnection, that the trail still contains that event."""
        generation = self._database.generation
        if self._head is None or generation == self._generation:
            return
        self._generation = generation
        query = "SELECT hash FROM events WHERE seq = ?"
        if cursor.execute(query, (self._head.seq,)).get != self._head.hash:
            kept = f"event {self._head.seq} with hash {self._head.hash.hex()[:16]}"
            self.problems.append(
                f"{self._database.address}: {kept} was acknowledged and is not in the trail, which"
                f" ends with event {now.seq}: a backup was restored, or a failover has lost it"
            )
            self._head = None
