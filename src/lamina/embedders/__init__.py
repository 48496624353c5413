"""Turn texts into vectors of length 1, one file for each kind of embedder.

Nothing heavy is loaded before a text is embedded. This room knows `home` and what is below it,
and no store.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lamina.errors import EmbedderFailed, InvalidInput
from lamina.text.words import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 1024
KNOWN = ("none", "wordllama", "minilm", "sentence-transformers:<model>", "openai:<model>")


class Embedder(Protocol):
    """Makes vectors of texts."""

    @property
    def name(self) -> str:
        """The vector space. Under another name, every text has to be embedded again."""

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Make one row of length 1 for each text, whatever else is in the batch.

        A text without any token is a row of zeros.
        """


def create(
    spec: str, *, cache: Path, endpoint: str, key: str | None, timeout: float
) -> Embedder | None:
    """Create the embedder that a setting names, or None. Cheap: the model is loaded when used."""
    match spec.partition(":"):
        case "none", "", "":
            return None
        case "wordllama", "", "":
            from lamina.embedders import wordllama

            return wordllama.shared()
        case "minilm", "", "":
            from lamina.embedders.minilm import MiniLM

            return MiniLM(cache)
        case "sentence-transformers", _, model if model:
            from lamina.embedders.sentence import SentenceModel

            return SentenceModel(model)
        case "openai", _, model if model:
            from lamina.embedders.endpoint import Endpoint

            return Endpoint(endpoint, model, key, timeout)
    raise InvalidInput(f"embedder {shown(spec)} is not one of {', '.join(KNOWN)}")


def required(module: str, remedy: str) -> Any:
    """Import an optional module, or raise the error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise EmbedderFailed(f"{module} cannot be imported ({error}); {remedy}") from error


def sound(vectors: Any, name: str) -> NDArray[np.float32]:
    """Check vectors that another program made, as rows.

    None that is not a number, infinite, or nothing but zeros can be compared.
    """
    import numpy as np

    with np.errstate(over="ignore"):  # what is too large becomes infinite, which is looked for
        rows = np.asarray(vectors, np.float64).astype(np.float32)
    if not np.isfinite(rows).all():
        raise EmbedderFailed(f"{name} made a vector with a number that is infinite or not a number")
    if not rows.any(axis=1).all():
        raise EmbedderFailed(f"{name} made a vector of zeros for a text that is not empty")
    return rows


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale every row of an array to length 1, in place; a row of zeros stays as it is."""
    import numpy as np

    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        # In double precision the square of a finite number is neither infinite nor lost.
        lengths = np.sqrt(np.square(block, dtype=np.float64).sum(axis=1, keepdims=True))
        lengths[lengths == 0] = 1
        block[:] = block / lengths
    return rows
