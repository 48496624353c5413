"""PostgreSQL goes away in every way and comes back, while four write: nothing is lost,
twice, or slow."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pytest

import lamina
from lamina.home.folder import Home
from lamina.memory import doctor
from tests.faults.harness import AGENT, FULL, SEED, check_sound, size
from tests.servers.outage import PATIENCE, SLOWEST, child, home_on
from tests.servers.postgres import Postgres
from tests.servers.proxy import Proxy
from tests.servers.tasks import Task, done, drawn
from tests.servers.troubles import Chosen, Faults, Trouble, pause

RETRIES = (1000, 200, 50, 0)  # milliseconds, of the four writers
ROUND = "round"
Said = list[dict[str, Any]]


class Writers(Protocol):
    """Four who remember."""

    def begin(self, tasks: Sequence[Sequence[Task]]) -> None:
        """Have each do some tasks."""

    def wait(self) -> None:
        """Come back when all have done them."""

    def said(self) -> Said:
        """What became of all of them."""


class Threads:
    """Four threads of one process, each with a handle of its own."""

    def __init__(self, homes: Sequence[Path], stack: ExitStack) -> None:
        self._handles = [
            stack.enter_context(
                lamina.open(AGENT, home=homes[0], settings={"store.retry_ms": retry})
            )
            for retry in RETRIES
        ]
        self._runs = [handle.run("write") for handle in self._handles]
        self._outcome: Said = []
        self._threads: list[threading.Thread] = []

    def begin(self, tasks: Sequence[Sequence[Task]]) -> None:
        self._outcome = []
        self._threads = [
            threading.Thread(target=self._write, args=(n, some)) for n, some in enumerate(tasks)
        ]
        for thread in self._threads:
            thread.start()

    def wait(self) -> None:
        for thread in self._threads:
            thread.join()

    def said(self) -> Said:
        return self._outcome

    def _write(self, number: int, tasks: Sequence[Task]) -> None:
        for task in tasks:
            self._outcome.append(
                {**done(self._handles[number], self._runs[number], task), "task": task}
            )


class Processes:
    """Four processes in two homes; one that is killed in the middle is replaced by another."""

    def __init__(self, homes: Sequence[Path], stack: ExitStack) -> None:
        self._homes = homes
        self._stack = stack
        self._children = [self._child(n) for n in range(len(RETRIES))]
        self._told: list[list[Task]] = []
        self._outcome: Said = []
        self._chance = random.Random(SEED)

    def begin(self, tasks: Sequence[Sequence[Task]]) -> None:
        self._told = [list(some) for some in tasks]
        for writer, some in zip(self._children, tasks, strict=True):
            assert writer.stdin is not None
            writer.stdin.write("".join(json.dumps(task) + "\n" for task in some))
            writer.stdin.flush()

    def wait(self) -> None:
        self._outcome = [one for n in range(len(self._children)) for one in self._heard(n)]

    def said(self) -> Said:
        return self._outcome

    def kill(self) -> None:
        """End one of them, wherever it is in its work."""
        doomed = self._chance.choice(self._children)
        pause(self._chance.random() * 0.1)
        doomed.kill()
        doomed.wait()

    def mend(self) -> None:
        """Others for those that were killed."""
        for n, writer in enumerate(self._children):
            if writer.poll() is not None:
                self._children[n] = self._child(n)

    def _heard(self, number: int) -> Iterator[dict[str, Any]]:
        """What a writer says about its tasks; of those that it was killed before nobody knows."""
        ear = self._children[number].stdout
        assert ear is not None
        for task in self._told[number]:
            line = ear.readline()
            yield {
                **(json.loads(line) if line else {"seconds": 0.0, "place": "unknown"}),
                "task": task,
            }

    def _child(self, number: int) -> subprocess.Popen[str]:
        arguments = [str(self._homes[number % len(self._homes)]), AGENT, str(RETRIES[number])]
        writer = self._stack.enter_context(child("tests.servers.tasks", *arguments))
        assert writer.stdout is not None
        assert writer.stdout.readline()
        return writer


SLOW_COMMIT = """
    CREATE FUNCTION public.dawdle() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(random() * {seconds}); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON lamina.events DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.dawdle()
"""


class PostgresTrouble(Trouble):
    """What else can go wrong with PostgreSQL."""

    server: Postgres

    def __init__(self, server: Postgres, line: Proxy, chance: random.Random, database: str) -> None:
        super().__init__(server, line, chance)
        self._database = database
        self._killed = 0

    def faults(self) -> Faults:
        return super().faults() | {
            "crash of a backend": (self._crash, self._recover),
            "terminate": (self.terminate, self.line.heal),
            "no connection left": (lambda: self._limit(0), lambda: self._limit(-1)),
            "read only": (lambda: self._make_read_only("on"), lambda: self._make_read_only("off")),
        }

    def terminate(self) -> None:
        self._execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lamina'"
        )

    def _execute(self, statement: str) -> list[tuple[Any, ...]]:
        """A statement on a server that may not have recovered yet from what was done to it last."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self.server.execute(statement)
            except psycopg.OperationalError:
                assert time.monotonic() < deadline
                pause(0.02)

    def _crash(self) -> None:
        """All others end with it, and the server recovers."""
        if pids := self._execute("SELECT pid FROM pg_stat_activity WHERE usename = 'lamina'"):
            (self._killed,) = self.chance.choice(pids)
            os.kill(self._killed, signal.SIGKILL)

    def _recover(self) -> None:
        while self._execute(
            f"SELECT 1 FROM pg_stat_activity WHERE pid = {self._killed}"
        ):  # it has not been noticed yet
            pause(0.02)

    def _limit(self, number: int) -> None:
        self._execute(f"ALTER ROLE lamina CONNECTION LIMIT {number}")
        if number == 0:
            self.terminate()

    def _make_read_only(self, value: str) -> None:
        """As a server is that became a replica. Connections that knew it as one are kept."""
        self._execute(
            f"ALTER DATABASE {self._database} SET default_transaction_read_only = {value}"
        )
        if value == "on":
            self.terminate()


def tasks_of(number: int, chance: random.Random) -> list[list[Task]]:
    """What four writers do in a round; one memory with a key all of them have."""
    shared = Task("keyed", [f"{ROUND} {number} shared"], f"shared {number}")
    each = [drawn(f"{ROUND} {number} writer {n}", chance, 4) for n in range(len(RETRIES))]
    for some in each:
        some.insert(chance.randrange(len(some) + 1), shared)
    return each


def recover(home: Path) -> None:
    """Have what waits replayed, as the next process would."""
    with lamina.open(AGENT, home=home) as memory:
        deadline = time.monotonic() + PATIENCE
        while memory.failsafe_status()["waiting"]:
            assert time.monotonic() < deadline, memory.status()["problems"]
            pause(0.05)
            memory.catch_up()
        assert memory.failsafe_status()["broken"] == []
        assert memory.failsafe_status()["rejected"] == 0


def finished(writers: Writers, chance: random.Random) -> None:
    """Come back when all have done their tasks; now and then one of them is killed instead."""
    if isinstance(writers, Processes) and chance.random() < 0.2:
        writers.kill()
    writers.wait()


def healed(writers: Writers, number: int) -> Said:
    """Have every writer write until all of them write into the store again,
    without anybody's help."""
    said: Said = []
    deadline = time.monotonic() + PATIENCE
    while not said or any(one["place"] != "store" for one in said[-len(RETRIES) :]):
        assert time.monotonic() < deadline, said[-len(RETRIES) :]
        pause(0.1)
        writers.begin(
            [
                [Task("short", [f"{ROUND} {number} afterwards {len(said)} of {n}"])]
                for n in range(len(RETRIES))
            ]
        )
        writers.wait()
        said += writers.said()
    return said


def archived(home: Path) -> list[dict[str, Any]]:
    """The lines of the fail-safe that were replayed."""
    files = (home / "agents" / AGENT / "archive").glob("failsafe_*.jsonl")
    return [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()]


def check(server: Postgres, database: str, homes: Sequence[Path], said: Said) -> None:
    """Each acknowledged memory is there once, none is there twice, what belongs together is whole
    or absent, all is sound."""
    for home in homes:
        recover(home)
    rows = server.execute(
        "SELECT content, state, key FROM lamina.records WHERE starts_with(content, 'round')",
        database,
    )
    stored = Counter(content for content, _, _ in rows)
    assert [text for text, number in stored.items() if number > 1] == []
    acknowledged = {text for one in said if one["place"] != "unknown" for text in one["task"].texts}
    assert acknowledged - stored.keys() == set()
    unknown = [one["task"].texts for one in said if one["place"] == "unknown"]
    assert stored.keys() - acknowledged <= {text for texts in unknown for text in texts}
    for texts in unknown:
        assert len({text in stored for text in texts}) == 1, texts
    kept = {line["payload"]["content"] for home in homes for line in archived(home)}
    assert {
        text for one in said if one["place"] == "failsafe" for text in one["task"].texts
    } <= kept
    for home in homes:
        assert [found for found in doctor.examine(Home(home), AGENT) if found.level == "fail"] == []
    with lamina.operator(AGENT, home=homes[0]) as operator:
        check_sound(operator)


def heard(server: Postgres, database: str, homes: Sequence[Path]) -> Counter[str]:
    """Of the writes whose end nobody has heard, how many had happened."""
    lines = {
        line["batch"]: line["unless"]
        for home in homes
        for line in archived(home)
        if "unless" in line
    }
    happened = {
        seq: digest.hex()
        for seq, digest in server.execute("SELECT seq, hash FROM lamina.events", database)
    }
    return Counter(
        "happened" if happened.get(one["event"]) == one["hash"] else "had not"
        for one in lines.values()
    )


def told(
    kind: str, chosen: Sequence[Chosen], said: Said, homes: Sequence[Path], ambiguous: Counter[str]
) -> str:
    """The run in numbers."""
    faults = dict(sorted(Counter(one.fault for one in chosen).items()))
    places = dict(Counter(str(one["place"]) for one in said))
    texts = len({text for one in said for text in one["task"].texts})
    slowest = [
        f"{one['seconds']:.3f} s ({one['task'].way}, {one['chosen']}, {one['place']})"
        for one in sorted(said, key=lambda one: -float(one["seconds"]))[:3]
    ]
    replayed = sum(len(archived(home)) for home in homes)
    return (
        f"\n{kind}: {len(chosen)} rounds {faults}, {dict(Counter(one.when for one in chosen))}\n{len(said)} writes {places} of"
        f" {texts} memories; {replayed} replayed; unheard ends {dict(ambiguous)}; slowest {slowest}"
    )


@pytest.mark.parametrize("kind", [Threads, Processes])
def test_whatever_happens_to_it(
    own_postgres: Postgres, tmp_path: Path, kind: type[Threads] | type[Processes]
) -> None:
    """B3, B4, R1: stopped, killed, paused, restarted, crashed, cut off, silent, full or read-only,
    before, during and after the writes of four: no acknowledged memory is lost, none is there
    twice, and `remember` never takes 1.5 s."""
    chance = random.Random(os.environ.get("LAMINA_FAULTS_SEED", f"{SEED} {kind.__name__}"))
    database = own_postgres.database()
    said: Said = []
    rounds: list[Chosen] = []
    with Proxy(own_postgres.port) as line, ExitStack() as stack:
        url = own_postgres.url(database, port=line.port)
        homes = [home_on(tmp_path / name, url) for name in ("one", "two")]
        writers, trouble = kind(homes, stack), PostgresTrouble(own_postgres, line, chance, database)
        own_postgres.execute(
            SLOW_COMMIT.format(seconds=0.03), database
        )  # so that many faults come in the middle of one
        finish = partial(finished, writers, chance)
        for number in range(size(quick=10, full=100)):
            rounds.append(trouble.draw())
            tasks = tasks_of(number, chance)
            trouble.befall(rounds[-1], partial(writers.begin, tasks), finish)
            now = writers.said()
            assert [one["error"] for one in now if "error" in one] == [], rounds[-1]
            said += [{**one, "chosen": rounds[-1]} for one in now]
            if isinstance(writers, Processes):
                writers.mend()
            if number % 10 == 9:
                said += [{**one, "chosen": "afterwards"} for one in healed(writers, number)]
                check(own_postgres, database, homes, said)
        check(own_postgres, database, homes, said)
        print(told(kind.__name__, rounds, said, homes, heard(own_postgres, database, homes)))
    slow = [one for one in said if one["seconds"] >= SLOWEST]
    assert not (FULL and slow), slow
