"""Moves and restores that are killed at any call: a memory is never empty, never half there, and
nothing erased can be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from lamina.home.folder import Home
from lamina.memory import migrate, opening
from tests.faults import forgotten, tally
from tests.faults.forgotten import SETTINGS, check_unreadable, check_whole, furnish
from tests.faults.harness import (
    AGENT,
    CALLS,
    Fault,
    Nursery,
    check_sound,
    copied,
    points,
    size,
    traced,
)
from tests.security.erasing import MARK, STAYS
from tests.servers.everywhere import Copied

KILLS = size(quick=4, full=200)
# What is said to a server is sent; a folder is removed by other calls than a file.
EVERY_CALL = (*CALLS, "sendto", "unlinkat", "rmdir", "sendfile")


class Base(NamedTuple):
    """A home and a database to copy, and the calls that are made with them."""

    home: Path
    usb: Path
    database: str
    gone: list[str]
    exported: bytes


class Place(NamedTuple):
    """A copy of both, to break something in."""

    home: Path
    url: str


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("restorer") as made:
        yield made


class Bench:
    """Makes copies of homes and databases, and kills what is done with them."""

    def __init__(self, server: Copied, nursery: Nursery, folder: Path) -> None:
        self.server = server
        self.nursery = nursery
        self.folder = folder

    def base(self, name: str) -> Base:
        """A home whose memory is in its file, on the server since it was moved, or on the server
        from the beginning."""
        home, usb, database = self.folder / "base", self.folder / "usb", self.server.copy()
        url = self.server.url(database)
        gone = furnish(home, usb, "" if name != "there from the beginning" else url)
        if name == "moved there":
            migrate.move(Home(home), AGENT, url)
        return Base(home, usb, database, gone, exported(home, "" if name == "in a file" else url))

    def place(self, base: Base) -> Place:
        self.server.drop("broken") if self._is_used else None
        self.server.execute(f"CREATE DATABASE broken OWNER lamina TEMPLATE {base.database}")
        self._is_used = True
        return Place(copied(base.home, self.folder / "home"), self.server.url("broken"))

    _is_used = False

    def calls(self, base: Base, **order: Any) -> list[str]:
        """What an undisturbed one does."""
        place = self.place(base)
        with self.nursery.fork() as pid, traced(pid, self.folder / "log", EVERY_CALL) as calls:
            assert self.nursery.told(**given(order, place)) == "done"
        return calls

    def killed(self, base: Base, **order: Any) -> Iterator[Place]:
        """One place after another in which it was killed."""
        for point in points(self.calls(base, **order), KILLS, order["step"]):
            place = self.place(base)
            fault = str(Fault("signal=SIGKILL", point))
            with self.nursery.fork() as pid, traced(pid, self.folder / "log", [point.call], fault):
                assert self.nursery.told(**given(order, place)) == "killed", point
            yield place


def given(order: dict[str, Any], place: Place) -> dict[str, Any]:
    """An order for one place: `URL` stands for its database."""
    filled = {name: place.url if value == "URL" else value for name, value in order.items()}
    return {**filled, "home": str(place.home)}


@pytest.fixture
def bench(quick_postgres: Copied, nursery: Nursery, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(quick_postgres, nursery, tmp_path)
    yield made
    quick_postgres.drop("broken")


def exported(home: Path, url: str) -> bytes:
    """Everything that is there, after it was checked."""
    with forgotten.opened(home, url) as operator:
        check_sound(operator)
        assert operator.search(STAYS).outcome == "found"
        body = operator.export(home.parent / "export.json", force=True).read_bytes()
    (home.parent / "export.json").unlink()
    return body


def served(home: Path, url: str, whole: bytes) -> bool:
    """Whether a place is used for the memory, which is all there then, whoever asks; else everybody
    is refused."""
    settings = {**SETTINGS, "store.url": url}
    try:
        assert exported(home, url) == whole
    except (lamina.Refused, lamina.Corrupt):
        with pytest.raises(lamina.LaminaError):
            opening.look(AGENT, None, home, settings=settings)
        return False
    with closing(opening.look(AGENT, None, home, settings=settings)) as reader:
        assert reader.list(limit=1)
    return True


MOVES = {
    "in a file": {"step": "move", "to": "URL"},
    "moved there": {"step": "move", "to": "file", "url": "URL"},
    "there from the beginning": {"step": "move", "to": "file", "url": "URL"},
}


@pytest.mark.parametrize("name", MOVES)
def test_a_move_that_is_killed_at_any_call(bench: Bench, nursery: Nursery, name: str) -> None:
    """B3, B1, P5: killed at any call, a move has left a whole memory in one place, or in both at
    its very end; the other place refuses to be used and is never taken for an empty one. Moved
    again, it is in its new place alone."""
    base = bench.base(name)
    for home, url in bench.killed(base, **MOVES[name]):
        archives = (home / forgotten.FOLDER).glob("*/*.jsonl")
        assert not any(MARK.encode() in path.read_bytes() for path in archives)
        new, old = (url, "") if name == "in a file" else ("", url)
        has_moved = served(home, new, base.exported)
        still = served(home, old, base.exported)
        assert has_moved or still
        if still:
            with nursery.fork():
                assert nursery.told(**given(MOVES[name], Place(home, url))) == "done"
        tally.check([base.exported], [exported(home, new)])
        assert not served(home, old, base.exported)
        assert list((home / forgotten.FOLDER).glob(".*.tmp")) == []


def test_a_restore_that_is_killed_at_any_call(bench: Bench, nursery: Nursery) -> None:
    """P5, B3: killed at any call, a restore into a database shows nothing that was erased; run
    again, it succeeds."""
    base = bench.base("there from the beginning")
    order = {"step": "restore", "source": str(base.usb), "url": "URL"}
    for home, url in bench.killed(base, **order):
        check_unreadable(home, base.gone, url)
        check_whole(home, base.gone, url)
        with nursery.fork():
            assert nursery.told(**given(order, Place(home, url))) == "done"
        check_whole(home, base.gone, url)
        with forgotten.opened(home, url) as operator:
            said = [record.content for record in operator.list(limit=100)]
            assert "said after the backup" not in said
            assert {operator.get(one).kind for one in base.gone} == {"erased"}
            assert operator.status()["problems"] == []
