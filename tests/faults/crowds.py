"""Many processes that work on one store at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.faults.harness import Child


@contextmanager
def crowd(people: int, script: str, *arguments: object) -> Iterator[list[Child]]:
    """Processes that are all ready to begin at once. Each is given its name after
    the other arguments."""
    with ExitStack() as stack:
        children = [stack.enter_context(Child(script, *arguments, f"p{n}")) for n in range(people)]
        for child in children:
            child.hear()
        yield children
