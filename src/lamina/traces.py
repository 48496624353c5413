"""What goes with a memory that is erased: whatever was made of it and says what it said. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from lamina import text
from lamina.clock import is_id

RUN = 4  # so many words in a row are said by nobody else by chance
SHORTEST = 3  # a shorter word betrays nothing
SLEEP = "sleep"


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


def trace(fields: Mapping[str, Any], *, is_vouched: bool = False) -> Trace:
    """What a record holds, by the names of its fields."""
    metadata = fields["metadata"]
    origin = metadata.get("origin")
    named = (fields["content"], *(fields.get(name) for name in ("speaker", "source", "session", "key")))
    texts = (*filter(None, named), *fields["tags"], *strings(metadata), *(one for one in fields["evidence"] if not is_id(one)))
    return Trace(fields["id"], tuple(fields["evidence"]), texts, origin if isinstance(origin, str) else None, is_vouched)


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
    return {word for one in traces for said in one.texts for word in text.tokens(said) if len(word) >= SHORTEST}


def verdicts(chosen: Collection[Trace], resting: Collection[Trace], own: AbstractSet[str]) -> list[Verdict]:
    """What becomes of the records that rest on the chosen ones, however far; `own` are words that nobody else has.

    What sleep has made is read again from what is left. What says anything that only the erased ones said goes with them,
    whoever wrote it. What rests on nothing else goes too, unless an operator has written it.
    """
    gone = {one.id for one in chosen}
    said = {run for one in chosen for run in _runs(one.texts[0], (RUN,), whole=True)}
    open_ = {one.id: one for one in resting if one.id not in gone}
    found: dict[str, Verdict] = {}
    while True:
        fresh = [Verdict(one.id, True, why) for one in open_.values() if (why := _why(one, gone, own, said)) is not None]
        if not fresh:
            break
        found |= {verdict.id: verdict for verdict in fresh}
        gone |= found.keys()
        open_ = {name: one for name, one in open_.items() if name not in gone}
    kept = [one for one in open_.values() if not gone.isdisjoint(one.sources)]
    return [*found.values(), *(Verdict(one.id, False, _why_kept(one, gone)) for one in kept)]


def _why(one: Trace, gone: AbstractSet[str], own: AbstractSet[str], said: AbstractSet[tuple[str, ...]]) -> str | None:
    """Why a record goes; None when it stays, so far."""
    if gone.isdisjoint(one.sources):
        return None
    if one.origin == SLEEP:
        return "sleep made it of this"
    if not words([one]).isdisjoint(own):
        return "it holds words that only this has"
    lengths = {len(run) for run in said}
    if any(run in said for part in one.texts for run in _runs(part, lengths)):
        return "it says the same"
    if set(one.sources) <= gone and not one.is_vouched:
        return "it rests on nothing else"
    return None


def _why_kept(one: Trace, gone: AbstractSet[str]) -> str:
    return "an operator wrote it, in other words" if set(one.sources) <= gone else "it rests on other memories too"


def _runs(said: str, lengths: Collection[int], *, whole: bool = False) -> Iterator[tuple[str, ...]]:
    """Every few words in a row of a text; a text of fewer words is one run, where the whole of it is wanted."""
    row = text.WORD.findall(text.normalise(said))
    for length in lengths:
        yield from (tuple(row[start : start + length]) for start in range(len(row) - length + 1))
    if whole and 0 < len(row) < min(lengths):
        yield tuple(row)


def is_betrayed(said: str, own: AbstractSet[str]) -> bool:
    """Whether a text holds a word that only erased memories had."""
    return not own.isdisjoint(text.tokens(said))
