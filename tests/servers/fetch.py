"""`make servers`: has every server on this machine, built once into a cache by version, or
says why not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

WEAVIATE = "1.38.11"
MODULE = f"github.com/weaviate/weaviate/cmd/weaviate-server@v{WEAVIATE}"
# Far above the few minutes that two cores need, downloads included.
BUILD_SECONDS = 20 * 60
STEPS_PER_LINE = 250
REQUIRED = os.environ.get("LAMINA_REQUIRE_SERVERS") == "1"


def cache() -> Path:
    """The folder of the servers that were built; LAMINA_SERVERS names another."""
    own = os.environ.get("LAMINA_SERVERS")
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(own) if own else shared / "lamina-servers"


def weaviate() -> Path:
    """Where the Weaviate of our version lies once it is built."""
    return cache() / f"weaviate-{WEAVIATE}" / "weaviate-server"


def build_weaviate() -> str | None:
    """Build it from source; why that was not possible, or None."""
    if weaviate().exists():
        return None
    go = shutil.which("go")
    if go is None:
        return "it is built from source, and Go (1.26 or newer) is not installed"
    partial = cache() / f"weaviate-{WEAVIATE}.{os.getpid()}"
    partial.mkdir(parents=True)
    try:
        ended = _install(go, partial)
        if ended is not None:
            return ended
        # Whole or not there: a build that was cut off must not be taken for a server.
        weaviate().parent.mkdir(exist_ok=True)
        (partial / weaviate().name).replace(weaviate())
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return None


def _install(go: str, folder: Path) -> str | None:
    print(f"weaviate {WEAVIATE}: building, which takes some minutes", flush=True)
    process = subprocess.Popen(
        [*(["nice"] if shutil.which("nice") else []), go, "install", "-v", MODULE],
        env={**os.environ, "GOBIN": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    limit = threading.Timer(BUILD_SECONDS, process.kill)
    limit.start()
    last: list[str] = []
    with process:
        for number, line in enumerate(process.stderr or (), 1):
            last = [*last[-9:], line.rstrip()]
            if number % STEPS_PER_LINE == 0:
                print(f"weaviate {WEAVIATE}: {number} steps", flush=True)
    limit.cancel()
    return (
        None
        if process.returncode == 0
        else f"go install ended with {process.returncode}: " + " | ".join(last)
    )


def main() -> int:
    from tests.servers.kinds import KINDS

    ended = build_weaviate()
    if ended is not None:
        print(f"weaviate {WEAVIATE}: {ended}")
    missing = {kind.name: kind.missing() for kind in KINDS}
    for name, reason in missing.items():
        print(f"{name}: {'ready' if reason is None else f'not there ({reason})'}")
    return 1 if REQUIRED and any(missing.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
