"""Embedders: how they are named, what every vector promises, and what happens when
one is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from lamina import embedders
from lamina.embedders import wordllama
from lamina.embedders.wordllama import WordLlama
from lamina.errors import EmbedderFailed, InvalidInput

WORDS = WordLlama()
CAT = "a cat sits on the mat"
TEXTS = [
    CAT,
    "",
    "the stock market fell",
    "Ana prefers green tea over coffee",
    "水 and ☃",
    "x" * 500,
    "a\0b",
    " ",
    CAT,
]
STAND_IN = """
import numpy as np

class SentenceTransformer:
    def __init__(self, name, local_files_only=False):
        if not local_files_only or name == "absent":
            raise OSError("it is not in the cache, and the network was not to be used")
        self.name = name

    def encode(self, texts, batch_size, show_progress_bar, convert_to_numpy):
        if self.name == "torn":
            raise RuntimeError("tensors do not match")
        assert batch_size == 1 and not show_progress_bar and convert_to_numpy
        fill = {"nan": float("nan"), "zero": 0.0}.get(self.name, 2.0)
        return np.array([[len(text) * fill, fill, fill] for text in texts], np.float32)
"""


def create(spec: str) -> embedders.Embedder | None:
    return embedders.create(
        spec, cache=Path("nowhere"), endpoint="http://localhost:1/v1/", key=None, timeout=1
    )


def outcome(code: str) -> str:
    """What a fresh Python says, so that nothing is imported yet."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small library that is called like the real one, which is too large to be installed
    for a test."""
    (tmp_path / "sentence_transformers.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package wordllama without its files, before the real one; importing it would fail."""
    folder = tmp_path / "wordllama"
    (folder / "weights").mkdir(parents=True)
    (folder / "tokenizers").mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("wordllama", "wordllama-256"),
        ("minilm", "all-minilm-l6-v2-384"),
        ("sentence-transformers:a/b", "sentence-transformers:a/b"),
        ("openai:nomic-embed-text:v1", "openai:http://localhost:1/v1:nomic-embed-text:v1"),
    ],
)
def test_a_setting_names_an_embedder(spec: str, name: str) -> None:
    """Each name of a setting gives the embedder of that vector space, though its model may
    not be here."""
    made = create(spec)
    assert made is not None
    assert made.name == name


def test_none_is_no_embedder() -> None:
    """Whoever wants no vectors gets none."""
    assert create("none") is None


@pytest.mark.parametrize(
    "spec", ["", "word2vec", "none:x", "wordllama:512", "minilm:", "openai", "openai:", "Minilm"]
)
def test_unknown_embedders_are_refused(spec: str) -> None:
    """The message names the value and lists what is known."""
    with pytest.raises(
        InvalidInput,
        match=r"is not one of none, wordllama, minilm, e5, bge-zh, sentence-transformers:<model>, openai",
    ):
        create(spec)


def test_nothing_is_loaded_before_it_is_used() -> None:
    """Importing Lamina and creating embedders imports no library of theirs."""
    code = """
import sys, pathlib, lamina
from lamina import embedders
for spec in ("none", "wordllama", "minilm", "sentence-transformers:x", "openai:x"):
    embedders.create(spec, cache=pathlib.Path("x"), endpoint="http://localhost:1", key="k", timeout=1)
heavy = "numpy tokenizers safetensors onnx onnxruntime httpx wordllama sentence_transformers".split()
print([name for name in heavy if name in sys.modules])
"""
    assert outcome(code) == "[]"


def test_the_package_wordllama_is_never_imported() -> None:
    """Its files are read, but its code, which sets up logging and imports a lot, does not run."""
    code = """
import sys
from lamina.embedders.wordllama import WordLlama
print(WordLlama().embed(["tea"]).shape, [n for n in ("wordllama", "pydantic", "requests", "safetensors") if n in sys.modules])
"""
    assert outcome(code) == "(1, 256) []"


def test_every_row_has_length_1_or_is_zero() -> None:
    """One row per text in order, float32 and contiguous; a text without tokens is a
    row of zeros."""
    rows = WORDS.embed(TEXTS)
    assert (rows.shape, rows.dtype, rows.flags.c_contiguous) == (
        (len(TEXTS), 256),
        np.dtype(np.float32),
        True,
    )
    lengths = np.linalg.norm(rows, axis=1)
    assert lengths[1] == 0
    assert np.abs(np.delete(lengths, 1) - 1).max() < 1e-6
    assert WORDS.embed([]).shape == (0, 256)


@given(st.lists(st.text(max_size=200), max_size=8))
def test_a_vector_does_not_depend_on_its_batch(texts: list[str]) -> None:
    """Bit for bit the same row, alone or among others, whatever the text is."""
    together = WORDS.embed([*TEXTS, *texts])
    for text, row in zip([*TEXTS, *texts], together, strict=True):
        assert WORDS.embed([text])[0].tobytes() == row.tobytes()


def test_many_texts_are_many_rows() -> None:
    """More texts than are normalised at once give the same rows as few."""
    rows = WORDS.embed([f"text {n}" for n in range(embedders.BLOCK + 5)])
    assert rows[-1].tobytes() == WORDS.embed([f"text {embedders.BLOCK + 4}"])[0].tobytes()


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60).filter(
        lambda text: "<" not in text
    )
)
def test_tokens_are_those_of_the_tokenizer(text: str) -> None:
    """Taking words one by one gives the tokens that the model was made with."""
    whole = TOKENIZER.encode(text, add_special_tokens=False).ids
    assert list(WORDS.tokens(text)) == whole
    spaced = f"  {text}   {text} "
    assert list(WORDS.tokens(spaced)) == TOKENIZER.encode(spaced, add_special_tokens=False).ids


def test_marks_of_the_model_are_plain_text() -> None:
    """A text that looks like a mark of the tokenizer is text like any other."""
    assert len(WORDS.tokens("<s>")) > 1


def test_the_vector_is_the_mean_of_its_tokens() -> None:
    """Pooling is the mean in single precision, at length 1."""
    tokens = WORDS.tokens(CAT)
    mean = WORDS._matrix[np.asarray(tokens)].astype(np.float64).mean(axis=0)
    assert np.allclose(WORDS.embed([CAT])[0], mean / np.linalg.norm(mean), atol=1e-6)


def test_what_is_alike_is_near() -> None:
    """A kitten on a rug is nearer to a cat on a mat than the stock market is."""
    cat, kitten, market = WORDS.embed([CAT, "a kitten is on the rug", "the stock market fell"])
    assert cat @ kitten > 0.3 > cat @ market


@pytest.mark.parametrize("part", ["x", "word ", "☃\0", "水", " ", "\U0001f600"])
def test_long_texts_are_cut(part: str) -> None:
    """Of a text of a mebibyte only the beginning counts, so that it costs no more than that."""
    text = part * (2**20 // len(part))
    assert len(WORDS.tokens(text)) <= wordllama.MAX_TOKENS
    assert (
        WORDS.embed([text])[0].tobytes()
        == WORDS.embed([text[: wordllama.MAX_CHARACTERS]])[0].tobytes()
    )


def test_a_missing_package_says_what_to_install(package: Path) -> None:
    """Without its files the embedder fails with the command that brings them, and is listed
    as not here."""
    with pytest.raises(EmbedderFailed, match="`pip install wordllama`"):
        WordLlama().embed(["tea"])
    assert not wordllama.is_here()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x05\0\0\0\0\0\0\0[1,2]",
        b"\xff" * 64,
        (40).to_bytes(8, "little") + json.dumps({"embedding.weight": 1}).encode().ljust(40),
        (99).to_bytes(8, "little")
        + json.dumps(
            {"embedding.weight": {"dtype": "F16", "shape": [9, 256], "data_offsets": [0, 4608]}}
        )
        .encode()
        .ljust(99),
        (99).to_bytes(8, "little")
        + json.dumps(
            {"embedding.weight": {"dtype": "F32", "shape": [1, 256], "data_offsets": [0, 1024]}}
        )
        .encode()
        .ljust(99),
    ],
)
def test_damaged_weights_are_a_typed_error(package: Path, content: bytes) -> None:
    """A file that is empty, cut off, of another kind or not ours is named, never
    read as numbers."""
    path = package / wordllama.WEIGHTS
    path.write_bytes(content)
    with pytest.raises(EmbedderFailed, match=r"l2_supercat_256.safetensors"):
        wordllama.mapped(path, wordllama.TENSOR)


def test_a_damaged_tokenizer_is_a_typed_error(package: Path) -> None:
    """A file that is no tokenizer is named."""
    (package / wordllama.TOKENIZER).write_text("{}")
    with pytest.raises(EmbedderFailed, match="is not a tokenizer"):
        WordLlama().tokens("tea")


def test_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sentence-transformers its embedder fails with the command that brings it."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    made = create("sentence-transformers:all-MiniLM-L6-v2")
    assert made is not None
    with pytest.raises(EmbedderFailed, match="pip install sentence-transformers"):
        made.embed(["tea"])


def test_a_sentence_model_makes_rows_like_the_others(library: None) -> None:
    """Rows of length 1, zeros for an empty text, dimensions from the model itself."""
    made = create("sentence-transformers:any")
    assert made is not None
    rows = made.embed(["tea", " ", "coffee"])
    assert (made.dimensions, rows.shape, rows.dtype, rows.flags.c_contiguous) == (
        3,
        (3, 3),
        np.dtype(np.float32),
        True,
    )
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 0, 1])
    assert made.embed(["coffee"])[0].tobytes() == rows[2].tobytes()
    assert made.embed([""]).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("absent", r"fetch it once: python -c .*SentenceTransformer\('absent'\)"),
        ("torn", "tensors do not match"),
        ("nan", "infinite or not a number"),
        ("zero", "vector of zeros"),
    ],
)
def test_a_sentence_model_that_fails_says_why(library: None, model: str, message: str) -> None:
    """A model that is not here is not downloaded: the message says how; one that makes no vectors
    is not believed."""
    made = create(f"sentence-transformers:{model}")
    assert made is not None
    with pytest.raises(EmbedderFailed, match=message):
        made.embed(["tea"])


@pytest.mark.parametrize("rows", [[[3.0, 4.0]], [[3e-44, 4e-44]], [[3e38, 3e38]], [[0.0, 0.0]]])
def test_length_1_at_any_scale(rows: Any) -> None:
    """Numbers near the limits of single precision are neither lost nor infinite;
    zeros stay zeros."""
    made = embedders.unit(np.array(rows, np.float32))
    assert np.linalg.norm(made.astype(np.float64)) == pytest.approx(float(any(rows[0])), abs=0.03)


def _tokenizer() -> Any:
    return Tokenizer.from_file(str(wordllama._file(wordllama.TOKENIZER)))


TOKENIZER = _tokenizer()


SPELLED = st.text("abetis日本éü0-_'.", min_size=1, max_size=24)


@given(SPELLED, st.booleans())
def test_a_word_has_the_same_tokens_with_and_without_the_tokenizer(word: str, begins: bool) -> None:
    """Q6: the quick way to a word's tokens gives exactly what the tokenizer gives, or nothing."""
    whole = WordLlama()
    word = "▁" * begins + word
    quick = wordllama.merged(word, wordllama._vocabulary())
    assert quick is None or quick == whole._tokenizer(word)
