"""Nothing of others comes through any door: not a word in an answer, an error, a file or a page,
and not an id.

Whatever verbs, commands, routes, pages, tools and hooks the program has are called with the ids and
names of others, and with questions for a word that all of them have used. Every text of everybody
carries a canary that says whose it is.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from mcp import Client

from lamina.errors import NotFound
from lamina.surfaces.hooks import Hooks
from tests.conftest import FULL, Desk
from tests.security import doors
from tests.security.canaries import OWNERS, Planted, answered, leaks, owned, planted, strange_ids
from tests.security.doors import Keys, Probe
from tests.security.pools import Attack
from tests.security.tally import probe
from tests.surfaces.mcp_harness import in_process
from tests.surfaces.served import Served

MOST = 30 if FULL else 2  # ways to call each verb


class Viewer(NamedTuple):
    """Somebody who asks: for which agent and user, and whose memories are theirs to see."""

    agent: str
    user: str | None
    sees: tuple[str, ...]
    as_guest: tuple[str, ...] = ()


VIEWERS = {
    "ana of sky": Viewer("sky", "ana", ("ana", "common", "shared")),
    "ben of sky": Viewer("sky", "ben", ("ben", "common", "shared")),
    "milton": Viewer("milton", None, ("milton", "namesake"), ("shared",)),
    "ana of milton": Viewer("milton", "ana", ("milton", "namesake"), ("shared",)),
    "sky": Viewer("sky", None, ("ana", "ben", "common", "shared")),
    "a stranger": Viewer("aegis", None, ()),
}
every_viewer = pytest.mark.parametrize("name", VIEWERS if FULL else ["ana of sky", "milton"])


class Scene:
    """A home full of canaries, one who looks for them, and what has been found."""

    def __init__(self, desk: Desk, folder: Path, viewer: Viewer, known: Planted) -> None:
        self.desk, self.viewer = desk, viewer
        self.chance = random.Random(7)
        folder.mkdir(exist_ok=True)
        self.attack = Attack(known, viewer.sees, folder)
        # What was given is in the trail of whoever gave it; nobody ever gives these.
        self.never_given = frozenset(known.foreign(viewer.sees + viewer.as_guest)) - {
            *self.attack.ids
        }
        self.victims = [owner for owner in OWNERS if owner.name not in viewer.sees]
        self._before = owned(desk, self.victims)
        self.found: list[tuple[str, str, str, set[str]]] = []
        # answers with canaries that may be seen, so that a door which shows nothing does not pass
        self.own = 0

    def keys(self) -> Keys:
        agent, user = self.viewer.agent, self.viewer.user
        mem, op = self.desk.agent(agent, user), self.desk.operator(agent, user)
        try:
            guest = mem.shared("sky") if self.viewer.as_guest else None
        except NotFound:
            guest = None
        return Keys(mem, op, mem.run("look around"), guest, Hooks(mem, doors.PATIENT))

    def look(self, one: Probe, answer: str) -> None:
        """Count a probe, and keep what it has let out."""
        probe()
        allowed = self.viewer.sees + self.viewer.as_guest
        out = leaks(answer, allowed) | strange_ids(answer, self.never_given)
        self.own += bool(leaks(answer, ()) - out)
        if out:
            self.found.append((one.door, one.verb, one.given, out))

    def ask(self, probes: Iterable[Probe]) -> None:
        for one in probes:
            self.look(one, answered(one.call))

    def check(self) -> None:
        """Nothing was let out, and whatever others keep is still there, as they wrote it."""
        assert self.found == []
        assert self.own or not self.viewer.sees
        assert owned(self.desk, self.victims) == self._before


@pytest.fixture(scope="module")
def full_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Planted, datetime]:
    """The home of all tests here, of which each has a copy."""
    with Desk(tmp_path_factory.mktemp("full") / "home") as desk:
        return desk.home, planted(desk), desk.clock.now


@pytest.fixture
def scene(
    desk: Desk, tmp_path: Path, name: str, full_home: tuple[Path, Planted, datetime]
) -> Scene:
    home, known, now = full_home
    shutil.copytree(home, desk.home)
    desk.clock.set(now)
    return Scene(desk, tmp_path / "attacker", VIEWERS[name], known)


@every_viewer
def test_no_verb_lets_anything_out(scene: Scene) -> None:
    """P2, P3, R12: every verb of every handle in Python, by whatever id, name, word, filter or time
    it is asked."""
    keys = scene.keys()
    with closing(keys.hooks):
        scene.ask(doors.python(keys, scene.attack, scene.chance, MOST))
    scene.check()


@every_viewer
@pytest.mark.parametrize("role", ["operator", "agent"])
def test_no_command_lets_anything_out(
    scene: Scene, role: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """P2, P3, R12, H1: every command, with its tables, its JSON and its complaints, for a person
    and for an agent."""
    viewer = scene.viewer
    monkeypatch.setenv("LAMINA_HOME", str(scene.desk.home))
    monkeypatch.setenv("LAMINA_MAINTENANCE", "off")
    monkeypatch.chdir(scene.attack.folder)
    if role == "agent":
        monkeypatch.setenv("LAMINA_ROLE", "agent")
        monkeypatch.setenv("LAMINA_AGENT", viewer.agent)
    whose = ["--agent", viewer.agent, *(["--user", viewer.user] if viewer.user else [])]
    capsys.readouterr()
    for one in doors.commands(whose, scene.attack, scene.chance, MOST // 4 if FULL else 1):
        code = answered(one.call)
        scene.look(one, code + "".join(capsys.readouterr()))
    scene.check()


@pytest.mark.parametrize("name", ["ana of sky"])
def test_no_command_crosses_to_another_user(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """P2, R12, V7: an agent that LAMINA_USER binds gets nothing by `--user ben`,
    whatever the command."""
    viewer = scene.viewer
    settings = {
        "HOME": str(scene.desk.home),
        "MAINTENANCE": "off",
        "ROLE": "agent",
        "AGENT": viewer.agent,
    }
    for variable, value in {**settings, "USER": str(viewer.user)}.items():
        monkeypatch.setenv(f"LAMINA_{variable}", value)
    monkeypatch.chdir(scene.attack.folder)
    before = owned(scene.desk, OWNERS)
    capsys.readouterr()
    for one in doors.commands(
        ["--user", "ben"], scene.attack, scene.chance, MOST // 4 if FULL else 1
    ):
        code = answered(one.call)
        scene.look(one, code + "".join(capsys.readouterr()))
    assert scene.found == []
    assert scene.own == 0
    assert owned(scene.desk, OWNERS) == before
    attempts = {json.loads(line)["attempt"] for line in scene.desk.violations()}
    assert "open another user's memory" in attempts


@every_viewer
def test_no_route_and_no_page_lets_anything_out(scene: Scene) -> None:
    """P2, R12, H2: every route of the API and every page of the console, with a token of somebody
    else's memory."""
    viewer = scene.viewer
    scene.desk.agent(viewer.agent).close()
    with Served(scene.desk) as served:
        token = served.token(viewer.agent, viewer.user, trail=viewer.user is None)
        scene.ask(doors.routes(served, token, scene.attack, scene.chance, MOST))
        scene.ask(doors.pages(served, token, scene.attack, scene.chance, MOST))
    scene.check()


@every_viewer
def test_no_tool_lets_anything_out(scene: Scene) -> None:
    """P2, R12, H3: every tool that a model can call, whatever it is talked into asking."""
    viewer = scene.viewer

    async def talk(client: Client) -> None:
        for one, answer in await doors.tool_calls(client, scene.attack, scene.chance, MOST * 2):
            scene.look(one, answer)

    in_process(lambda: scene.desk.agent(viewer.agent, viewer.user), talk)
    scene.check()


@every_viewer
def test_no_hook_lets_anything_out(scene: Scene) -> None:
    """P2, R12, H4: every event of every program that calls hooks."""
    keys = scene.keys()
    with closing(keys.hooks):
        scene.ask(doors.events(keys, scene.attack, scene.chance, MOST // 4 if FULL else 1))
    scene.check()
