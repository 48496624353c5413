"""Moves memories up, into the archive and back, so that a fault can be put around each step, or
many can do it at once."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import lamina

from .common import Operating, nursery, say

# Long after everything in the stores that are moved here, so that what is to expire has expired.
LATER = datetime(2027, 6, 1, 8, 0, tzinfo=UTC)
# Who finds that a record was moved meanwhile tries again; so often would be a record that nobody
# can have.
PATIENCE = 200


class Mover(Operating):
    """A process that holds a handle and does one step at a time. Its clock stands still."""

    def open(self, home: str) -> None:
        self._operator = lamina.operator("sky", home=home, clock=lambda: LATER)

    def run_once(self) -> None:
        self.operator.run_once()

    def compress(self) -> None:
        self.operator.compress_short_to_long()

    def prune(self, tag: str) -> None:
        self.operator.prune(tags=[tag])

    def restore(self, ids: list[str]) -> None:
        self.operator.restore_archived(*ids)

    def get(self, ids: list[str]) -> None:
        for record_id in ids:
            self.operator.get(record_id)

    def find(self) -> None:
        self.operator.search_archive("memory")

    def go_back(self, name: str) -> None:
        self.operator.restore(self.operator.home.agent_folder("sky") / "backups" / name)

    def export(self) -> None:
        self.operator.export()

    def backup(self) -> None:
        self.operator.backup()

    def verify(self) -> None:
        report = self.operator.audit_verify()["events"]
        assert report.ok, report.problems

    def close(self) -> None:
        self.operator.close()


def warm() -> None:
    """Do everything once, so that what is traced later is not Python finding its modules."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "retention_rules.yaml").write_text(
            "short_term_max_lines: 1\nexpire_after_days: 1\ndeduplicate: 0.9\n"
        )
        mover = Mover()
        mover.open(folder)
        ids = [
            mover.operator.remember(f"memory {n}", "fact", tags=["old"], importance=n / 4).id
            for n in range(4)
        ]
        mover.run_once()
        mover.compress()
        mover.prune("old")
        mover.find()
        mover.export()
        mover.go_back(mover.operator.backup().name)
        mover.verify()
        mover.restore(ids)
        mover.close()


def crowd(home: str, rounds: str, name: str) -> None:
    """One of many that remember, move and bring back at once."""
    chance = random.Random(name)
    with lamina.operator("sky", home=home) as operator:
        say(ready=name)
        sys.stdin.readline()
        for n in range(int(rounds)):
            text, tags = f"memory {n} of {name}", [name, f"{name}n{n}"]
            record = operator.remember(
                text, tags=tags, importance=chance.choice([0.1, 0.3, 0.9]), key=f"{name}n{n}"
            )
            say(made=record.id)
            operator.run_once()
            archived = [found.id for found in operator.search_archive("memory", limit=1000)]
            for wanted in chance.sample(archived, min(len(archived), 2)):
                say(restored=patiently(partial(bring_back, operator, wanted)))
            assert operator.get(record.id).content == text
            assert operator.remember(text, key=f"{name}n{n}").id == record.id
        say(problems=operator.status()["problems"])


def bring_back(operator: lamina.Operator, record_id: str) -> None:
    try:
        operator.restore_archived(record_id)
    except lamina.Refused:  # another was faster
        assert operator.get(record_id).archived is None


def patiently(verb: Callable[[], object]) -> int:
    """Do something that others may be about to do too; how often it had to be tried."""
    for times in range(1, PATIENCE):
        try:
            verb()
        except lamina.Conflict:
            continue
        return times
    raise TimeoutError(f"not done after {PATIENCE} times")


def watch(home: str, name: str) -> None:
    """Open and close the store and look at all of it, until told to stop; how often."""
    say(ready=name)
    told = json.loads(sys.stdin.readline())
    times = 0
    status = Path(home, "status", "sky_last_action.json")
    while not Path(told["until"]).exists():
        with lamina.operator("sky", home=home) as operator:
            for record in operator.search_archive("memory", limit=5):
                assert operator.get(record.id).id == record.id
            if times % 5 == 0:
                report = operator.audit_verify()["events"]
                assert report.ok, report.problems
        if status.exists():
            assert json.loads(status.read_bytes())["detail"]["ok"]
        times += 1
    say(opened=times)


def main(scene: str, *arguments: str) -> None:
    scenes: dict[str, Callable[..., None]] = {
        "nursery": partial(nursery, Mover, warm),
        "crowd": crowd,
        "watch": watch,
    }
    scenes[scene](*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
