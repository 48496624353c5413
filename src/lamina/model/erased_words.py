"""What goes with a memory that is erased, and by what it would be known again. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from lamina.model.clock import is_id
from lamina.text import words as text

RUN = 4  # so many words in a row are seldom said twice by chance
SHORTEST = 3  # a shorter word betrays nothing
SLEEP = "sleep"
GONE = "…"
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9:]+)")


class Trace(msgspec.Struct, frozen=True):
    """A record as far as it matters to an erasure: what it rests on, and every text that it holds."""

    id: str
    evidence: tuple[str, ...]
    texts: tuple[str, ...]
    origin: str | None = None
    is_vouched: bool = False  # an operator has written it

    @property
    def sources(self) -> list[str]:
        """The records that it rests on."""
        return [one for one in self.evidence if is_id(one)]


class Verdict(msgspec.Struct, frozen=True):
    """What happens to a record that rests on what is erased, and why."""

    id: str
    goes: bool
    why: str


class Signature(msgspec.Struct, frozen=True):
    """By what erased texts would be known again: words and runs of words that nothing else has."""

    words: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.words) + len(self.runs)

    def is_in(self, said: str) -> bool:
        """Whether a text holds one of them."""
        if not self.words.isdisjoint(text.tokens(said)):
            return True
        return bool(self.runs) and any(
            run in self.runs for run in _runs(text.row(said), self._lengths)
        )

    def is_among(self, texts: Iterable[str]) -> bool:
        return any(map(self.is_in, texts))

    def masked(self, said: str) -> str:
        """A text without these words; all of it is gone when a run of them is in it."""
        kept = text.WORD.sub(
            lambda found: GONE if self.is_in(found.group()) else found.group(), said
        )
        return GONE if self.is_in(kept) else kept

    @property
    def _lengths(self) -> set[int]:
        return {run.count(" ") + 1 for run in self.runs}


def trace(fields: Mapping[str, Any], *, is_vouched: bool = False) -> Trace:
    """What a record holds, by the names of its fields."""
    metadata = fields["metadata"]
    origin = metadata.get("origin")
    named = (
        fields["content"],
        *(fields.get(name) for name in ("speaker", "source", "session", "key")),
    )
    texts = (
        *filter(None, named),
        *fields["tags"],
        *strings(metadata),
        *(one for one in fields["evidence"] if not is_id(one)),
    )
    said = tuple(
        one for one in texts if TIME.fullmatch(one) is None
    )  # when something was said betrays nothing
    return Trace(
        fields["id"],
        tuple(fields["evidence"]),
        said,
        origin if isinstance(origin, str) else None,
        is_vouched,
    )


def strings(value: Any) -> Iterator[str]:
    """Every text among the values of some metadata, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from strings(item)


def words(traces: Iterable[Trace]) -> set[str]:
    """The words by which these could be known again."""
    return {
        word
        for one in traces
        for said in one.texts
        for word in text.tokens(said)
        if len(word) >= SHORTEST
    }


def runs(traces: Iterable[Trace]) -> set[str]:
    """Every few words in a row of these; a text of fewer is one run, unless it is a single word."""
    return {run for one in traces for said in one.texts for run in _whole(text.row(said))}


def verdicts(
    chosen: Collection[Trace], resting: Collection[Trace], own: AbstractSet[str]
) -> list[Verdict]:
    """What becomes of the records that rest on the chosen ones, however far; `own` are words that nobody else has.

    What sleep has made is read again from what is left. What says anything that only those said which go, goes with them,
    whoever wrote it. What rests on nothing else goes too, unless an operator has written it.
    """
    gone = {one.id for one in chosen}
    going = list(chosen)
    open_ = {one.id: one for one in resting if one.id not in gone}
    found: dict[str, Verdict] = {}
    while going:
        said = Signature(frozenset(words(going)) & own, frozenset(runs(going)))
        fresh = {
            one.id: why
            for one in open_.values()
            if (why := _why(one, gone | found.keys(), said)) is not None
        }
        found |= {name: Verdict(name, True, why) for name, why in fresh.items()}
        going = [open_.pop(name) for name in fresh]
    gone |= found.keys()
    kept = [one for one in open_.values() if not gone.isdisjoint(one.sources)]
    return [*found.values(), *(Verdict(one.id, False, _why_kept(one, gone)) for one in kept)]


def _why(one: Trace, gone: AbstractSet[str], said: Signature) -> str | None:
    """Why a record goes; None when it stays, so far."""
    if gone.isdisjoint(one.sources):
        return None
    if one.origin == SLEEP:
        return "sleep made it of this"
    if said.is_among(one.texts):
        return "it says what only this says"
    return "it rests on nothing else" if set(one.sources) <= gone and not one.is_vouched else None


def _why_kept(one: Trace, gone: AbstractSet[str]) -> str:
    return (
        "an operator wrote it, in other words"
        if set(one.sources) <= gone
        else "it rests on other memories too"
    )


def _whole(row: Sequence[str]) -> Iterator[str]:
    if len(row) >= RUN:
        yield from _runs(row, (RUN,))
    elif len(row) > 1:
        yield " ".join(row)


def _runs(row: Sequence[str], lengths: Iterable[int]) -> Iterator[str]:
    for length in lengths:
        yield from (" ".join(row[start : start + length]) for start in range(len(row) - length + 1))
