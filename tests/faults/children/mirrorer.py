"""Remembers, with a mirror in ChromaDB behind it, so that a kill or an error of the disk can come
in between."""

from __future__ import annotations

import importlib

import lamina

from .common import Operating, nursery, say

SETTINGS = {"mirrors.chroma": "embedded", "recall.embedders": ["none"]}
# What Chroma imports when it is first used. It must not be used before the fork: its threads would
# not be there after it.
MODULES = (
    "chromadb.api.client",
    "chromadb.api.rust",
    "chromadb.api.shared_system_client",
    "chromadb.telemetry.product.posthog",
    "chromadb_rust_bindings",
    "lamina.memory.agent",
    "lamina.mirrors.chroma_embedded",
    "lamina.mirrors.upkeep",
)


class Mirrorer(Operating):
    """A process that holds a handle with a mirror."""

    def open(self, home: str) -> None:
        self._operator = lamina.operator("sky", home=home, settings=SETTINGS)

    def remember(self, texts: list[str]) -> None:
        self.operator.remember_many({"content": text, "key": text} for text in texts)

    def sync(self) -> None:
        self.operator.sync_mirrors()

    def rebuild(self) -> None:
        self.operator.rebuild_mirrors()

    def write(self, name: str) -> None:
        """Remember one after the other, for ever, while the mirror follows behind."""
        number = 0
        while True:
            text = f"memory {number} of {name}"
            self.operator.remember(text, key=text)
            say(done=text)
            if number % 5 == 4:
                self.operator.sync_mirrors()
                say(synced=number)
            number += 1


def warm() -> None:
    for name in MODULES:
        importlib.import_module(name)


if __name__ == "__main__":
    nursery(Mirrorer, warm)
