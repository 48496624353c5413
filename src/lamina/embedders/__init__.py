"""Turn texts into vectors of length 1: one module for each kind of embedder.

Nothing heavy is loaded before a text is embedded. This package imports `home` and what is below
it, and never the store.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from lamina.errors import EmbedderFailed, InvalidInput
from lamina.text.words import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 1024
KNOWN = (
    *("none", "wordllama", "minilm", "e5", "bge-zh"),
    *("sentence-transformers:<model>", "openai:<model>"),
)


class Scale(msgspec.Struct, frozen=True):
    """The distribution of cosines between unrelated texts.

    Some models spread them around 0, others keep them close to .75.
    """

    base: float
    spread: float

    def likeness(self, cosine: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn cosines into likenesses: 0 for unrelated texts, 1 for the same text."""
        return (cosine - self.base) / (1 - self.base)

    def cosine(self, likeness: float) -> float:
        """Return the cosine of a likeness."""
        return self.base + likeness * (1 - self.base)

    @property
    def steps(self) -> float:
        """The number of spreads between likeness 0 and 1."""
        return (1 - self.base) / self.spread


class Means(NamedTuple):
    """The mean vectors of many passages and of many questions."""

    passage: NDArray[np.float32]
    question: NDArray[np.float32]


class Passages(NamedTuple):
    """Texts as they are stored: a vector each, and the codes of their tokens, if the model has any.

    A code holds the signs of a token's projections on some directions, packed into bytes.
    """

    vectors: NDArray[np.float32]
    tokens: Sequence[bytes] | None = None


class Asked(NamedTuple):
    """A question: its vector, and a row of integers for each of its tokens, if there are any."""

    vector: NDArray[np.float32]
    tokens: NDArray[np.float32] | None = None


class Embedder(Protocol):
    """Turns texts into vectors. A text is either a stored passage or a question."""

    @property
    def name(self) -> str:
        """The name of the vector space. When it changes, every text must be embedded again."""

    @property
    def dimensions(self) -> int: ...

    @property
    def scale(self) -> Scale | None:
        """The scale of its cosines; None if it has to be estimated from a store."""

    @property
    def matches(self) -> Scale | None:
        """The scale of its token matches; None if it has no token vectors."""

    @property
    def means(self) -> Means | None:
        """The mean vectors, if they have to be subtracted to make vectors comparable."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a row of length 1 for each passage, independent of the rest of the batch.

        A text without tokens gets a row of zeros.
        """

    def read(self, texts: Sequence[str]) -> Passages:
        """Return the vectors of passages and the codes of their tokens."""

    def ask(self, question: str) -> Asked:
        """Return the vector of a question and the vectors of its tokens."""


class VectorsOnly:
    """Base of embedders without token vectors that treat a question like a passage."""

    scale: Scale | None = None
    matches: Scale | None = None
    means: Means | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError

    def read(self, texts: Sequence[str]) -> Passages:
        return Passages(self.embed(texts))

    def ask(self, question: str) -> Asked:
        return Asked(self.embed([question])[0])


def create(
    spec: str, *, cache: Path, endpoint: str, key: str | None, timeout: float
) -> Embedder | None:
    """Create the embedder that a setting names, or None. The model is loaded on first use."""
    match spec.partition(":"):
        case "none", "", "":
            return None
        case "wordllama", "", "":
            from lamina.embedders import wordllama

            return wordllama.shared()
        case "minilm" | "e5" | "bge-zh" as name, "", "":
            from lamina.embedders import encoder

            return encoder.Encoder(encoder.KINDS[name], cache)
        case "sentence-transformers", _, model if model:
            from lamina.embedders.sentence import SentenceModel

            return SentenceModel(model)
        case "openai", _, model if model:
            from lamina.embedders.endpoint import Endpoint

            return Endpoint(endpoint, model, key, timeout)
    raise InvalidInput(f"embedder {shown(spec)} is not one of {', '.join(KNOWN)}")


def required(module: str, remedy: str) -> Any:
    """Import an optional module, or raise an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise EmbedderFailed(f"{module} cannot be imported ({error}); {remedy}") from error


def sound(vectors: Any, name: str) -> NDArray[np.float32]:
    """Check the rows of vectors that another program computed.

    Rows that contain NaN or infinity, or only zeros, cannot be compared.
    """
    import numpy as np

    with np.errstate(over="ignore"):  # too large values become infinite, which is checked below
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
