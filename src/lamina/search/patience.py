"""Wait for an embedder no longer than a search may take."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from lamina.embedders import Asked, Embedder, Means, Passages, Scale
from lamina.errors import EmbedderFailed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


class Patient:
    """An embedder for one search, with a time limit for everything it is asked.

    What takes longer continues in its thread, since a model that is loaded by then serves the next
    search.
    """

    def __init__(self, embedder: Embedder, seconds: float) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._left = seconds

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def scale(self) -> Scale | None:
        return self._embedder.scale

    @property
    def matches(self) -> Scale | None:
        return self._embedder.matches

    @property
    def means(self) -> Means | None:
        return self._embedder.means

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._wait(lambda: self._embedder.embed(texts))

    def read(self, texts: Sequence[str]) -> Passages:
        return self._wait(lambda: self._embedder.read(texts))

    def ask(self, question: str) -> Asked:
        return self._wait(lambda: self._embedder.ask(question))

    def _wait(self, work: Callable[[], T]) -> T:
        done: list[T] = []
        failed: list[BaseException] = []

        def attempt() -> None:
            try:
                done.append(work())
            except BaseException as error:  # noqa: BLE001 - raised where it was waited for
                failed.append(error)

        thread = threading.Thread(target=attempt, name="lamina-embedder", daemon=True)
        began = time.monotonic()
        thread.start()
        thread.join(max(0.0, self._left))
        self._left -= time.monotonic() - began
        if failed:
            raise failed[0]
        if not done:
            limit = f"{self._seconds * 1000:,.0f} ms (recall.wait_ms)"
            raise EmbedderFailed(f"it was not ready within {limit}", slow=True)
        return done[0]
