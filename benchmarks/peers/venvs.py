"""The peers, their versions, and an environment for each, created once from the package index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

SECONDS = 30 * 60
NEWER = (3, 12)


class Peer(NamedTuple):
    """A program to measure: its name in tables, its door, and the packages that it needs."""

    name: str
    label: str
    module: str
    door: str
    place: str  # the folder of its environment; two peers may share one
    packages: tuple[str, ...] = ()
    newer: bool = False  # needs a newer Python than Lamina does
    npm: bool = False


MEM0 = ("mem0ai==2.2.1", "qdrant-client==1.20.0", "chromadb==1.5.9", "numpy==2.4.6")
PYSQLITE = "pysqlite3-binary==0.5.4.post2"
LANGGRAPH = ("langgraph-checkpoint-sqlite==3.1.2", PYSQLITE, "numpy==2.4.6")
BASIC = (
    "basic-memory==0.23.2",
    PYSQLITE,
    "numpy==2.4.6",
)  # the newest whose own requirements can be met
PEERS = (
    Peer("lamina", "Lamina", "lamina", "Lamina", ""),
    Peer("mem0-qdrant", "mem0, Qdrant", "mem0", "Mem0Qdrant", "mem0", MEM0),
    Peer("mem0-chroma", "mem0, Chroma", "mem0", "Mem0Chroma", "mem0", MEM0),
    Peer("langgraph", "LangGraph", "langgraph", "Langgraph", "langgraph", LANGGRAPH),
    Peer("chroma", "Chroma", "chroma", "Chroma", "chroma", ("chromadb==1.5.9", "numpy==2.4.6")),
    Peer("txtai", "txtai", "txtai", "Txtai", "txtai", ("txtai==9.14.0", "numpy==2.4.6")),
    Peer(
        "lancedb", "LanceDB", "lancedb", "Lancedb", "lancedb", ("lancedb==0.40.0", "numpy==2.4.6")
    ),
    Peer("basic-memory", "basic-memory", "basic", "Basic", "basic", BASIC, newer=True),
    Peer(
        "reference",
        "MCP reference",
        "reference",
        "Reference",
        "reference",
        ("@modelcontextprotocol/server-memory@2026.8.31",),
        npm=True,
    ),
)
NAMES = tuple(peer.name for peer in PEERS)


def cache() -> Path:
    """Return the folder of the environments and the work; LAMINA_PEERS names another."""
    own = os.environ.get("LAMINA_PEERS")
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(own) if own else shared / "lamina-peers"


def home(peer: Peer) -> Path:
    return cache() / (peer.place or "lamina")


def python(peer: Peer) -> str:
    """Return the interpreter that runs the peer's door."""
    return str(home(peer) / "bin" / "python") if peer.packages and not peer.npm else sys.executable


def version(peer: Peer) -> str:
    """Return the version of the peer's own package."""
    if peer.packages:
        return peer.packages[0].replace("==", "@").rpartition("@")[2]
    import lamina

    return lamina.__version__


def made(peer: Peer) -> str | None:
    """Create the peer's environment if missing; return why that was not possible, or None."""
    ready = home(peer) / ".ready"
    if not peer.packages or (ready.exists() and ready.read_text() == "\n".join(peer.packages)):
        return None
    shutil.rmtree(home(peer), ignore_errors=True)
    print(
        f"{peer.label} {version(peer)}: installing into {home(peer)}", file=sys.stderr, flush=True
    )
    reason = _npm(peer) if peer.npm else _pip(peer)
    if reason is None:
        # Written last: an interrupted environment must not be mistaken for a complete one.
        ready.write_text("\n".join(peer.packages))
    return reason


def _pip(peer: Peer) -> str | None:
    interpreter = _newer() if peer.newer else sys.executable
    if interpreter is None:
        return f"needs Python {NEWER[0]}.{NEWER[1]} or newer, and none is here"
    made = _run([interpreter, "-m", "venv", str(home(peer))])
    if made is not None:
        return made
    return _run(
        [
            python(peer),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            *peer.packages,
        ]
    )


def _npm(peer: Peer) -> str | None:
    npm = shutil.which("npm")
    if npm is None:
        return "needs node and npm, and they are not here"
    home(peer).mkdir(parents=True)
    return _run(
        [
            npm,
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(home(peer)),
            *peer.packages,
        ]
    )


def _newer() -> str | None:
    """Find a Python that is new enough, and starts."""
    if sys.version_info >= NEWER:
        return sys.executable
    named = [shutil.which(f"python3.{minor}") for minor in range(NEWER[1], NEWER[1] + 4)]
    pyenv = sorted(str(path) for path in Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python"))
    check = f"import sys; sys.exit(sys.version_info < {NEWER})"
    for candidate in [*filter(None, named), *pyenv]:
        if (
            subprocess.run([candidate, "-c", check], capture_output=True, check=False).returncode
            == 0
        ):
            return candidate
    return None


def _run(command: list[str]) -> str | None:
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False
    )
    if done.returncode == 0:
        return None
    said = [line for line in (done.stderr or done.stdout).strip().splitlines() if line]
    return f"cannot be installed: {said[-1][:200] if said else f'ended with {done.returncode}'}"
