"""What a writer is told to remember, and what became of it; run as a script, it is a child that
does what it is told."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import lamina
import lamina.model.clock
from lamina.memory.runs import Run

LONG: dict[str, Any] = {
    "layer": "episodic",
    "metadata": {"participants": ["Ana"], "raw_hash": "ab12"},
}
WAYS = ("short", "short", "long", "keyed", "many", "note")


class Task(NamedTuple):
    """Some texts that are in the store together, once, when they are acknowledged; a key says that
    it is done again."""

    way: str
    texts: list[str]
    key: str | None = None


def drawn(name: str, chance: random.Random, number: int) -> list[Task]:
    """Tasks for one writer, no two with the same words, but some of them twice with
    the same key."""
    tasks = []
    for place in range(number):
        way, text = chance.choice(WAYS), f"{name} task {place}"
        if way == "many":
            tasks.append(
                Task(way, [f"{text} part {part}" for part in range(chance.randrange(2, 40))])
            )
        elif way == "keyed":
            tasks += [Task(way, [text], text)] * chance.randrange(1, 4)
        else:
            tasks.append(
                Task(way, [text if chance.random() < 0.8 else f"{text} {'and so on ' * 2000}"])
            )
    return tasks


def remembered(memory: lamina.Memory, run: Run, task: Task) -> list[lamina.Record]:
    if task.way == "many":
        return memory.remember_many([{"content": text, "tags": ["many"]} for text in task.texts])
    (text,) = task.texts
    if task.way == "note":
        return [run.note(text)]
    return [memory.remember(text, key=task.key, **(LONG if task.way == "long" else {}))]


def done(memory: lamina.Memory, run: Run, task: Task) -> dict[str, Any]:
    """Do a task, and say how long it took and where it is now, or why it is not."""
    began = time.monotonic()
    try:
        made = remembered(memory, run, task)
    except lamina.LaminaError as error:
        return {
            "seconds": time.monotonic() - began,
            "place": "nowhere",
            "error": f"{error.code}: {error.message}",
        }
    seconds = time.monotonic() - began
    assert [record.content for record in made] == task.texts
    return {"seconds": seconds, "place": made[0].stored_in}


def hold(memory: lamina.Memory) -> None:
    """Stand in the middle of a write for as long as somebody listens."""
    with memory._scope.store.change(
        memory.actor, "remember", lamina.model.clock.system_clock()
    ) as transaction:
        transaction.insert([memory._scope.draft({"content": "never"})])
        print("held", flush=True)
        sys.stdin.read()
        raise SystemExit


def main(home: str, agent: str, retry_ms: str, *others: str) -> None:
    with lamina.open(agent, home=Path(home), settings={"store.retry_ms": int(retry_ms)}) as memory:
        if others:
            hold(memory)
        run = memory.run("write")
        print(run.id, flush=True)
        for line in sys.stdin:
            outcome = done(memory, run, Task(*json.loads(line)))
            print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
