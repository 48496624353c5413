"""Get embeddings from an endpoint with OpenAI's protocol: a server of your own, or a service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import SplitResult

import msgspec

from lamina.embedders import VectorsOnly, sound, unit
from lamina.errors import EmbedderFailed
from lamina.home.http_client import Service
from lamina.text.words import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 64
# Of a text; servers accept a few thousand tokens, and refuse or cut longer texts.
MAX_CHARACTERS = 8_192
MAX_ANSWER = 32 * 1024 * 1024  # bytes; 64 vectors of 4096 numbers take 6 MB


class Item(msgspec.Struct):
    """One vector of a response, and the index of its text in the request."""

    embedding: list[float]
    index: int | None = None


class Answer(msgspec.Struct):
    """The part of a response that is used."""

    data: list[Item]


class Endpoint(VectorsOnly):
    """A model behind a URL. Each request may take `timeout` seconds in total."""

    def __init__(self, endpoint: str, model: str, key: str | None, timeout: float) -> None:
        self._service = Service(endpoint, key, timeout, MAX_ANSWER, EmbedderFailed)
        self.model = model
        self._width = 0

    @property
    def url(self) -> SplitResult:
        return self._service.url

    @property
    def name(self) -> str:
        return f"openai:{self.url.geturl()}:{self.model}"

    @property
    def dimensions(self) -> int:
        if not self._width:
            self.embed(["dimensions"])
        return self._width

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        # An empty text has no meaning, and most servers refuse it.
        cut = (text[:MAX_CHARACTERS] for text in texts)
        filled = {index: text for index, text in enumerate(cut) if text.strip()}
        indices = list(filled)
        vectors = []
        for start in range(0, len(indices), BATCH):
            batch = indices[start : start + BATCH]
            vectors.append(self._vectors([filled[index] for index in batch]))
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        if vectors:
            rows[indices] = np.concatenate(vectors)
        return unit(rows)

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """Request the vectors of a batch, and return them checked and in order."""
        question = {"model": self.model, "input": texts, "encoding_format": "float"}
        answer = self._service.post("embeddings", msgspec.json.encode(question))
        items = self._in_order(answer, len(texts))
        widths = {len(item.embedding) for item in items} | ({self._width} if self._width else set())
        if len(widths) != 1 or 0 in widths:
            numbers = ", ".join(map(str, sorted(widths)))
            raise self._service.failed(f"answered with vectors of different dimensions: {numbers}")
        rows = sound([item.embedding for item in items], self.name)
        self._width = widths.pop()
        return rows

    def _in_order(self, answer: bytes, count: int) -> list[Item]:
        try:
            items = msgspec.json.decode(answer, type=Answer).data
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            problem = f"answered with something other than vectors ({error})"
            raise self._service.failed(problem) from None
        if len(items) != count:
            raise self._service.failed(f"answered with {len(items)} vectors for {count} texts")
        if all(item.index is None for item in items):
            return items
        by_index = {item.index: item for item in items}
        if set(by_index) != set(range(count)):
            numbers = shown([item.index for item in items])
            raise self._service.failed(f"numbered the vectors of {count} texts as {numbers}")
        return [by_index[index] for index in range(count)]
