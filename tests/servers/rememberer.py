"""A child that remembers what it is told, with a Weaviate that is required, and says how long each
took: run as a script."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import lamina
import lamina.model.clock

DIE, DEATH = "die in the middle", 9
SHORT: dict[str, Any] = {"layer": "short_term"}
LONG: dict[str, Any] = {
    "layer": "episodic",
    "metadata": {"participants": ["Ana"], "raw_hash": "ab12"},
}


def remembered(memory: lamina.Memory, text: str) -> dict[str, Any]:
    """One memory, short-term or long-term by its text, and what became of it."""
    began = time.monotonic()
    try:
        record = memory.remember(text, **(SHORT if text.endswith("short") else LONG))
    except lamina.LaminaError as error:
        return {"text": text, "error": error.message, "seconds": time.monotonic() - began}
    return {"text": text, "place": record.stored_in, "seconds": time.monotonic() - began}


def die(memory: lamina.Memory) -> None:
    """End when Weaviate has taken a memory, and the store has not committed it."""
    with (
        memory._parts.failsafe.turn(),
        memory._scope.store.change(
            memory.actor, "remember", lamina.model.clock.system_clock()
        ) as transaction,
    ):
        memory._parts.remember.insert(transaction, [memory._scope.draft({"content": DIE})])
        os._exit(DEATH)


def main(home: str, agent: str, url: str) -> None:
    settings = {"mirrors.weaviate": url, "mirrors.weaviate_required": True}
    with lamina.open(agent, home=Path(home), settings=settings) as memory:
        for line in sys.stdin:
            for text in json.loads(line):
                if text == DIE:
                    die(memory)
                print(json.dumps(remembered(memory, text)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
