"""Inspect a store for `doctor`: the file, the chain, and everything derived from the records."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from lamina.errors import LaminaError
from lamina.home.folder import has_bytes
from lamina.home.retention import PRESETS
from lamina.home.settings import Settings
from lamina.model import hashing
from lamina.store.core.store import FILE_NAME, READS_NAME
from lamina.store.engine.sql import Connection, Database
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.tables import (
    archived,
    certificates,
    facets,
    fulltext,
    learned,
    meta,
    migrations,
    trail_check,
    users,
)
from lamina.store.upkeep import erase_plan, migrate, read_only, verify
from lamina.text import lookalikes, words
from lamina.text.secrets import detection

Progress = Callable[[int, int], None]
Finding = tuple[str, str, str]
OLDEST_SAFE_SQLITE = (3, 51, 3)
LISTED = 10  # memories that are named
REINDEX = "run `lamina reindex`"
LARGE_LOG = 64 * 1000 * 1000


def sqlite_version() -> str:
    return apsw.sqlite_lib_version()


def inspect(
    folder: Path, agent: str, settings: Settings, progress: Progress | None = None
) -> Iterator[Finding]:
    """Check the store of an agent, read-only; yield level, check and message of each finding."""
    version = sqlite_version()
    if tuple(map(int, version.split("."))) < OLDEST_SAFE_SQLITE:
        what = f"SQLite {version} can corrupt a database under load"
        yield "fail", "sqlite", f"{what}; upgrade apsw-sqlite3mc"
    try:
        database = read_only.database(folder, agent, settings)
    except LaminaError as error:
        yield "fail", "store", error.message
        return
    if database is None:
        yield "ok", "store", f"the agent {agent} has no memory yet"
        return
    try:
        yield from _opened(database, folder, agent, progress)
        yield from _unmoved(folder, database)
    except LaminaError as error:
        yield "fail", "store", error.message
    finally:
        database.close()
    yield from _reads(folder / READS_NAME, agent)
    yield from _leftovers(folder)


def _unmoved(folder: Path, database: Database) -> Iterator[Finding]:
    """Report a memory in the home that people may miss, because one on a server is used instead."""
    path = folder / FILE_NAME
    if not isinstance(database, SqliteDatabase) and has_bytes(path) and not migrate.is_copy(path):
        do = "without store.url `lamina migrate` moves it"
        yield "warn", "store", f"{path} is another memory, which is not used; {do}"


def _opened(
    database: Database, folder: Path, agent: str, progress: Progress | None
) -> Iterator[Finding]:
    with database.snapshot() as connection:
        version = read_only.version(database, connection)
        meta.refuse_elsewhere(meta.read(connection), database.address, agent)
        yield "ok", "schema", f"version {version} of {len(migrations.STEPS)}"
        yield _trail(connection, agent, progress)
        yield _index(connection)
        yield _derived(connection)
        yield from _users(connection)
        yield from _secrets(connection)
        yield from _erasures(connection, folder)
        yield from _archive(connection, folder, progress)
        yield from _episodes(connection, folder)


def _trail(connection: Connection, agent: str, progress: Progress | None) -> Finding:
    store_id = meta.get(connection, "store_id")
    seed = hashing.chain_seed(str(store_id), agent, "events")
    report = verify.verify(connection, seed, None, progress)
    if report.ok:
        agreed = f"{report.events:,} events and {report.records:,} records agree"
        return "ok", "trail", f"{agreed}, and so does what is under them"
    first = report.problems[0]
    return "fail", "trail", f"{first.place}: {first.message}; see `lamina audit verify`"


def _users(connection: Connection) -> Iterator[Finding]:
    """Report users whose names a reader could confuse, for example in older stores."""
    alike: dict[str, list[str]] = {}
    for name in users.every(connection):
        alike.setdefault(lookalikes.skeleton(unicodedata.normalize("NFKC", name)), []).append(name)
    for names in alike.values():
        if len(names) > 1:
            listed = ", ".join(map(ascii, names))
            yield "warn", "users", f"the names of these users look the same: {listed}"


def _reads(path: Path, agent: str) -> Iterator[Finding]:
    """Check the trail of reads; once a damaged one is moved away, a new one is created."""
    if not has_bytes(path):
        return
    database = SqliteDatabase(path, busy_ms=5000, checkpoint_pages=1000)
    try:
        with database.snapshot() as connection:
            log_id = meta.get(connection, "store_id")
            seed = hashing.chain_seed(str(log_id), agent, "reads")
            report = verify.verify_chain(connection, seed)
        if report.ok:
            yield "ok", "reads", words.counted(report.events, "link agrees", "links agree")
        else:
            yield "fail", "reads", f"{report.problems[0].place}: {report.problems[0].message}"
    except LaminaError as error:
        do = f"move {path.name} away with its -wal and -shm, and a new trail begins"
        yield "fail", "reads", f"{error.message}; or {do}"
    finally:
        database.close()


def _index(connection: Connection) -> Finding:
    analyser = meta.get(connection, "analyser")
    if analyser != str(words.ANALYSER_VERSION):
        what = f"the full-text index was made by analyser {analyser}"
        return "warn", "index", f"{what}; {REINDEX}"
    missing = fulltext.missing(connection)
    if missing:
        return "fail", "index", f"{len(missing)} records and index entries do not match; {REINDEX}"
    if fulltext.differs(connection):
        what = "the full-text index holds other words than the records"
        return "fail", "index", f"{what}; {REINDEX}"
    return "ok", "index", "the full-text index holds the words of every record"


def _derived(connection: Connection) -> Finding:
    """Check whether everything else that searches read is intact, and as complete as it says."""
    # numpy is needed here, but not by the other checks.
    from lamina.store.index import writing
    from lamina.store.tables import vectors

    damaged = writing.differ(connection)
    if damaged:
        what = f"{len(damaged)} packed blocks hold other fields than the records"
        return "fail", "search", f"{what}; {REINDEX}"
    if earlier := writing.count_earlier(connection):
        what = f"{earlier} packed blocks are of an earlier version"
        return "warn", "search", f"{what}; run `lamina index` to renew them"
    if facets.differ(connection):
        return "fail", "search", f"the facets hold other values than the metadata; {REINDEX}"
    spaces = vectors.every(connection)
    missing = sum(vectors.count_missing(connection, space) for space in spaces)
    if missing:
        return "fail", "search", f"{missing} vectors are missing or damaged; {REINDEX}"
    last = connection.execute("SELECT max(seq) FROM records").get or 0
    seen = ", ".join(f"{space.name} {min(space.seen, last):,} of {last:,}" for space in spaces)
    return "ok", "search", f"vectors: {seen}" if seen else "no vectors yet; searches make their own"


def _secrets(connection: Connection) -> Iterator[Finding]:
    """Find memories that seem to contain a secret; report only their ids and kinds."""
    suspects: list[str] = []
    texts = ("content", "source", "speaker", "session")
    encoded = ("tags", "evidence", "metadata")
    query = f"SELECT id, {', '.join(texts + encoded)} FROM records ORDER BY seq"
    for record_id, *row in connection.execute(query):
        stored = dict(zip(texts + encoded, row, strict=True))
        fields = {name: stored[name] for name in texts}
        fields |= {
            name: hashing.decode(stored[name])
            for name in encoded
            if stored[name] not in ("[]", "{}")
        }
        kinds = set(detection.in_fields(fields).values())
        if kinds:
            suspects.append(f"{record_id} ({', '.join(sorted(kinds))})")
    if suspects:
        more = f" and {len(suspects) - LISTED} more" if len(suspects) > LISTED else ""
        what = f"in {len(suspects)} memories: {', '.join(suspects[:LISTED])}{more}"
        yield "warn", "secrets", f"{what}; `lamina erase ID` removes one"


def _erasures(connection: Connection, folder: Path) -> Iterator[Finding]:
    """Check that erasures are finished, and that their certificates match the trail's hashes."""
    number = learned.count_erasures(connection)
    altered, uncovered = certificates.files_differ(connection, folder)
    altered = [*trail_check.about_erasures(connection).erasures_differ(connection), *altered]
    is_unfinished = erase_plan.is_unfinished(connection)
    if is_unfinished:
        yield "fail", "erasures", erase_plan.UNFINISHED
    for level, problems in (("fail", altered), ("warn", uncovered)):
        for place, message in problems[:LISTED]:
            yield level, "erasures", f"{place}: {message}"
    if number and not altered and not uncovered and not is_unfinished:
        what = f"{number} done, each with the certificate that the trail has the hash of"
        yield "ok", "erasures", what


def _archive(connection: Connection, folder: Path, progress: Progress | None) -> Iterator[Finding]:
    """Check that the archive files are as they were archived, and that no others exist."""
    problems = verify.files_differ(connection, folder, progress)
    if problems:
        what = f"{problems[0].place}: {problems[0].message}"
        yield "fail", "archive", f"{what}; put it back from a backup"
    left = connection.execute("SELECT count(*) FROM strays").get
    if left:
        what = f"{left} files of a process that died wait to be removed"
        yield "warn", "archive", f"{what}; opening the store for writing does it"
    query = "SELECT file FROM archives UNION SELECT file FROM strays"
    known = {name for (name,) in connection.execute(query)}
    files = _files(folder, "archive", "*_archive_*.jsonl*")
    strays = [path for path in files if path.relative_to(folder).as_posix() not in known]
    if strays:
        what = f"{len(strays)} files belong to no archive of this store, such as {strays[0]}"
        yield "warn", "archive", f"{what}; see its backups"
    elif not problems and known:
        lines = archived.count_lines(connection)
        what = f"{len(known)} files with {lines:,} memories are as they were archived"
        yield "ok", "archive", what


def _files(folder: Path, name: str, pattern: str) -> list[Path]:
    """List files in one of the agent's folders, wherever a preset puts it."""
    places = sorted({preset.paths.get(name, name) for preset in PRESETS.values()})
    return [path for place in places for path in sorted((folder / place).glob(pattern))]


def _episodes(connection: Connection, folder: Path) -> Iterator[Finding]:
    """Find conversation files whose episode was never stored, because a process died in between."""
    known = "SELECT 1 FROM records WHERE id = ?1 UNION ALL SELECT 1 FROM archived WHERE id = ?1"
    files = _files(folder, "episodes", "*/*.json")
    strays = [path for path in files if connection.execute(known, (path.stem,)).get is None]
    if strays:
        what = f"{len(strays)} files belong to no episode, such as {strays[0]}"
        yield "warn", "episodes", f"{what}; delete them"


def _leftovers(folder: Path) -> Iterator[Finding]:
    log = folder / "memory.db-wal"
    if log.exists() and log.stat().st_size > LARGE_LOG:
        what = f"{log} has {log.stat().st_size // 1_000_000} MB"
        yield "warn", "log", f"{what}; a reader that never ends may hold it"
    unfinished = sorted(folder.rglob("*.tmp"))
    if unfinished:
        yield "warn", "leftovers", f"{unfinished[0]} was left by a process that died; delete it"
