"""What the children have in common: how they speak, and how they tell what became of a step."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import lamina


def say(**message: object) -> None:
    print(json.dumps(message), flush=True)


def outcome(verb: Callable[[], object]) -> str:
    """How a step ended: done, the code of an error of ours, or whatever else escaped."""
    try:
        verb()
    except lamina.LaminaError as error:
        return error.code
    except BaseException as error:  # noqa: BLE001 - whatever escapes is exactly what the tests want to know
        return repr(error)
    return "done"


def open_files() -> int:
    """How many files this process has open; where the system does not tell, none."""
    folder = Path("/proc/self/fd")
    return sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0
