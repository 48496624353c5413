"""The fail-safe: what its files hold, what they survive, and what a handle does while its
store is away."""

from __future__ import annotations

import json
import os
import resource
import stat
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Conflict, Corrupt, InvalidInput, Memory, NotFound, Refused, StoreUnavailable
from lamina.failsafe.line import Item, Line, decoded, encoded
from lamina.failsafe.spool import LONG, REJECTED, SHORT, Spool
from lamina.model.record import Draft, Layer, Trust, iso
from tests.conftest import START, Desk, contents
from tests.unit.failsafe.outages import ACTOR, AWAY, damage, folder_of, item, keep, outage, waiting

# Files


def test_a_line_says_what_it_is(tmp_path: Path) -> None:
    """B4: `record_type`, a validated payload and a checksum, in the file of its tier."""
    keep(Spool(tmp_path), item(1), item(2, Layer.EPISODIC), item(3, Layer.WORKING, run_id="0" * 26))
    short = [json.loads(line) for line in (tmp_path / SHORT).read_text("utf-8").splitlines()]
    (long,) = [json.loads(line) for line in (tmp_path / LONG).read_text("utf-8").splitlines()]
    assert [line["payload"]["content"] for line in short] == ["memory 1", "memory 3"]
    assert long["payload"] == {
        "content": "memory 2",
        "trust": "agent",
        "importance": 0.5,
        "kind": "crumb",
        "layer": "episodic",
        "state": "active",
        "confidence": 1.0,
    }
    assert long["record_type"] == "memory_item"
    assert long["at"] == iso(START)
    assert len(long["checksum"]) == 64


def test_the_files_are_private(tmp_path: Path) -> None:
    """B6: 0600 in 0700, whatever the umask."""
    before = os.umask(0)
    try:
        keep(Spool(tmp_path / "failsafe"), item(1), item(2, Layer.EPISODIC))
    finally:
        os.umask(before)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "failsafe").iterdir()
    }
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "failsafe").stat().st_mode) == 0o700


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """P2, B6: what leads out of the folder is refused, and nothing is written there."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "failsafe").symlink_to(elsewhere)
    with pytest.raises(Refused):
        keep(Spool(tmp_path / "failsafe"), item(1))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / SHORT).symlink_to(elsewhere / "file")
    with pytest.raises(StoreUnavailable):
        keep(Spool(tmp_path / "own"), item(1))
    assert list(elsewhere.iterdir()) == []


def test_the_order_holds_across_both_files(tmp_path: Path) -> None:
    """B4: what was written first is first, whichever file it went to, and whoever wrote it."""
    spools = [Spool(tmp_path), Spool(tmp_path)]
    for number in range(20):
        layer = Layer.EPISODIC if number % 3 else Layer.SHORT_TERM
        keep(spools[number % 2], item(number, layer))
    assert waiting(spools[0]) == waiting(spools[1]) == [f"memory {number}" for number in range(20)]


def test_a_key_is_one_memory(tmp_path: Path) -> None:
    """B4, L1: the same key and text again is the same memory; with another text nothing is kept."""
    spool = Spool(tmp_path)
    (first,) = keep(spool, item(1, key="k", user="ana"))
    again = Item("9" * 26, Draft("memory 1", Trust.AGENT, key="k", user="ana"))
    (second,) = keep(spool, again)
    assert second.id == first.id
    with pytest.raises(Conflict):
        keep(spool, item(2), Item("8" * 26, Draft("other", Trust.AGENT, key="k", user="ana")))
    keep(spool, item(3, key="k", user="ben"))
    assert waiting(spool) == ["memory 1", "memory 3"]


def test_a_batch_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    """B4: all or nothing, also when the disk is full in the middle of it; what was
    there before stays."""
    spool = Spool(tmp_path)
    keep(spool, item(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(StoreUnavailable, match="fail-safe"):
            keep(spool, item(2, Layer.EPISODIC), *(item(number) for number in range(3, 20)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert waiting(spool) == waiting(Spool(tmp_path)) == ["memory 1"]
    assert spool.contents().broken == ()


def test_a_torn_end_is_known(tmp_path: Path) -> None:
    """B4: a line without an end was never acknowledged; it is told with file and line, and the next
    line stands alone."""
    spool = Spool(tmp_path)
    keep(spool, item(1))
    with (tmp_path / SHORT).open("ab") as file:
        file.write(encoded(keep(Spool(tmp_path / "other"), item(2))[0], 1)[:100])
    (torn,) = spool.contents().broken
    assert (torn.place.file, torn.place.number) == (SHORT, 2)
    keep(spool, item(3))
    assert waiting(spool) == ["memory 1", "memory 3"]
    assert [one.place.number for one in spool.contents().broken] == [2]


def test_a_batch_without_its_other_half_was_never_told(tmp_path: Path) -> None:
    """B4: a crash between the two files leaves lines that do not count."""
    spool = Spool(tmp_path)
    keep(spool, item(1, Layer.EPISODIC), item(2))
    (tmp_path / SHORT).unlink()
    assert waiting(spool) == []
    assert [one.place.file for one in spool.contents().broken] == [LONG]


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_an_edited_byte_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, place: int, change: int
) -> None:
    """B4: whichever byte is changed, no line is taken for what it was not; each is whole or
    told as broken."""
    folder = tmp_path_factory.mktemp("spool")
    for number in range(3):
        keep(Spool(folder), item(number))
    raw = bytearray((folder / SHORT).read_bytes())
    raw[place % len(raw)] ^= change
    (folder / SHORT).write_bytes(raw)
    found = Spool(folder).contents()
    assert {line.payload.content for line in found.lines if line.payload} <= {
        f"memory {number}" for number in range(3)
    }
    assert len(found.lines) >= 1
    assert len(found.broken) >= 1


@given(st.binary(max_size=300))
def test_foreign_bytes_are_no_line(raw: bytes) -> None:
    """B4: whatever lies in the file, it is a line of ours or a reason why not."""
    with pytest.raises(ValueError, match="it"):
        decoded(raw)


@given(
    st.text(min_size=1),
    st.lists(st.text(min_size=1), max_size=3),
    st.dictionaries(st.text(), st.integers() | st.text(), max_size=3),
)
def test_a_line_comes_back_as_it_was(
    content: str, tags: list[str], metadata: dict[str, Any]
) -> None:
    """B4: what is kept is what was given."""
    for number in metadata.values():
        if isinstance(number, int) and abs(number) >= 1 << 53:
            return
    try:
        json.dumps([content, tags, metadata], ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    draft = Draft(
        content,
        Trust.AGENT,
        tags=tuple(tags),
        metadata=metadata,
        occurred_at=START - timedelta(days=1),
    )
    line = Line("memory_item", "0" * 26, START, 7, "b" * 16, 1, 1, "remember", ACTOR, draft)
    raw = encoded(line, 1)
    assert raw.count(b"\n") == 1
    assert decoded(raw) == line


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    """B4: threads that keep at once, each with files of its own, keep everything once and whole."""

    def write(name: int) -> None:
        spool = Spool(tmp_path)
        for number in range(20):
            keep(
                spool, item(name * 1000 + number), item(name * 1000 + 500 + number, Layer.EPISODIC)
            )

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = Spool(tmp_path).contents()
    assert len({line.id for line in found.lines}) == 160
    assert found.broken == ()


def test_a_spool_is_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    """B4: a reader needs no lock where there is none."""
    keep(Spool(tmp_path), item(1))
    (tmp_path / ".lock").unlink()
    tmp_path.chmod(0o500)
    try:
        assert waiting(Spool(tmp_path)) == ["memory 1"]
        assert not (tmp_path / ".lock").exists()
    finally:
        tmp_path.chmod(0o700)


def test_what_is_erased_leaves_only_its_place(tmp_path: Path) -> None:
    """P5: a line that waits is emptied, so that its batch stays whole; one that was laid
    aside is removed."""
    spool = Spool(tmp_path)
    keep(spool, item(1), item(2, Layer.EPISODIC))
    (tmp_path / REJECTED).write_bytes(b'{"text":"memory 1"}\n{"text":"other"}\n')
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "failsafe_short_term_x.jsonl").write_bytes((tmp_path / SHORT).read_bytes())
    changed = spool.cleanse(lambda raw: b"memory 1" in raw, archive)
    assert {path.name for path in changed} == {SHORT, REJECTED, "failsafe_short_term_x.jsonl"}
    assert waiting(spool) == ["memory 2"]
    assert spool.contents().broken == ()
    assert all(
        b"memory 1" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
    assert spool.cleanse(lambda raw: b"memory 1" in raw, archive) == []


def test_the_order_holds_after_an_erasure(tmp_path: Path) -> None:
    """B4, P5: what is kept after files became shorter comes after what waits in them."""
    spool = Spool(tmp_path)
    keep(spool, Item("1" * 26, Draft("long " * 500, Trust.AGENT)))
    keep(spool, item(2))
    spool.cleanse(lambda raw: b"long long" in raw, tmp_path / "archive")
    keep(Spool(tmp_path), item(3))
    assert waiting(spool) == ["memory 2", "memory 3"]


# Handles


@pytest.fixture
def mem(desk: Desk) -> Memory:
    return desk.agent(settings=AWAY)


def test_a_write_without_the_store_is_kept(desk: Desk, mem: Memory) -> None:
    """B4: the record says where it is, can be read at once, and is in the store under the
    same id afterwards."""
    before = mem.remember("before")
    assert before.stored_in == "store"
    assert "stored_in" not in before.to_dict()
    with outage(desk.home):
        kept = mem.remember(
            "Ana drinks green tea", tags=["Tea"], importance=0.8, key="k", metadata={"a": 1}
        )
        assert kept.stored_in == kept.to_dict()["stored_in"] == "failsafe"
        assert mem.get(kept.id) == kept
        assert contents(mem.list()) == ["Ana drinks green tea", "before"]
        (hit,) = mem.search("who drinks tea?")
        assert hit.record.stored_in == "failsafe"
        assert hit.parts == {"words": 1.0}
    mem.remember("after")
    there = mem.get(kept.id)
    assert there.stored_in == "store"
    assert there.created_at == there.occurred_at == kept.created_at
    assert (there.content, there.tags, there.importance, there.metadata) == (
        kept.content,
        ("tea",),
        0.8,
        {"a": 1},
    )
    assert contents(mem.list()) == ["after", "Ana drinks green tea", "before"]
    assert [one.seq for one in mem.list()] == [3, 2, 1]
    assert mem.remember("Ana drinks green tea", key="k").id == kept.id


def test_every_verb_that_remembers_is_taken(desk: Desk, mem: Memory) -> None:
    """B4: remember, remember_short, remember_many, conversations and notes go to the fail-safe; all
    others say why not."""
    run = mem.run("a task")
    with outage(desk.home):
        many = mem.remember_many([{"content": "one"}, {"content": "two", "layer": "episodic"}])
        said = mem.remember_conversation(
            [{"speaker": "Ana", "text": "Hello Ben"}, {"speaker": "Ben", "text": "Hello Ana"}],
            "s1",
            keep_raw=True,
        )
        records = [*many, mem.remember_short("three"), run.note("a note"), *said, said.episode]
        assert {record.stored_in for record in records} == {"failsafe"}
        assert said.episode.evidence == tuple(turn.id for turn in said)
        assert [hit.record.content for hit in run.search("note")] == ["a note"]
        for verb in (lambda: mem.run("another"), run.close):
            with pytest.raises(StoreUnavailable):
                verb()
        assert mem.remember_many([]) == []
    mem.replay_failsafe()
    assert [mem.get(record.id).stored_in for record in records] == ["store"] * 7
    assert mem.get(said.episode.id).evidence == said.episode.evidence
    assert run.note_count == 1
    assert len(list((desk.folder() / "episodes").rglob(f"{said.episode.id}.json"))) == 1
    run.close()


def test_bad_input_leaves_no_trace(desk: Desk, mem: Memory) -> None:
    """B4: the fail-safe takes what the store would take, and nothing else."""
    with outage(desk.home):
        for wrong in (
            {"content": ""},
            {"content": "x", "kind": "nonsense"},
            {"content": "x", "layer": "semantic"},
        ):
            with pytest.raises((InvalidInput, Refused)):
                mem.remember_many([{"content": "fine"}, wrong])
        assert not (folder_of(desk) / SHORT).exists()


def test_without_the_failsafe_it_is_an_error(desk: Desk) -> None:
    """B4: `failsafe = off` raises, and keeps nothing."""
    mem = desk.agent(settings={**AWAY, "failsafe": "off"})
    with outage(desk.home), pytest.raises(StoreUnavailable):
        mem.remember("x")
    assert not folder_of(desk).exists()
    mem.close()
    with damage(desk.home), pytest.raises(Corrupt):
        desk.agent(settings={"failsafe": "off"})


def test_a_handle_opens_without_its_store(desk: Desk, mem: Memory) -> None:
    """B4: a damaged store can be opened: writes are kept, reads answer from what is there and say
    so; then it comes back."""
    stored = mem.remember("in the store")
    mem.close()
    with damage(desk.home):
        one, two = desk.agent(settings=AWAY), desk.operator(settings=AWAY)
        with pytest.raises(Corrupt):  # nothing can be reached at all
            one.list()
        kept = one.remember("Ana drinks tea")
        assert contents(two.list()) == ["Ana drinks tea"]
        found = one.search("tea")
        assert contents(found) == ["Ana drinks tea"]
        assert "only the fail-safe was searched" in found.notes[0]
        assert two.get(kept.id) == kept
        with pytest.raises(Corrupt):
            one.get(stored.id)
        with pytest.raises(Corrupt):
            two.audit_log()
        status = two.status()
        assert status["store"] is None
        assert any("1 memory waits" in problem for problem in status["problems"])
        assert status["problems"][0].startswith("the store could not be read: ")
        assert one.search("zebra").outcome == "unavailable"
    assert contents(one.list()) == ["Ana drinks tea", "in the store"]
    assert one.remember("after").stored_in == "store"
    assert contents(two.list()) == ["after", "Ana drinks tea", "in the store"]
    assert one.status()["problems"] == two.status()["problems"] == []


def test_opening_replays(desk: Desk, mem: Memory) -> None:
    """B4: the next handle that opens brings what waits into the store."""
    with outage(desk.home):
        kept = mem.remember("x")
    assert desk.operator().get(kept.id).stored_in == "store"
    assert list(folder_of(desk).glob("*.jsonl")) == []
    (moved,) = (desk.folder() / "archive").iterdir()
    assert moved.name.startswith("failsafe_short_term_2026")


def test_a_store_that_is_away_is_left_alone_for_a_moment(desk: Desk) -> None:
    """B4: after a failure writes go to the fail-safe at once, without waiting for the
    store each time."""
    mem = desk.agent(settings={"store.busy_timeout_ms": 0, "store.retry_ms": 3_600_000})
    with outage(desk.home):
        mem.remember("one")
    assert mem.remember("two").stored_in == "failsafe"
    mem.replay_failsafe()
    assert mem.remember("three").stored_in == "store"
    assert contents(mem.list()) == ["three", "two", "one"]


def test_what_waits_is_only_seen_in_its_scope(desk: Desk) -> None:
    """P2, B4: another user's memories are as invisible in the fail-safe as in the store."""
    ana, ben = desk.agent(user="ana", settings=AWAY), desk.agent(user="ben", settings=AWAY)
    with outage(desk.home):
        kept = ana.remember("Ana's tea")
        assert contents(ben.list()) == []
        assert ben.search("tea").outcome == "nothing_relevant"
        with pytest.raises(NotFound):
            ben.get(kept.id)
        assert contents(desk.agent(settings=AWAY).list()) == ["Ana's tea"]


def test_filters_hold_in_the_failsafe(desk: Desk, mem: Memory) -> None:
    """Q5, B4: what waits is filtered as what is stored."""
    with outage(desk.home):
        mem.remember("old", at=START - timedelta(days=9), kind="fact", metadata={"n": 1})
        mem.remember("new", tags=["a", "b"], layer="episodic", session="s1")
        assert (
            contents(mem.list(kinds=["fact"]))
            == contents(mem.list(until=START - timedelta(days=1)))
            == ["old"]
        )
        assert (
            contents(mem.list(layers=["episodic"]))
            == contents(mem.list(tags=["b", "c"]))
            == ["new"]
        )
        assert contents(mem.query_recent(hours=24)) == ["new"]
        assert contents(mem.search("old new", metadata={"n": 1})) == ["old"]
        assert contents(mem.search("old new", all_tags=["a", "b"])) == ["new"]
        assert contents(mem.search("old new", session="s1")) == ["new"]
        assert contents(mem.list(session="s2")) == []
        assert contents(mem.search("old new", as_of=START - timedelta(days=5))) == ["old"]
        assert contents(mem.list(states=["constrained"])) == []
        assert contents(mem.list(limit=1)) == ["new"]


def test_closed_handles_keep_nothing(desk: Desk, mem: Memory) -> None:
    """B4: who uses a handle that is closed is told so; that is no outage."""
    mem.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        mem.remember("x")
    assert not folder_of(desk).exists()


def test_no_room_at_all_is_an_error(desk: Desk, mem: Memory) -> None:
    """B4: when neither the store nor the fail-safe can be written, nothing is acknowledged, and
    both are named."""
    folder_of(desk).parent.mkdir(exist_ok=True)
    folder_of(desk).write_text("in the way")
    with outage(desk.home), pytest.raises(StoreUnavailable, match=r"holds the store.*failsafe"):
        mem.remember("x")


def test_milton_has_its_own_place(desk: Desk) -> None:
    """B7, B4: with the preset of the Milton document the files are where it has them."""
    mem = desk.agent(settings={**AWAY, "preset": "milton"})
    with outage(desk.home):
        mem.remember("x")
        mem.remember("y", layer="episodic")
    for name in (SHORT, LONG):
        (line,) = (desk.folder() / "data" / "memory" / name).read_text("utf-8").splitlines()
        assert {"record_type", "payload"} <= json.loads(line).keys()


def test_what_waits_is_called_by_a_part_of_its_id(desk: Desk) -> None:
    """H1, B4: a memory that is kept while the store is away is called by its end, too."""
    mem = desk.agent(settings=AWAY)
    stored = mem.remember("before")
    with outage(desk.home):
        kept = mem.remember("kept meanwhile")
        assert kept.stored_in == "failsafe"
        assert [mem.full_id(record.id[-6:]) for record in (stored, kept)] == [stored.id, kept.id]
    mem.close()
    with damage(desk.home):
        assert desk.agent(settings=AWAY).full_id(kept.id[:6]) == kept.id
