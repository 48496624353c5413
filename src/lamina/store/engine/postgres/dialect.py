"""Our SQL as PostgreSQL spells it. The statements are written once; what differs is a handful of words."""

from __future__ import annotations

import functools
import re

PARTS = re.compile(
    r"""(?P<literal>'(?:[^']|'')*')                     # left as it is
      | (?P<quoted>"[^"]*")
      | (?P<not>NOT\ )?IN\ \((?P<listed>SELECT\ (?:CAST\(value\ AS\ BIGINT\)|value)\ FROM\ json_each\()\?(?P<which>\d*)\)\)
                                                       # as an array, so that an index serves
      | \?(?P<number>\d*)(?P<null>\ IS\ NULL)?          # parameters are numbered, and nothing is of a type
      | (?P<json>\b[a-z_]+(?:\.[a-z_]+)?)(?=\ ->>?\ )    # JSON is kept as text
      | (?P<user>\buser\b)                              # bare, it would be the name of the role that is connected
      | (?P<conflict>\bON\ CONFLICT\ \()                # every key begins with the owner
      | (?P<none>(?:\bNOT\ )?\bIN\ \(\))                # of nothing, there is no list
      | (?P<concat>\bgroup_concat\((?P<column>\w+)\))""",
    re.VERBOSE,
)


@functools.lru_cache(1024)
def spelled(statement: str) -> str:
    """A statement for PostgreSQL."""
    given = 0

    def numbered(number: str) -> str:
        nonlocal given
        given += 1
        return f"${number or given}"

    def spell(found: re.Match[str]) -> str:
        if found["literal"] or found["quoted"]:
            return found[0]
        if found["listed"]:
            return f"{'<> ALL' if found['not'] else '= ANY'} (ARRAY({found['listed']}{numbered(found['which'])})))"
        if found["json"]:
            return f"{found[0]}::json"
        if found["user"]:
            return '"user"'
        if found["none"]:
            return "<> ALL ('{}')" if found[0].startswith("NOT") else "= ANY ('{}')"
        if found["conflict"]:
            return "ON CONFLICT (owner, "
        if found["concat"]:
            return f"string_agg({found['column']}::text, ',')"
        return numbered(found["number"]) + ("::text IS NULL" if found["null"] else "")

    return PARTS.sub(spell, statement)
