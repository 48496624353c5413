"""Laws of the edits of configuration files, whatever these files hold."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lamina.surfaces.install import blocks, edits, jsonc
from lamina.surfaces.install.edits import Edit, Item, Member

NAMES = st.sampled_from(("a", "b", "hooks", "mcpServers", 'q"\\', "ü"))
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
INDENTS: st.SearchStrategy[int | str] = st.sampled_from((2, 4, "\t"))
KEYS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
COMMENTS = st.sampled_from(("", " // it's {\n", " /* , } */ ", "\n", "\t", "\r\n// ]\r\n"))


def write(draw: st.DrawFn, value: Any) -> str:
    """Write a value as a person might, with comments and trailing commas."""

    def gap() -> str:
        return draw(COMMENTS)

    if isinstance(value, dict):
        parts = [
            f"{gap()}{json.dumps(key)}{gap()}:{gap()}{write(draw, inner)}{gap()}"
            for key, inner in value.items()
        ]
    elif isinstance(value, list):
        parts = [f"{gap()}{write(draw, inner)}{gap()}" for inner in value]
    else:
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    begin, end = "{}" if isinstance(value, dict) else "[]"
    is_trailing = draw(st.booleans())
    return begin + ",".join(parts) + ("," if parts and is_trailing else "") + gap() + end


@st.composite
def files(draw: st.DrawFn) -> tuple[Any, str]:
    value = draw(OBJECTS)
    text = write(draw, value)
    if draw(st.booleans()):
        text = json.dumps(value, indent=draw(INDENTS), ensure_ascii=False)
    return value, draw(COMMENTS) + text + draw(COMMENTS)


def has_room(value: Any, keys: tuple[str, ...]) -> bool:
    """Tell if a path leads through objects only."""
    for key in keys:
        if not isinstance(value, dict):
            return False
        if key not in value:
            return True
        value = value[key]
    return True


def merged(value: Any, keys: tuple[str, ...], new: Any) -> Any:
    return {**value, keys[0]: merged(value.get(keys[0], {}), keys[1:], new)} if keys else new


@given(files())
def test_a_text_is_read_as_json_reads_it(file: tuple[Any, str]) -> None:
    """Comments and trailing commas change nothing about what a text says (H6)."""
    value, text = file
    assert jsonc.parse(text).value == value


@given(files(), KEYS, VALUES)
def test_an_edit_changes_one_value(file: tuple[Any, str], keys: tuple[str, ...], new: Any) -> None:
    """After an edit the text says the same but for the one value, and every comment is there (H6)."""
    value, text = file
    if not has_room(value, keys):
        return
    made = jsonc.put(text, keys, new)
    assert jsonc.parse(made).value == merged(value, keys, new)
    if keys[0] not in value:
        assert made.count("it's") == text.count("it's")
        assert jsonc.parse(jsonc.remove(made, keys[:1])).value == value


@given(files(), st.lists(st.tuples(KEYS, OBJECTS), min_size=1, max_size=3))
def test_edits_are_made_once_and_undone(
    file: tuple[Any, str], wanted: list[tuple[tuple[str, ...], Any]]
) -> None:
    """The same edits a second time change nothing, and undone they leave what was there (H6)."""
    value, text = file
    made: list[Edit] = [
        Member(("lamina", str(number)), new) for number, (_, new) in enumerate(wanted)
    ]
    made += [Item(("lists", key[0]), {"command": "x"}) for key, _ in wanted]
    after = edits.apply(text, made)
    assert edits.apply(after, made) == after
    left = edits.undo(jsonc.put(after, ("others",), 1), made, text)
    assert left is not None
    assert jsonc.parse(left).value == {**value, "others": 1}
    assert left.count("it's") == text.count("it's")


@given(st.text(st.sampled_from("ab#\n\r "), max_size=20))
def test_a_block_goes_as_it_came(text: str) -> None:
    """A block in a text is there once however often it is written, and leaves the text behind (H6)."""
    once = blocks.put(text, "markdown", "ours")
    assert blocks.put(once, "markdown", "ours") == once
    left = blocks.remove(once, "markdown")
    assert left.rstrip("\r\n") == text.rstrip("\r\n")


@given(st.dictionaries(NAMES, st.integers(0, 9), max_size=3))
def test_a_block_in_toml_adds_one_table(values: dict[str, int]) -> None:
    """A block of TOML adds its table, and everything else means what it meant (H6)."""
    text = "".join(
        f"{json.dumps(name, ensure_ascii=False)} = {value}\n" for name, value in values.items()
    )
    made = blocks.put(text, "toml", "[ours.x]\ny = 1")
    assert tomllib.loads(made) == {**values, "ours": {"x": {"y": 1}}}
    assert blocks.remove(made, "toml") == text
