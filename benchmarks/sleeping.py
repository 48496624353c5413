"""Time a night: ten thousand turns become facts, in a separate process, with its memory.

`make bench-sleep` prints it. The turns consist of sentences as people write them, most of which
claim nothing.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console

import lamina
from benchmarks.speed import folder

TURNS = 10_000
SESSION = 25
SEED = 11
PEOPLE = ("Ana", "Ben", "Carla", "Dev", "Elif", "Finn")
CITIES = "Porto Lisbon Rome Oslo Kyoto Lima Accra Quito Turin Leeds".split()
THINGS = "hiking jazz chess tea pottery sailing old maps baking running photography".split()
JOBS = ("nurse", "teacher", "carpenter", "designer", "chef", "driver")
CLAIMS = (
    "I live in {city}.",
    "I moved to {city} last month.",
    "I work as a {job}.",
    "I love {thing}.",
    "I went to {city} with my sister yesterday.",
    "My brother {name} lives in {city}.",
    "I don't like {thing} any more.",
    "I'm planning to visit {city} in June.",
)
TALK = (
    "How was your weekend? It has been ages since we talked about this.",
    "That sounds wonderful, I am so happy for you and for everybody who came along.",
    "Thanks, that means a lot! What do you think we should do about the garden?",
    "It really depends on the weather, and on whether the others have time.",
    "Haha, yes. Take care of yourself and tell me how it goes, will you?",
    "If it rains we could stay inside and watch something, or cook together.",
)


def turns(chance: random.Random) -> list[str]:
    """Make up what one person says in one session."""
    said = []
    for _ in range(SESSION):
        parts = [chance.choice(TALK)]
        if chance.random() < 0.4:
            given = {
                "city": chance.choice(CITIES),
                "thing": chance.choice(THINGS),
                "job": chance.choice(JOBS),
            }
            parts.append(chance.choice(CLAIMS).format(name=chance.choice(PEOPLE), **given))
        said.append(" ".join(parts))
    return said


def fill(home: Path) -> None:
    chance, at = random.Random(SEED), datetime(2024, 1, 1, tzinfo=UTC)
    with lamina.operator("bench", home=home) as op:
        for number in range(TURNS // SESSION):
            at += timedelta(hours=20)
            pair = chance.sample(PEOPLE, 2)
            said = [
                {"speaker": pair[place % 2], "text": text, "at": at}
                for place, text in enumerate(turns(chance))
            ]
            op.remember_conversation(said, session=f"s{number}")


def night(home: Path) -> dict[str, Any]:
    """Run one night in this process; return its time, its memory, and its results."""
    with lamina.operator("bench", home=home) as op:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        done = op.sleep()
        took = time.perf_counter() - start
        start = time.perf_counter()
        op.sleep()
        again = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": took,
        "again": again,
        "before_mb": before / 1024,
        "peak_mb": peak / 1024,
        "done": done,
    }


def measured() -> dict[str, Any]:
    """Measure a night over ten thousand turns, in a separate process."""
    with folder() as home:
        fill(home)
        program = (
            "import json, sys; from pathlib import Path; from benchmarks.sleeping import night"
        )
        command = [
            sys.executable,
            "-c",
            f"{program}; print(json.dumps(night(Path(sys.argv[1]))))",
            str(home),
        ]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    told: dict[str, Any] = json.loads(out)
    return told


def main() -> None:
    told, console = measured(), Console()
    console.print(
        f"{TURNS:,} turns: {told['seconds']:.1f} s, peak {told['peak_mb']:.0f} MB"
        " (goal < 60 s, < 300 MB)"
    )
    console.print(f"{TURNS / told['seconds']:,.0f} turns/s; a second night {told['again']:.2f} s")
    console.print(told["done"])


if __name__ == "__main__":
    main()
