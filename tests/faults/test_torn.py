"""Files of a home that are torn, cut off, emptied or filled with zeros: typed errors, and no damage
to what is elsewhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from lamina.home import operator_key
from lamina.home.tokens import Tokens
from lamina.memory import doctor
from tests.property.holding import held

from . import tally
from .children.common import outcome
from .chores import KEY
from .deeds import LATER, NOW, remember, some, take_store
from .harness import AGENT, SEED, copied, size

SETTINGS = {"mirrors.jsonl": "sky", "recall.embedders": ["none"]}
ROUNDS = size(quick=1, full=3)
# Where memories are kept, and nowhere else: who loses these has lost them, and must be told.
KEEPERS = ("agents/sky/memory.db", "agents/sky/archive/")


class Home(NamedTuple):
    """A home with a file of every kind, and the memories in it."""

    path: Path
    ids: set[str]

    @property
    def files(self) -> list[str]:
        """One of each kind, by its path in the home."""
        paths = (
            path.relative_to(self.path)
            for path in sorted(self.path.rglob("*"))
            if path.is_file() and path.stat().st_size
        )
        return [str(path) for path in paths if not path.name.endswith(("-shm", ".lock"))]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Home:
    path = tmp_path_factory.mktemp("torn") / "home"
    path.mkdir(mode=0o700)
    (path / "retention_rules.yaml").write_text("short_term_max_lines: 30\n")
    (path / "schedule.yaml").write_text("jobs:\n  expiry: {every_minutes: 60}\n")
    (path / "config.toml").write_text('[audit]\nreads = "strict"\n')
    Tokens(path).create(AGENT, None, NOW, name="first")
    with opened(path) as operator:
        furnish(operator)
    operator_key.change(path, KEY)
    with pytest.raises(lamina.InvalidInput):
        lamina.open("../sky", home=path, clock=lambda: NOW)  # which leaves a line about it
    ids = set(held(path / "agents" / AGENT, indexed=True))
    with opened(spooled := copied(path, path.parent / "spooled")) as operator:
        operator.close()
    take_store(spooled)
    with opened(spooled) as operator:
        remember(operator)
    copied(spooled / "agents" / AGENT / "failsafe", path / "agents" / AGENT / "failsafe")
    return Home(path, ids)


def furnish(operator: lamina.Operator) -> None:
    some(operator)
    operator.prune(tags=["old"])
    turns = [{"speaker": "Ana", "text": "I live in Porto."}]
    operator.remember_conversation(turns, session="one", keep_raw=True)
    operator.upsert_user_profile(
        {"name": "Ben"}, [operator.remember("Ben came by", layer="episodic").id]
    )
    operator.world.set_tool({"name": "hammer", "description": "hits nails"})
    operator.erase(operator.remember("memory to erase").id)
    operator.run_once()
    operator.sync_mirrors()
    operator.export()
    operator.backup()


def opened(home: Path) -> lamina.Operator:
    return lamina.operator(
        AGENT, home=home, clock=lambda: LATER, actor="ana", key=KEY, settings=SETTINGS
    )


def torn(content: bytes, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """What a disk may make of a file."""
    place = chance.randrange(len(content))
    yield "empty", b""
    yield "cut off", content[:place]
    yield "zeros from there on", content[:place] + bytes(len(content) - place)
    yield "a hole", content[:place] + bytes(min(512, len(content) - place)) + content[place + 512 :]
    yield "noise from there on", content[:place] + chance.randbytes(len(content) - place)


def verbs(operator: lamina.Operator) -> dict[str, Callable[[], object]]:
    return {
        "list": lambda: operator.list(limit=100),
        "search": lambda: operator.search("memory"),
        "archive": lambda: operator.search_archive("memory"),
        "status": operator.status,
        "profile": operator.user_profile,
        "verify": operator.audit_verify,
        "violations": operator.audit_violations,
        "erasures": operator.erasures,
        "failsafe": operator.failsafe_status,
        "tokens": lambda: Tokens(operator.home.path).tokens(),
        "doctor": lambda: list(doctor.examine(operator.home, AGENT)),
        "world": lambda: operator.world.tools(),
        "run_once": operator.run_once,
        "mirrors": operator.sync_mirrors,
        "remember": lambda: remember(operator),
        "export": operator.export,
    }


def tried(home: Path) -> tuple[dict[str, str], set[str]]:
    """How every verb ends on a home, and the memories that can be had."""
    said: dict[str, str] = {}
    found: set[str] = set()

    def look(operator: lamina.Operator) -> None:
        found.update(
            record.id
            for record in operator.list(layers=list(lamina.Layer), states=None, limit=1000)
        )
        found.update(record.id for record in operator.search_archive("memory", limit=1000))

    def visit() -> None:
        with opened(home) as operator:
            said.update({name: outcome(verb) for name, verb in verbs(operator).items()})
            said["look"] = outcome(lambda: look(operator))

    said["open"] = outcome(visit)
    return said, found


def noticed(home: Path, said: dict[str, str]) -> bool:
    """Whether anybody would be told: by an error, by the check of the trail, or by `doctor`."""
    if set(said.values()) != {"done"}:
        return True
    with opened(home) as operator:
        report: dict[str, Any] = operator.audit_verify()
        return not report["events"].ok or any(
            one.level != "ok" for one in doctor.examine(operator.home, AGENT)
        )


def test_a_home_has_a_file_of_every_kind(base: Home) -> None:
    """B1: what is torn below is everything that is ever written; and untouched, every verb
    works on it."""
    kinds = " ".join(base.files)
    for part in (
        "memory.db",
        "reads.db",
        "archive/",
        "jsonl/short_term.jsonl",
        "jsonl/.position.json",
        "user_profile.json",
    ):
        assert part in kinds
    for part in (
        "episodes/",
        "backups/",
        "exports/",
        "failsafe/",
        "erasures/",
        "world_model/",
        "tokens",
        "violations.jsonl",
    ):
        assert part in kinds
    said, found = tried(copied(base.path, base.path.parent / "untouched"))
    assert set(said.values()) == {"done"}, said
    assert base.ids <= found


def test_a_torn_file_is_typed_and_harms_nothing_else(tmp_path: Path, base: Home) -> None:
    """B1, B4, P4, L1: whichever file is torn, every verb is done or a typed error, and every memory
    that is not in that file can be had; who loses memories themselves is told so."""
    chance = random.Random(SEED)
    files = base.files if ROUNDS > 1 else chance.sample(base.files, 4)
    for name in files:
        content = (base.path / name).read_bytes()
        ways = [way for _ in range(ROUNDS) for way in torn(content, chance)]
        for manner, spoiled in ways if ROUNDS > 1 else chance.sample(ways, 1):
            if spoiled == content:
                continue
            home = copied(base.path, tmp_path / "home")
            (home / name).write_bytes(spoiled)
            tally.count("torn files")
            said, found = tried(home)
            assert {how for how in said.values() if "(" in how} == set(), (name, manner, said)
            if name.endswith(
                "reads.db"
            ):  # strictly audited, nothing is read without a trace; the memories are there
                (home / "config.toml").unlink()
                _, found = tried(home)
            if not name.startswith(KEEPERS) and said["open"] == "done":
                tally.check(base.ids, found & base.ids)
            elif not base.ids <= found:
                assert noticed(home, said), (name, manner)
