"""Measure whether writers of different agents on PostgreSQL wait for each other.

`python -m benchmarks.writers` compares one writer with four writers of four agents, over a line of
their own and behind PgBouncer in transaction mode. `--commit-ms 10` makes each commit as slow as
one that waits for a standby elsewhere: then the processor of this machine is not what limits them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack

from rich.console import Console
from rich.table import Table
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import Postgres

import lamina

WRITERS = 4
SLOW = """
    CREATE FUNCTION public.dawdle() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep({seconds}); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON lamina.events DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.dawdle()
"""
_agents = itertools.count()


def write(url: str, agent: str, seconds: float) -> None:
    """Remember one thing after the other in a separate process; print how many."""
    home = tempfile.mkdtemp(prefix="lamina-writers-")
    with lamina.open(agent, home=home, settings={"store.url": url}) as memory:
        memory.remember("the first one makes everything")
        print("ready", flush=True)
        sys.stdin.readline()
        number, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            memory.remember(f"{agent} has checked the boiler for the time number {number}")
            number += 1
    print(json.dumps(number), flush=True)


def rate(url: str, writers: int, seconds: float) -> float:
    """Measure the memories per second of some writers together, each for its own agent."""
    command = [sys.executable, "-m", "benchmarks.writers", "--seconds", str(seconds)]
    pipe = subprocess.PIPE
    with ExitStack() as stack:
        children = [
            stack.enter_context(
                subprocess.Popen(
                    [*command, "--write", url, f"agent{next(_agents)}"],
                    stdin=pipe,
                    stdout=pipe,
                    text=True,
                )
            )
            for _ in range(writers)
        ]
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline()
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        lines = [child.stdout.readline() for child in children if child.stdout is not None]
        return float(sum(map(json.loads, lines))) / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--commit-ms", type=float, default=0)
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.write:
        url, agent = chosen.write
        write(url, agent, chosen.seconds)
        return
    table = Table("line", "one writer", f"{WRITERS} writers", "times")
    with Postgres() as server, PgBouncer(server, size=2 * WRITERS) as proxy:
        for name in ("direct", "PgBouncer"):
            database = server.database()
            url = server.url(database) if name == "direct" else proxy.url(database)
            rate(url, 1, 0.1)  # creates the tables
            if chosen.commit_ms:
                server.execute(SLOW.format(seconds=chosen.commit_ms / 1000), database)
            for _ in range(chosen.rounds):
                one, several = (rate(url, n, chosen.seconds) for n in (1, WRITERS))
                table.add_row(name, f"{one:.0f}/s", f"{several:.0f}/s", f"{several / one:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
