"""Filters on metadata: plain values, also those of inner mappings and lists."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory, Operator
from lamina.errors import InvalidInput
from lamina.model import hashing
from lamina.search import RANKERS
from lamina.store.tables import facets
from tests.cases import every
from tests.conftest import Desk
from tests.unit.strategies import JSON, TEXTS


@every(
    ("metadata", "expected"),
    [
        ({}, set()),
        ({"a": "x"}, {("a", "x")}),
        ({"a": "X "}, {("a", "X ")}),
        ({"a": True, "b": False}, {("a", "true"), ("b", "false")}),
        (
            {"a": 3, "b": -1, "c": 0.5, "d": 1e300},
            {("a", "3"), ("b", "-1"), ("c", "0.5"), ("d", "1e300")},
        ),
        ({"a": None}, set()),
        ({"a": {"b": {"c": 1}}, "d": {}}, {("a.b.c", "1")}),
        ({"a": ["x", "y", "x"]}, {("a", "x"), ("a", "y")}),
        ({"a": [[1, [2]], {"b": 3}, None, []]}, {("a", "1"), ("a", "2"), ("a.b", "3")}),
        ({"a": "x" * 256, "b": "x" * 257}, {("a", "x" * 256)}),
        ({"": "x", "a": ""}, {("", "x"), ("a", "")}),
        ({"猫": "手"}, {("猫", "手")}),
    ],
)
def test_what_can_be_filtered_by(metadata: dict[str, Any], expected: set[tuple[str, str]]) -> None:
    """Q3: every plain value under its name; inner ones under a dotted name, those of lists each on
    their own."""
    assert set(facets.of(metadata)) == expected


@given(st.dictionaries(TEXTS, JSON, max_size=4))
def test_any_metadata_has_facets(metadata: dict[str, Any]) -> None:
    """Q3: whatever metadata holds, its facets are pairs of texts that a filter could ask for."""
    for name, value in facets.of(metadata):
        assert isinstance(name, str)
        assert isinstance(value, str)
        assert len(value) <= max(hashing.MAX_FACET, 400)


@every("ranker", RANKERS)
@every(
    ("wanted", "expected"),
    [
        ({"status": "pending"}, {1, 2}),
        ({"status": "Pending"}, set()),
        ({"status": "pending", "retry": 2}, {2}),
        ({"retry": 2}, {2, 3}),
        ({"ok": True}, {1}),
        ({"ok": False}, {2}),
        ({"tool.name": "curl"}, {3}),
        ({"labels": "b"}, {1, 3}),
        ({"labels": "b", "retry": 2}, {3}),
        ({"half": 0.5}, {3}),
        ({"none": "null"}, set()),
        ({"unknown": 1}, set()),
        ({}, {1, 2, 3, 4}),
    ],
)
def test_filters_on_metadata(
    mem: Memory, ranker: str, wanted: dict[str, Any], expected: set[int]
) -> None:
    """Q3: all given names must have the given value, exactly, whatever the ranker."""
    mem.remember_many(
        [
            {
                "content": "green tea",
                "metadata": {"status": "pending", "ok": True, "labels": ["a", "b"]},
            },
            {"content": "green tea", "metadata": {"status": "pending", "retry": 2, "ok": False}},
            {
                "content": "green tea",
                "metadata": {"retry": 2, "tool": {"name": "curl"}, "labels": [["b"]], "half": 0.5},
            },
            {"content": "green tea"},
        ]
    )
    assert {
        hit.record.seq for hit in mem.search("green tea", metadata=wanted, ranker=ranker)
    } == expected


@every(
    "metadata",
    [
        "status=pending",
        ["status"],
        5,
        {"a": None},
        {"a": [1]},
        {"a": {"b": 1}},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": "x" * 257},
        {"x" * 257: "a"},
        {"a": b"x"},
        {5: "x"},
        {None: "x"},
        {"a": object()},
        {"a": "\ud800"},
        {"\ud800": "a"},
        {"a": 10**400},
    ],
)
def test_what_no_filter_is(mem: Memory, metadata: Any) -> None:
    """Q3: a filter that is no plain value is an error, not a filter that nothing passes."""
    mem.remember("tea")
    with pytest.raises(InvalidInput, match="metadata"):
        mem.search("tea", metadata=metadata)


def test_facets_are_made_again(
    desk: Desk, op: Operator, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Q3, H5: reindexing and importing give the same facets as remembering."""
    op.remember_many(
        [
            {"content": f"tea {n}", "metadata": {"n": n, "deep": {"list": [n, "x"]}}}
            for n in range(20)
        ]
    )

    def table(handle: Operator) -> list[Any]:
        return (
            handle._scope.store.database.reader()
            .execute("SELECT * FROM facets ORDER BY 1, 2, 3")
            .fetchall()
        )

    before = table(op)
    assert len(before) == 60
    op.reindex()
    assert table(op) == before
    path = op.export()
    with Desk(tmp_path_factory.mktemp("other")) as there:
        twin = there.operator(store_id=None)
        twin.import_(path, trust=True)
        assert table(twin) == before
        stranger = there.operator("milton", store_id=None)
        stranger.import_(path)
        assert table(stranger) == before


def test_names_and_values_are_no_sql(mem: Memory) -> None:
    """Q3: quotes, wildcards and separators in a filter are taken as they are."""
    odd = ["'", '"', "%", "_", "*", "a,b", "1;2", "--", "\\", "a b", "\n"]
    mem.remember_many(
        [{"content": f"tea {n}", "metadata": {value: value}} for n, value in enumerate(odd)]
    )
    for n, value in enumerate(odd):
        assert [
            hit.record.content
            for hit in mem.search("tea", metadata={value: value}, ranker="keyword")
        ] == [f"tea {n}"]
