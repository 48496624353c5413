"""Faults of the fail-safe: kills, full and failing disks, and processes in each other's way.
Nothing is lost, nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

import lamina
from lamina.failsafe.spool import LONG, SHORT, Spool

from . import tally
from .harness import (
    AGENT,
    CALLS,
    Child,
    Fault,
    Nursery,
    check_sound,
    contents,
    copied,
    database_of,
    points,
    size,
    traced,
)

KILLS = size(quick=2, full=1000)
ERRORS = size(quick=1, full=40)
CROWD, ROUNDS = 4, size(quick=12, full=300)
BEFORE = ["before short", "before long"]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("spooler") as made:
        yield made


class Base(NamedTuple):
    """A home whose store is away and whose fail-safe holds one batch, and the write calls of the
    next step."""

    home: Path
    calls: list[str]


def take_store(home: Path) -> None:
    database_of(home).rename(home / "aside")
    database_of(home).write_bytes(b"no database" * 1000)


def bring_store(home: Path) -> None:
    (home / "aside").replace(database_of(home))


def spool_of(home: Path) -> Spool:
    return Spool(home / "agents" / AGENT / "failsafe")


def furnished(home: Path, nursery: Nursery) -> None:
    with lamina.open(AGENT, home=home) as memory:
        memory.remember("stored")
    take_store(home)
    with nursery.fork():
        assert nursery.told(step="open", home=str(home)) == "done"
        assert nursery.told(step="batch", word="before") == "done"
        assert nursery.told(step="close") == "done"


@pytest.fixture(scope="module")
def keeping(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Base:
    """Where the next step keeps a batch."""
    folder = tmp_path_factory.mktemp("keeping")
    furnished(folder / "home", nursery)
    with nursery.fork() as pid:
        assert (
            nursery.told(step="open", home=str(copied(folder / "home", folder / "undisturbed")))
            == "done"
        )
        with traced(pid, folder / "log", CALLS) as calls:
            assert nursery.told(step="batch", word="now") == "done"
    return Base(folder / "home", calls)


@pytest.fixture(scope="module")
def replaying(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Base:
    """Where the next step replays: whole batches, and one line that was cut off."""
    folder = tmp_path_factory.mktemp("replaying")
    home = folder / "home"
    furnished(home, nursery)
    with (spool_of(home).folder / SHORT).open("ab") as file:
        file.write(b'{"record_type":"memory_item","id":"0')
    bring_store(home)
    with nursery.fork() as pid:
        assert nursery.told(step="open", home=str(copied(home, folder / "undisturbed"))) == "done"
        with traced(pid, folder / "log", CALLS) as calls:
            assert nursery.told(step="replay") == "done"
    return Base(home, calls)


def check_replayed(home: Path, *more: list[str]) -> None:
    """Another process that opens the store finds everything once and in its order, and nothing
    waits any more."""
    with lamina.operator(AGENT, home=home) as operator:
        stored = sorted(operator.list(limit=1000), key=lambda one: one.seq)
        tally.check(["stored", *BEFORE], [one.content for one in stored])
        assert [one.content for one in stored] in [
            ["stored", *BEFORE, *words] for words in more or ([],)
        ]
        assert {one.stored_in for one in stored} == {"store"}
        assert not spool_of(home).is_waiting()
        check_sound(operator)
    archive = home / "agents" / AGENT / "archive"
    assert {path.name.split("_2")[0] for path in archive.iterdir()} >= {
        "failsafe_short_term",
        "failsafe_long_term",
    }


def test_a_kill_while_it_is_kept_leaves_all_or_nothing(
    tmp_path: Path, nursery: Nursery, keeping: Base
) -> None:
    """B4: killed at any write call, a batch is kept as a whole or not at all, and what was
    acknowledged before is there."""
    for number, point in enumerate(points(keeping.calls, KILLS, "keep")):
        home = copied(keeping.home, tmp_path / f"home{number}")
        with nursery.fork() as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            with traced(pid, tmp_path / "log", [point.call], str(Fault("signal=SIGKILL", point))):
                assert nursery.told(step="batch", word="now") == "killed", point
        bring_store(home)
        check_replayed(home, [], ["now short", "now long"])


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_error_while_it_is_kept_is_told(
    tmp_path: Path, nursery: Nursery, keeping: Base, error: str
) -> None:
    """B4: what the disk does not take is not acknowledged; what is acknowledged is there."""
    for number, point in enumerate(points(keeping.calls, ERRORS, error)):
        home = copied(keeping.home, tmp_path / f"home{number}")
        with nursery.fork() as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            with traced(pid, tmp_path / "log", [point.call], str(Fault(f"error={error}", point))):
                how = nursery.told(step="batch", word="now")
        assert how in ("done", "corrupt"), point
        bring_store(home)
        check_replayed(home, ["now short", "now long"] if how == "done" else [])


def test_a_kill_while_it_is_replayed_is_made_good(
    tmp_path: Path, nursery: Nursery, replaying: Base
) -> None:
    """B4, P4: killed at any write call, a replay is finished by whoever comes next: everything
    once, and in its order."""
    for number, point in enumerate(points(replaying.calls, KILLS, "replay")):
        home = copied(replaying.home, tmp_path / f"home{number}")
        with nursery.fork() as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            with traced(pid, tmp_path / "log", [point.call], str(Fault("signal=SIGKILL", point))):
                assert nursery.told(step="replay") == "killed", point
        check_replayed(home)
        rejected = (spool_of(home).folder / "rejected.jsonl").read_text("utf-8").splitlines()
        assert len(rejected) == 1, point


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_error_while_it_is_replayed_passes(
    tmp_path: Path, nursery: Nursery, replaying: Base, error: str
) -> None:
    """B4: an error of the disk at any write call is typed, and the next replay finishes."""
    for number, point in enumerate(points(replaying.calls, ERRORS, error)):
        home = copied(replaying.home, tmp_path / f"home{number}")
        with nursery.fork() as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            with traced(pid, tmp_path / "log", [point.call], str(Fault(f"error={error}", point))):
                assert nursery.told(step="replay") in ("done", "store_unavailable"), point
            nursery.told(step="close")
        check_replayed(home)


@pytest.fixture(scope="module")
def storing(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Base:
    """Where the next step stores a batch, as it should be."""
    folder = tmp_path_factory.mktemp("storing")
    with lamina.open(AGENT, home=folder / "home") as memory:
        memory.remember("stored")
    with nursery.fork() as pid:
        assert (
            nursery.told(step="open", home=str(copied(folder / "home", folder / "undisturbed")))
            == "done"
        )
        assert nursery.told(step="batch", word="before") == "done"
        with traced(pid, folder / "log", CALLS) as calls:
            assert nursery.told(step="batch", word="now") == "done"
    return Base(folder / "home", calls)


@pytest.mark.parametrize("ending", ["close", "die"])
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_write_whose_end_is_not_heard_counts_once(
    tmp_path: Path, nursery: Nursery, storing: Base, error: str, ending: str
) -> None:
    """B4, L1: whichever call fails while a batch is stored, it is acknowledged and there once:
    stored, kept, or both.

    What could not be synced may be found in the log by whoever comes next; then what was kept is
    not stored again.
    """
    for number, point in enumerate(points(storing.calls, ERRORS, error + ending)):
        home = copied(storing.home, tmp_path / f"home{number}")
        with nursery.fork() as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            assert nursery.told(step="batch", word="before") == "done"
            with traced(pid, tmp_path / "log", [point.call], str(Fault(f"error={error}", point))):
                assert nursery.told(step="batch", word="now") == "done", point
            nursery.told(step=ending)
        with lamina.operator(AGENT, home=home) as operator:
            stored = [one.content for one in sorted(operator.list(), key=lambda one: one.seq)]
            tally.check(["stored", *BEFORE, "now short", "now long"], stored)
            assert stored == ["stored", *BEFORE, "now short", "now long"], point
            check_sound(operator)


def test_a_full_disk_is_what_it_is_for(tmp_path: Path, nursery: Nursery) -> None:
    """B4: when the store cannot grow, memories are kept beside it, and are in it when
    there is room."""
    home = tmp_path / "home"
    with nursery.fork():
        assert nursery.told(step="open", home=str(home)) == "done"
        assert nursery.told(step="batch", word="first") == "done"
        assert nursery.told(step="limit", size=8000) == "done"
        assert nursery.told(step="batch", word="second") == "done"
        assert len(spool_of(home).contents().lines) == 2
        assert nursery.told(step="limit", size=0) == "done"
        assert nursery.told(step="batch", word="third") == "done"
        assert not spool_of(home).is_waiting()
        assert nursery.told(step="close") == "done"
    with lamina.operator(AGENT, home=home) as operator:
        words = [one.content for one in sorted(operator.list(), key=lambda one: one.seq)]
        assert words == [
            f"{word} {tier}" for word in ("first", "second", "third") for tier in ("short", "long")
        ]
        check_sound(operator)


def test_processes_in_each_others_way_lose_nothing(tmp_path: Path) -> None:
    """B4: several that write and replay at once, and never wait for the store, store everything
    once, under its id."""
    with lamina.open(AGENT, home=tmp_path):
        pass
    told: list[dict[str, str]] = []
    with ExitStack() as stack:
        children = [
            stack.enter_context(Child("spooler", tmp_path, f"p{number}", ROUNDS))
            for number in range(CROWD)
        ]
        for child in children:
            child.hear()
        for child in children:
            child.tell(go=True)
        for child in children:
            told += child.finish()
    assert len(told) == CROWD * ROUNDS
    assert any(one["where"] == "failsafe" for one in told)
    with lamina.operator(AGENT, home=tmp_path) as operator:
        tally.check([one["done"] for one in told], contents(operator))
        assert len(contents(operator)) == len(told)
        assert {one["id"]: one["done"] for one in told} == {
            one.id: one.content for one in operator.list(limit=10_000)
        }
        for name in (SHORT, LONG):
            assert not (spool_of(tmp_path).folder / name).exists()
        check_sound(operator)
