"""Procedures and findings that tests of compaction are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina.engines.compaction import Group
from lamina.model.record import Layer, Record
from tests.unit.engines.samples import record

RADAR = {
    "origin": "radar",
    "topic_tags": ["search"],
    "repo_slug": "ana/finder",
    "source_handle": "ana",
    "source_url": "https://example.org/ana/finder",
    "confidence": 0.8,
    "evidence_refs": ["scan-1"],
}


def known(seq: int, content: str, topics: Any = (), **fields: Any) -> Record:
    """An active semantic record, an hour younger than the one before."""
    given = fields.pop("metadata", {"origin": "promotion", "topic_tags": topics})
    return record(
        seq, given, **{"layer": Layer.SEMANTIC, "kind": "fact", "content": content, **fields}
    )


def procedure(
    seq: int, content: str, workflow: Any = "deploy", canonical: Any = False, **fields: Any
) -> Record:
    given = fields.pop("metadata", {"workflow": workflow, "canonical": canonical})
    return record(
        seq, given, **{"layer": Layer.PROCEDURAL, "kind": "action", "content": content, **fields}
    )


def numbers(groups: Sequence[Group]) -> list[list[int]]:
    """The sources of groups by their sequence numbers."""
    return [[source.seq for source in group.sources] for group in groups]
