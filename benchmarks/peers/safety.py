"""Check what is stored after forced writes, four writers at once, and kill -9 in between."""

from __future__ import annotations

import random
import re
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.peers.process import PeerError, Process
from benchmarks.peers.rounds import Say
from benchmarks.peers.venvs import Peer
from benchmarks.peers.work import prepared

SIZE = 1000
TRACED = 50
WRITERS = 4
EACH = 50
KILLS = 5
SEED = 3
SLOW = 180.0
FORCED = "fsync,fdatasync,sync_file_range,msync,syncfs,sync"
BEFORE, AFTER = "mark-before", "mark-after"


def measured(peers: Sequence[Peer], embedder: str, folder: Path, say: Say) -> dict[str, Any]:
    """Count what each peer kept, by its name."""
    work = prepared(SIZE, embedder)
    told: dict[str, dict[str, Any]] = {peer.name: {} for peer in peers}
    for peer in peers:
        say(f"forced writes of {peer.label}")
        told[peer.name]["forced"] = _kept(
            _forced, peer, embedder, work, folder / peer.name / "forced"
        )
    for peer in peers:
        say(f"four writers at {peer.label}")
        told[peer.name]["writers"] = _kept(
            _writers, peer, embedder, work, folder / peer.name / "writers"
        )
    chance = random.Random(SEED)
    for turn in range(KILLS):
        after, pause = chance.randint(5, 40), chance.uniform(0, 0.02)
        for peer in peers:
            say(f"kill {peer.label}, {turn + 1} of {KILLS}")
            place = folder / peer.name / f"kill{turn}"
            told[peer.name].setdefault("kills", []).append(
                _kept(_killed, peer, embedder, work, place, after, pause)
            )
    shutil.rmtree(folder, ignore_errors=True)
    return told


def _kept(what: Any, peer: Peer, *arguments: Any) -> dict[str, Any]:
    try:
        told: dict[str, Any] = what(peer, *arguments)
    except PeerError as trouble:
        return {"failed": str(trouble)}
    return told


def _ready(process: Process, work: Path, store: Path) -> None:
    process.ask("load")
    process.ask("use", folder=str(work), part="memories")
    process.ask("open", folder=str(store))


def _forced(peer: Peer, embedder: str, work: Path, place: Path) -> dict[str, Any]:
    """Count the forced writes of an add, on average, by strace with threads and children."""
    strace = shutil.which("strace")
    if strace is None:
        return {"failed": "strace is not here"}
    place.mkdir(parents=True)
    log = place / "strace.txt"
    prefix = [strace, "-f", "-y", "-e", f"trace={FORCED}", "-o", str(log)]
    with Process(peer, embedder, place / "scratch", prefix=prefix) as process:
        _ready(process, work, place / "store")
        process.ask("add", start=0, stop=5, seconds=SLOW)
        process.ask("mark", file=str(place / BEFORE))
        added = len(
            process.ask("add", start=5, stop=5 + TRACED, seconds=SLOW, within=3 * SLOW)["times"]
        )
        process.ask("mark", file=str(place / AFTER))
        process.ask("close")
    calls = re.findall(r"^\d+ +\w+\((.*)$", log.read_text("utf-8", "replace"), re.MULTILINE)
    before = next(n for n, call in enumerate(calls) if BEFORE in call)
    after = next(n for n, call in enumerate(calls) if AFTER in call)
    return {"calls": after - before - 1, "adds": added}


def _writers(peer: Peer, embedder: str, work: Path, place: Path) -> dict[str, Any]:
    """Add with four processes at once; compare what was acknowledged with what is stored."""
    acknowledged: set[int] = set()
    errors: dict[str, int] = {}
    with Process(
        peer, embedder, place / "scratch"
    ) as process:  # the store is created by one, used by four
        _ready(process, work, place / "store")
        process.ask("close")
    with ExitStack() as stack:
        writing: list[Process] = []
        for number in range(WRITERS):
            process = stack.enter_context(Process(peer, embedder, place / f"scratch{number}"))
            try:
                _ready(process, work, place / "store")
                writing.append(process)
            except PeerError as trouble:
                errors[str(trouble)] = errors.get(str(trouble), 0) + EACH
        for number, process in enumerate(writing):
            process.tell("write", start=number * EACH, stop=(number + 1) * EACH)
        for process in writing:
            _heard(process, acknowledged, errors)
    return {
        "asked": WRITERS * EACH,
        **_still_there(peer, embedder, work, place, acknowledged),
        "errors": errors,
    }


def _heard(process: Process, acknowledged: set[int], errors: dict[str, int]) -> None:
    try:
        while "acknowledged" in (told := process.hear(SLOW)):
            acknowledged.add(told["acknowledged"])
        for error, number in told["errors"].items():
            errors[error] = errors.get(error, 0) + number
        process.ask("close")
    except PeerError as trouble:
        errors[str(trouble)] = errors.get(str(trouble), 0) + 1


def _killed(
    peer: Peer, embedder: str, work: Path, place: Path, after: int, pause: float
) -> dict[str, Any]:
    """Write, and kill -9 some time after a number of acknowledgements."""
    acknowledged: set[int] = set()
    with Process(peer, embedder, place / "scratch") as process:
        _ready(process, work, place / "store")
        process.tell("write", start=0, stop=SIZE)
        started = time.monotonic()
        while len(acknowledged) < after and time.monotonic() - started < SLOW:
            told = process.hear(SLOW)
            if "acknowledged" not in told:
                raise PeerError(f"no add was acknowledged: {told['errors']}")
            acknowledged.add(told["acknowledged"])
        time.sleep(pause)  # so that it does not always happen right after an acknowledgement
        acknowledged.update(
            told["acknowledged"] for told in process.kill() if "acknowledged" in told
        )
    return _still_there(peer, embedder, work, place, acknowledged)


def _still_there(
    peer: Peer, embedder: str, work: Path, place: Path, acknowledged: set[int]
) -> dict[str, Any]:
    told: dict[str, Any] = {"acknowledged": len(acknowledged)}
    try:
        with Process(peer, embedder, place / "after") as process:
            _ready(process, work, place / "store")
            there = set(process.ask("numbers")["numbers"])
            process.ask("close")
    except PeerError as trouble:
        return {**told, "there": 0, "failed": str(trouble)}
    return {**told, "there": len(acknowledged & there), "unasked": len(there - acknowledged)}
