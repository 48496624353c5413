"""Find the project of a folder: the git repository that it is in.

All worktrees of a repository are one project. Its name is that of its `origin`, or else that of
its folder. Git itself is not called: a hook has no time to start it.
"""

from __future__ import annotations

import re
from pathlib import Path

from lamina.model.rules import MAX_LABEL
from lamina.store.engine import raw_file
from lamina.text import words

MOST_LEVELS = 64
MOST_BYTES = 64 * 1024  # of one of git's files
SECTION = re.compile(r'\[\s*remote\s+"origin"\s*\]', re.IGNORECASE)
ADDRESS = re.compile(r"\s*url\s*=(.*)", re.IGNORECASE)


def of_folder(folder: str | Path | None) -> str | None:
    """Name the project of a folder; None if it is in no repository."""
    if not folder:
        return None
    try:
        start = Path(folder)
        root = next((one for one in _upwards(start) if (one / ".git").exists()), None)
        return None if root is None else _name(root)
    except (OSError, RuntimeError, ValueError):  # on another machine, inaccessible, or not a path
        return None


def _upwards(start: Path) -> list[Path]:
    return [start, *start.parents][:MOST_LEVELS] if start.is_absolute() else []


def _name(root: Path) -> str | None:
    """Name the repository of a work tree."""
    common = _common(root)
    place = common.parent if common.name == ".git" else common
    name = _origin(common) or place.name or root.name
    short = words.one_line(name.removesuffix(".git"), MAX_LABEL)
    return short if words.is_visible(short) else None


def _common(root: Path) -> Path:
    """Find the folder that all worktrees of a repository share."""
    found = root / ".git"
    if found.is_dir():
        return found
    key, _, path = _text(found).partition(":")
    if key.strip() != "gitdir" or not path.strip():
        return found
    own = _joined(root, path)
    shared = _text(own / "commondir")
    return _joined(own, shared) if shared.strip() else own


def _joined(folder: Path, path: str) -> Path:
    """Resolve a path in one of git's files against its folder, removing `..` to get a name."""
    return (folder / path.strip()).resolve()


def _origin(common: Path) -> str:
    """Read the last part of the address of `origin`, if there is one."""
    is_origin = False
    for line in _text(common / "config").splitlines():
        if line.lstrip().startswith("["):
            is_origin = SECTION.match(line.strip()) is not None
        elif is_origin and (found := ADDRESS.match(line)):
            return re.split(r"[/:\\]", found[1].strip().rstrip("/\\"))[-1]
    return ""


def _text(path: Path) -> str:
    """Read the beginning of a small file; nothing if it is not a regular file, such as a pipe."""
    if not path.is_file():
        return ""
    with raw_file.opened(path) as file:
        return file.read(MOST_BYTES).decode(errors="replace")
