"""What can go wrong with a server and the line to it, and how it is mended; drawn by chance."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import NamedTuple

from tests.servers.processes import Server
from tests.servers.proxy import Proxy

Faults = dict[str, tuple[Callable[[], object], Callable[[], object]]]


def pause(seconds: float) -> None:
    threading.Event().wait(seconds)


class Chosen(NamedTuple):
    """A fault, when it comes, and when it is mended."""

    fault: str
    when: str
    until: str


class Trouble:
    """The faults of every server, each with what mends it."""

    def __init__(self, server: Server, line: Proxy, chance: random.Random) -> None:
        self.server, self.line, self.chance = server, line, chance

    def faults(self) -> Faults:
        server, line, chance = self.server, self.line, self.chance
        return {
            "stop": (server.stop, self.start),
            "kill": (server.kill, self.start),
            "pause": (server.pause, server.resume),
            "restart": (server.restart, line.heal),
            "cut": (line.cut, line.heal),
            "cut in the middle": (lambda: line.cut_after(chance.randrange(1, 3000)), line.heal),
            "refuse": (line.refuse, line.heal),
            "hold requests": (lambda: line.stall(answers=False), line.heal),
            "hold answers": (lambda: line.stall(requests=False), line.heal),
            "lose answers": (lambda: line.stall(requests=False), self.lose),
        }

    def start(self) -> None:
        self.server.launch()  # writers meet it while it starts
        self.server.await_ready()

    def lose(self) -> None:
        """What the server was told, it has done; what it said to that never arrives."""
        self.line.cut()
        self.line.heal()

    def draw(self) -> Chosen:
        pick = self.chance.choice
        return Chosen(
            pick(list(self.faults())),
            pick(["before", "during", "during", "after"]),
            pick(["soon", "late"]),
        )

    def befall(
        self, chosen: Chosen, begin: Callable[[], object], finish: Callable[[], object]
    ) -> None:
        """Let writers write, with one fault before, during or after it, that is mended while they
        write or afterwards."""
        break_, mend = self.faults()[chosen.fault]
        if chosen.when == "before":
            break_()
        begin()
        if chosen.when == "during":
            pause(self.chance.random() * 0.12)
            break_()
        if chosen.when != "after" and chosen.until == "soon":
            pause(self.chance.random() * 0.3)
            mend()
        finish()
        if chosen.when == "after":
            break_()
        if chosen.when == "after" or chosen.until == "late":
            mend()
