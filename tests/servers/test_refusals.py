"""What cannot be a place for memories: wrong addresses, passwords and rights, foreign tables, and
that no password is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

import lamina
from lamina.errors import Corrupt, InvalidInput, LaminaError, NotFound, Refused, StoreUnavailable
from lamina.home.folder import Home
from lamina.memory import doctor, migrate
from lamina.memory.opening import look, restore
from lamina.store.engine.postgres import errors, pool
from lamina.store.tables.postgres.opening import VERSION
from lamina.surfaces.cli.main import cli
from tests.conftest import Desk, contents, verified
from tests.contract.keeping import lived
from tests.servers.everywhere import Copied
from tests.servers.processes import free_port

SECRET = "hush-9x7"


def refused(home: Path, url: str, **settings: Any) -> LaminaError:
    """The error of a handle that cannot be opened."""
    with pytest.raises(LaminaError) as error:
        lamina.open(
            "sky", home=home, settings={"store.url": url, "failsafe": "off", **settings}
        ).close()
    assert SECRET not in error.value.message
    return error.value


@pytest.fixture
def bare(quick_postgres: Copied) -> Iterator[str]:
    """The name of a database without tables of ours."""
    name = quick_postgres.database()
    yield name
    quick_postgres.drop(name)


@pytest.mark.parametrize(
    ("address", "kind", "message"),
    [
        ("postgresql://lamina:{s}@127.0.0.1:{free}/x", StoreUnavailable, "nobody answers there"),
        ("postgresql://lamina:{s}@no-such-host.invalid/x", StoreUnavailable, "cannot be reached"),
        (
            "postgresql://lamina:{s}@127.0.0.1:{port}/lamina",
            Refused,
            "check the user and the password",
        ),
        (
            "postgresql://nobody:{s}@127.0.0.1:{port}/lamina",
            Refused,
            "check the user and the password",
        ),
        ("postgresql://lamina@127.0.0.1:{port}/lamina", Refused, "check the user and the password"),
        (
            "postgresql://lamina:{password}@127.0.0.1:{port}/nowhere",
            InvalidInput,
            "create it first",
        ),
        ("mysql://lamina:{s}@127.0.0.1/x", InvalidInput, "begins with 'mysql'"),
        ("/var/lib/lamina", InvalidInput, "postgresql://user@host/database"),
        ("postgresql://lamina:{s}%zz@127.0.0.1/x", InvalidInput, "%25"),
        ("postgresql://lamina:{s}@127.0.0.1:port/x", InvalidInput, "is not the address"),
        ("postgresql://lamina:a@{s}@127.0.0.1:{port}/x", InvalidInput, "%40"),
        ("postgresql://lamina:{s}/a@127.0.0.1:{port}/x", InvalidInput, "is not the address"),
        (
            "postgresql://lamina@127.0.0.1:{port}/x?password={s}&nonsense=1",
            InvalidInput,
            "is not the address",
        ),
    ],
)
def test_an_address_that_leads_nowhere(
    quick_postgres: Copied, tmp_path: Path, address: str, kind: type[LaminaError], message: str
) -> None:
    """B3: says what is wrong with it and what to do, and never the password."""
    given = {
        "s": SECRET,
        "free": free_port(),
        "port": quick_postgres.port,
        "password": quick_postgres.password,
    }
    error = refused(tmp_path, address.format(**given))
    assert isinstance(error, kind)
    assert message in error.message
    assert quick_postgres.password not in error.message
    assert not (tmp_path / "agents" / "sky" / "memory.db").exists()


def test_a_server_that_is_away_is_an_outage(tmp_path: Path) -> None:
    """B4: with the fail-safe a memory is kept in the home meanwhile; what is wrong is told, without
    the password."""
    url = f"postgresql://lamina:{SECRET}@127.0.0.1:{free_port()}/x"
    with lamina.open("sky", home=tmp_path, settings={"store.url": url}) as mem:
        assert mem.remember("tea").stored_in == "failsafe"
        status = json.dumps(mem.status(), default=str)
    assert "nobody answers there" in status
    assert SECRET not in status


def test_without_pgvector(quick_postgres: Copied, tmp_path: Path) -> None:
    """B3: a database without the extension says who has to do what, and stays as it is."""
    name = quick_postgres.database(vector=False)
    error = refused(tmp_path, quick_postgres.url(name))
    assert isinstance(error, StoreUnavailable)
    assert "CREATE EXTENSION vector" in error.message
    assert (
        quick_postgres.execute("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'lamina%'", name)
        == []
    )
    quick_postgres.execute("CREATE EXTENSION vector", name)
    with lamina.open("sky", home=tmp_path, settings={"store.url": quick_postgres.url(name)}) as mem:
        assert mem.remember("tea").stored_in == "store"


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_every_text(
    quick_postgres: Copied, tmp_path: Path, encoding: str
) -> None:
    """B3: one that was made for some languages only is refused at once, not by the first
    memory in another."""
    name = f"lamina_{encoding.lower()}"
    quick_postgres.execute(
        f"CREATE DATABASE {name} OWNER lamina ENCODING '{encoding}' TEMPLATE template0"
    )
    error = refused(tmp_path, quick_postgres.url(name))
    assert f"its encoding is {encoding}; create it with ENCODING 'UTF8'" in error.message
    quick_postgres.drop(name)


@pytest.mark.parametrize("how", ["address", "environment", "database"])
def test_texts_travel_as_they_are(
    quick_postgres: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """B3: whichever encoding a client has by default, every script arrives."""
    name = quick_postgres.copy()
    url = quick_postgres.url(name)
    if how == "address":
        url += "?client_encoding=LATIN1"
    elif how == "environment":
        monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    else:
        quick_postgres.execute(f"ALTER DATABASE {name} SET client_encoding = 'LATIN1'")
    with lamina.open("sky", home=tmp_path, settings={"store.url": url}) as mem:
        mem.remember("Köln 日本 🐈")
        assert contents(mem.search("日本")) == ["Köln 日本 🐈"]
    quick_postgres.drop(name)


def test_pgvector_in_a_schema_of_its_own(quick_postgres: Copied, tmp_path: Path) -> None:
    """B3: wherever an operator has put the extension, it is found."""
    name = quick_postgres.database(vector=False)
    for statement in (
        "CREATE SCHEMA extensions",
        "CREATE EXTENSION vector SCHEMA extensions",
        "GRANT USAGE ON SCHEMA extensions TO lamina",
    ):
        quick_postgres.execute(statement, name)
    with lamina.operator(
        "sky", home=tmp_path, settings={"store.url": quick_postgres.url(name)}
    ) as op:
        record = op.remember("the boiler is old")
        assert op.index() == 1
        assert op.search("old boiler", ranker="semantic")[0].record == record


@pytest.mark.parametrize(
    "statement",
    ["CREATE SCHEMA lamina", "CREATE SCHEMA lamina; CREATE TABLE lamina.version (schema int)"],
)
def test_a_schema_of_somebody_else(
    quick_postgres: Copied, bare: str, tmp_path: Path, statement: str
) -> None:
    """B3: one with our name that is not ours is left as it is."""
    quick_postgres.execute(statement, bare)
    count = "SELECT count(*) FROM pg_tables WHERE schemaname LIKE 'lamina%'"
    before = quick_postgres.execute(count, bare)
    error = refused(tmp_path, quick_postgres.url(bare))
    assert isinstance(error, (Corrupt, Refused))
    assert quick_postgres.execute(count, bare) == before


def test_a_view_schema_of_somebody_else(quick_postgres: Copied, bare: str, tmp_path: Path) -> None:
    """B3: half of our names taken is as bad; nothing is made."""
    quick_postgres.execute("CREATE SCHEMA lamina_own", bare)
    refused(tmp_path, quick_postgres.url(bare))
    assert quick_postgres.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'lamina'", bare) == []


@pytest.mark.parametrize("version", [VERSION + 1, 99, 0, -1])
def test_tables_of_another_lamina(quick_postgres: Copied, tmp_path: Path, version: int) -> None:
    """B3: a newer schema is for a newer Lamina, and nothing is written to it."""
    name = quick_postgres.copy()
    quick_postgres.execute(f"UPDATE lamina.version SET schema = {version}", name)
    error = refused(tmp_path, quick_postgres.url(name))
    assert isinstance(error, StoreUnavailable)
    assert f"schema {version}" in error.message
    assert quick_postgres.execute("SELECT count(*) FROM lamina.meta", name) == [(0,)]


def test_tables_of_an_earlier_lamina_are_brought_up_to_date(
    quick_postgres: Copied, tmp_path: Path
) -> None:
    """B3: what later versions add is made by the first handle that writes, once; afterwards a
    user's records are found by their user, and a session's by their session."""
    name = quick_postgres.copy()
    quick_postgres.execute("DROP INDEX lamina.records_of_users", name)
    quick_postgres.execute("DROP INDEX lamina.records_by_session", name)
    quick_postgres.execute("UPDATE lamina.version SET schema = 6", name)
    for user in ("ana", "ben", *map(str, range(20))):
        with lamina.open(
            home=tmp_path, user=user, settings={"store.url": quick_postgres.url(name)}
        ) as memory:
            memory.remember(f"green tea of {user}")
            (hit,) = memory.search("tea")
            assert hit.record.user == user
    assert quick_postgres.execute("SELECT schema FROM lamina.version", name) == [(VERSION,)]
    made = "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'records\\_%' ORDER BY 1"
    names = {found for (found,) in quick_postgres.execute(made, name)}
    assert {"records_of_users", "records_by_session"} <= names


BACK_TO_5 = """
DROP INDEX lamina.records_by_session;
DROP INDEX lamina.records_of_users;
DROP VIEW lamina_own.tokens;
DROP TABLE lamina.tokens;
DROP VIEW lamina_own.spaces;
ALTER TABLE lamina.spaces DROP COLUMN mean;
CREATE VIEW lamina_own.spaces AS SELECT owner, number, name, dimensions, seen FROM lamina.spaces
WHERE owner = lamina.owner() WITH CHECK OPTION;
UPDATE lamina.version SET schema = 5
"""
OWNER = "SELECT tableowner FROM pg_tables WHERE schemaname = 'lamina' AND tablename = 'version'"


def test_tables_of_an_earlier_lamina(quick_postgres: Copied, tmp_path: Path) -> None:
    """B3: the tables of an earlier version are brought up to date when a handle that writes opens
    them, once; a handle that only reads leaves them alone, and says so."""
    name = quick_postgres.copy()
    for statement in BACK_TO_5.split(";"):
        quick_postgres.execute(statement, name)
    ((owner,),) = quick_postgres.execute(OWNER, name)
    quick_postgres.execute(f'ALTER VIEW lamina_own.spaces OWNER TO "{owner}"', name)
    settings = {"store.url": quick_postgres.url(name), "failsafe": "off"}
    with pytest.raises(NotFound, match=f"no tables of schema {VERSION} yet"):
        look("sky", home=tmp_path, settings=settings)
    for text in ("tea at seven", "coffee at nine"):
        with lamina.open("sky", home=tmp_path, settings=settings) as memory:
            memory.remember(text)
            memory.index()
    with lamina.operator("sky", home=tmp_path, settings=settings) as operator:
        assert contents(operator.search("coffee"))[0] == "coffee at nine"
        assert verified(operator)
    assert quick_postgres.execute("SELECT schema FROM lamina.version", name) == [(VERSION,)]


def test_a_table_that_is_gone(quick_postgres: Copied, tmp_path: Path) -> None:
    """B3: a database that somebody has taken apart is damaged, not empty."""
    name = quick_postgres.copy()
    quick_postgres.execute("DROP TABLE lamina.meta CASCADE", name)
    assert isinstance(refused(tmp_path, quick_postgres.url(name)), Corrupt)


def test_a_damaged_server_is_not_replaced_by_a_file(
    quick_postgres: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H5, B3: a backup cannot take the place of tables that are gone, and is not laid where nobody
    looks for the memory."""
    name = quick_postgres.copy()
    monkeypatch.setenv("LAMINA_STORE_URL", quick_postgres.url(name))
    with lamina.operator("sky", home=tmp_path) as op:
        op.remember("tea")
        kept = op.backup()
    quick_postgres.execute("DROP TABLE lamina.meta CASCADE", name)
    with pytest.raises(Corrupt, match="not those of a Lamina store"):
        restore(kept, "sky", tmp_path)
    assert not (tmp_path / "agents" / "sky" / "memory.db").exists()


def test_a_server_that_is_too_old(
    quick_postgres: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3: is told by its version."""
    monkeypatch.setattr(pool, "OLDEST_SERVER", 99)
    error = refused(tmp_path, quick_postgres.url(quick_postgres.copy()))
    assert isinstance(error, StoreUnavailable)
    assert "is too old; 99 or newer is needed" in error.message


@pytest.fixture
def reading(quick_postgres: Copied, tmp_path: Path) -> Iterator[str]:
    """The address of a memory for a role that may only read it."""
    name = quick_postgres.copy()
    with lamina.operator(
        "sky", home=tmp_path, settings={"store.url": quick_postgres.url(name)}
    ) as op:
        op.remember("tea")
    quick_postgres.execute(f"CREATE ROLE reader LOGIN PASSWORD '{SECRET}'")
    for statement in (
        "GRANT USAGE ON SCHEMA lamina, lamina_own TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA lamina, lamina_own TO reader",
    ):
        quick_postgres.execute(statement, name)
    yield quick_postgres.url(name, "reader", SECRET)
    quick_postgres.drop(name)
    quick_postgres.execute("DROP ROLE reader")


def test_a_role_that_may_only_read(reading: str, tmp_path: Path) -> None:
    """P2, B3: it reads; when it would write it is told which right it lacks,
    and nothing changes."""
    with look("sky", home=tmp_path, settings={"store.url": reading}) as mem:
        assert contents(mem.list()) == ["tea"]
        assert contents(mem.search("tea")) == ["tea"]
    with lamina.open(
        "sky", home=tmp_path, settings={"store.url": reading, "failsafe": "off"}
    ) as mem:
        with pytest.raises(Refused, match="lacks a right") as error:
            mem.remember("coffee")
        assert SECRET not in error.value.message
        assert contents(mem.list()) == ["tea"]


def test_what_waits_is_not_laid_aside_for_want_of_rights(
    reading: str, quick_postgres: Copied, tmp_path: Path
) -> None:
    """B4: a role that lost its rights during an outage blames no memory for that; all wait until
    somebody may store them."""
    away = f"postgresql://lamina@127.0.0.1:{free_port()}/x"
    with lamina.open("sky", home=tmp_path, settings={"store.url": away}) as mem:
        kept = mem.remember("coffee")
    with lamina.operator("sky", home=tmp_path, settings={"store.url": reading}) as op:
        with pytest.raises(Refused, match="lacks a right"):
            op.replay_failsafe()
        assert op.failsafe_status()["waiting"] == 1
    rightful = quick_postgres.url(reading.rpartition("/")[2])
    with lamina.open("sky", home=tmp_path, settings={"store.url": rightful}) as mem:
        assert mem.get(kept.id).content == "coffee"


def test_a_role_that_may_not_change_tables(quick_postgres: Copied, tmp_path: Path) -> None:
    """B3: the rights that the documents name are enough to remember, archive, erase,
    restore and check."""
    name = quick_postgres.copy()
    quick_postgres.execute(f"CREATE ROLE clerk LOGIN PASSWORD '{SECRET}'")
    page = (Path(__file__).parents[2] / "docs" / "postgres.md").read_text("utf-8")
    rights = [line for line in page.splitlines() if line.startswith("GRANT ")]
    assert len(rights) == 3
    for statement in rights:
        quick_postgres.execute(statement, name)
    with Desk(tmp_path) as desk:
        op = lived(desk, settings={"store.url": quick_postgres.url(name, "clerk", SECRET)})
        made = op.backup()
        op.remember("later")
        op.restore(made)
        op.reindex()
        assert verified(op)
    quick_postgres.drop(name)
    quick_postgres.execute("DROP ROLE clerk")


def test_who_only_looks_makes_nothing(quick_postgres: Copied, bare: str, tmp_path: Path) -> None:
    """P2: a look at an empty database, or at an agent that is not there, leaves it empty."""
    with pytest.raises(NotFound):
        look("sky", home=tmp_path, settings={"store.url": quick_postgres.url(bare)})
    assert (
        quick_postgres.execute("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'lamina%'", bare)
        == []
    )
    name = quick_postgres.copy()
    with pytest.raises(NotFound):
        look("sky", home=tmp_path, settings={"store.url": quick_postgres.url(name)})
    assert quick_postgres.execute("SELECT count(*) FROM lamina.meta", name) == [(0,)]


def test_who_only_looks_from_a_new_home_is_in_its_trail(
    quick_postgres: Copied, tmp_path: Path
) -> None:
    """P4: the memory is on a server, and what is read of it is noted in the home it
    is read from."""
    settings = {"store.url": quick_postgres.url(quick_postgres.copy())}
    with lamina.open("sky", home=tmp_path / "one", settings=settings) as mem:
        mem.remember("tea")
    with look("sky", home=tmp_path / "two", settings=settings) as mem:
        assert contents(mem.list()) == ["tea"]
        assert mem.status()["problems"] == []
    with lamina.operator("sky", home=tmp_path / "two", settings=settings) as op:
        assert [read.action for read in op.audit_reads()] == ["list"]


@pytest.mark.parametrize(
    "name", ["content", "tags", "metadata", "session", "speaker", "source", "key"]
)
def test_what_postgresql_cannot_hold_is_refused_everywhere(
    quick_postgres: Copied, tmp_path: Path, name: str
) -> None:
    """R1: a NUL or half a character is refused with the same words in a file and on a server, and
    leaves no trace."""
    url, said = quick_postgres.url(quick_postgres.copy()), []
    for number, settings in enumerate(({}, {"store.url": url})):
        with lamina.operator("sky", home=tmp_path / str(number), settings=settings) as op:
            for bad in ("a\0b", "a\ud800b"):
                value: Any = {"tags": [bad], "metadata": {"k": bad}}.get(name, bad)
                with pytest.raises(InvalidInput) as error:
                    op.remember(**{"content": "tea", name: value})
                said.append(error.value.message)
            assert op.audit_head()["events"]["seq"] == 0
    assert said[:2] == said[2:]


def test_a_password_is_told_nowhere(
    quick_postgres: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P6, B3: not by status, the doctor, the settings, an error or a move, in tables or in JSON;
    nor is it in any file."""
    url = quick_postgres.url(quick_postgres.copy())
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path))
    monkeypatch.setenv("LAMINA_AGENT", "sky")
    moves_to = quick_postgres.url(quick_postgres.copy())
    lamina.open("sky", home=tmp_path).close()
    migrate.move(Home(tmp_path), "sky", url)
    monkeypatch.setenv("LAMINA_STORE_URL", url)
    said = ""
    for command in (
        ["status"],
        ["doctor"],
        ["config"],
        ["remember", "tea"],
        ["backup"],
        ["audit", "verify"],
        ["migrate", "--to", moves_to],
    ):
        for form in ([], ["--json"]):
            said += CliRunner().invoke(cli, [*form, *command]).output
    assert "tea" in said
    assert quick_postgres.password not in said
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or quick_postgres.password.encode() not in path.read_bytes(), path


def test_the_doctor_looks_at_a_server(quick_postgres: Copied, tmp_path: Path) -> None:
    """H4: a sound memory on a server is sound, and one that cannot be reached is told."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        f'[store]\nurl = "{quick_postgres.url(quick_postgres.copy())}"\n', "utf-8"
    )
    (home / "config.toml").chmod(0o600)
    with lamina.operator("sky", home=home) as op:
        op.remember("tea")
    assert doctor.__doc__
    run = CliRunner().invoke(cli, ["--home", str(home), "--agent", "sky", "doctor"])
    assert run.exit_code == 0, run.output


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.errors.DiskFull("no space"), StoreUnavailable),
        (psycopg.errors.ReadOnlySqlTransaction("replica"), StoreUnavailable),
        (psycopg.errors.LockNotAvailable("timeout"), StoreUnavailable),
        (psycopg.errors.DeadlockDetected("deadlock"), StoreUnavailable),
        (psycopg.errors.AdminShutdown("shutdown"), StoreUnavailable),
        (psycopg.errors.TooManyConnections("too many"), StoreUnavailable),
        (psycopg.errors.DataCorrupted("page"), Corrupt),
        (psycopg.errors.UniqueViolation("twice"), lamina.Conflict),
        (psycopg.errors.NumericValueOutOfRange("range"), InvalidInput),
        (psycopg.OperationalError("connection refused"), StoreUnavailable),
        (psycopg.InterfaceError("closed"), StoreUnavailable),
        (psycopg.Error("one\ntwo\nthree"), StoreUnavailable),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_errors_of_the_server_are_ours(error: psycopg.Error, kind: type[LaminaError]) -> None:
    """B3: every error names the place, is of a kind that callers know, and has one line."""
    told = errors.translate(error, "postgresql://db:5432/lamina")
    assert type(told) is kind
    assert told.message.startswith("postgresql://db:5432/lamina: ")
    assert "\n" not in told.message


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("UPDATE lamina.erasures SET certificate = '{}'", "erasure 1"),
        ("DELETE FROM lamina.erasures", "erasure 1"),
        ("UPDATE lamina.proposed SET number = 0", "proposals of day"),
        ("UPDATE lamina.slept SET seq = seq + 1", "how far sleep has read"),
    ],
)
def test_what_is_altered_beside_the_records_is_named(
    quick_postgres: Copied, tmp_path: Path, statement: str, place: str
) -> None:
    """P4, P5: certificates, counters and marks on a server are compared with the trail as in a
    file."""
    name = quick_postgres.copy()
    settings = {"store.url": quick_postgres.url(name)}
    with lamina.open("sky", home=tmp_path, settings=settings) as memory:
        said = memory.remember_conversation(
            [{"speaker": "Ana", "text": "I live in Rome."}], session="s1"
        )
        memory.propose_profile("town", "Rome", "said so", [said[0].id])
    with lamina.operator("sky", home=tmp_path, settings=settings) as operator:
        operator.sleep()
        operator.erase(operator.remember("Ana hides pomegranates").id)
        assert verified(operator)
        quick_postgres.execute(statement, name)
        (problem,) = operator.audit_verify()["events"].problems
        assert problem.place.startswith(place)
        if place.startswith("erasure"):
            with pytest.raises(Corrupt, match=place):
                operator.erasures()
