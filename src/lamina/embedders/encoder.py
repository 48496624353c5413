"""Run sentence models on the CPU: a vector for each text, and codes of its tokens.

They are slower than word vectors, but take the order of words into account.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lamina.embedders import Asked, Means, Passages, Scale, required, unit
from lamina.errors import EmbedderFailed
from lamina.home import extras

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
# Longer texts are cut here. Tokens with that many characters are rare.
MAX_TOKENS = 256
MAX_CHARACTERS = 16_384
# Log fatal errors only: others are raised anyway, and it warns about GPUs that nobody asked for.
QUIET = 4
DIRECTIONS = 128  # the signs of a token's projections on these are its code
# The vectors of a question's tokens are scaled to this length and rounded: sums of integers are
# exact in any order.
WHOLE = 1024


class Kind(msgspec.Struct, frozen=True):
    """The properties of a model: how it reads a text, and what its cosines mean.

    `constants` is the file that `benchmarks/tokens.py` generated for it.
    """

    name: str  # used in settings and as the name of its folder
    space: str
    dimensions: int
    scale: Scale
    passage: str = ""  # prepended to a passage
    question: str = ""
    by_first: bool = False  # take the vector of the first token, not the mean of all
    constants: str = ""
    matches: Scale = Scale(0.25, 0.06)  # of matches of tokens


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "minilm",
            "all-minilm-l6-v2-384",
            384,
            Scale(0.04, 0.08),
            constants="all-minilm-l6-v2.npy",
        ),
        Kind(
            "e5",
            "e5-small-v2-384",
            384,
            Scale(0.75, 0.021),
            passage="passage: ",
            question="query: ",
            constants="e5-small-v2.npy",
        ),
        Kind(
            "bge-zh",
            "bge-small-zh-v1.5-512",
            512,
            Scale(0.27, 0.08),
            question="为这个句子生成表示以用于检索相关文章：",  # as in its training
            by_first=True,
        ),
    )
}


class Constants(NamedTuple):
    """The means of a model's vectors and tokens, and the directions in which tokens differ."""

    means: Means
    token: NDArray[np.float32]
    directions: NDArray[np.float32]


@lru_cache
def constants(name: str) -> Constants:
    """Read a file of constants: the directions, and the means of tokens, passages and questions."""
    import numpy as np

    with resources.files("lamina.embedders").joinpath(name).open("rb") as file:
        rows = np.load(file, allow_pickle=False).astype(np.float32)
    directions, (token, passage, question) = rows[:DIRECTIONS], rows[DIRECTIONS:]
    return Constants(Means(passage, question), token, np.ascontiguousarray(directions.T))


class Encoder:
    """A model that `models.pull` has put into the cache."""

    def __init__(self, kind: Kind, cache: Path, *, threads: int = 1) -> None:
        self.kind = kind
        self.folder = cache / kind.name
        self.name = kind.space
        self.dimensions = kind.dimensions
        self.scale: Scale | None = kind.scale
        self.threads = threads
        self._loading = Lock()

    @property
    def matches(self) -> Scale | None:
        return self.kind.matches if self.kind.constants else None

    @property
    def means(self) -> Means | None:
        return constants(self.kind.constants).means if self.kind.constants else None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.read(texts).vectors

    def read(self, texts: Sequence[str]) -> Passages:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        codes = []
        for row, text in zip(vectors, texts, strict=True):
            hidden, own = self._read(self.kind.passage, text)
            row[:] = self._pooled(hidden)
            codes.append(self._code(own) if self.kind.constants else b"")
        return Passages(unit(vectors), codes if self.kind.constants else None)

    def ask(self, question: str) -> Asked:
        import numpy as np

        hidden, own = self._read(self.kind.question, question)
        vector = unit(self._pooled(hidden)[None, :])[0]
        if not self.kind.constants:
            return Asked(vector)
        return Asked(vector, np.round(WHOLE * unit(self._projected(own))))

    def _read(self, prefix: str, text: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the states of all tokens, and those of the text's own tokens.

        Run one text at a time, so that the result is bit-identical whatever the batch: padding
        would change it, and batches are hardly faster.
        """
        import numpy as np

        self._load()
        encoded = self._tokenizer.encode(prefix + text[:MAX_CHARACTERS])
        # The markers at both ends and the prefix have no position in the text.
        own = [
            place
            for place, (start, end) in enumerate(encoded.offsets)
            if end > max(start, len(prefix))
        ]
        if not own:
            nothing = np.zeros((0, self.dimensions), np.float32)
            return nothing, nothing
        hidden = self._states(np.array([encoded.ids], np.int64))
        return hidden, hidden[own]

    def _states(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        import numpy as np

        session = self._session
        given = {
            one.name: np.ones_like(tokens)
            if one.name == "attention_mask"
            else np.zeros_like(tokens)
            if one.name == "token_type_ids"
            else tokens
            for one in session.get_inputs()
        }
        try:
            states: NDArray[np.float32] = session.run(None, given)[0][0]
        except Exception as error:  # its exceptions have no common name
            raise self._broken(MODEL, error) from error
        if states.shape != (tokens.shape[1], self.dimensions):
            problem = f"it makes {states.shape} numbers of a text, not one row of"
            raise self._broken(MODEL, f"{problem} {self.dimensions} dimensions for each token")
        return states

    def _pooled(self, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
        import numpy as np

        if not len(hidden):
            return np.zeros(self.dimensions, np.float32)
        if self.kind.by_first:
            first: NDArray[np.float32] = hidden[0]
            return first
        total: NDArray[np.float32] = np.add.reduce(hidden, axis=0)
        return total / np.float32(len(hidden))

    def _projected(self, own: NDArray[np.float32]) -> NDArray[np.float32]:
        import numpy as np

        known = constants(self.kind.constants)
        projected: NDArray[np.float32] = np.matmul(own - known.token, known.directions)
        return projected

    def _code(self, own: NDArray[np.float32]) -> bytes:
        import numpy as np

        return np.packbits(self._projected(own) > 0, axis=1).tobytes()

    def _load(self) -> None:
        """Load the tokenizer and the model once for all threads."""
        if "_session" not in self.__dict__:
            with self._loading:
                _ = self._tokenizer, self._session

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizers, path = required("tokenizers", "`pip install tokenizers`"), self._file(TOKENIZER)
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # it raises plain Exception
            raise self._broken(TOKENIZER, error) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer

    @cached_property
    def _session(self) -> Any:
        runtime, path = required("onnxruntime", extras.remedy("minilm")), self._file(MODEL)
        runtime.set_default_logger_severity(QUIET)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = QUIET
        try:
            return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its exceptions have no common name
            raise self._broken(MODEL, error) from error

    def _file(self, name: str) -> Path:
        if not (path := self.folder / name).is_file():
            problem = f"the model {self.kind.name} is not in {self.folder.parent}"
            raise EmbedderFailed(f"{problem}; {self._pull} fetches it")
        return path

    def _broken(self, name: str, error: object) -> EmbedderFailed:
        problem = f"{str(error)[:200]}; {self._pull} fetches it again"
        return EmbedderFailed(f"{self.folder / name} cannot be used: {problem}")

    @property
    def _pull(self) -> str:
        return f"`lamina model pull {self.kind.name}`"
