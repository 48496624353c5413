"""Processes that do everything at once and are killed by chance, checked against a model of what
each was told is done."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import lamina

from .harness import AGENT, SEED, Nursery, check_sound, size
from .mix import Slot, active

SLOTS = size(quick=2, full=4)
# A store grows over some kills and is then left, so that the checks stay quick and young stores are
# hit too.
STORES, KILLS_PER_STORE = size(quick=1, full=8), size(quick=4, full=40)
LONGEST = 60
RULES = "short_term_max_lines: 40\n"


@pytest.fixture(scope="module")
def nurseries() -> Iterator[list[Nursery]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Nursery("liver")) for _ in range(SLOTS)]


def lived(slots: list[Slot], lives: int, seed: str) -> None:
    """All slots at once, each with some processes that are killed one after another."""
    escaped: list[BaseException] = []

    def live(slot: Slot, chance: random.Random) -> None:
        try:
            for _ in range(lives):
                slot.live(chance.randint(1, LONGEST).__le__)
        except BaseException as error:  # noqa: BLE001 - a thread's failure must reach the test
            escaped.append(error)

    threads = [
        threading.Thread(target=live, args=(slot, random.Random(f"{seed} {n}")))
        for n, slot in enumerate(slots)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in escaped:
        raise error


@pytest.mark.parametrize("jumps", [False, True], ids=["steady", "clocks jump"])
def test_any_mix_is_what_the_model_says(
    tmp_path: Path, nurseries: list[Nursery], jumps: bool
) -> None:
    """L1, L2, L3, V4, V5, V8, B1, P4: processes that remember, correct, forget, take back, decide,
    search, tidy, index, sleep and export at once, killed at random moments, some with clocks that
    jump by years: everything acknowledged is there once, no write is done by halves, nobody is told
    anything but that somebody was faster, and the trail verifies."""
    for number in range(STORES):
        home = tmp_path / f"home{number}"
        home.mkdir()
        (home / "retention_rules.yaml").write_text(RULES)
        slots = [
            Slot(one, home, f"s{n}", SEED + number, jumps=jumps) for n, one in enumerate(nurseries)
        ]
        lived(slots, KILLS_PER_STORE // SLOTS, f"{SEED} {number} {jumps}")
        with lamina.operator(AGENT, home=home) as operator:
            check_sound(operator)
            found = active(home)
            for slot in slots:
                slot.model.check(found)
                assert slot.model.surprises == []
        assert sum(slot.model.acknowledged for slot in slots) > 0
