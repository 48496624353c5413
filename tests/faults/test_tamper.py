"""Edits behind the store's back, with any SQLite tool: `audit verify` says that something was
altered, and where."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from lamina.memory.opening import connect
from lamina.model.record import Role
from lamina.store.upkeep.erase_plan import ErasureRequest
from lamina.store.upkeep.verify import Report
from tests.conftest import Ticking

from . import edits
from .edits import Edit, knife
from .harness import AGENT, ROOT, SEED, check_sound, database_of, size

Clock = Callable[[], datetime]
Head = dict[str, Any]
LAST_MEMORIES = 6
FORMAT = ROOT / "docs" / "format.md"
CODE = re.compile(r"`(\w+)`")


class Base(NamedTuple):
    """A store to copy and never to change, with the head that its owner keeps elsewhere."""

    home: Path
    head: Head


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    """A store with some of everything that a chain speaks about."""
    home, clock = tmp_path_factory.mktemp("base"), ticking()
    for user in (None, "ana", "ben"):
        with lamina.open(AGENT, user=user, home=home, clock=clock) as memory:
            fill(memory, user or "nobody")
    with lamina.operator(AGENT, home=home, clock=clock) as operator:
        for number in range(3):
            operator.import_(foreign_export(tmp_path_factory.mktemp("foreign"), number, clock))
        fill_long_term(operator)
        for read in range(3):
            operator.search(f"degrees {read}")
            operator.backup()  # writes the reads so far, so that their chain has several links
        return Base(home, operator.audit_head())


def ticking() -> Clock:
    """A clock that moves on by a second whenever it is looked at."""
    seconds = iter(range(1_000_000))
    return lambda: datetime(2026, 5, 1, tzinfo=UTC) + timedelta(seconds=next(seconds))


def fill(memory: lamina.Memory, name: str) -> None:
    """Memories with tags, evidence and keys; runs that ended well and badly; one that is still
    open; some reads."""
    first = memory.remember(
        f"{name} likes green tea",
        kind="preference",
        tags=["tea", name],
        importance=0.9,
        key=f"{name}1",
    )
    for n in range(5):
        evidence = [first.id, "https://example.org/tea"] if n % 2 else []
        memory.remember(
            f"{name} drank cup {n}",
            tags=["tea", f"cup{n}"],
            evidence=evidence,
            source="mail",
            key=f"{name}cup{n}",
        )
    memory.remember_many(
        {"content": f"{name} item {n}", "speaker": name, "session": "s1", "metadata": {"n": n}}
        for n in range(4)
    )
    for failure in (None, "the kettle broke"):
        run = memory.run(f"brew for {name}")
        run.note("water is hot", tags=["kettle"])
        run.close(failure=failure)
    memory.run(f"wash up for {name}").note("the cups are still warm")
    memory.search(f"{name} tea")
    memory.get(first.id)


def fill_long_term(operator: lamina.Operator) -> None:
    """Long-term memories of an operator, and at the very end some that stand for
    nothing but themselves."""
    facts = {"origin": "operator", "topic_tags": ["tea"]}
    made = operator.remember(
        "Green tea wants 80 degrees.",
        layer="semantic",
        tags=["tea"],
        metadata=facts,
        confidence=0.8,
    )
    steps = {"workflow": "brew-tea", "canonical": True}
    operator.remember("Boil, wait, pour.", layer="procedural", metadata=steps, evidence=[made.id])
    for n in range(LAST_MEMORIES):
        operator.remember(f"The last thing said, part {n}.", tags=["last"], evidence=[made.id])


def foreign_export(home: Path, number: int, clock: Clock) -> Path:
    """An export of another store; taking it in leaves a note beside its event."""
    with lamina.operator("other", home=home, clock=clock) as operator:
        operator.remember(f"A traveller's tale, number {number}", tags=["tale"])
        return operator.export(home / "export.json", force=True)


def copied(base: Base, to: Path) -> Path:
    """The two databases of a store with their logs, in a home of their own."""
    shutil.rmtree(to, ignore_errors=True)
    database_of(to).parent.mkdir(parents=True)
    for file in database_of(base.home).parent.glob("*.db*"):
        shutil.copy(file, database_of(to).parent)
    return to


def verified(home: Path, head: Head | None = None) -> dict[str, Report]:
    with lamina.operator(AGENT, home=home) as operator:
        return operator.audit_verify(head)


def places(report: Report) -> list[str]:
    return [problem.place for problem in report.problems]


def unnoticed(base: Base, home: Path, name: str, choice: Sequence[Edit], rounds: int) -> str:
    """Try edits in turn, each on a fresh copy; those that were not noticed, or not where they were
    made, line by line."""
    chance = random.Random(SEED)
    missed = []
    for number in range(rounds):
        edit = choice[number % len(choice)]
        copied(base, home)
        with knife(database_of(home, name), chance) as editor:
            expected = edit(editor)
        found = noticed(home, "reads" if name == "reads.db" else "events")
        if not expected & set(found):
            missed.append(
                f"{edit.__name__}: one of {sorted(expected)[:3]} is wrong, but the check says {str(found)[:200]}"
            )
    return "\n".join(missed)


def noticed(home: Path, chain: str) -> list[str]:
    """The places that the check names; what it raises instead, if it does."""
    try:
        return places(verified(home)[chain])
    except Exception as error:  # noqa: BLE001 - an error instead of a report is one more way of not noticing
        return [f"{type(error).__name__} was raised: {error}"]


def test_an_untouched_store_verifies(base: Base, tmp_path: Path) -> None:
    """P4: what nobody touched verifies, alone and against its own head, so that an
    alarm means something."""
    home = copied(base, tmp_path / "home")
    report = verified(home, base.head)
    assert report["events"].ok
    assert report["reads"].ok
    with lamina.operator(AGENT, home=home) as operator:
        check_sound(operator)


@pytest.mark.parametrize(
    ("choice", "rounds"),
    [
        pytest.param(edits.OF_RECORDS, size(quick=44, full=400), id="records"),
        pytest.param(edits.OF_INDEXES, size(quick=24, full=160), id="tags and links"),
        pytest.param(edits.OF_EVENTS, size(quick=30, full=330), id="events"),
        pytest.param(edits.OF_NOTES, size(quick=20, full=110), id="notes"),
    ],
)
def test_every_edit_is_noticed_and_named(
    base: Base, tmp_path: Path, choice: Sequence[Edit], rounds: int
) -> None:
    """P4: whatever is changed in rows, tags, links, events or notes, `audit verify`
    names the place.

    For the chain that is the first event, at or after the edit, that no longer fits.
    """
    assert unnoticed(base, tmp_path / "home", "memory.db", choice, rounds) == ""


def test_every_edit_of_the_reads_is_noticed_and_named(base: Base, tmp_path: Path) -> None:
    """P4: the trail of the reads is a chain like the other, and edits of it are named too."""
    rounds = size(quick=4, full=10) * len(edits.OF_READS)
    assert unnoticed(base, tmp_path / "home", "reads.db", edits.OF_READS, rounds) == ""


def test_broken_values_are_reported_like_any_other_edit(base: Base, tmp_path: Path) -> None:
    """P4: values that are not even JSON or text are reported and named; the check itself never
    fails on them."""
    choice = [*edits.BROKEN_RECORDS, *edits.BROKEN_EVENTS]
    assert unnoticed(base, tmp_path / "home", "memory.db", choice, len(choice)) == ""


def test_broken_values_in_the_reads_are_reported_like_any_other_edit(
    base: Base, tmp_path: Path
) -> None:
    """P4: the same holds for the trail of the reads."""
    choice = edits.BROKEN_EVENTS
    assert unnoticed(base, tmp_path / "home", "reads.db", choice, len(choice)) == ""


def test_reading_a_broken_record_is_a_typed_error(base: Base, tmp_path: Path) -> None:
    """B1: a row that cannot be read as a record is `Corrupt` to whoever reads it, never an error of
    some library."""
    escaped = []
    for edit in edits.BROKEN_RECORDS:
        home = copied(base, tmp_path / "home")
        with knife(database_of(home), random.Random(SEED)) as editor:
            edit(editor)
        if (error := raised_by_reading(home)) is not None:
            escaped.append(f"{edit.__name__}: {error!r}")
    assert escaped == []


def raised_by_reading(home: Path) -> Exception | None:
    """What comes out of a read of all records, unless it is the one error that it may be."""
    with lamina.operator(AGENT, home=home) as operator:
        try:
            operator.list(layers=list(lamina.Layer), states=None, limit=10_000)
        except lamina.Corrupt:
            return None
        except Exception as error:  # noqa: BLE001 - whatever escapes is exactly what the test wants to know
            return error
    return None


def schema_edits(path: Path) -> Iterator[tuple[str, str]]:
    """Everything in a schema that can be taken away without a trace in any row, and some that can
    be put in."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL"
        ).fetchall()
    for kind, name in rows:
        if kind in ("trigger", "view", "index"):
            yield name, f"DROP {kind} {name}"
    yield (
        "silencer",
        "CREATE TRIGGER silencer BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END",
    )
    yield "extra", "CREATE TABLE extra (text TEXT)"


@pytest.mark.parametrize(("name", "chain"), [("memory.db", "events"), ("reads.db", "reads")])
def test_an_edited_schema_is_named(base: Base, tmp_path: Path, name: str, chain: str) -> None:
    """P4: a dropped trigger is a door left open, an added one a trap; both are named,
    in either trail."""
    missed = []
    for part, statement in schema_edits(database_of(base.home, name)):
        home = copied(base, tmp_path / "home")
        with closing(sqlite3.connect(database_of(home, name))) as connection:
            connection.execute(statement)
        if f"schema of {part}" not in noticed(home, chain):
            missed.append(statement)
    assert missed == []


# Every table, and every column of it, as docs/format.md lists them

# How the check names a place in each table; a row that cannot be found any more is named by what it
# belongs to.
NAMED = {
    "events": ("event",),
    "notes": ("note of event",),
    "records": ("record", "link", "event"),
    "tags": ("tag",),
    "links": ("link",),
    "archives": ("archive",),
    "archived": ("archive", "archived record", "record", "link"),
    "grants": ("grant",),
    "rejected": ("rejected value",),
    "erasures": ("erasure", "erased record"),
    "erased": ("erased record", "link", "erasure"),
    "proposed": ("proposals",),
    "slept": ("how far sleep has read",),
    "aged": ("former importance",),
}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose store has rows in every table that is compared with the trail."""
    home, clock = tmp_path_factory.mktemp("crowded"), Ticking()
    with lamina.open(AGENT, user="ana", home=home, clock=clock) as memory:
        said = memory.remember_conversation(
            [{"speaker": "Ana", "text": "I live in Rome."}], session="s1"
        )
        memory.remember("Ana drinks tea", tags=["tea"])
        for number in range(3):
            memory.remember(f"an old crumb {number}", tags=["old"], key=f"old{number}")
        proposal = memory.propose_profile("drink", "tea", "said so", [said[0].id])
    with lamina.open("milton", home=home, clock=clock) as other:
        other.remember("a neighbour")
    with lamina.operator(AGENT, user="ana", home=home, clock=clock) as anas:
        anas.grant("milton", tag="tea", expires=clock.now + timedelta(days=900))
    with lamina.operator(AGENT, home=home, clock=clock) as operator:
        operator.prune(tags=["old"])
        operator.reject(proposal.id, "no")
        operator.revoke_grant(operator.grant("milton", layer="episodic").number)
        operator.grant("milton", record=said[0].id)
        operator.erase(operator.remember("Ana hides pomegranates", key="hidden").id)
        left = operator.remember("Ana hides tangerines too")
        operator._parts.erasures.begin(ErasureRequest((left.id,)))  # a crash before the certificate
        clock.jump(timedelta(days=400))
        operator.sleep()
    with lamina.open(AGENT, home=home, clock=clock) as memory:
        memory.propose_profile("town", "Rome", "said so", [said[0].id])
    return home


def twin(home: Path, to: Path) -> Path:
    """A copy of a whole home, to be altered."""
    shutil.rmtree(to, ignore_errors=True)
    return Path(shutil.copytree(home, to))


class Protection(NamedTuple):
    """What docs/format.md says of a table: with what it is compared, and which of its columns are
    not."""

    compared: str
    exempt: frozenset[str]


def documented() -> dict[str, Protection]:
    """The table of docs/format.md that says what protects each table."""
    section = FORMAT.read_text("utf-8").split("## What protects each table")[1].split("\n## ")[0]
    found: dict[str, Protection] = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            names, compared, exempt, _ = (cell.strip() for cell in line.strip("|").split("|", 3))
            assert compared in ("trail", "records", "nothing"), line
            for name in CODE.findall(names):
                found[name] = Protection(compared, frozenset(CODE.findall(exempt)))
    return found


def tables(path: Path) -> set[str]:
    """The tables of a database, without those that the full-text index keeps for itself."""
    with closing(sqlite3.connect(path)) as connection:
        query = (
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*' "
            "AND name NOT GLOB 'words_*'"
        )
        return {name for (name,) in connection.execute(query)}


def test_the_documentation_says_of_every_table_what_protects_it(crowded: Path) -> None:
    """P4: no table of a store, in a file or on a server, is missing from the list, and the list has
    no others."""
    in_files = tables(database_of(crowded)) | tables(database_of(crowded, "reads.db"))
    schema = (
        resources.files("lamina.store.tables.postgres").joinpath("schema.sql").read_text("utf-8")
    )
    on_servers = set(re.findall(r"CREATE TABLE lamina\.(\w+)", schema))
    assert in_files - documented().keys() == set()
    assert on_servers - documented().keys() == set()
    assert documented().keys() - in_files - on_servers == set()
    assert {name for name, told in documented().items() if told.compared == "trail"} == {
        *NAMED,
        "meta",
        "files",
    }


def columns(path: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def unnamed(home: Path, table: str, edit: Edit) -> str | None:
    """What the check says after an edit, unless it names a place in the table."""
    with knife(database_of(home), random.Random(SEED)) as editor:
        edit(editor)
    found = noticed(home, "events")
    return (
        None
        if any(place.startswith(NAMED[table]) for place in found)
        else f"{edit.__name__}: {found}"
    )


@pytest.mark.parametrize("table", NAMED)
def test_every_protected_column_is_compared(crowded: Path, tmp_path: Path, table: str) -> None:
    """P4: a value of any column that the documentation calls protected is altered, and `audit
    verify` names the place."""
    exempt = documented()[table].exempt
    chosen = [
        edits.altered_column(table, name)
        for name in columns(database_of(crowded), table)
        if name not in exempt
    ]
    missed = [
        unnamed(twin(crowded, tmp_path / "home"), table, edit)
        for edit in (*chosen, edits.removed_row(table))
    ]
    assert [one for one in missed if one is not None] == []


def test_meta_is_compared(crowded: Path, tmp_path: Path) -> None:
    """P4: neither the identity of a store nor a name that nobody knows is altered unnoticed."""
    home = twin(crowded, tmp_path / "home")
    with knife(database_of(home), random.Random(SEED)) as editor:
        editor.insert("meta", {"name": "anything", "value": "x"})
    assert "meta anything" in noticed(home, "events")
    home = twin(crowded, tmp_path / "home")
    with knife(database_of(home), random.Random(SEED)) as editor:
        edits.identity_changed(editor)
    assert "event 1" in noticed(home, "events")


def test_a_stray_never_takes_memories_away(crowded: Path, tmp_path: Path) -> None:
    """P4, L11: a row that dooms a file with memories in it, or no archive at all, removes nothing
    and is named."""
    home = twin(crowded, tmp_path / "home")
    with knife(database_of(home), random.Random(SEED)) as editor:
        file = editor.row("archives")["file"]
        for name in (file, "../../config.toml"):
            editor.insert("strays", {"file": name, "doomed": 1})
    assert {f"stray {file}", "stray ../../config.toml"} <= set(noticed(home, "events"))
    assert (database_of(home).parent / file).is_file()


# What only a head that was kept elsewhere can show


@pytest.mark.parametrize("number", range(1, LAST_MEMORIES + 1))
def test_a_cut_tail_shows_against_a_head(base: Base, tmp_path: Path, number: int) -> None:
    """P4: events cut off with everything that only they know cannot be seen from inside; a head
    that was kept shows it."""
    home = copied(base, tmp_path / "home")
    with knife(database_of(home), random.Random(SEED)) as editor:
        edits.cut_with_records(editor, number)
    assert verified(home)["events"].ok
    assert places(verified(home, base.head)["events"]) == [f"event {base.head['events']['seq']}"]


@pytest.mark.parametrize(("name", "chain"), [("memory.db", "events"), ("reads.db", "reads")])
def test_a_rewritten_chain_shows_against_a_head(
    base: Base, tmp_path: Path, name: str, chain: str
) -> None:
    """P4: a chain made anew from its seed, with other words in every event, holds by itself; a head
    that was kept shows it."""
    home = copied(base, tmp_path / "home")
    with knife(database_of(home, name), random.Random(SEED)) as editor:
        edits.rewrite(editor, chain)
    assert verified(home)[chain].ok
    assert places(verified(home, base.head)[chain]) == [f"event {base.head[chain]['seq']}"]


def test_a_cut_tail_of_reads_shows_against_a_head(base: Base, tmp_path: Path) -> None:
    """P4: reads that were cut off, one after another until none is left, show against a head."""
    last = base.head["reads"]["seq"]
    assert last > 1
    for number in range(1, last + 1):
        home = copied(base, tmp_path / "home")
        with knife(database_of(home, "reads.db"), random.Random(SEED)) as editor:
            edits.cut(editor, number)
        assert verified(home)["reads"].ok
        assert places(verified(home, base.head)["reads"]) == [f"event {last}"]


def test_a_lost_trail_of_reads_shows_against_a_head(base: Base, tmp_path: Path) -> None:
    """P4: the whole file of the reads taken away is only seen by whoever kept a head."""
    home = copied(base, tmp_path / "home")
    database_of(home, "reads.db").unlink()
    assert places(verified(home, base.head)["reads"]) == [f"event {base.head['reads']['seq']}"]


def test_another_history_under_the_same_name_shows_against_a_head(
    base: Base, tmp_path: Path
) -> None:
    """P4: a store made from scratch with the id of the true one verifies by itself; against a head
    it does not."""
    for memories in (0, 1, base.head["events"]["seq"], 2 * base.head["events"]["seq"]):
        home = tmp_path / f"home{memories}"
        with connect(Role.OPERATOR, AGENT, home=home, store_id=base.head["store"]) as forger:
            for n in range(memories):
                forger.remember(f"it was never like that, part {n}")
        assert verified(home)["events"].ok
        assert places(verified(home, base.head)["events"]) == [
            f"event {base.head['events']['seq']}"
        ]


def test_a_store_with_another_id_does_not_pass_for_the_true_one(base: Base, tmp_path: Path) -> None:
    """P4: the head of one store says of any other that it was exchanged."""
    with lamina.operator(AGENT, home=tmp_path) as operator:
        operator.remember("a store of its own")
        with pytest.raises(lamina.Corrupt, match="exchanged"):
            operator.audit_verify(base.head)


def test_a_store_of_another_agent_does_not_open(base: Base, tmp_path: Path) -> None:
    """P2, P4: an edited or moved identity is refused before anything is read."""
    home = copied(base, tmp_path / "home")
    with knife(database_of(home), random.Random(SEED)) as editor:
        editor.update("meta", {"name": "agent"}, value="other")
    with pytest.raises(lamina.Corrupt):
        lamina.operator(AGENT, home=home)
