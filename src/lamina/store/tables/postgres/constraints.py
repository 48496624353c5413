"""Check that the triggers, functions, views and rights of a database are the ones we created."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

from lamina.store.engine.sql import Connection

TRIGGER = re.compile(r"CREATE TRIGGER (\w+) [^;]+", re.S)
FUNCTION = re.compile(
    r"CREATE FUNCTION lamina\.(\w+)\([^$;]{0,999}?"
    r"(?:\$\$(?P<body>[^$]*+)\$\$|^RETURN (?P<value>[^;]*+));\n",
    re.M,
)
OWN = "owner = lamina.owner()"
IN_SCHEMA = "JOIN pg_namespace n ON n.oid = {} WHERE n.nspname = '{}'"
TRIGGERS = (
    "SELECT tgname, pg_get_triggerdef(t.oid), tgenabled = 'O' FROM pg_trigger t"
    f" JOIN pg_class c ON c.oid = t.tgrelid {IN_SCHEMA.format('c.relnamespace', 'lamina')}"
    " AND NOT tgisinternal"
)
FUNCTIONS = (
    "SELECT proname, pg_get_functiondef(p.oid) FROM pg_proc p"
    f" {IN_SCHEMA.format('p.pronamespace', 'lamina')}"
)
# Rights of PUBLIC (grantee 0). There must be none: a role that may write a row may also lock it,
# which would block all writers.
PUBLIC = (
    "SELECT 'schema ' || nspname, privilege_type FROM pg_namespace n, aclexplode(n.nspacl)"
    " WHERE grantee = 0 AND nspname IN ('lamina', 'lamina_own') UNION ALL"
    " SELECT 'table ' || nspname || '.' || relname, privilege_type FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl)"
    " WHERE grantee = 0 AND nspname IN ('lamina', 'lamina_own') ORDER BY 1, 2"
)
VIEWS = "SELECT viewname, definition FROM pg_views WHERE schemaname = 'lamina_own'"


def problems(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield missing, disabled or altered triggers, functions and views, and rights of PUBLIC."""
    schema = resources.files("lamina.store.tables.postgres").joinpath("schema.sql")
    expected = schema.read_text("utf-8")
    triggers = {name: (text, is_on) for name, text, is_on in connection.execute(TRIGGERS)}
    for trigger in TRIGGER.finditer(expected):
        name = trigger[1]
        text, is_on = triggers.get(name, ("", False))
        if not is_on:
            yield f"trigger {name}", "it is gone, or was switched off"
        elif _normalised(text) != _normalised(trigger[0]):
            yield f"trigger {name}", "it is not as made"
    functions = dict(connection.execute(FUNCTIONS))
    for function in FUNCTION.finditer(expected):
        name = function[1]
        # The server writes the name of the function in front of its parameters.
        text = functions.get(name, "").replace(f"{name}.", "")
        if _normalised(function["body"] or function["value"]) not in _normalised(text):
            yield f"function {name}", "it is not as made"
    for name, text in connection.execute(VIEWS):
        if OWN not in text:
            yield f"view {name}", "it is not as made"
    for what, right in connection.execute(PUBLIC):
        remedy = "take it away with REVOKE … FROM PUBLIC"
        yield what, f"every role of the server has the right {right}; {remedy}"


def _normalised(statement: str) -> str:
    """Remove what a server formats in its own way: space, brackets, case, comments and casts."""
    bare = re.sub(r"--[^\n]*|::text|\bAS\b", "", statement)
    return re.sub(r"[\s()]", "", bare).lower()
