"""Find new memories that repeat a long-term memory, or one another, by their vectors.

Sleep keeps one of them. `near_copies` does something else: it folds external texts in search
results, by their words, and changes no memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina.model.record import LONG_TERM, Entry, Record, State
from lamina.store.index.catalogue import Mask, mark
from lamina.store.index.snapshot import Snapshot
from lamina.store.tables.records import Filter
from lamina.store.tables.vectors import Space
from lamina.text import dates
from lamina.text.words import STOP_WORDS

NEAREST = 16  # candidates by signs, among which the nearest by cosine is chosen
LASTING = Filter(layers=LONG_TERM, states=(State.ACTIVE,))
ROUNDING = 1e-9
Vectors = NDArray[np.float64]

NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
NAME = re.compile(r"\b[A-Z]\w+")
WORD = re.compile(r"\w+")
# Words and parts of words, separated by commas; spaces belong to them.
DENIALS = (
    " not ,n't ,n’t , no , never , none , nobody , nothing , without , cannot ,"
    " nicht , kein, nie , ne , pas , jamais , nunca , sin , non , mai ,"
    " не , нет , никогда ,不,没,ない,ません,안 ,없,ไม่, لا , ليس "
).split(",")


class Duplicates:
    """Finds duplicates of lasting memories and of earlier entries in one embedder's space.

    Duplicates belong to one user and have the same trust: less trusted ones are no evidence, and
    more trusted ones must not be lost. And they agree in details that vectors do not distinguish:
    numbers, days, names, denials.
    """

    def __init__(self, look: Snapshot, space: Space, least: float) -> None:
        self._look = look
        self._space = space
        self._least = least - ROUNDING
        self._codes = look.codes(space)
        self._lasting: Mask = look.allowed(LASTING)
        self._originals: list[tuple[Entry, Vectors]] = []  # entries that repeat nothing
        self._details: dict[str, Details] = {}

    def find(self, entries: Sequence[Entry]) -> Mapping[str, str]:
        """Map each entry that repeats a memory to that memory."""
        rows = np.array([entry.seq for entry in entries], np.int64)
        vectors, has_vector = self._vectors(rows)
        records = self._look.records(rows.tolist(), Filter())
        self._details = {record.id: details(record) for record in records.values()}
        originals: dict[str, str] = {}
        for entry, vector, is_known in zip(entries, vectors, has_vector, strict=True):
            if not is_known:
                continue
            original = self._among_entries(entry, vector) or self._among_lasting(entry, vector)
            if original is None:
                self._originals.append((entry, vector))
            else:
                originals[entry.id] = original
        return originals

    def _vectors(self, rows: NDArray[np.int64]) -> tuple[Vectors, Mask]:
        """Return the vectors of some rows, normalised to length 1, and which rows have one."""
        stored, has_vector = self._look.exact(self._space, rows)
        lengths = np.linalg.norm(stored.astype(np.float64), axis=1)
        return stored / np.maximum(lengths, ROUNDING)[:, None], has_vector & (lengths > 0)

    def _among_entries(self, entry: Entry, vector: Vectors) -> str | None:
        for original, other in self._originals:
            is_same_kind = (entry.user, entry.trust) == (original.user, original.trust)
            if not is_same_kind or not self._agree(entry.id, original.id):
                continue
            if float((vector * other).sum()) >= self._least:
                return original.id
        return None

    def _among_lasting(self, entry: Entry, vector: Vectors) -> str | None:
        size = self._look.catalogue.size
        rows = np.flatnonzero(self._lasting & (self._look.catalogue["user"] == mark(entry.user)))
        centred = self._space.centred(vector).astype(np.float32)
        distances = self._codes.distances(centred, size)[rows]
        nearest = np.sort(rows[np.argsort(distances, kind="stable")[:NEAREST]])
        vectors, has_vector = self._vectors(nearest)
        cosines = np.where(has_vector, (vectors * vector).sum(axis=1), -1.0)
        is_near = cosines >= self._least
        near = nearest[is_near]
        records = self._look.records(near.tolist(), LASTING)
        for row in near[np.argsort(-cosines[is_near], kind="stable")].tolist():
            record = records.get(row)
            if record is None or (record.user, record.trust) != (entry.user, entry.trust):
                continue
            self._details[record.id] = details(record)
            if self._agree(entry.id, record.id):
                return record.id
        return None

    def _agree(self, first_id: str, second_id: str) -> bool:
        first, second = self._details.get(first_id), self._details.get(second_id)
        return first is not None and second is not None and first.agree(second)


class Details(NamedTuple):
    """The details that distinguish texts with similar vectors."""

    numbers: tuple[str, ...]
    days: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    denied: bool

    def agree(self, other: Details) -> bool:
        """Tell whether all details agree.

        A capitalised word need only be any word of the other text: it may begin a sentence in one.
        """
        if (self.numbers, self.days, self.denied) != (other.numbers, other.days, other.denied):
            return False
        return self.names <= other.words and other.names <= self.words


def details(record: Record) -> Details:
    """Read the details of a record."""
    content = record.content
    return Details(
        tuple(sorted(NUMBER.findall(content))),
        frozenset(mention.phrase.casefold() for mention in dates.find(content, record.occurred_at)),
        frozenset(name.casefold() for name in NAME.findall(content)) - STOP_WORDS,
        frozenset(word.casefold() for word in WORD.findall(content)),
        any(sign in f" {content.casefold()} " for sign in DENIALS),
    )
