"""Faults while a backup is restored that still has what was erased: nobody can read that at any
moment, and nothing is lost.

strace breaks one system call of a restore: it kills the process there, or answers with an error of
the disk.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import lamina
from lamina.memory import opening
from tests.faults.power import states
from tests.security.erasing import MARK, holding

from . import forgotten, tally
from .disk import Disk, recorded
from .forgotten import GARBAGE, LATER, check_unreadable, check_whole, damage, furnish
from .harness import AGENT, CALLS, Fault, Nursery, check_sound, copied, points, size, traced

KILLS, ERRORS = size(quick=4, full=200), size(quick=2, full=40)
# Folders are removed, and files copied, by other calls than those that write.
EVERY_CALL = (*CALLS, "unlinkat", "rmdir", "sendfile")


class Scene(NamedTuple):
    """How the home is before, and what is done with it."""

    take: Callable[[Path], None]
    step: str = "restore"

    def order(self, home: Path, usb: Path) -> dict[str, str]:
        given = {"source": str(usb)} if self.step == "restore" else {}
        return {"step": self.step, "home": str(home), **given}


SCENES = {
    "over a store": Scene(lambda home: None),
    "over a damaged store": Scene(damage),
    "begin anew": Scene(damage, "begin_anew"),
}
every_scene = pytest.mark.parametrize("name", SCENES)


class Base(NamedTuple):
    """A home to copy, a backup that still has what was erased, and the calls that are made."""

    scene: Scene
    home: Path
    usb: Path
    gone: list[str]
    calls: list[str]

    def check_between(self, home: Path) -> None:
        """After a fault nothing erased can be read; the memory is whole, or still the damaged one,
        which is refused."""
        check_unreadable(home, self.gone)
        if self.is_readable(home):
            check_whole(home, self.gone) if self.scene.step == "restore" else self.check_done(home)

    def is_readable(self, home: Path) -> bool:
        """Whether it is not the damaged store that is still there, which is never taken for an
        empty one."""
        try:
            forgotten.opened(home).close()
        except lamina.Corrupt:
            assert (home / forgotten.FOLDER / "memory.db").read_bytes().startswith(GARBAGE)
            return False
        return True

    def again(self, home: Path) -> None:
        if self.scene.step == "restore":
            opening.restore(self.usb, AGENT, home, lambda: LATER)
        elif not self.is_readable(home):
            opening.begin_anew(AGENT, home, lambda: LATER)

    def check_done(self, home: Path) -> None:
        if self.scene.step == "restore":
            check_restored(home, self.gone)
        else:
            check_begun_anew(home, self.home)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("restorer") as made:
        yield made


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> dict[str, Base]:
    folder = tmp_path_factory.mktemp("bases")
    return {name: made(folder / name, scene, nursery) for name, scene in SCENES.items()}


def made(folder: Path, scene: Scene, nursery: Nursery) -> Base:
    home, usb = folder / "home", folder / "usb"
    gone = furnish(home, usb)
    assert holding(home, MARK) == []
    assert len(holding(usb, MARK)) > 1
    scene.take(home)
    undisturbed = copied(home, folder / "undisturbed")
    with nursery.fork() as pid, traced(pid, folder / "log", EVERY_CALL) as calls:
        assert nursery.told(**scene.order(undisturbed, usb)) == "done"
    base = Base(scene, home, usb, gone, calls)
    base.check_done(undisturbed)
    return base


def check_restored(home: Path, gone: list[str]) -> None:
    """The memory of the backup without what was erased; everything about that is certified."""
    check_whole(home, gone)
    with forgotten.opened(home) as operator:
        operator.resume_erasures()
        assert operator.status()["problems"] == []
        assert {operator.get(one).kind for one in gone} == {"erased"}
        found = [*operator.list(limit=100), *operator.search_archive("memory", limit=100)]
        said = {record.content for record in found}
        assert "said after the backup" not in said
        certified = [one for certificate in operator.erasures() for one in certificate.records]
        assert set(certified) == set(gone)
        tally.check({f"memory {number} of an ordinary day" for number in range(12)}, said)


def check_begun_anew(home: Path, before: Path) -> None:
    """An empty store that tells of it, beside the damaged one."""
    with forgotten.opened(home) as operator:
        check_sound(operator)
        assert operator.list() == []
        assert [event.action for event in operator.audit_log(10)] == ["restore"]
    aside = (home / forgotten.FOLDER / "damaged").glob("*/memory.db")
    damaged = [path.read_bytes() for path in aside]
    tally.check([(before / forgotten.FOLDER / "memory.db").read_bytes()], damaged)


@every_scene
def test_a_kill_at_any_call_shows_nothing_that_was_erased(
    tmp_path: Path, nursery: Nursery, bases: dict[str, Base], name: str
) -> None:
    """P5, B1, P4: killed at any call, a restore has left nothing erased that a handle could show, a
    memory that is not empty, and nothing in the way of doing it again."""
    base = bases[name]
    for point in points(base.calls, KILLS, name):
        home = copied(base.home, tmp_path / "home")
        with (
            nursery.fork() as pid,
            traced(pid, tmp_path / "log", [point.call], str(Fault("signal=SIGKILL", point))),
        ):
            assert nursery.told(**base.scene.order(home, base.usb)) == "killed", point
        base.check_between(home)
        base.again(home)
        base.check_done(home)


@every_scene
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_error_at_any_call_is_typed_and_passes(
    tmp_path: Path, nursery: Nursery, bases: dict[str, Base], name: str, error: str
) -> None:
    """P5, B4: an error of the disk is a `StoreUnavailable` or was harmless; nothing erased can be
    read, and the next try ends well."""
    base = bases[name]
    # `status`, which counts what is there afterwards, lists folders: that is about reading.
    for point in points(base.calls, ERRORS, name + error, without="O_DIRECTORY"):
        home = copied(base.home, tmp_path / "home")
        with nursery.fork() as pid:
            with traced(pid, tmp_path / "log", [point.call], str(Fault(f"error={error}", point))):
                assert nursery.told(**base.scene.order(home, base.usb)) in (
                    "done",
                    "store_unavailable",
                ), point
            base.check_between(home)
            assert nursery.told(**base.scene.order(home, base.usb)) in ("done", "refused"), point
        base.check_done(home)


@pytest.mark.parametrize("name", list(SCENES)[1:])
def test_a_power_cut_at_any_call(
    tmp_path: Path,
    nursery: Nursery,
    bases: dict[str, Base],
    name: str,
) -> None:
    """P5, B1: the same when the power goes, with everything lost that was not synced, or any part
    of it."""
    base = bases[name]
    home = copied(base.home, tmp_path / "cut")
    disk = Disk(home)
    with nursery.fork() as pid, recorded(pid, tmp_path / "log") as calls:
        assert nursery.told(**base.scene.order(home, base.usb)) == "done"
    for number, (left, acknowledged) in enumerate(states(disk, calls, name)):
        tally.count("power cuts")
        cut = disk.written(left, tmp_path / f"left{number}")
        base.check_between(cut)
        assert not acknowledged or base.is_readable(cut)
        base.again(cut)
        base.check_done(cut)
        shutil.rmtree(cut)
