"""Elements of JSON documents: the same as a parser of the whole would find, one at a time."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput, NotFound
from lamina.formats import json_stream
from lamina.formats.lines import MAX_LINE, Line

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.text(st.characters(exclude_categories=["Cs"]).filter(lambda c: c != "\0")),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text('ab"\\[]{},:é', max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text('ab"\\]}é', max_size=4), VALUES, max_size=4)
LAYOUTS = st.sampled_from(
    [
        {},
        {"indent": 2},
        {"ensure_ascii": False},
        {"separators": (",", ":")},
        {"indent": "\t", "ensure_ascii": False},
    ]
)


def read(path: Path, text: str | bytes, *lists: str) -> list[Line]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(json_stream.read(path, lists))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "document.json"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("documents") / "document.json"


@given(st.lists(OBJECTS, max_size=5), LAYOUTS, st.integers(1, 40))
def test_a_list_is_read_as_it_is(
    shared: Path, elements: list[Any], layout: dict[str, Any], window: int
) -> None:
    """H5: whatever the elements hold and wherever a window over the file ends, they are what a
    parser of the whole finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", window)
        assert [line.value for line in read(shared, json.dumps(elements, **layout))] == elements


@given(
    st.lists(OBJECTS, max_size=3),
    st.lists(OBJECTS, max_size=3),
    SCALARS,
    LAYOUTS,
    st.integers(1, 40),
)
def test_lists_are_found_by_name(
    shared: Path,
    first: list[Any],
    second: list[Any],
    beside: Any,
    layout: dict[str, Any],
    window: int,
) -> None:
    """H5: the elements of the lists with known names, in their order; plain values beside them are
    of no account."""
    whole = {"count": beside, "results": first, "next": None, "relations": second}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", window)
        found = read(shared, json.dumps(whole, **layout), "results", "relations")
    assert [line.value for line in found] == [*first, *second]


@given(st.lists(OBJECTS, min_size=1, max_size=3), LAYOUTS, st.data())
def test_a_document_that_was_cut_off_is_no_document(
    shared: Path, elements: list[Any], layout: dict[str, Any], data: st.DataObject
) -> None:
    """H5: a file that ends too early is an error of the whole, wherever it ends."""
    text = json.dumps(elements, **layout)
    with pytest.raises(InvalidInput, match="not JSON"):
        read(shared, text[: data.draw(st.integers(0, len(text) - 1))])


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_an_error(shared: Path, data: bytes) -> None:
    """H5: nothing but a typed error comes of what is no document."""
    with suppress(InvalidInput):
        for line in read(shared, data, "a"):
            assert (line.value is None) != (line.problem is None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a list or an object is needed, but the file ends"),
        ("5", "a list or an object is needed"),
        ('[{"a": 1} {"b": 2}]', ", is needed instead of '{'"),
        ('[{"a": 1},]', "there is a comma before the end"),
        ("[,]", "a value is needed"),
        ("[] []", "something follows the end"),
        ('{"a" 1}', ": is needed instead of '1'"),
        ("{1: 2}", "a name is needed"),
        ("[{", "a value has no end"),
        ("[\n\n{}\nx", "in line 4"),
        ('{"' + "n" * 2000 + '": 1}', "a name has more than"),
    ],
)
def test_what_is_wrong_is_said(path: Path, text: str, problem: str) -> None:
    """H5: the error names the line and what is needed there, and says that nothing was imported."""
    with pytest.raises(InvalidInput, match="nothing was imported") as error:
        read(path, text)
    assert problem in error.value.message


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        ("5", "this is a number"),
        ('{"a": 1, "a": 2}', "occurs twice"),
        ('{"a": 1e999}', "not a number that JSON can hold"),
        ('{"a": NaN}', "NaN"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON that can be stored"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested"),
        ('{"a": "\\u0000"}', "NUL"),
        ('{"a": "\\ud800"}', "surrogate"),
        ("{a}", "not JSON"),
    ],
)
def test_a_bad_element_spoils_no_other(path: Path, element: str, problem: str) -> None:
    """H5, B5: an element that no memory can hold says so, with its line; those around
    it are read."""
    first, bad, last = read(path, '[{"x": 1},\n' + element + ',\n{"y": 2}]')
    assert (first.value, last.value) == ({"x": 1}, {"y": 2})
    assert (bad.value, bad.number) == (None, 2)
    assert problem in str(bad.problem)


def test_bytes_that_are_no_text(path: Path) -> None:
    """H5: NUL bytes and wrong encodings are a fault of their element; a byte order mark is
    none at all."""
    found = read(path, b'\xef\xbb\xbf[{"a": "\xff"}, {"a": "\0"}, {"a": "b"}]')
    assert [line.value for line in found] == [None, None, {"a": "b"}]
    with pytest.raises(InvalidInput):
        read(path, '[{"a": 1}]'.encode("utf-16"))


def test_an_object_without_lists_is_one_element(path: Path) -> None:
    """H5: a single record is a document too."""
    (only,) = read(path, '{\n"memory": "x",\n"categories": ["a"]\n}', "results")
    assert only.value == {"memory": "x", "categories": ["a"]}
    assert b"\n" not in only.raw


def test_a_strange_list_is_named(path: Path) -> None:
    """H5: a list that nobody knows is not dropped in silence; one that is empty says nothing."""
    known, strange = read(path, '{"extra": [1, 2], "none": [ ], "results": [{"a": 1}]}', "results")
    assert known.value == {"a": 1}
    assert strange.problem == "the list 'extra' is none of results"
    assert strange.end - strange.start == len("[1, 2]")


def test_a_huge_element_is_passed_in_bounds(path: Path) -> None:
    """H5: an element of many megabytes is named and not kept in memory, nor is the rest
    of the document."""
    with path.open("wb") as file:
        file.write(b'[{"a": "')
        for _ in range(50):
            file.write(b"x" * 1024 * 1024)
        file.write(b'"}, {"b": 1}' + b', {"c": "' + b"y" * 1024 + b'"}' * 1 + b"]")
    tracemalloc.start()
    huge, small, _ = json_stream.read(path, ())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert small.value == {"b": 1}
    assert huge.value is None
    assert f"{MAX_LINE:,} are allowed" in str(huge.problem)
    assert peak < 8 * MAX_LINE


def test_a_missing_file(tmp_path: Path) -> None:
    """H5: what is not there is not found; a folder is no file."""
    with pytest.raises(NotFound):
        list(json_stream.read(tmp_path / "nothing", ()))
    with pytest.raises(InvalidInput, match="is not a file"):
        list(json_stream.read(tmp_path, ()))
