"""Whether the rules that a database keeps for us are those that we gave it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

from lamina.store.engine.sql import Connection

TRIGGER = re.compile(r"CREATE TRIGGER (\w+) [^;]+", re.S)
FUNCTION = re.compile(
    r"CREATE FUNCTION lamina\.(\w+)\([^$;]{0,999}?(?:\$\$(?P<body>[^$]*+)\$\$|^RETURN (?P<value>[^;]*+));\n",
    re.M,
)
OWN = "owner = lamina.owner()"
IN_SCHEMA = "JOIN pg_namespace n ON n.oid = {} WHERE n.nspname = '{}'"
TRIGGERS = (
    "SELECT tgname, pg_get_triggerdef(t.oid), tgenabled = 'O' FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
    f" {IN_SCHEMA.format('c.relnamespace', 'lamina')} AND NOT tgisinternal"
)
FUNCTIONS = f"SELECT proname, pg_get_functiondef(p.oid) FROM pg_proc p {IN_SCHEMA.format('p.pronamespace', 'lamina')}"
# Of everybody (0), which is nobody's to give: whoever may write a row may also lock it, and so keep all writers waiting.
PUBLIC = (
    "SELECT 'schema ' || nspname, privilege_type FROM pg_namespace n, aclexplode(n.nspacl)"
    " WHERE grantee = 0 AND nspname IN ('lamina', 'lamina_own') UNION ALL"
    " SELECT 'table ' || nspname || '.' || relname, privilege_type FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl)"
    " WHERE grantee = 0 AND nspname IN ('lamina', 'lamina_own') ORDER BY 1, 2"
)
VIEWS = "SELECT viewname, definition FROM pg_views WHERE schemaname = 'lamina_own'"


def problems(connection: Connection) -> Iterator[tuple[str, str]]:
    """Every trigger, function and view that is gone, asleep, or says something else, and every right of everybody."""
    made = resources.files("lamina.store.tables.postgres").joinpath("schema.sql").read_text("utf-8")
    triggers = {name: (said, awake) for name, said, awake in connection.execute(TRIGGERS)}
    for found in TRIGGER.finditer(made):
        said, awake = triggers.get(found[1], ("", False))
        if not awake:
            yield f"trigger {found[1]}", "it is gone, or was switched off"
        elif _plain(said) != _plain(found[0]):
            yield f"trigger {found[1]}", "it is not as made"
    functions = dict(connection.execute(FUNCTIONS))
    for found in FUNCTION.finditer(made):
        said = functions.get(found[1], "").replace(
            f"{found[1]}.", ""
        )  # the server writes whose a parameter is
        if _plain(found["body"] or found["value"]) not in _plain(said):
            yield f"function {found[1]}", "it is not as made"
    for name, said in connection.execute(VIEWS):
        if OWN not in said:
            yield f"view {name}", "it is not as made"
    for what, right in connection.execute(PUBLIC):
        yield (
            what,
            f"every role of the server has the right {right}; take it away with REVOKE … FROM PUBLIC",
        )


def _plain(statement: str) -> str:
    """A statement without what a server writes in its own way: spaces, brackets, case, comments and types of constants."""
    bare = re.sub(r"--[^\n]*|::text|\bAS\b", "", statement)
    return re.sub(r"[\s()]", "", bare).lower()
