"""One of many processes that open a fresh home at the same moment, home after home."""

from __future__ import annotations

import json
import sys
from functools import partial

import lamina

from .common import outcome, say


def visit(home: str, name: str) -> None:
    """Open the store, leave a memory, and say which store it was."""
    with lamina.open("sky", home=home) as memory:
        memory.remember(f"memory of {name}", tags=[name], key=name)
        say(store=memory.status()["store"])


def main(name: str) -> None:
    say(ready=name)
    for line in sys.stdin:
        how = outcome(partial(visit, json.loads(line)["home"], name))
        if how != "done":
            say(store=how)


if __name__ == "__main__":
    main(*sys.argv[1:])
