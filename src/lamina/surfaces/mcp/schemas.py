"""JSON schemas of typed values, without references: some clients follow none. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

PREFIX = "#/$defs/"


def schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of a struct, with everything that it refers to written out where it stands."""
    (top,), parts = msgspec.json.schema_components([kind], ref_template=PREFIX + "{name}")
    made = _inlined(top, parts)
    assert isinstance(made, dict)
    return made


def _inlined(value: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inlined(item, parts) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _inlined(parts[value["$ref"].removeprefix(PREFIX)], parts)
    made = {name: _inlined(item, parts) for name, item in value.items()}
    if (
        isinstance(made.get("enum"), list) and "type" not in made
    ):  # some clients want it even where it is plain
        made["type"] = "string"
    return made
