"""The file formats: recognise them by their content, and read each accordingly."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
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
# Formats that may also be one document or a database, with the names of their lists and tables.
OTHERS: Mapping[str, ModuleType] = {
    "skylattice": skylattice,
    "sentinel": sentinel,
    "mem0": mem0,
    "mcp-memory": mcp_memory,
}
TABLES: Mapping[str, str] = {
    "episodes": "sentinel",
    "facts": "sentinel",
    sentinel.CORE_TABLE: "sentinel",
    skylattice.TABLE: "skylattice",
    mem0.TABLE: "mem0",
}
NAMES = (OURS, "sky", "milton", *OTHERS)
SIMPLE: Mapping[str, Callable[[Fields], list[Entry]]] = {
    "sky": lambda line: [sky.entry_of(line)],
    "milton": milton.entries_of,
}
LOOK = 64  # how many names or lines are examined to recognise a file


def form_for(source: Path, name: str | None) -> Form | None:
    """Choose how to read a file; None for an export of ours."""
    if name is not None and name not in NAMES:
        raise InvalidInput(
            f"unknown format {shown(name)}; known are {', '.join(NAMES)}", known=list(NAMES)
        )
    _refuse_zeros(source)
    form = name or detect(source)
    if form == LINES:
        return jsonl.LINES
    if form in SIMPLE:
        return Form(form, SIMPLE[form])
    if form != OURS:
        return Form(form, OTHERS[form].entries_of, lambda path: _lines(path, form))
    if name is not None and jsonl.detect(source) == "lines":
        return Form(OURS, lambda line: [entries.record_entry(line)])
    return None


def _refuse_zeros(source: Path) -> None:
    """Raise for a file that begins with a NUL byte: no format does, and the file may be endless."""
    with lines.opened(source) as file:
        if file.read(1) == b"\0":
            raise InvalidInput(
                f"{source} begins with a NUL byte: it is neither text nor a database;"
                " nothing was imported"
            )


def detect(source: Path) -> str:
    """Name the format of a file by its content."""
    if foreign.is_database(source):
        return _of_database(source)
    return _of_document(source) or (OURS if jsonl.detect(source) == "ours" else _of_lines(source))


def _of_database(source: Path) -> str:
    tables = foreign.tables(source)
    if {"records", "events", "meta"} <= set(tables):
        raise InvalidInput(
            f"{source} is a store of Lamina;"
            " `lamina export` there makes a file that can be imported"
        )
    for table, name in TABLES.items():
        if table in tables:
            return name
    raise InvalidInput(
        f"{source} is a database without any of the tables {', '.join(TABLES)};"
        f" found are {shown(tables)}"
    )


def _of_document(source: Path) -> str | None:
    """Name the format of a file that is one JSON document; None for any other file."""
    with lines.opened(source) as file:
        if jsonl.EXPORT.match(file.read(4096).removeprefix(lines.BOM)):
            return None
    shape = json_stream.shape(source)
    if "format" in shape.names:
        return None
    for name, module in OTHERS.items():
        if shape.is_document(module.LISTS) and not set(shape.names).isdisjoint(module.LISTS):
            return name
    if not shape.is_alone:
        return None
    try:
        return _of_first_object(islice(json_stream.read(source, ()), LOOK))
    except InvalidInput:  # the actual reading will say what is wrong with it
        return None


def _of_lines(source: Path) -> str:
    return _of_first_object(islice(lines.read(source), jsonl.FIRST_LINES)) or LINES


def _of_first_object(candidates: Iterator[Line]) -> str | None:
    """Name the format of the first line that holds an object; None if no format matches it."""
    value = next((line.value for line in candidates if line.value is not None), None)
    if value is None:
        return None
    return next((name for name, module in OTHERS.items() if module.is_ours(value)), None)


def _lines(source: Path, name: str) -> Iterator[Line]:
    """Yield the entries of a database, of a document or of lines."""
    module = OTHERS[name]
    if foreign.is_database(source):
        yield from _rows(source, name)
    elif json_stream.shape(source).is_document(module.LISTS):
        yield from json_stream.read(source, module.LISTS)
    else:
        yield from lines.read(source)


def _rows(source: Path, name: str) -> Iterator[Line]:
    """Yield the rows of the tables of a format, as lines with the names of the columns."""
    number = 0
    for table in foreign.tables(source):
        if TABLES.get(table) != name:
            continue
        for columns in foreign.rows(source, table):
            number += 1
            yield _row(number, columns, OTHERS[name].COLUMNS)


def _row(number: int, columns: dict[str, Any], known: Collection[str]) -> Line:
    """Turn a row into a line. Bytes in a column that the format does not have are left out."""
    lost = tuple(
        name for name, value in columns.items() if isinstance(value, bytes) and name not in known
    )
    line = Line(number, 0, 0, b"", None, None, lost)
    try:
        kept = entries.unplaced(columns, lost)
        _refuse_bytes(kept)
        value = lines.checked(kept)
        return line._replace(value=value, raw=hashing.encode(value))
    except InvalidInput as error:
        raw = hashing.encode({name: shown(value) for name, value in columns.items()})
        return line._replace(problem=error.message, raw=raw)


def _refuse_bytes(columns: dict[str, Any]) -> None:
    for name, value in columns.items():
        if isinstance(value, bytes):
            size = f"{len(value):,} bytes"
            raise InvalidInput(f"{name} is {size}, where a text or a number is needed")
