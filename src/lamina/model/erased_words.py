"""Decide what is erased with a memory, and by which words its text would be recognised. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from lamina.model.clock import is_id
from lamina.text.words import WORD, row, tokens

RUN = 4  # this many words in a row are seldom repeated by chance
SHORTEST = 3  # a shorter word reveals nothing
SLEEP = "sleep"
GONE = "…"
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9:]+)")


class Trace(msgspec.Struct, frozen=True):
    """The parts of a record that an erasure needs: what it rests on, and every text in it."""

    id: str
    evidence: tuple[str, ...]
    texts: tuple[str, ...]
    origin: str | None = None
    is_vouched: bool = False  # an operator has written it

    @property
    def sources(self) -> list[str]:
        """The records that it rests on."""
        return [reference for reference in self.evidence if is_id(reference)]


class Verdict(msgspec.Struct, frozen=True):
    """What happens to a record that rests on an erased one, and the reason."""

    id: str
    goes: bool
    why: str


class Signature(msgspec.Struct, frozen=True):
    """Words and runs of words that only the erased texts contain, by which they are recognised."""

    words: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.words) + len(self.runs)

    def is_in(self, text: str) -> bool:
        """Tell if a text contains one of them."""
        if not self.words.isdisjoint(tokens(text)):
            return True
        return bool(self.runs) and not self.runs.isdisjoint(_runs(row(text), self._lengths))

    def is_among(self, texts: Iterable[str]) -> bool:
        return any(map(self.is_in, texts))

    def masked(self, text: str) -> str:
        """Mask these words in a text, or all of it if it contains a run of them."""
        kept = WORD.sub(lambda word: GONE if self.is_in(word.group()) else word.group(), text)
        return GONE if self.is_in(kept) else kept

    @property
    def _lengths(self) -> set[int]:
        return {run.count(" ") + 1 for run in self.runs}


def trace(fields: Mapping[str, Any], *, is_vouched: bool = False) -> Trace:
    """Build the trace of a record from its fields by name."""
    metadata, evidence = fields["metadata"], tuple(fields["evidence"])
    labels = (fields.get(name) for name in ("content", "speaker", "source", "session", "key"))
    texts = (
        *filter(None, labels),
        *fields["tags"],
        *strings(metadata),
        *(reference for reference in evidence if not is_id(reference)),
    )
    # The time of a statement reveals nothing.
    texts = tuple(text for text in texts if TIME.fullmatch(text) is None)
    origin = metadata.get("origin")
    origin = origin if isinstance(origin, str) else None
    return Trace(fields["id"], evidence, texts, origin, is_vouched)


def strings(value: Any) -> Iterator[str]:
    """Yield every text among the values of some metadata, however deeply nested."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, Mapping)):
        for item in value.values():
            if not isinstance(item, (int, float)):  # checking for Mapping is slow
                yield from strings(item)
    elif isinstance(value, (list, tuple, Sequence)):
        for item in value:
            yield from strings(item)


def words(traces: Iterable[Trace]) -> set[str]:
    """Collect the words by which these records could be recognised."""
    texts = (text for record in traces for text in record.texts)
    return {word for text in texts for word in tokens(text) if len(word) >= SHORTEST}


def runs(traces: Iterable[Trace]) -> set[str]:
    """Collect the runs of `RUN` words; a shorter text is one run, unless it is a single word."""
    return {run for record in traces for text in record.texts for run in _runs_of(row(text))}


def verdicts(
    chosen: Collection[Trace], resting: Collection[Trace], own: AbstractSet[str]
) -> list[Verdict]:
    """Decide about the records that rest directly or indirectly on the chosen ones.

    `own` are words that no other record has. What sleep made goes, since sleep reads again what is
    left. A record that repeats what only the erased records said goes with them, whoever wrote it.
    A record that rests on nothing else goes too, unless an operator wrote it.
    """
    gone = {record.id for record in chosen}
    going = list(chosen)
    undecided = {record.id: record for record in resting if record.id not in gone}
    reasons: dict[str, str] = {}
    while going:
        erased = Signature(frozenset(words(going)) & own, frozenset(runs(going)))
        fresh = {
            record.id: reason
            for record in undecided.values()
            if (reason := _reason_to_go(record, gone | reasons.keys(), erased)) is not None
        }
        reasons |= fresh
        going = [undecided.pop(record_id) for record_id in fresh]
    gone |= reasons.keys()
    kept = [record for record in undecided.values() if not gone.isdisjoint(record.sources)]
    return [
        *(Verdict(record_id, True, reason) for record_id, reason in reasons.items()),
        *(Verdict(record.id, False, _reason_to_stay(record, gone)) for record in kept),
    ]


def _reason_to_go(record: Trace, gone: AbstractSet[str], erased: Signature) -> str | None:
    """Say why a record goes; None if it stays so far."""
    if gone.isdisjoint(record.sources):
        return None
    if record.origin == SLEEP:
        return "sleep derived it from this"
    if erased.is_among(record.texts):
        return "it repeats words that only this record has"
    if set(record.sources) <= gone and not record.is_vouched:
        return "it rests on nothing else"
    return None


def _reason_to_stay(record: Trace, gone: AbstractSet[str]) -> str:
    if set(record.sources) <= gone:
        return "an operator wrote it, in other words"
    return "it rests on other memories too"


def _runs_of(words: Sequence[str]) -> Iterator[str]:
    if len(words) >= RUN:
        yield from _runs(words, (RUN,))
    elif len(words) > 1:
        yield " ".join(words)


def _runs(words: Sequence[str], lengths: Iterable[int]) -> Iterator[str]:
    for length in lengths:
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])
