"""Change values in `config.toml` and leave the rest of the file as it was written."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lamina.errors import InvalidInput
from lamina.home import settings
from lamina.home.folder import make_private_folder, write_private
from lamina.home.ownership import opened


def change(home: Path, values: Mapping[str, Any]) -> None:
    """Write settings into the file of a home; it must be readable and trusted."""
    settings.load(home, values)  # what is not valid is refused before anything is written
    path = home / settings.FILE_NAME
    try:
        with opened(path) as file:
            text = file.read().decode()
    except FileNotFoundError:
        text = ""
    made = text
    for name, value in values.items():
        made = put(made, name, value)
    if made != text:
        make_private_folder(home)
        write_private(path, made.encode())


def put(text: str, name: str, value: str) -> str:
    """Set a text at the top level of TOML: in its own line, or in a new one at the beginning."""
    before = tomllib.loads(text)
    if before.get(name) == value:
        return text
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    lines = text.split("\n")
    tables = (number for number, one in enumerate(lines) if one.lstrip().startswith("["))
    top = lines[: next(tables, len(lines))]
    own = [number for number, one in enumerate(top) if one.partition("=")[0].strip() == name]
    made = "\n".join([*lines[: own[0]], line, *lines[own[0] + 1 :]]) if own else f"{line}\n{text}"
    try:
        is_right = tomllib.loads(made) == {**before, name: value}
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise InvalidInput(
            f"{settings.FILE_NAME} sets {name} in a way that only you can change; write {line}"
        )
    return made
