"""An endpoint that speaks the protocol of OpenAI for embeddings: a server of one's own, or a service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import SplitResult

import msgspec

from lamina.embedders import sound, unit
from lamina.errors import EmbedderFailed
from lamina.home.http_client import Service
from lamina.text.words import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 64
MAX_CHARACTERS = (
    8_192  # of a text; servers take some thousand tokens, and refuse or cut what is longer
)
MAX_ANSWER = 32 * 1024 * 1024  # bytes; 64 vectors of 4096 numbers are 6 MB


class Item(msgspec.Struct):
    """One vector of an answer, and the place of its text in the question."""

    embedding: list[float]
    index: int | None = None


class Answer(msgspec.Struct):
    """What an endpoint answers; the rest of it is of no interest."""

    data: list[Item]


class Endpoint:
    """A model behind an address. Each request has `timeout` seconds from beginning to end."""

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

        # An empty text means nothing, and most servers refuse it.
        asked = [
            (place, text[:MAX_CHARACTERS])
            for place, text in enumerate(texts)
            if text[:MAX_CHARACTERS].strip()
        ]
        found: dict[int, NDArray[np.float32]] = {}
        for start in range(0, len(asked), BATCH):
            batch = asked[start : start + BATCH]
            found.update(
                zip(
                    (place for place, _ in batch),
                    self._vectors([text for _, text in batch]),
                    strict=True,
                )
            )
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for place, vector in found.items():
            rows[place] = vector
        return unit(rows)

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """The vectors of a batch as the server gave them, checked and in order."""
        question = {"model": self.model, "input": texts, "encoding_format": "float"}
        items = self._ordered(
            self._service.post("embeddings", msgspec.json.encode(question)), len(texts)
        )
        widths = {len(item.embedding) for item in items} | ({self._width} if self._width else set())
        if len(widths) != 1 or 0 in widths:
            raise self._service.failed(
                f"answered with vectors of different dimensions: {', '.join(map(str, sorted(widths)))}"
            )
        rows = sound([item.embedding for item in items], self.name)
        self._width = widths.pop()
        return rows

    def _ordered(self, data: bytes, count: int) -> list[Item]:
        try:
            items = msgspec.json.decode(data, type=Answer).data
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._service.failed(
                f"answered with something else than vectors ({error})"
            ) from None
        if len(items) != count:
            raise self._service.failed(f"answered with {len(items)} vectors for {count} texts")
        if all(item.index is None for item in items):
            return items
        places = {item.index: item for item in items}
        if set(places) != set(range(count)):
            raise self._service.failed(
                f"numbered the vectors of {count} texts as {shown([item.index for item in items])}"
            )
        return [places[place] for place in range(count)]
