"""The switches and caps of hooks, from the environment. A wrong one is told, and never in an agent's way. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from lamina.text.words import shown

PREFIXES = ("LAMINA_MEMORY_", "MILTON_MEMORY_")  # the first one wins
WORDS = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}
NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
MOST = {"CONTEXT_LIMIT": 100, "CONTEXT_MAX_CHARS": 1_000_000, "TIMEOUT_MS": 600_000}


class Switches(msgspec.Struct, frozen=True):
    """Whether hooks do anything, what they keep, how much they tell, and how long they may take."""

    enabled: bool = True
    store_responses: bool = False
    context_limit: int = 6
    context_max_chars: int = 2000
    timeout_ms: int = 1500
    problems: tuple[str, ...] = ()  # what the environment says and nobody can follow


def read(environment: Mapping[str, str]) -> Switches:
    """The switches as the environment has them; the default where it has none, or none that makes sense."""
    found: dict[str, bool | int] = {}
    problems = []
    for name in ("ENABLED", "STORE_RESPONSES", *MOST):
        variable = next(
            (prefix + name for prefix in PREFIXES if environment.get(prefix + name, "").strip()),
            None,
        )
        if variable is None:
            continue
        given = environment[variable].strip()
        value = _number(given, MOST[name]) if name in MOST else WORDS.get(given.lower())
        if value is None:
            wanted = f"a whole number from 0 to {MOST[name]:,}" if name in MOST else "true or false"
            problems.append(f"{variable}={shown(given, 60)} is not {wanted}; the default is used")
        else:
            found[name.lower()] = value
    return msgspec.convert({**found, "problems": problems}, Switches)


def _number(given: str, most: int) -> int | None:
    return number if NUMBER.fullmatch(given) and (number := int(given)) <= most else None
