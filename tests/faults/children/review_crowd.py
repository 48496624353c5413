"""One of many people and agents that review one store at once; it keeps a list of what
it was told."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import lamina

from .common import say

USERS = (None, "ana", "ben")
KEYS = ("drink", "Drink", "city", "colour")
SOURCES = ("radio", "diary", "letters")
# As many as there are makes a rejected value come back now and then, and leaves enough to propose.
VALUES = 400
WEIGHTS = {
    "propose": 30,
    "confirm": 20,
    "remember": 12,
    "reject": 8,
    "correct": 8,
    "rollback": 8,
    "undo": 18,  # of this and of the next, the small sample must have some
    "promote": 12,
    "forget": 4,
    "upsert": 3,
    "lift": 2,
    "compact": 2,
    "revoke": 1,
}
# People mostly look at what is on top, and so do others at the same time.
NEAR = 12
UNDONE = ("confirm", "rollback", "forget", "correct", "revoke")
Told = tuple[str, list[str]]


class Reviewer:
    """A process with an operator's handle of its own name, and the handles of an agent
    for each user."""

    def __init__(self, home: str, name: str, stack: ExitStack) -> None:
        settings = {"review.per_day": 1_000_000}
        self._name = name
        self._chance = random.Random(name)
        self._operator = stack.enter_context(
            lamina.operator("sky", home=home, actor=name, settings=settings)
        )
        self._agents = {
            user: stack.enter_context(lamina.open("sky", user, home=home, settings=settings))
            for user in USERS
        }
        self._number = 0

    def act(self) -> dict[str, Any]:
        """One verb by chance: what it was about, how it ended, and the records that
        it gave back."""
        (verb,) = self._chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
        try:
            about, made = getattr(self, verb)()
        except lamina.LaminaError as error:
            return {"verb": verb, "outcome": error.code, "message": error.message, "ids": []}
        except Exception as error:  # noqa: BLE001 - whatever escapes is exactly what the test wants to know
            return {"verb": verb, "outcome": repr(error), "message": "", "ids": []}
        return {"verb": verb, "about": about, "outcome": "done", "ids": made}

    def remember(self) -> Told:
        self._number += 1
        given: dict[str, Any] = {
            "kind": self._chance.choice(["fact", "crumb"]),
            "source": self._chance.choice(SOURCES),
        }
        given |= {
            "importance": self._chance.choice([0.2, 0.9]),
            "tags": self._chance.sample(KEYS, 1),
        }
        record = self._agents[self._chance.choice(USERS)].remember(
            f"memory {self._number} of {self._name}", **given
        )
        return "", [record.id]

    def propose(self) -> Told:
        user = self._chance.choice(USERS)
        said = self._agents[user].remember("so it is said", source=self._chance.choice(SOURCES))
        made = self._agents[user].propose_profile(
            self._chance.choice(KEYS), self._value(), "it was said", [said.id]
        )
        return made.id, [made.id]

    def upsert(self) -> Told:
        said = self._operator.remember("so it is", source=self._chance.choice(SOURCES))
        self._operator.upsert_user_profile({self._chance.choice(KEYS): self._value()}, [said.id])
        return "", []

    def compact(self) -> Told:
        self._operator.compact(create_proposals=True)
        return "", []

    def _value(self) -> str:
        return f"value {self._chance.randrange(VALUES)}"

    def confirm(self) -> Told:
        return self._decide(self._operator.confirm, "constrained")

    def reject(self) -> Told:
        return self._decide(self._operator.reject, "constrained", "not so")

    def rollback(self) -> Told:
        return self._decide(self._operator.rollback, "active")

    def forget(self) -> Told:
        return self._decide(self._operator.forget, "active")

    def correct(self) -> Told:
        return self._decide(self._operator.correct, "active", self._value(), "a slip")

    def lift(self) -> Told:
        return self._decide(self._operator.lift, "tombstoned", "it may be so")

    def _decide(self, verb: Callable[..., lamina.Record], state: str, *given: str) -> Told:
        """Decide about something that was in a state when somebody looked, which may be
        over by now."""
        known = self._operator.list(layers=["profile", "semantic"], states=[state], limit=NEAR)
        record_id = self._chance.choice(known).id if known else "0" * 26
        return record_id, [verb(record_id, *given).id]

    def undo(self) -> Told:
        latest = self._operator.audit_log(3 * NEAR)
        decided = [event for event in latest if event.action in UNDONE]
        event = self._chance.choice(self._chance.choice([latest, decided, decided]) or latest).seq
        return str(event), [record.id for record in self._operator.undo(event)]

    def revoke(self) -> Told:
        source = self._chance.choice(SOURCES)
        return source, [record.id for record in self._operator.revoke(source, "it lies")]

    def promote(self) -> Told:
        self._operator.run_once()
        return "", []


def main(home: str, number: str, name: str) -> None:
    with ExitStack() as stack:
        reviewer = Reviewer(home, name, stack)
        reviewer.remember()  # so that there is something to look at
        say(ready=name)
        sys.stdin.readline()
        with Path(home, f"{name}.jsonl").open("w") as told:
            for _ in range(int(number)):
                told.write(json.dumps(reviewer.act()) + "\n")
                told.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
