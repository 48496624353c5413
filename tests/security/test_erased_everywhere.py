"""After an erasure (P5) nothing of it is in any byte of a home that has lived, and no door says it
any more."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from mcp import Client

from lamina import Operator
from lamina.surfaces.hooks import Hooks
from tests.conftest import CONTRACTS, FULL, Desk
from tests.security import doors
from tests.security.canaries import BEN, CANARY, COMMON, OWNERS, Planted, Planter, answered, planted
from tests.security.doors import Keys, Probe
from tests.security.pools import Attack
from tests.security.tally import probe
from tests.surfaces.mcp_harness import in_process
from tests.surfaces.served import Served
from tests.unit.failsafe.outages import AWAY, outage

GONE = "zqben"  # begins every canary of Ben
MOST = 12 if FULL else 1
MIRRORED = {**AWAY, "mirrors.jsonl": "sky", "runs.episodes": True}


def holding(home: Path, word: str = GONE) -> list[str]:
    """The files that hold a word in any case, plain or in UTF-16; each look at a file
    is a probe."""
    found = []
    for path in sorted(home.rglob("*")):
        if path.is_file():
            probe()
            data = path.read_bytes().lower()
            if word.encode() in data or word.encode("utf-16-le") in data:
                found.append(str(path.relative_to(home)))
    return found


@pytest.fixture
def lived(desk: Desk) -> Planted:
    """A home with everything: all owners, archives, mirrors, exports, backups, a fail-safe that
    waits, and guests."""
    known = planted(desk, [owner for owner in OWNERS if owner is not BEN])
    planter = Planter(desk, BEN)
    run = planter.everywhere()
    whole = desk.operator(settings=MIRRORED)
    his = desk.agent(user="ben", settings=MIRRORED)
    with outage(desk.home):
        his.remember(planter.text())
    for verb in (
        whole.index,
        whole.run_once,
        whole.sleep,
        whole.sync_mirrors,
        whole.backup,
        whole.export,
        whole.learn,
    ):
        verb()
    with Hooks(his, doors.PATIENT) as hooks:
        hooks.after_message(planter.text(), planter.text(), session=planter.canary())
    use = {"command": planter.canary(), "output": f"Error: {planter.canary()}", "failed": True}
    his.remember_tool_use(use, planter.canary(), planter.canary())
    his.search(planter.canary())
    whole.remember(
        f"a summary {planter.canary()}",
        layer="semantic",
        metadata=CONTRACTS["semantic"],
        evidence=[run],
    )
    with outage(desk.home):
        his.remember(planter.text())
    return known


def erased(desk: Desk) -> Operator:
    """Everything of Ben and what rests on it goes, while another handle reads the store."""
    whole = desk.operator(settings=MIRRORED)
    reading = desk.agent()
    reading.search("pebble")
    for record in whole.list(states=None, limit=10_000):
        if GONE in record.content and record.user is None:
            whole.erase(record.id)
    certificate = whole.erase(user="ben")
    assert certificate.unreached == []
    return whole


def test_no_byte_of_it_is_left(desk: Desk, lived: Planted) -> None:
    """P5: store, log, free pages, archive, mirrors, exports, backups, fail-safe, trails and tokens;
    also after more life."""
    assert len(holding(desk.home)) > 4
    whole = erased(desk)
    assert holding(desk.home) == []
    for verb in (
        whole.reindex,
        whole.index,
        whole.run_once,
        whole.sleep,
        whole.sync_mirrors,
        whole.backup,
        whole.export,
    ):
        verb()
        assert holding(desk.home) == [], verb
    for handle in (whole, desk.agent()):
        handle.close()
    assert holding(desk.home) == []
    assert holding(desk.home, "zqcommon") != []


def said_by(desk: Desk, known: Planted, folder: Path) -> Iterator[tuple[Probe, str]]:
    """What every door says to the one who may see all of sky."""
    folder.mkdir()
    attack, chance = Attack(known, (), folder), random.Random(3)
    mem, op = desk.agent(), desk.operator()
    keys = Keys(mem, op, mem.run("look around"), None, Hooks(mem, doors.PATIENT))
    with closing(keys.hooks):
        for one in (
            *doors.events(keys, attack, chance, 1),
            *doors.python(keys, attack, chance, MOST),
        ):
            yield one, answered(one.call)
    with Served(desk) as served:
        token = served.token(trail=True)
        for one in (
            *doors.routes(served, token, attack, chance, MOST),
            *doors.pages(served, token, attack, chance, MOST),
        ):
            yield one, answered(one.call)
    made: list[tuple[Probe, str]] = []

    async def talk(client: Client) -> None:
        made.extend(await doors.tool_calls(client, attack, chance, MOST))

    in_process(desk.agent, talk)
    yield from made


def test_no_door_says_it_any_more(desk: Desk, lived: Planted, tmp_path: Path) -> None:
    """P5: verbs, routes, pages, tools and hooks that may see the whole memory show what stays, and
    nothing of what is gone."""
    erased(desk)
    stays = 0
    for one, answer in said_by(desk, lived, tmp_path / "attacker"):
        probe()
        names = {found.group(1).lower() for found in CANARY.finditer(answer)}
        assert BEN.name not in names, one[:3]
        stays += COMMON.name in names
    assert stays > 10
