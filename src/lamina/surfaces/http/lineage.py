"""The sources of a memory, and what was made of it, as a graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from lamina.memory.agent import Memory
from lamina.model.clock import is_id
from lamina.model.record import Record, iso

MOST = 200


def graph(memory: Memory, record_id: str) -> dict[str, Any]:
    """Follow a record's evidence and replacements, nearest first, and what is based on it.

    An edge leads from a record to its evidence, or to what it supersedes. `complete` is False if
    records were left out.
    """
    start = memory.get(record_id)
    nodes: dict[str, dict[str, Any]] = {start.id: _node(start)}
    edges: dict[tuple[str, str, str], None] = {}
    queue, complete = deque([start]), True
    while queue:
        record = queue.popleft()
        links = [*_links(record)]
        fresh = dict.fromkeys(end for edge in links for end in edge[:2] if end not in nodes)
        room = MOST - len(nodes)
        complete = complete and len(fresh) <= room
        for name, reached in _reached(memory, [*fresh][:room]).items():
            if reached is None:
                nodes[name] = _reference(name)
            else:
                nodes[name] = _node(reached)
                queue.append(reached)
        edges |= {edge: None for edge in links if edge[0] in nodes and edge[1] in nodes}
    # Their other evidence does not belong to the lineage; what they replaced of it does.
    above = [name for name in memory.resting_on(start.id) if name not in nodes]
    room = MOST - len(nodes)
    complete = complete and len(above) <= room
    for name, reached in _reached(memory, above[:room]).items():
        if reached is not None:
            nodes[name] = _node(reached)
            edges[name, start.id, "evidence"] = None
            edges |= {(name, old, "supersedes"): None for old in reached.supersedes if old in above}
    edges = {edge: None for edge in edges if edge[1] in nodes}
    return {
        "record": start.id,
        "nodes": [*nodes.values()],
        "edges": [
            {"from": source, "to": target, "relation": relation}
            for source, target, relation in edges
        ],
        "complete": complete,
    }


def _links(record: Record) -> Iterator[tuple[str, str, str]]:
    yield from ((record.id, target, "evidence") for target in record.evidence)
    yield from ((record.id, target, "supersedes") for target in record.supersedes)
    if record.superseded_by is not None:
        yield record.superseded_by, record.id, "supersedes"


def _reached(memory: Memory, names: list[str]) -> dict[str, Record | None]:
    """Get the records with these names; None for what is no record, or not visible.

    Following a link is not a violation, so it is not noted as one.
    """
    ids = [name for name in names if is_id(name)]
    seen = memory.contents(ids) if ids else {}
    return {name: memory.get(name) if name in seen else None for name in names}


def _node(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "is_record": True,
        "layer": record.layer.value,
        "kind": record.kind,
        "state": record.state.value,
        "trust": record.trust.value,
        "occurred_at": iso(record.occurred_at),
        "content": record.content,
    }


def _reference(name: str) -> dict[str, Any]:
    """Describe an address, a path, or a record that is gone or belongs to someone else."""
    return {"id": name, "is_record": False}
