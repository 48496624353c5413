"""Lines of a JSONL file: every one is read or says what is wrong with it, and none
stops the others."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput, NotFound
from lamina.formats import lines
from tests.cases import every
from tests.unit.strategies import JSON, TEXTS

PROBLEMS = [
    (b'{"content": "tea"', "not JSON"),
    (b"tea", "not JSON: Expecting value at column 1"),
    (b"{'content': 'tea'}", "not JSON"),
    (b'{"a": 1} {"b": 2}', "Extra data at column 10"),
    (b'{"content": "a\tb"}', "Invalid control character at column 15"),
    (b"[1]", "this is a list, where an object"),
    (b'"tea"', "this is a text"),
    (b"7", "this is a number"),
    (b"true", "this is true or false"),
    (b"null", "this is null"),
    (b'{"a": 1, "b": 2, "a": 3}', "the name 'a' occurs twice"),
    (b'{"metadata": {"x": 1, "x": 1}}', "the name 'x' occurs twice"),
    (b'{"importance": NaN}', "NaN is not a number that JSON can hold"),
    (b'{"importance": -Infinity}', "-Infinity is not"),
    (b'{"metadata": {"x": 1e999}}', "metadata.x inf is not a number"),
    (b'{"metadata": {"x": 9223372036854775808}}', "does not fit into 64 bits"),
    (b'{"x": ' + b"1" * 5000 + b"}", "digits"),
    (b'{"content": "\xff"}', "the byte at column 14 is not UTF-8"),
    (b'{"content": "\xed\xa0\x80"}', "is not UTF-8"),
    (b'{"content": "a\0b"}', "there is a NUL byte at column 15"),
    (b"\0" * 40, "there is a NUL byte at column 1"),
    ('{"a": 1}'.encode("utf-16"), "is the file UTF-16?"),
    (b'{"content": "a\\u0000b"}', "content contains a NUL character at position 1"),
    (b'{"content": "\\ud800"}', "content contains half a surrogate pair"),
    (b'{"a\\u0000": 1}', "a name contains a NUL"),
    (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    (b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}", "nested deeper than 32 levels"),
    (b"{" + b'"' + b"n" * 300 + b'": NaN}', "NaN"),
]


def written(folder: Path, content: bytes) -> Path:
    path = folder / "lines.jsonl"
    path.write_bytes(content)
    return path


def values(path: Path) -> list[Any]:
    return [(line.number, line.value) for line in lines.read(path)]


@every(("raw", "message"), PROBLEMS)
def test_what_is_wrong_is_said(tmp_path: Path, raw: bytes, message: str) -> None:
    """B5: a bad line says what is wrong, keeps its bytes, and the lines around it are read."""
    path = written(tmp_path, b'{"n": 1}\n' + raw + b'\n{"n": 3}\n')
    first, bad, last = lines.read(path)
    assert (first.value, last.value) == ({"n": 1}, {"n": 3})
    assert bad.value is None
    assert message in (bad.problem or "")
    assert (bad.number, bad.raw) == (2, raw)
    assert path.read_bytes()[bad.start : bad.end] == raw + b"\n"


def test_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    """B5: blank lines are skipped and counted; a byte order mark and Windows line ends are no part
    of a line."""
    path = written(
        tmp_path, b'\xef\xbb\xbf{"n": 1}\r\n\r\n  \t \n{"n": 4}\r\n\n{"n": "6\xc2\x85\xe2\x80\xa8"}'
    )
    assert values(path) == [(1, {"n": 1}), (4, {"n": 4}), (6, {"n": "6\x85\u2028"})]


def test_a_mark_elsewhere_is_no_mark(tmp_path: Path) -> None:
    """B5: a byte order mark inside the file, where two files were joined, is reported."""
    (_, second) = lines.read(written(tmp_path, b'{"n": 1}\n\xef\xbb\xbf{"n": 2}\n'))
    assert "not JSON" in (second.problem or "")


def test_a_torn_line_is_told_from_a_wrong_one(tmp_path: Path) -> None:
    """B5: the last line of a file that was cut off says so; a whole one without a line
    end is read."""
    (_, torn) = lines.read(written(tmp_path, b'{"n": 1}\n{"content": "te'))
    assert "the file ends in the middle of this line" in (torn.problem or "")
    assert values(written(tmp_path, b'{"n": 1}\n{"n": 2}')) == [(1, {"n": 1}), (2, {"n": 2})]
    (wrong,) = lines.read(written(tmp_path, b"tea\n"))
    assert "ends" not in (wrong.problem or "")


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_that_is_too_long(tmp_path: Path, end: bytes) -> None:
    """B5: a line of more than 4 MiB is reported with its size, whatever its size, in little memory;
    the next is read."""
    size = 10 * lines.MAX_LINE
    path = written(tmp_path, b'{"n": 1}\n' + b"x" * size + b'\n{"n": 3}' + end)
    tracemalloc.start()
    first, long, last = [line._replace(raw=line.raw[:10]) for line in lines.read(path)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (first.value, last.value, last.number) == ({"n": 1}, {"n": 3}, 3)
    assert long.problem == f"the line has {size + 1:,} bytes; {lines.MAX_LINE:,} are allowed"
    assert (long.start, long.end) == (9, 9 + size + 1)
    assert peak < 4 * lines.MAX_LINE


def test_the_longest_line_is_read(tmp_path: Path) -> None:
    """B5: a line of exactly 4 MiB is a line."""
    raw = b'{"content": "' + b"x" * (lines.MAX_LINE - 16) + b'"}\n'
    assert len(raw) == lines.MAX_LINE
    (line,) = lines.read(written(tmp_path, raw))
    assert line.problem is None


def test_what_is_no_file(tmp_path: Path) -> None:
    """B5: a missing file, a folder and a pipe are errors that name them."""
    with pytest.raises(NotFound, match="there is no file"):
        list(lines.read(tmp_path / "nowhere.jsonl"))
    with pytest.raises(InvalidInput, match="is not a file"):
        list(lines.read(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="is not a file"):
        list(lines.read(tmp_path / "pipe"))
    assert values(written(tmp_path, b"")) == values(written(tmp_path, lines.BOM)) == []


@given(
    st.lists(st.dictionaries(TEXTS, JSON, max_size=4), max_size=6),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_every_object_comes_through(
    tmp_path_factory: pytest.TempPathFactory, objects: list[dict[str, Any]], escaped: bool, end: str
) -> None:
    """B5: whatever JSON can hold is read as it was written, escaped or not."""
    text = "".join(json.dumps(one, ensure_ascii=escaped) + end for one in objects)
    path = written(tmp_path_factory.mktemp("lines"), text.encode())
    assert values(path) == list(enumerate(objects, 1))


@given(
    st.lists(
        st.binary(max_size=30) | st.sampled_from([b"\n", b'{"n": 1}\n', b'{"n"', b"\xef\xbb\xbf"]),
        max_size=12,
    )
)
def test_any_bytes_are_lines(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    """B5: no content of a file stops the reading, and no byte but blank lines is left out."""
    content = b"".join(pieces)
    found = list(lines.read(written(tmp_path_factory.mktemp("lines"), content)))
    assert all((line.value is None) != (line.problem is None) for line in found)
    told = [content[line.start : line.end].strip() for line in found]
    expected = [line.strip() for line in content.split(b"\n")]
    if expected[0] == lines.BOM:  # a mark and nothing else
        expected[0] = b""
    assert told == [line for line in expected if line]
