"""Several processes that live with one store and are killed by chance, and a model of what each was
told is done."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from . import tally
from .harness import AGENT, PATIENCE_SECONDS, Nursery

# How a verb may end where others work on the same store: done, or somebody was faster.
FINE = {"done", "refused", "conflict", "not_found"}
SHAPE = re.compile(r"memory (\S+) v\d+|(taste\S+): \S+")


class Held(NamedTuple):
    """A memory as the files have it."""

    record: str
    content: str
    is_active: bool


def held(home: Path) -> Iterator[Held]:
    """Every memory of these processes, looked at from outside: as a row, or as a line
    of the archive."""
    folder = home / "agents" / AGENT
    with closing(
        apsw.Connection(str(folder / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    ) as connection:
        rows = list(connection.execute("SELECT id, content, state FROM records"))
        files = [folder / str(file) for (file,) in connection.execute("SELECT file FROM archives")]
    for path in files:
        lines = map(json.loads, path.read_text("utf-8").splitlines())
        rows += [(line["id"], line["content"], line["state"]) for line in lines]
    for record, content, state in rows:
        yield Held(str(record), str(content), state == "active")


class Model:
    """What must be true of each key: the text that holds, or the two that may when a kill
    left it open."""

    def __init__(self) -> None:
        self.keys: dict[str, str | None] = {}
        self.open: list[dict[str, str | None]] = []
        self.acknowledged = 0
        self.surprises: list[str] = []
        self._begun: dict[str, str | None] | None = None

    def hear(self, said: dict[str, Any]) -> None:
        if "begin" in said:
            self._begun = said["begin"]
        elif "done" in said:
            assert self._begun is not None
            if said["done"] == "done":
                self.keys |= self._begun
                self.acknowledged += 1
            self._begun = None
        how = said.get("done", said.get("other", "done"))
        if how not in FINE:
            self.surprises.append(str(how))

    def killed(self) -> None:
        """Whatever was begun may be done or not, as a whole."""
        if self._begun is not None:
            self.open.append(self._begun)
            self._begun = None

    def check(self, found: dict[str, set[str]]) -> None:
        """Compare with the texts that are active for each key; what was open is known
        from now on."""
        for begun in self.open:
            before = {key: self.keys.get(key) for key in begun}
            seen = {key: next(iter(found.get(key, ())), None) for key in begun}
            assert seen in (before, begun), f"half of it is done: {before} to {begun}, but {seen}"
            self.keys |= seen
        self.open.clear()
        expected = {(key, text) for key, text in self.keys.items()}
        actual = [(key, text) for key in self.keys for text in found.get(key) or [None]]
        tally.check(expected, actual)
        assert expected == set(actual), sorted(expected ^ set(actual), key=str)[:5]


def active(home: Path) -> dict[str, set[str]]:
    """The texts that are active for each key. No record is in two places, and no text
    has two records."""
    every = list(held(home))
    for twice in (
        Counter(one.record for one in every),
        Counter(one.content for one in every if SHAPE.fullmatch(one.content)),
    ):
        more = [one for one, number in twice.items() if number > 1]
        tally.count("twice", len(more))
        assert not more, f"twice: {more[:5]}"
    found: dict[str, set[str]] = defaultdict(set)
    for one in every:
        shape = SHAPE.fullmatch(one.content)
        if shape is not None and one.is_active:
            found[shape[1] or shape[2]].add(one.content)
    return found


class Slot:
    """A place in which one process after another lives, and the model of all of them."""

    def __init__(self, nursery: Nursery, home: Path, name: str, seed: int, **manner: Any) -> None:
        self.model = Model()
        self.kills = 0
        self._nursery = nursery
        self._order = {"step": "live", "home": str(home), "slot": name, "seed": seed, **manner}
        self._name = name
        self._lives = 0

    def live(self, is_over: Callable[[int], bool], patience: float = PATIENCE_SECONDS) -> None:
        """Let a process live until it is over, by how many lines it has said; then it is killed."""
        self._lives += 1
        with self._nursery.fork(patience):
            self._nursery.tell(**self._order, name=f"{self._name}x{self._lives}")
            # It has heard what it is to do once it says something; killed before that, the nursery
            # would hear it instead.
            self._heard(self._nursery.hear())
            for number in count(1):
                if is_over(number):
                    break
                self._heard(self._nursery.hear())
            for said in self._nursery.slay():
                self._heard(said)
            self.kills += 1
        self.model.killed()

    def _heard(self, said: dict[str, Any]) -> None:
        assert "outcome" not in said, f"it should live until it is killed, but {said}"
        tally.count("clock jumps", said.get("jumps", 0))
        self.model.hear(said)
