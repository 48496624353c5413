"""Draw a lineage: sources to the left, what was made of them to the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lamina.model.record import State
from lamina.surfaces.http.console.formatting import brief, fitted, when, wrapped

WIDTH, HEIGHT = 152, 60  # two columns fit on the screen of a phone
ACROSS, DOWN = 24, 10
MARGIN = 4
ROOM = 26  # above and below, for lines that bypass a column
CORNER = 20
TALLEST = 6  # boxes in a column; others are only in the table
LETTERS = 20
DETAILS = 24
EVIDENCE = "evidence"
LABEL = 80  # letters for screen readers


class Node(NamedTuple):
    """A box of the drawing."""

    id: str
    x: int
    y: int
    label: str
    lines: Sequence[str]
    detail: str
    tone: str
    is_record: bool
    is_here: bool


class Edge(NamedTuple):
    """A line from a memory to its source."""

    path: str
    relation: str


class Drawing(NamedTuple):
    """Boxes and lines, and how many nodes did not fit."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    width: int
    height: int
    left_out: int
    ends_here: bool  # the record itself is in the right half
    node_width: int = WIDTH
    node_height: int = HEIGHT


def draw(graph: Mapping[str, Any]) -> Drawing:
    """Draw a graph in the form that the API returns."""
    here = graph["record"]
    standing = {node["id"] for node in graph["nodes"] if node.get("state") == State.ACTIVE}
    columns = {
        column: _limited(sorted(ids, key=lambda one: one not in standing), here)
        for column, ids in _columns(graph).items()
    }
    column_of = {name: column for column, names in columns.items() for name in names}
    shown = _telling(
        [edge for edge in graph["edges"] if edge["from"] in column_of and edge["to"] in column_of]
    )
    room = ROOM if _passes(shown, column_of) else 0
    corners = _corners(columns, room)
    nodes = [
        _node(node, corners[node["id"]], here) for node in graph["nodes"] if node["id"] in corners
    ]
    height = max(map(len, columns.values())) * (HEIGHT + DOWN) - DOWN + 2 * (MARGIN + room)
    width = len(columns) * (WIDTH + ACROSS) - ACROSS + 2 * MARGIN
    edges = [
        Edge(_line(corners[edge["from"]], corners[edge["to"]], height), edge["relation"])
        for edge in shown
    ]
    left_out = len(graph["nodes"]) - len(nodes)
    ends_here = 2 * corners[here][0] > width - WIDTH
    return Drawing(nodes, edges, width, height, left_out, ends_here)


def _telling(edges: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Omit evidence that a replaced record already has: the chain leads there."""
    resting = {(edge["from"], edge["to"]) for edge in edges if edge["relation"] == EVIDENCE}
    replaced: dict[str, list[str]] = {}
    for edge in edges:
        if edge["relation"] != EVIDENCE:
            replaced.setdefault(edge["from"], []).append(edge["to"])
    return [
        edge
        for edge in edges
        if edge["relation"] != EVIDENCE
        or not any((one, edge["to"]) in resting for one in replaced.get(edge["from"], ()))
    ]


def _passes(edges: Sequence[Mapping[str, str]], column_of: Mapping[str, int]) -> bool:
    """Return whether a line bypasses a column, which needs space above or below."""
    return any(abs(column_of[edge["from"]] - column_of[edge["to"]]) > 1 for edge in edges)


def _corners(columns: Mapping[int, Sequence[str]], room: int) -> dict[str, tuple[int, int]]:
    """Compute the upper left corner of each box; shorter columns are centred."""
    tallest = max(map(len, columns.values()))
    corners = {}
    for column, ids in columns.items():
        x = MARGIN + column * (WIDTH + ACROSS)
        top = MARGIN + room + (tallest - len(ids)) * (HEIGHT + DOWN) // 2
        for row, name in enumerate(ids):
            corners[name] = (x, top + row * (HEIGHT + DOWN))
    return corners


def _columns(graph: Mapping[str, Any]) -> dict[int, list[str]]:
    """Place each node to the right of its evidence and of what it has replaced."""
    edges = [(edge["from"], edge["to"]) for edge in graph["edges"]]
    rank = {node["id"]: 0 for node in graph["nodes"]}
    for _ in rank:  # enough for the longest path; a cycle, which cannot occur, ends here too
        late = [
            (source, rank[target] + 1) for source, target in edges if rank[source] <= rank[target]
        ]
        if not late:
            break
        for source, least in late:
            rank[source] = max(rank[source], least)
    column_of = {value: column for column, value in enumerate(sorted(set(rank.values())))}
    columns: dict[int, list[str]] = {}
    for name, value in rank.items():
        columns.setdefault(column_of[value], []).append(name)
    return columns


def _limited(ids: Sequence[str], here: str) -> Sequence[str]:
    """Select as many as fit, current ones first, and always the record being drawn."""
    return ids[:TALLEST] if here not in ids[TALLEST:] else [here, *ids[: TALLEST - 1]]


def _node(node: Mapping[str, Any], corner: tuple[int, int], here: str) -> Node:
    name = node["id"]
    if not node["is_record"]:
        label, lines = brief(name, LABEL), wrapped(name, LETTERS)
        return Node(name, *corner, label, lines, "not in the store", "reference", False, False)
    day = when(node["occurred_at"], "%Y-%m-%d")
    standing = node["layer"] if node["state"] == State.ACTIVE else node["state"]
    detail = fitted(f"{standing} · {day}".replace("_", " "), DETAILS)
    tone = f"layer-{node['layer']} state-{node['state']}"
    label, lines = brief(node["content"], LABEL), wrapped(node["content"], LETTERS)
    return Node(name, *corner, label, lines, detail, tone, True, name == here)


def _line(box: tuple[int, int], source: tuple[int, int], height: int) -> str:
    """Draw a curve from a box's left side to its source's right side.

    A long curve goes above or below what is between.
    """
    if box[0] - source[0] == WIDTH + ACROSS:
        x, y = box[0], box[1] + HEIGHT // 2
        end_x, end_y = source[0] + WIDTH, source[1] + HEIGHT // 2
        middle = (x + end_x) // 2
        return f"M{x} {y} C{middle} {y} {middle} {end_y} {end_x} {end_y}"
    is_low = 2 * source[1] + HEIGHT > height
    side, level = (HEIGHT, height - MARGIN) if is_low else (0, MARGIN)
    x, end_x = box[0] + CORNER, source[0] + WIDTH - CORNER
    return f"M{x} {box[1] + side} C{x} {level} {end_x} {level} {end_x} {source[1] + side}"
