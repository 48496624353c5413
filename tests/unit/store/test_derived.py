"""What is derived: whatever was done to it, `reindex` makes it anew from the records."""

from __future__ import annotations

from lamina.memory.importance import NAME
from tests.cases import check_all
from tests.conftest import Desk, contents, quietly, verified
from tests.contract.living import derived_tables, unsound

# What somebody could write into each table that can be made anew.
DAMAGE = {
    "tags": ["INSERT INTO tags VALUES ('lie', 1)", "UPDATE tags SET record = 1"],
    "links": ["UPDATE links SET relation = 'supersedes'", "UPDATE links SET record = 1"],
    "words": [
        "UPDATE words_data SET block = x'00'",
        "DELETE FROM words_docsize",
        "DELETE FROM words_data",
    ],
    "facets": ["INSERT INTO facets VALUES ('@place', 'x', 1)", "UPDATE facets SET value = 'Rome'"],
    "spaces": ["UPDATE spaces SET dimensions = 3", "UPDATE spaces SET seen = 9999"],
    "vectors": ["UPDATE vectors SET vector = x'00'", "DELETE FROM vectors WHERE record > 7"],
    "blocks": ["UPDATE blocks SET columns = x'00'", "UPDATE blocks SET block = block + 5"],
    "codes": ["UPDATE codes SET bits = x'00'", "UPDATE codes SET space = 99"],
    "tokens": ["INSERT INTO tokens (space, record, codes) VALUES (1, 1, x'00')"],
    "days": ["INSERT INTO days VALUES (0, 99999, 1)", "UPDATE days SET since = 0"],
    "models": [f"INSERT INTO models (name, body, made_at) VALUES ('{NAME}', '{{', 0)"],
    "meta": ["DELETE FROM meta WHERE name IN ('analyser', 'blocks')"],
}


def test_all_derived_tables_are_damaged_here() -> None:
    """P4: a table that docs/format.md calls derived has its damage in this file."""
    assert {*derived_tables(), "meta"} == DAMAGE.keys()


def test_reindex_mends_what_is_derived(desk: Desk) -> None:
    """P4, Q6: after any damage to what is derived, `reindex` leaves a store in which doctor and the
    trail find nothing, searches answer as before, and memories are taken."""
    op = desk.operator()
    source = op.remember("Ana said so")
    metadata = {"city": "Porto"}
    op.remember("the boiler is old", tags=["house"], metadata=metadata, evidence=[source.id])
    op.remember_many({"content": f"tea on {1 + n % 28} May 2026"} for n in range(600))
    op.index()
    path = desk.folder() / "memory.db"
    tables = ("tags", "links", "facets", "blocks", "codes", "days", "vectors", "tokens")

    def seen() -> list[object]:
        reader = op._scope.store.database.reader()
        found = [sorted(reader.execute(f"SELECT * FROM {table}")) for table in tables]
        questions = ("old boiler", "tea on 3 May 2026")
        return [*found, *(contents(op.search(question)) for question in questions)]

    def check(statement: str) -> None:
        op.index()
        before = seen()
        quietly(path, statement)
        op.reindex()
        assert unsound(op) == []
        assert verified(op)
        assert seen() == before
        desk.operator().remember_short("still here")

    check_all([statement for some in DAMAGE.values() for statement in some], check)
