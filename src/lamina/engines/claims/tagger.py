"""Tag the words of a turn that state something lasting, by a small network. Pure.

Rules and the open form say what a claim is; the network says how likely its words are a value, with
which status, and about whom. It reads every word with its neighbours, so it knows "my boiler has
been off for six days" in a letter from the same words in "role-play: I'm a customer".

`python -m benchmarks.tagging` trains it. Its numbers are shipped beside this file.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lamina.engines.claims import open_words
from lamina.engines.claims.open_words import Word
from lamina.engines.claims.sentences import Clause

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from threadpoolctl import ThreadpoolController

    Floats = NDArray[np.float32]

NUMBERS = Path(__file__).with_name("tagger.npz")
STATUSES = ("holds", "ended", "planned", "denied")
CLASSES = 1 + 2 * len(STATUSES)  # of a word: none, or of each status the first or a later one
KINDS = tuple(
    "self they other my their your art prep be have do modal not joint cut adv mark comma number"
    " name word unseen".split()
)
ENDINGS = 512  # rows of the table of words' endings, which are hashed
ENDING = 3  # characters
MOST_WORDS = 1_200  # of a turn that are tagged: more is no speech, and takes long
ENDS = frozenset(".!?\n")  # marks that end a sentence
WITHIN = frozenset("./_-+#@:%")  # what paths, versions and shares have between their characters
NEAR_WORDS = ".,;:!?'\"()"  # what a word is stripped of
MARKS = 17  # numbers that say what a word looks like and where it stands
# The limit of threads is the whole process's: two that set it at once would leave it behind.
_ALONE = threading.Lock()
AT_ONCE = 4  # rows that libraries multiply together: a number of them that is odd takes longer
REACH = (1, 2, 4, 8)  # how far apart the words are that each layer reads together


class Tags(msgspec.Struct, frozen=True):
    """What the network says of each word of a turn."""

    plain: str
    lowered: str
    words: Sequence[Word]
    statuses: Floats  # a column for each: how likely the word is part of such a value
    begins: Floats  # how likely a value begins with it
    states: Floats
    named: Floats  # by which a value finds the word that says whom it is about
    network: Network
    abouts: dict[int, Floats] = {}  # by place: claims, notes and mentions ask for the same ones

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Find the words of a stretch of the turn."""
        first, last = open_words.within(self.words, start, end)
        while first and self.words[first - 1].end > start:
            first -= 1
        return first, min(last, len(self.statuses))

    def about(self, place: int) -> Floats:
        """Compute how likely the value at a place is about the speaker, or about each word."""
        if place not in self.abouts:
            self.abouts[place] = self.network.about(self.states, self.named, place)
        return self.abouts[place]

    def orders(self) -> Floats:
        """Compute how likely each word is part of an instruction that stands."""
        return self.network.orders(self.states)

    def over(self) -> Floats:
        """Compute how likely what each word names is over, if it is something known."""
        return self.network.over(self.states)


class Network:
    """The numbers of the network, and how they read a turn."""

    def __init__(self, numbers: Mapping[str, NDArray[np.generic]]) -> None:
        self.numbers = numbers

    @cached_property
    def _rows(self) -> dict[str, int]:
        listed = self.numbers["words"].tobytes().decode().split("\n")
        return {word: row for row, word in enumerate(listed)}

    def knows(self, word: str) -> bool:
        """Tell if a word is one of those that the network has met."""
        return word.lower().strip(NEAR_WORDS) in self._rows

    @cached_property
    def _wide(self) -> dict[str, Floats]:
        """Widen every number once; those of words stay small, and are widened as they are met."""
        import numpy as np

        narrow = ("words", "vectors")
        wide = {
            name: np.ascontiguousarray(one, np.float32)
            for name, one in self.numbers.items()
            if name not in narrow
        }
        for layer in range(len(REACH)):
            for name in (f"layer_{layer}", f"layer_{layer}_bias"):
                wide[name] = wide[name].copy()
                wide[name][..., wide["in"].shape[1] :] *= -1  # gates, of which e^-x is needed
        for end in ("", "_bias"):
            both = [wide[f"out{end}"], wide[f"named{end}"]]
            wide[f"told{end}"] = np.ascontiguousarray(np.concatenate(both, axis=-1))
        return wide

    def tag(self, plain: str, clauses: Sequence[Clause], *, is_talk: bool) -> Tags:
        """Say of each word of a turn what the network takes it for."""
        words = open_words.split(plain)[:MOST_WORDS]
        given = inputs(plain, words, clauses, is_talk=is_talk)
        with _ALONE, _libraries().limit(limits=1, user_api="blas"):
            states = self._states(given)
            likely, named = self._told(states)
        begins, goes_on = likely[:, 1::2], likely[:, 2::2]
        lowered, statuses = plain.lower(), begins + goes_on
        return Tags(plain, lowered, words, statuses, begins.sum(axis=1), states, named, self)

    def _states(self, given: Inputs) -> Floats:
        import numpy as np

        numbers = self._wide
        rows = [self._rows.get(word, 0) for word in given.words]
        vectors = self.numbers["vectors"].take(rows, axis=0).astype(np.float32)
        parts = (
            vectors * numbers["scale"],
            numbers["kinds"].take(given.kinds, axis=0),
            numbers["endings"].take(given.endings, axis=0),
            np.array(given.marks, np.float32).reshape(len(given.words), MARKS),
        )
        states: Floats = np.concatenate(parts, axis=1) @ numbers["in"] + numbers["in_bias"]
        np.maximum(states, 0, out=states)
        filled = -(-len(states) // AT_ONCE) * AT_ONCE
        wide = np.zeros((filled, len(numbers["layer_0"])), np.float32)
        product = np.empty((filled, 2 * states.shape[1]), np.float32)
        around = product[: len(states)]
        more, gate = around[:, : states.shape[1]], around[:, states.shape[1] :]
        for layer, reach in enumerate(REACH):
            _put_around(wide[: len(states)], states, reach)
            np.matmul(wide, numbers[f"layer_{layer}"], out=product)
            around += numbers[f"layer_{layer}_bias"]
            np.exp(gate, out=gate)  # of the gate with its sign turned, see `_wide`
            gate += 1
            more /= gate
            states += more
        return states

    def _told(self, states: Floats) -> tuple[Floats, Floats]:
        """Compute how likely each word is of each class, and by what it is found as a name."""
        import numpy as np

        told = states @ self._wide["told"] + self._wide["told_bias"]
        scores, named = told[:, :CLASSES], told[:, CLASSES:]
        scores -= scores.max(axis=1, keepdims=True)
        likely = np.exp(scores)
        likely /= likely.sum(axis=1, keepdims=True)
        return likely, named

    def orders(self, states: Floats) -> Floats:
        """Compute how likely each word is part of an instruction that stands."""
        return self._likely(states, "orders")

    def over(self, states: Floats) -> Floats:
        """Compute how likely what each word names is over, if it is something known."""
        return self._likely(states, "over")

    def _likely(self, states: Floats, head: str) -> Floats:
        import numpy as np

        scores = states @ self._wide[head] + self._wide[f"{head}_bias"]
        likely: Floats = 1 / (1 + np.exp(-scores[:, 0]))
        return likely

    def about(self, states: Floats, named: Floats, place: int) -> Floats:
        """Compute how likely a value is the speaker's own (first), or of whom each word names."""
        import numpy as np

        numbers = self._wide
        asked = states[place] @ numbers["who"] + numbers["who_bias"]
        own = states[place] @ numbers["own"] + numbers["own_bias"]
        scores = np.concatenate([own, named @ asked * numbers["sharp"]])
        likely: Floats = np.exp(scores - scores.max())
        likely /= likely.sum()
        return likely


@cache
def shipped() -> Network:
    """Load the network that is shipped."""
    import numpy as np

    with np.load(NUMBERS, allow_pickle=False) as numbers:
        return Network({name: numbers[name] for name in numbers.files})


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries that multiply: for so little, several threads only wait for each other."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _put_around(wide: Floats, states: Floats, reach: int) -> None:
    """Put each word's state between the first and last numbers of words before and behind it."""
    rows, width = states.shape
    near = (wide.shape[1] - width) // 2
    wide[:, near:-near] = states
    wide[:reach, :near] = 0
    wide[-reach:, -near:] = 0
    if rows > reach:
        wide[reach:, :near] = states[:-reach, :near]
        wide[:-reach, -near:] = states[reach:, -near:]


class Inputs(NamedTuple):
    """What the network is told of each word."""

    words: list[str]
    kinds: list[int]
    endings: list[int]
    marks: list[tuple[float, ...]]


def inputs(
    plain: str, words: Sequence[Word], clauses: Sequence[Clause], *, is_talk: bool
) -> Inputs:
    """List what the network is told: each word, its kind, ending and looks, and its clause."""
    raws = [plain[word.start : word.end] for word in words]
    asking, is_asked = [0.0] * len(words), 0.0
    for place in range(len(words) - 1, -1, -1):
        if raws[place] in ENDS:
            is_asked = float(raws[place] == "?")
        asking[place] = is_asked
    kinds, endings, marks, around, sentence = [], [], [], 0, None
    for word, raw, asked in zip(words, raws, asking, strict=True):
        while around < len(clauses) and clauses[around].end <= word.start:
            around += 1
        is_inside = around < len(clauses) and clauses[around].start <= word.start
        clause = clauses[around] if is_inside else None
        own = clause.sentence if clause else -1
        kind, ending, looks = _look(word.text, word.kind, raw)
        kinds.append(kind)
        endings.append(ending)
        is_unsure = (float(clause.asks), float(clause.doubted)) if clause else (0.0, 0.0)
        marks.append((*looks, float(own != sentence), *is_unsure, asked, float(is_talk)))
        sentence = own
    return Inputs([word.text for word in words], kinds, endings, marks)


@lru_cache(16_384)
def _look(text: str, kind: str, raw: str) -> tuple[int, int, tuple[float, ...]]:
    """Describe a word: the number of its kind, the row of its ending, and what it looks like."""
    looks = (
        raw[:1].isupper(),
        raw.isupper() and len(raw) > 1,
        any(map(str.isdigit, raw)),
        raw.isdigit(),
        len(raw) > 1 and not WITHIN.isdisjoint(raw),
        not raw.isascii(),
        raw in (".", "!"),
        raw == "?",
        raw == ",",
        raw in (":", ";"),
        raw == "\n",
        raw in ("(", ")", '"'),
    )
    ending = zlib.crc32(text[-ENDING:].encode()) % ENDINGS
    return KINDS.index(kind), ending, tuple(map(float, looks))
