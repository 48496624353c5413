"""The programs that stand between an agent and its memory, broken as whole processes: MCP server,
capture and hook.

Each runs under strace from its first moment, with all its threads: killed at a call, or told by the
disk that it cannot write.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina

from . import tally
from .disk import Disk, parsed, recorder
from .harness import AGENT, FULL, SEED, Fault, check_sound, contents, copied, points, size, strace

KILLS, ERRORS = size(quick=1, full=40), size(quick=1, full=10)
CUTS = size(quick=1, full=20)
# What changes files; Python itself, without its byte code, makes none of these.
WRITING = ("pwrite64", "fdatasync", "fsync", "ftruncate", "rename", "unlink", "mkdir")
TEXTS = [f"memory number {n}" for n in range(3)]
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
PATIENCE_SECONDS = 120


class Program(NamedTuple):
    """A command, what it reads, and whether it answers line by line."""

    arguments: tuple[str, ...]
    lines: tuple[dict[str, Any], ...]
    answers: bool = False


def call(number: int, text: str) -> dict[str, Any]:
    """A call of the tool `remember`, with a key."""
    given = {"name": "remember", "arguments": {"content": text, "key": text}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": given}


GREETED = (
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": GREETING},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)
PROGRAMS = {
    "mcp": Program(
        ("mcp",),
        (*GREETED, *(call(number, text) for number, text in enumerate(TEXTS, 1))),
        answers=True,
    ),
    "capture": Program(
        ("capture", "--source", "ntfy"),
        tuple({"id": text, "event": "message", "message": text} for text in TEXTS),
    ),
    "hook": Program(
        ("hook",),
        ({"hook_event_name": "Stop", "session_id": "one", "last_assistant_message": TEXTS[0]},),
    ),
}
# A program takes seconds to start, so a quick run kills one of them and lets the disk fail the
# others.
to_kill = pytest.mark.parametrize("name", PROGRAMS if FULL else ["mcp"])
to_fail = pytest.mark.parametrize("name", PROGRAMS if FULL else ["capture", "hook"])


def stored_by(name: str) -> list[str]:
    """What an undisturbed program leaves."""
    return TEXTS[:1] if name == "hook" else TEXTS


class Ended(NamedTuple):
    """How a program ended, what it had acknowledged by then, and the calls of the
    thread that writes."""

    code: int
    acknowledged: list[str]
    calls: list[str]
    injected: int


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")}
    ours = {
        "LAMINA_FAILSAFE": "off",
        "LAMINA_MEMORY_STORE_RESPONSES": "true",
        "LAMINA_MEMORY_TIMEOUT_MS": "60000",
        "LAMINA_RECALL_EMBEDDERS": "none",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {**kept, **ours}


@contextmanager
def started(name: str, home: Path, *before: str) -> Iterator[subprocess.Popen[str]]:
    """A program on a home, that is gone at the end of the block."""
    own = [
        sys.executable,
        "-P",
        "-m",
        "lamina.surfaces.cli.main",
        "--home",
        str(home),
        "--agent",
        AGENT,
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*before, *own, *PROGRAMS[name].arguments],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=environment(),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def told(process: subprocess.Popen[str], lines: Sequence[dict[str, Any]]) -> list[str]:
    """Say lines one after the other, each when the one before was answered;
    what was acknowledged."""
    assert process.stdin is not None
    assert process.stdout is not None
    acknowledged = []
    for line in lines:
        try:
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            break
        if "id" in line:
            answer = process.stdout.readline()
            if not answer:
                break
            if (
                "params" in line
                and "arguments" in line["params"]
                and not json.loads(answer)["result"].get("isError")
            ):
                acknowledged.append(line["params"]["arguments"]["content"])
    return acknowledged


def again(name: str, home: Path) -> None:
    """Run a program with nothing in its way, and it does all that it is there for."""
    with started(name, home) as process:
        process.communicate(heard(name), timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    check_stored(home, stored_by(name))


def heard(name: str) -> str:
    return "".join(json.dumps(line) + "\n" for line in PROGRAMS[name].lines)


def ran(name: str, home: Path, log: Path, fault: Fault | None = None) -> Ended:
    """Run a program to its end, with a fault in it or none."""
    injected = [] if fault is None else ["-e", f"inject={fault}"]
    quick = (
        [] if fault is not None and "signal" in fault.what else ["--seccomp-bpf"]
    )  # with that no signal is sent
    tracer = [
        strace(),
        "-f",
        "-qq",
        "-y",
        "-o",
        str(log),
        "-e",
        f"trace={','.join(WRITING)}",
        *injected,
        *quick,
    ]
    with started(name, home, *tracer) as process:
        acknowledged = told(process, PROGRAMS[name].lines) if PROGRAMS[name].answers else []
        process.communicate(
            None if PROGRAMS[name].answers else heard(name), timeout=PATIENCE_SECONDS
        )
    threads: dict[str, list[str]] = {}
    for line in log.read_text().splitlines():
        thread, _, text = line.partition(" ")
        if text.strip().partition("(")[0] in WRITING:
            threads.setdefault(thread, []).append(text.strip())
    number = log.read_text().count("(INJECTED)")
    tally.count("I/O errors", number)
    tally.count("kills", process.returncode in KILLED)
    return Ended(
        process.returncode, acknowledged, max(threads.values(), key=len, default=[]), number
    )


KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


class Base(NamedTuple):
    """A home to copy, and where its program can be broken."""

    home: Path
    calls: list[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a home in it that has one memory."""
    made = tmp_path_factory.mktemp("programs")
    with lamina.operator(
        AGENT, home=made / "home", settings={"recall.embedders": ["none"]}
    ) as operator:
        operator.remember("memory before", key="before")
    return made


@pytest.fixture
def base(folder: Path, name: str) -> Base:
    undisturbed = copied(folder / "home", folder / name)
    ended = ran(name, undisturbed, folder / "log")
    assert ended.code == 0
    check_stored(undisturbed, stored_by(name))
    return Base(folder / "home", ended.calls)


def check_stored(home: Path, acknowledged: Sequence[str], *, possible: Sequence[str] = ()) -> None:
    """The store is sound, what was acknowledged is there once, and nothing else but what was
    on its way."""
    with lamina.operator(AGENT, home=home) as operator:
        check_sound(operator)
        there = contents(operator)
        tally.check(["memory before", *acknowledged], there)
        assert Counter(there) <= Counter(
            ["memory before", *acknowledged, *(set(possible) - set(acknowledged))]
        )


@to_kill
def test_a_program_that_is_killed_loses_nothing(tmp_path: Path, base: Base, name: str) -> None:
    """L1, H3, P4: killed at any call that writes, what was answered is there once; the same again,
    and all is there once."""
    for point in points(base.calls, KILLS, name):
        home = copied(base.home, tmp_path / "home")
        ended = ran(name, home, tmp_path / "log", Fault("signal=SIGKILL", point))
        assert ended.code in KILLED, (point, ended.code)
        check_stored(home, ended.acknowledged, possible=stored_by(name))
        again(name, home)


@to_fail
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"] if FULL else ["ENOSPC"])
def test_a_program_goes_on_after_an_error_of_the_disk(
    tmp_path: Path, base: Base, name: str, error: str
) -> None:
    """L1, B4, H3, P4: an error of the disk ends no server and breaks no agent; the same again, and
    all is there once."""
    for point in points(base.calls, ERRORS, name + error):
        home = copied(base.home, tmp_path / "home")
        ended = ran(name, home, tmp_path / "log", Fault(f"error={error}", point))
        assert ended.injected, point
        assert ended.code in ((0, 1) if name == "capture" else (0,)), (point, ended.code)
        check_stored(home, ended.acknowledged, possible=stored_by(name))
        again(name, home)


def test_what_a_server_has_answered_survives_a_power_cut(tmp_path: Path, folder: Path) -> None:
    """L1, B1, H3, P4: when the power goes, with everything lost that was not synced, each memory is
    there that was answered."""
    home = copied(folder / "home", tmp_path / "home")
    disk, log = Disk(home), tmp_path / "log"
    with started("mcp", home, *recorder(log), "--seccomp-bpf", "-qq") as process:
        assert told(process, PROGRAMS["mcp"].lines) == TEXTS
        process.communicate(timeout=PATIENCE_SECONDS)
    calls = list(parsed(log.read_text().splitlines()))
    chance, answered, left = random.Random(SEED), 0, []
    for made in calls:
        if made.name == "write" and b'"remembered ' in made.strings[0]:
            answered += 1
            left.append((disk.left("strict", chance), answered))
        elif disk.follow(made):
            left += [(disk.left(manner, chance), answered) for manner in ("strict", "mixed")]
    assert answered == len(TEXTS)
    at_answers = left[-1:]
    for number, (names, known) in enumerate(
        [*chance.sample(left, min(CUTS, len(left))), *at_answers]
    ):
        tally.count("power cuts")
        check_stored(disk.written(names, tmp_path / f"left{number}"), TEXTS[:known], possible=TEXTS)
