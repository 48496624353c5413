"""A lineage as a drawing: sources to the left, what came of them to the right. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lamina.surfaces.http.console.words import fitted, when

WIDTH, HEIGHT = 228, 58
ACROSS, DOWN = 56, 16
MARGIN = 6
ROOM = 30  # above and below, for lines that go past a column
CORNER = 24
TALLEST = 10  # boxes in a column; the others are in the table
LETTERS = 30
DETAILS = 36


class Node(NamedTuple):
    """A box of the drawing."""

    id: str
    x: int
    y: int
    line: str
    detail: str
    tone: str
    is_record: bool
    is_here: bool


class Edge(NamedTuple):
    """A line from a memory to its source."""

    path: str
    relation: str


class Drawing(NamedTuple):
    """Boxes and lines, and how many found no room."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    width: int
    height: int
    left_out: int
    ends_here: bool  # what it is about stands in the right half
    node_width: int = WIDTH


def drawn(graph: Mapping[str, Any]) -> Drawing:
    """The drawing of a graph as the API gives it."""
    here = graph["record"]
    kept = {column: _kept(ids, here) for column, ids in _columns(graph).items()}
    places = _places(kept)
    nodes = [
        _node(node, places[node["id"]], here) for node in graph["nodes"] if node["id"] in places
    ]
    edges = [edge for edge in graph["edges"] if edge["from"] in places and edge["to"] in places]
    tall = max(map(len, kept.values())) * (HEIGHT + DOWN) - DOWN + 2 * (MARGIN + ROOM)
    lines = [
        Edge(_line(places[edge["from"]], places[edge["to"]], tall), edge["relation"])
        for edge in edges
    ]
    wide = len(kept) * (WIDTH + ACROSS) - ACROSS + 2 * MARGIN
    return Drawing(
        nodes,
        lines,
        wide,
        tall,
        len(graph["nodes"]) - len(nodes),
        2 * places[here][0] > wide - WIDTH,
    )


def _places(kept: Mapping[int, Sequence[str]]) -> dict[str, tuple[int, int]]:
    """Where each box has its upper left corner."""
    tallest = max(map(len, kept.values()))
    return {
        name: (
            MARGIN + column * (WIDTH + ACROSS),
            MARGIN + ROOM + _top(tallest, len(ids)) + place * (HEIGHT + DOWN),
        )
        for column, ids in kept.items()
        for place, name in enumerate(ids)
    }


def _columns(graph: Mapping[str, Any]) -> dict[int, list[str]]:
    """Which memories stand above each other: each is to the right of everything that it rests on or has replaced."""
    edges = [(edge["from"], edge["to"]) for edge in graph["edges"]]
    rank = {node["id"]: 0 for node in graph["nodes"]}
    for _ in (
        rank
    ):  # enough for the longest way; a ring, which nobody could have made, would end here too
        later = [(one, rank[other] + 1) for one, other in edges if rank[one] <= rank[other]]
        if not later:
            break
        for one, least in later:
            rank[one] = max(rank[one], least)
    order = {value: place for place, value in enumerate(sorted(set(rank.values())))}
    found: dict[int, list[str]] = {}
    for name, value in rank.items():
        found.setdefault(order[value], []).append(name)
    return found


def _kept(ids: Sequence[str], here: str) -> Sequence[str]:
    """As many as find room, and the one that the drawing is about."""
    return ids[:TALLEST] if here not in ids[TALLEST:] else [here, *ids[: TALLEST - 1]]


def _top(tallest: int, number: int) -> int:
    """Where a shorter column begins, so that its middle is that of the others."""
    return (tallest - number) * (HEIGHT + DOWN) // 2


def _node(node: Mapping[str, Any], place: tuple[int, int], here: str) -> Node:
    name = node["id"]
    if not node["is_record"]:
        return Node(
            name, *place, fitted(name, LETTERS), "not in the store", "reference", False, False
        )
    detail = f"{node['layer']} · {node['state']} · {when(node['occurred_at'], '%Y-%m-%d')}".replace(
        "_", " "
    )
    tone = f"layer-{node['layer']} state-{node['state']}"
    return Node(
        name,
        *place,
        fitted(node["content"], LETTERS),
        fitted(detail, DETAILS),
        tone,
        True,
        name == here,
    )


def _line(one: tuple[int, int], other: tuple[int, int], tall: int) -> str:
    """A curve from the left side of a box to the right side of its source; a long one goes over or under what is between."""
    if one[0] - other[0] == WIDTH + ACROSS:
        (x, y), (end_x, end_y) = (
            (one[0], one[1] + HEIGHT // 2),
            (other[0] + WIDTH, other[1] + HEIGHT // 2),
        )
        middle = (x + end_x) // 2
        return f"M{x} {y} C{middle} {y} {middle} {end_y} {end_x} {end_y}"
    is_low = 2 * other[1] + HEIGHT > tall
    side, level = (HEIGHT, tall - MARGIN) if is_low else (0, MARGIN)
    x, end_x = one[0] + CORNER, other[0] + WIDTH - CORNER
    return f"M{x} {one[1] + side} C{x} {level} {end_x} {level} {end_x} {other[1] + side}"
