"""What a restore or a move leaves behind when it is cut off, and how the next opening deals with
it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

import lamina
from lamina.errors import Corrupt, Refused, StoreUnavailable
from lamina.home.folder import Home
from lamina.home.locks import locked
from lamina.memory import opening
from lamina.model import hashing
from lamina.store.archive.file_changes import FileChanges
from lamina.store.engine import file_header
from lamina.store.tables.meta import ERASE_AGAIN
from lamina.store.upkeep import erase_plan, staging
from lamina.store.upkeep.candidate import Candidate
from tests.cases import every
from tests.conftest import Desk, contents, tamper
from tests.security.erasing import MARK, holding


def backed_up(desk: Desk, usb: Path) -> tuple[lamina.Operator, str]:
    """An operator, and a record that is erased here, but in a backup elsewhere."""
    operator = desk.operator()
    operator.remember("tea")
    gone = operator.remember(f"the {MARK} is here").id
    operator.backup(usb)
    operator.erase(gone)
    return operator, gone


def marked(desk: Desk, record_id: str) -> None:
    """Note in a store that a record is to be erased again, as older versions did in a restore."""
    tamper(
        desk.folder() / "memory.db",
        f"INSERT INTO meta (name, value) VALUES ('{ERASE_AGAIN}', '[\"{record_id}\"]')",
    )


def test_a_mark_without_a_certificate_erases_nothing(desk: Desk) -> None:
    """P5: whoever can write one row into the file cannot have a memory erased by it."""
    kept = desk.operator().remember("tea").id
    desk.operator().close()
    marked(desk, kept)
    agent = desk.agent()
    assert agent.get(kept).content == "tea"
    agent.close()
    assert opening.look("sky", None, desk.home).get(kept).content == "tea"


def test_opening_erases_what_an_older_version_brought_back(desk: Desk) -> None:
    """P5: a store that says that something is to be erased again does so before it is read; who may
    not write is refused."""
    operator = desk.operator()
    gone = operator.remember(f"the {MARK} is here").id
    operator.remember("tea")
    desk.agent("milton").close()
    operator.grant("milton", layer="short_term")
    operator.close()
    marked(desk, gone)
    certificate = desk.folder() / erase_plan.CERTIFICATES / "0007.json"
    certificate.parent.mkdir()
    certificate.write_bytes(
        msgspec.json.format(hashing.encode({"records": [gone]}), indent=2) + b"\n"
    )
    with pytest.raises(StoreUnavailable, match="has erased records that a restore brought back"):
        opening.look("sky", None, desk.home)
    with pytest.raises(StoreUnavailable, match="has erased records"):
        desk.agent("milton").shared("sky").list()
    agent = desk.agent()
    assert agent.get(gone).kind == "erased"
    assert contents(agent.list()) == ["tea"]
    assert opening.look("sky", None, desk.home).get(gone).kind == "erased"
    (done,) = desk.operator().resume_erasures()
    assert (done.number, done.records) == (8, [gone])


def test_opening_removes_what_a_killed_restore_has_left(desk: Desk, tmp_path: Path) -> None:
    """P5: a copy of a backup that a killed process was about to clean is gone when anybody opens
    the store, but not while somebody restores."""
    operator, _ = backed_up(desk, tmp_path / "usb")
    operator.close()
    left = desk.folder() / ".restore-x.tmp"
    shutil.copytree(tmp_path / "usb", left)
    opening.look("sky", None, desk.home).close()
    with locked(desk.folder() / staging.LOCK):
        desk.agent().close()
    assert left.exists()
    desk.agent().close()
    assert holding(desk.home, MARK) == []


def test_what_is_erased_while_a_backup_is_prepared_stays_erased(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P5: an erasure between the look at what is erased and the exchange is noticed; the copy is
    made ready anew."""
    operator = desk.operator()
    late = operator.remember(f"the {MARK} is here").id
    operator.remember("tea")
    operator.backup(tmp_path / "usb")
    remove = Candidate.remove
    calls: list[int] = []

    def meanwhile(candidate: Candidate, *given: Any) -> Any:
        calls.append(len(calls))
        if len(calls) == 1:
            desk.operator().erase(late)
        return remove(candidate, *given)

    monkeypatch.setattr(Candidate, "remove", meanwhile)
    operator.restore(tmp_path / "usb")
    assert calls == [0, 1]
    assert operator.get(late).kind == "erased"
    assert contents(operator.list()) == ["tea"]
    assert holding(desk.home, MARK) == []


def test_a_file_of_the_archive_never_takes_the_name_of_another(desk: Desk, tmp_path: Path) -> None:
    """L3, P5: an archive that is written anew without what was erased leaves the files of the
    present one as they are."""
    operator = desk.operator()
    ids = [operator.remember(f"memory {n}", tags=["old"]).id for n in range(4)]
    operator.prune(tags=["old"])
    operator.backup(tmp_path / "usb")
    operator.restore_archived(ids[0], ids[1])
    operator.erase(ids[0])
    present = {file.file for file in operator.archives()}
    operator.restore(tmp_path / "usb")
    assert {file.file for file in operator.archives()}.isdisjoint(present)
    assert sorted(contents(operator.search_archive("memory"))) == [
        "memory 1",
        "memory 2",
        "memory 3",
    ]
    assert list((desk.folder() / "archive").glob("*.replaced")) == []
    assert operator.audit_verify()["events"].ok


def test_each_erasure_has_a_certificate_of_its_own(desk: Desk, tmp_path: Path) -> None:
    """P5: what is erased again from a backup has a number that no earlier erasure had, and a file
    beside theirs."""
    operator, gone = backed_up(desk, tmp_path / "usb")
    operator.restore(tmp_path / "usb")
    assert [one.number for one in operator.erasures()] == [2]
    assert sorted(path.name for path in (desk.folder() / "erasures").iterdir()) == [
        "0001.json",
        "0002.json",
    ]
    assert operator.get(gone).kind == "erased"


def test_a_damaged_store_still_tells_what_was_erased(desk: Desk, tmp_path: Path) -> None:
    """P5: without its certificate, an erasure is known from the rows of a damaged store, as far as
    they can be read."""
    operator, gone = backed_up(desk, tmp_path / "usb")
    operator.close()
    shutil.rmtree(desk.folder() / "erasures")
    page = root_page(desk.folder() / "memory.db", "records")
    with (desk.folder() / "memory.db").open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    told = opening.restore(tmp_path / "usb", "sky", desk.home)
    assert "damage" in told
    assert desk.operator().get(gone).kind == "erased"
    assert holding(desk.folder() / "archive", MARK) == []


def root_page(path: Path, table: str) -> int:
    connection = apsw.Connection(str(path))
    found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).get
    connection.close()
    assert isinstance(found, int)
    return found


def nothing(path: Path) -> None:
    path.write_bytes(b"")


def only_a_header(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA journal_mode = DELETE")
    connection.close()


def no_table_and_a_log(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


EMPTIED = (nothing, only_a_header, no_table_and_a_log)


@every("emptied", EMPTIED)
@every("kept", ["reads.db", "archive", "backups", "erasures"])
def test_an_empty_file_is_not_a_new_memory(
    desk: Desk,
    emptied: Callable[[Path], None],
    kept: str,
) -> None:
    """B1: where anything shows that there were memories, a file without tables is refused; a backup
    replaces it, or an empty store that an operator asks for."""
    operator = desk.operator()
    operator.remember("tea", tags=["old"])
    operator.remember("coffee")
    operator.prune(tags=["old"])
    operator.erase(operator.remember("milk").id)
    usb = operator.backup(desk.home.parent / "usb")
    operator.backup()
    operator.close()
    for path in desk.folder().iterdir():
        if path.name not in ("memory.db", kept):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    emptied(desk.folder() / "memory.db")
    with pytest.raises(Corrupt, match="shows that there were memories"):
        lamina.open("sky", home=desk.home, settings={"failsafe": "off"})
    with pytest.raises(lamina.LaminaError):
        opening.look("sky", None, desk.home)
    told = opening.restore(usb, "sky", desk.home)
    assert "shows that there were memories" in told["damage"]
    with desk.operator() as restored:
        assert contents(restored.list()) == ["coffee"]
        assert restored.audit_verify()["events"].ok
    emptied(desk.folder() / "memory.db")
    assert "shows that there were memories" in opening.begin_anew("sky", desk.home)["damage"]
    assert desk.operator().list() == []


@pytest.mark.parametrize("emptied", EMPTIED)
def test_a_store_that_was_never_made_is_made(desk: Desk, emptied: Callable[[Path], None]) -> None:
    """B1: a process that died while it made a store does not keep the next one from it."""
    desk.agent().close()
    for path in desk.folder().iterdir():
        path.unlink() if path.name != "memory.db" else None
    emptied(desk.folder() / "memory.db")
    assert file_header.sign(desk.folder()) is None
    assert desk.agent().remember("tea").content == "tea"


def test_a_memory_on_its_way_is_not_taken_for_a_new_one(desk: Desk) -> None:
    """B3: while a move into the home is not finished, and no file is there yet, nobody begins a
    memory in its place."""
    folder = Home(desk.home).prepare("sky")
    (folder / staging.ARRIVING).mkdir()
    for opened in (lamina.open, opening.look):
        with pytest.raises(Refused, match="a move of sky into this place is not finished"):
            opened("sky", home=desk.home)
    assert not (folder / "memory.db").exists()
    (folder / staging.ARRIVING).rmdir()
    assert desk.agent().list() == []


def test_a_decided_exchange_is_finished_before_anybody_reads(desk: Desk, tmp_path: Path) -> None:
    """B1, P5: once there is a plan the new files are valid: who may not write is refused, who may
    finds them in place."""
    operator, _ = backed_up(desk, tmp_path / "usb")
    operator.close()
    with desk.operator("other") as other:
        other.remember("never asked for")
    place = desk.folder() / ".restore-x.tmp"
    (place / "archive").mkdir(parents=True)
    (place / "archive" / "new.jsonl").write_text("line\n")
    shutil.copyfile(desk.folder() / "memory.db", place / "memory.db")
    (desk.folder() / "memory.db").write_bytes(b"damaged")
    (place / staging.PLAN).write_bytes(hashing.encode(staging.Plan("now")))
    with pytest.raises(StoreUnavailable, match="a killed process was about to replace it"):
        opening.look("sky", None, desk.home)
    assert contents(desk.agent().list()) == ["tea"]
    assert (desk.folder() / "damaged" / "now" / "memory.db").read_bytes() == b"damaged"
    assert (desk.folder() / "archive" / "new.jsonl").read_text() == "line\n"
    assert not place.exists()


PLANS = (b"{", b'{"aside":"../../elsewhere"}', b'{"obsolete":["../../x.jsonl"]}')


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_leads_nowhere_else(desk: Desk, plan: bytes) -> None:
    """B7: a plan that is damaged, or names a place outside of the agent's folder, is refused and
    nothing is moved."""
    desk.agent().close()
    place = desk.folder() / ".restore-x.tmp"
    place.mkdir()
    (place / "memory.db").write_bytes(b"")
    (place / staging.PLAN).write_bytes(plan)
    before = sorted(path for path in desk.home.rglob("*") if path.name != staging.LOCK)
    with pytest.raises(Corrupt, match=r"exchange\.json|not the name of an archive"):
        lamina.open("sky", home=desk.home, settings={"failsafe": "off"})
    assert sorted(path for path in desk.home.rglob("*") if path.name != staging.LOCK) == before


def test_what_could_not_be_written_whole_replaces_nothing(desk: Desk) -> None:
    """B1: a database whose log could not be folded into it stays where it is; the old
    one is used."""
    desk.agent().remember("tea")
    place = desk.folder() / ".restore-x.tmp"
    place.mkdir()
    shutil.copyfile(desk.folder() / "memory.db", place / "memory.db")
    (place / "memory.db-wal").write_bytes(b"the last pages")
    with pytest.raises(StoreUnavailable, match="could not be written whole"):
        staging.exchange(place, staging.Plan())
    assert contents(desk.agent().list()) == ["tea"]


def test_a_file_that_could_not_be_tidied_away_is_not_put_in_place(
    desk: Desk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """P5: when tidying fails silently, the old file of the archive with the erased line is not
    restored."""
    operator = desk.operator()
    gone = operator.remember(f"the {MARK} was there", tags=["old"]).id
    operator.remember("tea", tags=["old"])
    operator.prune(tags=["old"])
    operator.backup(tmp_path / "usb")
    operator.erase(gone)
    monkeypatch.setattr(FileChanges, "tidy", lambda filing: None)
    operator.restore(tmp_path / "usb")
    assert holding(desk.folder() / "archive", MARK) == []
    assert contents(operator.search_archive("tea")) == ["tea"]
