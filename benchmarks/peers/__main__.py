"""`make bench-peers`: Lamina beside its alternatives, on the same work, in one interleaved run.

A run may be made in parts: what `--out` holds already is kept, and what was measured now is put in
its place.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.peers import quality, rounds, safety, table
from benchmarks.peers.venvs import NAMES, PEERS, Peer, cache, made, version
from benchmarks.peers.work import EMBEDDERS

PARTS = ("sizes", "safety", "quality")


def chosen(names: list[str], results: dict[str, Any]) -> list[Peer]:
    """Return the peers whose environment exists or can be made; note why the others are missing."""
    present: list[Peer] = []
    for peer in PEERS:
        if peer.name not in names:
            continue
        reason = made(peer)
        results["peers"][peer.name] = {
            "label": peer.label,
            "version": version(peer),
            "missing": reason,
        }
        if reason is None:
            present.append(peer)
        else:
            print(f"{peer.label}: {reason}", file=sys.stderr)
    return present


def processor() -> str:
    """Describe the machine as far as it matters."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores ({name}), {memory:.0f} GiB"


def known(path: Path) -> dict[str, Any]:
    empty: dict[str, Any] = {"peers": {}, "sizes": {}, "safety": {}, "quality": {}, "runs": []}
    return {**empty, **json.loads(path.read_text("utf-8"))} if path.exists() else empty


def kept(path: Path, results: dict[str, Any]) -> None:
    """Write the whole file, or leave it unchanged."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(results, indent=1, ensure_ascii=False), "utf-8")
    os.replace(partial, path)


def measure(
    given: argparse.Namespace, results: dict[str, Any], folder: Path, console: Console
) -> None:
    peers = chosen(given.peers, results)
    embedders = EMBEDDERS if given.embedder == "both" else (given.embedder,)
    names = [peer.name for peer in peers]
    run = {
        "at": datetime.now(UTC).date().isoformat(),
        "machine": processor(),
        "minutes": given.minutes,
        "peers": names,
    }

    def done(what: str) -> None:
        others = (
            one
            for one in results["runs"]
            if one["what"] != what or not set(one["peers"]) <= set(names)
        )
        results["runs"] = [*others, {**run, "what": what}]
        kept(given.out, results)

    with console.status("") as status:
        say = (
            status.update
            if console.is_terminal
            else lambda told: print(
                f"{datetime.now(UTC):%H:%M:%S} {told}", file=sys.stderr, flush=True
            )
        )
        if "sizes" in given.parts:
            for embedder in embedders:
                for size in given.sizes:
                    told = rounds.measured(
                        peers, size, embedder, given.minutes, folder / "sizes", say
                    )
                    results["sizes"].setdefault(embedder, {}).setdefault(str(size), {}).update(told)
                    done(f"{size:,}, {embedder}")
        if "safety" in given.parts:
            results["safety"].update(safety.measured(peers, embedders[0], folder / "safety", say))
            done("safety")
        if "quality" in given.parts:
            told = quality.measured(peers, given.every, given.minutes, folder / "quality", say)
            results["quality"].update(told)
            done("quality")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--peers", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--embedder", choices=(*EMBEDDERS, "both"), default="default")
    parser.add_argument(
        "--minutes",
        type=float,
        default=10,
        help="what a peer may take to be filled, and for all conversations",
    )
    parser.add_argument(
        "--every", type=int, default=quality.EVERY, help="only every so many questions of LME48"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=cache() / "results.json",
        help="where the numbers are kept, run by run",
    )
    parser.add_argument(
        "--docs", type=Path, help="a page whose table is written anew, such as docs/peers.md"
    )
    parser.add_argument(
        "--processor",
        action="store_true",
        help="measure the time of the processor, for peers without a server on a busy machine",
    )
    parser.add_argument(
        "--alike",
        action="store_true",
        help="filter by vectors alone in Lamina, too, as in peers that have nothing else",
    )
    parser.add_argument("--show", action="store_true", help="measure nothing, show what is kept")
    given = parser.parse_args()
    if given.alike:
        os.environ["PEERS_FILTERED"] = "semantic"  # for the worker
    if given.processor:
        os.environ["PEERS_CLOCK"] = "processor"  # for the workers
    given.out.parent.mkdir(parents=True, exist_ok=True)
    results = known(given.out)
    console = Console(stderr=True)
    if not given.show:
        folder = Path(tempfile.mkdtemp(prefix="lamina-peers-"))
        try:
            measure(given, results, folder, console)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    table.show(results, Console(width=None if sys.stdout.isatty() else 200, highlight=False))
    if given.docs:
        table.write(results, given.docs)


if __name__ == "__main__":
    main()
