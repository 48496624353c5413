"""`python -m tests.faults.soak`: processes live with one store and are killed by chance; memory,
descriptors and WAL stay flat.

One process is never killed, and is measured. All others are killed with -9 after some seconds and
begun again. What each was told is done is kept in a model, and compared with the files at the end.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

import lamina
from lamina.memory import doctor

from .harness import AGENT, PATIENCE_SECONDS, SEED, Nursery, check_sound
from .mix import Slot, active

MIB = 1 << 20
RULES = "short_term_max_lines: 1000\n"
SECONDS_BETWEEN_SAMPLES = 3
# A killed process has lived for so many seconds at most, and pauses so long between two verbs at
# most.
LONGEST_LIFE, PAUSE = 8.0, 0.1
# The first part of the time is for warming up, and is not judged.
WARM_UP = 0.25
# What may be called flat: the line through all samples after the warm-up rises by no more than this
# until the end. A process
# that searches holds a catalogue of all records, so its memory may also rise by so many bytes for
# each acknowledged write.
MOST_GROWTH = {"memory": 16 * MIB, "descriptors": 4}
BYTES_PER_WRITE = 2048
MOST_WAL = 64 * MIB
# What a killed process leaves behind and nobody misses: work files, and the file of a conversation
# that was not stored.
LEFT_BEHIND = ("leftovers", "episodes")
BARS = "▁▂▃▄▅▆▇█"


class Sample(NamedTuple):
    """The long-lived process and the files, at one moment."""

    seconds: float
    memory: int
    descriptors: int
    wal: int
    disk: int
    acknowledged: int


class Verdict(NamedTuple):
    """One thing that must hold at the end."""

    what: str
    holds: bool
    detail: str


def sampled(pid: int, home: Path, seconds: float, acknowledged: int) -> Sample:
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    descriptors = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    wal = size_of(home / "agents" / AGENT / "memory.db-wal")
    memory, disk = int(status["VmRSS"].split()[0]) * 1024, sum(map(size_of, home.rglob("*")))
    return Sample(seconds, memory, descriptors, wal, disk, acknowledged)


def size_of(path: Path) -> int:
    """The bytes of a file; none when somebody has just removed it."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0


def judged_of(samples: Sequence[Sample]) -> list[Sample]:
    return [one for one in samples if one.seconds >= WARM_UP * samples[-1].seconds]


def growth(judged: Sequence[Sample], value: Callable[[Sample], float]) -> float:
    """By how much the straight line through the samples rises from the first to the last."""
    times, values = [one.seconds for one in judged], [value(one) for one in judged]
    return (
        statistics.linear_regression(times, values).slope * (times[-1] - times[0])
        if len(judged) > 1
        else 0.0
    )


def sparkline(values: Sequence[float], width: int = 30) -> str:
    step = max(1, -(-len(values) // width))
    shown = [max(values[start : start + step]) for start in range(0, len(values), step)]
    highest = max(shown, default=0) or 1
    return "".join(BARS[round(value / highest * (len(BARS) - 1))] for value in shown)


class Soak:
    """The processes, the model, and the measurements."""

    def __init__(self, home: Path, seed: int, slots: int, stack: ExitStack) -> None:
        self.home = home
        self.samples: list[Sample] = []
        self.escaped: list[str] = []
        self._over = threading.Event()
        self._seed = seed
        made = [stack.enter_context(Nursery("liver")) for _ in range(slots + 1)]
        self._keeper_nursery, *_ = made
        self.keeper, *self.slots = [
            Slot(one, home, f"s{n}", seed, pause=PAUSE) for n, one in enumerate(made)
        ]

    def run(self, seconds: float, show: Callable[[str], None]) -> None:
        """Everything at once, until the time is over."""
        threads = [threading.Thread(target=self._guarded, args=(self._keep, seconds))]
        for number, slot in enumerate(self.slots):
            threads.append(
                threading.Thread(target=self._guarded, args=(self._kill_again, slot, number))
            )
        for thread in threads:
            thread.start()
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds and not self.escaped:
            self._over.wait(SECONDS_BETWEEN_SAMPLES)
            if self._keeper_nursery.pid:
                self.samples.append(
                    sampled(self._keeper_nursery.pid, self.home, passed, self.acknowledged)
                )
                show(self.line())
        self._over.set()
        for thread in threads:
            thread.join()

    def _guarded(self, work: Callable[..., None], *arguments: object) -> None:
        try:
            work(*arguments)
        except BaseException as error:  # noqa: BLE001 - a thread's failure is the verdict
            self.escaped.append(repr(error))

    def _keep(self, seconds: float) -> None:
        """The process that is only killed at the very end."""
        self.keeper.live(lambda _: self._over.is_set(), seconds + PATIENCE_SECONDS)

    def _kill_again(self, slot: Slot, number: int) -> None:
        chance = random.Random(f"{self._seed} {number}")
        while not self._over.is_set():
            slot.live(self._until(time.monotonic() + chance.uniform(0, LONGEST_LIFE)))

    def _until(self, end: float) -> Callable[[int], bool]:
        return lambda _: time.monotonic() > end or self._over.is_set()

    @property
    def kills(self) -> int:
        return sum(slot.kills for slot in (self.keeper, *self.slots))

    @property
    def acknowledged(self) -> int:
        return sum(slot.model.acknowledged for slot in (self.keeper, *self.slots))

    def line(self) -> str:
        last = self.samples[-1]
        minutes, seconds = divmod(int(last.seconds), 60)
        return (
            f"{minutes:3}:{seconds:02}  kills {self.kills:,}  acknowledged {self.acknowledged:,}  "
            f"memory {last.memory / MIB:.1f} MiB {sparkline([one.memory for one in self.samples])}  "
            f"descriptors {last.descriptors}  WAL {last.wal / MIB:.1f} MiB {sparkline([one.wal for one in self.samples])}  "
            f"disk {last.disk / MIB:.0f} MiB"
        )

    def verdicts(self) -> list[Verdict]:
        models = [slot.model for slot in (self.keeper, *self.slots)]
        surprises = [*self.escaped, *(one for model in models for one in model.surprises)]
        return [
            Verdict(
                "nobody was surprised",
                not surprises,
                "; ".join(surprises[:3]) or "no error but that somebody was faster",
            ),
            self._nothing_lost(),
            self._sound(),
            self._healthy(),
            self._flat("memory", lambda one: one.memory, MIB, " MiB", BYTES_PER_WRITE),
            self._flat("descriptors", lambda one: one.descriptors, 1, ""),
            Verdict(
                "WAL is bounded",
                self._wal <= MOST_WAL,
                f"{self._wal / MIB:.1f} of at most {MOST_WAL // MIB} MiB",
            ),
        ]

    @property
    def _wal(self) -> int:
        return max(one.wal for one in self.samples)

    def _nothing_lost(self) -> Verdict:
        what, number = "nothing lost, nothing twice", 0
        try:
            found = active(self.home)
            for slot in (self.keeper, *self.slots):
                slot.model.check(found)
                number += len(slot.model.keys)
        except AssertionError as error:
            return Verdict(what, False, str(error))
        return Verdict(
            what,
            True,
            f"{number:,} memories of {self.acknowledged:,} acknowledged writes, {self.kills:,} kills",
        )

    def _sound(self) -> Verdict:
        with lamina.operator(AGENT, home=self.home) as operator:
            try:
                check_sound(operator)
            except AssertionError as error:
                return Verdict("both chains verify", False, str(error))
            return Verdict("both chains verify", True, f"{operator.audit_log(1)[0].seq:,} events")

    def _healthy(self) -> Verdict:
        with lamina.operator(AGENT, home=self.home) as operator:
            found = [
                one
                for one in doctor.examine(operator.home, AGENT)
                if one.level != "ok" and one.check not in LEFT_BEHIND
            ]
        return Verdict(
            "doctor finds nothing but work files of the killed",
            not found,
            "; ".join(f"{one.check}: {one.message}" for one in found) or "all is well",
        )

    def _flat(
        self,
        name: str,
        value: Callable[[Sample], float],
        unit: int,
        word: str,
        for_each_write: int = 0,
    ) -> Verdict:
        judged = judged_of(self.samples)
        writes = judged[-1].acknowledged - judged[0].acknowledged
        rise, most = growth(judged, value), MOST_GROWTH[name] + for_each_write * writes
        told = f"{value(judged[-1]) / unit:.1f}{word}, {rise / unit:+.1f} after the warm-up"
        told += f" with {writes:,} writes" * bool(for_each_write)
        return Verdict(
            f"{name} flat", rise <= most, f"{told}; {most / unit:+.1f} would still be flat"
        )


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.faults.soak", description=__doc__)
    options.add_argument("--minutes", type=float, default=20)
    options.add_argument("--seed", type=int, default=SEED)
    options.add_argument(
        "--slots", type=int, default=3, help="how many processes are killed again and again"
    )
    options.add_argument("--json", type=Path, help="where to write the samples and the verdict")
    given = options.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="lamina-soak-") as folder, ExitStack() as stack:
        home = Path(folder, "home")
        home.mkdir(mode=0o700)
        (home / "retention_rules.yaml").write_text(RULES)
        soak = Soak(home, given.seed, given.slots, stack)
        run(soak, given.minutes * 60, console)
        verdicts = soak.verdicts()
    if given.json is not None:
        told = {
            "samples": [one._asdict() for one in soak.samples],
            "verdicts": [one._asdict() for one in verdicts],
        }
        given.json.write_text(json.dumps(told, indent=1))
    show(verdicts, console)
    return 0 if all(one.holds for one in verdicts) else 1


def run(soak: Soak, seconds: float, console: Console) -> None:
    """A line that changes on a terminal; elsewhere a line each minute."""
    if console.is_terminal:
        with Live(console=console, refresh_per_second=1) as live:
            soak.run(seconds, lambda line: live.update(Text(line)))
    else:
        minutes: set[int] = set()
        soak.run(seconds, lambda line: each_minute(line, soak, minutes))


def each_minute(line: str, soak: Soak, minutes: set[int]) -> None:
    minute = int(soak.samples[-1].seconds // 60)
    if minute not in minutes:
        minutes.add(minute)
        print(line, flush=True)


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    table = Table("", "what must hold", "what was found")
    for one in verdicts:
        table.add_row("ok" if one.holds else "FAILED", one.what, one.detail)
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
