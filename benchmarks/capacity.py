"""Estimate what a service needs: processors, memory, disk, machines, standbys.

    python -m benchmarks.capacity --users 100000 --memories-a-day 5 --questions-a-second 50

The constants are lines through what `benchmarks.scale` has measured (`benchmarks/growth.json`). It
reckons with the worst case: nobody asks twice in a row, so that each question opens a handle and
reads its scope, and all writes and questions fall into the busy hours (`--peak`).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import growth
from benchmarks.growth import Curves
from lamina.store.index.scoped import MOST as WHOLE_SCOPE

DAY = 86_400
BUSY = 0.6  # share of a processor that is used, so that questions need not queue
PROGRAM, CACHE = 70.0, 256.0  # megabytes of a process with its embedder; `cache.megabytes`
SCOPES = {10: 100_000, 200: 5000}  # memories of a user, and the number of users measured with that


class Line(NamedTuple):
    """A cost that has a part for itself, and one for each thing."""

    base: float
    each: float

    def at(self, number: float) -> float:
        return self.base + self.each * number


def fitted(points: Mapping[int, float]) -> Line:
    """Lay a line through points, each of which counts in proportion to itself."""
    across = np.array([*points], float)
    values = np.array([*points.values()])
    scaled = np.stack([1 / values, across / values], 1)
    (base, each), *_ = np.linalg.lstsq(scaled, np.ones(len(values)))
    if base < 0:
        return Line(0.0, float(scaled[:, 1].sum() / (scaled[:, 1] ** 2).sum()))
    if each < 0:
        return Line(float(scaled[:, 0].sum() / (scaled[:, 0] ** 2).sum()), 0.0)
    return Line(float(base), float(each))


def figure(points: Mapping[int, Mapping[str, float]], name: str) -> dict[int, float]:
    return {number: point[name] for number, point in points.items() if name in point}


class Service(NamedTuple):
    """What is asked for."""

    users: int
    memories_a_day: float  # of each user
    questions_a_second: float  # of all users, on average
    days: int = 365  # that memories are kept
    standbys: int = 0
    peak: float = 3.0  # how much more comes in the busiest hour
    cores: int = 8  # of a machine


class Plan(NamedTuple):
    """What it needs."""

    store: str
    memories: int
    disk: float  # gigabytes of each copy
    processors: float  # in the busiest hour, of the processes that search
    server_processors: float  # of the database server, if there is one
    memory: float  # gigabytes of all processes on all machines
    machines: int
    standbys: int


class Model:
    """Lines through what was measured."""

    def __init__(self, curves: Curves) -> None:
        memories = curves["memories"]
        self.first, self.warm, self.megabytes, self.disk = (
            fitted(figure(memories, name))
            for name in ("first", "warm", "megabytes", "megabytes on disk")
        )
        largest = memories[max(memories)]
        self.write = 1 / largest["written a second"] + 1 / largest["indexed a second"]
        scopes = {each: curves["users"][users] for each, users in SCOPES.items()}
        self.scope_first = fitted(
            {each: point["open"] + point["first"] for each, point in scopes.items()}
        )
        server = curves["postgres"]
        self.server = server[max(server)]
        self.server_size = max(server)

    def question(self, users: int, each: float) -> float:
        """Milliseconds of a question over a file: of a user's scope, or of all that is there."""
        if users > 1 and each <= WHOLE_SCOPE:
            return self.scope_first.at(each)
        return self.warm.at(users * each)

    def process(self, users: int, each: float) -> float:
        """Megabytes of a process that searches."""
        if users > 1 and each <= WHOLE_SCOPE:
            return PROGRAM + CACHE
        return self.megabytes.at(users * each)

    def plan(self, service: Service) -> Plan:
        """Choose a file while one machine is enough, and a server beyond that."""
        each = service.memories_a_day * service.days
        number = round(service.users * each)
        writes = service.peak * service.users * service.memories_a_day / DAY
        questions = service.peak * service.questions_a_second
        work = (questions * self.question(service.users, each) / 1e3 + writes * self.write) / BUSY
        processes = max(1, math.ceil(work))
        memory = processes * self.process(service.users, each) / 1024
        disk = self.disk.at(number) / 1024
        if work <= service.cores and not service.standbys:
            return Plan("file", number, disk, work, 0.0, memory, 1, 0)
        return self._served(service, number, writes, questions)

    def _served(self, service: Service, number: int, writes: float, questions: float) -> Plan:
        point = self.server
        ours = (questions * point["scope"] + 1e3 * writes / point["written a second"]) / 1e3 / BUSY
        theirs = (questions * point["scope, server"] + writes * point["write, server"]) / 1e3 / BUSY
        processes = max(1, math.ceil(ours))
        disk = number * point["megabytes on disk"] / self.server_size / 1024
        memory = processes * point["megabytes"] / 1024
        servers = 1 + service.standbys
        machines = math.ceil(ours / service.cores) + servers * math.ceil(theirs / service.cores)
        return Plan("PostgreSQL", number, disk, ours, theirs, memory, machines, service.standbys)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind in Service.__annotations__.items():
        option = "--" + name.replace("_", "-")
        default = Service._field_defaults.get(name)
        number = int if "int" in str(kind) else float
        parser.add_argument(option, type=number, default=default, required=default is None)
    service = Service(**vars(parser.parse_args()))
    plan = Model(growth.read()).plan(service)
    table = Table("", "", title="Capacity", show_header=False)
    table.add_row("store", plan.store)
    table.add_row("memories", f"{plan.memories:,}")
    table.add_row("disk, each copy", f"{plan.disk:,.1f} GB")
    table.add_row("processors that search", f"{plan.processors:.1f}")
    table.add_row("processors of the server", f"{plan.server_processors:.1f}")
    table.add_row("memory of the processes", f"{plan.memory:.1f} GB")
    table.add_row("machines", f"{plan.machines}, {plan.standbys} of them standbys")
    Console().print(table)


if __name__ == "__main__":
    main()
