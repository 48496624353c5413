"""Edit JSON in place, with or without comments: everything else stays as it was written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec

from lamina.errors import InvalidInput

DEEPEST = 100  # levels; a real configuration has five
SPACE = " \t\r\n"
BOM = "\ufeff"
_scalars = json.JSONDecoder()


class Node(msgspec.Struct):
    """A value in a text: where it lies, and for an object or a list, where its parts lie."""

    start: int
    end: int
    value: Any
    keys: list[str] = []
    starts: list[int] = []  # of each part, including its key
    parts: list[Node] = []
    commas: list[int | None] = []  # the comma after each part

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, dict)

    def part(self, key: str) -> Node | None:
        return self.parts[self.keys.index(key)] if key in self.keys else None


def parse(text: str) -> Node:
    """Parse JSON with comments and trailing commas. An error names its line."""
    start = _skip(text, 1 if text.startswith(BOM) else 0)
    root = _value(text, start, 0)
    end = _skip(text, root.end)
    if end < len(text):
        _fail(text, end, "something follows the end")
    return root


def find(root: Node, keys: Sequence[str]) -> Node | None:
    """Find the value at a path of keys."""
    node: Node | None = root
    for key in keys:
        node = node.part(key) if node is not None and node.is_object else None
    return node


def put(text: str, keys: Sequence[str], value: Any) -> str:
    """Set the value at a path of keys; missing objects on the way are created."""
    root = parse(text)
    node = root
    for depth, key in enumerate(keys):
        if not node.is_object:
            where = f"{'.'.join(keys[:depth])} is" if depth else "it is"
            raise InvalidInput(f"{where} not an object, so there is no room for {key} in it")
        part = node.part(key)
        if part is None:
            for inner in reversed(keys[depth + 1 :]):
                value = {inner: value}
            return _inserted(text, root, node, f"{json.dumps(key)}: ", value)
        node = part
    written = _dumped(value, _unit(text, root), _indent(text, node.start), _newline(text))
    return text[: node.start] + written + text[node.end :]


def append(text: str, keys: Sequence[str], item: Any) -> str:
    """Add an item to the end of the list at a path of keys, creating the list if it is missing."""
    root = parse(text)
    node = find(root, keys)
    if node is None:
        return put(text, keys, [item])
    if not isinstance(node.value, list):
        raise InvalidInput(f"{'.'.join(keys)} is not a list")
    return _inserted(text, root, node, "", item)


def remove(text: str, path: Sequence[str | int]) -> str:
    """Remove the part at a path of keys and positions. Comments around it stay."""
    node = parse(text)
    for step in path[:-1]:
        node = _step(node, step)
    index = _index(node, path[-1])
    shorter = _without(text, node, index, with_space=True)
    if _is_expected(shorter, text, path):
        return shorter
    # The space before it ends a comment that would otherwise swallow what follows.
    return _without(text, node, index, with_space=False)


def _step(node: Node, step: str | int) -> Node:
    return node.parts[_index(node, step)]


def _index(node: Node, step: str | int) -> int:
    return node.keys.index(step) if isinstance(step, str) else step


def _is_expected(shorter: str, text: str, path: Sequence[str | int]) -> bool:
    """Return whether a text equals another one except for one part."""
    wanted = parse(text).value
    holder: Any = wanted
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    try:
        return bool(parse(shorter).value == wanted)
    except InvalidInput:
        return False


def _without(text: str, node: Node, index: int, *, with_space: bool) -> str:
    start, part = node.starts[index], node.parts[index]
    gap = max(len(text[:start].rstrip(SPACE)), node.start + 1) if with_space else start
    comma = node.commas[index]
    if comma is None and index:
        comma = node.commas[index - 1]
    spans = [(gap, part.end), *([] if comma is None else [(comma, comma + 1)])]
    for begin, end in sorted(spans, reverse=True):
        text = text[:begin] + text[end:]
    close = node.end - 1 - sum(end - begin for begin, end in spans)
    inside = text[node.start + 1 : close]
    return text[: node.start + 1] + text[close:] if not inside.strip(SPACE) else text


def _inserted(text: str, root: Node, node: Node, label: str, value: Any) -> str:
    """Insert a part after the last one of an object or a list, in the style of the text."""
    close = node.end - 1
    comma = node.commas[-1] if node.commas else None
    if node.parts and "\n" not in text[node.start : node.end]:
        at = node.parts[-1].end if comma is None else comma + 1
        lead = ", " if comma is None else " "
        return f"{text[:at]}{lead}{label}{json.dumps(value, ensure_ascii=False)}{text[at:]}"
    newline, unit, own = _newline(text), _unit(text, root), _indent(text, node.start)
    inner = _indent(text, node.starts[-1]) if node.parts else own + unit
    body = max(len(text[:close].rstrip(SPACE)), node.start + 1)
    end = text[body:close] if "\n" in text[body:close] else newline + own
    written = newline + inner + label + _dumped(value, unit, inner, newline)
    written += "," if comma is not None else ""  # keep the style of a text with trailing commas
    last = node.parts[-1].end if node.parts and comma is None else body
    between = "," if node.parts and comma is None else ""
    return text[:last] + between + text[last:body] + written + end + text[close:]


def _dumped(value: Any, unit: str, indent: str, newline: str) -> str:
    written = json.dumps(value, indent=unit or None, ensure_ascii=False)
    return written.replace("\n", newline + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str, root: Node) -> str:
    """Detect the indentation of the text; two spaces by default."""
    for start in root.starts:
        if indent := _indent(text, start):
            return indent
    return "  "


def _indent(text: str, position: int) -> str:
    """Return the whitespace at the beginning of a position's line."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _value(text: str, start: int, depth: int) -> Node:
    if depth > DEEPEST:
        _fail(text, start, f"it is nested more than {DEEPEST} levels deep")
    mark = text[start : start + 1]
    if mark == "{":
        return _object(text, start, depth)
    if mark == "[":
        return _list(text, start, depth)
    try:
        value, end = _scalars.raw_decode(text, start)
    except ValueError:
        _fail(text, start, "a value is expected here")
    return Node(start, end, value)


def _object(text: str, start: int, depth: int) -> Node:
    node = Node(start, start, {})
    position = _skip(text, start + 1)
    while text[position : position + 1] != "}":
        if text[position : position + 1] != '"':
            _fail(text, position, "a name in quotes or } is expected here")
        key = _value(text, position, depth)
        if key.value in node.value:
            _fail(text, position, f"{json.dumps(key.value)} is here a second time")
        colon = _skip(text, key.end)
        if text[colon : colon + 1] != ":":
            _fail(text, colon, "a colon is expected here")
        part = _value(text, _skip(text, colon + 1), depth + 1)
        node.value[key.value] = part.value
        node.keys.append(key.value)
        position = _add(text, node, part, position, "}")
    node.end = position + 1
    return node


def _list(text: str, start: int, depth: int) -> Node:
    node = Node(start, start, [])
    position = _skip(text, start + 1)
    while text[position : position + 1] != "]":
        part = _value(text, position, depth + 1)
        node.value.append(part.value)
        position = _add(text, node, part, position, "]")
    node.end = position + 1
    return node


def _add(text: str, node: Node, part: Node, start: int, close: str) -> int:
    """Add a parsed part, and advance to the next one or to the end."""
    node.parts.append(part)
    node.starts.append(start)
    after = _skip(text, part.end)
    if text[after : after + 1] == ",":
        node.commas.append(after)
        return _skip(text, after + 1)
    node.commas.append(None)
    if text[after : after + 1] != close:
        _fail(text, after, f"a comma or {close} is expected here")
    return after


def _skip(text: str, position: int) -> int:
    """Skip whitespace and comments."""
    while position < len(text):
        if text[position] in SPACE:
            position += 1
        elif text.startswith("//", position):
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif text.startswith("/*", position):
            end = text.find("*/", position + 2)
            if end < 0:
                _fail(text, position, "a comment begins here and never ends")
            position = end + 2
        else:
            break
    return position


def _fail(text: str, position: int, problem: str) -> NoReturn:
    line = text.count("\n", 0, position) + 1
    raise InvalidInput(f"line {line}: {problem}")
