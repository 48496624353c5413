"""Train the network that tags which words of a turn state something lasting.

`python -m benchmarks.tagging --minilm WHEEL` trains it, and writes `engines/claims/tagger.npz`. It
needs PyTorch (`pip install torch`) and the wheel that `benchmarks.teacher` names, and takes about
two hours of one core. `python -m benchmarks.learning` learns afterwards how much its word counts.

Three teachers are trained on the labelled messages and talks, each without a third of the files.
They say what they see in these texts and in many more that are made of them (`variations`), and the
network learns from the labels and from what the teachers say: of a labelled text, only from the one
that has not seen its labels. `--networks` names the folder that keeps what was trained.

Some writers note nearly everything that a message states, others only what lasts. While it learns,
a network is told which of both a text was labelled by; afterwards, it reads for what lasts.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks import claims, fitting, labelled
from benchmarks.conversations import longmemeval_users
from benchmarks.fitting import SHARP
from benchmarks.labelled import EVERY, FOLDS, Text, fold
from benchmarks.teacher import Files, Teacher
from benchmarks.variations import Said, Variations
from lamina.embedders.wordllama import WordLlama
from lamina.engines.claims import tagger

DIMENSIONS = 128  # of a word's vector
KINDS, ENDINGS = 12, 12  # of the vectors learned for kinds and endings
WIDTH, LAYERS = 192, len(tagger.REACH)
NEAR = 96  # width of what a word passes on to its neighbours
DROPPED, DROPPED_VECTORS = 0.2, 0.1
COURSE = fitting.Course(5, 32, (("", 2e-3),), 1e-3, 0.1)
VARIATIONS = 40_000  # texts that only teachers label
OWN = 0.5  # weight of a text's labels, relative to what a teacher says
SEED = 7


Numbers = dict[str, Any]


class Vocabulary(NamedTuple):
    """Words with their vectors; the first one is for padding."""

    words: tuple[str, ...]
    vectors: NDArray[np.int8]
    scale: float

    def rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}


def vocabulary(texts: Iterable[Text]) -> Vocabulary:
    """Take the vectors of common words from the default embedder, in fewer dimensions."""
    counts = Counter(word for text in texts for word in text.given.words)
    common = {word for word, count in counts.items() if count > 1}
    common |= {piece for piece in _pieces() if piece.isalpha() and len(piece) > 1}
    listed = sorted(word for word in common if "\n" not in word)
    embedder = WordLlama()
    rows = np.stack([_vector(embedder, word) for word in listed])
    rows -= rows.mean(axis=0)
    _, directions = np.linalg.eigh(rows.T @ rows)
    rows = rows @ directions[:, ::-1][:, :DIMENSIONS]
    rows /= rows.std()
    scale = float(np.percentile(np.abs(rows), 99.9)) / 127
    narrow = np.clip(np.round(rows / scale), -127, 127).astype(np.int8)
    nothing = np.zeros((1, DIMENSIONS), np.int8)
    return Vocabulary(("", *listed), np.concatenate([nothing, narrow]), scale)


def _pieces() -> Iterator[str]:
    """List the tokens of the embedder that are whole words."""
    from lamina.embedders import wordllama

    for piece in wordllama._vocabulary():  # noqa: SLF001 - the only list of common words
        if piece.startswith("▁"):
            yield piece[1:].lower()


def _vector(embedder: WordLlama, word: str) -> NDArray[np.float32]:
    weights = embedder._matrix  # noqa: SLF001 - vectors before they are normalised
    tokens = np.frombuffer(embedder.tokens(word), np.uint16)
    rows: NDArray[np.float32] = weights.take(tokens, axis=0).astype(np.float32)
    mean: NDArray[np.float32] = rows.mean(axis=0)
    return mean


def network(torch: Any) -> Any:
    """Build the network with its initial weights."""
    nn: Any = torch.nn
    module: Any = nn.Module
    width = DIMENSIONS + KINDS + ENDINGS + tagger.MARKS

    class Tagger(module):  # type: ignore[misc]  # PyTorch may not be installed
        """Layers that join words with their neighbours, and a pointer."""

        def __init__(self) -> None:
            super().__init__()
            self.kinds = nn.Embedding(len(tagger.KINDS), KINDS)
            self.endings = nn.Embedding(tagger.ENDINGS, ENDINGS)
            self.first = nn.Linear(width, WIDTH)
            self.exhaustive = nn.Parameter(torch.zeros(WIDTH))
            self.layers = nn.ModuleList(
                nn.Linear(WIDTH + 2 * NEAR, 2 * WIDTH) for _ in range(LAYERS)
            )
            self.dropped, self.dropped_vectors = nn.Dropout(DROPPED), nn.Dropout(DROPPED_VECTORS)
            fitting.heads(torch, self, WIDTH)

        def forward(self, batch: Any) -> Any:
            parts = (
                self.dropped_vectors(batch["vectors"]),
                self.kinds(batch["kinds"]),
                self.endings(batch["endings"]),
                batch["marks"],
            )
            mask = batch["mask"].unsqueeze(-1)
            style = batch["exhaustive"][:, None, None] * self.exhaustive
            states = torch.relu(self.first(torch.cat(parts, -1)) + style) * mask
            for layer, reach in zip(self.layers, tagger.REACH, strict=False):
                here, size = self.dropped(states), states.shape[1]
                wide = nn.functional.pad(here, (0, 0, reach, reach))
                before, behind = wide[:, :size, :NEAR], wide[:, 2 * reach :, -NEAR:]
                more, gate = layer(torch.cat([before, here, behind], -1)).chunk(2, -1)
                states = (states + more * torch.sigmoid(gate)) * mask
            return states

    return Tagger()


def learn(examples: Sequence[fitting.Example], words: Vocabulary, seed: int = SEED) -> Numbers:
    """Train a network; return its weights in the form that `tagger.Network` takes."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rows, made = words.rows(), network(torch)

    def given(texts: Sequence[Text]) -> dict[str, Any]:
        shape = (len(texts), max(len(one.given.words) for one in texts))
        places, kinds, endings = (np.zeros(shape, np.int64) for _ in range(3))
        marks, mask = np.zeros((*shape, tagger.MARKS), np.float32), np.zeros(shape, np.float32)
        for row, text in enumerate(texts):
            count, one = len(text.given.words), text.given
            places[row, :count] = [rows.get(word, 0) for word in one.words]
            kinds[row, :count], endings[row, :count] = one.kinds, one.endings
            marks[row, :count], mask[row, :count] = one.marks, 1
        vectors = words.vectors[places].astype(np.float32) * np.float32(words.scale)
        exhaustive = np.array([text.is_exhaustive for text in texts], np.float32)
        told = {
            "kinds": kinds, "endings": endings, "marks": marks, "mask": mask, "vectors": vectors,
            "exhaustive": exhaustive,
        }  # fmt: skip
        return {name: torch.from_numpy(one) for name, one in told.items()}

    fitting.fit(made, examples, given, COURSE, random.Random(seed))
    return numbers(made, words)


def numbers(made: Any, vocabulary: Vocabulary) -> Numbers:
    """List the weights of a network in the order of multiplication."""

    def half(one: Any) -> NDArray[np.float16]:
        return one.detach().numpy().astype(np.float16)  # type: ignore[no-any-return]

    kept: Numbers = {
        "words": np.frombuffer("\n".join(vocabulary.words).encode(), np.uint8),
        "vectors": vocabulary.vectors,
        "scale": np.float32(vocabulary.scale),
        "sharp": np.float32(SHARP),
        "kinds": half(made.kinds.weight),
        "endings": half(made.endings.weight),
    }
    linear = {"in": made.first, "out": made.out, "who": made.who, "named": made.named}
    linear |= {"own": made.own, "orders": made.orders, "over": made.over}
    linear |= {f"layer_{number}": layer for number, layer in enumerate(made.layers)}
    for name, one in linear.items():
        kept[name], kept[f"{name}_bias"] = half(one.weight.T), half(one.bias)
    return kept


class School:
    """The teachers, and the networks that learn from them; all are saved in a folder."""

    def __init__(self, folder: Path, wheel: Path | None) -> None:
        self._folder, self._wheel = folder, wheel

    @cached_property
    def read(self) -> dict[Path, list[Text]]:
        return {path: list(labelled.texts(path)) for path in EVERY}

    @cached_property
    def words(self) -> Vocabulary:
        return vocabulary(one for listed in self.read.values() for one in listed)

    def folds(self) -> list[tagger.Network]:
        """Train a network for each fold on the files of the others, or load a saved one."""
        return [tagger.Network(self._kept(number)) for number in range(FOLDS)]

    def _kept(self, number: int) -> Numbers:
        path = self._folder / f"{number}.npz"
        if not path.exists():
            paths = [path for path in EVERY if fold(path) != number]
            teacher = self._teacher(number)
            listed = [one for other in paths for one in self.read[other]]
            examples = self._labelled(listed, teacher)
            examples += self._varied(paths, [teacher])
            np.savez_compressed(path, **learn(examples, self.words))
        return dict(np.load(path))

    def shipped(self) -> Numbers:
        """Train the network that is shipped; each text's teacher has not seen its labels."""
        teachers = [self._teacher(number) for number in range(FOLDS)]
        examples = [
            one
            for path, listed in self.read.items()
            for one in self._labelled(listed, teachers[fold(path)])
        ]
        examples += self._labelled(list(labelled.plain()), teachers[0])
        return learn(examples + self._varied(EVERY, teachers), self.words)

    def _labelled(self, listed: Sequence[Text], teacher: Teacher) -> list[fitting.Example]:
        texts = labelled.with_hurried(listed, random.Random(SEED))
        pairs = zip(texts, teacher.tell(texts), strict=True)
        return [(text, labelled.blended(labelled.target(text), told, OWN)) for text, told in pairs]

    def _varied(self, paths: Sequence[Path], teachers: Sequence[Teacher]) -> list[fitting.Example]:
        """Make up texts without labels, with the average of what the teachers say about them."""
        variations = Variations(
            [one for path in paths for one in said(path)], longmemeval_users(), SEED
        )
        read = [
            labelled.unlabelled(one.text, is_talk=one.is_talk)
            for one in variations.take(VARIATIONS)
        ]
        texts = labelled.with_hurried(read, random.Random(SEED))
        told = zip(*(teacher.tell(texts) for teacher in teachers), strict=True)
        return [(text, labelled.mean(several)) for text, several in zip(texts, told, strict=True)]

    def _teacher(self, number: int) -> Teacher:
        """Train a teacher on all files but those of a fold, or load a saved one."""
        import torch

        if self._wheel is None:
            raise SystemExit("name the wheel of the teacher: --minilm WHEEL")
        path, teacher = self._folder / f"teacher-{number}.pt", Teacher(Files(self._wheel), SEED)
        if path.exists():
            teacher.made.load_state_dict(torch.load(path))
        else:
            self._folder.mkdir(parents=True, exist_ok=True)
            files = [listed for path, listed in self.read.items() if fold(path) != number]
            teacher.learn([one for listed in files for one in listed])
            torch.save(teacher.made.state_dict(), path)
        return teacher


def said(path: Path) -> Iterator[Said]:
    """Read only the texts of a file."""
    for row in claims.rows(path):
        yield Said(row["text"], "speaker" in row)


def folds(folder: Path, wheel: Path | None = None) -> list[tagger.Network]:
    """Load the networks of the folds, and train those that are missing."""
    return School(folder, wheel).folds()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minilm", type=Path, help="the wheel of the teacher")
    parser.add_argument("--networks", type=Path, default=Path(".networks"))
    given = parser.parse_args()
    school, screen = School(given.networks, given.minilm), Console()
    np.savez_compressed(tagger.NUMBERS, **school.shipped())
    screen.print(f"{tagger.NUMBERS.name}: {tagger.NUMBERS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
