"""Change values in `config.toml` and leave the rest of the file unchanged."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamina.errors import InvalidInput, StoreUnavailable
from lamina.home import ownership, settings
from lamina.home.folder import hold_lock, make_private_folder, refuse_link, write_private

LOCK = "config.lock"


def change(home: Path, values: Mapping[str, Any]) -> None:
    """Write settings into the file of a home, all or none; None removes one.

    The caller has checked the values. Other errors in the file are left alone, so that they can be
    repaired in this way.
    """
    ownership.check(home)
    make_private_folder(home)
    path = home / settings.FILE_NAME
    refuse_link(path)
    with hold_lock(home / LOCK):
        text = _read(path)
        made = text
        for name, value in values.items():
            made = take_out(made, name) if value is None else put(made, name, value)
        if made != text:
            write_private(path, made.encode())


def put(text: str, name: str, value: Any) -> str:
    """Set a value in TOML: in its existing line, in its table, or in a new line or table."""
    before = _parsed(text)
    plain = list(value) if isinstance(value, tuple) else value
    if name in before and before[name] == plain:
        return text
    lines = text.split("\n")
    table, _, key = name.rpartition(".")
    places = _places(lines)
    if name in places:
        number, written = places[name]
        made = [*lines[:number], f"{written} = {_toml(value)}", *lines[number + 1 :]]
    elif not table:
        made = [f"{key} = {_toml(value)}", *lines]
    elif (header := _header(lines, table)) is not None:
        made = [*lines[: header + 1], f"{key} = {_toml(value)}", *lines[header + 1 :]]
    else:
        above = [*text.rstrip("\n").split("\n"), ""] if text.strip() else []
        made = [*above, f"[{table}]", f"{key} = {_toml(value)}", ""]
    return _verified("\n".join(made), {**before, name: plain}, name, f"{key} = {_toml(value)}")


def take_out(text: str, name: str) -> str:
    """Remove a value from TOML, and its table if that is then empty."""
    before = _parsed(text)
    if name not in before:
        raise InvalidInput(f"{settings.FILE_NAME} does not set {name}; there is nothing to unset")
    lines, places = text.split("\n"), _places(text.split("\n"))
    gone = {places[name][0]} if name in places else set()
    table = name.rpartition(".")[0]
    left = {other: value for other, value in before.items() if other != name}
    if table and not any(other.startswith(f"{table}.") for other in left):
        gone |= {number for number in [_header(lines, table)] if number is not None}
    made = "\n".join(line for number, line in enumerate(lines) if number not in gone)
    return _verified(made, left, name, f"no {name}")


def _read(path: Path) -> str:
    try:
        with ownership.opened(path) as file:
            return file.read().decode()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None


def _parsed(text: str) -> dict[str, Any]:
    try:
        return settings.by_name(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        problem = f"{settings.FILE_NAME} is not valid TOML: {error}"
        raise InvalidInput(f"{problem}; fix it in an editor first") from None


def _verified(made: str, wanted: Mapping[str, Any], name: str, line: str) -> str:
    """Return the new text if it means exactly what it should: TOML can be written in many ways."""
    try:
        is_right = settings.by_name(made) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise InvalidInput(
            f"{settings.FILE_NAME} sets {name} in a way that only you can change; write {line}"
        )
    return made


def _places(lines: list[str]) -> dict[str, tuple[int, str]]:
    """Find the line of each value that has one of its own, and its key as written there."""
    found: dict[str, tuple[int, str]] = {}
    table = ""
    for number, line in enumerate(lines):
        bare = line.strip()
        if bare.startswith("["):
            table = _name(bare)
        elif "=" in bare and not bare.startswith("#"):
            written = line.partition("=")[0].rstrip()
            name = ".".join(part for part in (table, _plain(written)) if part)
            found.setdefault(name, (number, written))
    return found


def _header(lines: list[str], table: str) -> int | None:
    """Find the line that begins a table."""
    begins = (number for number, line in enumerate(lines) if line.strip().startswith("["))
    return next((number for number in begins if _name(lines[number].strip()) == table), None)


def _name(header: str) -> str:
    return _plain(header.partition("#")[0].strip().removeprefix("[").removesuffix("]"))


def _plain(key: str) -> str:
    """Write a dotted key without quotes and spaces."""
    return ".".join(part.strip().strip("\"'") for part in key.split("."))


def _toml(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(one) for one in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
