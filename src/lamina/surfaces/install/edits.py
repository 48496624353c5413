"""The edits of a configuration file as data: applied once, and undone despite others' edits.

Pure: a text goes in, a text comes out. `before` is the text before the edits; it shows what was
there already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from lamina.surfaces.install import blocks, jsonc

EMPTY = "{}\n"
COMMANDS = ("command", "bash")  # the fields with the command of a hook


class Member(msgspec.Struct, frozen=True, tag="member"):
    """A value at a path of keys in JSON, such as a server under `mcpServers`."""

    keys: tuple[str, ...]
    value: Any


class Default(msgspec.Struct, frozen=True, tag="default"):
    """A value that the file needs beside ours, unless it has one; it goes when all else is gone."""

    keys: tuple[str, ...]
    value: Any


class Item(msgspec.Struct, frozen=True, tag="item"):
    """An item of a list in JSON, such as a hook of an event."""

    keys: tuple[str, ...]
    value: Any


class Block(msgspec.Struct, frozen=True, tag="block"):
    """Lines between two marks, in Markdown or TOML."""

    kind: str
    lines: str
    first: bool = False  # whether it belongs at the beginning of the file


Edit = Member | Default | Item | Block


def apply(text: str | None, edits: Sequence[Edit]) -> str:
    """Apply the edits; those already made change nothing."""
    made = text or ""
    for edit in edits:
        if isinstance(edit, Block):
            made = blocks.put(made, edit.kind, edit.lines, first=edit.first)
        else:
            made = _with(made if made.strip() else EMPTY, edit)
    return made


def undo(text: str, edits: Sequence[Edit], before: str | None) -> str | None:
    """Undo only these edits; None if nothing is left in a file that was new."""
    if not edits:
        return text
    for edit in reversed(edits):
        if isinstance(edit, Block):
            text = blocks.remove(text, edit.kind)
        elif text.strip():
            text = _undone(text, edit, _value_of(before))
    is_empty = not text.strip() or (not _is_text(edits) and jsonc.parse(text).value == {})
    return None if before is None and is_empty else text


def has(text: str | None, edits: Sequence[Edit]) -> bool:
    """Return whether a text has all the edits."""
    return text is not None and apply(text, edits) == text


def _is_text(edits: Sequence[Edit]) -> bool:
    return any(isinstance(edit, Block) for edit in edits)


def _value_of(before: str | None) -> Any:
    return jsonc.parse(before).value if before and before.strip() else {}


def _with(text: str, edit: Member | Default | Item) -> str:
    found = jsonc.find(jsonc.parse(text), edit.keys)
    if isinstance(edit, Item):
        is_there = found is not None and isinstance(found.value, list) and edit.value in found.value
        return text if is_there else jsonc.append(text, edit.keys, edit.value)
    if found is not None and (isinstance(edit, Default) or found.value == edit.value):
        return text
    return jsonc.put(text, edit.keys, edit.value)


def _undone(text: str, edit: Member | Default | Item, before: Any) -> str:
    root = jsonc.parse(text)
    found = jsonc.find(root, edit.keys)
    earlier = _at(before, edit.keys)
    if found is None:
        return text
    if isinstance(edit, Item):
        return _without_item(text, edit, found.value, earlier, before)
    if isinstance(edit, Default):
        is_last = earlier is None and root.value == {edit.keys[0]: edit.value}
        return jsonc.remove(text, edit.keys) if is_last else text
    if earlier is not None:
        return jsonc.put(text, edit.keys, earlier)
    return _cleared(jsonc.remove(text, edit.keys), edit.keys[:-1], before)


def _without_item(text: str, edit: Item, items: Any, earlier: Any, before: Any) -> str:
    known = earlier if isinstance(earlier, list) else []
    if not isinstance(items, list) or edit.value in known:
        return text
    for index in reversed(range(len(items))):
        if items[index] == edit.value or _runs(items[index], edit.value):
            text = jsonc.remove(text, (*edit.keys, index))
        else:
            text = _without_nested(text, edit, index, items[index])
    return _cleared(text, edit.keys, before)


def _without_nested(text: str, edit: Item, index: int, item: Any) -> str:
    """Remove our hooks from a group to which someone has added others."""
    ours, theirs = _hooks(edit.value), _hooks(item)
    mine = [place for place, hook in enumerate(theirs) if any(_runs(hook, one) for one in ours)]
    if mine and len(mine) == len(theirs):
        return jsonc.remove(text, (*edit.keys, index))
    for place in reversed(mine):
        text = jsonc.remove(text, (*edit.keys, index, "hooks", place))
    return text


def _hooks(group: Any) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, Mapping) else None
    return hooks if isinstance(hooks, list) else []


def _runs(one: Any, other: Any) -> bool:
    """Return whether two hooks run the same command, whatever their other fields."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return False
    return any(name in one and one[name] == other.get(name) for name in COMMANDS)


def _cleared(text: str, keys: Sequence[str], before: Any) -> str:
    """Remove empty containers on a path that did not exist before."""
    for depth in range(len(keys), 0, -1):
        found = jsonc.find(jsonc.parse(text), keys[:depth])
        if found is None or found.value or _at(before, keys[:depth]) is not None:
            break
        text = jsonc.remove(text, keys[:depth])
    return text


def _at(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
