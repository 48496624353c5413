"""Folders that a user without rights cannot write."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import lamina
from tests.faults.harness import AGENT, NOBODY


def give_away(home: Path) -> None:
    """Let the user without rights own everything, so that the modes alone decide."""
    if os.getuid() == 0:
        for path in (home, *home.rglob("*")):
            os.chown(path, NOBODY, NOBODY)


def forbid_writing(home: Path) -> None:
    give_away(home)
    for path in (*home.rglob("*"), home):
        path.chmod(0o500 if path.is_dir() else 0o400)


def allow_writing(home: Path) -> None:
    for path in (home, *home.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)


def make_store(home: Path, memories: int = 60) -> None:
    with lamina.open(AGENT, home=home) as memory:
        memory.remember_many(
            {"content": f"memory {n}", "tags": ["kept", f"t{n % 7}"], "key": f"k{n}"}
            for n in range(memories)
        )


def files(home: Path) -> dict[str, str]:
    """Every path under a home with the hash of its bytes; a folder has none, a link
    has its target."""
    return {str(path.relative_to(home)): _content(path) for path in sorted(home.rglob("*"))}


def _content(path: Path) -> str:
    if path.is_symlink():
        return str(path.readlink())
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
