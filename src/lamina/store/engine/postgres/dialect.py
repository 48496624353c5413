"""Translate our SQL for PostgreSQL: statements are written once, and only a few words differ."""

from __future__ import annotations

import functools
import re

PARTS = re.compile(
    r"""(?P<literal>'(?:[^']|'')*')                     # left as it is
      | (?P<quoted>"[^"]*")
      | (?P<not>NOT\ )?IN\ \(                           # as an array, so that an index serves
        (?P<listed>SELECT\ (?:CAST\(value\ AS\ BIGINT\)|value)\ FROM\ json_each\()
        \?(?P<which>\d*)\)\)
      | \?(?P<number>\d*)(?P<null>\ IS\ NULL)?          # numbered, and NULL needs a type
      | (?P<json>\b[a-z_]+(?:\.[a-z_]+)?)(?=\ ->>?\ )   # JSON is kept as text
      | (?P<user>\buser\b)                              # bare, it would be the connected role
      | (?P<conflict>\bON\ CONFLICT\ \()                # every key begins with the owner
      | (?P<none>(?:\bNOT\ )?\bIN\ \(\))                # an empty list is not allowed
      | (?P<concat>\bgroup_concat\((?P<column>\w+)\))""",
    re.VERBOSE,
)


@functools.lru_cache(1024)
def spelled(statement: str) -> str:
    """Translate a statement for PostgreSQL."""
    parameters = 0

    def numbered(number: str) -> str:
        nonlocal parameters
        parameters += 1
        return f"${number or parameters}"

    def spell(part: re.Match[str]) -> str:
        if part["literal"] or part["quoted"]:
            return part[0]
        if part["listed"]:
            comparison = "<> ALL" if part["not"] else "= ANY"
            return f"{comparison} (ARRAY({part['listed']}{numbered(part['which'])})))"
        if part["json"]:
            return f"{part[0]}::json"
        if part["user"]:
            return '"user"'
        if part["none"]:
            return "<> ALL ('{}')" if part[0].startswith("NOT") else "= ANY ('{}')"
        if part["conflict"]:
            return "ON CONFLICT (owner, "
        if part["concat"]:
            return f"string_agg({part['column']}::text, ',')"
        return numbered(part["number"]) + ("::text IS NULL" if part["null"] else "")

    return PARTS.sub(spell, statement)
