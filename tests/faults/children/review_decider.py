"""Decides one thing at a time when told, so that a fault can be put around a single decision."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from functools import partial
from typing import Any

import lamina

from .common import Operating, nursery, outcome

LATER = datetime(2027, 6, 1, 8, 0, tzinfo=UTC)
# The write-ahead log is folded back with every decision, so that each is traced down to the
# database itself.
SETTINGS = {"store.checkpoint_pages": 1}


class Decider(Operating):
    """A process that holds an operator's handle. Its clock stands still, so that what it makes is
    always the same."""

    def open(self, home: str) -> None:
        self._operator = lamina.operator(
            "sky", home=home, clock=lambda: LATER, actor="ana", settings=SETTINGS
        )

    def decide(self, verb: str, given: list[Any]) -> None:
        getattr(self.operator, verb)(*given)

    def close(self) -> None:
        self.operator.close()


def warm() -> None:
    """Decide everything once, so that what is traced later is not Python finding its modules."""
    with tempfile.TemporaryDirectory() as folder:
        decider = Decider()
        decider.open(folder)
        operator = decider.operator
        first, second, third = (
            operator.propose_profile("drink", value, "so", []).id
            for value in ("tea", "cola", "milk")
        )
        operator.confirm(first)
        operator.reject(third, "no")
        operator.lift(third, "yes")
        operator.correct(first, "green tea", "a slip")
        operator.remember("what the radio says", source="radio")
        operator.revoke("radio", "it lies")
        operator.undo(operator.audit_log(1)[0].seq)
        outcome(partial(operator.confirm, second))
        operator.prune(layers=["short_term"])
        operator.export()
        operator.backup()
        operator.erase(first)
        operator.resume_erasures()
        decider.close()


if __name__ == "__main__":
    nursery(Decider, warm)
