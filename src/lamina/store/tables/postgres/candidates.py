"""Let PostgreSQL find possible answers: records chosen by words, by meaning and by days.

The work is bounded, however large the store is. The filter is part of each statement.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from lamina.errors import LaminaError
from lamina.store.engine.postgres.database import PostgresDatabase, Session
from lamina.store.engine.sql import Connection, Half, rows
from lamina.store.tables.blocks import BLOCK
from lamina.store.tables.records import Filter, marks
from lamina.store.tables.tsvectors import Tsvectors, cut
from lamina.store.tables.vectors import Space

COUNTED = 2_000  # records with a word that are counted; beyond that, the number is estimated
ENOUGH = 10  # one in so many of the counted records should be visible
LOOKED_AT = 100_000  # records with a word that are examined, visible or not
MOST_OF = 0.9  # of these are in order; a few newer ones may have taken the places of deleted rows
SCORED = 20_000  # records with a question's rarest words that are scored by all of its words
NEAR = 3  # turns before and after a candidate
# The rest of a search joins few rows by key; a walk through the vectors must not stop early.
WALK = "SET LOCAL hnsw.iterative_scan = 'relaxed_order'; SET LOCAL hnsw.ef_search = {}"
MOST_WALKED = 1000  # pgvector's maximum for ef_search
EXTENSION = (
    "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
    " WHERE e.extname = 'vector'"
)
VALID = (
    "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = 'lamina' AND i.indisvalid AND i.indisready"
)
# Indexes for the statements below, in addition to those of every store.
HELPERS = {
    "records_of_sessions": "lamina.records (owner, session, seq) WHERE session IS NOT NULL",
    "records_of_users": 'lamina.records (owner, "user")',
}
# If the server does not know yet how many rows a full table has, its plans are far too slow.
ANALYSE = "ANALYZE lamina.records, lamina.words, lamina.vectors, lamina.days"
# The index collects all records with a word before it returns the first. So for a common word it is
# faster to examine one record after the other, which `IS TRUE` makes the server do.
COMMON = 0.125
FIRST = (
    "ARRAY(SELECT record FROM lamina.words WHERE said @@ asked AND NOT is_common LIMIT ?) ||"
    " ARRAY(SELECT record FROM words WHERE (said @@ asked) IS TRUE AND is_common"
    " ORDER BY record LIMIT ?)"
)
# The text is examined first, which is quick and usually decides.
MADE_ELSEWHERE = (
    "NOT (records.metadata LIKE '%\"origin\"%' AND EXISTS (SELECT 1 FROM facets o WHERE"
    " o.name = 'origin' AND o.value = 'sleep' AND o.record = records.seq))"
)
NEIGHBOURS = f"""
SELECT c.seq, n.seq FROM records c CROSS JOIN LATERAL (
    (SELECT b.seq FROM records b WHERE b.session = c.session
     AND b.user IS NOT DISTINCT FROM c.user AND b.seq < c.seq ORDER BY b.seq DESC LIMIT {NEAR})
    UNION ALL
    (SELECT a.seq FROM records a WHERE a.session = c.session
     AND a.user IS NOT DISTINCT FROM c.user AND a.seq > c.seq ORDER BY a.seq LIMIT {NEAR})
) n WHERE c.session IS NOT NULL
AND c.seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) ORDER BY c.seq, n.seq
"""


class Scale(NamedTuple):
    """What is known about a store before its words are counted."""

    size: int  # of the whole store
    share: float  # the visible part of it
    leaves_out: bool  # whether what sleep made is not counted

    def around(self, number: int) -> int:
        """Return among how many records this many are visible, within bounds."""
        return min(LOOKED_AT, round(number / max(self.share, number / LOOKED_AT)))


class Holders(NamedTuple):
    """How many counted records contain a word, and how many of them are not external."""

    number: int
    own: int
    visible: int  # including those not counted


def last(connection: Connection) -> int:
    """Read the number of the newest record."""
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM records").get)


def sealed(connection: Connection) -> int:
    """Count the records in blocks, whose days are in a table."""
    return BLOCK * int(connection.execute("SELECT coalesce(max(block) + 1, 0) FROM blocks").get)


def visible(connection: Connection, wanted: Filter, limit: int) -> list[int]:
    """List some records that a filter lets through, up to a limit."""
    where, parameters = wanted.where()
    query = f"SELECT seq FROM records WHERE {where} LIMIT ?"
    return [number for (number,) in rows(connection, query, (*parameters, limit))]


def passing(connection: Connection, numbers: Sequence[int], wanted: Filter) -> list[int]:
    """List which of some records a filter lets through."""
    where, parameters = wanted.where()
    is_listed = "seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    query = f"SELECT seq FROM records WHERE {is_listed} AND {where}"
    return [seq for (seq,) in rows(connection, query, (json.dumps(numbers), *parameters))]


def unseen(connection: Connection, wanted: Filter, space: Space, limit: int) -> list[int]:
    """List the newest visible records that an embedder has not seen."""
    where, parameters = wanted.where()
    query = f"SELECT seq FROM records WHERE seq > ? AND {where} ORDER BY seq DESC LIMIT ?"
    found = rows(connection, query, (space.seen, *parameters, limit))
    return [number for (number,) in found]


def holders(
    connection: Connection,
    agent: str,
    words: Mapping[str, float],
    wanted: Filter,
    scale: Scale,
) -> list[Holders]:
    """Count the visible records that contain each word; words come with their usual share.

    For a common word, the first records are counted and represent all. What sleep made is left out
    if the scale says so, but an own memory's word remains an own one.
    """
    where, parameters = wanted.where()
    counts = MADE_ELSEWHERE if scale.leaves_out else "TRUE"
    query = (
        "SELECT cardinality(l.held), c.*,"
        f" (SELECT percentile_disc({MOST_OF}) WITHIN GROUP (ORDER BY one)"
        " FROM unnest(l.held) AS u (one))"
        " FROM unnest(CAST(? AS tsquery[]), CAST(? AS bool[])) WITH ORDINALITY"
        " AS w (asked, is_common, place)"
        f" CROSS JOIN LATERAL (SELECT {FIRST} AS held OFFSET 0) AS l"
        f" CROSS JOIN LATERAL (SELECT count(*), count(*) FILTER (WHERE {counts}),"
        f" count(*) FILTER (WHERE {counts} AND trust <> 'external'),"
        " count(*) FILTER (WHERE trust <> 'external')"
        f" FROM records WHERE seq = ANY (l.held) AND {where}) AS c ORDER BY w.place"
    )
    most = max(COUNTED, scale.around(COUNTED // ENOUGH))
    asked = [Tsvectors(agent).query(cut(word)) for word in words]
    is_common = [share > COMMON for share in words.values()]
    found = []
    for held, visible, number, own, any_own, upto in rows(
        connection, query, (asked, is_common, most, most, *parameters)
    ):
        more = max(1.0, MOST_OF * scale.size / upto) if held == most else 1.0
        own = own or int(any_own > 0)
        found.append(Holders(round(number * more), round(own * more), round(visible * more)))
    return found


def with_words(
    connection: Connection,
    agent: str,
    worth: Sequence[tuple[str, int, float]],
    wanted: Filter,
    speakers: Sequence[str],
    scale: Scale,
    limit: int,
) -> list[int]:
    """Find the visible records, of any named speakers, whose words are worth most.

    `worth` has, for each word, the number of records that contain it and its worth. Only records
    with the rarest words are examined, as many as can be done quickly.
    """
    index, looked_at, rarest = Tsvectors(agent), 0, list[str]()
    for word, number, _ in sorted(worth, key=lambda one: one[1]):
        looked_at += number
        if rarest and looked_at > SCORED:
            break
        rarest.append(index.query(cut(word)))
    if not rarest:
        return []
    score = " + ".join(["CASE WHEN said @@ CAST(? AS tsquery) THEN CAST(? AS float8) ELSE 0 END"]
                       * len(worth))  # fmt: skip
    where, parameters = _spoken(wanted, speakers)
    query = (
        f"SELECT b.record FROM (SELECT f.record, f.score FROM (SELECT record, {score} AS score"
        " FROM lamina.words WHERE said @@ CAST(? AS tsquery) LIMIT ?) AS f"
        " ORDER BY f.score DESC, f.record DESC OFFSET 0) AS b"
        f" JOIN records ON records.seq = b.record WHERE {where}"
        " ORDER BY b.score DESC, b.record DESC LIMIT ?"
    )
    scores = [one for word, _, value in worth for one in (index.query(cut(word)), value)]
    most = scale.around(SCORED)
    asked = (*scores, " | ".join(f"({one})" for one in rarest), most, *parameters, limit)
    return [number for (number,) in rows(connection, query, asked)]


def near(
    connection: Session,
    space: Space,
    vector: Half,
    wanted: Filter,
    speakers: Sequence[str],
    limit: int,
) -> list[int]:
    """Find the visible records whose vectors are nearest to a vector by their signs."""
    connection.script(WALK.format(min(MOST_WALKED, max(limit, 40))))
    where, parameters = _spoken(wanted, speakers)
    bits = f"bit({space.dimensions})"
    query = (
        f"SELECT v.record FROM vectors v JOIN records ON records.seq = v.record"
        f" WHERE v.owner = {_literal(connection.agent)} AND v.space = {space.number} AND {where}"
        f" ORDER BY (binary_quantize(v.vector)::{bits}) <~> binary_quantize(?)::{bits} LIMIT ?"
    )
    return [number for (number,) in rows(connection, query, (*parameters, vector, limit))]


def _spoken(wanted: Filter, speakers: Sequence[str]) -> tuple[str, list[object]]:
    """Write a filter that lets only some speakers through, or all if none is named."""
    where, parameters = wanted.where()
    if not speakers:
        return where, parameters
    return f"{where} AND records.speaker IN ({marks(speakers)})", [*parameters, *speakers]


def speaking_of(connection: Connection, numbers: str, since: int, until: int) -> list[int]:
    """List which of some records, given as JSON, mention a day in this span."""
    query = (
        "SELECT record FROM days WHERE since < ? AND until > ?"
        " AND record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    )
    return [number for (number,) in rows(connection, query, (until, since, numbers))]


def told_of(connection: Connection, since: int, until: int) -> list[int]:
    """List the records in blocks whose text mentions a day in this span."""
    query = "SELECT record FROM days WHERE since < ? AND until > ?"
    return [number for (number,) in rows(connection, query, (until, since))]


def hinting(connection: Connection, agent: str, hints: Sequence[Collection[str]]) -> list[int]:
    """List the records whose text contains a word of each collection."""
    index = Tsvectors(agent)
    held = "SELECT record FROM lamina.words WHERE said @@ CAST(? AS tsquery)"
    asked = [" | ".join(f"({index.query(cut(word))})" for word in sorted(some)) for some in hints]
    query = " INTERSECT ".join([held] * len(asked))
    return [number for (number,) in rows(connection, query, asked)]


def in_days(
    connection: Connection, since: int, until: int, day: int, wanted: Filter, limit: int
) -> list[int]:
    """Find some visible records that are from, or mention, these days; `day` is a day's length."""
    where, parameters = wanted.where()
    happened = (
        f"(SELECT seq FROM records WHERE occurred_at >= ? AND occurred_at < ? AND {where}"
        " ORDER BY occurred_at DESC LIMIT ?)"
    )
    told = (
        "(SELECT records.seq FROM days d JOIN records ON records.seq = d.record"
        f" WHERE d.since < ? AND d.until > ? AND {where} LIMIT ?)"
    )
    asked = (since * day, until * day, *parameters, limit, until, since, *parameters, limit)
    return [number for (number,) in rows(connection, f"{happened} UNION {told}", asked)]


def neighbours(connection: Connection, numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Pair records with the turns around them in their conversations, both ascending."""
    return rows(connection, NEIGHBOURS, (json.dumps(list(numbers)),))


def holding(
    connection: Connection, agent: str, words: Sequence[str], numbers: Sequence[int]
) -> list[list[int]]:
    """List, for each word, which of some records contain it, ascending."""
    query = (
        "SELECT w.place - 1, s.record FROM words s"
        " JOIN unnest(CAST(? AS tsquery[])) WITH ORDINALITY AS w (asked, place)"
        " ON s.said @@ w.asked"
        " WHERE s.record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    )
    found: list[set[int]] = [set() for _ in words]
    asked = ([Tsvectors(agent).query(cut(word)) for word in words], json.dumps(numbers))
    for place, record in rows(connection, query, asked):
        found[place].add(record)
    return [sorted(one) for one in found]


# Indexes that only a large store needs


def is_ready(connection: Session, spaces: Iterable[Space]) -> bool:
    """Tell whether the server has the indexes that it needs to find candidates."""
    if not _walks_on(connection):
        return False
    needed = {*HELPERS, *(_name(connection.agent, space) for space in spaces)}
    return needed <= {name for (name,) in rows(connection, VALID)}


def prepare(database: PostgresDatabase, spaces: Iterable[Space]) -> None:
    """Create the indexes that are missing, while others continue to read and write."""
    session, schema = database.begin_with(lambda session: session.execute(EXTENSION).get)
    try:
        if not _walks_on(session):
            return
        valid = {name for (name,) in rows(session, VALID)}
        needed = HELPERS | _indexes(database.agent, spaces, str(schema))
        for name in sorted(valid - needed.keys()):
            if name.startswith("near_") and name.endswith(_digest(database.agent)):
                session.script(f"DROP INDEX CONCURRENTLY lamina.{name}")  # its space is gone
        missing = needed.keys() - valid
        for name in sorted(missing):
            # An index that was left incomplete is in the way.
            session.script(f"DROP INDEX CONCURRENTLY IF EXISTS lamina.{name}")
            session.script(f"CREATE INDEX CONCURRENTLY {name} ON {needed[name]}")
        if missing:
            session.script(ANALYSE)
    except LaminaError as error:
        do = "let the owner of the tables run `lamina index`"
        raise type(error)(f"{error.message}; the indexes of a large store are missing: {do}") from (
            error
        )
    finally:
        database.release(session)


def _walks_on(connection: Connection) -> bool:
    """Tell whether pgvector scans on when a filter has left too few results (0.8 and later)."""
    version = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").get
    return tuple(map(int, str(version).split(".")[:2])) >= (0, 8)


def _indexes(agent: str, spaces: Iterable[Space], schema: str) -> dict[str, str]:
    """Write an index of the signs of an agent's vectors for each space.

    Each agent has its own: the vectors of others would slow its searches down.
    """
    return {
        _name(agent, space): (
            f'lamina.vectors USING hnsw (("{schema}".binary_quantize(vector)::'
            f'bit({space.dimensions})) "{schema}".bit_hamming_ops)'
            f" WHERE owner = {_literal(agent)} AND space = {space.number}"
        )
        for space in spaces
    }


def _name(agent: str, space: Space) -> str:
    return f"near_{space.number}_{space.dimensions}_{_digest(agent)}"


def _digest(agent: str) -> str:
    return hashlib.sha256(agent.encode()).hexdigest()[:24]


def _literal(text: str) -> str:
    """Quote a text in SQL: a partial index is used only if its condition appears literally."""
    return "'" + text.replace("'", "''") + "'"
