"""Measure how long each page of the console takes, at 100,000 memories of many kinds.

`make bench-console` prints the table: the processor time of the whole process for a request, since
machines are busy, and beside it the time that passed. With `--keep` the store is made once in that
folder and used again.
"""

from __future__ import annotations

import argparse
import http.client
import random
import statistics
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.table import Table

import lamina
from benchmarks import searching, sleeping
from benchmarks.speed import folder
from lamina.model.clock import system_clock
from lamina.model.record import Role
from lamina.surfaces.http import app, server
from lamina.surfaces.http.service import Service, Visitor

NUMBER = 100_000
TALKED = 0.6  # the share of turns of conversations; all others are notes
SLEPT = 10_000  # turns from which sleep has made facts
USERS = 20
PROPOSALS = 500
SHORT_TERM = 5_000  # notes that still wait; jobs move all others on
REQUESTS = 200  # one in this many notes asks for something
PROJECTS = ("apollo", "garden", "website", "taxes")
YEAR = timedelta(days=365)
ROUNDS = 9
GOAL = 300.0
AGENT = "default"


def fill(path: Path, number: int) -> None:
    """Create a store of conversations, facts, notes of many users, proposals and an archive."""
    talked, begin = int(number * TALKED), system_clock() - YEAR
    with lamina.operator(AGENT, home=path) as operator:
        _talk(operator, begin, range(SLEPT // sleeping.SESSION), talked)
        operator.sleep()
        _talk(operator, begin, range(SLEPT // sleeping.SESSION, talked // sleeping.SESSION), talked)
    _note(path, begin, number - talked)
    with lamina.operator(AGENT, home=path) as operator:
        evidence = [operator.list(limit=1)[0].id]
        for place in range(PROPOSALS):
            operator.propose_profile(f"preferences.p{place}", f"value {place}", "said so", evidence)
        operator.prune(tags=["old"])
        operator.index()


def _talk(operator: lamina.Operator, begin: datetime, numbers: range, turns: int) -> None:
    """Add some of the conversations of a year."""
    sessions = turns // sleeping.SESSION
    for number in numbers:
        chance = random.Random(number)
        at, pair = begin + YEAR * number / sessions, chance.sample(sleeping.PEOPLE, 2)
        said = [
            {"speaker": pair[place % 2], "text": text, "at": at + timedelta(minutes=place)}
            for place, text in enumerate(sleeping.turns(chance))
        ]
        project = PROJECTS[number % 40] if number % 40 < len(PROJECTS) else None
        operator.remember_conversation(said, session=f"talk-{number}", project=project)


def _note(path: Path, begin: datetime, number: int) -> None:
    """Add notes over the year; every second one belongs to one of many users."""
    items: dict[str | None, list[dict[str, Any]]] = {}
    for place, item in enumerate(searching.memories(number)):
        item["at"] = begin + YEAR * place / number
        item["kind"] = "request" if place % REQUESTS == 0 else ("crumb", "fact")[place % 2]
        item["session"] = None
        if place < number - SHORT_TERM:
            item["layer"] = "episodic"
        if place % 20 == 0:
            item["tags"] = ["old"]
        if place % 10 == 0:
            item["project"] = PROJECTS[place // 10 % len(PROJECTS)]
        items.setdefault(f"user{place % USERS}" if place % 4 < 2 else None, []).append(item)
    for user, some in items.items():
        with lamina.open(AGENT, user, path) as memory:
            for start in range(0, len(some), 5_000):
                memory.remember_many(some[start : start + 5_000])


def pages(path: Path) -> dict[str, str]:
    """Name every page, with an address that shows much on it."""
    with lamina.operator(AGENT, home=path) as operator:
        fact = operator.facts()[0]
        session = operator.browsing.conversations(1)[0].name
    return {
        "overview": "/",
        "search": f"/search?query={quote('where does Ana live')}",
        "conversations": "/conversations",
        "conversations of somebody": "/conversations?speaker=Ana",
        "one conversation": f"/conversations?session={session}",
        "memories": "/records",
        "memories by importance": "/records?sort=importance",
        "memories with a tag": "/records?tag=t3",
        "memories of a speaker": "/records?speaker=Ana",
        "one memory": f"/records/{fact.record}",
        "archive": "/archive",
        "archive, searched": "/archive?query=bai",
        "people": "/people",
        "one person": f"/people?subject={quote(fact.subject)}",
        "projects": "/projects",
        "one project": f"/projects?project={PROJECTS[0]}",
        "review": "/review",
        "audit": "/audit",
        "audit, reads": "/audit?of=reads",
        "audit, refused": "/audit?of=refused",
        "description of the API": "/docs",
        "an address that leads nowhere": "/nowhere",
        "metrics": "/metrics",
    }


@contextmanager
def served(path: Path) -> Iterator[tuple[http.client.HTTPConnection, Mapping[str, str]]]:
    """Connect to a server in this process, so that its processor time can be read."""
    host = Visitor(AGENT, None, Role.OPERATOR, "bench")
    service, listening = Service(path, host, system_clock), server.listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    running = server.server(app.create(service, port), service.limits)
    thread = threading.Thread(target=running.run, args=([listening],))
    thread.start()
    headers = {"Cookie": f"lamina_{port}={service.sessions.redeem(service.sessions.link())}"}
    try:
        yield http.client.HTTPConnection("127.0.0.1", port), headers
    finally:
        running.should_exit = True
        thread.join()
        listening.close()


def asked(
    connection: http.client.HTTPConnection, headers: Mapping[str, str], path: str
) -> tuple[float, float]:
    """Measure the milliseconds of processor time and elapsed time of one request."""
    worked, passed = time.process_time(), time.perf_counter()
    connection.request("GET", path, headers={"Accept": "text/html", **headers})
    answer = connection.getresponse()
    answer.read()
    taken = time.process_time() - worked, time.perf_counter() - passed
    assert answer.status == (404 if path == "/nowhere" else 200), (path, answer.status)
    connection.close()
    return 1e3 * taken[0], 1e3 * taken[1]


def measure(path: Path, number: int, rounds: int) -> Table:
    addresses = pages(path)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in addresses}
    with served(path) as (connection, headers):
        for place in range(rounds + 1):
            for name, address in addresses.items():
                once = asked(connection, headers, address)
                if place:  # the first round fills caches
                    taken[name].append(once)
    table = Table("page", "processor", "clock", "goal", title=f"The console at {number:,} memories")
    for name, each in taken.items():
        worked, passed = (statistics.median(column) for column in zip(*each, strict=True))
        goal = "" if worked <= GOAL else f"≤ {GOAL:.0f} ms"
        table.add_row(name, f"{worked:.0f} ms", f"{passed:.0f} ms", goal)
    return table


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asking.add_argument("--number", type=int, default=NUMBER)
    asking.add_argument("--rounds", type=int, default=ROUNDS)
    asking.add_argument("--keep", type=Path, help="a folder for the store")
    given = asking.parse_args()
    with folder() as made:
        path = given.keep or made
        if not (path / "agents").exists():
            fill(path, given.number)
        Console(width=100).print(measure(path, given.number, given.rounds))


if __name__ == "__main__":
    main()
