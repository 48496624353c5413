"""An orchestrator in a process of its own, on a store that others use too. What it does is told
line by line.

`ticks` looks at the clock that it is told and runs what is due. `works` begins a job and does not
end it before it is told to. `runs` does the same in the loop of the program, until a signal comes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from lamina.home.schedule import KNOWN, Timetable
from lamina.memory.jobs import Orchestrator
from lamina.model.clock import moment, system_clock
from lamina.model.record import iso
from lamina.surfaces.cli import run as running
from tests.unit.store.scratch import scratch

from .common import say


class Conductor:
    """One orchestrator, its clock, and jobs that tell of themselves."""

    def __init__(self, home: Path, slow: bool, real: bool) -> None:
        self.now: datetime = system_clock()
        self.slow = slow
        work = {name: self.work(name) for name in KNOWN}
        clock = system_clock if real else lambda: self.now
        self.orchestrator = Orchestrator(
            scratch(home / "jobs.db"), work, Timetable(home), clock, lambda job, outcome: None
        )

    def work(self, name: str) -> Any:
        def run() -> Mapping[str, Any]:
            if self.slow:
                say(begun=name)
                sys.stdin.readline()
            return {}

        return run


def main(home: str, manner: str) -> None:
    conductor = Conductor(Path(home), slow=manner != "ticks", real=manner == "runs")
    say(ready=True)
    if manner == "runs":
        sys.exit(running.keep_running(conductor.orchestrator, as_json=True))
    for line in sys.stdin:
        conductor.now = moment(line.strip().strip('"'))
        done = conductor.orchestrator.tick()
        say(at=iso(conductor.now), ran=[ran.job for ran in done])


if __name__ == "__main__":
    main(*sys.argv[1:])
