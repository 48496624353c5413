"""Weaviate goes away in every way and comes back, while four writers need it: nothing is lost,
twice, or slow."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

import lamina
from lamina.mirrors.weaviate import WeaviateMirror, tenant_of
from tests.faults.harness import FULL, ROOT, SEED, size
from tests.servers.outage import PATIENCE, SLOWEST, child
from tests.servers.processes import HOST
from tests.servers.proxy import Proxy
from tests.servers.rememberer import DEATH, DIE, LONG, SHORT, remembered
from tests.servers.tenants import memories
from tests.servers.weaviate import Weaviate

AGENT = "sky"
WRITERS = 4


def handle(home: Path, url: str, **more: Any) -> lamina.Memory:
    return lamina.open(
        AGENT,
        home=home,
        settings={"mirrors.weaviate": url, "mirrors.weaviate_required": True, **more},
    )


class Writers(Protocol):
    """Four who remember."""

    def begin(self, texts: Sequence[Sequence[str]]) -> None:
        """Have each remember some texts."""

    def finish(self) -> list[dict[str, Any]]:
        """What became of all of them."""


class Threads:
    """Four threads of one process with one handle."""

    def __init__(self, home: Path, url: str, stack: ExitStack) -> None:
        self._memory = stack.enter_context(handle(home, url))
        self._said: list[dict[str, Any]] = []
        self._threads: list[threading.Thread] = []

    def begin(self, texts: Sequence[Sequence[str]]) -> None:
        self._said = []
        self._threads = [threading.Thread(target=self._write, args=(some,)) for some in texts]
        for thread in self._threads:
            thread.start()

    def finish(self) -> list[dict[str, Any]]:
        for thread in self._threads:
            thread.join()
        return self._said

    def _write(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._said.append(remembered(self._memory, text))


class Processes:
    """Four processes, each with a handle of its own."""

    def __init__(self, home: Path, url: str, stack: ExitStack) -> None:
        self._children = [
            stack.enter_context(child("tests.servers.rememberer", str(home), AGENT, url))
            for _ in range(WRITERS)
        ]
        self._expected: list[int] = []

    def begin(self, texts: Sequence[Sequence[str]]) -> None:
        self._expected = [len(some) for some in texts]
        for writer, some in zip(self._children, texts, strict=True):
            assert writer.stdin is not None
            writer.stdin.write(json.dumps(list(some)) + "\n")
            writer.stdin.flush()

    def finish(self) -> list[dict[str, Any]]:
        said = []
        for writer, number in zip(self._children, self._expected, strict=True):
            assert writer.stdout is not None
            said += [json.loads(writer.stdout.readline()) for _ in range(number)]
        return said


class Trouble:
    """What can go wrong with a server and the line to it, and how it is mended."""

    def __init__(self, server: Weaviate, line: Proxy, chance: random.Random) -> None:
        self._server, self._line, self._chance = server, line, chance
        self.faults: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
            "stop": (server.stop, self._start),
            "kill": (server.kill, self._start),
            "pause": (server.pause, server.resume),
            "restart": (server.restart, line.heal),
            "cut": (line.cut, line.heal),
            "cut in the middle": (lambda: line.cut_after(chance.randrange(1, 3000)), line.heal),
            "refuse": (line.refuse, line.heal),
            "silence": (lambda: line.stall(requests=False), line.heal),
            "slow": (lambda: line.delay(chance.choice([0.05, 0.2, 0.5])), line.heal),
        }

    def _start(self) -> None:
        self._server.launch()  # writers meet it while it starts
        self._server.await_ready()


def calm(number: int, writers: Writers) -> list[dict[str, Any]]:
    """Let them write until all that they write goes to the store again."""
    said: list[dict[str, Any]] = []
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        attempt = len(said) // WRITERS
        writers.begin(
            [[f"calm {number} writer {n} attempt {attempt} short"] for n in range(WRITERS)]
        )
        last = writers.finish()
        said += last
        if all(one.get("place") == "store" for one in last):
            break
        threading.Event().wait(0.2)
    return [{**one, "fault": "none"} for one in said]


def a_round(
    number: int, writers: Writers, trouble: Trouble, chance: random.Random
) -> list[dict[str, Any]]:
    """One fault, before, during or after some writes, and mended before, during or
    after some more."""
    fault = chance.choice(list(trouble.faults))
    when, until = chance.choice(["before", "during", "after"]), chance.choice(["soon", "late"])
    begin, mend = trouble.faults[fault]
    texts = [
        [f"round {number} writer {n} memory {m} {'short' if m % 2 else 'long'}" for m in range(4)]
        for n in range(WRITERS)
    ]
    if when == "before":
        begin()
    writers.begin(texts)
    if when == "during":
        threading.Event().wait(chance.random() * 0.03)
        begin()
    if when != "after" and until == "soon":
        threading.Event().wait(chance.random() * 0.3)
        mend()
    said = writers.finish()
    if when == "after":
        begin()
    if when == "after" or until == "late":
        mend()
    return [{**one, "fault": fault, "when": when, "until": until} for one in said]


def recovered(home: Path, url: str, **more: Any) -> lamina.Memory:
    """A handle after all is mended: what waited is in the store, and Weaviate up to date."""
    memory = handle(home, url, **more)
    deadline = time.monotonic() + PATIENCE
    while memory.failsafe_status()["waiting"] or "error" in memory.sync_mirrors()["weaviate"]:
        assert time.monotonic() < deadline, (memory.failsafe_status(), memory.status()["problems"])
        memory.catch_up()
        threading.Event().wait(0.1)
    return memory


def acknowledged(said: Sequence[dict[str, Any]]) -> list[str]:
    return [one["text"] for one in said if "error" not in one]


def check(home: Path, server: Weaviate, expected: Sequence[str], **more: Any) -> None:
    """Each acknowledged memory is in the store once and in Weaviate once, nothing else is, and both
    say the same."""
    with recovered(home, server.url, **more) as memory:
        stored = Counter(record.content for record in memory.list(limit=10_000))
        held = memories(server.url, tenant_of(AGENT, memory._scope.store.id))
        verified = memory.verify_mirrors()["weaviate"]
    assert stored == Counter(expected)
    assert Counter(one["content"] for one in held) == stored
    assert verified.ok, verified
    assert not any(one.get("unsettled") for one in held)


@pytest.mark.parametrize("kind", [Threads, Processes])
def test_whatever_happens_to_it(
    own_weaviate: Weaviate, tmp_path: Path, kind: type[Threads] | type[Processes]
) -> None:
    """B3, B4: stopped, killed, paused, restarted, cut off, silent or slow, before, during and after
    the writes of four: no acknowledged memory is lost, none is there twice, `mirror verify` is
    clean, and `remember` never takes 1.5 s."""
    chance = random.Random(f"{SEED} {kind.__name__}")
    said: list[dict[str, Any]] = []
    with Proxy(own_weaviate.port) as line, ExitStack() as stack:
        url = f"http://{HOST}:{line.port}"
        writers, trouble = kind(tmp_path, url, stack), Trouble(own_weaviate, line, chance)
        for number in range(size(quick=6, full=60)):
            said += calm(number, writers)
            said += a_round(number, writers, trouble, chance)
            if number % 10 == 9:
                check(tmp_path, own_weaviate, acknowledged(said))
    check(tmp_path, own_weaviate, acknowledged(said))
    slowest = max(said, key=lambda one: float(one["seconds"]))
    places = Counter(str(one.get("place")) for one in said)
    print(f"{kind.__name__}: {len(said)} memories {dict(places)}, slowest {slowest}")
    assert [one for one in said if "error" in one] == []
    assert not (FULL and slowest["seconds"] >= SLOWEST)


def test_the_case_of_the_document(own_weaviate: Weaviate, tmp_path: Path) -> None:
    """B4: Weaviate stopped, short and long memories go to two files of `record_type` lines; started
    again, it has all once."""
    settings = {"mirrors.weaviate": own_weaviate.url, "preset": "milton"}
    with lamina.open(AGENT, home=tmp_path, settings=settings) as memory:
        memory.remember("in time", **SHORT)
        own_weaviate.stop()
        kept = [memory.remember("short", **SHORT), memory.remember("long", **LONG)]
        assert [record.stored_in for record in kept] == ["failsafe", "failsafe"]
        folder = Path(memory.failsafe_status()["folder"])
        for name in ("short_term.jsonl", "long_term.jsonl"):
            lines = [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]
            assert [line["record_type"] for line in lines] == ["memory_item"]
        own_weaviate.start()
    check(tmp_path, own_weaviate, ["in time", "short", "long"], preset="milton")


def test_the_same_key_again_hides_nothing(weaviate: Weaviate, tmp_path: Path) -> None:
    """B3, B4: what was remembered before under its key stays what searches in Weaviate find; it is
    not put there again."""
    with handle(tmp_path, weaviate.url) as memory:
        kept = memory.remember("Ana drinks green tea", key="tea")
        memory.sync_mirrors()
        assert memory.remember("Ana drinks green tea", key="tea").id == kept.id
        mirror = memory._scope.copies["weaviate"]
        assert isinstance(mirror, WeaviateMirror)
        assert mirror.unsettled() == []
        assert memory.verify_mirrors()["weaviate"].ok


def test_a_dead_one_that_is_not_required_costs_nothing(
    own_weaviate: Weaviate, tmp_path: Path
) -> None:
    """B3: writers go on, memories are in the store, `status` says that the mirror is behind;
    afterwards it has all."""
    with handle(tmp_path, own_weaviate.url, **{"mirrors.weaviate_required": False}) as memory:
        memory.remember("before")
        own_weaviate.kill()
        assert [memory.remember(f"meanwhile {number}").stored_in for number in range(20)] == [
            "store"
        ] * 20
        assert "error" in memory.sync_mirrors()["weaviate"]
        assert any("weaviate" in problem for problem in memory.status()["problems"])
        assert memory.search("meanwhile 7")[0].record.content == "meanwhile 7"
    own_weaviate.start()
    check(tmp_path, own_weaviate, ["before", *(f"meanwhile {number}" for number in range(20))])


def test_a_writer_that_dies_in_the_middle(weaviate: Weaviate, tmp_path: Path) -> None:
    """B4: what Weaviate had taken when its writer died, and the store had not, is gone with the
    next sync."""
    with handle(tmp_path, weaviate.url) as memory:
        memory.remember("before", **SHORT)
        tenant = tenant_of(AGENT, memory._scope.store.id)
    command = [sys.executable, "-m", "tests.servers.rememberer", str(tmp_path), AGENT, weaviate.url]
    died = subprocess.run(command, input=json.dumps([DIE]), text=True, cwd=ROOT, check=False)
    assert died.returncode == DEATH
    assert Counter(one["content"] for one in memories(weaviate.url, tenant)) == Counter(
        ["before", DIE]
    )
    check(tmp_path, weaviate, ["before"])
