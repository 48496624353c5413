"""The aim of a prompt: the words and the meaning with which texts are compared. Pure."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lamina.embedders.wordllama import shared
from lamina.errors import EmbedderFailed
from lamina.search import content, segments
from lamina.search.segments import Asks
from lamina.text import cues, fence, words

RICH = 1.0  # the least content of a segment that says what it asks for
END = 2000  # characters that are read at each end of a long prompt
STEM = 5  # letters that forms of a word share: "deploy", "deployed", "deploying"
ROOT = 4  # letters that forms of a short word share: "live" and "lives"


class Aim:
    """The part of a prompt that asks for something, or else the whole prompt."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self._found: dict[str, list[tuple[int, int, str]]] = {}

    @cached_property
    def text(self) -> str:
        """The segments that ask most clearly and name what they ask for."""
        pieces = segments.split(self.prompt)
        asking = [
            piece.asks if weigh(words.terms(piece.text)) >= RICH else Asks.NOT for piece in pieces
        ]
        clearest = max(asking)
        if clearest is Asks.NOT:
            return self.prompt
        chosen = (p.text for p, asks in zip(pieces, asking, strict=True) if asks == clearest)
        return " ".join(chosen)

    @cached_property
    def weights(self) -> dict[str, float]:
        """The content of each word, by its stem."""
        weights: dict[str, float] = {}
        for word in words.terms(self.text):
            stem = word[:STEM]
            weights[stem] = max(content.weight(word), weights.get(stem, 0.0))
        return weights

    @cached_property
    def wanted(self) -> int:
        """The cue that an answer has, such as a date or a place."""
        return cues.wanted(self.text)

    @cached_property
    def vector(self) -> NDArray[np.float32] | None:
        return _vectors([" ".join(words.terms(self.text))])[0] if self.weights else None

    def shared(self, text: str) -> float:
        """Return the content of the words that a text shares with the aim."""
        stems = {word[:STEM] for word in words.tokens(text)}
        return sum(weight for stem, weight in self.weights.items() if stem in stems)

    def densest(self, text: str, width: int) -> int:
        """Find where the part of a text begins that shares most with the aim.

        Of several, take the last: an answer more often follows the words of its question.
        """
        known = self._places(text)
        best, place = 0.0, 0
        for start, _, _ in known:
            within = {stem for at, end, stem in known if start <= at and end <= start + width}
            if (weight := sum(self.weights[stem] for stem in within)) >= best:
                best, place = weight, start
        first = {stem for _, end, stem in known if end <= width}
        return place if best > sum(self.weights[stem] for stem in first) else 0

    def _places(self, text: str) -> list[tuple[int, int, str]]:
        """Find the words of the aim in a text; cached, since it is called repeatedly."""
        if text not in self._found:
            self._found[text] = [
                (found.start(), found.end(), stem)
                for found in words.WORD.finditer(text)
                if (stem := found.group().casefold()[:STEM]) in self.weights
            ]
        return self._found[text]

    def beyond(self, text: str) -> float:
        """Return the content of the prompt's words that a text lacks in any inflection."""
        roots = {word[:ROOT] for word in words.terms(text)}
        return sum(weight for stem, weight in self.weights.items() if stem[:ROOT] not in roots)

    def likeness(self, texts: list[str]) -> list[float]:
        """Compare the meaning of texts with the aim; 0 if there are no word vectors."""
        try:
            if self.vector is not None:
                return [round(float(one), 6) for one in _vectors(texts) @ self.vector]
        except EmbedderFailed:
            pass
        return [0.0] * len(texts)


def ends(prompt: str) -> str:
    """Keep both ends of a long prompt, without our own contexts: the middle is mostly pasted."""
    own = fence.unfenced(prompt).strip()
    return own if len(own) <= 2 * END else f"{own[:END]}\n{own[-END:]}"


def weigh(terms: tuple[str, ...]) -> float:
    """Return the total content of words."""
    return sum(map(content.weight, terms))


def _vectors(texts: list[str]) -> NDArray[np.float32]:
    return shared().embed(texts)
