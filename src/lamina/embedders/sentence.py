"""Use any model for the library sentence-transformers that is on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lamina.embedders import VectorsOnly, required, sound, unit
from lamina.errors import EmbedderFailed
from lamina.text.words import one_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SentenceModel(VectorsOnly):
    """A model, given by its name on the hub or the path of its folder. It is never downloaded."""

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
        if filled := [index for index, text in enumerate(texts) if text.strip()]:
            rows[filled] = self._vectors([texts[index] for index in filled])
        return unit(rows)

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        # One at a time: padding to the longest of a batch would change the vectors of the others.
        options = {"batch_size": 1, "show_progress_bar": False, "convert_to_numpy": True}
        try:
            vectors = self._library_model.encode(texts, **options)
        except (RuntimeError, ValueError) as error:
            problem = one_line(str(error), 200)
            raise EmbedderFailed(f"the model {self.model!r} failed: {problem}") from error
        return sound(vectors, self.name)

    @cached_property
    def _library_model(self) -> Any:
        library = required("sentence_transformers", "`pip install sentence-transformers`")
        try:
            return library.SentenceTransformer(self.model, local_files_only=True)
        except Exception as error:  # the library and those below it raise all kinds
            name = "SentenceTransformer"
            fetch = f"from sentence_transformers import {name}; {name}({self.model!r})"
            raise EmbedderFailed(
                f"the model {self.model!r} cannot be loaded: {one_line(str(error), 200)};"
                f' if it is not on this machine, fetch it once: python -c "{fetch}"'
            ) from error
