"""A home in which everybody keeps something, and every text that somebody keeps carries a word that
says whose it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lamina import Memory, Operator
from lamina.errors import LaminaError
from lamina.home.tokens import Tokens
from tests.conftest import CONTRACTS, Desk

CANARY = re.compile(r"zq([a-z]+)\d{4}kx", re.IGNORECASE)
RECORD_ID = re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}\b")
WORD = "pebble"  # stands beside every canary, so that everybody can ask for it
EVERYTHING = 10_000


class Owner(NamedTuple):
    """Somebody who keeps memories: an agent, for one of its users or for nobody in particular."""

    name: str
    agent: str
    user: str | None = None


COMMON = Owner("common", "sky")
ANA = Owner("ana", "sky", "ana")
BEN = Owner("ben", "sky", "ben")
SHARED = Owner("shared", "sky")  # what sky lets milton read
MILTON = Owner("milton", "milton")
NAMESAKE = Owner("namesake", "milton", "ana")  # another agent's user of the same name
OWNERS = (COMMON, ANA, BEN, SHARED, MILTON, NAMESAKE)


class Planted(NamedTuple):
    """What an attacker may know of others: ids of their records, runs and tokens; never a word that
    they keep."""

    ids: Mapping[str, list[str]]  # by the name of the owner
    runs: Mapping[str, str]
    tokens: Mapping[str, str]

    def foreign(self, own: Iterable[str]) -> list[str]:
        """The ids of everybody else's records."""
        return [one for name, ids in self.ids.items() if name not in own for one in ids]


class Planter:
    """Puts canaries of one owner wherever a text can go."""

    def __init__(self, desk: Desk, owner: Owner) -> None:
        self.owner = owner
        self.op: Operator = desk.operator(owner.agent, owner.user)
        self.mem: Memory = desk.agent(owner.agent, owner.user)
        self._whole: Operator = desk.operator(owner.agent)  # what concerns all users
        self._numbers = count(1)
        self._clock = desk.clock

    def canary(self) -> str:
        return f"zq{self.owner.name}{next(self._numbers):04d}kx"

    def text(self) -> str:
        return f"{WORD} {self.canary()}"

    def everywhere(self) -> str:
        """Fill every layer, state and list; the id of a run that is still open."""
        self._short()
        self._believed()
        self._spoken()
        self._decided()
        self._archived()
        self._asked()
        run = self.mem.run(self.text())
        run.note(self.text())
        return run.id

    def _short(self) -> None:
        for layer in ("short_term", "episodic"):
            told: dict[str, Any] = {
                name: self.canary() for name in ("source", "speaker", "session", "key", "project")
            }
            told |= {
                "tags": [WORD, self.canary()],
                "evidence": [f"https://example.org/{self.canary()}"],
            }
            told |= {"metadata": {self.canary(): self.canary(), "place": self.canary()}}
            self.mem.remember_many([{"content": self.text(), "layer": layer, **told}])
        self.mem.remember(self.text(), kind="project", tags=[f"project:{self.canary()}"])
        self.mem.remember(self.text(), kind="request", tags=[WORD], importance=0.9)

    def _believed(self) -> None:
        for layer in ("semantic", "procedural", "profile"):
            told = {**CONTRACTS[layer], "note": self.canary()}
            told |= (
                {"profile_key": self.canary(), "value": self.canary()} if layer == "profile" else {}
            )
            told |= {"workflow": self.canary()} if layer == "procedural" else {}
            self.op.remember(self.text(), layer=layer, metadata=told)
        if self.owner.user is None:
            self.op.world.set_integration(f"of-{self.owner.name}", {"note": self.canary()})

    def _spoken(self) -> None:
        turns = [
            {
                "speaker": f"Eve {self.canary()}",
                "text": f"I live in {self.canary()}.",
                "at": self._clock.now - timedelta(days=9),
            },
            {
                "speaker": "Ana",
                "text": f"I moved to {self.canary()} last week.",
                "at": self._clock.now - timedelta(days=2),
            },
        ]
        self.mem.remember_conversation(
            turns, session=self.canary(), participants=["Ana", self.canary()]
        )
        self._whole.sleep()

    def _decided(self) -> None:
        evidence = self.mem.remember(self.text())
        waiting = [
            self.mem.propose_profile(self.canary(), self.canary(), self.canary(), [evidence.id])
            for _ in range(3)
        ]
        self.op.confirm(waiting[0].id, self.canary())
        self.op.reject(waiting[1].id, self.canary())
        self.mem.request_forget(evidence.id, self.canary())
        known = self.op.remember(self.text(), layer="semantic", metadata=CONTRACTS["semantic"])
        self.op.correct(known.id, self.text(), self.canary())
        self.op.forget(self.mem.remember(self.text()).id, self.canary())

    def _archived(self) -> None:
        tag = self.canary()
        self.mem.remember(self.text(), tags=[tag])
        self._whole.prune(tags=[tag])

    def _asked(self) -> None:
        """What was asked is in the trail."""
        self.mem.search(f"{WORD} {self.canary()}")
        self.mem.search_archive(self.canary())


def planted(desk: Desk, owners: Iterable[Owner] = OWNERS) -> Planted:
    """A home with canaries of everybody, and what sky shares with milton."""
    runs, tokens = {}, {}
    known = [*owners]
    for owner in known:
        planter = Planter(desk, owner)
        if owner is SHARED:
            for _ in range(5):
                planter.op.remember(
                    planter.text(), tags=["open"], layer="semantic", metadata=CONTRACTS["semantic"]
                )
        else:
            runs[owner.name] = planter.everywhere()
        access = Tokens(desk.home)
        tokens[owner.name] = access.create(
            owner.agent, owner.user, desk.clock(), name=f"of {planter.canary()}"
        )[0].id
    if SHARED in known:
        desk.operator("sky").grant("milton", tag="open", reason="zqcommon9999kx")
    return Planted({name: [*ids] for name, ids in owned(desk, known).items()}, runs, tokens)


def owned(desk: Desk, owners: Iterable[Owner]) -> dict[str, dict[str, str]]:
    """What each owner keeps: the text of every record by its id, wherever it is now."""
    found: dict[str, dict[str, str]] = {owner.name: {} for owner in owners}
    for agent in {owner.agent for owner in owners}:
        with desk.agent(agent) as mem:
            records = mem.list(states=None, limit=EVERYTHING) + mem.list(
                layers=["working"], states=None, limit=EVERYTHING
            )
            for record in [*records, *mem.search_archive(WORD, limit=EVERYTHING)]:
                names = {name.lower() for name in CANARY.findall(record.content)} & found.keys()
                for name in names:
                    found[name][record.id] = record.content
    return found


def told(value: object) -> str:
    """Everything that an answer says, also in the files that it names."""
    if isinstance(value, Path):
        files = (
            [path for path in (value, *value.rglob("*")) if path.is_file()]
            if value.exists()
            else []
        )
        return str(value) + "".join(path.read_bytes().decode("latin-1") for path in files)
    if isinstance(value, str):
        return value
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, LaminaError) or hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Path):
        return told(value)
    if isinstance(value, msgspec.Struct):
        return {name: getattr(value, name) for name in value.__struct_fields__}
    return [*value] if isinstance(value, set | frozenset | Iterator) else str(value)


def leaks(answer: str, allowed: Iterable[str]) -> set[str]:
    """Whose canaries are in an answer that should not be."""
    return {
        found.group() for found in CANARY.finditer(answer) if found.group(1).lower() not in allowed
    }


def strange_ids(answer: str, foreign: frozenset[str]) -> frozenset[str]:
    """Ids of others' records in an answer."""
    return foreign.intersection(RECORD_ID.findall(answer))


Call = Callable[[], object]


def answered(call: Call) -> str:
    """What a call says, whether it goes well or not. Errors of ours are answers; any other
    is a defect."""
    try:
        return told(call())
    except LaminaError as error:
        return told(error.to_dict())
