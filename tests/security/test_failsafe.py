"""The fail-safe against whoever can write a file: no line and nothing in its place gets further
than the rules let it."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lamina import InvalidInput, NotFound, Operator, StoreUnavailable
from lamina.failsafe.line import CHECKSUM
from lamina.failsafe.spool import LONG, REJECTED, REPLAYING, SHORT, WRITING, Spool
from lamina.home import operator_key
from lamina.home.http_client import address
from lamina.home.locks import locked
from lamina.model.clock import agent_tag
from lamina.model.record import Actor, Role, State, Trust
from lamina.store.upkeep.erase_plan import ErasureRequest
from tests.conftest import START, Desk, contents
from tests.unit.failsafe.outages import AWAY, folder_of, item, keep, outage, waiting

KEY = "a key that is long"
GIVEN: dict[str, Any] = {
    "record_type": "memory_item",
    "id": "0" * 10 + agent_tag("sky") + "0" * 12,
    "at": "2026-05-01T08:00:00Z",
    "order": 0,
    "batch": "0" * 16,
    "part": 1,
    "of": 1,
    "action": "remember",
    "actor": {"role": "agent", "name": "sky", "surface": "python"},
}


def write(desk: Desk, payload: dict[str, Any], **more: Any) -> None:
    """A line that anybody could write, with a right checksum."""
    said = {"content": "forged", "trust": "agent", **payload}
    body = msgspec.json.encode({**GIVEN, **more, "payload": said})
    folder_of(desk).mkdir(mode=0o700, exist_ok=True)
    ending = CHECKSUM + hashlib.sha256(body).hexdigest().encode() + b'"}\n'
    (folder_of(desk) / SHORT).write_bytes(body[:-1] + ending)


@pytest.mark.parametrize(
    "more",
    [
        {"id": "x"},
        {"id": "../../../etc/passwd"},
        {"id": "0" * 26},
        {"at": "2026-05-01T08:00:00"},
        {"at": "0001-01-01T00:00:00+14:00"},
        {"at": "9999-12-31T23:59:59Z"},
        {"order": 1 << 63},
        {"batch": "words that the trail would keep"},
        {"action": "words that the trail would keep"},
        {"actor": {"role": "agent", "name": "n" * 10_000, "surface": "python"}},
        {"record_type": "something else"},
        {"unless": {"event": 1 << 63, "hash": ""}},
        {"payload": {"occurred_at": "2026-05-01T08:00:00"}},
        {"payload": {"user": " \0 "}},
        {
            "payload": {
                "layer": "profile",
                "metadata": {"profile_key": "k", "value": 1, "reason": "r"},
            }
        },
    ],
)
def test_no_line_says_what_it_may_not(desk: Desk, more: dict[str, Any]) -> None:
    """B4, P2, P4: a line with a right checksum and anything else wrong is neither shown nor stored,
    and stops nobody."""
    desk.agent().remember("first")
    write(desk, **{"payload": {}, **more})
    reading = desk.agent(replay=False)
    assert contents(reading.list(states=None)) == ["first"]
    assert reading.status()["problems"]
    opened = desk.agent()
    assert opened.remember("second").stored_in == "store"
    assert contents(opened.list(states=None)) == ["second", "first"]
    assert opened.failsafe_status()["rejected"] == 1


def test_waiting_lines_raise_no_trust(desk: Desk) -> None:
    """V6, B4: what an agent's line claims is not believed while it waits either."""
    desk.agent()
    write(desk, {"trust": "operator"})
    assert desk.agent(replay=False).get(GIVEN["id"]).trust is Trust.AGENT


def test_a_key_is_not_gone_around(desk: Desk) -> None:
    """V6, B4, P4: in a home with an operator key no line acts as an operator: it waits for a
    person, and so it is told."""
    op = desk.operator()
    operator_key.change(desk.home, KEY)
    told = {"role": "operator", "name": "root", "surface": "cli"}
    write(
        desk,
        {"trust": "operator", "layer": "semantic", "metadata": {"origin": "x", "topic_tags": []}},
        actor=told,
    )
    assert contents(desk.agent(replay=False).list()) == []
    assert contents(desk.agent().list()) == []
    record = op.get(GIVEN["id"])
    assert (record.state, record.trust, record.stored_in) == (
        State.CONSTRAINED,
        Trust.AGENT,
        "store",
    )
    assert "operator key" in record.metadata["failsafe"]["reason"]
    assert [event.actor for event in op.history(record.id)] == ["system:failsafe"]


def test_an_operator_without_a_key_is_believed(desk: Desk) -> None:
    """V6, B4: where operators need no key, what one has remembered without the store is as it would
    have been."""
    op = desk.operator(settings=AWAY)
    with outage(desk.home):
        kept = op.remember("mine")
    op.replay_failsafe()
    assert (op.get(kept.id).trust, op.get(kept.id).state) == (Trust.OPERATOR, State.ACTIVE)


PLACES: dict[str, Callable[[Path, Path], object]] = {
    "a pipe": lambda path, _: os.mkfifo(path),
    "a folder": lambda path, _: path.mkdir(),
    "a link": lambda path, other: path.symlink_to(other),
    "a link to nowhere": lambda path, other: path.symlink_to(other / "nothing"),
}


@pytest.mark.parametrize("name", [SHORT, LONG, REJECTED])
@pytest.mark.parametrize("make", PLACES.values(), ids=PLACES.keys())
def test_what_is_no_file_keeps_nobody_waiting(
    desk: Desk, tmp_path: Path, name: str, make: Callable[..., object]
) -> None:
    """B4, P2: something else in the place of a file of the fail-safe is told; the store goes on,
    and nothing hangs."""
    mem = desk.agent(settings=AWAY)
    folder_of(desk).mkdir(mode=0o700)
    other = tmp_path / "other"
    other.write_bytes(b"not ours\n")
    make(folder_of(desk) / name, other)
    assert mem.remember("stored").stored_in == "store"
    with outage(desk.home):
        try:
            mem.remember("kept", layer="episodic" if name == LONG else "short_term")
        except StoreUnavailable as error:
            assert "fail-safe cannot be used" in error.message  # noqa: PT017 - it may also be kept
    assert mem.remember("again").stored_in == "store"
    assert {"stored", "again"} <= set(contents(mem.list()))
    assert any(
        name in problem and "move it away" in problem for problem in mem.status()["problems"]
    )
    assert other.read_bytes() == b"not ours\n"


def test_locks_that_are_pipes_keep_nobody_waiting(desk: Desk) -> None:
    """B4: a pipe in the place of a lock is waited for by nobody."""
    mem = desk.agent(settings=AWAY)
    folder_of(desk).mkdir(mode=0o700)
    for name in (WRITING, REPLAYING):
        os.mkfifo(folder_of(desk) / name)
    with outage(desk.home):
        mem.remember("kept")
    assert contents(mem.list()) == ["kept"]
    assert mem.replay_failsafe()["stored"] == 1


def test_another_agents_lines_are_not_seen(desk: Desk) -> None:
    """P2: neither a link to the fail-safe of another agent nor a copy of its lines shows or stores
    what it remembered."""
    mem, bob = desk.agent(settings=AWAY), desk.agent("bob", settings=AWAY)
    with outage(desk.home, "bob"):
        bob.remember("what bob knows")
    folder_of(desk).symlink_to(desk.folder("bob") / "failsafe")
    assert contents(mem.list(states=None)) == []
    assert mem.remember("mine").stored_in == "store"
    assert any("move it away" in problem for problem in mem.status()["problems"])
    folder_of(desk).unlink()
    shutil.copytree(desk.folder("bob") / "failsafe", folder_of(desk))
    assert contents(mem.list(states=None)) == ["mine"]
    assert mem.replay_failsafe()["rejected"] == 1
    assert contents(mem.list(states=None)) == ["mine"]


def test_another_users_waiting_memory_is_out_of_reach(desk: Desk) -> None:
    """P2: what waits for another user looks as if it were not there, and whoever asks for it is
    written down."""
    ana, ben = desk.agent(user="ana", settings=AWAY), desk.agent(user="ben", settings=AWAY)
    with outage(desk.home):
        kept = ana.remember("what Ana said")
        with pytest.raises(NotFound, match="there is no record"):
            ben.get(kept.id)
        assert contents(ben.list(states=None)) == []
    assert sum("another user" in line for line in desk.violations()) == 1


def test_a_file_with_the_number_of_another_is_read_anew(tmp_path: Path) -> None:
    """B4: a file that has got the number of one that is gone loses no line, whoever has read the
    first one."""
    watching, writing = Spool(tmp_path), Spool(tmp_path)
    keep(writing, item(1))
    assert waiting(watching) == ["memory 1"]
    length = (tmp_path / SHORT).stat().st_size
    with (tmp_path / SHORT).open(
        "r+b"
    ) as file:  # as a new file would have it that gets the same number
        file.truncate(0)
    keep(writing, item(2), item(3))
    assert (tmp_path / SHORT).stat().st_size > length
    assert waiting(watching) == ["memory 2", "memory 3"]


def test_a_forked_child_holds_no_lock(tmp_path: Path) -> None:
    """B4: a child that was forked while somebody wrote does not keep everybody
    else from writing."""
    ready, done = os.pipe()
    with locked(tmp_path / WRITING):
        child = os.fork()
        if not child:  # it has the file of the lock open, and lives on
            os.close(done)
            os.read(ready, 1)
            os._exit(0)
    try:
        with locked(tmp_path / WRITING, patience=0):
            pass
    finally:
        os.close(done)
        os.close(ready)
        os.waitpid(child, 0)


def test_what_cannot_be_read_back_is_not_told_to_be_kept(tmp_path: Path) -> None:
    """B4: a line that its reader would not take is an error when it is written,
    and leaves nothing."""
    spool = Spool(tmp_path)
    with pytest.raises(StoreUnavailable, match="cannot be kept"):
        spool.keep([item(1)], START, "remember", Actor(Role.AGENT, "n" * 1000, "test"))
    assert not spool.is_waiting()


def test_nothing_is_replayed_while_it_is_erased(
    desk: Desk, op: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P5, B4: who erases waits for a replay, and a replay for who erases: nothing that is erased
    comes in between."""
    kept = op.remember("to be erased")
    spool = Spool(folder_of(desk))
    monkeypatch.setattr("lamina.failsafe.spool.QUIET", 0.0)
    with spool.replaying() as is_alone:
        assert is_alone
        with pytest.raises(StoreUnavailable, match="replaying the fail-safe"):
            op.erase(kept.id)
        assert op.get(kept.id).content == "to be erased"
    assert op.erase(kept.id).records == [kept.id]


def test_an_unfinished_erasure_comes_first(desk: Desk) -> None:
    """P5, B4: what waits is not stored while an erasure is unfinished; new memories are, and what
    is to go never comes back."""
    op, ana = desk.operator(settings=AWAY), desk.agent(user="ana", settings=AWAY)
    ana.remember("stored of Ana")
    with outage(desk.home):
        ana.remember("waiting of Ana")
        desk.agent(settings=AWAY).remember("of nobody")
    op._parts.erasures.begin(ErasureRequest(user="ana"))  # and whoever began it dies
    again = desk.agent(settings=AWAY)
    assert any("erase --resume" in problem for problem in again.status()["problems"])
    assert again.outage is None
    assert again.remember("new").stored_in == "store"
    assert again.failsafe_status()["waiting"] == 2
    op.resume_erasures()
    assert op.replay_failsafe()["stored"] == 1
    assert set(contents(op.list(states=None))) == {"of nobody", "new"}


@pytest.mark.parametrize(
    "given",
    ["http://u:secret@h:99999", "http://[u:secret@h", "http://u:secret@h", "ftp://u:secret@h"],
)
def test_no_address_shows_its_password(given: str) -> None:
    """P6: an address with a user or password is refused without being repeated, whatever else is
    wrong with it."""
    with pytest.raises(InvalidInput) as refused:
        address(given, "mirrors.chroma", "such as http://localhost:8000")
    assert "secret" not in refused.value.message
