"""One size: peers are filled, opened, searched and extended in turn, so that noise affects all."""

from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.peers.process import PeerError, Process
from benchmarks.peers.venvs import Peer
from benchmarks.peers.work import DEEP, QUESTIONS, prepared

OURS = "lamina"
KINDS = ("keyword", "vector", "hybrid", "filtered")
OPENINGS = 3
ROUNDS = 5
SINGLES = 100
PATIENCE = 20.0  # seconds that a peer may take for its part of a round
SHARES = 20  # a fill is interleaved in this many parts
Say = Callable[[str], None]


class PeerRun:
    """One peer at one size: its process while it has one, and what was measured so far."""

    def __init__(self, peer: Peer, folder: Path) -> None:
        self.peer = peer
        self.store = folder / peer.name / "store"
        self.scratch = folder / peer.name / "scratch"
        self.told: dict[str, Any] = {"search": {}, "cannot": {}, "failed": {}}
        self.process: Process | None = None
        self.batch = 0
        self.spent = 0.0
        self.done = 0
        self.out = False  # did not reach the size, so nothing more can be compared

    @contextmanager
    def tried(self, what: str) -> Iterator[None]:
        """Note a failure with its reason, and continue with the others."""
        try:
            yield
        except PeerError as trouble:
            self.told["failed"][what] = str(trouble)


def measured(
    peers: Sequence[Peer], size: int, embedder: str, minutes: float, folder: Path, say: Say
) -> dict[str, Any]:
    """Measure each peer at this size, by its name."""
    say(f"{size:,}: texts and vectors")
    work = prepared(size, embedder)
    all_of_them = [PeerRun(peer, folder) for peer in peers]
    with ExitStack() as stack:
        _filled(all_of_them, work, size, embedder, minutes, stack, say)
    left = [one for one in all_of_them if not one.out]
    _opened(left, work, embedder, say)
    with ExitStack() as stack:
        left = [one for one in left if _started(one, work, embedder, "extra", stack)]
        _searched(left, work, say)
        _added(left, say)
    shutil.rmtree(folder, ignore_errors=True)
    ours = next((_beside(one.told) for one in all_of_them if one.peer.name == OURS), {})
    return {one.peer.name: {**one.told, "ours": ours, "minutes": minutes} for one in all_of_them}


def _beside(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the baseline of a run; stored with each peer, as others may run later."""
    medians = {kind: statistics.median(times) for kind, times in told["search"].items()}
    add = {"add": statistics.median(told["add"])} if told.get("add") else {}
    return {**medians, **add, "bulk_seconds": told.get("bulk_seconds")}


def _started(one: PeerRun, work: Path, embedder: str, part: str | None, stack: ExitStack) -> bool:
    with one.tried("open"):
        one.process = stack.enter_context(Process(one.peer, embedder, one.scratch))
        loaded = one.process.ask("load")
        one.told["cannot"], one.batch = loaded["cannot"], loaded["batch"]
        one.process.ask("use", folder=str(work), part=part)
        one.process.ask("open", folder=str(one.store))
        return True
    return False


def _filled(
    all_of_them: Sequence[PeerRun],
    work: Path,
    size: int,
    embedder: str,
    minutes: float,
    stack: ExitStack,
    say: Say,
) -> None:
    """Fill part by part in turn, with indexes and saving, until all are full or out of time."""
    filling = [one for one in all_of_them if _started(one, work, embedder, "memories", stack)]
    limit, share = 60 * minutes, max(1000, size // SHARES)
    while filling := [
        one
        for one in filling
        if one.done < size and one.spent < limit and "fill" not in one.told["failed"]
    ]:
        for one in filling:
            say(f"{size:,}: fill {one.peer.label} from {one.done:,}")
            with one.tried("fill"):
                assert one.process is not None
                stop, left = min(size, one.done + max(share, one.batch)), limit - one.spent
                answer = one.process.ask(
                    "fill", start=one.done, stop=stop, seconds=left, within=left + 120
                )
                one.done, one.spent = answer["done"], one.spent + answer["seconds"]
    for one in all_of_them:
        if one.process is None:
            one.out = True
            continue
        say(f"{size:,}: settle {one.peer.label}")
        with one.tried("fill"):
            if one.done == size:
                one.spent += one.process.ask("settle", within=max(60.0, limit - one.spent))[
                    "seconds"
                ]
                one.process.ask("close")
        one.out = one.done < size or "fill" in one.told["failed"]
        one.told |= {"reached": one.done, "bulk_seconds": one.spent}
        one.process.end()
        if not one.out:
            one.told["disk"] = sum(
                path.stat().st_size for path in one.store.rglob("*") if path.is_file()
            )


def _opened(left: Sequence[PeerRun], work: Path, embedder: str, say: Say) -> None:
    """Import, open and ask once, each time in a new process."""
    for turn in range(OPENINGS):
        for one in left:
            say(f"open {one.peer.label}, {turn + 1} of {OPENINGS}")
            with one.tried("open"), Process(one.peer, embedder, one.scratch) as process:
                loaded = process.ask("load")
                process.ask("use", folder=str(work))
                opened = process.ask("open", folder=str(one.store))
                kind = next(
                    kind for kind in ("hybrid", "vector", "keyword") if kind not in loaded["cannot"]
                )
                first = process.ask(
                    "search", kind=kind, start=turn, stop=turn + 1, seconds=PATIENCE
                )
                one.told.setdefault("import", []).append(loaded["seconds"])
                one.told.setdefault("open", []).append(opened["seconds"])
                one.told.setdefault("first", []).append(first["times"][0])
                process.ask("close")


def _searched(left: Sequence[PeerRun], work: Path, say: Say) -> None:
    nearest = json.loads((work / "nearest.json").read_text())
    found: dict[tuple[str, str], list[list[int]]] = {}
    for kind in KINDS:
        able = [one for one in left if kind not in one.told["cannot"]]
        for one in able:
            with one.tried(
                kind
            ):  # once for nothing: what is loaded at the first question was measured by `first`
                _asked(one, kind, 0, 1)
        for turn in range(ROUNDS):
            part = QUESTIONS // ROUNDS
            for one in able:
                say(f"{kind} {one.peer.label}, {turn + 1} of {ROUNDS}")
                if kind in one.told["failed"]:
                    continue
                with one.tried(kind):
                    answer = _asked(one, kind, turn * part, (turn + 1) * part)
                    one.told["search"].setdefault(kind, []).extend(answer["times"])
                    if (
                        len(answer["found"]) == part
                    ):  # else the time was over, and what was found is of fewer questions
                        found.setdefault((one.peer.name, kind), []).extend(answer["found"])
    for one in left:
        if len(vectors := found.get((one.peer.name, "vector"), [])) == QUESTIONS:
            right = [
                len(set(got) & set(wanted)) / DEEP
                for got, wanted in zip(vectors, nearest, strict=True)
            ]
            one.told["neighbours"] = sum(right) / len(right)
        if filtered := found.get((one.peer.name, "filtered")):
            one.told["filtered_hits"] = sum(map(len, filtered)) / len(filtered)
        with one.tried("memory"):
            assert one.process is not None
            one.told["peak"] = one.process.ask("peak")["bytes"]


def _asked(one: PeerRun, kind: str, start: int, stop: int) -> dict[str, Any]:
    assert one.process is not None
    return one.process.ask(
        "search", kind=kind, start=start, stop=stop, seconds=PATIENCE, within=6 * PATIENCE
    )


def _added(left: Sequence[PeerRun], say: Say) -> None:
    part = SINGLES // ROUNDS
    for turn in range(ROUNDS):
        for one in left:
            say(f"add {one.peer.label}, {turn + 1} of {ROUNDS}")
            if "add" in one.told["failed"]:
                continue
            with one.tried("add"):
                assert one.process is not None
                start = turn * part
                answer = one.process.ask(
                    "add", start=start, stop=start + part, seconds=PATIENCE / 2, within=6 * PATIENCE
                )
                one.told.setdefault("add", []).extend(answer["times"])
