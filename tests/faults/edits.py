"""Edits of a store behind its back, with the SQLite of the standard library, and where each
must be noticed."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from lamina.model import hashing
from lamina.store.tables import records

from .harness import AGENT

Row = dict[str, Any]
Places = set[str]
# Edits a database, and returns the places of which the check must name at least one.
Edit = Callable[["Editor"], Places]


class Editor:
    """One database under the knife: rows as dictionaries, the triggers out of the way, everything
    else as it was."""

    def __init__(self, connection: sqlite3.Connection, chance: random.Random) -> None:
        connection.row_factory = sqlite3.Row
        self.run = connection.execute
        self.chance = chance

    def rows(self, table: str) -> list[Row]:
        return [dict(row) for row in self.run(f"SELECT * FROM {table}")]

    def row(self, table: str) -> Row:
        return self.chance.choice(self.rows(table))

    def events(self) -> list[Row]:
        return [
            dict(row)
            for row in self.run("SELECT seq, records, body, hash FROM events ORDER BY seq")
        ]

    def event(self, *, but_the_last: int = 0) -> Row:
        events = self.events()
        return self.chance.choice(events[: len(events) - but_the_last])

    def insert(self, table: str, row: Row) -> None:
        self.run(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
            tuple(row.values()),
        )

    def update(self, table: str, key: Row, /, **values: Any) -> None:
        settings, where = (" = ?, ".join(values) + " = ?", " = ? AND ".join(key) + " = ?")
        done = self.run(
            f"UPDATE {table} SET {settings} WHERE {where}", (*values.values(), *key.values())
        )
        assert done.rowcount == 1

    def delete(self, table: str, key: Row) -> None:
        done = self.run(
            f"DELETE FROM {table} WHERE {' = ? AND '.join(key)} = ?", tuple(key.values())
        )
        assert done.rowcount == 1


@contextmanager
def knife(path: Path, chance: random.Random) -> Iterator[Editor]:
    """Edit a database so that only the edit itself can give it away: triggers are put back
    as they were."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        yield Editor(connection, chance)
        for _, sql in triggers:
            connection.execute(sql)


# Records


def other_text(editor: Editor, value: Any) -> Any:
    return editor.chance.choice(
        [f"{value}x", f"{value} ", "something else", *(() if value is None else (None,))]
    )


def other_id(editor: Editor, value: Any) -> Any:
    return editor.chance.choice([row["id"] for row in editor.rows("records") if row["id"] != value])


def new_id(editor: Editor, value: str) -> str:
    return value[:-1] + ("0" if value[-1] != "0" else "1")


def other_json(editor: Editor, value: str) -> str:
    candidates = [
        "[]",
        '["one"]',
        '["one","two"]',
        "{}",
        '{"one":1}',
        value.replace(",", ", ") + " ",
    ]
    return editor.chance.choice([text for text in candidates if text != value])


def other_number(editor: Editor, value: int | None) -> int | None:
    return (
        editor.chance.choice([1, 10**15])
        if value is None
        else value + editor.chance.choice([-1, 1, 10**6])
    )


def other_share(editor: Editor, value: float) -> float:
    return editor.chance.choice(
        [share for share in (0.0, value / 2 + 0.01, 0.123, 1.0) if share != value]
    )


def other_of(*choices: str) -> Callable[[Editor, str], str]:
    return lambda editor, value: editor.chance.choice(
        [choice for choice in choices if choice != value]
    )


def other_salt(editor: Editor, _: bytes) -> bytes:
    return editor.chance.randbytes(16)


LAYERS = (
    "working",
    "short_term",
    "episodic",
    "semantic",
    "procedural",
    "profile",
    "world",
    "attic",
)
OTHER_VALUES: dict[str, Callable[[Editor, Any], Any]] = {
    "seq": lambda editor, value: value + 10_000,
    "id": new_id,
    "layer": other_of(*LAYERS),
    "state": other_of("active", "constrained", "superseded", "tombstoned", "gone"),
    "kind": other_of("fact", "crumb", "request"),
    "content": lambda editor, value: editor.chance.choice(
        [value + " ", value.upper(), value[:-1], ""]
    ),
    "importance": other_share,
    "confidence": other_share,
    "trust": other_of("operator", "agent", "external", "everyone"),
    "superseded_by": other_id,
    "salt": other_salt,
    **dict.fromkeys(("user", "source", "speaker", "session", "run_id", "key"), other_text),
    **dict.fromkeys(("tags", "metadata", "evidence", "supersedes"), other_json),
    **dict.fromkeys(("occurred_at", "created_at", "updated_at", "event"), other_number),
    **dict.fromkeys(("promoted_at", "valid_from", "valid_to", "last_verified"), other_number),
}


def column_edit(column: str) -> Edit:
    def edit(editor: Editor) -> Places:
        row = editor.row("records")
        value = OTHER_VALUES[column](editor, row[column])
        editor.update("records", {"seq": row["seq"]}, **{column: value})
        return {f"record {row['id']}", f"record {value}"}

    edit.__name__ = f"records.{column}"
    return edit


def record_deleted(editor: Editor) -> Places:
    row = editor.row("records")
    editor.delete("records", {"seq": row["seq"]})
    return {f"record {row['id']}"}


def record_duplicated(editor: Editor) -> Places:
    row = editor.row("records")
    twin = row | {"seq": row["seq"] + 10_000, "id": new_id(editor, row["id"]), "key": None}
    editor.insert("records", twin)
    return {f"record {twin['id']}"}


def record_contents_swapped(editor: Editor) -> Places:
    one, other = editor.chance.sample(editor.rows("records"), 2)
    editor.update("records", {"seq": one["seq"]}, content=other["content"] + ".")
    editor.update("records", {"seq": other["seq"]}, content=one["content"] + ".")
    return {f"record {one['id']}", f"record {other['id']}"}


OF_RECORDS: list[Edit] = [
    *map(column_edit, records.COLUMNS),
    record_deleted,
    record_duplicated,
    record_contents_swapped,
]


# Tags and links


def table_edits(table: str, place: str, invented: Callable[[Editor, Row], Row]) -> list[Edit]:
    """Rows of an index table inserted, deleted and altered."""

    def named(*rows: Row) -> Places:
        return {
            f"{place} {next(iter(row.values()))!r} of record number {row['record']}" for row in rows
        }

    def inserted(editor: Editor) -> Places:
        row = invented(editor, editor.row(table))
        editor.insert(table, row)
        return named(row)

    def deleted(editor: Editor) -> Places:
        row = editor.row(table)
        editor.delete(table, row)
        return named(row)

    def altered(editor: Editor) -> Places:
        row = editor.row(table)
        new = invented(editor, row)
        editor.update(table, row, **new)
        return named(row, new)

    for edit in (inserted, deleted, altered):
        edit.__name__ = f"{table} {edit.__name__}"
    return [inserted, deleted, altered]


def invented_tag(editor: Editor, row: Row) -> Row:
    known = {(other["tag"], other["record"]) for other in editor.rows("tags")}
    tags = [
        ("invented", row["record"]),
        *((row["tag"], other["seq"]) for other in editor.rows("records")),
    ]
    tag, record = editor.chance.choice([pair for pair in tags if pair not in known])
    return {"tag": tag, "record": record}


def invented_link(editor: Editor, row: Row) -> Row:
    known = [tuple(other.values()) for other in editor.rows("links")]
    seqs, ids = zip(*((other["seq"], other["id"]) for other in editor.rows("records")), strict=True)
    while True:
        link = {
            "target": editor.chance.choice([row["target"], *ids]),
            "relation": editor.chance.choice(["evidence", "supersedes"]),
            "record": editor.chance.choice([row["record"], *seqs]),
        }
        if tuple(link.values()) not in known:
            return link


OF_INDEXES: list[Edit] = [
    *table_edits("tags", "tag", invented_tag),
    *table_edits("links", "link", invented_link),
]


# The chain


def altered_body(editor: Editor, body: str) -> str:
    """Another body that is a body too: who, when, which number, which records, or only a space."""
    fields = hashing.decode(body)
    name, value = editor.chance.choice(
        [
            ("actor", "operator:somebody"),
            ("action", "forget"),
            ("at", fields["at"] + 1),
            ("records", fields["records"] + 1),
            ("seq", fields["seq"] + 1),
            (
                "changes",
                fields.get("changes", [])[1:] or [{"id": "made-up", "hash": "00", "after": {}}],
            ),
            ("surface", "nowhere"),
        ]
    )
    return editor.chance.choice([hashing.encode(fields | {name: value}).decode(), body + " "])


def sealed(previous: bytes, body: str) -> bytes:
    return hashing.chain_hash(previous, body.encode())


def event_text_changed(editor: Editor) -> Places:
    event = editor.event()
    editor.update("events", {"seq": event["seq"]}, body=altered_body(editor, event["body"]))
    return {f"event {event['seq']}"}


def event_hash_changed(editor: Editor) -> Places:
    event = editor.event()
    editor.update("events", {"seq": event["seq"]}, hash=editor.chance.randbytes(32))
    return {f"event {event['seq']}"}


def event_column_changed(editor: Editor) -> Places:
    event = editor.event()
    editor.update(
        "events", {"seq": event["seq"]}, records=event["records"] + editor.chance.choice([-1, 1])
    )
    return {f"event {event['seq']}"}


def event_resealed(editor: Editor) -> Places:
    """A body changed and its own hash made to fit again: the next link gives it away."""
    event = editor.event(but_the_last=1)
    before = [other["hash"] for other in editor.events() if other["seq"] == event["seq"] - 1]
    body = altered_body(editor, event["body"])
    previous = before[0] if before else seed_of(editor)
    editor.update("events", {"seq": event["seq"]}, body=body, hash=sealed(previous, body))
    return {f"event {event['seq']}", f"event {event['seq'] + 1}"}


def event_deleted(editor: Editor) -> Places:
    event = editor.event(but_the_last=1)
    editor.delete("events", {"seq": event["seq"]})
    return {f"event {event['seq'] + 1}"}


def events_swapped(editor: Editor) -> Places:
    """The texts and hashes of two events exchanged, or their numbers, which is the same."""
    one, other = editor.chance.sample(editor.events(), 2)
    editor.update(
        "events",
        {"seq": one["seq"]},
        body=other["body"],
        hash=other["hash"],
        records=other["records"],
    )
    editor.update(
        "events", {"seq": other["seq"]}, body=one["body"], hash=one["hash"], records=one["records"]
    )
    return {f"event {min(one['seq'], other['seq'])}"}


def events_renumbered(editor: Editor) -> Places:
    """Everything after some event moved up by one."""
    event = editor.event(but_the_last=1)
    for later in reversed(editor.events()[event["seq"] :]):
        editor.update("events", {"seq": later["seq"]}, seq=later["seq"] + 1)
    return {f"event {event['seq'] + 2}"}


def event_repeated(editor: Editor) -> Places:
    last = editor.events()[-1]["seq"]
    editor.insert("events", editor.event() | {"seq": last + 1})
    return {f"event {last + 1}"}


def event_before_the_first(editor: Editor) -> Places:
    editor.insert("events", editor.event() | {"seq": editor.chance.choice([0, -5])})
    return {"event 0", "event -5"}


def tail_cut(editor: Editor) -> Places:
    """The last events gone, or all of them, while the records still carry what they did."""
    last = editor.chance.randrange(len(editor.events()))
    editor.run("DELETE FROM events WHERE seq > ?", (last,))
    return {f"record {row['id']}" for row in editor.rows("records") if row["event"] > last}


def identity_changed(editor: Editor) -> Places:
    """Another store id: the first link does not hang on it."""
    editor.update("meta", {"name": "store_id"}, value=editor.chance.randbytes(16).hex())
    return {"event 1"}


def seed_of(editor: Editor, name: str = "events") -> bytes:
    ((store_id,),) = editor.run("SELECT value FROM meta WHERE name = 'store_id'")
    return hashing.chain_seed(store_id, AGENT, name)


OF_CHAINS: list[Edit] = [
    *(
        event_text_changed,
        event_hash_changed,
        event_column_changed,
        event_resealed,
        event_deleted,
        events_swapped,
    ),
    *(events_renumbered, event_repeated, event_before_the_first, identity_changed),
]
OF_EVENTS: list[Edit] = [*OF_CHAINS, tail_cut]


# Notes


def note_key(note: Row) -> Row:
    return {"event": note["event"], "position": note["position"]}


def note_text_changed(editor: Editor) -> Places:
    note = editor.row("notes")
    editor.update(
        "notes",
        note_key(note),
        body=editor.chance.choice([note["body"] + " ", "{}", '{"query":"else"}', "no note"]),
    )
    return {f"note of event {note['event']}"}


def note_salt_changed(editor: Editor) -> Places:
    note = editor.row("notes")
    editor.update("notes", note_key(note), salt=editor.chance.randbytes(16))
    return {f"note of event {note['event']}"}


def note_removed(editor: Editor) -> Places:
    note = editor.row("notes")
    editor.delete("notes", note_key(note))
    return {f"note of event {note['event']}"}


def note_moved(editor: Editor) -> Places:
    note = editor.row("notes")
    editor.update("notes", note_key(note), position=note["position"] + 100)
    return {f"note of event {note['event']}"}


def note_added(editor: Editor) -> Places:
    note, event = editor.row("notes"), editor.event()
    editor.insert("notes", note | {"event": event["seq"], "position": 1000})
    return {f"note of event {event['seq']}"}


OF_NOTES: list[Edit] = [note_text_changed, note_salt_changed, note_removed, note_moved, note_added]
OF_READS: list[Edit] = [*OF_CHAINS, *OF_NOTES]


# Values that no program of ours would write: the check must survive what it looks at.

# JSON to SQLite, which looks at events as JSON, but not UTF-8.
NO_TEXT = """('{"at":1,"text":"' || CAST(x'ff80' AS TEXT) || '"}')"""
BROKEN_JSON = (
    "",
    "nonsense",
    "null",
    "5",
    "[1]",
    "[[1]]",
    '[{"a":1}]',
    "[null]",
    '{"a":1}',
    '["a"',
    '"text"',
)


def broken_json_edit(column: str, text: str) -> Edit:
    def edit(editor: Editor) -> Places:
        row = editor.row("records")
        editor.update("records", {"seq": row["seq"]}, **{column: text})
        return {f"record {row['id']}"}

    edit.__name__ = f"records.{column} = {text!r}"
    return edit


def broken_text_edit(table: str, column: str, key: str) -> Edit:
    """Bytes that are not UTF-8, where a text should be. The check may name the last place that it
    could still read."""

    def edit(editor: Editor) -> Places:
        rows = sorted(editor.rows(table), key=lambda row: row[key])
        place = editor.chance.randrange(1, len(rows))
        editor.run(f"UPDATE {table} SET {column} = {NO_TEXT} WHERE {key} = ?", (rows[place][key],))
        return text_places(table, rows[place - 1], rows[place])

    edit.__name__ = f"{table}.{column} is not text"
    return edit


def text_places(table: str, before: Row, row: Row) -> Places:
    if table == "records":
        return {f"record {row['id']}", f"record after record {before['seq']}"}
    if table == "events":
        return {f"event {row['seq']}", f"event after event {before['seq']}"}
    return {f"note of event {row['event']}", f"note of event after note of event {before['event']}"}


def resealed_edit(body: str) -> Edit:
    """An event whose text makes no sense, with a hash that fits."""

    def edit(editor: Editor) -> Places:
        before, event = editor.events()[-2:]
        editor.update("events", {"seq": event["seq"]}, body=body, hash=sealed(before["hash"], body))
        return {f"event {event['seq']}"}

    edit.__name__ = f"the last event says {body!r} with a hash that fits"
    return edit


BROKEN_RECORDS: list[Edit] = [
    *(
        broken_json_edit(column, text)
        for column in ("tags", "evidence", "supersedes", "metadata")
        for text in BROKEN_JSON
    ),
    *(
        broken_text_edit("records", column, "seq")
        for column in ("content", "user", "tags", "evidence", "metadata")
    ),
]
BROKEN_EVENTS: list[Edit] = [
    broken_text_edit("events", "body", "seq"),
    broken_text_edit("notes", "body", "event"),
    *(
        resealed_edit(body)
        for body in ("{}", "[]", "null", "5", '{"seq":1}', '{"changes":5}', '"text"')
    ),
]


# What an attacker does who knows how the chain is made


def cut(editor: Editor, number: int) -> None:
    """Take the last events away, with their notes."""
    last = editor.events()[-1]["seq"] - number
    editor.run("DELETE FROM notes WHERE event > ?", (last,))
    editor.run("DELETE FROM events WHERE seq > ?", (last,))


def cut_with_records(editor: Editor, number: int) -> None:
    """Take the last events away with everything that they made, as if they had never been."""
    last = editor.events()[-1]["seq"] - number
    for table in ("tags", "links"):
        editor.run(
            f"DELETE FROM {table} WHERE record IN (SELECT seq FROM records WHERE event > ?)",
            (last,),
        )
    editor.run("DELETE FROM records WHERE event > ?", (last,))
    cut(editor, number)


def rewrite(editor: Editor, chain: str) -> None:
    """Let every event say that somebody else did it, in a chain made anew from its seed."""
    previous = seed_of(editor, chain)
    for event in editor.events():
        body = hashing.encode(hashing.decode(event["body"]) | {"actor": "operator:nobody"}).decode()
        previous = sealed(previous, body)
        editor.update("events", {"seq": event["seq"]}, body=body, hash=previous)


# Any column of any table


def other_value(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:]
    if isinstance(value, float):
        return value / 2 or 0.5
    if isinstance(value, int):
        return value + 10_000  # no other row has this
    return "1" if value is None else f"{value[:-1]}{'x' if value[-1] != 'x' else 'y'}"


def altered_column(table: str, column: str) -> Edit:
    """Change one value of a row that has one, wherever there is such a row."""

    def edit(editor: Editor) -> Places:
        told = [row for row in editor.rows(table) if row[column] is not None] or editor.rows(table)
        row = editor.chance.choice(told)
        key = {name: value for name, value in row.items() if value is not None}
        editor.update(table, key, **{column: other_value(row[column])})
        return set()

    edit.__name__ = f"{table}.{column}"
    return edit


def removed_row(table: str) -> Edit:
    """Take one row away."""

    def edit(editor: Editor) -> Places:
        editor.delete(
            table, {name: value for name, value in editor.row(table).items() if value is not None}
        )
        return set()

    edit.__name__ = f"{table} without a row"
    return edit
