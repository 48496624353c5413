"""Whatever is granted, ended, moved, put aside or archived: an agent reads what it was granted of
another, and nothing else.

A model that knows nothing of the store's grants says what may be seen. Every memory carries a word
of its own, so that whatever a call gives back, or says in an error, can be searched for words that
should not be there.
"""

from __future__ import annotations

import json
import random
import re
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from lamina import Memory
from lamina.errors import LaminaError, NotFound, no_record
from lamina.memory.shared import Guest
from lamina.model.record import State
from lamina.search import RANKERS
from lamina.store.engine.sqlite import _OPEN, SqliteDatabase, present
from tests.conftest import CONTRACTS, FULL, START, Desk, Ticking, move, supersede, verified
from tests.security.recalled import FILTERS, SECRET, everything, secrets, spoken, told
from tests.security.tally import probe

READS = 10_000 if FULL else 600
LAYERS = ("short_term", "episodic", "semantic", "procedural", "profile", "world")
TAGS = ("house", "garden", "work", "private")
USERS = (None, "ana", "ben")
READERS = (
    ("milton", None),
    ("milton", "ana"),
    ("milton", "ben"),
    ("aegis", None),
    ("aegis", "ben"),
)
MARKER = re.compile(r"marker\d{4}")
ALL = 10_000


class Known(msgspec.Struct):
    """A memory of the giver, as the test knows it; `past` has what it was from each time on."""

    id: str
    marker: str
    user: str | None
    tags: tuple[str, ...]
    layer: str
    created: datetime
    past: list[tuple[datetime, str, str]]
    state: str = "active"
    valid_to: datetime | None = None
    archived: bool = False

    def become(self, now: datetime, state: str | None = None, layer: str | None = None) -> None:
        self.state, self.layer = state or self.state, layer or self.layer
        self.past.append((now, self.state, self.layer))

    def was(self, moment: datetime) -> tuple[str, str] | None:
        """Its state and layer at a time."""
        known = [(state, layer) for at, state, layer in self.past if at <= moment]
        return known[-1] if known and self.created <= moment else None


class Given(msgspec.Struct):
    """A grant, as the test knows it."""

    number: int
    agent: str
    user: str | None
    what: str
    value: str
    since: datetime
    until: datetime | None
    ended: bool = False

    def holds(self, now: datetime) -> bool:
        return not self.ended and self.since <= now and (self.until is None or now < self.until)

    def covers(self, one: Known) -> bool:
        if one.archived or one.state not in ("active", "superseded") or one.layer == "working":
            return False
        if self.what == "record":
            return one.id == self.value
        if self.user is not None and one.user != self.user:
            return False
        return one.layer == self.value if self.what == "layer" else self.value in one.tags


class World:
    """One agent with memories of three users, two agents that read, and what may be seen."""

    def __init__(self, desk: Desk, chance: random.Random) -> None:
        self.desk, self.chance = desk, chance
        self.clock = desk.clock
        self.clock.step = timedelta(0)
        self.known: list[Known] = []
        self.given: list[Given] = []
        self.operators = {user: desk.operator("sky", user) for user in USERS}
        self.own = {user: desk.agent("sky", user) for user in USERS}
        self.readers: dict[tuple[str, str | None], Memory] = {
            who: desk.agent(*who) for who in READERS
        }
        self.guests: dict[tuple[str, str | None], Guest] = {}
        for handle in self.readers.values():
            handle.remember("common words of my own", tags=["own"])
        self.run = self.own[None].run("common task markerless")
        for _ in range(50):
            self.remember()
        for _ in range(6):
            self.grant()
            self.put_aside()

    def tick(self) -> datetime:
        self.clock.jump(timedelta(seconds=1))
        return self.clock.now

    def remember(self) -> None:
        now, user, marker = self.tick(), self.chance.choice(USERS), f"marker{len(self.known):04}"
        layer = self.chance.choice([*LAYERS, "semantic", "working", "working"])
        tags = (*self.chance.sample(TAGS, self.chance.randint(0, 2)), f"only{len(self.known)}")
        content = f"common {marker} {self.chance.choice(['boiler', 'garden', 'letter'])} of {user}"
        if layer == "working":
            user = None
            record = self.run.note(content, tags=tags)
        else:
            metadata = {
                **CONTRACTS[layer],
                **({"profile_key": marker} if layer == "profile" else {}),
            }
            record = self.operators[user].remember(
                content, layer=layer, tags=tags, metadata=metadata, session="talk"
            )
        self.known.append(
            Known(record.id, marker, user, record.tags, layer, now, [(now, "active", layer)])
        )

    def change(self) -> None:
        """Something happens to a memory, a grant or the time."""
        steps: list[Callable[[], None]] = [
            *[self.grant] * 5, *[self.revoke] * 2, *[self.wait] * 3, *[self.remember] * 2, *[self.put_aside] * 2,
            self.move, self.archive,
        ]  # fmt: skip
        self.chance.choice(steps)()

    def wait(self) -> None:
        self.clock.jump(timedelta(minutes=self.chance.choice([1, 10, 60])))

    def grant(self) -> None:
        now, user = self.tick(), self.chance.choice(USERS)
        agent, what = (
            self.chance.choice(["milton", "milton", "aegis"]),
            self.chance.choice(["layer", "tag", "record"]),
        )
        values = {
            "layer": LAYERS,
            "tag": TAGS,
            "record": [
                one.id for one in self.known if not one.archived and user in (None, one.user)
            ],
        }[what]
        until = self.chance.choice([None, now + timedelta(minutes=30), now + timedelta(hours=5)])
        value = self.chance.choice(values) if values else ""
        try:
            made = self.operators[user].grant(agent, **{what: value}, expires=until)
        except LaminaError:  # given already, of a run, put aside: nothing was given
            return
        self.given.append(Given(made.number, agent, user, what, value, now, until))

    def revoke(self) -> None:
        now = self.tick()
        holding = [one for one in self.given if one.holds(now)]
        if len(holding) > 2:
            one = self.chance.choice(holding)
            self.operators[None].revoke_grant(one.number)
            one.ended = True

    def put_aside(self) -> None:
        """A memory is doubted, put aside or replaced."""
        now, one = self.tick(), self._any()
        if one is None:
            return
        state = self.chance.choice(["constrained", "tombstoned", "superseded"])
        if state == "superseded":
            supersede(self.operators[None], one.id, self.known[0].id)
            if self.chance.random() < 0.7:
                move(self.operators[None], one.id, valid_to=now)
                one.valid_to = now
        else:
            move(self.operators[None], one.id, state=State(state))
        one.become(now, state=state)

    def move(self) -> None:
        now, one = self.tick(), self._any("short_term")
        if one is not None:
            move(self.operators[None], one.id, layer="episodic")
            one.become(now, layer="episodic")

    def archive(self) -> None:
        self.tick()
        one = self._any()
        if one is not None:
            assert self.operators[None].prune(tags=[one.tags[-1]])["pruned"] == 1
            one.archived = True

    def _any(self, *layers: str) -> Known | None:
        """An active memory, never the first, which others are replaced by."""
        active = [
            one
            for one in self.known[1:]
            if one.state == "active" and not one.archived and one.layer != "working"
        ]
        active = [one for one in active if not layers or one.layer in layers]
        return self.chance.choice(active) if active else None

    def covered(self, who: tuple[str, str | None]) -> list[Known]:
        """What grants let a reader see at all, in whatever state it is that can be seen."""
        agent, user = who
        holding = [
            given for given in self.given if given.agent == agent and given.holds(self.clock.now)
        ]
        mine = [one for one in self.known if user is None or one.user in (None, user)]
        return [one for one in mine if any(given.covers(one) for given in holding)]

    def offers(self, who: tuple[str, str | None]) -> set[int]:
        agent, user = who
        covered = {one.id for one in self.covered(who)}
        holding = [
            given for given in self.given if given.agent == agent and given.holds(self.clock.now)
        ]
        return {
            one.number
            for one in holding
            if (
                one.value in covered
                if one.what == "record"
                else user is None or one.user in (None, user)
            )
        }


def markers(*values: object) -> set[str]:
    """Every word of a memory in what a call gave back."""
    return set(MARKER.findall(" ".join(json.dumps(value, default=_plain) for value in values)))


def _plain(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else str(value)


class Reads:
    """Random reads, each compared with what the world says. Each yields what was seen, and what may
    be or must be."""

    def __init__(self, world: World) -> None:
        self.world, self.chance = world, world.chance
        self.seen = 0  # memories that were shown, so that a test which shows none does not pass

    def one(self) -> None:
        probe()
        kind = self.chance.choices(
            (self.by_guest, self.by_open, self.by_own, self.by_user, self.by_error),
            (20, 2, 2, 3, 3),
        )[0]
        kind()

    def guest(self, who: tuple[str, str | None]) -> Guest | None:
        """A handle that may have been opened when other grants held, or a new one."""
        old = self.world.guests.get(who)
        if old is not None and self.chance.random() < 0.9:
            return old
        offers = self.world.offers(who)
        try:
            new = self.world.readers[who].shared("sky")
        except NotFound:
            assert not offers
            return old
        assert offers
        if old is not None:
            old.close()
        self.world.guests[who] = new
        return new

    def by_guest(self) -> None:
        who = self.chance.choice(READERS)
        guest = self.guest(who)
        if guest is None:
            return
        verbs = (
            self.get,
            self.listed,
            self.listed,
            self.relevant,
            self.relevant,
            self.found,
            self.found,
            self.told,
        )
        self.chance.choice(verbs)(who, guest)

    def _check(self, found: object, may: set[str], *, exactly: bool = False) -> None:
        seen = markers(found)
        assert seen <= may
        assert not exactly or seen == may
        self.seen += len(seen)

    def _active(self, who: tuple[str, str | None]) -> list[Known]:
        return [one for one in self.world.covered(who) if one.state == "active"]

    def get(self, who: tuple[str, str | None], guest: Guest) -> None:
        one = self.chance.choice(self.world.known)
        may = any(one is other for other in self._active(who))
        if may:
            self._check(guest.get(one.id), {one.marker}, exactly=True)
            return
        with pytest.raises(NotFound) as error:
            guest.get(one.id)
        assert error.value.message == no_record(f"'{one.id}'").message

    def listed(self, who: tuple[str, str | None], guest: Guest) -> None:
        """Exactly what is granted, with every filter."""
        layers = self.chance.choice(
            [None, ["semantic", "working"], ["working"], [self.chance.choice(LAYERS)]]
        )
        tags = self.chance.choice([None, None, [self.chance.choice(TAGS)]])
        states = self.chance.choice([("active",), None, [state.value for state in State]])
        since = self.chance.choice([None, START + timedelta(seconds=30)])
        may = {
            one.marker
            for one in self._active(who)
            if (layers is None or one.layer in layers)
            and (tags is None or tags[0] in one.tags)
            and (since is None or one.created >= since)
        }
        self._check(
            guest.list(layers=layers, tags=tags, states=states, since=since, limit=ALL),
            may,
            exactly=True,
        )

    def relevant(self, who: tuple[str, str | None], guest: Guest) -> None:
        """By words that every memory holds: exactly what is granted now, and was so then."""
        now = self.world.clock.now
        moved = [
            one.past[-1][0] - timedelta(milliseconds=1)
            for one in self.world.known
            if len(one.past) > 1
        ]
        back = self.chance.choice(
            [now, now - timedelta(minutes=30), *self.chance.sample(moved, 4)]
        )  # just before a change
        times: dict[str, Any] = self.chance.choice(
            [{}, {"as_of": back}, {"known_at": back}, {"as_of": back, "known_at": back}]
        )
        layers = self.chance.choice([None, None, [self.chance.choice(LAYERS)]])
        may = set()
        for one in self.world.covered(who):
            was = one.was(times.get("known_at", now))
            wanted = ("active", "superseded") if "as_of" in times else ("active",)
            if was is None or was[0] not in wanted or (layers and was[1] not in layers):
                continue
            if "as_of" not in times or self._was_true(
                one, times["as_of"], times.get("known_at", now)
            ):
                may.add(one.marker)
        found = guest.search("common", limit=ALL, ranker="overlap", layers=layers, **times)
        self._check(found, may, exactly=True)

    def _was_true(self, one: Known, moment: datetime, known_at: datetime) -> bool:
        """Whether the store says, or said, that it held at a time."""
        was = one.was(known_at)
        ended = one.valid_to is not None and one.valid_to <= known_at
        ends = one.valid_to if ended else None
        if was is None or one.created > moment:
            return False
        return ends > moment if ends is not None else was[0] != "superseded"

    def found(self, who: tuple[str, str | None], guest: Guest) -> None:
        """Every ranker: never more than is granted, and its own memory for whoever asks
        by its words."""
        active = self._active(who)
        wanted = self.chance.choice(self.world.known)
        query = self.chance.choice(
            [
                "common boiler",
                f"common {wanted.marker}",
                "what was said about the garden?",
                wanted.marker,
            ]
        )
        may = {one.marker for one in active}
        ranker = self.chance.choice(RANKERS)
        hits = guest.search(
            query, limit=self.chance.choice([1, 10, ALL]), ranker=ranker, run_id=self.world.run.id
        )
        self._check(hits, may)
        if (
            wanted.marker in may
            and query == wanted.marker
            and ranker in ("keyword", "overlap", "exact")
        ):
            assert wanted.marker in markers(hits)

    def told(self, who: tuple[str, str | None], guest: Guest) -> None:
        """The other verbs that rank or list."""
        may = {one.marker for one in self._active(who)}
        verb = self.chance.randrange(4)
        if verb == 0:
            self._check(
                guest.query_relevant("common", limit=ALL, recency_bias=1), may, exactly=True
            )
        elif verb == 1:
            self._check(guest.recall_similar("a letter about the boiler", top_k=50), may)
        elif verb == 2:
            self._check(guest.query_recent(hours=90_000, limit=ALL), may, exactly=True)
        else:
            self._check(
                guest.memory_context("common boiler", dict.fromkeys(LAYERS, 5), 20_000).text, may
            )

    def by_open(self) -> None:
        """What is offered, as the reader is told."""
        who = self.chance.choice(READERS)
        assert {one.number for one in self.world.readers[who].sharing()} == self.world.offers(who)

    def by_own(self) -> None:
        """A reader's own handle shows nothing of the giver, by its id or otherwise."""
        handle, one = (
            self.chance.choice([*self.world.readers.values()]),
            self.chance.choice(self.world.known),
        )
        for verb in (handle.get, handle.history):
            with pytest.raises(NotFound) as error:
                verb(one.id)
            assert not markers(error.value.to_dict())
        asked = handle.search("common", ranker=self.chance.choice(RANKERS), limit=ALL)
        assert not markers(
            asked,
            handle.list(limit=ALL),
            handle.search_archive("common"),
            handle.pending(),
            handle.status(),
        )

    def by_user(self) -> None:
        """Another user of the giver itself sees that user's and nobody's, whatever is
        granted to agents."""
        user = self.chance.choice(USERS)
        handle = self.world.own[user]
        here = [one for one in self.world.known if user is None or one.user in (None, user)]
        active = {
            one.marker
            for one in here
            if one.state == "active" and not one.archived and one.layer != "working"
        }
        self._check(handle.list(limit=ALL), active, exactly=True)
        self._check(handle.search("common", limit=ALL, ranker=self.chance.choice(RANKERS)), active)
        self._check(
            handle.search_archive("common", limit=ALL),
            {one.marker for one in here if one.archived},
            exactly=True,
        )
        self._check(handle.status(), set())

    def by_error(self) -> None:
        """What is wrong is told by what was given."""
        who = self.chance.choice(READERS)
        handle, guest = self.world.readers[who], self.guest(who)
        for call in self._mistakes(handle, guest):
            with pytest.raises(LaminaError) as error:
                call()
            assert not markers(error.value.to_dict())

    def _mistakes(self, handle: Memory, guest: Guest | None) -> Iterator[Callable[[], object]]:
        yield lambda: handle.shared("nobody")
        yield lambda: handle.shared("../sky")
        if guest is not None:
            yield lambda: guest.get("0" * 26)
            yield lambda: guest.search("common", ranker="magic")
            yield lambda: guest.list(states=["tombstoned", "constrained"])
            yield lambda: guest.search("common", layers=["working"])
            yield lambda: guest.memory_context("common", {"working": 1})


@pytest.mark.parametrize("seed", [1, 2] if FULL else [1])
def test_random_reads_see_what_is_granted_and_nothing_else(desk: Desk, seed: int) -> None:
    """P3, P2, R12: over every verb, ranker, filter and time; layers, tags, records, users, expiry,
    ends and moves.

    Listing, and asking for words that all memories hold, gives exactly what is granted.
    """
    world = World(desk, random.Random(seed))
    reads = Reads(world)
    for number in range(READS):
        if number % 7 == 0:
            world.change()
        reads.one()
    assert reads.seen > READS
    exported = desk.operator("milton").export().read_text("utf-8")
    assert not markers(exported)
    for guest in world.guests.values():
        guest.close()
    assert verified(world.operators[None])


def test_after_the_end_of_all_grants_nothing_is_left(desk: Desk) -> None:
    """P3: handles that were open see nothing any more, by any verb; and both trails still agree."""
    world = World(desk, random.Random(3))
    reads = Reads(world)
    for _ in range(30):
        world.grant()
    guests = {
        who: handle.shared("sky") for who, handle in world.readers.items() if world.offers(who)
    }
    assert guests
    for given in world.given:
        if given.holds(world.clock.now):
            world.operators[None].revoke_grant(given.number)
            given.ended = True
    for who, guest in guests.items():
        for verb in (reads.listed, reads.relevant, reads.found, reads.told, reads.get) * 5:
            verb(who, guest)
        assert message_of(world.readers[who]) == f"the agent 'sky' shares nothing with {who[0]}"
    assert reads.seen == 0
    assert verified(world.operators[None])


@pytest.mark.parametrize("indexed", [False, True], ids=["fresh", "indexed"])
def test_what_is_not_shared_changes_nothing_in_what_a_guest_is_told(
    tmp_path: Path, indexed: bool
) -> None:
    """P3, Q6: hits, order, scores, parts and notes are the same bytes as if nothing
    else were there.

    Not even as numbers: how rare a word is, how long texts are and who speaks is counted over what
    is shared.
    """
    clock = Ticking(START, timedelta(0))
    with Desk(tmp_path / "alone", clock) as alone, Desk(tmp_path / "crowded", clock) as crowded:
        guests = []
        for desk in (alone, crowded):
            sky, milton = desk.operator("sky"), desk.agent("milton")
            sky.remember_many({**item, "tags": [*item["tags"], "house"]} for item in spoken(60, 1))
            sky.grant("milton", tag="house")
            if desk is crowded:
                made = sky.remember_many(secrets())
                move(sky, made[0].id, state=State.TOMBSTONED)
                supersede(sky, made[1].id, made[2].id)
                sky.remember(
                    f"{SECRET} sister in the garden",
                    layer="semantic",
                    metadata=CONTRACTS["semantic"],
                )
            if indexed:
                sky.index()
            guests.append(milton.shared("sky"))
        for name, filters in FILTERS.items():
            one, other = (told(cast(Memory, guest), filters) for guest in guests)
            assert [asked for asked in one if one[asked] != other[asked]] == [], name
        assert everything(cast(Memory, guests[0])) == everything(cast(Memory, guests[1]))


def test_others_may_open_while_somebody_looks(tmp_path: Path) -> None:
    """P3, B3: what is open is listed, as before a fork, while other threads open more; nobody fails
    for it."""
    kept: list[SqliteDatabase] = []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        opening = threading.Thread(
            target=lambda: kept.extend(
                SqliteDatabase(tmp_path / str(n), 100, 100) for n in range(3000)
            )
        )
        opening.start()
        while opening.is_alive():
            assert present(_OPEN) is not None
        opening.join()
    finally:
        sys.setswitchinterval(before)
    for one in kept:
        one.close()


def message_of(handle: Memory) -> str:
    with pytest.raises(NotFound) as error:
        handle.shared("sky")
    return error.value.message
