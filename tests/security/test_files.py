"""Links are refused, files are private, and nothing is written where it does not belong."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamina.errors import LaminaError, NotFound, Refused
from tests.conftest import Desk

PLACES = [
    "agents",
    "agents/sky",
    "agents/sky/memory.db",
    "agents/sky/memory.db-wal",
    "agents/sky/memory.db-shm",
    "agents/sky/reads.db",
]


@pytest.fixture
def open_umask() -> Iterator[None]:
    """The most careless setting that there is."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in folder.rglob("*")}


@pytest.mark.parametrize("dangling", [False, True], ids=["to something", "to nothing"])
@pytest.mark.parametrize("place", PLACES)
def test_a_link_in_our_place_is_refused(desk: Desk, tmp_path: Path, place: str, dangling: bool) -> None:
    """P2: a symbolic link where a folder or file of ours should be is refused and logged, and its target untouched."""
    link, outside = desk.home / place, tmp_path / "outside"
    link.parent.mkdir(parents=True)
    if not dangling:
        outside.mkdir() if link.suffix == "" else outside.write_bytes(b"")
    link.symlink_to(outside)
    with pytest.raises(Refused, match="symbolic link"):
        desk.agent()
    assert outside.exists() != dangling
    assert not outside.is_dir() or not list(outside.iterdir())
    assert not outside.is_file() or outside.read_bytes() == b""
    assert len(desk.violations()) == 1


@pytest.mark.parametrize("name", ["reads.db-wal", "reads.db-shm"])
def test_reads_are_not_written_through_a_link(desk: Desk, tmp_path: Path, name: str) -> None:
    """P2: a link beside the log of reads leads no byte out of the home."""
    desk.agent().close()
    (desk.folder() / name).symlink_to(tmp_path / "outside")
    mem = None
    try:
        mem = desk.agent()
        mem.search("tea")
        mem.close()
    except LaminaError:
        pass
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("verb", ["backup", "export", "restore"])
def test_our_folders_are_not_followed_out_of_the_home(desk: Desk, tmp_path: Path, verb: str) -> None:
    """P2: backups/ and exports/ that are links to elsewhere are refused, and nothing is written there."""
    op = desk.operator()
    op.remember("xylophone")
    made = op.backup(tmp_path / "copy")
    outside = tmp_path / "outside"
    outside.mkdir()
    (desk.folder() / ("exports" if verb == "export" else "backups")).symlink_to(outside)
    with pytest.raises(Refused, match="symbolic link"):
        op.restore(made) if verb == "restore" else getattr(op, verb)()
    assert list(outside.iterdir()) == []


@pytest.mark.usefixtures("open_umask")
def test_everything_is_private(desk: Desk) -> None:
    """B6: with the umask at 0, every file is 0600 and every folder 0700, while open and when closed."""
    desk.home.mkdir(mode=0o700)
    op = desk.operator()
    op.remember("x")
    op.search("x")
    op.audit_reads()
    op.export()
    op.export(public=True)
    op.restore(op.backup())
    op.backup()
    with pytest.raises(NotFound):
        op.get(desk.agent("milton").remember("x").id)
    while_open = modes(desk.home)
    assert {"violations.jsonl", "agents/sky/memory.db-wal", "agents/sky/reads.db"} <= while_open.keys()
    op.close()
    for found in (while_open, modes(desk.home)):
        wrong = {name: oct(mode) for name, mode in found.items() if mode != (0o700 if (desk.home / name).is_dir() else 0o600)}
        assert {name: mode for name, mode in wrong.items() if (desk.home / name).exists()} == {}


@pytest.mark.usefixtures("open_umask")
def test_folders_on_the_way_are_private_too(tmp_path: Path) -> None:
    """B6: folders that we make above the home are private as well, so that nobody can put another home in its place."""
    with Desk(tmp_path / "a" / "b" / "home") as desk:
        desk.agent().remember("x")
    assert {name: oct(mode) for name, mode in modes(tmp_path).items() if mode & 0o077} == {}


@pytest.mark.usefixtures("open_umask")
def test_an_export_elsewhere_is_private(desk: Desk, tmp_path: Path) -> None:
    """B6: an export that goes where it was told is readable for its owner alone."""
    path = desk.operator().export(tmp_path / "x.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.usefixtures("open_umask")
def test_what_was_there_keeps_its_mode(desk: Desk) -> None:
    """B6: an existing home is not changed behind its owner's back."""
    desk.home.mkdir(mode=0o755)
    desk.agent().close()
    assert stat.S_IMODE(desk.home.stat().st_mode) == 0o755


def test_a_handle_leaves_no_open_file(desk: Desk) -> None:
    """B1: opening, reading, writing and closing leaves no file open."""
    open_files = Path("/proc/self/fd")
    if not open_files.exists():
        return
    for _ in range(3):
        with desk.operator() as op:
            op.remember("x")
            op.search("x")
            op.restore(op.backup())
            op.import_(op.export())
    held = [str(one.readlink()) for one in open_files.iterdir() if one.is_symlink()]
    assert [path for path in held if path.startswith(str(desk.home))] == []
