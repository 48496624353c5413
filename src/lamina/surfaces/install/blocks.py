"""A block of our own lines in someone else's text file, between two marks."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from lamina.errors import InvalidInput

# The comments that enclose the block, for each kind of file.
MARKS: Mapping[str, tuple[str, str]] = {
    "markdown": (
        "<!-- lamina: begin; `lamina uninstall` removes this block -->",
        "<!-- lamina: end -->",
    ),
    "toml": ("# lamina: begin; `lamina uninstall` removes this block", "# lamina: end"),
}


def put(text: str, kind: str, lines: str, *, first: bool = False) -> str:
    """Write the block at the end or the beginning of a text, replacing an earlier one."""
    begin, end = MARKS[kind]
    if f"{begin}\n{lines.strip()}\n{end}" in text.replace("\r\n", "\n"):
        return text
    if kind == "toml" and _holds(_toml(text), _toml(lines)):
        return text
    rest = remove(text, kind)
    newline = "\r\n" if "\r\n" in rest else "\n"
    block = f"{begin}\n{lines.strip()}\n{end}\n".replace("\n", newline)
    if first:
        made = block + (newline + rest if rest.strip() else "")
    else:
        ended = rest if not rest or rest.endswith("\n") else rest + newline
        made = ended + (newline if ended.strip() else "") + block
    if kind == "toml":
        _check(made, rest, lines)
    return made


def remove(text: str, kind: str) -> str:
    """Remove the block from a text, with the empty line that separated it."""
    begin, end = MARKS[kind]
    start = text.find(begin)
    if start < 0:
        return text
    stop = text.find(end, start)
    if stop < 0:
        line = text.count("\n", 0, start) + 1
        raise InvalidInput(f"line {line}: the block of Lamina begins here and never ends")
    stop += len(end)
    for newline in ("\r\n", "\n"):
        if text.startswith(newline, stop):
            stop += len(newline)
            break
    before, after = text[:start], text[stop:]
    for newline in ("\r\n", "\n"):
        if before.endswith(newline * 2):
            return before[: -len(newline)] + after
        if not before and after.startswith(newline):
            return after[len(newline) :]
    return before + after


def _check(made: str, rest: str, lines: str) -> None:
    """Refuse a text in which our block would not work, or would change the rest."""
    wanted = _merged(_toml(rest), _toml(lines))
    try:
        is_right = tomllib.loads(made) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        name = ".".join(_path(_toml(lines)))
        raise InvalidInput(
            f"it has an entry {name} that Lamina did not write; remove that, and try again"
        )


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(f"it is not valid TOML: {error}") from None


def _holds(whole: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    return all(
        _holds(whole[key], value)
        if isinstance(value, dict) and isinstance(whole.get(key), dict)
        else key in whole and whole[key] == value
        for key, value in part.items()
    )


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(one)
    for key, value in other.items():
        known = made.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            value = _merged(known, value)
        made[key] = value
    return made


def _path(tree: Mapping[str, Any]) -> list[str]:
    """Return the path to the first entry that contains more than tables."""
    names: list[str] = []
    while len(tree) == 1:
        ((name, inner),) = tree.items()
        names.append(name)
        if not isinstance(inner, dict):
            break
        tree = inner
    return names
