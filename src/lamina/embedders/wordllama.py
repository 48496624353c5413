"""WordLlama: the mean of static word vectors. Fast, small, and all of it comes with the package `wordllama`."""

from __future__ import annotations

import importlib.util
import json
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lamina.embedders import unit
from lamina.errors import EmbedderFailed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
TENSOR = "embedding.weight"
DIMENSIONS = 256
# What is behind these is not looked at, so that a long text costs bounded time and memory. A mean hardly moves by then.
MAX_CHARACTERS = 32_768
MAX_TOKENS = 8_192
# The tokenizer writes ▁ for a space. No token has one behind another character, so words can be taken one by one and
# remembered: four times as fast as whole texts. What is longer than a word is cut, to keep what is remembered small.
WORD = re.compile("▁{1,16}[^▁]{0,64}|[^▁]{1,64}")
WORDS_REMEMBERED = 65_536  # all that a large store has; some 10 MB when it is full
FEW = 512  # words that are taken without the tokenizer
NEVER = 1 << 30


class Model(msgspec.Struct, frozen=True):
    """What is needed of the tokenizer's model: the pieces of words, the more frequent ones first."""

    vocab: dict[str, int]


class Tokens(msgspec.Struct, frozen=True):
    """The file of the tokenizer, as far as it is needed."""

    model: Model


class WordLlama:
    """The vectors that the package `wordllama` carries."""

    name = "wordllama-256"
    dimensions = DIMENSIONS

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return unit(means(self._matrix, [self.tokens(text) for text in texts]))

    def embed_words(self, words: Sequence[str], weights: Sequence[float]) -> NDArray[np.float32]:
        """One vector for all words, each with a weight of its own."""
        import numpy as np

        tokens = [self.tokens(word) for word in words]
        every = np.frombuffer(b"".join(tokens), np.uint16)
        shares = np.repeat(np.array(weights, np.float32), [len(some) for some in tokens])
        row = np.add.reduce(self._matrix.take(every, axis=0) * shares[:, None], axis=0)
        vector: NDArray[np.float32] = unit(row[None, :])[0]
        return vector

    def tokens(self, text: str) -> array[int]:
        """The rows of the matrix that make up a text."""
        tokens = array("H")
        if text:
            for word in WORD.findall("▁" + text[:MAX_CHARACTERS].replace(" ", "▁")):
                tokens.extend(self._word(word))
        return tokens[:MAX_TOKENS]

    @cached_property
    def _word(self) -> Callable[[str], array[int]]:
        """From a word to its tokens. The first few need no tokenizer: to make one takes longer than a whole search."""
        vocabulary, left = _vocabulary(), FEW

        def tokens(word: str) -> array[int]:
            nonlocal left
            left -= 1
            found = merged(word, vocabulary) if left >= 0 else None
            return self._tokenizer(word) if found is None else found

        return lru_cache(WORDS_REMEMBERED)(tokens)

    @cached_property
    def _tokenizer(self) -> Callable[[str], array[int]]:
        from tokenizers import Tokenizer

        path = _file(TOKENIZER)
        try:
            # The model alone: the tokenizer around it takes `<s>` for a mark of its own, and starts threads for a batch.
            model = Tokenizer.from_file(str(path)).model
        except Exception as error:  # that is what it raises
            raise EmbedderFailed(
                f"{path} is not a tokenizer: {error}; reinstall the package wordllama"
            ) from error
        return lambda word: array("H", [token.id for token in model.tokenize(word)])

    @cached_property
    def _matrix(self) -> NDArray[np.float16]:
        return mapped(_file(WEIGHTS), TENSOR)


def merged(word: str, vocabulary: Mapping[str, int]) -> array[int] | None:
    """The tokens of a word as the tokenizer has them: of two neighbours those go together first that make the first piece.

    None for a word that only the tokenizer knows how to take: one of characters that are no pieces, or of several spaces.
    """
    parts = list(word)
    if "\u2581" in parts[1:] or not all(part in vocabulary for part in parts):
        return None
    while len(parts) > 1:
        places = [vocabulary.get(left + right, NEVER) for left, right in pairwise(parts)]
        first = min(places)
        if first == NEVER:
            break
        at = places.index(first)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return array("H", [vocabulary[part] for part in parts])


def _vocabulary() -> Mapping[str, int]:
    """The pieces of words; none from a file that is not what it should be, of which the tokenizer says what it is."""
    try:
        return msgspec.json.decode(_file(TOKENIZER).read_bytes(), type=Tokens).model.vocab
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


@lru_cache(1)
def shared() -> WordLlama:
    """One for all handles of a process: it never changes, and its words are remembered once."""
    return WordLlama()


def means(matrix: NDArray[np.float16], texts: Sequence[array[int]]) -> NDArray[np.float32]:
    """The vectors of texts of any length. A row of the matrix is widened once for all of them: that takes longest."""
    import numpy as np

    every = np.frombuffer(b"".join(texts), np.uint16)
    is_used = np.zeros(len(matrix), np.bool_)
    is_used[every] = True
    used = np.flatnonzero(is_used)
    wide = matrix.take(used, axis=0).astype(np.float32)
    places = np.zeros(len(matrix), np.uint16)
    places[used] = np.arange(len(used))
    rows, start = np.zeros((len(texts), DIMENSIONS), np.float32), 0
    for row, tokens in zip(rows, texts, strict=True):
        if tokens:
            row[:] = mean(wide.take(places.take(every[start : start + len(tokens)]), axis=0))
            start += len(tokens)
    return rows


def mean(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    found: NDArray[np.float32] = np.add.reduce(vectors, axis=0) / np.float32(len(vectors))
    return found


def mapped(path: Path, tensor: str) -> NDArray[np.float16]:
    """A tensor of a safetensors file as it lies on disk; a page of it is read when a word needs it."""
    import numpy as np

    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header: dict[str, Any] = json.loads(file.read(min(size, path.stat().st_size)))
        found = header[tensor]
        if found["dtype"] != "F16" or found["shape"][1:] != [DIMENSIONS]:
            raise EmbedderFailed(
                f"{path} holds {found['dtype']} {found['shape']}, not F16 of {DIMENSIONS} columns"
            )
        offset = 8 + size + found["data_offsets"][0]
        # As a plain array: the class memmap does the same and is slower.
        return np.asarray(np.memmap(path, np.float16, "r", offset, tuple(found["shape"])))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbedderFailed(
            f"{path} is not the file of word vectors: {error!r}; reinstall the package wordllama"
        ) from error


def is_here() -> bool:
    return _found(WEIGHTS) is not None and _found(TOKENIZER) is not None


def _file(name: str) -> Path:
    path = _found(name)
    if path is None:
        raise EmbedderFailed(
            f"the package wordllama with its file {name} is not here; `pip install wordllama`"
        )
    return path


def _found(name: str) -> Path | None:
    """A file of the package, which is not imported: that takes 150 ms, and sets up logging for everybody."""
    spec = importlib.util.find_spec("wordllama")
    folders = (spec and spec.submodule_search_locations) or []
    return next((path for folder in folders if (path := Path(folder) / name).is_file()), None)
