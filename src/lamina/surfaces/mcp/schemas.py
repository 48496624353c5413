"""The JSON schemas of the tools: complete for us, and as short as possible for clients."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import msgspec

from lamina.surfaces.mcp.arguments import Arguments

PREFIX = "#/$defs/"
NULL = {"type": "null"}
# A model pays for every word of a schema in each request. Lengths are checked nonetheless, and
# errors name them.
UNTOLD = frozenset({"title", "minLength", "maxLength", "minItems", "maxItems"})


@cache
def schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Make the JSON schema of a struct without references, which some clients do not follow."""
    (top,), parts = msgspec.json.schema_components([kind], ref_template=PREFIX + "{name}")
    inlined = _inline(top, parts)
    assert isinstance(inlined, dict)
    return inlined


def published(kind: type[Arguments], more_kinds: Collection[str] = ()) -> dict[str, Any]:
    """Make the schema of arguments for clients, with the kinds of memory of this home."""
    short = _shortened(schema(kind))
    assert isinstance(short, dict)
    short.pop("description", None)  # the tool has one
    if more_kinds and "enum" in (given := short["properties"].get("kind", {})):
        given["enum"] = [*given["enum"], *more_kinds]
    return short


def optional(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a value that may also be missing; null means that it is not given."""
    choices = [one for one in schema.get("anyOf", ()) if one != NULL]
    return choices[0] if len(choices) == 1 else schema


def _shortened(value: Any) -> Any:
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _shortened(item) for name, item in optional(value).items() if name not in UNTOLD}
    return {name: item for name, item in kept.items() if name != "default" or item not in ([], {})}


def _inline(value: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inline(item, parts) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _inline(parts[value["$ref"].removeprefix(PREFIX)], parts)
    inlined = {name: _inline(item, parts) for name, item in value.items()}
    # Some clients require a type even if an enum makes it obvious.
    if isinstance(inlined.get("enum"), list) and "type" not in inlined:
        inlined["type"] = "string"
    return inlined
