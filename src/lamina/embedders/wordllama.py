"""Embed texts as the mean of static word vectors: fast, small, from the package `wordllama`."""

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

from lamina.embedders import Scale, VectorsOnly, unit
from lamina.errors import EmbedderFailed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
TENSOR = "embedding.weight"
DIMENSIONS = 256
# Longer texts are cut here, so that time and memory are bounded. The mean hardly changes after
# that many tokens.
MAX_CHARACTERS = 32_768
MAX_TOKENS = 8_192
# The tokenizer writes ▁ for a space. No token has one after another character, so words can be
# tokenised one by one and cached, which is four times as fast as whole texts. Longer runs are cut
# to keep the cache small.
WORD = re.compile("▁{1,16}[^▁]{0,64}|[^▁]{1,64}")
WORDS_REMEMBERED = 65_536  # enough for all words of a large store; about 10 MB when full
FEW = 512  # words that are split without the tokenizer, and words of questions that are kept
NEVER = 1 << 30


class Model(msgspec.Struct, frozen=True):
    """The part of the tokenizer's model that is used: the pieces of words, most frequent first."""

    vocab: dict[str, int]


class Tokens(msgspec.Struct, frozen=True):
    """The part of the tokenizer's file that is used."""

    model: Model


class WordLlama(VectorsOnly):
    """The vectors that the package `wordllama` contains."""

    name = "wordllama-256"
    dimensions = DIMENSIONS
    scale = Scale(0.0, 0.1)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return unit(means(self._matrix, [self.tokens(text) for text in texts]))

    def embed_words(self, words: Sequence[str], weights: Sequence[float]) -> NDArray[np.float32]:
        """Return one vector for all words, each with its own weight."""
        import numpy as np

        tokens = [*map(self._spoken, words)]
        every = np.frombuffer(b"".join(tokens), np.uint16)
        shares = np.repeat(np.array(weights, np.float32), list(map(len, tokens)))
        row = np.add.reduce(self._matrix.take(every, axis=0) * shares[:, None], axis=0)
        vector: NDArray[np.float32] = unit(row[None, :])[0]
        return vector

    def length(self, word: str) -> float:
        """Return the length of a word's vector: the more informative the word, the longer."""
        import numpy as np

        rows = self._matrix.take(np.frombuffer(self.tokens(word), np.uint16), axis=0)
        total = np.add.reduce(rows, axis=0, dtype=np.float64)
        return float(np.sqrt(np.vecdot(total, total)))

    def tokens(self, text: str) -> array[int]:
        """List the rows of the matrix that make up a text."""
        tokens = array("H")
        if text:
            for word in WORD.findall("▁" + text[:MAX_CHARACTERS].replace(" ", "▁")):
                tokens.extend(self._word(word))
        return tokens[:MAX_TOKENS]

    @cached_property
    def _spoken(self) -> Callable[[str], array[int]]:
        """List the tokens of a word of a question; questions repeat their words."""
        return lru_cache(FEW)(self.tokens)

    @cached_property
    def _word(self) -> Callable[[str], array[int]]:
        """Turn a word into its tokens.

        The first few do without the tokenizer: loading it takes longer than a whole search.
        """
        vocabulary, left = _vocabulary(), FEW

        def tokens(word: str) -> array[int]:
            nonlocal left
            left -= 1
            pieces = merged(word, vocabulary) if left >= 0 else None
            return self._tokenizer(word) if pieces is None else pieces

        return lru_cache(WORDS_REMEMBERED)(tokens)

    @cached_property
    def _tokenizer(self) -> Callable[[str], array[int]]:
        from tokenizers import Tokenizer

        path = _file(TOKENIZER)
        try:
            # Use the model alone: the tokenizer around it treats `<s>` as a special token, and
            # starts threads for a batch.
            model = Tokenizer.from_file(str(path)).model
        except Exception as error:  # it raises plain Exception
            problem = f"{path} is not a tokenizer: {error}"
            raise EmbedderFailed(f"{problem}; reinstall the package wordllama") from error
        return lambda word: array("H", [token.id for token in model.tokenize(word)])

    @cached_property
    def _matrix(self) -> NDArray[np.float16]:
        return mapped(_file(WEIGHTS), TENSOR)


def merged(word: str, vocabulary: Mapping[str, int]) -> array[int] | None:
    """Split a word as the tokenizer does: merge first the neighbours that form the earliest piece.

    Return None for a word that only the tokenizer can split: one with characters that are not
    pieces, or with several spaces.
    """
    parts = list(word)
    if "\u2581" in parts[1:] or not all(part in vocabulary for part in parts):
        return None
    while len(parts) > 1:
        ranks = [vocabulary.get(left + right, NEVER) for left, right in pairwise(parts)]
        first = min(ranks)
        if first == NEVER:
            break
        at = ranks.index(first)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return array("H", [vocabulary[part] for part in parts])


def _vocabulary() -> Mapping[str, int]:
    """Read the pieces of words; none if the file is damaged, which the tokenizer will report."""
    try:
        return msgspec.json.decode(_file(TOKENIZER).read_bytes(), type=Tokens).model.vocab
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


@lru_cache(1)
def shared() -> WordLlama:
    """Return the one instance that all handles of a process share, with its cache of words."""
    return WordLlama()


def means(matrix: NDArray[np.float16], texts: Sequence[array[int]]) -> NDArray[np.float32]:
    """Average the word vectors of each text. Widen each row only once: that takes longest."""
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

    total: NDArray[np.float32] = np.add.reduce(vectors, axis=0)
    return total / np.float32(len(vectors))


def mapped(path: Path, tensor: str) -> NDArray[np.float16]:
    """Memory-map a tensor of a safetensors file; its pages are read when a word needs them."""
    import numpy as np

    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header: dict[str, Any] = json.loads(file.read(min(size, path.stat().st_size)))
        entry = header[tensor]
        dtype, shape = entry["dtype"], entry["shape"]
        if dtype != "F16" or shape[1:] != [DIMENSIONS]:
            raise EmbedderFailed(f"{path} holds {dtype} {shape}, not F16 of {DIMENSIONS} columns")
        offset = 8 + size + entry["data_offsets"][0]
        # Return a plain array: the class memmap does the same more slowly.
        return np.asarray(np.memmap(path, np.float16, "r", offset, tuple(shape)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"{path} is not the file of word vectors: {error!r}"
        raise EmbedderFailed(f"{problem}; reinstall the package wordllama") from error


def is_here() -> bool:
    return _package_file(WEIGHTS) is not None and _package_file(TOKENIZER) is not None


def _file(name: str) -> Path:
    path = _package_file(name)
    if path is None:
        problem = f"the package wordllama with its file {name} is not here"
        raise EmbedderFailed(f"{problem}; `pip install wordllama`")
    return path


def _package_file(name: str) -> Path | None:
    """Find a file of the package without importing it: that takes 150 ms and sets up logging."""
    spec = importlib.util.find_spec("wordllama")
    folders = (spec and spec.submodule_search_locations) or []
    return next((path for folder in folders if (path := Path(folder) / name).is_file()), None)
