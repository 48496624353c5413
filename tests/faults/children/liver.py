"""Lives with a store: remembers, corrects, forgets, takes back, decides, finds, tidies and sleeps
by chance, until killed.

It says what each write will come to before it begins, and that it is done afterwards, so that
whoever listens has a model.
"""

from __future__ import annotations

import faulthandler
import os
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import NamedTuple

import lamina

from .common import nursery, outcome, say

EPOCH = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
# How often each thing is done, beside the others.
WRITES = {"remember": 12, "many": 2, "talk": 1, "correct": 4, "forget": 3, "undo": 2, "decide": 1}
OTHERS = {"search": 5, "look": 3, "run_once": 1, "index": 1, "tick": 1, "sleep": 0.3, "export": 0.2}
# So many memories a process knows by itself, so that it is the store and not this test that is
# measured.
MOST = 200
# So many seconds no verb takes.
HANGS = 120
# So long a clock may jump, back as well as forward.
FARTHEST = timedelta(days=900)


class Mine(NamedTuple):
    """A memory of this process: its record, its version, and its text before the last change."""

    record: str
    version: int
    text: str | None
    before: str | None = None


class Jumping:
    """A clock that somebody sets, forward and back, all the time."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._now = EPOCH
        self.jumps = 0

    def __call__(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        if self._chance.random() < 0.05:
            self._now = EPOCH + FARTHEST * self._chance.uniform(-1, 1)
            self.jumps += 1
        return self._now


class Life:
    """One process, from opening to its end."""

    def __init__(
        self, operator: lamina.Operator, slot: str, name: str, chance: random.Random
    ) -> None:
        self.operator = operator
        self._slot = slot
        self._name = name
        self._chance = chance
        self._numbers = count()
        self._mine: dict[str, Mine] = {}

    def step(self) -> None:
        verbs = WRITES | OTHERS
        verb = self._chance.choices(list(verbs), list(verbs.values()))[0]
        getattr(self, f"_{verb}")()
        if len(self._mine) > MOST:
            del self._mine[next(iter(self._mine))]

    def _write(self, after: dict[str, str | None], verb: Callable[[], object]) -> bool:
        """Say what will be, do it, and say how it ended; whether it was done."""
        say(begin=after)
        how = outcome(verb)
        say(done=how)
        return how == "done"

    def _other(self, verb: Callable[[], object]) -> None:
        say(other=outcome(verb))

    def _new(self) -> str:
        return f"{self._name}n{next(self._numbers)}"

    # What changes memories

    def _remember(self) -> None:
        key = self._new()
        text = f"memory {key} v1"

        def remember() -> None:
            record = self.operator.remember(
                text, tags=[self._slot], importance=self._chance.choice([0.1, 0.3, 0.5]), key=key
            )
            self._mine[key] = Mine(record.id, 1, text)

        self._write({key: text}, remember)

    def _many(self) -> None:
        texts = {key: f"memory {key} v1" for key in (self._new() for _ in range(5))}
        items = [{"content": text, "key": key} for key, text in texts.items()]
        self._write(dict(texts), lambda: self.operator.remember_many(items))

    def _talk(self) -> None:
        texts = {key: f"memory {key} v1" for key in (self._new(), self._new())}
        turns = [{"speaker": "Ana", "text": text} for text in texts.values()]
        self._write(
            dict(texts),
            lambda: self.operator.remember_conversation(turns, session=self._new(), keep_raw=True),
        )

    def _chosen(self, *, alive: bool) -> str | None:
        found = [
            key
            for key, one in self._mine.items()
            if (one.text is not None) is alive or (not alive and one.before)
        ]
        return self._chance.choice(found) if found else None

    def _correct(self) -> None:
        if (key := self._chosen(alive=True)) is not None:
            mine = self._mine[key]
            text = f"memory {key} v{mine.version + 1}"

            def correct() -> None:
                record = self.operator.correct(mine.record, text, "more exactly")
                self._mine[key] = Mine(record.id, mine.version + 1, text)

            self._write({key: text}, correct)

    def _forget(self) -> None:
        if (key := self._chosen(alive=True)) is not None:
            mine = self._mine[key]
            if self._write({key: None}, lambda: self.operator.forget(mine.record)):
                self._mine[key] = mine._replace(text=None, before=mine.text)

    def _undo(self) -> None:
        forgotten = [key for key, one in self._mine.items() if one.text is None]
        if forgotten:
            key = self._chance.choice(forgotten)
            mine = self._mine[key]
            event = self.operator.history(mine.record)[-1].seq
            if self._write({key: mine.before}, lambda: self.operator.undo(event)):
                self._mine[key] = mine._replace(text=mine.before, before=None)

    def _decide(self) -> None:
        """One more value of the same key, proposed and confirmed; only what is
        decided is announced."""
        key, value = f"taste{self._slot}", self._new()
        made = self.operator.propose_profile(key, value, "said so", [])
        self._write({key: f"{key}: {value}"}, lambda: self.operator.confirm(made.id))

    # What does not

    def _search(self) -> None:
        word = self._chance.choice(list(self._mine) or ["memory"])
        self._other(lambda: self.operator.search(f"memory {word}", limit=5))

    def _look(self) -> None:
        self._other(lambda: self.operator.list(tags=[self._slot], limit=20))

    def _run_once(self) -> None:
        self._other(self.operator.run_once)

    def _index(self) -> None:
        self._other(self.operator.index)

    def _tick(self) -> None:
        self._other(lambda: self.operator.orchestrator().tick())

    def _sleep(self) -> None:
        self._other(self.operator.sleep)

    def _export(self) -> None:
        def export() -> None:
            with tempfile.TemporaryDirectory() as folder:
                self.operator.export(Path(folder, "export.json"))

        self._other(export)


class Liver:
    """What a nursery forks: somebody who lives until killed."""

    def live(
        self, home: str, slot: str, name: str, seed: int, jumps: bool = False, pause: float = 0
    ) -> None:
        chance = random.Random(f"{seed} {name}")
        clock = Jumping(chance) if jumps else None
        operator = lamina.operator("sky", home=home, clock=clock, settings={"failsafe": "off"})
        life = Life(operator, slot, name, chance)
        while True:
            faulthandler.dump_traceback_later(HANGS)  # whoever hangs says where
            life.step()
            if clock is not None:
                say(jumps=clock.jumps)
                clock.jumps = 0
            if pause:
                time.sleep(pause * chance.random())


def warm() -> None:
    """Do everything once, so that what is forked has its modules."""
    with tempfile.TemporaryDirectory() as folder, lamina.operator("sky", home=folder) as operator:
        life = Life(operator, "warm", "warm", random.Random(0))
        with Path(os.devnull).open("w") as nobody, redirect_stdout(nobody):
            for verb in WRITES | OTHERS:
                getattr(life, f"_{verb}")()


if __name__ == "__main__":
    nursery(Liver, warm)
