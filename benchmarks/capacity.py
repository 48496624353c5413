"""Estimate what a service needs: processors, memory, disk, machines.

    python -m benchmarks.capacity --users 100000 --memories-a-day 5 --questions-a-second 50

The constants are lines through what `benchmarks.scale` has measured (`benchmarks/growth.json`). It
reckons with the worst case: nobody asks twice in a row, so that each question opens a handle and
reads what its user may see.
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
from lamina.store.index.sample import WHOLE
from lamina.store.index.scope import MOST

DAY = 86_400
BUSY = 0.6  # share of a processor that may be in use, so that questions do not have to queue
PROGRAM, CACHE = 70.0, 256.0  # megabytes of a process with its embedder, and `cache.megabytes`
# Memories per user, and with how many users they were measured; memories of a server's scope.
SCOPES, IN_SCOPE = {10: 100_000, 200: 5000}, 20


class Line(NamedTuple):
    """A cost with a fixed part and a part for each thing."""

    base: float
    each: float

    def at(self, number: float) -> float:
        return self.base + self.each * number


def fitted(points: Mapping[int, float]) -> Line:
    """Fit a line to points, for the smallest relative error; neither part is below 0."""
    values = np.array([*points.values()])
    ones, across = 1 / values, np.array([*points]) / values
    (base, each), *_ = np.linalg.lstsq(np.stack([ones, across], 1), np.ones(len(values)))
    if base < 0:
        base, each = 0.0, across.sum() / (across**2).sum()
    elif each < 0:
        base, each = ones.sum() / (ones**2).sum(), 0.0
    return Line(float(base), float(each))


def figure(points: Mapping[int, Mapping[str, float]], name: str) -> dict[int, float]:
    """Return one of the figures, by size."""
    return {number: point[name] for number, point in points.items() if name in point}


class Service(NamedTuple):
    """The requirements of a service."""

    users: int
    memories_a_day: float  # per user
    questions_a_second: float  # of all users together, on average
    days: int = 365  # for which memories are kept
    standbys: int = 0  # servers that follow the primary
    peak: float = 3.0  # the load of the busiest hour, relative to the average
    cores: int = 8  # per machine

    @property
    def each(self) -> float:
        """The memories of one user."""
        return self.memories_a_day * self.days

    @property
    def memories(self) -> float:
        return self.users * self.each

    def has_scopes(self, most: int) -> bool:
        """Tell whether users have at most `most` memories, which are then read separately."""
        return self.users > 1 and self.each <= most

    @property
    def questions(self) -> float:
        """The questions per second in the busiest hour."""
        return self.peak * self.questions_a_second

    @property
    def writes(self) -> float:
        """The writes per second in the busiest hour."""
        return self.peak * self.users * self.memories_a_day / DAY


class Plan(NamedTuple):
    """What the service needs."""

    store: str
    disk: float  # gigabytes per copy
    processors: float  # for searching and writing
    server: float  # processors of a database server
    memory: float  # gigabytes of all processes that search
    machines: int
    milliseconds: float  # of processor time per question


class Model:
    """Lines fitted to the measurements."""

    def __init__(self, curves: Curves) -> None:
        memories, server = curves["memories"], curves["postgres"]
        self.warm, self.megabytes, self.disk = (
            fitted(figure(memories, name)) for name in ("warm", "megabytes", "megabytes on disk")
        )
        scopes = {each: curves["users"][users] for each, users in SCOPES.items()}
        self.scope = fitted({each: one["open"] + one["first"] for each, one in scopes.items()})
        self.largest = memories[max(memories)]
        self.served, self.served_size = server[max(server)], max(server)

    def plan(self, service: Service) -> Plan:
        """Choose a file if one machine and one copy are enough, and a server otherwise."""
        file = self.in_file(service)
        if file.processors <= service.cores and not service.standbys:
            return file
        return self.on_server(service)

    def in_file(self, service: Service) -> Plan:
        """Estimate the needs with files on one machine."""
        if service.has_scopes(MOST):
            taken, megabytes = self.scope.at(service.each), PROGRAM + CACHE
        else:
            taken = self.warm.at(service.memories)
            megabytes = self.megabytes.at(service.memories)
        writing = 1 / self.largest["written a second"] + 1 / self.largest["indexed a second"]
        processors = (service.questions * taken / 1e3 + service.writes * writing) / BUSY
        memory = math.ceil(processors) * megabytes / 1024
        disk = self.disk.at(service.memories) / 1024
        return Plan("file", disk, processors, 0.0, memory, 1, taken)

    def on_server(self, service: Service) -> Plan:
        """Estimate the needs with PostgreSQL on separate machines."""
        one = self.served
        if service.has_scopes(WHOLE):  # more memories cost more by the same factor as in a file
            more = max(1.0, self.scope.at(service.each) / self.scope.at(IN_SCOPE))
            asking, answering = more * one["scope"], more * one["scope, server"]
        else:
            asking, answering = one["warm"], one["warm, server"]
        ours = service.questions * asking + service.writes * one["write"]
        theirs = service.questions * answering + service.writes * one["write, server"]
        processors, server = ours / 1e3 / BUSY, theirs / 1e3 / BUSY
        machines = math.ceil(processors / service.cores)
        machines += math.ceil(server / service.cores) * (1 + service.standbys)
        disk = service.memories / self.served_size * one["megabytes on disk"] / 1024
        memory = math.ceil(processors) * one["megabytes"] / 1024
        return Plan("PostgreSQL", disk, processors, server, memory, machines, asking + answering)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in Service._fields:
        default = Service._field_defaults.get(name)
        kind = float if isinstance(default, float) else int
        parser.add_argument(
            "--" + name.replace("_", "-"),
            type=float if name.endswith(("day", "second")) else kind,
            default=default,
            required=default is None,
        )
    service = Service(**vars(parser.parse_args()))
    plan = Model(growth.read()).plan(service)
    table = Table(title="Capacity", show_header=False)
    table.add_row("memories", f"{service.memories:,.0f}")
    table.add_row("store", plan.store)
    table.add_row("machines", f"{plan.machines} with {service.cores} cores")
    table.add_row("processors that search and write", f"{plan.processors:.1f}")
    table.add_row("processors of each server", f"{plan.server:.1f}")
    table.add_row("memory of the processes that search", f"{plan.memory:,.1f} GB")
    table.add_row("disk of each copy", f"{plan.disk:,.0f} GB")
    table.add_row("processor time of a question", f"{plan.milliseconds:.0f} ms")
    Console().print(table)


if __name__ == "__main__":
    main()
