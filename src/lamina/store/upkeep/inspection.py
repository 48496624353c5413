"""What `doctor` looks at inside a store: the file, the chain, and everything that is derived from the records."""

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
from lamina.store.tables import fulltext, meta, migrations, users
from lamina.store.upkeep import read_only, verify
from lamina.text import lookalikes, words

Progress = Callable[[int, int], None]
Finding = tuple[str, str, str]
OLDEST_SAFE_SQLITE = (3, 51, 3)
LISTED = 10  # memories that are named
LARGE_LOG = 64 * 1000 * 1000


def sqlite_version() -> str:
    return apsw.sqlite_lib_version()


def inspect(
    folder: Path, agent: str, settings: Settings, progress: Progress | None = None
) -> Iterator[Finding]:
    """Check the store of an agent through a read-only connection; level, check and message of each finding."""
    if tuple(map(int, sqlite_version().split("."))) < OLDEST_SAFE_SQLITE:
        yield (
            "fail",
            "sqlite",
            f"SQLite {sqlite_version()} can corrupt a database under load; upgrade apsw-sqlite3mc",
        )
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
    """A memory in the home that somebody may miss, since another one on a server is used."""
    from lamina.store.upkeep import migrate

    path = folder / FILE_NAME
    if not isinstance(database, SqliteDatabase) and has_bytes(path) and not migrate.is_copy(path):
        yield (
            "warn",
            "store",
            f"{path} is another memory, which is not used; without store.url `lamina migrate` moves it",
        )


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
    report = verify.verify(
        connection, hashing.chain_seed(str(store_id), agent, "events"), None, progress
    )
    if report.ok:
        return (
            "ok",
            "trail",
            f"{report.events:,} events and {report.records:,} records agree, and so does what is under them",
        )
    first = report.problems[0]
    return "fail", "trail", f"{first.place}: {first.message}; see `lamina audit verify`"


def _users(connection: Connection) -> Iterator[Finding]:
    """Users whose names a reader would take for each other, such as those of older stores."""
    alike: dict[str, list[str]] = {}
    for name in users.every(connection):
        alike.setdefault(lookalikes.skeleton(unicodedata.normalize("NFKC", name)), []).append(name)
    for names in alike.values():
        if len(names) > 1:
            listed = ", ".join(map(ascii, names))
            yield "warn", "users", f"the names of these users look the same: {listed}"


def _reads(path: Path, agent: str) -> Iterator[Finding]:
    """The trail of reads; a damaged one is replaced by a new one when it is moved away."""
    if not has_bytes(path):
        return
    database = SqliteDatabase(path, busy_ms=5000, checkpoint_pages=1000)
    try:
        with database.snapshot() as connection:
            log_id = meta.get(connection, "store_id")
            report = verify.verify_chain(
                connection, hashing.chain_seed(str(log_id), agent, "reads")
            )
        agreed = words.counted(report.events, "link agrees", "links agree")
        message = (
            agreed if report.ok else f"{report.problems[0].place}: {report.problems[0].message}"
        )
        yield "ok" if report.ok else "fail", "reads", message
    except LaminaError as error:
        yield (
            "fail",
            "reads",
            f"{error.message}; or move {path.name} away with its -wal and -shm, and a new trail begins",
        )
    finally:
        database.close()


def _index(connection: Connection) -> Finding:
    analyser = meta.get(connection, "analyser")
    if analyser != str(words.ANALYSER_VERSION):
        return (
            "warn",
            "index",
            f"the full-text index was made by analyser {analyser}; run `lamina reindex`",
        )
    missing = fulltext.missing(connection)
    if missing:
        return (
            "fail",
            "index",
            f"{len(missing)} records and index entries do not match; run `lamina reindex`",
        )
    if fulltext.differs(connection):
        return (
            "fail",
            "index",
            "the full-text index holds other words than the records; run `lamina reindex`",
        )
    return "ok", "index", "the full-text index holds the words of every record"


def _derived(connection: Connection) -> Finding:
    """What searches read beside the words: each part must be whole, and as far as it says."""
    from lamina.store.index import writing
    from lamina.store.tables import facets, vectors

    damaged = writing.differ(connection)
    if damaged:
        return (
            "fail",
            "search",
            f"{len(damaged)} packed blocks hold other fields than the records; run `lamina reindex`",
        )
    if earlier := writing.count_earlier(connection):
        return (
            "warn",
            "search",
            f"{earlier} packed blocks are of an earlier version; run `lamina index` to renew them",
        )
    if facets.differ(connection):
        return (
            "fail",
            "search",
            "the facets hold other values than the metadata; run `lamina reindex`",
        )
    missing = sum(vectors.count_missing(connection, space) for space in vectors.every(connection))
    if missing:
        return "fail", "search", f"{missing} vectors are missing or damaged; run `lamina reindex`"
    last = connection.execute("SELECT max(seq) FROM records").get or 0
    seen = ", ".join(
        f"{space.name} {min(space.seen, last):,} of {last:,}" for space in vectors.every(connection)
    )
    return "ok", "search", f"vectors: {seen}" if seen else "no vectors yet; searches make their own"


def _secrets(connection: Connection) -> Iterator[Finding]:
    """Memories that hold what looks like a secret; by their ids and kinds alone."""
    from lamina.text.secrets import detection

    found: list[str] = []
    columns = "id, content, source, speaker, session, tags, evidence, metadata"
    for record_id, content, *told, tags, evidence, metadata in connection.execute(
        f"SELECT {columns} FROM records ORDER BY seq"
    ):
        fields = {
            "content": content,
            **dict(zip(("source", "speaker", "session"), told, strict=True)),
        }
        held = {"tags": tags, "evidence": evidence, "metadata": metadata}
        fields |= {
            name: hashing.decode(stored)
            for name, stored in held.items()
            if stored not in ("[]", "{}")
        }
        kinds = set(detection.in_fields(fields).values())
        if kinds:
            found.append(f"{record_id} ({', '.join(sorted(kinds))})")
    if found:
        more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
        yield (
            "warn",
            "secrets",
            f"in {len(found)} memories: {', '.join(found[:LISTED])}{more}; `lamina erase ID` removes one",
        )


def _erasures(connection: Connection, folder: Path) -> Iterator[Finding]:
    """Erasures: each is finished, and its certificate is what the trail says, in the store and as a
    file."""
    from lamina.store.tables import certificates
    from lamina.store.tables import trail_check as told
    from lamina.store.upkeep import erase_plan

    number = connection.execute("SELECT count(*) FROM erasures").get
    altered, uncovered = certificates.files_differ(connection, folder)
    altered = [*told.about_erasures(connection).erasures_differ(connection), *altered]
    if erase_plan.is_unfinished(connection):
        yield "fail", "erasures", erase_plan.UNFINISHED
    for level, found in (("fail", altered), ("warn", uncovered)):
        for place, message in found[:LISTED]:
            yield level, "erasures", f"{place}: {message}"
    if number and not altered and not uncovered and not erase_plan.is_unfinished(connection):
        yield (
            "ok",
            "erasures",
            f"{number} done, each with the certificate that the trail has the hash of",
        )


def _archive(connection: Connection, folder: Path, progress: Progress | None) -> Iterator[Finding]:
    """The files of the archive: each as it was archived, and none that the index does not know."""
    problems = verify.files_differ(connection, folder, progress)
    if problems:
        yield (
            "fail",
            "archive",
            f"{problems[0].place}: {problems[0].message}; put it back from a backup",
        )
    left = connection.execute("SELECT count(*) FROM strays").get
    if left:
        yield (
            "warn",
            "archive",
            f"{left} files of a process that died wait to be removed; opening the store for writing does it",
        )
    known = {
        name
        for (name,) in connection.execute("SELECT file FROM archives UNION SELECT file FROM strays")
    }
    found = [
        path
        for place in _places("archive")
        for path in sorted((folder / place).glob("*_archive_*.jsonl*"))
    ]
    strays = [path for path in found if path.relative_to(folder).as_posix() not in known]
    if strays:
        yield (
            "warn",
            "archive",
            f"{len(strays)} files belong to no archive of this store, such as {strays[0]}; see its backups",
        )
    elif not problems and known:
        lines = connection.execute("SELECT CAST(sum(lines) AS BIGINT) FROM archives").get or 0
        yield (
            "ok",
            "archive",
            f"{len(known)} files with {lines:,} memories are as they were archived",
        )


def _places(name: str) -> list[str]:
    """Where a folder may lie, by any preset."""
    return sorted({preset.paths.get(name, name) for preset in PRESETS.values()})


def _episodes(connection: Connection, folder: Path) -> Iterator[Finding]:
    """Files of conversations whose episode was never stored: a process died in between."""
    known = "SELECT 1 FROM records WHERE id = ?1 UNION ALL SELECT 1 FROM archived WHERE id = ?1"
    files = [
        path for place in _places("episodes") for path in sorted((folder / place).glob("*/*.json"))
    ]
    strays = [path for path in files if connection.execute(known, (path.stem,)).get is None]
    if strays:
        yield (
            "warn",
            "episodes",
            f"{len(strays)} files belong to no episode, such as {strays[0]}; delete them",
        )


def _leftovers(folder: Path) -> Iterator[Finding]:
    log = folder / "memory.db-wal"
    if log.exists() and log.stat().st_size > LARGE_LOG:
        yield (
            "warn",
            "log",
            f"{log} has {log.stat().st_size // 1_000_000} MB; a reader that never ends may hold it",
        )
    unfinished = sorted(folder.rglob("*.tmp"))
    if unfinished:
        yield "warn", "leftovers", f"{unfinished[0]} was left by a process that died; delete it"
