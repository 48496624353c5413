"""What a power cut may leave of the files of a home."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tests.faults.disk import Call, Disk
from tests.faults.harness import SEED, size

# How many of the states that a cut can leave are looked at, for each manner of cutting.
CUTS = {
    "strict": size(quick=1, full=1000),
    "names": size(quick=0, full=6),
    "mixed": size(quick=1, full=15),
}
Left = dict[Path, bytes | None]


def states(disk: Disk, calls: list[Call], name: str) -> Iterator[tuple[Left, bool]]:
    """What cuts at these calls leave, and whether the verb was acknowledged by then: some of each
    manner, all different."""
    chance = random.Random(f"{SEED} {name}")
    found: dict[str, list[Left]] = {manner: [] for manner in CUTS}
    said = [
        place
        for place, call in enumerate(calls)
        if call.name == "write" and b'"outcome"' in call.strings[0]
    ]
    # Up to the answer: what a thread syncs after it comes too late. The last line may not have come
    # into the log.
    for call in calls[: said[1] if len(said) > 1 else None]:
        if disk.follow(call):
            for manner, so_far in found.items():
                if (left := disk.left(manner, chance)) not in so_far[-1:]:
                    so_far.append(left)
    for manner, most in CUTS.items():
        yield from (
            (left, False)
            for left in chance.sample(found[manner], min(len(found[manner]), max(0, most - 1)))
        )
        yield from [(disk.left(manner, chance), True)] * min(1, most)
