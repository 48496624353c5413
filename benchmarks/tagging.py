"""Train the network that tags which words of a turn state something lasting.

`python -m benchmarks.tagging` trains it on every labelled message and talk, and writes
`engines/claims/tagger.npz`. It needs PyTorch (`pip install torch`) and takes about four minutes of
one core. `python -m benchmarks.learning` learns afterwards how much its word counts.

Each word is a value's first, a later one of it, or none, and a value has one of four statuses; for
each value, the network points at the word that says whom it is about. Besides, each word is part of
a standing instruction or not. A quarter of the texts is read a second time as if it had been typed
in a hurry, in small letters and with few marks.

Some writers note nearly everything that a message states, others only what lasts. While it learns,
the network is told which of both a text was labelled by; afterwards, it reads for what lasts.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.claims import HERE, stems
from lamina.embedders.wordllama import WordLlama
from lamina.engines.claims import open_words, sentences, tagger
from lamina.engines.claims.open_words import Word

STANDING = HERE / "standing" / "messages.jsonl"  # has instructions alone
FILES = (
    *sorted((HERE / "claims").glob("messages-*")),
    *sorted((HERE / "claims").glob("talks-*")),
    STANDING,
)
# Whose labels have nearly everything that is stated; the others have what lasts.
EXHAUSTIVE = frozenset(f"messages-{number}" for number in (5, 6, 7, 8, 9, 11))
ELSEWHERE = frozenset("1234")  # writers in STANDING whose messages are in files of their own
FOLDS = 3
DIMENSIONS = 128  # of a word's vector
KINDS, ENDINGS = 12, 12  # of what is learned of kinds and endings
WIDTH, LAYERS = 192, len(tagger.REACH)
NEAR = 96  # numbers of a word that those before and behind it are told of it
POINTER = 48
SHARP = 1 / math.sqrt(POINTER)
EPOCHS, BATCH, RATE, DECAY = 10, 24, 2e-3, 1e-3
WARM = 0.15  # share of the steps in which the rate rises
DROPPED, DROPPED_VECTORS = 0.4, 0.2
HURRIED = 0.25  # share of texts that are read as if typed in a hurry, too
MARKS_LEFT = 0.4  # share of marks that are left in them
ORDERS = 0.5  # how much telling instructions counts
SUBJECTS = 0.15  # how much pointing at the right word counts
LONGEST_VALUE = 10  # words, where a label has other words than the text
NOBODY = -1  # no word says whom it is about, though it is not the speaker
REFERRING = frozenset("you your he she they his her".split())
CLASSES = tagger.CLASSES
SEED = 7
PROCESSES = 1  # that train at once: each takes one core


class Value(NamedTuple):
    """A labelled value: its words, its status, and the word that says whom it is about."""

    start: int
    end: int
    status: int
    about: int  # 0 for the speaker, else the number of the word, counted from 1; NOBODY


class Text(NamedTuple):
    """A turn as the network is told it, with what is labelled."""

    given: tagger.Inputs
    values: tuple[Value, ...] | None  # None where nobody has noted any
    orders: tuple[tuple[int, int], ...] | None  # the words of standing instructions
    is_exhaustive: bool = False


def texts(path: Path) -> Iterator[Text]:
    """Read a file of labelled messages or talks."""
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row.get("writer") not in ELSEWHERE:
            yield text(row)._replace(is_exhaustive=path.stem in EXHAUSTIVE)


def plain() -> Iterator[Text]:
    """Read sentences of a few words, which no writer of messages would send alone."""
    yield from texts(HERE / "claims" / "plain.jsonl")


def text(row: Mapping[str, Any]) -> Text:
    """Find the labels of a turn among its words."""
    said, speaker = row["text"], row.get("speaker", "user")
    plain = sentences.said(said)
    words = open_words.split(plain)[: tagger.MOST_WORDS]
    clauses = list(sentences.clauses(plain))
    given = tagger.inputs(plain, words, clauses, is_talk="speaker" in row)
    values = tuple(_values(said, row["facts"], speaker, words)) if "facts" in row else None
    labels = row.get("instructions")
    found = labels and [located(said, label, words, None) for label in labels]
    orders = None if labels is None else tuple(span for span in found or () if span)
    return Text(given, values, orders)


def _values(
    said: str, facts: Iterable[Mapping[str, str]], speaker: str, words: Sequence[Word]
) -> Iterator[Value]:
    for fact in facts:
        cue = said.find(fact["cue"]) if fact.get("cue") else -1
        if span := located(said, fact["value"], words, cue if cue >= 0 else None):
            about = 0 if fact["about"] == speaker else _about(said, fact["about"], words, span[0])
            yield Value(*span, tagger.STATUSES.index(fact["status"]), about)


def _about(said: str, name: str, words: Sequence[Word], place: int) -> int:
    """Find the last word of a name, or else a pronoun."""
    if span := located(said, name, words, words[place].start):
        return span[1]
    referring = (n for n, word in enumerate(words, 1) if word.text in REFERRING)
    return next(referring, NOBODY)


def located(
    said: str, value: str, words: Sequence[Word], near: int | None
) -> tuple[int, int] | None:
    """Find the words of a value: the nearest place that has it, or the words most alike."""
    places = [one.start() for one in re.finditer(re.escape(value.lower()), said.lower())]
    spans = []
    for place in places:
        inside = [
            number
            for number, word in enumerate(words)
            if word.start < place + len(value) and word.end > place
        ]
        if inside:
            away = abs(place - near) if near is not None else 0
            is_inexact = words[inside[0]].start != place
            spans.append((is_inexact, away, inside[0], inside[-1] + 1))
    if spans:
        return min(spans)[2:]
    return _most_alike(said, value, words)


def _most_alike(said: str, value: str, words: Sequence[Word]) -> tuple[int, int] | None:
    wanted, best, found = stems(value), 0.0, None
    for first in range(len(words)):
        for last in range(first + 1, min(len(words), first + LONGEST_VALUE) + 1):
            here = stems(said[words[first].start : words[last - 1].end])
            alike = len(here & wanted) / max(1, len(here | wanted))
            if alike > best:
                best, found = alike, (first, last)
    return found if best >= 0.5 else None


def hurried(text: Text, chance: random.Random) -> Text | None:
    """Turn a text into one that was typed in a hurry; None where a value would be lost."""
    marks = {tagger.KINDS.index("mark"), tagger.KINDS.index("comma")}
    name, word = tagger.KINDS.index("name"), tagger.KINDS.index("word")
    given = text.given
    kept = [
        place
        for place, kind in enumerate(given.kinds)
        if kind not in marks or chance.random() < MARKS_LEFT
    ]
    places = {old: new for new, old in enumerate(kept)}
    values = []
    for value in text.values or ():
        inside = [places[place] for place in range(value.start, value.end) if place in places]
        if not inside:
            return None
        about = places.get(value.about - 1, NOBODY - 1) + 1 if value.about > 0 else value.about
        values.append(value._replace(start=inside[0], end=inside[-1] + 1, about=about))
    small = (0.0, 0.0)  # no capitals
    inputs = tagger.Inputs(
        [given.words[place] for place in kept],
        [word if given.kinds[place] == name else given.kinds[place] for place in kept],
        [given.endings[place] for place in kept],
        [(*small, *given.marks[place][2:]) for place in kept],
    )
    orders = text.orders and tuple(_kept(places, *span) for span in text.orders)
    noted = None if text.values is None else tuple(values)
    return Text(inputs, noted, orders, text.is_exhaustive) if kept else None


def _kept(places: Mapping[int, int], start: int, end: int) -> tuple[int, int]:
    """Find the words of a stretch that are left."""
    inside = [places[place] for place in range(start, end) if place in places]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


class Vocabulary(NamedTuple):
    """Words with their vectors, the first of which is nothing's."""

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

    for piece in wordllama._vocabulary():  # noqa: SLF001 - the one list of common words there is
        if piece.startswith("▁"):
            yield piece[1:].lower()


def _vector(embedder: WordLlama, word: str) -> NDArray[np.float32]:
    weights = embedder._matrix  # noqa: SLF001 - vectors before their length is lost
    tokens = np.frombuffer(embedder.tokens(word), np.uint16)
    rows: NDArray[np.float32] = weights.take(tokens, axis=0).astype(np.float32)
    mean: NDArray[np.float32] = rows.mean(axis=0)
    return mean


def network(torch: Any) -> Any:
    """Build the network, with the numbers that it begins with."""
    nn: Any = torch.nn
    module: Any = nn.Module
    width = DIMENSIONS + KINDS + ENDINGS + tagger.MARKS

    class Tagger(module):  # type: ignore[misc]  # PyTorch need not be here
        """Layers of words with their neighbours, and a pointer."""

        def __init__(self) -> None:
            super().__init__()
            self.kinds = nn.Embedding(len(tagger.KINDS), KINDS)
            self.endings = nn.Embedding(tagger.ENDINGS, ENDINGS)
            self.first = nn.Linear(width, WIDTH)
            self.exhaustive = nn.Parameter(torch.zeros(WIDTH))
            self.layers = nn.ModuleList(
                nn.Linear(WIDTH + 2 * NEAR, 2 * WIDTH) for _ in range(LAYERS)
            )
            self.out, self.orders = nn.Linear(WIDTH, CLASSES), nn.Linear(WIDTH, 1)
            self.who, self.named = nn.Linear(WIDTH, POINTER), nn.Linear(WIDTH, POINTER)
            self.own = nn.Linear(WIDTH, 1)
            self.dropped, self.dropped_vectors = nn.Dropout(DROPPED), nn.Dropout(DROPPED_VECTORS)

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

        def about(self, states: Any, mask: Any, rows: Any, starts: Any) -> Any:
            asked = states[rows, starts]
            named = torch.einsum("nd,ntd->nt", self.who(asked), self.named(states)[rows])
            hidden = (1 - mask[rows]) * -1e4
            return torch.cat([self.own(asked), named * SHARP + hidden], 1)

    return Tagger()


def learn(texts: Sequence[Text], vocabulary: Vocabulary, seed: int = SEED) -> dict[str, Any]:
    """Train a network on texts; return its numbers as `tagger.Network` takes them."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    chance, rows = random.Random(seed), vocabulary.rows()
    more = (hurried(one, chance) for one in texts if chance.random() < HURRIED)
    every = [one for one in (*texts, *more) if one and one.given.words]
    made = network(torch)
    optimizer = torch.optim.AdamW(made.parameters(), lr=RATE, weight_decay=DECAY)
    steps = EPOCHS * math.ceil(len(every) / BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=steps, pct_start=WARM
    )
    made.train()
    for _ in range(EPOCHS):
        for some in _batches(every, chance):
            with torch.autocast("cpu", torch.bfloat16):  # nearly twice as fast
                loss = _loss(torch, made, some, rows, vocabulary)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(made.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return numbers(made, vocabulary)


def _batches(texts: Sequence[Text], chance: random.Random) -> list[Sequence[Text]]:
    """Put texts of about one length together, by chance: less is filled up, and nothing sorted."""
    mixed = sorted(texts, key=lambda text: len(text.given.words) * (1 + chance.random() / 4))
    starts = list(range(0, len(mixed), BATCH))
    chance.shuffle(starts)
    return [mixed[start : start + BATCH] for start in starts]


def _loss(
    torch: Any, made: Any, texts: Sequence[Text], rows: Mapping[str, int], words: Vocabulary
) -> Any:
    batch = _batch(torch, texts, rows, words)
    states, mask = made(batch), batch["mask"]
    cross = torch.nn.functional.cross_entropy
    scores = made.out(made.dropped(states)).reshape(-1, CLASSES)
    lost = cross(scores, batch["classes"].reshape(-1), reduction="none")
    noted = batch["noted"].reshape(-1)
    loss = (lost * noted).sum() / mask.sum()
    doubt = torch.nn.functional.binary_cross_entropy_with_logits
    ordered = doubt(made.orders(made.dropped(states))[..., 0], batch["orders"], reduction="none")
    loss = loss + ORDERS * (ordered * batch["instructed"]).sum() / mask.sum()
    pointed = [
        (row, value.start, value.about)
        for row, one in enumerate(texts)
        for value in one.values or ()
        if value.about != NOBODY
    ]
    if pointed:
        at, starts, about = map(torch.tensor, zip(*pointed, strict=True))
        loss = loss + SUBJECTS * cross(made.about(states, mask, at, starts), about)
    return loss


def _batch(
    torch: Any, texts: Sequence[Text], rows: Mapping[str, int], words: Vocabulary
) -> dict[str, Any]:
    size = max(len(one.given.words) for one in texts)
    shape = (len(texts), size)
    places, kinds, endings, classes = (np.zeros(shape, np.int64) for _ in range(4))
    marks = np.zeros((*shape, tagger.MARKS), np.float32)
    mask, noted, orders, instructed = (np.zeros(shape, np.float32) for _ in range(4))
    for row, one in enumerate(texts):
        length, given = len(one.given.words), one.given
        places[row, :length] = [rows.get(word, 0) for word in given.words]
        kinds[row, :length], endings[row, :length] = given.kinds, given.endings
        marks[row, :length], mask[row, :length] = given.marks, 1
        # The longest first: what is inside another value is the value that was meant there.
        noted[row, :length] = one.values is not None
        instructed[row, :length] = one.orders is not None
        for start, end in one.orders or ():
            orders[row, start:end] = 1
        for value in sorted(one.values or (), key=lambda value: value.start - value.end):
            classes[row, value.start] = 1 + 2 * value.status
            classes[row, value.start + 1 : value.end] = 2 + 2 * value.status
    vectors = words.vectors[places].astype(np.float32) * np.float32(words.scale)
    exhaustive = np.array([one.is_exhaustive for one in texts], np.float32)
    told = {
        "kinds": kinds, "endings": endings, "classes": classes, "marks": marks, "mask": mask,
        "noted": noted, "orders": orders, "instructed": instructed, "vectors": vectors,
        "exhaustive": exhaustive,
    }  # fmt: skip
    return {name: torch.from_numpy(one) for name, one in told.items()}


def numbers(made: Any, vocabulary: Vocabulary) -> dict[str, Any]:
    """List the numbers of a network in the order of multiplication."""

    def half(one: Any) -> NDArray[np.float16]:
        return one.detach().numpy().astype(np.float16)  # type: ignore[no-any-return]

    kept: dict[str, Any] = {
        "words": np.frombuffer("\n".join(vocabulary.words).encode(), np.uint8),
        "vectors": vocabulary.vectors,
        "scale": np.float32(vocabulary.scale),
        "sharp": np.float32(SHARP),
        "kinds": half(made.kinds.weight),
        "endings": half(made.endings.weight),
    }
    linear = {"in": made.first, "out": made.out, "who": made.who, "named": made.named}
    linear |= {"own": made.own, "orders": made.orders}
    linear |= {f"layer_{number}": layer for number, layer in enumerate(made.layers)}
    for name, one in linear.items():
        kept[name], kept[f"{name}_bias"] = half(one.weight.T), half(one.bias)
    return kept


def fold(path: Path) -> int:
    """Name the fold of a file: the networks of other folds have been trained on it."""
    return FILES.index(path) % FOLDS


def folds(cache: Path) -> list[tagger.Network]:
    """Train a network for each fold on files of the others, or load those of an earlier run."""
    missing = [number for number in range(FOLDS) if not (cache / f"{number}.npz").exists()]
    if missing:
        cache.mkdir(parents=True, exist_ok=True)
        read = {path: list(texts(path)) for path in FILES}
        words = vocabulary(one for listed in read.values() for one in listed)
        jobs = [
            (
                [one for path, listed in read.items() if fold(path) != number for one in listed],
                words,
            )
            for number in missing
        ]
        with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
            for number, made in zip(missing, pool.starmap(learn, jobs), strict=True):
                np.savez_compressed(cache / f"{number}.npz", **made)
    return [tagger.Network(dict(np.load(cache / f"{number}.npz"))) for number in range(FOLDS)]


def main() -> None:
    screen = Console()
    every = [one for path in FILES for one in texts(path)]
    words = vocabulary(every)
    every += plain()
    screen.print(f"{len(every)} texts, {len(words.words)} words")
    np.savez_compressed(tagger.NUMBERS, **learn(every, words))
    screen.print(f"{tagger.NUMBERS.name}: {tagger.NUMBERS.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
