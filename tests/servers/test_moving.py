"""Memories that move to PostgreSQL and back: nothing is lost, nothing is in two places, whatever
interrupts them."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

import lamina
from lamina import Operator
from lamina.errors import Conflict, Corrupt, InvalidInput, Refused
from lamina.home.folder import Home
from lamina.memory import doctor, erasure, migrate
from lamina.store.engine.postgres.database import Session
from lamina.store.engine.sql import Connection
from lamina.store.upkeep import migrate as copying
from lamina.store.upkeep import transfer
from lamina.store.upkeep.transfer import Transfer
from lamina.surfaces.cli.main import cli
from tests.conftest import CONTRACTS, FULL, Desk, contents, tamper, verified
from tests.contract.keeping import lived
from tests.servers.everywhere import Copied
from tests.servers.processes import free_port

ROOT = Path(__file__).parents[2]
LATER = datetime(
    2027, 1, 1, tzinfo=UTC
)  # scores fall a little with every moment, so that it stands still
NUMBER = 50_000 if FULL else 400
ROUNDS = 12 if FULL else 4
STEPS = (30, 300, NUMBER)  # a kill comes early, on the way, or when the rows are compared


def grown(home: Path, number: int) -> None:
    """A memory with something of everything, and many records of every layer and state."""
    chance = random.Random(number)
    layers = [layer for layer in CONTRACTS if layer not in ("profile", "world")]
    with Desk(home) as desk:
        op = lived(desk)
        ana = desk.operator(user="ana")
        for start in range(0, number, 5000):
            some = range(start, min(number, start + 5000))
            made = (op, ana)[start // 5000 % 2].remember_many(
                {
                    "content": f"memory {n} of the {chance.choice(['boiler', 'garden', 'train'])} 猫 {chance.random()}",
                    "layer": (layer := chance.choice(layers)),
                    "metadata": {
                        **CONTRACTS[layer],
                        "n": n % 7,
                        "city": chance.choice(["Porto", "Köln"]),
                    },
                    "tags": chance.sample(["a", "b", "c", "old" if n % 9 == 0 else "new"], 2),
                    "importance": chance.random(),
                    "confidence": chance.random(),
                    "session": f"s{n // 20}",
                    "key": f"key {n}",
                    "at": chance.randrange(1, 1_700_000_000),
                }
                for n in some
            )
            for record in chance.sample(made, 8):
                op.forget(record.id, f"number {record.seq}")
            op.correct(made[3].id, "it was otherwise", "so it is") if made[
                3
            ].layer == "semantic" else None
            op.prune(tags=["old"])
            op.erase(*(record.id for record in chance.sample(made[100:], 3)))
        op.index()


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home to copy."""
    home = tmp_path_factory.mktemp("pattern") / "home"
    grown(home, NUMBER)
    return home


@pytest.fixture
def home(pattern: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pattern, tmp_path / "home"))


@pytest.fixture
def url(quick_postgres: Copied) -> Iterator[str]:
    name = quick_postgres.copy()
    yield quick_postgres.url(name)
    quick_postgres.drop(name)


def opened(home: Path, url: str = "") -> Operator:
    return lamina.operator(
        "sky", home=home, clock=lambda: LATER, settings={"store.url": url, "failsafe": "off"}
    )


def exported(home: Path, url: str = "") -> bytes:
    """Everything that is there, after it was checked."""
    with opened(home, url) as op:
        assert verified(op)
        target = op.export(home.parent / "export.json", force=True)
    body = target.read_bytes()
    target.unlink()
    return body


def back(home: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("LAMINA_STORE_URL", url)
        migrate.move(Home(home), "sky", "file")


def test_there_and_back(home: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """B3, H5: everything arrives, in every layer and state, with archive, stubs, grants and notes;
    to the byte, both ways."""
    before = exported(home)
    with opened(home) as op:
        head, found = (
            op.audit_head()["events"],
            [(hit.record.id, hit.score) for hit in op.search("boiler in Porto", 20)],
        )
    told = migrate.move(Home(home), "sky", url)
    assert (told["events"], told["archived"] > 0) == (head["seq"], True)
    assert exported(home, url) == before
    with opened(home, url) as op:
        assert op.audit_head()["events"] == head
        assert [(hit.record.id, hit.score) for hit in op.search("boiler in Porto", 20)] == found
        assert op.index() == 0  # vectors have moved, too
    back(home, url, monkeypatch)
    assert exported(home) == before
    with opened(home) as op:
        assert [(hit.record.id, hit.score) for hit in op.search("boiler in Porto", 20)] == found


def test_life_goes_on_in_the_new_place(
    home: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3: what happens on the server comes back with the rest; files of the archive that changed
    there, too."""
    migrate.move(Home(home), "sky", url)
    with opened(home, url) as op:
        op.remember("said on the server", key="new", tags=["old"])
        archived = op.search_archive("memory", limit=6)
        op.erase(archived[0].id)
        op.restore_archived(archived[1].id)
        op.prune(tags=["old"])
        op.forget(op.list(limit=1)[0].id, "no")
        before = op.export(home.parent / "before.json").read_bytes()
    back(home, url, monkeypatch)
    assert exported(home) == before
    with opened(home) as op:
        assert op.get(archived[0].id).kind == "erased"
        assert op.get(archived[1].id).content == archived[1].content
        assert op.remember("said on the server", key="new").content == "said on the server"


@pytest.mark.parametrize("direction", ["there", "back"])
def test_a_move_that_is_killed_goes_on(
    home: Path, url: str, monkeypatch: pytest.MonkeyPatch, direction: str, tmp_path: Path
) -> None:
    """B3: killed after any step, again and again, nothing is switched; run again it ends complete
    and the same."""
    before = exported(home)
    if direction == "back":
        migrate.move(Home(home), "sky", url)
    chance = random.Random(20261116)
    here, to = ("", url) if direction == "there" else (url, "file")
    for number in range(ROUNDS):
        steps = chance.randrange(1, chance.choice(STEPS)) if number else 1
        if killed(home, to, here, steps):
            with opened(home, here) as op:  # still in use where it was
                assert op.audit_verify()["events"].ok
            refusal = {"there": "not finished", "back": "was moved to postgresql://"}[direction]
            with pytest.raises(Refused, match=refusal):
                opened(home, url if direction == "there" else "")
        else:
            break
    killed(home, to, here, 0)
    assert exported(home, url if direction == "there" else "") == before
    with pytest.raises(Refused, match="was moved to"):
        opened(home, here)


def killed(home: Path, to: str, here: str, steps: int) -> bool:
    """Move in a process that dies after some steps, if it has so many; whether it died."""
    environment = {**os.environ, "LAMINA_STORE_URL": here}
    command = [sys.executable, "-m", "tests.servers.mover", str(home), to, str(steps)]
    ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.returncode != 0


@pytest.mark.parametrize("direction", ["there", "back"])
def test_a_memory_that_changed_meanwhile_is_moved_anew(
    home: Path, url: str, monkeypatch: pytest.MonkeyPatch, direction: str
) -> None:
    """B3: after a crash the memory lives on where it was; the next try brings over what it is then,
    and nothing of before."""
    if direction == "back":
        migrate.move(Home(home), "sky", url)
    here, to = ("", url) if direction == "there" else (url, "file")
    assert killed(home, to, here, 12)
    with opened(home, here) as op:
        op.forget(op.list(limit=1)[0].id, "no")
        op.prune(layers=["short_term"], importance_below=0.3)
        op.erase(op.search_archive("memory", limit=1)[0].id)
        op.remember("later")
        before = op.export(home.parent / "before.json").read_bytes()
    assert not killed(home, to, here, 0)
    assert exported(home, url if direction == "there" else "") == before


@pytest.mark.parametrize("direction", ["there", "back"])
def test_what_changes_without_an_event_is_moved_anew(
    home: Path, url: str, monkeypatch: pytest.MonkeyPatch, direction: str
) -> None:
    """B3: jobs are run and vectors made after a move was cut off; the next one brings over those,
    not what was there before."""
    here = "" if direction == "there" else url
    if here:
        migrate.move(Home(home), "sky", url)

    def move() -> None:
        back(home, url, monkeypatch) if here else migrate.move(Home(home), "sky", url)

    with monkeypatch.context() as patch:
        patch.setattr(copying, "_check", interrupted)
        with pytest.raises(KeyboardInterrupt):
            move()
    with opened(home, here) as op, op._scope.store.database.atomic() as transaction:
        transaction.cursor.execute("DELETE FROM vectors WHERE record < 20")
    before = exported(home, here)
    move()
    assert exported(home, "" if here else url) == before


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_copy_that_is_not_the_same_is_made_anew(
    home: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3: what arrived as something else is not believed, and nobody is stuck with it: the next try
    begins anew."""
    before = exported(home)
    with monkeypatch.context() as patch:
        patch.setattr(copying, "_check", interrupted)
        with pytest.raises(KeyboardInterrupt):
            migrate.move(Home(home), "sky", url)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE lamina.records SET importance = 0.123 WHERE seq = 7")
    with pytest.raises(Corrupt, match="a row of records arrived as something else: seq 7"):
        migrate.move(Home(home), "sky", url)
    migrate.move(Home(home), "sky", url)
    assert exported(home, url) == before


def test_the_server_waits_for_a_long_move(
    home: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3, H5: however long it takes to write, index and compare a file, the server does not cut off
    who moves or restores."""
    limits: list[str] = []
    copy, compare = Transfer.copy, Transfer.compare

    def note(connection: Connection) -> None:
        if isinstance(connection, Session):
            limits.append(connection.execute("SHOW idle_in_transaction_session_timeout").get)

    def noted_copy(work: Transfer, target: Connection, folder: Path) -> None:
        note(target)
        copy(work, target, folder)

    def noted_compare(work: Transfer, target: Connection, folder: Path) -> None:
        note(work._source)
        compare(work, target, folder)

    migrate.move(Home(home), "sky", url)
    monkeypatch.setattr(Transfer, "copy", noted_copy)
    monkeypatch.setattr(Transfer, "compare", noted_compare)
    with opened(home, url) as op:
        op.restore(op.backup())
    back(home, url, monkeypatch)
    assert limits == ["0", "0"]


def test_a_crash_at_the_very_end(home: Path, url: str) -> None:
    """B3: all has arrived and the old place was not told: it goes on there, and the next move ends
    what was begun."""
    migrate.move(Home(home), "sky", url)
    tamper(home / "agents" / "sky" / "memory.db", "DELETE FROM meta WHERE name = 'moved'")
    assert migrate.move(Home(home), "sky", url)["records"]
    tamper(home / "agents" / "sky" / "memory.db", "DELETE FROM meta WHERE name = 'moved'")
    with opened(home) as op:
        op.remember("later")
    before = exported(home)
    migrate.move(Home(home), "sky", url)
    assert exported(home, url) == before


def test_a_place_that_is_taken_stays_as_it_is(home: Path, url: str, tmp_path: Path) -> None:
    """B3: another memory of the same agent, or one that has lived on, is never written over."""
    with lamina.operator("sky", home=tmp_path / "other", settings={"store.url": url}) as other:
        other.remember("of somebody else")
    with pytest.raises(Conflict, match="holds another memory of sky"):
        migrate.move(Home(home), "sky", url)
    with lamina.operator("sky", home=tmp_path / "other", settings={"store.url": url}) as other:
        assert contents(other.list()) == ["of somebody else"]
        assert verified(other)
    assert exported(home)


def test_a_copy_that_lived_on_is_not_replaced(home: Path, url: str) -> None:
    """B3: when both places were written to, neither is thrown away."""
    migrate.move(Home(home), "sky", url)
    tamper(home / "agents" / "sky" / "memory.db", "DELETE FROM meta WHERE name = 'moved'")
    for place, text in (("", "in the file"), (url, "on the server")):
        with opened(home, place) as op:
            op.remember(text)
    with pytest.raises(Conflict, match="in use"):
        migrate.move(Home(home), "sky", url)
    with opened(home, url) as op:
        assert contents(op.list(limit=1)) == ["on the server"]


def test_the_old_place_says_where_to(home: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """B3: what was left behind refuses to be used, and names the new place without its password; so
    does the doctor."""
    migrate.move(Home(home), "sky", url)
    with pytest.raises(Refused) as error:
        lamina.open("sky", home=home)
    place = url.rpartition("@")[2]
    password = url.split(":")[2].partition("@")[0]
    assert f"was moved to postgresql://{place}; set store.url" in error.value.message
    assert password not in error.value.message
    assert password.encode() not in (home / "agents" / "sky" / "memory.db").read_bytes()
    assert error.value.message in [
        found.message for found in doctor.examine(Home(home), "sky") if found.level == "fail"
    ]
    back(home, url, monkeypatch)
    with pytest.raises(Refused, match="out of the settings"):
        opened(home, url)


def test_who_has_it_open_is_told(home: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """B3: a handle from before the move, there or back, writes nothing into a place that nobody
    looks into any more."""
    with opened(home) as op:
        migrate.move(Home(home), "sky", url)
        with pytest.raises(Refused, match="was moved to postgresql://"):
            op.remember("too late")
    before = exported(home, url)
    with opened(home, url) as op:
        back(home, url, monkeypatch)
        with pytest.raises(Refused, match="out of the settings"):
            op.remember("too late")
    assert exported(home) == before


def test_what_waits_in_the_fail_safe_goes_along(home: Path, url: str) -> None:
    """B4, B3: a handle from before the move does not lay it aside as if it were bad; it is replayed
    in the new place."""
    away = {"store.url": f"postgresql://lamina@127.0.0.1:{free_port()}/x"}
    with opened(home) as op:
        with lamina.open("sky", home=home, settings=away) as mem:
            kept = mem.remember("while nobody was there")
        assert kept.stored_in == "failsafe"
        migrate.move(Home(home), "sky", url)
        with pytest.raises(Refused, match="was moved to"):
            op.replay_failsafe()
    with opened(home, url) as op:
        assert op.get(kept.id).content == "while nobody was there"
        assert op.failsafe_status()["rejected"] == 0


def test_what_was_left_behind_is_a_backup(
    home: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H5, B3: when the memory comes home, the old file and its archive are a backup like any other,
    and can be restored."""
    before = exported(home)
    migrate.move(Home(home), "sky", url)
    with opened(home, url) as op:
        op.remember("said on the server")
        for _ in range(3):
            op.restore_archived(op.search_archive("memory", limit=1)[0].id)
    back(home, url, monkeypatch)
    (kept,) = (home / "agents" / "sky" / "backups").glob("*-moved")
    with opened(home) as op:
        op.restore(kept)
        assert "said on the server" not in contents(op.list(limit=5))
        assert verified(op)
        op.export(home.parent / "after.json")
    records = before[before.index(b'"records":[') :]
    assert records in (home.parent / "after.json").read_bytes()


def test_what_was_left_behind_can_be_emptied(
    home: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P5, B3: nothing of the copy in the home remains but where the memory went, and that
    is still said."""
    migrate.move(Home(home), "sky", url)
    with opened(home, url) as op:
        texts = [
            op.search_archive("memory", limit=1)[0].content.encode(),
            op.list(limit=1)[0].content.encode(),
        ]
        assert len(copying.hollow(op._scope.store, LATER)) > 1
        assert copying.hollow(op._scope.store, LATER) == [home / "agents" / "sky" / "memory.db"]
    left = [
        path
        for path in home.rglob("*")
        if path.is_file() and any(text in path.read_bytes() for text in texts)
    ]
    assert left == []
    with pytest.raises(Refused, match="was moved to"):
        opened(home)
    before = exported(home, url)
    back(home, url, monkeypatch)
    assert exported(home) == before


def test_an_erasure_reaches_what_was_left_behind(home: Path, url: str) -> None:
    """P5: what is erased on the server is gone from the files that the memory has left, which still
    say where it went."""
    migrate.move(Home(home), "sky", url)
    with opened(home, url) as op:
        archived = op.search_archive("memory", limit=1)[0]
        words = archived.content.rpartition(" ")[2].encode()  # a number that nothing else has
        op.erase(archived.id, op.list(limit=1)[0].id)
    left = [path for path in home.rglob("*") if path.is_file() and words in path.read_bytes()]
    assert left == []
    with pytest.raises(Refused, match="was moved to"):
        opened(home)


def test_a_copy_that_was_left_on_a_server_is_told(
    home: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P5: a certificate names every server that the memory has been on and left, since nobody
    cleans there."""
    migrate.move(Home(home), "sky", url)
    with opened(home, url) as op:
        certificate = op.erase(op.list(limit=1)[0].id)
        assert erasure.LEFT_THERE not in [one["why"] for one in certificate.unreached]
    back(home, url, monkeypatch)
    with opened(home) as op:
        certificate = op.erase(op.list(limit=1)[0].id)
    place = f"postgresql://{url.rpartition('@')[2]}"
    assert {"place": place, "why": erasure.LEFT_THERE} in certificate.unreached
    assert not certificate.is_complete


def test_a_memory_of_its_own_is_not_emptied(
    home: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P5, B3: a file that was never moved is no copy: an erasure on a server leaves it and says so,
    as the doctor does."""
    before = exported(home)
    with opened(home) as op:
        text = op.list(limit=1)[0].content
    with opened(tmp_path / "first", url) as other:
        other.remember("of the server's own")
    with opened(home, url) as op:
        certificate = op.erase(op.remember(text).id)
        assert {
            "place": "agents/sky/memory.db",
            "why": erasure.ANOTHER_MEMORY,
        } in certificate.unreached
    monkeypatch.setenv("LAMINA_STORE_URL", url)
    told = [
        finding
        for finding in doctor.examine(Home(home), "sky")
        if "is another memory" in finding.message
    ]
    monkeypatch.delenv("LAMINA_STORE_URL")
    assert [finding.level for finding in told] == ["warn"]
    assert exported(home) == before


def test_a_neighbour_is_not_disturbed(home: Path, url: str, tmp_path: Path) -> None:
    """P2, B3: an agent that arrives, and arrives anew, leaves the others in that database alone."""
    with lamina.operator("milton", home=tmp_path / "other", settings={"store.url": url}) as milton:
        record = milton.remember("of milton", tags=["old"])
        milton.prune(tags=["old"])
        assert killed(home, url, "", 12)
        with opened(home) as op:
            op.remember("later")
        migrate.move(Home(home), "sky", url)
        assert milton.get(record.id).content == "of milton"
        assert verified(milton)


def test_what_cannot_be_a_move(home: Path, url: str) -> None:
    """B3: to where it is already, or to no address at all; and nothing is told of a password."""
    for to, message in (
        ("file", "already"),
        ("mysql://sky:hidden@x/y", "'mysql'"),
        ("", "neither"),
        ("postgresql://u:hid%den@h", "%25"),
    ):
        with pytest.raises(InvalidInput, match=message) as error:
            migrate.move(Home(home), "sky", to)
        assert "hid" not in error.value.message
    assert exported(home)
    migrate.move(Home(home), "sky", url)
    with pytest.raises(Refused, match="was moved"):
        migrate.move(Home(home), "sky", url)


def test_the_command(home: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """H4, B3: `lamina migrate` moves every agent of a home, shows what was moved, and says what is
    left to do."""
    monkeypatch.setenv("LAMINA_HOME", str(home))
    run = CliRunner().invoke(cli, ["migrate", "--to", url, "--all-agents"])
    assert run.exit_code == 0, run.output
    assert {"milton", "sky"} <= set(run.output.split())
    assert "LAMINA_STORE_URL" in run.output
    assert url.split(":")[2].partition("@")[0] not in run.output
    monkeypatch.setenv("LAMINA_STORE_URL", url)
    run = CliRunner().invoke(cli, ["--json", "migrate", "--to", "file", "--all-agents"])
    assert run.exit_code == 0, run.output
    assert '"to":' in run.output


def test_the_command_goes_on_with_the_others(
    home: Path, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """H4, B3: of several agents one cannot move; those that have are shown, and are left out when
    it is run again."""
    with lamina.operator("sky", home=tmp_path / "other", settings={"store.url": url}) as other:
        other.remember("of somebody else")
    monkeypatch.setenv("LAMINA_HOME", str(home))
    runs = []
    for _ in range(2):
        run = CliRunner().invoke(cli, ["migrate", "--to", url, "--all-agents"])
        runs.append("milton" in run.output.split())
        assert isinstance(run.exception, Conflict)
        assert "another memory of sky" in run.exception.message
    assert runs == [True, False]


def test_two_who_move_it_do_so_once(
    home: Path, url: str, quick_postgres: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3: who has waited while somebody else moved the memory does not move what was left behind to
    yet another place."""
    other = quick_postgres.url(quick_postgres.copy())
    begin = copying._opened

    def late(*given: Any) -> Any:
        monkeypatch.undo()
        migrate.move(Home(home), "sky", url)
        return begin(*given)

    monkeypatch.setattr(copying, "_opened", late)
    with pytest.raises(Refused, match="was moved to"):
        migrate.move(Home(home), "sky", other)
    with opened(home, url) as op:
        assert op.list(limit=1)


def test_pages_are_small_enough(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B3: a memory of some pages goes over in several pieces, so that a crash costs one of them."""
    monkeypatch.setattr(transfer, "PAGE", min(transfer.PAGE, NUMBER // 4))
    with opened(home) as op:
        reader = op._scope.store.database.reader()
        assert sum(1 for _ in transfer.TABLES[6].pages(reader)) > 1


def test_a_setting_that_came_before_the_move_hides_nothing(
    tmp_path: Path, quick_postgres: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3: with store.url set and the memory still in its file, nobody is shown an empty one; the
    move still goes on."""
    name = quick_postgres.copy()
    with lamina.open("sky", home=tmp_path) as memory:
        memory.remember("tea")
    monkeypatch.setenv("LAMINA_STORE_URL", quick_postgres.url(name))
    with pytest.raises(Refused, match=r"still in .*memory\.db.*lamina migrate"):
        lamina.open("sky", home=tmp_path)
    assert migrate.move(Home(tmp_path), "sky", quick_postgres.url(name))["records"] == 1
    with lamina.open("sky", home=tmp_path) as memory:
        assert contents(memory.list()) == ["tea"]
    quick_postgres.drop(name)


def test_who_only_looked_is_in_nobodys_way(tmp_path: Path, quick_postgres: Copied) -> None:
    """B3: an agent that was asked for on the server, and has nothing there, does not keep its
    memory from moving in."""
    name = quick_postgres.copy()
    url = quick_postgres.url(name)
    with lamina.open("sky", home=tmp_path / "other", settings={"store.url": url}) as memory:
        assert memory.list() == []
    with lamina.open("sky", home=tmp_path / "home") as memory:
        memory.remember("tea")
    assert migrate.move(Home(tmp_path / "home"), "sky", url)["records"] == 1
    with lamina.operator("sky", home=tmp_path / "other", settings={"store.url": url}) as operator:
        assert contents(operator.list()) == ["tea"]
        assert verified(operator)
    quick_postgres.drop(name)
