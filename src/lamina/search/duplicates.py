"""Memories that say the same: which of some new ones repeat a long-term memory, or one another."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina.model.record import LONG_TERM, Entry, Record, State
from lamina.store.index.catalogue import Mask, mark
from lamina.store.index.snapshot import Look
from lamina.store.tables.records import Filter
from lamina.store.tables.vectors import Space
from lamina.text import dates
from lamina.text.words import STOP_WORDS

NEAREST = 16  # of the nearest by their signs, one is the nearest by its cosine
LASTING = Filter(layers=LONG_TERM, states=(State.ACTIVE,))
ROUNDING = 1e-9
Vectors = NDArray[np.float64]

NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
NAME = re.compile(r"\b[A-Z]\w+")
WORD = re.compile(r"\w+")
DENIALS = (
    *(
        " not ",
        "n't ",
        "n’t ",
        " no ",
        " never ",
        " none ",
        " nobody ",
        " nothing ",
        " without ",
        " cannot ",
    ),
    *(
        " nicht ",
        " kein",
        " nie ",
        " ne ",
        " pas ",
        " jamais ",
        " no ",
        " nunca ",
        " sin ",
        " non ",
        " mai ",
    ),
    *(
        " не ",
        " нет ",
        " никогда ",
        "不",
        "没",
        "ない",
        "ません",
        "안 ",
        "없",
        "ไม่",
        " لا ",
        " ليس ",
    ),
)


class Twins:
    """Looks for twins in one embedder's space. Each entry may repeat what is there, or an entry before it.

    Twins are of one user and of the same trust: less is no evidence, and more is not to be lost in less. And they agree
    in what no vector tells apart: numbers, days, names, and whether something is denied.
    """

    def __init__(self, look: Look, space: Space, least: float) -> None:
        self._look = look
        self._space = space
        self._least = least - ROUNDING
        self._codes = look.codes(space)
        self._lasting: Mask = look.allowed(LASTING)
        self._firsts: list[tuple[Entry, Vectors]] = []  # entries that repeat nothing so far
        self._details: dict[str, Details] = {}

    def find(self, entries: Sequence[Entry]) -> Mapping[str, str]:
        """The memory that each entry repeats, for those that do."""
        numbers = np.array([entry.seq for entry in entries], np.int64)
        vectors, has = self._vectors(numbers)
        said = self._look.records(numbers.tolist(), Filter())
        self._details = {record.id: details(record) for record in said.values()}
        found: dict[str, str] = {}
        for entry, vector, known in zip(entries, vectors, has, strict=True):
            if not known:
                continue
            twin = self._among_firsts(entry, vector) or self._among_lasting(entry, vector)
            if twin is None:
                self._firsts.append((entry, vector))
            else:
                found[entry.id] = twin
        return found

    def _vectors(self, numbers: NDArray[np.int64]) -> tuple[Vectors, Mask]:
        """The vectors of some rows at exactly the length 1, and which of them have one."""
        stored, has = self._look.exact(self._space, numbers)
        lengths = np.linalg.norm(stored.astype(np.float64), axis=1)
        return stored / np.maximum(lengths, ROUNDING)[:, None], has & (lengths > 0)

    def _among_firsts(self, entry: Entry, vector: Vectors) -> str | None:
        for first, other in self._firsts:
            alike = (entry.user, entry.trust) == (first.user, first.trust) and self._agree(
                entry.id, first.id
            )
            if alike and float((vector * other).sum()) >= self._least:
                return first.id
        return None

    def _among_lasting(self, entry: Entry, vector: Vectors) -> str | None:
        size = self._look.catalogue.size
        rows = np.flatnonzero(self._lasting & (self._look.catalogue["user"] == mark(entry.user)))
        distances = self._codes.distances(vector.astype(np.float32), size)[rows]
        nearest = np.sort(rows[np.argsort(distances, kind="stable")[:NEAREST]])
        vectors, has = self._vectors(nearest)
        cosines = np.where(has, (vectors * vector).sum(axis=1), -1.0)
        near = nearest[cosines >= self._least]
        records = self._look.records(near.tolist(), LASTING)
        for number in near[np.argsort(-cosines[cosines >= self._least], kind="stable")].tolist():
            record = records.get(number)
            if record is None or (record.user, record.trust) != (entry.user, entry.trust):
                continue
            self._details[record.id] = details(record)
            if self._agree(entry.id, record.id):
                return record.id
        return None

    def _agree(self, one: str, other: str) -> bool:
        mine, others = self._details.get(one), self._details.get(other)
        return mine is not None and others is not None and mine.agree(others)


class Details(NamedTuple):
    """What tells texts apart whose vectors are near."""

    numbers: tuple[str, ...]
    days: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    denied: bool

    def agree(self, other: Details) -> bool:
        """Whether nothing tells them apart. A name may begin a sentence in the one and stand within it in the other."""
        if (self.numbers, self.days, self.denied) != (other.numbers, other.days, other.denied):
            return False
        return self.names <= other.words and other.names <= self.words


def details(record: Record) -> Details:
    content = record.content
    return Details(
        tuple(sorted(NUMBER.findall(content))),
        frozenset(mention.phrase.casefold() for mention in dates.find(content, record.occurred_at)),
        frozenset(name.casefold() for name in NAME.findall(content)) - STOP_WORDS,
        frozenset(word.casefold() for word in WORD.findall(content)),
        any(sign in f" {content.casefold()} " for sign in DENIALS),
    )
