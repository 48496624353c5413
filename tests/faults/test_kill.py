"""kill -9 at random moments: what was acknowledged is there, what was not is there as a whole or
not at all."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina

from . import tally
from .children.writer import BATCH, NOTES
from .harness import AGENT, SEED, Nursery, check_found_by_word, check_sound, contents, size

# A store grows over some kills and is then left, so that the checks stay quick and young stores are
# hit too.
ROUNDS_PER_STORE = 25
MOST_STEPS = 25


class Killed:
    """What a writer had begun and had acknowledged when it was killed."""

    def __init__(
        self,
        nursery: Nursery,
        home: Path,
        shape: str,
        name: str,
        chance: random.Random,
        step_seconds: float,
    ) -> None:
        steps, delay = chance.randint(1, MOST_STEPS), chance.uniform(0, 2 * step_seconds)
        with nursery.fork():
            nursery.tell(step="write", home=str(home), shape=shape, name=name)
            said: list[dict[str, str]] = []
            while sum("begin" in line for line in said) < steps:
                said.append(nursery.hear())
            # The moment of the kill is the fault itself: somewhere within this step or the next.
            time.sleep(delay)
            said += nursery.slay()
        self.begun = [line["begin"] for line in said if "begin" in line]
        self.acknowledged = [line["done"] for line in said if "done" in line]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("writer") as made:
        yield made


def homes(folder: Path, rounds: int) -> list[Path]:
    return [folder / f"home{number // ROUNDS_PER_STORE}" for number in range(rounds)]


def test_an_acknowledged_memory_survives_kill_9(tmp_path: Path, nursery: Nursery) -> None:
    """L1, B1, P4: killed at any moment, the store opens again with every acknowledged memory, whole
    and verified.

    A retry of every key, the unacknowledged one included, leaves exactly one record per key.
    """
    chance = random.Random(SEED)
    for number, home in enumerate(homes(tmp_path, size(quick=6, full=600))):
        killed = Killed(nursery, home, "one", f"r{number}", chance, step_seconds=0.0015)
        with lamina.operator(AGENT, home=home) as operator:
            check_sound(operator)
            there = contents(operator)
            tally.check([f"memory {word}" for word in killed.acknowledged], there)
            present = [word for word in killed.begun if f"memory {word}" in there]
            check_found_by_word(operator, present)
            assert len(present) - len(killed.acknowledged) in (0, 1)
            for word in killed.begun:
                operator.remember(f"memory {word}", tags=["kept", word], key=word)
            stored = Counter(contents(operator, tags=killed.begun))
            assert stored == Counter(f"memory {word}" for word in killed.begun)
            check_sound(operator)


def test_a_batch_is_stored_whole_or_not_at_all(tmp_path: Path, nursery: Nursery) -> None:
    """L1, B1, P4: a kill during `remember_many` leaves all of the batch or none of it; a retry
    completes it once."""
    chance = random.Random(SEED + 1)
    for number, home in enumerate(homes(tmp_path, size(quick=3, full=150))):
        killed = Killed(nursery, home, "many", f"b{number}", chance, step_seconds=0.006)
        with lamina.operator(AGENT, home=home) as operator:
            check_sound(operator)
            for word in killed.begun:
                parts = contents(operator, tags=[word])
                tally.check([word] * (word in killed.acknowledged), [word] * (len(parts) == BATCH))
                assert len(parts) == BATCH or (not parts and word not in killed.acknowledged)
            last = killed.begun[-1]
            operator.remember_many(
                {"content": f"part {n} of {last}", "tags": [last], "key": f"{last}p{n}"}
                for n in range(BATCH)
            )
            assert (
                len(set(contents(operator, tags=[last])))
                == len(contents(operator, tags=[last]))
                == BATCH
            )
            check_sound(operator)


def test_a_run_is_closed_whole_or_still_open(tmp_path: Path, nursery: Nursery) -> None:
    """L10, B1, P4: a kill during `run.close` leaves the run open with all its notes, or closed with
    its summary.

    A run that was left open can be closed later by another process.
    """
    chance = random.Random(SEED + 2)
    for number, home in enumerate(homes(tmp_path, size(quick=3, full=150))):
        killed = Killed(nursery, home, "run", f"t{number}", chance, step_seconds=0.0008)
        with lamina.operator(AGENT, home=home) as operator:
            check_sound(operator)
            tally.check(
                [f"summary {word}" for word in killed.acknowledged],
                contents(operator, layers=["episodic"]),
            )
            left_open = {run.task.removeprefix("task "): run for run in operator.runs()}
            assert not left_open.keys() & set(killed.acknowledged)
            assert all(
                run.note_count == NOTES for word, run in left_open.items() if word in killed.begun
            )
            for run in left_open.values():
                run.close(summary=run.task.replace("task", "summary"))
            check_sound(operator)
            for word in killed.begun:
                check_closed_once(operator, word)


def check_closed_once(operator: lamina.Operator, word: str) -> None:
    """The notes are set aside, all of them, and there is one summary that names them
    as its evidence."""
    notes = operator.list(layers=["working"], states=None, tags=[word])
    assert [note.state for note in notes] == [lamina.State.TOMBSTONED] * NOTES
    summaries = [
        record
        for record in operator.list(layers=["episodic"], limit=10_000)
        if record.content == f"summary {word}"
    ]
    assert len(summaries) == 1
    assert {note.id for note in notes} <= set(summaries[0].evidence)
