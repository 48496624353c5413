"""Make the constants of a sentence model: means, and the directions in which its tokens differ.

`python -m benchmarks.tokens FOLDER` reads the models in FOLDER (`models` of a home) and turns and
questions of LongMemEval, see `conversations.py`, and writes the files into the package. No text
gets into them: they are means and principal directions of many thousand tokens.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

import lamina.embedders
from benchmarks.conversations import longmemeval
from lamina.embedders import unit
from lamina.embedders.encoder import DIRECTIONS, KINDS, Encoder

TURNS = 600

Rows = NDArray[np.float32]


def texts() -> tuple[list[str], list[str]]:
    """Return evenly selected turns, and questions."""
    cases = list(longmemeval())
    turns = sorted({turn.text for case in cases for turn in case.turns})
    step = -(-len(turns) // TURNS)
    return turns[::step], [question.text for case in cases for question in case.questions]


def made(encoder: Encoder) -> Rows:
    """Compute the rows of the file: directions, and the means of tokens, passages and questions."""
    turns, questions = texts()
    kind = encoder.kind
    read = [encoder._read(kind.passage, text) for text in turns]  # noqa: SLF001 - as it reads them
    asked = [encoder._read(kind.question, text) for text in questions]  # noqa: SLF001
    tokens = np.concatenate([own for _, own in read])
    mean = tokens.mean(axis=0)
    passages, asking = (
        unit(np.stack([encoder._pooled(hidden) for hidden, _ in both])).mean(axis=0)  # noqa: SLF001
        for both in (read, asked)
    )
    return np.concatenate([directions(unit(tokens - mean)), [mean, passages, asking]])


def directions(tokens: Rows) -> Rows:
    """Find the principal directions. Rotating them to equal variance finds less."""
    _, vectors = np.linalg.eigh(tokens.T @ tokens)
    return np.ascontiguousarray(vectors[:, ::-1][:, :DIRECTIONS].T)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    given = parser.parse_args()
    for kind in KINDS.values():
        encoder = Encoder(msgspec.structs.replace(kind, constants=""), given.models)
        if kind.constants and encoder.folder.is_dir():
            path = Path(lamina.embedders.__file__).parent / kind.constants
            np.save(path, made(encoder).astype(np.float16))
            print(f"{path}: made of {encoder.folder}")
