"""Arrange the queue: which proposals match a search, in which order and groups. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lamina.engines import review
from lamina.engines.review import Proposal
from lamina.model.record import Layer, Record, Trust
from lamina.surfaces.cli.reviewer.wording import origin, place
from lamina.text.words import normalise

ASKED = frozenset({"profile.propose", "forget.request", "semantic.compact", "procedural.dedup"})
OTHERS = {
    "sleep": "sleep proposed it",
    "undo": "a decision was undone",
    "revoke": "its source was revoked",
}
TRUSTS = tuple(Trust)


class Group(NamedTuple):
    """Proposals with a common property, and its name; without a name if there is one group."""

    name: str
    proposals: Sequence[Proposal]


class Arrangement(NamedTuple):
    """How a person wants to see the queue."""

    words: str = ""
    order: str = "effect"
    grouping: str = "none"

    def groups(self, waiting: Sequence[Proposal]) -> list[Group]:
        """Arrange what waits; groups are in the order of their first proposals."""
        shown = sorted(matching(waiting, self.words), key=ORDERS[self.order])
        name = GROUPINGS[self.grouping]
        if name is None:
            return [Group("", shown)] if shown else []
        groups: dict[str, list[Proposal]] = {}
        for one in shown:
            groups.setdefault(name(one), []).append(one)
        return [Group(name, members) for name, members in groups.items()]


def matching(waiting: Sequence[Proposal], words: str) -> Sequence[Proposal]:
    """Select the proposals that have every word of a search."""
    wanted = normalise(words).split()
    if not wanted:
        return waiting
    return [one for one in waiting if all(word in _searched(one) for word in wanted)]


def _searched(proposal: Proposal) -> str:
    record = proposal.record
    about = (place(record), origin(proposal), record.trust, person(record), asked_by(proposal))
    return normalise(" ".join((*about, record.content, record.id)))


def person(record: Record) -> str:
    """Name the person whom a record is about, if it says so."""
    subject = record.metadata.get("subject")
    if isinstance(subject, str) and subject:
        return subject
    return record.user or (record.speaker or "the user")


def key(record: Record) -> str:
    """Name the key that a record is about: of the profile, of a fact, or else its slot."""
    attribute = record.metadata.get("attribute")
    is_fact = record.layer is Layer.SEMANTIC and isinstance(attribute, str)
    return f"fact/{attribute}" if is_fact else place(record)


def asked_by(proposal: Proposal) -> str:
    """Name who wants it: a person, an agent, or Lamina itself."""
    if proposal.by not in ASKED:
        return OTHERS.get(proposal.by, f"by {proposal.by}")
    if review.to_forget(proposal.record) is not None:
        return "an agent asks to forget"
    by_person = proposal.record.trust is Trust.OPERATOR
    return "a person proposed it" if by_person else "an agent proposed it"


ORDERS: Mapping[str, Callable[[Proposal], float]] = {
    "effect": lambda _: 0,  # the order of the queue itself
    "newest": lambda one: -one.since.timestamp(),
    "oldest": lambda one: one.since.timestamp(),
    "least trusted": lambda one: -TRUSTS.index(one.record.trust),
}
GROUPINGS: Mapping[str, Callable[[Proposal], str] | None] = {
    "none": None,
    "person": lambda one: person(one.record),
    "key": lambda one: key(one.record),
    "source": origin,
    "who asked": asked_by,
}


def following(names: Mapping[str, object], current: str) -> str:
    """Return the name after this one, or the first after the last."""
    known = [*names]
    return known[(known.index(current) + 1) % len(known)]
