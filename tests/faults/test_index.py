"""Faults while the index is brought up to date and while conversations are kept: nothing half,
nothing twice, same bytes."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina.store.engine.sql import rows
from tests.faults.read_only import allow_writing, files, forbid_writing
from tests.faults.tracer import Tracer

from . import tally
from .children.indexer import TURNS, turns_of
from .harness import AGENT, FULL, NOBODY, SEED, Child, Nursery, check_sound, database_of, size

# More than two blocks, so that blocks, codes and days are written, and some records are behind the
# last full block.
RECORDS = 600
WORDS = (
    "garden river bicycle coffee sister report office winter yesterday May 7 2025 last week on "
    "Monday in 2023"
).split()
TABLES = ("spaces", "vectors", "tokens", "codes", "blocks", "days")
INDEXERS, WRITERS = 4, 2
# So many of the calls of one kind are broken, spread over all of them.
PLACES = size(quick=1, full=12)
ERRORS = [("ENOSPC", True), ("EIO", False), *((("ENOSPC", False), ("EIO", True)) if FULL else ())]
INDEX_CALLS = ("pwrite64", "fdatasync", "openat")
TALK_CALLS = ("pwrite64", "fdatasync", "openat", "write", "fsync", "rename")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with memories that nobody has embedded."""
    home = tmp_path_factory.mktemp("base") / "home"
    chance = random.Random(SEED)
    # Without an embedder, closing leaves everything to be done.
    with lamina.open(AGENT, home=home, settings={"recall.embedders": ["none"]}) as memory:
        memory.remember_many(
            {"content": " ".join(chance.choices(WORDS, k=9)), "session": f"s{n % 5}"}
            for n in range(RECORDS)
        )
    # Not even blocks: those are written without an embedder too.
    with lamina.operator(AGENT, home=home) as operator:
        operator._scope.store.reindex(operator.actor, operator._scope.clock(), vectors=True)
    return home


@pytest.fixture(scope="module")
def expected(base: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an undisturbed run leaves in the derived tables."""
    home = copied(base, tmp_path_factory.mktemp("expected") / "home")
    with lamina.operator(AGENT, home=home) as operator:
        assert operator.index() == RECORDS
        made = derived(operator)
    assert len(made["vectors"]) == RECORDS
    assert len(made["codes"]) == len(made["blocks"]) == (RECORDS + 1) // 256
    assert made["days"]
    return made


def copied(base: Path, home: Path) -> Path:
    shutil.copytree(base, home)
    return home


def derived(memory: lamina.Memory) -> dict[str, Any]:
    """Every byte of the derived tables."""
    connection = memory._scope.store.database.reader()
    made: dict[str, Any] = {
        table: rows(connection, f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES
    }
    made["event"] = connection.execute("SELECT value FROM meta WHERE name = 'blocks'").get
    return made


def check_resumed(home: Path, expected: dict[str, Any]) -> None:
    """A process that comes after the fault finds a sound store, and indexes it to
    the same bytes."""
    with lamina.operator(AGENT, home=home) as operator:
        check_sound(operator)
        before = derived(operator)
        assert len(before["vectors"]) == sum(space[3] for space in before["spaces"])
        operator.index()
        assert derived(operator) == expected
        assert operator.index() == 0
        check_sound(operator)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("indexer", "nursery") as made:
        yield made


def spread(total: int) -> list[int]:
    """Places among some calls, the first and the last among them."""
    number = min(total, PLACES)
    return sorted({1 + place * (total - 1) // max(1, number - 1) for place in range(number)})


def calls_of(nursery: Nursery, folder: Path, home: Path, call: str, **step: str) -> int:
    """How many calls of a kind a step makes when nothing goes wrong."""
    with nursery.fork() as pid:
        assert nursery.told(step="open", home=str(home)) == "done"
        tracer = Tracer(pid, folder / "log", call)
        assert nursery.told(**step) == "done"
        return sum(line.startswith(f"{call}(") for line in tracer.calls())


# Indexing


def test_indexing_resumes_after_kill_9(
    tmp_path: Path, nursery: Nursery, base: Path, expected: dict[str, Any]
) -> None:
    """Q6, B1, P4: killed at any moment of `index()`, the store is sound, and the next run ends with
    the same bytes."""
    chance = random.Random(SEED)
    killed = 0
    with nursery.fork():
        nursery.ask(step="index_all", home=str(copied(base, tmp_path / "whole")))
        began = time.monotonic()
        nursery.hear()
        seconds = time.monotonic() - began
        assert nursery.hear() == {"outcome": "done"}
    # The moment of the kill is the fault itself. A process may be done before it, but not before
    # the first, which is at once.
    moments = [0.0, *(chance.uniform(0, seconds) for _ in range(size(quick=1, full=39)))]
    for number, moment in enumerate(moments):
        home = copied(base, tmp_path / f"home{number}")
        with nursery.fork():
            nursery.ask(step="index_all", home=str(home))
            time.sleep(moment)
            killed += not nursery.slay()
        check_resumed(home, expected)
        shutil.rmtree(home)
    assert killed


@pytest.mark.parametrize("call", INDEX_CALLS)
def test_indexing_resumes_after_a_kill_at_a_write_call(
    tmp_path: Path, nursery: Nursery, base: Path, expected: dict[str, Any], call: str
) -> None:
    """Q6, B1, P4: killed at a write call of `index()`, the store is sound, and the next run ends
    with the same bytes."""
    total = calls_of(nursery, tmp_path, copied(base, tmp_path / "counted"), call, step="index")
    for number in spread(total):
        home = copied(base, tmp_path / f"home{number}")
        with nursery.fork() as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            tracer = Tracer(pid, tmp_path / "log", call, f"signal=SIGKILL:when={number}")
            assert nursery.told(step="index") == "killed", number
            tracer.detach()
        check_resumed(home, expected)
        shutil.rmtree(home)


@pytest.mark.parametrize(("error", "lasting"), ERRORS)
def test_an_error_while_indexing_is_typed_and_passes(
    tmp_path: Path,
    nursery: Nursery,
    base: Path,
    expected: dict[str, Any],
    error: str,
    lasting: bool,
) -> None:
    """Q6, B1, B4, P4: an I/O error at a write call of `index()` is a `StoreUnavailable`, or
    harmless; the next try works.

    The same process then ends with the bytes of an undisturbed run.
    """
    outcomes: Counter[str] = Counter()
    for call in ("pwrite64", "fdatasync"):
        total = calls_of(
            nursery, tmp_path, copied(base, tmp_path / f"counted {call}"), call, step="index"
        )
        with nursery.fork() as pid:
            for number in spread(total):
                home = copied(base, tmp_path / f"{call}{number}")
                assert nursery.told(step="open", home=str(home)) == "done"
                tracer = Tracer(
                    pid,
                    tmp_path / "log",
                    call,
                    f"error={error}:when={number}{'+' if lasting else ''}",
                )
                outcomes[nursery.told(step="index")] += 1
                assert tracer.detach(), (call, number)
                assert nursery.told(step="index") == "done", (call, number)
                assert nursery.told(step="close") == "done"
                check_resumed(home, expected)
                shutil.rmtree(home)
    assert outcomes.keys() <= {"done", "store_unavailable"}
    assert outcomes["store_unavailable"]


def test_many_processes_index_while_others_write(tmp_path: Path, base: Path) -> None:
    """Q6, B1, P4: processes that index and write at once see no error, and leave one vector for
    every record."""
    home = copied(base, tmp_path / "home")
    each = size(quick=30, full=600)
    with ExitStack() as stack:
        indexers = [
            stack.enter_context(Child("indexer", "crowd", home, size(quick=5, full=40), f"i{n}"))
            for n in range(INDEXERS)
        ]
        writers = [stack.enter_context(Child("crowd", home, each, f"w{n}")) for n in range(WRITERS)]
        for child in (*indexers, *writers):
            child.hear()
        for child in (*indexers, *writers):
            child.tell(go=True)
        for child in (*indexers, *writers):
            child.finish()
    with lamina.operator(AGENT, home=home) as operator:
        operator.index()
        check_sound(operator)
        made = derived(operator)
        assert [(space, record) for space, record, _ in made["vectors"]] == [
            (1, n) for n in range(1, RECORDS + WRITERS * each + 1)
        ]
        assert [row[0] for row in made["blocks"]] == list(range(len(made["blocks"])))
        assert len(made["blocks"]) == len(made["codes"]) == (RECORDS + WRITERS * each + 1) // 256
        # What all of them made together is what one alone makes of the same records.
        operator.reindex()
        again = derived(operator)
        assert {**again, "event": None} == {**made, "event": None}


def test_threads_search_and_index_while_others_write(tmp_path: Path) -> None:
    """Q6, B1: threads of one handle that search, index and write at once see no error, and nothing
    is missing at the end."""
    rounds = size(quick=6, full=150)
    escaped: list[BaseException] = []

    def repeat(verb: Callable[[int], object]) -> None:
        try:
            for number in range(rounds):
                verb(number)
        except BaseException as error:  # noqa: BLE001 - a thread's failure must reach the test
            escaped.append(error)

    with lamina.operator(AGENT, home=tmp_path) as operator:
        verbs: list[Callable[[int], object]] = [
            lambda number: operator.remember_many(
                {"content": f"memory {number} {n} in the garden"} for n in range(50)
            ),
            lambda number: operator.remember_conversation(
                turns_of(f"w{number}"), session=f"s{number}"
            ),
            lambda _: operator.search("memory in the garden"),
            lambda number: operator.search(f"turn of w{number}", ranker="semantic"),
            lambda _: operator.memory_context("garden", {"short_term": 3}),
            lambda _: operator.index(),
        ]
        threads = [threading.Thread(target=repeat, args=(verb,)) for verb in verbs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert escaped == []
        operator.index()
        made = derived(operator)
        assert [record for _, record, _ in made["vectors"]] == list(
            range(1, rounds * (50 + TURNS + 1) + 1)
        )
        check_sound(operator)


# Who may only read, and who was forked


@pytest.mark.parametrize("indexed", [False, True], ids=["fresh", "indexed"])
def test_a_read_only_store_is_searched(shared_folder: Path, indexed: bool) -> None:
    """P4, Q6, B4: in a folder that cannot be written every ranker answers, indexing is
    `StoreUnavailable`, no byte changes."""
    home = shared_folder / "home"
    with lamina.open(AGENT, home=home) as memory:
        memory.remember_many({"content": f"memory {n}"} for n in range(60))
        if indexed:
            memory.index()
            memory.remember("memory that came later")
    forbid_writing(home)
    before = files(home)
    with Child("seeker", "without_rights", home, NOBODY) as child:
        (report,) = child.finish()
    assert files(home) == before
    allow_writing(home)
    written = {name: report["outcomes"].pop(name) for name in ("index", "remember_conversation")}
    assert set(report["outcomes"].values()) == {"done"}
    assert set(written.values()) == {"store_unavailable"}
    assert set(report["counts"].values()) == {60 + indexed}
    assert report["closed"] == "done"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_does_not_find_with_its_parents_handle(tmp_path: Path) -> None:
    """B1: every verb that finds or indexes is a `StoreUnavailable` in a fork and after closing; the
    parent's goes on."""
    with Child("seeker", "forked", tmp_path) as child:
        searching, inherited, own, closed = (line["outcomes"] for line in child.finish())
    assert searching == {"search": "store_unavailable", "close": "done"}
    assert set(inherited.values()) == {"store_unavailable"}, inherited
    assert set(own.values()) == {"done"}, own
    assert set(closed.values()) == {"store_unavailable"}, closed


# Conversations


def check_conversations(
    operator: lamina.Operator, begun: list[str], acknowledged: list[str]
) -> None:
    """Each is there as a whole with its file, or not at all; an acknowledged one is there."""
    episodes_of = [one.session for one in operator.list(kinds=["data"], limit=10_000)]
    tally.check([f"session {word}" for word in acknowledged], episodes_of)
    folder = operator._scope.store.folder / "episodes"
    for word in begun:
        turns = operator.list(tags=[word], limit=100)
        episodes = [
            one
            for one in operator.list(layers=["episodic"], limit=10_000)
            if one.session == f"session {word}" and one not in turns
        ]
        assert (len(turns), len(episodes)) in (
            {(TURNS, 1)} if word in acknowledged else {(0, 0), (TURNS, 1)}
        ), word
        for episode in episodes:
            (path,) = folder.rglob(f"{episode.id}.json")
            assert hashlib.sha256(path.read_bytes()).hexdigest() == episode.metadata["raw_hash"]
            assert set(episode.evidence) == {turn.id for turn in turns}


def test_a_conversation_is_kept_whole_or_not_at_all(tmp_path: Path, nursery: Nursery) -> None:
    """R9, L1, B1, P4: killed at any moment, every conversation is there with all turns, episode and
    file, or not at all.

    A retry with the same key completes it once.
    """
    chance = random.Random(SEED)
    for number in range(size(quick=2, full=40)):
        home = tmp_path / f"home{number // 10}"
        with nursery.fork():
            nursery.tell(step="keep_talking", home=str(home), name=f"r{number}")
            said = [nursery.hear() for _ in range(chance.randint(1, 20))]
            time.sleep(chance.uniform(0, 0.01))
            said += nursery.slay()
        begun = [line["begin"] for line in said if "begin" in line]
        acknowledged = [line["done"] for line in said if "done" in line]
        with lamina.operator(AGENT, home=home) as operator:
            check_sound(operator)
            check_conversations(operator, begun, acknowledged)
            for word in begun:
                operator.remember_conversation(
                    turns_of(word), session=f"session {word}", key=word, keep_raw=True
                )
            check_conversations(operator, begun, begun)
            check_sound(operator)


@pytest.mark.parametrize("call", TALK_CALLS)
def test_a_kill_at_a_write_call_leaves_no_half_conversation(
    tmp_path: Path, nursery: Nursery, call: str
) -> None:
    """R9, L1, B1, P4: killed at a write call of `remember_conversation`, it is there as a whole or
    not at all."""
    home = tmp_path / "home"
    with lamina.open(AGENT, home=home) as memory:
        memory.remember("memory before")
    total = calls_of(nursery, tmp_path, home, call, step="talk", word="counted")
    for number in spread(total):
        word = f"{call}{number}"
        with nursery.fork() as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            tracer = Tracer(pid, tmp_path / "log", call, f"signal=SIGKILL:when={number}")
            ended = nursery.told(step="talk", word=word)
            tracer.detach()
            acknowledged = [word] if ended == "done" else []
        with lamina.operator(AGENT, home=home) as operator:
            check_sound(operator)
            check_conversations(operator, [word], acknowledged)
            operator.remember_conversation(
                turns_of(word), session=f"session {word}", key=word, keep_raw=True
            )
            check_conversations(operator, [word], [word])


def test_a_key_is_for_one_conversation(tmp_path: Path) -> None:
    """R9, L1: the same key with another conversation is a `Conflict`; the file that was kept still
    fits its hash."""
    with lamina.operator(AGENT, home=tmp_path) as operator:
        operator.remember_conversation(turns_of("w"), session="session w", key="w", keep_raw=True)
        for change in (
            {"speaker": "Zoe"},
            {"text": "something else"},
            {"importance": 0.9},
            {"at": "2026-01-01T00:00:00Z"},
        ):
            turns = turns_of("w")
            turns[3] |= change
            with pytest.raises(lamina.Conflict):
                operator.remember_conversation(turns, session="session w", key="w", keep_raw=True)
            check_conversations(operator, ["w"], ["w"])


def test_closing_loses_nothing_when_it_cannot_index(tmp_path: Path) -> None:
    """B1, B4: while another program holds the file, a handle closes without an error, and the next
    one indexes."""
    memory = lamina.open(AGENT, home=tmp_path, settings={"store.busy_timeout_ms": 20})
    memory.remember_many({"content": f"memory {n}"} for n in range(300))
    with Child("holder", database_of(tmp_path)) as other:
        assert other.hear()["outcome"] == "held"
        memory.close()
        other.tell(go=True)
        other.finish()
    with lamina.operator(AGENT, home=tmp_path) as operator:
        assert operator.index() == 300
        check_sound(operator)


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_error_leaves_no_half_conversation(tmp_path: Path, nursery: Nursery, error: str) -> None:
    """R9, L1, B1, B4, P4: an I/O error while a conversation is kept is typed, leaves nothing of it,
    and the next try works."""
    home = tmp_path / "home"
    outcomes: Counter[str] = Counter()
    with lamina.open(AGENT, home=home) as memory:
        memory.remember("memory before")
    calls = ("pwrite64", "fdatasync", "fsync", "rename")
    totals = {
        call: calls_of(nursery, tmp_path, home, call, step="talk", word=f"counted {call}")
        for call in calls
    }
    with nursery.fork() as pid:
        assert nursery.told(step="open", home=str(home)) == "done"
        assert nursery.told(step="talk", word="first") == "done"
        for call in calls:
            for number in spread(totals[call]):
                word = f"{call}{number}"
                tracer = Tracer(pid, tmp_path / "log", call, f"error={error}:when={number}")
                outcome = nursery.told(step="talk", word=word)
                tracer.detach()
                outcomes[outcome] += 1
                with lamina.operator(AGENT, home=home) as operator:
                    check_sound(operator)
                    check_conversations(operator, [word], [word] if outcome == "done" else [])
                    kept = {
                        path.name
                        for path in (operator._scope.store.folder / "episodes").rglob("*.json")
                    }
                    assert kept == {
                        f"{one.id}.json" for one in operator.list(kinds=["data"], limit=10_000)
                    }, word
                assert nursery.told(step="talk", word=word) == "done"
    assert outcomes.keys() <= {"done", "store_unavailable"}
    assert outcomes["store_unavailable"]
