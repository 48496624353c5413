"""Our statements as PostgreSQL spells them: what differs is spelled anew, everything else stays as
it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lamina.store.engine.postgres.dialect import spelled
from tests.cases import every

STORE = Path(__file__).parents[3] / "src" / "lamina" / "store"
LITERAL = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"")
BARE_USER = re.compile(r"\buser\b")
BEGINNINGS = ("SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH ")


@every(
    ("statement", "expected"),
    [
        ("SELECT a FROM b WHERE c = ? AND d = ?", "SELECT a FROM b WHERE c = $1 AND d = $2"),
        ("SELECT ?2, ?1, ?2", "SELECT $2, $1, $2"),
        ("WHERE ? IS NULL OR user = ?", 'WHERE $1::text IS NULL OR "user" = $2'),
        ("WHERE ?1 IS NULL OR user = ?1", 'WHERE $1::text IS NULL OR "user" = $1'),
        (
            "SELECT user, \"user\", 'user' FROM records AS r WHERE r.user = ?",
            'SELECT "user", "user", \'user\' FROM records AS r WHERE r."user" = $1',
        ),
        ("SELECT users, user_id FROM superuser", "SELECT users, user_id FROM superuser"),
        (
            "INSERT INTO a (b) VALUES (?) ON CONFLICT (b) DO NOTHING",
            "INSERT INTO a (b) VALUES ($1) ON CONFLICT (owner, b) DO NOTHING",
        ),
        (
            "INSERT INTO a (b) VALUES (?) ON CONFLICT DO NOTHING",
            "INSERT INTO a (b) VALUES ($1) ON CONFLICT DO NOTHING",
        ),
        (
            "SELECT a FROM b WHERE c IN () AND d IN (?)",
            "SELECT a FROM b WHERE c = ANY ('{}') AND d IN ($1)",
        ),
        ("SELECT a FROM b WHERE c NOT IN ()", "SELECT a FROM b WHERE c <> ALL ('{}')"),
        (
            "WHERE id IN (SELECT value FROM json_each(?)) AND a = ?",
            "WHERE id = ANY (ARRAY(SELECT value FROM json_each($1))) AND a = $2",
        ),
        (
            "WHERE id NOT IN (SELECT value FROM json_each(?3))",
            "WHERE id <> ALL (ARRAY(SELECT value FROM json_each($3)))",
        ),
        ("SELECT group_concat(record) FROM x", "SELECT string_agg(record::text, ',') FROM x"),
        ("SELECT metadata ->> 'a' FROM x", "SELECT metadata::json ->> 'a' FROM x"),
        (
            "SELECT r.body -> 'a' -> 'b' FROM x AS r",
            "SELECT r.body::json -> 'a' -> 'b' FROM x AS r",
        ),
        ("SELECT '?', \"?\", 'it''s ? user', ?", "SELECT '?', \"?\", 'it''s ? user', $1"),
        (
            "SELECT 'ON CONFLICT (' || 'group_concat(a)'",
            "SELECT 'ON CONFLICT (' || 'group_concat(a)'",
        ),
        ("SELECT '%s', a % 2", "SELECT '%s', a % 2"),
    ],
)
def test_what_differs_is_spelled_anew(statement: str, expected: str) -> None:
    """B3: parameters, typeless nothing, the column `user`, conflicts, lists and JSON; and nothing
    within quotes."""
    assert spelled(statement) == expected


@given(
    st.lists(
        st.sampled_from(
            (
                "SELECT FROM records WHERE seq = 5 AND ( ) , || <> 'a ? b' \"c\" count(*) LIMIT "
                "-1 ::bigint"
            ).split(" ")
        )
    )
)
def test_a_statement_without_differences_stays(words: list[str]) -> None:
    """B3: what both understand is not touched."""
    statement = " ".join(words)
    if (
        statement.count("'") % 2 == 0
        and statement.count('"') % 2 == 0
        and "?" not in LITERAL.sub("", statement)
    ):
        assert spelled(statement) == statement


PIECES = st.sampled_from(
    [
        "user",
        "r.user",
        "?",
        "?3",
        "'it''s user ?'",
        '"user"',
        "? IS NULL",
        "ON CONFLICT (name)",
        "meta ->> 'x'",
        "=",
        "AND",
        ",",
    ]
)


@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_no_name_of_a_role_survives(statement: str) -> None:
    """B3, R12: bare, `user` would be the name of the role that is connected; it never is, and no
    question mark is left."""
    bare = LITERAL.sub("", spelled(statement))
    assert not BARE_USER.search(bare)
    assert "?" not in bare


@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_spelling_again_changes_no_parameter(statement: str) -> None:
    """B3: parameters are counted as they stand, and numbered ones keep their numbers."""
    counted = re.findall(r"\?\d*", LITERAL.sub("", statement))
    numbers = re.findall(r"\$(\d+)", LITERAL.sub("", spelled(statement)))
    assert len(numbers) == len(counted)
    plain = [number for number, given in zip(numbers, counted, strict=True) if given == "?"]
    assert plain == sorted(plain, key=int)


def statements() -> Iterator[tuple[str, str]]:
    """The statements that the store has as whole texts."""
    for path in STORE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and node.value.startswith(BEGINNINGS)
            ):
                yield path.name, node.value


def test_our_own_statements() -> None:
    """B3: there are many, and none of them is left with something that PostgreSQL
    takes for another."""
    found = list(statements())
    assert len(found) > 100
    for name, statement in found:
        bare = LITERAL.sub("", spelled(statement))
        assert not BARE_USER.search(bare), (name, statement)
        assert "?" not in bare, (name, statement)
        assert "group_concat" not in bare, (name, statement)
