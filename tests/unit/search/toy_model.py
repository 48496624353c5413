"""A sentence model that needs no weights: every word has a fixed direction."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from threading import Event
from typing import Any

import numpy as np

from lamina.embedders import Asked, Means, Passages, Scale, unit
from lamina.embedders.encoder import DIRECTIONS, WHOLE

SHARE = 3.0  # what all texts have in common, beside their words


def direction(word: str) -> Any:
    """A direction of -1 and +1 for a word, the same wherever it is asked for."""
    digest = hashlib.shake_128(word.encode()).digest(DIRECTIONS // 8)
    return np.unpackbits(np.frombuffer(digest, np.uint8)).astype(np.float32) * 2 - 1


class ToyModel:
    """Puts unrelated texts at a cosine of about .9, as models of today do, and knows tokens."""

    name = "toy-128"
    dimensions = DIRECTIONS
    scale: Scale | None = Scale(0.9, 0.02)
    matches: Scale | None = Scale(0.25, 0.06)

    def __init__(self) -> None:
        self.ready = Event()
        self.ready.set()
        self.asked: list[str] = []

    @property
    def means(self) -> Means | None:
        common = unit(np.ones((1, DIRECTIONS), np.float32))[0] * np.float32(0.95)
        return Means(common, common)

    def embed(self, texts: Sequence[str]) -> Any:
        return self.read(texts).vectors

    def read(self, texts: Sequence[str]) -> Passages:
        self.ready.wait()
        rows = [self._words(text) for text in texts]
        codes = [np.packbits(row > 0, axis=1).tobytes() for row in rows]
        return Passages(np.stack([self._vector(row) for row in rows]), codes)

    def ask(self, question: str) -> Asked:
        self.ready.wait()
        self.asked.append(question)
        rows = self._words(question)
        return Asked(self._vector(rows), np.round(WHOLE * unit(rows.copy())))

    def _words(self, text: str) -> Any:
        words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
        return np.stack([direction(word) for word in words or [""]])

    def _vector(self, rows: Any) -> Any:
        return unit((rows.mean(axis=0) + SHARE)[None, :].astype(np.float32))[0]
