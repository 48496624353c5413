"""SQLite keeps its locks, whatever is called in the same process.

POSIX drops all locks of a process on a file when the process closes any descriptor of it.
Everything that the program has is called here while connections to every database of the home are
open, also with the paths of those databases as arguments; after each call the kernel is asked
whether the locks are still there. An audit hook names whoever opens such a file with Python.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest
from mcp import Client

from lamina.errors import InvalidInput
from lamina.store.engine import raw_file
from lamina.surfaces.hooks import Hooks
from tests.conftest import FULL, Desk
from tests.security import doors
from tests.security.canaries import COMMON, MILTON, SHARED, answered, planted
from tests.security.doors import Keys, Probe
from tests.security.pools import Attack
from tests.security.tally import probe
from tests.surfaces.mcp_harness import in_process
from tests.surfaces.served import Served

LOCKS = Path("/proc/locks")
MOST = 20 if FULL else 5  # ways to call each verb
AGENTS = ("sky", "milton")
LOOKS = 10_000
DATABASES = ("memory.db", "reads.db")
PLACES = ("path", "to", "folder", "head_file", "source")  # arguments that are paths, at some door
pytestmark = pytest.mark.skipif(
    not LOCKS.exists(), reason="the locks of a process are told in /proc, which is not here"
)

Lock = tuple[str, ...]


class Prying(Attack):
    """Gives the databases of the home for every path, first of all."""

    def _pools(self) -> Mapping[tuple[str, ...], Sequence[Any]]:
        return {PLACES: [*live(self.folder)], **super()._pools()}


def live(home: Path) -> Iterator[str]:
    """The files of the store that is written to, and the folder that they lie in."""
    folder = home / "agents" / "sky"
    yield from (str(folder / f"{name}{end}") for name in DATABASES for end in ("-shm", "", "-wal"))
    yield str(folder)


class Watch:
    """Open connections to every database of a home, the locks that they give us, and
    who endangers these."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        files = [home / "agents" / agent / name for agent in AGENTS for name in DATABASES]
        for path in files:
            connection = stack.enter_context(
                closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY))
            )
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        held = [path.with_name(path.name + end) for path in files for end in ("", "-shm")]
        self._names = {path.stat().st_ino: path.name for path in held}
        self._locks = self._found()
        for _ in range(LOOKS):  # a thread that writes in the background holds more for a moment
            if len(self._locks) == len(held):
                break
            self._locks &= self._found()
        assert len(self._locks) == len(held)
        self.lost: list[tuple[Probe, set[Lock]]] = []
        self.opened: list[str] = []
        HOOK.watches.append(self)
        stack.callback(HOOK.watches.remove, self)

    def _found(self) -> set[Lock]:
        """The locks of this process on these files, by name and place."""
        found = set()
        for line in LOCKS.read_text().splitlines():
            words = line.split()
            if "POSIX" in words and int(words[-4]) == os.getpid():
                inode = int(words[-3].rpartition(":")[2])
                if inode in self._names:
                    found.add((self._names[inode], words[-3], *words[-2:]))
        return found

    def note_open(self, path: str | bytes) -> None:
        """Somebody opens a file with Python: one of ours may not be."""
        try:
            inode = Path(os.fsdecode(path)).stat().st_ino
        except (OSError, ValueError):
            return
        if inode in self._names:
            caller = "".join(traceback.format_stack(limit=8)[:-2])
            self.opened.append(f"{os.fsdecode(path)} is opened by\n{caller}")

    def look(self, one: Probe) -> None:
        probe()
        lost = self._locks - self._found()
        if lost:
            self.lost.append((one, lost))
            self._locks -= lost  # it is told once

    def ask(self, probes: Iterable[Probe]) -> None:
        for one in probes:
            answered(one.call)
            self.look(one)

    def check(self) -> None:
        assert self.opened == []
        assert self.lost == []


class Hook:
    """Tells whoever watches which files Python opens. An audit hook stays for ever, so
    there is one."""

    def __init__(self) -> None:
        self.watches: list[Watch] = []
        self._is_set = False

    def set(self) -> None:
        if not self._is_set:
            self._is_set = True
            sys.addaudithook(self._heard)

    def _heard(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.watches or event != "open" or not isinstance(given[0], str | bytes):
            return
        if not given[2] & os.O_EXCL:  # that never opens a file which is there
            for watch in self.watches:
                watch.note_open(given[0])


HOOK = Hook()


class Scene(NamedTuple):
    """A home of two agents, handles on it, and the watch over its databases."""

    desk: Desk
    attack: Attack
    watch: Watch

    def keys(self) -> Keys:
        mem, op = self.desk.agent("sky"), self.desk.operator("sky")
        guest = self.desk.agent("milton").shared("sky")
        return Keys(mem, op, mem.run("look around"), guest, Hooks(mem, doors.PATIENT))

    @property
    def chance(self) -> random.Random:
        return random.Random(7)


@pytest.fixture
def scene(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    known = planted(desk, (COMMON, SHARED, MILTON))
    for agent in AGENTS:
        desk.operator(agent).backup()
        desk.operator(agent)._scope.store.reads.flush()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    HOOK.set()
    with ExitStack() as stack:
        yield Scene(desk, Prying(known, (), desk.home), Watch(desk.home, stack))


def test_the_watch_sees_both(scene: Scene, tmp_path: Path) -> None:
    """B1: opening a database with Python drops the lock and is told; reading it through SQLite's
    file layer does neither."""
    path = scene.desk.folder() / "memory.db"
    scene.watch.ask([Probe("Python", "rawfile", "", partial(raw_file.read, path))])
    scene.watch.check()
    scene.watch.ask([Probe("Python", "open", "", path.read_bytes)])
    (one, lost), *_ = scene.watch.lost
    assert one.verb == "open"
    assert {name for name, *_ in lost} == {"memory.db"}
    assert "test_locks.py" in scene.watch.opened[0]


def test_no_verb_drops_a_lock(scene: Scene) -> None:
    """B1: every verb of every handle in Python."""
    keys = scene.keys()
    with closing(keys.hooks):
        scene.watch.ask(doors.python(keys, scene.attack, scene.chance, MOST))
    scene.watch.check()


def test_no_command_drops_a_lock(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """B1: every command, in a process that has the store open."""
    monkeypatch.setenv("LAMINA_HOME", str(scene.desk.home))
    monkeypatch.setenv("LAMINA_MAINTENANCE", "off")
    scene.watch.ask(doors.commands(["--agent", "sky"], scene.attack, scene.chance, MOST))
    capsys.readouterr()
    scene.watch.check()


def test_no_route_and_no_page_drops_a_lock(scene: Scene) -> None:
    """B1: every route of the API and every page of the console."""
    with Served(scene.desk) as served:
        token = served.token("sky", trail=True)
        scene.watch.ask(doors.routes(served, token, scene.attack, scene.chance, 2))
        scene.watch.ask(doors.pages(served, token, scene.attack, scene.chance, 2))
    scene.watch.check()


def test_no_tool_drops_a_lock(scene: Scene) -> None:
    """B1: every tool that a model can call."""

    async def talk(client: Client) -> None:
        for one, _ in await doors.tool_calls(client, scene.attack, scene.chance, MOST):
            scene.watch.look(one)

    in_process(lambda: scene.desk.agent("sky"), talk)
    scene.watch.check()


def test_no_hook_drops_a_lock(scene: Scene) -> None:
    """B1: every event of programs that call hooks, also with a database in the place
    of the conversation."""
    keys = scene.keys()
    with closing(keys.hooks):
        scene.watch.ask(doors.events(keys, scene.attack, scene.chance, 1))
        for place in live(scene.desk.home):
            for event in ("Stop", "SubagentStop", "SubagentStart", "PreToolUse"):
                data = json.dumps({"hook_event_name": event, "transcript_path": place}).encode()
                scene.watch.ask(
                    [Probe("hooks", event, place, partial(doors.heard, keys.mem, data))]
                )
    scene.watch.check()


def test_a_store_opened_by_many_threads_keeps_its_locks(scene: Scene) -> None:
    """B1: the header of a store is read before it is opened; a thread that has just opened it loses
    nothing by that."""
    threads = [
        threading.Thread(target=lambda: scene.desk.agent("sky").close()) for _ in range(MOST)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    scene.watch.look(Probe("Python", "open", "", lambda: None))
    scene.watch.check()


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_no_export_replaces_a_store(scene: Scene, end: str) -> None:
    """B1: also when it is told to overwrite files, an export leaves databases and what lies beside
    them alone."""
    path = scene.desk.folder() / f"memory.db{end}"
    before = path.stat().st_ino
    with pytest.raises(InvalidInput, match="belongs to a database"):
        scene.desk.operator("sky").export(path, force=True)
    assert path.stat().st_ino == before
