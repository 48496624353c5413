"""Paths that lead elsewhere, name something else, or name nothing: no verb follows them out, and
none breaks on them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import Operator
from lamina.errors import LaminaError
from lamina.formats.exporting import NAMES as FORMS
from lamina.memory import opening
from tests.conftest import FULL, Desk, digest
from tests.security.tally import probe

SECRET = b"not ours"
PLAIN = [
    "..",
    ".",
    "/",
    "",
    "../outside/new",
    "x/../../outside/new",
    "~",
    "~nobody/x",
    "$HOME/x",
    "C:\\x",
    "\\\\?\\x",
    "x/",
    "x\\..\\y",
]
ODD = [
    "a\0b",
    "a\nb",
    "\x1b[31mred",
    "\u202egpj",
    "CON",
    "nul.txt",
    "-rf",
    "--help",
    "é",
    "e\u0301",
    "*",
    "?",
    "|sh",
]
PLACES = [
    *(
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/stdout",
        "/proc/self/mem",
        "/proc/self/environ",
        "/proc/self/fd/1",
        "/etc/passwd",
    ),
    *(
        "file:///etc/passwd",
        "http://127.0.0.1:1/x",
        "sqlite:x",
        "x?mode=ro",
        "x#y",
        "%2e%2e%2foutside",
        "..%2foutside",
    ),
]


class Yard:
    """A folder to work in, one beside it that nobody may touch, and traps between them."""

    def __init__(self, top: Path) -> None:
        self.work, self.outside = top / "work", top / "outside"
        for folder in (self.work, self.outside):
            folder.mkdir()
        self.secret = self.outside / "secret"
        self.secret.write_bytes(SECRET)
        (self.work / "link").symlink_to(self.secret)
        (self.work / "dangling").symlink_to(self.outside / "new")
        (self.work / "folder-link").symlink_to(self.outside)
        (self.work / "loop").symlink_to(self.work / "loop")
        os.link(self.secret, self.work / "hard")
        os.mkfifo(self.work / "pipe")
        (self.work / "folder").mkdir()
        (self.work / "readonly").mkdir(mode=0o500)
        self.traps = [
            "link",
            "dangling",
            "folder-link/x",
            "folder-link",
            "loop",
            "loop/x",
            "hard",
            "folder",
            "readonly/x",
        ]

    def given(self) -> Iterator[str]:
        yield from (*PLAIN, *ODD, *PLACES)
        yield from (str(self.work / name) for name in (*self.traps, "pipe", *ODD))

    def check(self, *, allowed: tuple[str, ...] = ()) -> None:
        """Nobody was outside, but where somebody was told by name to go there."""
        assert self.secret.read_bytes() == SECRET
        assert {path.name for path in self.outside.iterdir()} <= {"secret", *allowed}


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    made = Yard(tmp_path)
    monkeypatch.chdir(made.work)
    monkeypatch.setenv("HOME", str(made.work / "folder"))
    yield made
    (made.work / "readonly").chmod(stat.S_IRWXU)


def writers(op: Operator) -> dict[str, Callable[[str], object]]:
    """Every verb that writes to a path, in every form."""
    forms = FORMS if FULL else FORMS[:2]
    return {
        "export": lambda path: op.export(path),
        "export by force": lambda path: op.export(path, force=True),
        "public": lambda path: op.export(path, public=True),
        "backup": lambda path: op.backup(path),
        **{f"as {form}": partial(op.export_as, form) for form in forms},
        **{f"as {form} by force": partial(op.export_as, form, force=True) for form in forms},
    }


def readers(op: Operator) -> dict[str, Callable[[str], object]]:
    """Every verb that reads from a path."""
    return {
        "import": lambda path: op.import_(path),
        "trusting import": lambda path: op.import_(path, True),
        "restore": lambda path: op.restore(path),
        **{
            f"import {form}": partial(op.import_, format=form)
            for form in (FORMS if FULL else FORMS[:1])
        },
    }


WAITS = ("/dev/stdout", "/proc/self/fd/1")  # the terminal of whoever runs the tests


def test_nothing_is_written_elsewhere(desk: Desk, yard: Yard) -> None:
    """P2, B6, H5: links, hard links, devices, odd and endless names: an error of ours, or a private
    file where it was told."""
    op = desk.operator()
    op.remember("tea")
    for write in writers(op).values():
        for path in yard.given():
            if path in WAITS:
                continue
            attempt(write, path)
            yard.check(allowed=("new", "x") if "folder-link" in path or "outside" in path else ())
            for left in ("new", "x"):
                remove(yard.outside / left)
            remove(yard.work / "new")
    assert op.get(op.list()[0].id).content == "tea"


def test_nothing_is_taken_from_elsewhere(desk: Desk, yard: Yard) -> None:
    """P2, H5: what is no file of ours is refused or empty, never waited for, and its bytes are in
    no answer and no memory."""
    op = desk.operator()
    kept = op.remember("tea")
    for read in readers(op).values():
        for path in yard.given():
            answer = attempt(read, path)
            assert SECRET.decode() not in answer
            assert "root:" not in answer
    assert [record.id for record in op.list(states=None)] == [kept.id]
    yard.check()


def attempt(verb: Callable[[str], object], path: str) -> str:
    """What comes of a path. Nothing but errors of ours may be raised."""
    probe()
    try:
        return str(verb(path))
    except LaminaError as error:
        return str(error.to_dict())


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for one in path.iterdir():
            remove(one)
        path.rmdir()
    elif path.is_symlink() or path.exists():
        path.unlink()


def test_no_home_is_where_none_can_be(yard: Yard) -> None:
    """P2, B6: a home that is a file, a device, a pipe or a loop is an error of ours; any other name
    is a folder."""
    for path in yard.given():
        if (
            path in ("", ".", "..", "/", *WAITS)
            or "outside" in path
            or "link" in path
            or "dangling" in path
        ):
            continue  # those are folders that exist, and whoever names one has a home there
        attempt(_opened, path)
        yard.check()


@pytest.mark.parametrize("path", ["a" * 300, "a/" * 2_500])
def test_endless_names_are_told(desk: Desk, yard: Yard, path: str) -> None:
    """P2: a name that no disk can hold is an error of ours, too."""
    op = desk.operator()
    for verb in (*writers(op).values(), *readers(op).values(), _opened):
        attempt(verb, path)
    yard.check()


def _opened(path: str) -> str:
    with lamina.open("sky", home=path) as mem:
        return mem.remember("tea").id


def test_no_restore_over_damage_follows_a_path(desk: Desk, yard: Yard) -> None:
    """P2, H5: the way back from a damaged store looks at what it is given as carefully."""
    desk.operator().remember("tea")
    for path in yard.given():
        attempt(lambda given: opening.restore(given, "sky", desk.home, desk.clock), path)
    yard.check()


def test_files_that_are_also_elsewhere_stay(desk: Desk, yard: Yard) -> None:
    """P2: a second name of somebody's file (a hard link) in place of an export is not written
    through, even by force."""
    op = desk.operator()
    op.remember("tea")
    before = digest(yard.secret)
    for write in writers(op).values():
        attempt(write, str(yard.work / "hard"))
        assert digest(yard.secret) == before


@pytest.mark.parametrize("kind", ["file", "folder", "pipe", "link", "hard link"])
@pytest.mark.parametrize(
    "place", ["backups", "exports", "archive", "erasures", "failsafe", "memory.db-journal"]
)
def test_something_else_in_our_place(desk: Desk, tmp_path: Path, place: str, kind: str) -> None:
    """P2, B6: whatever stands where a folder or file of ours would be, verbs say so or go on, and
    what it leads to stays."""
    op = desk.operator()
    op.remember("tea", tags=["old"])
    victim = tmp_path / "victim"
    victim.write_bytes(SECRET)
    make: dict[str, Callable[[Path], Any]] = {
        "file": lambda path: path.write_bytes(b"x"),
        "folder": lambda path: path.mkdir(),
        "pipe": os.mkfifo,
        "link": lambda path: path.symlink_to(victim),
        "hard link": lambda path: os.link(victim, path),
    }
    here = desk.folder() / place
    if here.exists():
        pytest.skip(f"{place} is in use")
    make[kind](here)
    verbs: list[Callable[[str], object]] = [lambda _: op.backup(), lambda _: op.export()]
    verbs += [lambda _: op.prune(tags=["old"]), lambda _: op.remember("more")]
    for verb in verbs:
        attempt(verb, "")
    assert victim.read_bytes() == SECRET
