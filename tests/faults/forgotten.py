"""A home in which something was erased that a backup elsewhere still has, and every way in which it
could be read again."""

from __future__ import annotations

from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import lamina
from lamina import Memory
from lamina.memory import opening
from lamina.model.record import Layer, State
from tests.conftest import Ticking
from tests.security.erasing import MARK, STAYS, holding

from .harness import AGENT, check_sound

LATER = datetime(2027, 6, 1, 8, 0, tzinfo=UTC)
FRIEND = "milton"
SETTINGS = {"failsafe": "off", "recall.embedders": ["none"]}
FOLDER = Path("agents", AGENT)
GARBAGE = b"no database"


def opened(home: Path, url: str = "") -> lamina.Operator:
    settings = {**SETTINGS, "store.url": url}
    return lamina.operator(AGENT, home=home, clock=lambda: LATER, actor="ana", settings=settings)


def furnish(home: Path, usb: Path, url: str = "") -> list[str]:
    """Erase what a backup has in rows, tags, notes, the archive and the trail of reads; the ids of
    what is gone."""
    clock, settings = Ticking(), {**SETTINGS, "store.url": url}
    with lamina.operator(AGENT, home=home, clock=clock, actor="ana", settings=settings) as operator:
        operator.remember(f"the neighbour has a {STAYS}", tags=["old"])
        operator.remember(f"a {STAYS} is blue", tags=["shared"])
        tags, key, place = [MARK, "shared"], f"key {MARK}", {"place": MARK}
        gone = [operator.remember(f"the {MARK} is here", tags=tags, key=key).id]
        gone += [operator.remember(f"the {MARK} was there", tags=["old"], metadata=place).id]
        gone.append(operator.propose_profile("hides", MARK, f"she said {MARK}", gone[:1]).id)
        for number in range(12):
            tags = [] if number % 4 else ["old"]
            operator.remember(f"memory {number} of an ordinary day", tags=tags)
        operator.prune(tags=["old"])
        operator.search(MARK)
        lamina.open(FRIEND, home=home, settings=settings).close()
        operator.grant(FRIEND, tag="shared")
        operator._scope.store.reads.flush()
        operator.backup(usb)
        operator.erase(*gone[:2])
        operator.restore_archived(operator.search_archive("ordinary", limit=1)[0].id)
        operator.remember("said after the backup", tags=["shared"])
    return gone


def damage(home: Path) -> None:
    """Make both databases unreadable."""
    for name in ("memory.db", "reads.db"):
        path = home / FOLDER / name
        path.write_bytes(GARBAGE * 1000)


def check_unreadable(home: Path, gone: list[str], url: str = "") -> None:
    """P5: before anybody opens it for writing, no handle that only reads shows what was erased, and
    no file."""
    settings = {**SETTINGS, "store.url": url}
    for path in (home / FOLDER).glob("*/*.jsonl"):
        assert MARK.encode() not in path.read_bytes(), path
    with (
        suppress(lamina.LaminaError),
        closing(opening.look(AGENT, None, home, settings=settings)) as reader,
    ):
        check_nothing_shown(reader, gone)  # unless it cannot be read now
    with (
        suppress(lamina.LaminaError),
        lamina.open(FRIEND, home=home, clock=lambda: LATER, settings=settings) as friend,
    ):
        guest = friend.shared(AGENT)
        assert MARK not in repr([*guest.list(limit=100), *guest.search("what is here?")])


def check_nothing_shown(memory: Memory, gone: list[str]) -> None:
    """Nobody asks for the erased word itself: the trail of reads would have it then."""
    told: list[object] = [
        *memory.list(layers=list(Layer), states=None, limit=1000),
        *memory.search_archive("there", limit=100),
    ]
    for question in ("what is here?", "she hides", "was there"):
        told += memory.search(question, states=list(State))
    for one in gone:
        with suppress(lamina.NotFound):
            told += [memory.get(one), *memory.history(one)]
    assert MARK not in repr(told)


def check_whole(home: Path, gone: list[str], url: str = "") -> None:
    """P5, B1: whoever opens it finds a memory that is sound and not empty, nothing of what was
    erased, and no leftover."""
    with opened(home, url) as operator:
        check_sound(operator)
        check_nothing_shown(operator, gone)
        assert operator.search(STAYS).outcome == "found"
        exported = operator.export(home.parent / "export.json", force=True)
        assert MARK.encode() not in exported.read_bytes()
        exported.unlink()
        assert MARK not in repr(operator.audit_log(1000))
        assert MARK not in repr(operator.audit_reads(1000))
    assert list((home / FOLDER).glob(".restore-*")) == []
    assert holding(home, MARK) == []
