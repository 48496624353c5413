"""Every write path under a kill, an error of the disk, and a power cut that takes everything that
was not synced.

The same promise for all of them: what was acknowledged before is there once, the verb is done or
not done, and doing it again comes to where an undisturbed one would be.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.faults.power import states
from tests.property.holding import held

from . import tally
from .deeds import NOW
from .disk import Disk, recorded
from .harness import (
    AGENT,
    CALLS,
    FULL,
    Fault,
    Nursery,
    check_sound,
    copied,
    points,
    size,
    traced,
)
from .paths import PATHS, WritePath, done, opened

KILLS, ERRORS = size(quick=1, full=60), size(quick=1, full=15)
HERE = [name for name, path in PATHS.items() if path.elsewhere is None]
# A quick run takes one path in some, the same ones every time; a full run takes all.
TO_CUT, TO_BREAK = (list(PATHS), HERE) if FULL else (list(PATHS)[::13], HERE[5::10])
every_path = pytest.mark.parametrize("name", TO_CUT)
every_path_here = pytest.mark.parametrize("name", TO_BREAK)


class Base(NamedTuple):
    """A home to copy, what is seen in it before and after the verb, whose memories must stay, and
    the calls that are made."""

    home: Path
    before: Any
    after: Any
    ids: set[str]
    calls: list[str]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("doer", *dict.fromkeys(TO_CUT + TO_BREAK)) as made:
        yield made


def furnished(path: WritePath, home: Path) -> None:
    if not path.is_first:
        with opened(path, home, NOW) as operator:
            path.furnish(operator)
        path.take(home)


@pytest.fixture
def base(name: str, tmp_path: Path, nursery: Nursery) -> Base:
    path, home = PATHS[name], tmp_path / "base"
    home.mkdir()
    furnished(path, home)
    before = looked_at(path, copied(home, tmp_path / "seen"))
    undisturbed = copied(home, tmp_path / "undisturbed")
    with nursery.fork() as pid, traced(pid, tmp_path / "log", CALLS) as calls:
        assert nursery.told(step="open", home=str(undisturbed), path=name) == "done"
        assert nursery.told(step="do", path=name) == "done"
    after = looked_at(path, undisturbed)
    assert path.by_opening or before != after
    stays = set() if path.is_first else set(ids_in(tmp_path / "seen")) & set(ids_in(undisturbed))
    return Base(home, before, after, stays, calls)


def ids_in(home: Path) -> list[str]:
    """The memories in the store and in its archive, each as often as it is there."""
    return list(held(home / "agents" / AGENT, indexed=True).elements())


def looked_at(path: WritePath, home: Path) -> Any:
    """What another process sees in a home, once the store is where it belongs."""
    path.bring(home)
    with opened(path, home) as operator:
        return path.view(operator)


def check_after(path: WritePath, base: Base, home: Path, *, acknowledged: bool) -> None:
    """Another process finds everything that was acknowledged; the verb is done or not; once more,
    and it is done."""
    path.bring(home)
    with opened(path, home) as operator:
        check_sound(operator)
        tally.check(base.ids, ids_in(home))
        found = path.view(operator)
        if acknowledged:
            tally.check(["the verb"], ["the verb"] * (found == base.after))
        elif path.is_whole:
            assert found in (base.before, base.after)
        done(path, operator)
        assert path.view(operator) == base.after
        tally.check(base.ids, ids_in(home))
        check_sound(operator)
    shutil.rmtree(home)


def broken(nursery: Nursery, name: str, home: Path, log: Path, fault: Fault) -> list[str]:
    """How opening and the verb ended with a fault in one of them; the verb is only tried by who
    could open."""
    ended = []
    with traced(nursery.pid, log, [fault.point.call], str(fault)) as calls:
        ended.append(nursery.told(step="open", home=str(home), path=name))
        if ended == ["done"]:
            ended.append(nursery.told(step="do", path=name))
    assert "killed" in ended or any("(INJECTED)" in line for line in calls), fault
    return ended


@every_path_here
def test_a_kill_at_any_write_call(tmp_path: Path, nursery: Nursery, name: str, base: Base) -> None:
    """L1, P4, B1: killed at any write call of opening and of the verb, nothing acknowledged is lost
    and nothing is twice."""
    for number, point in enumerate(points(base.calls, KILLS, name)):
        home = copied(base.home, tmp_path / f"home{number}")
        with nursery.fork():
            ended = broken(nursery, name, home, tmp_path / "log", Fault("signal=SIGKILL", point))
        assert ended[-1] == "killed", point
        check_after(PATHS[name], base, home, acknowledged=False)


@every_path_here
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_error_at_any_write_call(
    tmp_path: Path, nursery: Nursery, name: str, base: Base, error: str
) -> None:
    """L1, B4, P4: an error of the disk is a `StoreUnavailable`, or was harmless; the same process
    does it once all is well."""
    for number, point in enumerate(
        points(base.calls, ERRORS, name + error, without="/incoming.json")
    ):
        home = copied(base.home, tmp_path / f"home{number}")
        with nursery.fork():
            ended = broken(nursery, name, home, tmp_path / "log", Fault(f"error={error}", point))
            assert ended[-1] in ("done", "store_unavailable"), (point, ended)
            if len(ended) == 1:
                assert nursery.told(step="open", home=str(home), path=name) == "done", point
            assert nursery.told(step="do", path=name) in (
                "done",
                "refused",
                "conflict",
                "not_found",
            ), point
            assert nursery.told(step="close") == "done"
        check_after(PATHS[name], base, home, acknowledged=True)


@every_path
def test_a_power_cut_at_any_call(tmp_path: Path, nursery: Nursery, name: str, base: Base) -> None:
    """L1, B1, P4: when the power goes, with everything lost that was not synced, or any part of it,
    what was acknowledged is there; and it is so from the very moment of the answer on."""
    home = copied(base.home, tmp_path / "cut")
    disk = Disk(home)
    with nursery.fork() as pid, recorded(pid, tmp_path / "log") as calls:
        assert nursery.told(step="open", home=str(home), path=name) == "done"
        assert nursery.told(step="do", path=name) == "done"
    for number, (left, acknowledged) in enumerate(states(disk, calls, name)):
        tally.count("power cuts")
        check_after(
            PATHS[name],
            base,
            disk.written(left, tmp_path / f"left{number}"),
            acknowledged=acknowledged,
        )
