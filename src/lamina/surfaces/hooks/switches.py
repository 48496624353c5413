"""The switches and limits of hooks in the environment; an invalid one is noted and ignored."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from lamina.model.rules import MAX_LABEL
from lamina.text.words import one_line, shown

PREFIXES = ("LAMINA_MEMORY_", "MILTON_MEMORY_")  # the first one has priority
PROJECT = "LAMINA_PROJECT"
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
    """The limits of hooks: if they do anything, what they keep, how much and how long."""

    enabled: bool = True
    store_responses: bool = False
    context_limit: int | None = None  # no limit but the characters
    context_max_chars: int = 2000
    timeout_ms: int = 1500
    project: str | None = None  # the project that memories are stored in and recalled from
    problems: tuple[str, ...] = ()  # invalid values in the environment


def read(environment: Mapping[str, str]) -> Switches:
    """Read the switches; use the default if a value is missing or invalid."""
    values: dict[str, bool | int] = {}
    problems = []
    for name in ("ENABLED", "STORE_RESPONSES", *MOST):
        variables = [prefix + name for prefix in PREFIXES]
        variable = next((each for each in variables if environment.get(each, "").strip()), None)
        if variable is None:
            continue
        text = environment[variable].strip()
        value = _number(text, MOST[name]) if name in MOST else WORDS.get(text.lower())
        if value is None:
            wanted = f"a whole number from 0 to {MOST[name]:,}" if name in MOST else "true or false"
            problems.append(f"{variable}={shown(text, 60)} is not {wanted}; the default is used")
        else:
            values[name.lower()] = value
    project = one_line(environment.get(PROJECT, ""), MAX_LABEL).strip() or None
    return msgspec.convert({**values, "project": project, "problems": problems}, Switches)


def _number(text: str, most: int) -> int | None:
    return number if NUMBER.fullmatch(text) and (number := int(text)) <= most else None
