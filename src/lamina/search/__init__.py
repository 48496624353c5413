"""Search: from a question to ranked, explained hits and to the context for a model.

Rankers score the records in a snapshot of the store; indexing keeps the index up to date. This
package never changes a record.
"""

from collections.abc import Collection

RANKERS = ("hybrid", "keyword", "semantic", "overlap", "exact")
QUICK = frozenset({"none", "wordllama"})


def is_quick(embedders: Collection[str]) -> bool:
    """Tell whether embedding is fast enough to be done while other work waits."""
    return QUICK.issuperset(name.partition("-")[0] for name in embedders)
