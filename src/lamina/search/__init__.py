"""Search: from a question to ranked, explained hits and to the context for a model.

Rankers score what a snapshot of the store shows; indexing keeps that up to date. This room changes
no record.
"""

from collections.abc import Collection

RANKERS = ("hybrid", "keyword", "semantic", "overlap", "exact")
QUICK = frozenset({"none", "wordllama"})


def is_quick(embedders: Collection[str]) -> bool:
    """Tell whether embedding is so quick that it may be done in passing."""
    return QUICK.issuperset(name.partition("-")[0] for name in embedders)
