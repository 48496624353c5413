"""The catalogue: however it came to be known, by records, blocks or events, a search
answers the same."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Memory, Operator
from lamina.errors import Refused
from lamina.model.record import State
from lamina.search import RANKERS
from lamina.store.index.catalogue import (
    COLUMNS,
    EARLIER_WIDTHS,
    MOST_SEEN,
    WIDTH,
    Catalogue,
    mark,
)
from lamina.store.index.visible import Visible
from lamina.store.tables import blocks as block_table
from lamina.store.tables.blocks import BLOCK, SEAL
from lamina.store.tables.records import Filter
from lamina.store.upkeep import inspection
from lamina.text.screening import Screen
from tests.cases import every
from tests.conftest import FULL, START, STORE_ID, Desk, contents, move, supersede, tamper

NOW = START + timedelta(days=40)
QUERIES = (
    "tea",
    "green tea in the garden",
    "what did Ana say on 3 May 2026?",
    "猫の手",
    "number 7 piano",
    "книги",
    "who sings?",
)
WORDS = "tea green garden piano river 猫の手 книги music number school doctor".split()


def items(number: int, seed: int = 1) -> list[dict[str, Any]]:
    """Memories that differ in all that a search looks at."""
    rnd = random.Random(seed)
    return [
        {
            "content": f"{' '.join(rnd.choices(WORDS, k=rnd.randint(1, 5)))} {n}{rnd.choice(['', '?', ' on 3 May 2026'])}",
            "importance": rnd.random(),
            "tags": rnd.choices(["a", "b", "c"], k=rnd.randint(0, 2)),
            "metadata": {"x": rnd.choice(WORDS)},
            "session": rnd.choice(["s1", "s2"]),
            "speaker": rnd.choice(["Ana", "Ben", "assistant"]),
            "at": START - timedelta(hours=rnd.randint(0, 900)),
        }
        for n in range(number)
    ]


def answers(handle: Memory, desk: Desk, **filters: Any) -> list[dict[str, Any]]:
    """What a handle answers to some questions at one time, by every ranker."""
    desk.clock.step = timedelta()
    desk.clock.set(NOW)
    return [
        handle.search(query, 25, ranker=ranker, **filters).to_dict()
        for query in QUERIES
        for ranker in RANKERS
    ]


def columns(catalogue: Catalogue) -> dict[str, list[Any]]:
    own = {name: catalogue[name].tolist() for name in COLUMNS}
    return own | {
        name: getattr(catalogue, name)[: catalogue.size].tolist() for name in ("before", "after")
    }


def known(handle: Memory) -> Catalogue:
    """The catalogue of a handle as it is now."""
    with handle._scope.store.index.snapshot() as look:
        return look.catalogue


def blocks(handle: Memory) -> int:
    return int(
        handle._scope.store.database.reader().execute("SELECT count(*) FROM blocks").get or 0
    )


@pytest.mark.parametrize("number", [1, 254, 255, 256, 257, 1000])
def test_indexing_changes_no_answer(desk: Desk, number: int) -> None:
    """Q6: the same bytes before and after indexing, in the same handle, another one, and after all
    were closed."""
    with Desk(desk.home, desk.clock) as earlier:
        mem = earlier.agent()
        mem.remember_many(items(number))
        before = answers(mem, desk)
        mem.index()
        assert blocks(mem) == (number + 1) // BLOCK
        other = earlier.agent()
        assert answers(mem, desk) == answers(other, desk) == before
        assert columns(known(other)) == columns(known(mem))
    assert answers(desk.agent(), desk) == before
    assert any(answer["outcome"] == "found" for answer in before)


def test_many_that_leave_at_once_leave_as_one_by_one(desk: Desk) -> None:
    """Q6: neighbours are joined anew, however many records between them have left."""
    mem = desk.agent()
    mem.remember_many(items(300))
    one, together = Catalogue(), Catalogue()
    with mem._scope.store.database.moment() as connection:
        for catalogue in (one, together):
            catalogue.refresh(connection)
    gone = [1, 2, 7, *range(50, 120), 299, 300]
    for number in gone:
        one._leave(number)
    together._leave_together(gone)
    assert columns(together) == columns(one)
    assert together._last == one._last


def test_the_batch_makes_no_difference(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Q6: one by one or all at once, searched in between or not, indexed in between or not: the
    same bytes."""
    told = []
    for size, searched, indexed in (
        (600, False, False),
        (1, False, False),
        (7, True, False),
        (90, True, True),
    ):
        with Desk(tmp_path_factory.mktemp("home")) as desk:
            desk.clock.step = timedelta()
            mem = desk.agent()
            everything = items(600)
            for start in range(0, len(everything), size):
                desk.clock.set(START)
                mem.remember_many(everything[start : start + size])
                if searched and start % 70 < size:
                    mem.search("tea")
                if indexed and start % 180 < size:
                    mem.index()
            told.append(answers(mem, desk))
    assert told[0] == told[1] == told[2] == told[3]


@pytest.mark.parametrize("number", [100, 700])
def test_changes_in_sealed_blocks_are_seen(desk: Desk, op: Operator, number: int) -> None:
    """Q6, R3: a record whose state changes after its block was written is seen in its new state by
    every handle."""
    made = op.remember_many(items(number))
    op.index()
    early = desk.agent()
    answers(early, desk)
    desk.clock.step = timedelta(seconds=1)
    for place in range(0, number, 9):
        supersede(op, made[place].id, made[place - 1].id) if place % 2 else move(
            op, made[place].id, state=State.TOMBSTONED
        )
    move(op, made[number // 2 + 1].id, importance=0.99, valid_to=START)
    expected = answers(op, desk)
    assert answers(early, desk) == answers(desk.agent(), desk) == expected
    for state in State:
        everywhere = [answers(handle, desk, states=[state]) for handle in (op, early, desk.agent())]
        assert everywhere[0] == everywhere[1] == everywhere[2]
    hidden = {made[place].id for place in range(0, number, 9)}
    found = {hit["record"]["id"] for answer in expected for hit in answer["hits"]}
    assert found
    assert not found & hidden
    op.reindex()
    assert answers(op, desk) == answers(early, desk) == answers(desk.agent(), desk) == expected


def test_changed_blocks_are_written_again_with_the_next(desk: Desk, op: Operator) -> None:
    """Q6: blocks tell of a moment: what changed until then is in them, what changed later is told
    by events."""
    made = op.remember_many(items(300))
    op.index()
    move(op, made[3].id, state=State.TOMBSTONED)
    op.remember_many(items(300, seed=2))
    op.index()
    move(op, made[4].id, state=State.CONSTRAINED)
    fresh = known(desk.agent())
    assert columns(fresh) == columns(known(op))
    assert fresh["state"][[made[3].seq, made[4].seq, made[5].seq]].tolist() == [4, 2, 1]


CHILD = """
import sys
from datetime import UTC, datetime
from lamina.memory.opening import connect
from lamina.model.record import Role
now = datetime(2026, 5, 1, 9, tzinfo=UTC)
with connect(Role.OPERATOR, "sky", None, sys.argv[1], lambda: now, store_id=sys.argv[2]) as op:
    op.remember_many([{"content": f"green tea number {n} piano", "session": "s1", "speaker": "Ana"} for n in range(400)])
    if sys.argv[3] == "indexed":
        op.index()
"""


@pytest.mark.parametrize("how", ["indexed", "plain"])
def test_what_another_process_wrote_is_found(desk: Desk, mem: Memory, how: str) -> None:
    """Q6: a handle that has searched before sees what another process wrote since, and answers like
    a new handle."""
    mem.remember_many(items(200))
    before = answers(mem, desk)
    command = [sys.executable, "-c", CHILD, str(desk.home), STORE_ID, how]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    after = answers(mem, desk)
    assert after != before
    assert answers(desk.agent(), desk) == after


def test_a_restored_backup_is_searched_as_it_was(desk: Desk, op: Operator) -> None:
    """Q6: after a restore, new handles and those that were open find what the backup held, and
    nothing else."""
    op.remember_many(items(300))
    op.index()
    desk.clock.step = timedelta(seconds=1)
    saved = op.backup()
    before = answers(op, desk)
    desk.clock.step = timedelta(seconds=1)
    op.remember_many(items(300, seed=3))
    op.index()
    assert answers(op, desk) != before
    op.restore(saved)
    assert answers(desk.agent(), desk) == answers(op, desk) == before


def test_nothing_of_another_history_stays(desk: Desk, op: Operator) -> None:
    """Q6: vectors that a handle made for records of a history that is gone are not those of the
    records that came instead."""
    op.remember("alpha")
    saved = op.backup()
    op.remember_many([{"content": f"cats purr on the sofa {n}"} for n in range(300)])
    for handle in (op, desk.agent()):
        assert handle.search("cats purr on the sofa", ranker="semantic").outcome == "found"
    op.restore(saved)
    op.remember_many([{"content": f"the stock market fell by {n}"} for n in range(300)])
    hits = op.search("cats purr on the sofa", ranker="semantic")
    assert (
        hits.to_dict()["hits"]
        == desk.agent()
        ._scope.recall.search(
            "cats purr on the sofa", 10, Filter(states=(State.ACTIVE,)), "semantic", NOW
        )
        .to_dict()["hits"]
    )
    assert all(hit.score < 0.9 for hit in hits)


def test_an_import_is_searched_like_its_origin(
    desk: Desk, op: Operator, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Q6, H5: a store that was imported into an empty one gives the same bytes, also to a handle
    that was open before."""
    made = op.remember_many(items(300))
    move(op, made[7].id, state=State.SUPERSEDED)
    path = op.export()
    expected = answers(op, desk)
    with Desk(tmp_path_factory.mktemp("other")) as there:
        early, twin = there.agent(store_id=None), there.operator(store_id=None)
        assert early.search("tea").outcome == "nothing_relevant"
        twin.import_(path, trust=True)
        assert answers(twin, there) == answers(early, there) == expected
        twin.index()
        assert answers(twin, there) == answers(there.agent(store_id=None), there) == expected


@every(
    "damage",
    [
        "UPDATE blocks SET columns = x'00' WHERE block = 0",
        "UPDATE blocks SET columns = x'' WHERE block = 1",
        "UPDATE blocks SET columns = CAST(columns || x'00' AS BLOB) WHERE block = 1",
        "DELETE FROM blocks WHERE block = 0",
        "DELETE FROM blocks WHERE block = 1",
        "DELETE FROM blocks",
        "UPDATE blocks SET block = block + 5",
        "DELETE FROM blocks; UPDATE meta SET value = '0' WHERE name = 'blocks'",
        "UPDATE meta SET value = '0' WHERE name = 'blocks'",
        "UPDATE codes SET bits = x'00' WHERE block = 0",
        "UPDATE codes SET bits = CAST(bits || x'00' AS BLOB) WHERE block = 1",
        "DELETE FROM codes WHERE block = 0",
        "DELETE FROM codes",
        "DELETE FROM vectors; DELETE FROM codes; DELETE FROM spaces",
        "DELETE FROM vectors; DELETE FROM codes; UPDATE spaces SET seen = 0",
    ],
)
def test_damaged_blocks_change_no_answer(desk: Desk, damage: str) -> None:
    """Q6: blocks and bits of the wrong size, or missing, are not used; the records and vectors
    serve instead."""
    with Desk(desk.home, desk.clock) as earlier:
        mem = earlier.agent()
        mem.remember_many(items(600))
        mem.index()
        before = answers(mem, desk)
    tamper(desk.folder() / "memory.db", *damage.split("; "))
    assert answers(desk.agent(), desk) == before


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM blocks",
        "UPDATE blocks SET columns = x'00'",
        "DELETE FROM codes",
        "DELETE FROM days",
    ],
)
def test_reindexing_heals(desk: Desk, op: Operator, damage: str) -> None:
    """Q6: `reindex` makes all of it again from the records."""
    op.remember_many(items(600))
    op.index()
    before = answers(op, desk)
    tables = "blocks", "codes", "days", "vectors", "facets"
    whole = [
        sorted(op._scope.store.database.reader().execute(f"SELECT * FROM {table}"))
        for table in tables
    ]
    tamper(desk.folder() / "memory.db", damage)
    op.reindex()
    assert [
        sorted(op._scope.store.database.reader().execute(f"SELECT * FROM {table}"))
        for table in tables
    ] == whole
    assert answers(op, desk) == answers(desk.agent(), desk) == before


def test_turns_know_their_neighbours(desk: Desk) -> None:
    """Q5, R12: before and after a turn stand those of its own session and user, in the order in
    which they were stored."""
    ana, ben, everybody = desk.agent(user="ana"), desk.agent(user="ben"), desk.agent()
    told: dict[tuple[str | None, str], list[int]] = {}
    rnd = random.Random(4)
    for _ in range(600):
        handle, session = rnd.choice([ana, ben, everybody]), rnd.choice(["s", "t"])
        record = handle.remember("tea", session=session)
        told.setdefault((record.user, session), []).append(record.seq)
        if rnd.random() < 0.02:
            everybody.remember("alone")
            known(ana)
    ana.index()
    for handle in (ana, ben, desk.agent()):
        catalogue = known(handle)
        for numbers in told.values():
            assert catalogue.before[numbers].tolist() == [0, *numbers[:-1]]
            assert catalogue.after[numbers].tolist() == [*numbers[1:], 0]
        alone = set(range(1, catalogue.size)) - {
            number for numbers in told.values() for number in numbers
        }
        assert not any(catalogue.before[[*alone]])
        assert not any(catalogue.after[[*alone]])


def test_what_no_record_has_is_known_at_once(desk: Desk) -> None:
    """Q6: whether there are neighbours, and who speaks, is as the columns say, after each change."""
    mem = desk.agent()
    mem.remember("tea", session="s", speaker="Ana")
    assert not known(mem).has_neighbours
    assert known(mem).spoken_by("ana").tolist() == [1]
    assert known(mem).spoken_by("ben").tolist() == []
    mem.remember("milk", session="s", speaker="Ben")
    assert known(mem).has_neighbours
    assert known(mem).spoken_by("ben").tolist() == [2]


def test_a_filter_passes_what_each_of_its_parts_passes(desk: Desk) -> None:
    """Q6: tags, metadata and speakers narrow what layers, states and times let through."""
    mem = desk.agent()
    mem.remember_many(items(300))
    parts: list[dict[str, Any]] = [
        {"tags": ("a", "b")},
        {"all_tags": ("a", "c")},
        {"metadata": (("x", "tea"),)},
        {"speaker": "Ana"},
        {"since": START - timedelta(hours=400)},
        {"states": (State.ACTIVE,)},
    ]
    with mem._scope.store.index.snapshot() as look:
        for one, other in itertools.combinations(parts, 2):
            both = look.allowed(Filter(**one)) & look.allowed(Filter(**other))
            assert (look.allowed(Filter(**one, **other)) == both).all()
            assert both.any()


def test_a_block_has_one_size() -> None:
    """Q6: a block of no records at all is as long as a full one, so that its length tells whether
    it is whole."""
    assert len(Catalogue.packed([], 0, Screen([]))) == SEAL + BLOCK * WIDTH


def test_names_become_numbers() -> None:
    """Q6: a name has the same number in every process, no name has 0, and names that are alike have
    different ones."""
    names = ["", "a", "A", "á", "a ", "b", "ana", "ben", "user", "\0"]
    assert mark(None) == 0
    assert len({mark(name) for name in names}) == len(names)
    assert all(mark(name) % 2 for name in names)
    code = (
        "from lamina.store.index.catalogue import mark; print([mark(name) for name in ('ana', "
        "'ben')])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert json.loads(told) == [mark("ana"), mark("ben")]


@given(
    st.lists(
        st.sampled_from(["add", "many", "index", "move", "look", "other", "open"]), max_size=14
    )
)
@settings(max_examples=150 if FULL else 15)
def test_any_history_gives_one_catalogue(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    """Q6: whatever was written, sealed, changed and looked at in whatever order, the columns are
    those of the records."""
    rnd = random.Random(len(steps))
    with Desk(tmp_path_factory.mktemp("home")) as desk:
        op, other = desk.operator(), desk.operator(user="ana")
        made = [op.remember("tea")]
        for number, step in enumerate(steps):
            match step:
                case "add":
                    made.append(op.remember(f"tea {number} tomorrow", session="s"))
                case "many":
                    made += other.remember_many(items(200, seed=number))
                case "index":
                    other.index()
                case "move":
                    chosen, state = rnd.choice(made).id, rnd.choice([*State])
                    with suppress(Refused):  # an illegal move changes nothing
                        move(op, chosen, state=state, valid_to=rnd.choice([None, START]))
                case "look":
                    known(op)
                case "other":
                    known(other)
                case "open":
                    op = desk.operator()
        told = [columns(known(handle)) for handle in (op, other, desk.operator())]
        assert told[0] == told[1] == told[2]
        plain = Catalogue()
        plain._put(op._scope.store.database.reader().execute(f"{PLAIN} ORDER BY seq").fetchall())
        assert {name: plain[name].tolist() for name in COLUMNS} == {
            name: told[0][name] for name in COLUMNS
        }
        assert np.count_nonzero(plain["state"]) == len(made)


PLAIN = (
    "SELECT seq, state, layer, kind, user, session, speaker, run_id, occurred_at, "
    "created_at, valid_from, valid_to,"
    " importance, content, tags, trust FROM records"
)


def test_a_large_store_is_read_in_blocks(desk: Desk) -> None:
    """Q6: more blocks than one transaction writes are all written, and give the same catalogue as
    the records."""
    mem = desk.agent(settings={"recall.embedders": ["none"]})
    mem.remember_many([{"content": f"tea {n}"} for n in range(6000)])
    mem.index()
    assert blocks(mem) == 6001 // BLOCK
    assert columns(known(mem)) == columns(
        known(desk.agent(settings={"recall.embedders": ["none"]}))
    )
    assert contents(mem.search("5999", ranker="exact")) == ["tea 5999"]


def test_blocks_of_an_earlier_version_are_renewed(desk: Desk) -> None:
    """Q6: blocks without a column for trust are read as missing, so that answers stay the same; the
    doctor says what renews them, and `index` does."""
    op = desk.operator()
    op.remember_many([{"content": f"note {number} about tea"} for number in range(2 * BLOCK)])
    op.index()
    before = [hit.record.id for hit in op.search("note about tea", limit=5)]
    with op._scope.store.database.atomic() as transaction:
        size = SEAL + BLOCK * min(EARLIER_WIDTHS)
        transaction.cursor.connection.execute(
            "UPDATE blocks SET columns = substr(columns, 1, ?)", (size,)
        )
    later = desk.operator()
    assert [hit.record.id for hit in later.search("note about tea", limit=5)] == before
    reader = later._scope.store.database.reader
    assert inspection._derived(reader())[0] == "warn"
    later.index()
    assert inspection._derived(reader())[0] == "ok"


def test_bits_of_an_earlier_version_are_renewed(desk: Desk) -> None:
    """Q6: blocks with signs alone are read as missing, so that answers stay the same; the doctor
    says what renews them, and `index` does."""
    op = desk.operator()
    op.remember_many([{"content": f"note {number} about tea"} for number in range(2 * BLOCK)])
    op.index()
    before = op.search("note about tea", ranker="semantic")
    with op._scope.store.database.atomic() as transaction:
        transaction.cursor.connection.execute(
            "UPDATE codes SET bits = substr(bits, 1, ?)", (SEAL + BLOCK * 33,)
        )
    op.close()
    later = desk.operator()
    assert list(later.search("note about tea", ranker="semantic")) == list(before)
    reader = later._scope.store.database.reader
    assert inspection._derived(reader())[0] == "warn"
    later.index()
    assert inspection._derived(reader())[0] == "ok"


def test_a_block_is_opened_only_as_it_was_sealed() -> None:
    """B7, Q7: of the right size and with the right checksum; one of the two is not enough."""
    sealed = block_table.sealed(b"block")
    assert block_table.opened(sealed, 5) == b"block"
    assert block_table.opened(sealed, 6) is None
    for place in range(len(sealed)):
        damaged = bytearray(sealed)
        damaged[place] ^= 1
        assert block_table.opened(bytes(damaged), 5) is None


def test_what_follows_from_many_filters_stays_small() -> None:
    """B3a: a caller with ever new filters does not fill the memory."""
    catalogue = Catalogue()
    allowed = np.ones(MOST_SEEN // 100, bool)
    for number in range(50):
        wanted = Filter(tags=(str(number),))
        catalogue.visible(wanted, lambda: Visible(catalogue, allowed, allowed))
        assert catalogue.footprint < 2 * MOST_SEEN
