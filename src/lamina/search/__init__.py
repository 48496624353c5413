"""Search: from a question to ranked, explained hits."""

from collections.abc import Collection

RANKERS = ("hybrid", "keyword", "semantic", "overlap", "exact")
QUICK = frozenset({"none", "wordllama"})


def is_quick(embedders: Collection[str]) -> bool:
    """Tell whether embedding is so quick that it may be done in passing."""
    return QUICK.issuperset(name.partition("-")[0] for name in embedders)
