"""Conversations of plain sentences, a store that hears them, and what should be known of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st

from lamina import Memory
from lamina.engines import facts
from lamina.memory.sleep import facts as knowledge
from lamina.model.record import Record, State
from tests.conftest import START, Desk

ALL = 10_000
DAY = timedelta(days=1)
MOMENT = timedelta(microseconds=1)
GUARDED = ["semantic", "procedural", "profile"]
# Sentences that the rules understand whatever is said around them.
VALUES = {
    "lives_in": ["Porto", "Lisbon", "Braga"],
    "employer": ["Acme", "Initech", "Globex"],
    "job": ["nurse", "teacher", "pilot"],
    "diet": ["vegan", "vegetarian"],
    "favourite:colour": ["blue", "green", "red"],
    "likes": ["tea", "chess", "rowing"],
    "dislikes": ["tea", "chess", "rowing"],
    "language": ["French", "Dutch"],
    "allergy": ["nuts", "milk"],
}
SETTING = {
    "lives_in": ["I live in {0}.", "I moved to {0}."],
    "employer": ["I work at {0}.", "I started working at {0}."],
    "job": ["I'm a {0}.", "I work as a {0}."],
    "diet": ["I'm {0}."],
    "favourite:colour": ["My favourite colour is {0}."],
    "likes": ["I love {0}.", "I like {0}."],
    "dislikes": ["I hate {0}."],
    "language": ["I speak {0}."],
    "allergy": ["I'm allergic to {0}."],
}
DENYING = {
    "lives_in": ["I no longer live in {0}.", "I don't live in {0} any more."],
    "employer": ["I don't work at {0} any more."],
    "diet": ["I'm not {0} any more."],
    "likes": ["I don't like {0} any more."],
}
CORRECTING = {"lives_in": ["I live in {1}, sorry, I meant {0}."]}
SINGLE = ("lives_in", "employer", "job", "diet", "favourite:colour")
ADDING = ("likes", "language", "allergy")
PEOPLE = (("ana", "Ana"), (None, "Ben"), ("ana", "Ben"))
Place = tuple[str | None, str, str]


class Said(NamedTuple):
    """A sentence, and what it says."""

    text: str
    attribute: str
    value: str
    denied: bool = False
    wrong: str | None = None  # the value that it takes back

    @property
    def claims(self) -> list[tuple[str, str, bool, bool]]:
        """What the rules should find in it: attribute, value, whether it is denied, and whether it
        takes back."""
        own = (self.attribute, self.value, self.denied, self.wrong is not None)
        return [own] if self.wrong is None else [(self.attribute, self.wrong, False, False), own]


class Spoken(NamedTuple):
    """A sentence of somebody, at its time."""

    said: Said
    user: str | None
    speaker: str
    at: datetime

    def place(self, attribute: str) -> Place:
        return self.user, self.speaker, attribute


def every_saying(
    attributes: Iterable[str] = VALUES, *, corrections: bool = True, denials: bool = True
) -> list[Said]:
    found = []
    for name in attributes:
        for value in VALUES[name]:
            found += [Said(shape.format(value), name, value) for shape in SETTING[name]]
            found += [
                Said(shape.format(value), name, value, True)
                for shape in DENYING.get(name, ())
                if denials
            ]
            wrongs = [one for one in VALUES[name] if one != value and corrections]
            found += [
                Said(shape.format(value, wrong), name, value, wrong=wrong)
                for shape in CORRECTING.get(name, ())
                for wrong in wrongs
            ]
    return found


def conversations(
    sayings: Sequence[Said], most: int = 12, people: Sequence[tuple[str | None, str]] = PEOPLE
) -> st.SearchStrategy[list[Spoken]]:
    """What some people say, one sentence a day."""
    told = st.lists(
        st.tuples(st.sampled_from(sayings), st.sampled_from(people)), min_size=1, max_size=most
    )
    return told.map(
        lambda some: [Spoken(said, *who, START + n * DAY) for n, (said, who) in enumerate(some)]
    )


def about_one_thing(*, corrections: bool = True) -> st.SearchStrategy[list[Spoken]]:
    """One person on one thing, again and again: nearly everything that is said contradicts or
    repeats something."""
    return conversations(every_saying(["lives_in"], corrections=corrections), 6, PEOPLE[:1])


def in_any_order(spoken: st.SearchStrategy[list[Spoken]]) -> st.SearchStrategy[list[Spoken]]:
    """Conversations in the order in which they arrive, which is not that in which
    they were held."""
    return spoken.flatmap(st.permutations)


def arrived(*texts: tuple[int, str]) -> list[Spoken]:
    """Sentences of one person by their days, in the order in which they arrive."""
    known = {said.text: said for said in EVERY}
    return [Spoken(known[text], *PEOPLE[0], START + day * DAY) for day, text in texts]


EVERY = every_saying()
CONVERSATIONS = conversations(EVERY)
NIGHTS = st.lists(st.booleans(), min_size=12, max_size=12)
BATCHES = st.sampled_from([1, 2, 3, 500])


class Room:
    """A new store, and the handles of those who talk there."""

    def __init__(self, desk: Desk, batch: int) -> None:
        self.desk = desk
        self.op = desk.operator()
        self.handles: dict[str | None, Memory] = {None: self.op, "ana": desk.operator(user="ana")}
        self.batch = batch

    def hear(self, spoken: Iterable[Spoken], nights: Sequence[bool] = (), **more: Any) -> None:
        """Store what is said, and sleep after what `nights` say; and at the end."""
        for number, one in enumerate(spoken):
            session = f"week {(one.at - START).days // 7}"
            more = {"layer": "episodic", "importance": 0.5, **more}
            self.handles[one.user].remember(
                one.said.text, speaker=one.speaker, session=session, at=one.at, **more
            )
            if number < len(nights) and nights[number]:
                self.sleep()
        self.sleep()

    def sleep(self) -> dict[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(knowledge, "BATCH", self.batch)
            return self.op.sleep()

    def records(self, *states: State) -> list[Record]:
        """What is there in the layers that are believed, the oldest first."""
        return self.op.list(layers=GUARDED, states=list(states) or None, limit=ALL)[::-1]

    def known(self, *states: State) -> list[Record]:
        return [record for record in self.records(*states) if facts.is_fact(record)]


@contextmanager
def room(batch: int = 500) -> Iterator[Room]:
    with tempfile.TemporaryDirectory() as folder, Desk(Path(folder, "home")) as desk:
        desk.clock.set(START + 50 * DAY)
        yield Room(desk, batch)


class Oracle:
    """What should be known of somebody's single values: since when, and what; nothing after
    it was denied."""

    def __init__(self, spoken: Iterable[Spoken]) -> None:
        self.history: dict[Place, list[tuple[datetime, str | None]]] = {}
        self.many: dict[Place, set[tuple[str, str, bool]]] = {}
        for one in sorted(spoken, key=lambda one: one.at):
            if one.said.attribute in SINGLE:
                self._hear(self.history.setdefault(one.place(one.said.attribute), []), one)
            else:
                self._add(self.many.setdefault(one.place("many"), set()), one.said)

    def _hear(self, history: list[tuple[datetime, str | None]], one: Spoken) -> None:
        said, now = one.said, history[-1][1] if history else None
        if said.denied:
            if now == said.value or not history:
                history.append((one.at, None))
        elif said.wrong is not None and said.wrong == now:
            history[-1] = (history[-1][0], said.value)  # it had been so from the beginning
        elif said.wrong is not None or now != said.value:
            history.append((one.at, said.value))

    def _add(self, known: set[tuple[str, str, bool]], said: Said) -> None:
        """Who likes something neither dislikes it nor denies that; who denies it may dislike it."""
        if said.attribute in ("likes", "dislikes"):
            is_liked = said.attribute == "likes" and not said.denied
            known -= {("likes", said.value, False)}
            known -= (
                {("likes", said.value, True), ("dislikes", said.value, False)}
                if is_liked
                else set()
            )
        known.add((said.attribute, said.value, said.denied))

    def value(self, place: Place, at: datetime) -> list[str]:
        """What held at a time: one value, or none."""
        then = [value for since, value in self.history[place] if since <= at]
        return [then[-1]] if then and then[-1] is not None else []

    @property
    def moments(self) -> list[datetime]:
        """Each change, and just before it."""
        changes = {since for history in self.history.values() for since, _ in history}
        return sorted(
            {at for change in changes for at in (change - MOMENT, change)} | {START + 100 * DAY}
        )
