"""The records that wait in the fail-safe: list, filter and search them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import takewhile

from msgspec import structs

from lamina.errors import StoreUnavailable
from lamina.failsafe.line import Contents, Line
from lamina.failsafe.spool import Spool
from lamina.failsafe.validation import Allowed
from lamina.model.record import Hit, Hits, Layer, Record, State, Waiting
from lamina.store.tables import facets, records
from lamina.store.tables.records import Filter
from lamina.text import words as text

ENOUGH = 0.5  # the share of a question's words that an answer has at least
STEM, ENDING = 4, 3  # letters that related words share at their start, and that may follow these


class Queue:
    """The records of a spool, rebuilt only when its files have changed."""

    def __init__(self, spool: Spool, allowed: Allowed) -> None:
        self._spool = spool
        self._allowed = allowed
        self._made: tuple[Contents | None, list[Waiting]] = None, []

    def records(self) -> list[Waiting]:
        """List the records in order; none if the spool cannot be read."""
        try:
            contents = self._spool.contents()
        except StoreUnavailable:
            return []
        if contents is not self._made[0]:
            made = (record(line, self._allowed) for line in contents.lines)
            self._made = contents, [one for one in made if one is not None]
        return self._made[1]

    def problems(self) -> list[str]:
        """Describe what is wrong, even if it is only that the spool cannot be read."""
        try:
            return self._spool.problems()
        except StoreUnavailable as error:
            return [error.message]


def record(line: Line, allowed: Allowed) -> Waiting | None:
    """Make the record that a line will become, without a number; None if the line is invalid."""
    draft, why = allowed.drafted(line)
    if draft is None:
        return None
    if why is not None:
        draft = structs.replace(draft, state=State.CONSTRAINED)
    return Waiting(**structs.asdict(records.new_record(draft, line.id, 0, allowed.agent, line.at)))


def chosen(
    waiting: Iterable[Record], wanted: Filter, known_at: datetime | None = None
) -> list[Record]:
    """Filter records."""
    return [
        one
        for one in waiting
        if _matches(one, wanted) and (known_at is None or one.created_at <= known_at)
    ]


def listed(stored: Sequence[Record], waiting: Sequence[Record], limit: int) -> list[Record]:
    """Merge stored and waiting records, newest first; a stored one no longer waits."""
    known = {one.id for one in stored}
    both = [*reversed([one for one in waiting if one.id not in known]), *stored]
    return sorted(both, key=lambda one: one.occurred_at, reverse=True)[:limit]


def found(query: str, waiting: Sequence[Record], limit: int) -> list[Hit]:
    """Rank records by the words that they share with a question: there is no index of them."""
    shares = [(one, _share(query, one)) for one in waiting]
    best = sorted((pair for pair in shares if pair[1] >= ENOUGH), key=lambda pair: -pair[1])
    return [Hit(one, share, {"words": share}) for one, share in best[:limit]]


def merged(stored: Hits, waiting: Sequence[Hit], limit: int) -> Hits:
    """Merge stored and waiting hits, best first; a stored one no longer waits."""
    known = {hit.record.id for hit in stored}
    both = [*stored, *(hit for hit in waiting if hit.record.id not in known)]
    return Hits(sorted(both, key=lambda hit: -hit.score)[:limit], stored.notes, stored.confidence)


def _matches(one: Record, wanted: Filter) -> bool:
    if wanted.user is not None and one.user not in (None, wanted.user):
        return False
    if (
        one.layer is Layer.WORKING
        and one.run_id != wanted.run_id
        and (wanted.run_id or Layer.WORKING not in wanted.layers)
    ):
        return False
    if wanted.part is not None and not (
        one.id.startswith(wanted.part) or one.id.endswith(wanted.part)
    ):
        return False
    given: tuple[tuple[Collection[object], object], ...] = (
        (wanted.layers, one.layer),
        (wanted.states, one.state),
        (wanted.kinds, one.kind),
    )
    if any(values and value not in values for values, value in given):
        return False
    names = (
        (wanted.session, one.session),
        (wanted.speaker, one.speaker),
        (wanted.source, one.source),
    )
    if any(asked is not None and asked != name for asked, name in names):
        return False
    if not _is_in_project(one, wanted):
        return False
    if wanted.tags and set(wanted.tags).isdisjoint(one.tags):
        return False
    if not set(wanted.all_tags) <= set(one.tags) or not set(wanted.metadata) <= set(
        facets.of(one.metadata)
    ):
        return False
    return _is_when(one.occurred_at, wanted)


def _is_in_project(one: Record, wanted: Filter) -> bool:
    if wanted.project is None and wanted.beside is None:
        return True
    projects = facets.projects(one.metadata)
    if wanted.beside is not None and not projects <= {wanted.beside}:
        return False
    return wanted.project is None or wanted.project in projects


def _is_when(moment: datetime, wanted: Filter) -> bool:
    if wanted.as_of is not None and moment > wanted.as_of:
        return False
    return (wanted.since is None or moment >= wanted.since) and (
        wanted.until is None or moment < wanted.until
    )


def _share(query: str, one: Record) -> float:
    """Compute the share of a question's words that a record has."""
    words, there = text.terms(query), text.tokens(" ".join((one.content, *one.tags)))
    return (
        sum(word in there or any(_alike(word, other) for other in there) for word in words)
        / len(words)
        if words
        else 0.0
    )


def _alike(word: str, other: str) -> bool:
    """Return whether two words differ only in their endings."""
    common = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False))
    )
    return common >= STEM and max(len(word), len(other)) - common <= ENDING
