"""One of many processes on one store: it opens a handle, waits for the word, and writes."""

from __future__ import annotations

import sys

import lamina

from .common import say


def main(home: str, number: str, name: str) -> None:
    memory = lamina.open("sky", home=home)
    say(ready=name)
    sys.stdin.readline()
    for n in range(int(number)):
        memory.remember(f"memory {n} of {name}", tags=[name], key=f"{name}n{n}")
    memory.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
