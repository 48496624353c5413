"""Filters for a list: the values that its records have, with their numbers, as plain links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any, NamedTuple

from lamina.memory.browsing import month_of
from lamina.model.record import Record
from lamina.surfaces.http.console.formatting import spoken

TITLES = {
    "layer": "Layer",
    "kind": "Kind",
    "state": "State",
    "speaker": "Said by",
    "tag": "Tag",
    "project": "Project",
    "session": "Conversation",
    "source": "Source",
    "month": "Month",
}
CODED = frozenset({"layer", "kind", "state"})  # internal names, which are shown in another form
MOST = 8  # values per facet
MONTH = timedelta(days=32)  # added to the first of a month, it leads into the next


class Choice(NamedTuple):
    """A value: its name, how many have it, and the query to select only these, or all again."""

    label: str
    number: int
    query: Mapping[str, Any]
    is_chosen: bool


class Facet(NamedTuple):
    """The values of one kind, most frequent first, and how many more there are."""

    name: str
    title: str
    choices: list[Choice]
    more: int


def facets(counts: Mapping[str, Mapping[str, int]], total: int, given: Any) -> list[Facet]:
    """Offer filters for a list, and those already chosen; a value that all have filters nothing."""
    made = [_facet(name, counts.get(name, {}), given) for name in TITLES]
    return [
        facet for facet in made if any(one.is_chosen or one.number < total for one in facet.choices)
    ]


def counted(records: Iterable[Record]) -> dict[str, dict[str, int]]:
    """Count the values of the given records."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in TITLES}
    for record in records:
        for name in ("layer", "kind", "state", "speaker", "session", "source", "project"):
            if value := getattr(record, name):
                counts[name][str(value)] += 1
        counts["tag"].update(record.tags)
        counts["month"][month_of(record.occurred_at)] += 1
    return {name: dict(counter.most_common()) for name, counter in counts.items()}


def _facet(name: str, counts: Mapping[str, int], given: Any) -> Facet:
    chosen = _chosen(name, given)
    shown = {**dict.fromkeys(chosen, 0), **dict([*counts.items()][:MOST])}
    if name == "month":
        shown = dict(sorted(shown.items(), reverse=True))
    choices = [
        Choice(
            spoken(value) if name in CODED else value,
            counts.get(value, 0),
            _query(name, None if value in chosen else value),
            value in chosen,
        )
        for value in shown
    ]
    return Facet(name, TITLES[name], choices, max(0, len(counts) - MOST))


def _chosen(name: str, given: Any) -> list[str]:
    """List the values by which a list is already filtered."""
    if name == "month":
        since, until = (str(one or "")[:10] for one in (given.since, given.until))
        is_month = since.endswith("-01") and _bounds(since[:7]) == (since, until)
        return [since[:7]] if is_month else []
    asked = given.states() if name == "state" else getattr(given, name)
    return [str(one) for one in asked] if isinstance(asked, list) else [asked] if asked else []


def _query(name: str, value: str | None) -> dict[str, Any]:
    """Return the changes to the address: another list starts at its first page."""
    if name == "month":
        since, until = (None, None) if value is None else _bounds(value)
        return {"since": since, "until": until, "cursor": None}
    changed = {"state": value, "status": None} if name == "state" else {name: value}
    return {**changed, "cursor": None}


def _bounds(month: str) -> tuple[str, str]:
    """Return the first days of a month and of the next one."""
    try:
        first = date.fromisoformat(f"{month}-01")
    except ValueError:
        return "", ""
    return first.isoformat(), (first + MONTH).replace(day=1).isoformat()
