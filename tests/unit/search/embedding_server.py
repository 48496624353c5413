"""An endpoint for embeddings that does what a test wants."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

from tests.http_fakes import FakeServer, Handler

Vector = list[float]


def hashed(text: str, dimensions: int = 24) -> Vector:
    """A vector of a text that is the same wherever it is made: a sum over its words."""
    sums = [0.001] * dimensions
    for word in text.casefold().split():
        digest = hashlib.sha256(word.encode()).digest()
        sums = [number + (byte - 127.5) / 128 for number, byte in zip(sums, digest, strict=False)]
    return sums


class EmbeddingHandler(Handler):
    """One request, answered as the test says."""

    server: EmbeddingServer
    model: str

    def do_POST(self) -> None:  # noqa: N802 - the name that the library calls
        question = json.loads(self.body())
        texts, self.model = question["input"], question["model"]
        self.server.asked.append(texts)
        self.server.play(self, texts)

    def vectors(self, vectors: Sequence[Vector]) -> None:
        self.answer(json.dumps({"data": [{"embedding": vector} for vector in vectors]}).encode())


Play = Callable[[EmbeddingHandler, list[str]], None]


def good(handler: EmbeddingHandler, texts: list[str]) -> None:
    handler.vectors([hashed(text) for text in texts])


class EmbeddingServer(FakeServer):
    """A server with the settings that name it, and what it was asked."""

    def __init__(self) -> None:
        super().__init__(EmbeddingHandler)
        self.play: Play = good
        self.asked: list[list[str]] = []
        self.settings = {
            "recall.endpoint": f"{self.url}/v1",
            "recall.embedders": ["openai:tiny"],
            "recall.timeout_ms": 5000,
        }
