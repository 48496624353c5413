"""Uses a store that it may read and not write, as a user without rights."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import lamina

from .common import open_files, outcome, say


def lower(user_id: int) -> None:
    """Give up the rights of root, which no file mode can keep out."""
    if os.getuid() == 0:
        os.setgid(user_id)
        os.setuid(user_id)


def visit(home: str) -> dict[str, object]:
    operator = lamina.operator("sky", home=home)
    reads: dict[str, Callable[[], object]] = {
        "list": operator.list,
        "search": lambda: operator.search("memory"),
        "status": operator.status,
        "verify": operator.audit_verify,
    }
    writes: dict[str, Callable[[], object]] = {
        "remember": lambda: operator.remember("one more"),
        "run": lambda: operator.run("a task"),
        "backup": operator.backup,
    }
    outcomes = {name: outcome(verb) for name, verb in (reads | writes).items()}
    before = open_files()
    again = [outcome(writes["remember"]) for _ in range(20)]
    report = {"outcomes": outcomes, "again": again, "files_left_open": open_files() - before}
    operator.close()
    return report


def watch(home: str) -> dict[str, object]:
    """Look at the store before and after somebody else wrote to it."""
    operator = lamina.operator("sky", home=home)
    before = len(operator.list(limit=10_000))
    say(listed=before)
    sys.stdin.readline()
    counts: dict[str, int] = {}
    outcomes = {
        "list": outcome(lambda: counts.update(listed=len(operator.list(limit=10_000)))),
        "search": outcome(
            lambda: counts.update(found=len(operator.search("memory", limit=10_000)))
        ),
    }
    return {"outcomes": outcomes, **counts}


def mend(home: str) -> dict[str, object]:
    """Write to a file that is read-only for a while, and again when it no longer is, with
    the same handle."""
    database = Path(home, "agents", "sky", "memory.db")
    operator = lamina.operator("sky", home=home)
    database.chmod(0o400)
    meanwhile = outcome(lambda: operator.remember("memory meanwhile"))
    database.chmod(0o600)
    report: dict[str, object] = {
        "meanwhile": meanwhile,
        "after": outcome(lambda: operator.remember("memory after")),
    }
    operator.close()
    return report


SCENES = {"visit": visit, "watch": watch, "mend": mend}


def main(home: str, user_id: str, scene: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # Python loads some of its modules when they are first used, perhaps from where only root
        # can read.
        visit(folder)
    lower(int(user_id))
    report: dict[str, object] = {}
    report["open"] = outcome(lambda: report.update(SCENES[scene](home)))
    say(**report)


if __name__ == "__main__":
    main(*sys.argv[1:])
