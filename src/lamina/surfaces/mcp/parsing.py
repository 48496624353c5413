"""Parse the arguments of a call, and explain in our own words what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lamina.errors import InvalidInput
from lamina.surfaces.mcp.arguments import Arguments
from lamina.surfaces.mcp.schemas import optional, schema
from lamina.text import words

WIDTH = 80  # of a value shown in a message
# Where msgspec locates the problem: an argument, and perhaps an entry of its list.
PLACE = re.compile(r" - at `\$\.(\w{1,64})(?:\[([0-9]{1,9})\])?")


def parse(tool: str, kind: type[Arguments], arguments: Mapping[str, Any]) -> Arguments:
    """Convert the arguments of a call, or raise. Null means that one was not given."""
    given = {name: value for name, value in arguments.items() if value is not None}
    _check_names(tool, schema(kind), given)
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(_problem(tool, schema(kind), given, str(error))) from None


def _check_names(tool: str, wanted: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    known = wanted["properties"]
    for name in given:
        if name not in known:
            names = f"it takes {', '.join(known)}" if known else "it takes none"
            hint = words.meant(name, known)
            raise InvalidInput(f"{tool} has no argument {words.shown(name, WIDTH)}; {names}{hint}")
    required = wanted.get("required", ())
    missing = [name for name in required if name not in given]
    if missing:
        needs = ", ".join(f"{name} ({_meaning(known[name])})" for name in missing)
        raise InvalidInput(f"{tool} needs {needs}", missing=missing)
    for name in required:
        if isinstance(given[name], str) and not given[name].strip():
            raise InvalidInput(f"{tool}: {name} is empty; it takes {_meaning(known[name])}")


def _problem(tool: str, wanted: Mapping[str, Any], given: Mapping[str, Any], problem: str) -> str:
    """Describe which argument is invalid, its value, and what it accepts."""
    place = PLACE.search(problem)
    if place is None:
        return f"{tool} cannot take this: {words.one_line(problem, WIDTH)}"
    name, number = place.groups()
    value, takes = given[name], optional(wanted["properties"][name])
    label = name
    if number is not None and isinstance(value, list):
        label, value, takes = f"{name}[{number}]", value[int(number)], optional(takes["items"])
    hint = words.meant(value, takes.get("enum", ())) if isinstance(value, str) else ""
    return f"{tool}: {label} {_described(value, takes)}; it takes {expected(takes)}{hint}"


def _meaning(wanted: Mapping[str, Any]) -> str:
    return str(optional(wanted).get("description") or expected(wanted))


def _described(value: Any, takes: Mapping[str, Any]) -> str:
    """Show a value, or its length if that is the problem."""
    if isinstance(value, (str, list)) and not value:
        return "is empty"
    if isinstance(value, str) and len(value) > takes.get("maxLength", len(value)):
        return f"has {len(value):,} characters"
    if isinstance(value, list) and len(value) > takes.get("maxItems", len(value)):
        return f"has {len(value):,} entries"
    return f"is {words.shown(value, WIDTH)}"


def expected(wanted: Mapping[str, Any]) -> str:
    """Describe what a schema accepts."""
    wanted = optional(wanted)
    if "enum" in wanted:
        return f"one of {', '.join(map(str, wanted['enum']))}"
    kind = wanted.get("type")
    if kind == "string":
        return "a text" + _between(wanted, "minLength", "maxLength", "characters")
    if kind == "array":
        entries = _between(wanted, "minItems", "maxItems", "entries")
        return f"a list{entries}, each {expected(wanted['items'])}"
    if kind in ("integer", "number"):
        name = "a whole number" if kind == "integer" else "a number"
        above = wanted.get("exclusiveMinimum")
        least = f"from {wanted['minimum']:,} to" if above is None else f"above {above}, at most"
        return f"{name} {least} {wanted['maximum']:,}"
    return {"object": "an object", "boolean": "true or false"}.get(str(kind), "any value")


def _between(wanted: Mapping[str, Any], least: str, most: str, unit: str) -> str:
    low, high = wanted.get(least, 0), wanted.get(most)
    if high is None:
        return f" of at least {low:,} {unit}" if low else ""
    return f" of {low:,} to {high:,} {unit}" if low else f" of at most {high:,} {unit}"
