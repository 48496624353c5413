"""Faults while something is erased: it is there, or on its way out for good, and whoever comes next
finishes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from tests.conftest import Ticking
from tests.faults.opening import opened
from tests.security.erasing import MARK, STAYS, holding

from . import tally
from .harness import AGENT, CALLS, Fault, Nursery, check_sound, copied, points, size, traced

KILLS = size(quick=3, full=250)
ERRORS = size(quick=2, full=60)


class Base(NamedTuple):
    """A home to copy, what is erased from it, and the write calls that this makes."""

    home: Path
    ids: list[str]
    neighbour: str
    calls: list[str]

    @property
    def order(self) -> dict[str, Any]:
        return {"step": "decide", "verb": "erase", "given": self.ids}


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("review_decider") as made:
        yield made


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Base:
    """A home in which a word stands everywhere: in rows, in the archive, in queries, in an export
    and in a backup."""
    folder = tmp_path_factory.mktemp("erasing")
    home = folder / "home"
    with lamina.operator(AGENT, home=home, clock=Ticking(), actor="ana") as operator:
        neighbour = operator.remember(f"the neighbour has a {STAYS}", tags=["old"]).id
        said = operator.remember(f"the {MARK} is here", tags=[MARK]).id
        old = operator.remember(f"the {MARK} was there", tags=["old"]).id
        operator.propose_profile("hides", MARK, f"she said {MARK}", [said])
        operator.prune(tags=["old"])
        operator.search(MARK)
        operator.index()
        operator.export()
        operator.backup()
    undisturbed = copied(home, folder / "undisturbed")
    with nursery.fork() as pid:
        assert nursery.told(step="open", home=str(undisturbed)) == "done"
        with traced(pid, folder / "log", CALLS) as calls:
            assert nursery.told(step="decide", verb="erase", given=[said, old]) == "done"
    assert holding(undisturbed, MARK) == []
    return Base(home, [said, old], neighbour, calls)


def check_gone_or_there(base: Base, home: Path) -> None:
    """Nothing or all of it is out of the store; erasing or resuming ends with one whole
    certificate, and not one byte is left but in a copy that could not be removed, which the
    certificate names."""
    with opened(home) as decider:
        operator = decider.operator
        check_sound(operator)
        kinds = {operator.get(one).kind == "erased" for one in base.ids}
        assert len(kinds) == 1
        if kinds == {False}:
            assert operator.erasures() == []
            operator.erase(*base.ids)
        else:
            operator.resume_erasures()
        (certificate,) = operator.erasures()
        # The home is a copy: the trail tells of an export in the one that it was copied from.
        unreached = {
            one["place"]: one["why"]
            for one in certificate.unreached
            if not one["place"].startswith(str(base.home))
        }
        assert all(why.startswith("it cannot be removed") for why in unreached.values()), unreached
        assert len(certificate.records) == 3
        assert operator.resume_erasures() == []
        check_sound(operator)
        tally.check(
            [base.neighbour],
            [one.id for one in map(operator.get, [base.neighbour]) if STAYS in one.content],
        )
    assert [one for one in holding(home, MARK) if not one.startswith(tuple(unreached))] == []
    files = list((home / "agents" / AGENT / "erasures").iterdir())
    assert [json.loads(path.read_bytes())["records"] for path in files] == [certificate.records]
    assert [path for path in home.rglob("*.tmp") if path.parent.name != "backups"] == []


def test_a_kill_at_any_write_call_is_resumed(tmp_path: Path, nursery: Nursery, base: Base) -> None:
    """P5, P4: killed at any write call, an erasure has not begun or can be finished; never is there
    half a certificate."""
    for number, point in enumerate(points(base.calls, KILLS, "erase")):
        home = copied(base.home, tmp_path / f"home{number}")
        with nursery.fork() as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            with traced(pid, tmp_path / "log", [point.call], str(Fault("signal=SIGKILL", point))):
                assert nursery.told(**base.order) == "killed", point
        check_gone_or_there(base, home)


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_error_at_any_write_call_is_typed_and_passes(
    tmp_path: Path, nursery: Nursery, base: Base, error: str
) -> None:
    """P5, B4: an error of the disk at any write call is typed or was told in the certificate; the
    next attempt finishes it."""
    for number, point in enumerate(points(base.calls, ERRORS, error)):
        home = copied(base.home, tmp_path / f"home{number}")
        with nursery.fork() as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            with traced(pid, tmp_path / "log", [point.call], str(Fault(f"error={error}", point))):
                assert nursery.told(**base.order) in ("done", "store_unavailable"), point
            nursery.told(step="close")
        check_gone_or_there(base, home)
