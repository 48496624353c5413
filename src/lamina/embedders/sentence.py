"""Any model of the library sentence-transformers that is on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lamina.embedders import required, sound, unit
from lamina.errors import EmbedderFailed
from lamina.text.words import one_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SentenceModel:
    """A model by its name on the hub, or by the path of its folder. Nothing is downloaded unless the user does it."""

    def __init__(self, model: str) -> None:
        self.model = model

    @property
    def name(self) -> str:
        return f"sentence-transformers:{self.model}"

    @cached_property
    def dimensions(self) -> int:
        return len(self._vectors(["dimensions"])[0])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        rows = np.zeros((len(texts), self.dimensions), np.float32)
        if places := [place for place, text in enumerate(texts) if text.strip()]:
            rows[places] = self._vectors([texts[place] for place in places])
        return unit(rows)

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            # One at a time, because padding to the longest of a batch would change the vectors of the others.
            made = self._loaded.encode(
                texts, batch_size=1, show_progress_bar=False, convert_to_numpy=True
            )
        except (RuntimeError, ValueError) as error:
            raise EmbedderFailed(
                f"the model {self.model!r} failed: {one_line(str(error), 200)}"
            ) from error
        return sound(made, self.name)

    @cached_property
    def _loaded(self) -> Any:
        library = required("sentence_transformers", "`pip install sentence-transformers`")
        fetch = f"from sentence_transformers import SentenceTransformer; SentenceTransformer({self.model!r})"
        try:
            return library.SentenceTransformer(self.model, local_files_only=True)
        except Exception as error:  # the library and those below it raise all kinds
            raise EmbedderFailed(
                f"the model {self.model!r} cannot be loaded: {one_line(str(error), 200)};"
                f' if it is not on this machine, fetch it once: python -c "{fetch}"'
            ) from error
