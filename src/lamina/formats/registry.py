"""The forms that files come in: told apart by what they hold, and each with its way to read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from lamina.errors import InvalidInput
from lamina.formats import (
    entries,
    json_stream,
    jsonl,
    lines,
    mcp_memory,
    mem0,
    milton,
    sentinel,
    sky,
    skylattice,
)
from lamina.formats.entries import Entry, Fields
from lamina.formats.jsonl import Form
from lamina.formats.lines import Line
from lamina.model import hashing
from lamina.store.engine import foreign
from lamina.text.words import shown

OURS = "lamina"
LINES = "lines"
# Forms that may also be one document, or a database, by the names of their lists and tables.
OTHERS: Mapping[str, ModuleType] = {
    "skylattice": skylattice,
    "sentinel": sentinel,
    "mem0": mem0,
    "mcp-memory": mcp_memory,
}
TABLES: Mapping[str, str] = {
    "episodes": "sentinel",
    "facts": "sentinel",
    skylattice.TABLE: "skylattice",
    mem0.TABLE: "mem0",
}
NAMES = (OURS, "sky", "milton", *OTHERS)
LOOK = 64  # so many names or lines say what a file is


def chosen(source: Path, name: str | None) -> Form | None:
    """How to read a file; None for an export of ours."""
    if name is not None and name not in NAMES:
        raise InvalidInput(
            f"unknown format {shown(name)}; known are {', '.join(NAMES)}", known=list(NAMES)
        )
    found = name or detect(source)
    if found == OURS and name is not None and jsonl.detect(source) == "lines":
        return Form(OURS, _each(entries.record_entry))
    simple: Mapping[str, Callable[[Fields], Entry]] = {
        LINES: jsonl.entry_of,
        "sky": sky.entry_of,
        "milton": milton.entry_of,
    }
    if found in simple:
        return Form(found if found != LINES else jsonl.LINES.name, _each(simple[found]))
    if found == OURS:
        return None
    return Form(found, OTHERS[found].entries_of, lambda path: _lines(path, found))


def _each(entry_of: Callable[[Fields], Entry]) -> Callable[[Fields], list[Entry]]:
    return lambda line: [entry_of(line)]


def detect(source: Path) -> str:
    """The name of the form that a file has, by what it holds."""
    if foreign.is_database(source):
        return _of_database(source)
    return _of_document(source) or (OURS if jsonl.detect(source) == "ours" else _of_lines(source))


def _of_database(source: Path) -> str:
    found = foreign.tables(source)
    if {"records", "events", "meta"} <= set(found):
        raise InvalidInput(
            f"{source} is a store of Lamina; `lamina export` there makes a file that can be imported"
        )
    for table, name in TABLES.items():
        if table in found:
            return name
    raise InvalidInput(
        f"{source} is a database without any of the tables {', '.join(TABLES)}; found are {shown(found)}"
    )


def _of_document(source: Path) -> str | None:
    """The form of a file that is one JSON document; None for lines, and for what is not JSON at all."""
    with lines.opened(source) as file:
        if jsonl.EXPORT.match(file.read(4096).removeprefix(lines.BOM)):
            return None
    found = json_stream.shape(source)
    if "format" in found.names:
        return None
    for name, module in OTHERS.items():
        if found.is_document(module.LISTS) and not set(found.names).isdisjoint(module.LISTS):
            return name
    if not found.is_alone:
        return None
    try:
        return _by_look(islice(json_stream.read(source, ()), LOOK))
    except InvalidInput:  # whoever reads it says what is wrong with it
        return None


def _of_lines(source: Path) -> str:
    return _by_look(islice(lines.read(source), jsonl.FIRST_LINES)) or LINES


def _by_look(found: Iterator[Line]) -> str | None:
    for line in found:
        if line.value is not None:
            return next(
                (name for name, module in OTHERS.items() if module.is_ours(line.value)), None
            )
    return None


def _lines(source: Path, name: str) -> Iterator[Line]:
    """The entries of a file in one of the other forms, wherever they lie in it."""
    module = OTHERS[name]
    if foreign.is_database(source):
        yield from _rows(source, name)
    elif json_stream.shape(source).is_document(module.LISTS):
        yield from json_stream.read(source, module.LISTS)
    else:
        yield from lines.read(source)


def _rows(source: Path, name: str) -> Iterator[Line]:
    """The rows of the tables that a form has, as lines with the names of their columns."""
    number = 0
    for table in foreign.tables(source):
        if TABLES.get(table) != name:
            continue
        for columns in foreign.rows(source, table):
            number += 1
            yield _row(number, columns, skylattice.row if name == "skylattice" else dict)


def _row(number: int, columns: dict[str, Any], shaped: Callable[[Fields], dict[str, Any]]) -> Line:
    line = Line(number, 0, 0, b"", None, None)
    try:
        value = lines.checked({name: _plain(value, name) for name, value in columns.items()})
        return line._replace(value=shaped(value), raw=hashing.encode(value))
    except InvalidInput as error:
        return line._replace(
            problem=error.message,
            raw=hashing.encode({name: shown(one) for name, one in columns.items()}),
        )


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, bytes):
        raise InvalidInput(f"{name} is {len(value):,} bytes, where a text or a number is needed")
    return value
