"""A write on PostgreSQL that is cut off at its exact moment: what happened counts once, what did
not is brought later."""

from __future__ import annotations

import threading

import psycopg
import pytest

import lamina
from lamina.errors import StoreUnavailable
from tests.servers.outage import TERMINATE, Place, check_all, until
from tests.servers.proxy import Proxy

GATE = 4711
DIE = """
    CREATE FUNCTION public.die() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(0.01); RETURN NEW; END $$;
    CREATE CONSTRAINT TRIGGER die AFTER INSERT ON lamina.{} {} FOR EACH ROW EXECUTE FUNCTION public.die()
"""


@pytest.mark.parametrize("when", ["NOT DEFERRABLE", "DEFERRABLE INITIALLY DEFERRED"])
@pytest.mark.parametrize("table", ["records", "words", "tags", "events"])
def test_a_connection_that_dies_in_a_statement(place: Place, table: str, when: str) -> None:
    """B4, R1: whichever statement it is, nothing of the write stays; the fail-safe has it, and
    later it is there once."""
    with place.open() as memory:
        memory.remember("before")
        place.execute(DIE.format(table, when))
        kept = memory.remember_many(
            [{"content": f"many {n}", "tags": ["t"], "key": f"k{n}"} for n in range(60)]
        )
        assert {record.stored_in for record in kept} == {"failsafe"}
        assert place.texts() == ["before"]
        place.execute(f"DROP TRIGGER die ON lamina.{table}")
        memory.remember("afterwards")
    check_all(place, ["before", "afterwards", *(record.content for record in kept)])


def test_a_connection_that_dies_before_the_first_statement(place: Place) -> None:
    """B4, R1: a transaction that has begun and nothing else is gone without a trace."""
    with place.open() as memory:
        transaction = memory._scope.store.database.atomic()
        transaction.__enter__()
        place.execute(TERMINATE)
        with pytest.raises(StoreUnavailable) as found:
            transaction.cursor.execute("SELECT 1")
        transaction.__exit__(found.type, found.value, found.tb)
        memory.remember("afterwards")
    check_all(place, ["afterwards"])


def test_a_transaction_that_cannot_be_kept_says_so(place: Place) -> None:
    """R1: a server that answers COMMIT with ROLLBACK has kept nothing, and nobody
    is told otherwise."""
    with place.open() as memory:
        atomic = memory._scope.store.database.atomic()
        with (
            pytest.raises(StoreUnavailable, match="rolled back"),
            atomic,
            pytest.raises(lamina.LaminaError),
        ):
            atomic.cursor.execute("SELECT 1 / 0")
        memory.remember("afterwards")
    check_all(place, ["afterwards"])


WAIT_AT_COMMIT = f"""
    CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_xact_lock_shared({GATE}); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON lamina.events DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.wait()
"""
WAITING = f"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = {GATE} AND NOT granted"


class Held:
    """A write that stands in the middle of its COMMIT until it is let go on."""

    def __init__(self, place: Place, memory: lamina.Memory) -> None:
        self._place, self._memory = place, memory
        self._gate = psycopg.connect(place.server.url(place.database), autocommit=True)
        self.kept: list[lamina.Record] = []
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> Held:
        self._place.execute(WAIT_AT_COMMIT)
        self._gate.execute(f"SELECT pg_advisory_lock({GATE})")
        self._thread.start()
        until(lambda: self._place.execute(WAITING))
        return self

    def let_go(self) -> None:
        """Have the server finish the COMMIT, whoever still listens."""
        self._gate.close()
        until(lambda: "one" in self._place.texts())

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._gate.close()
        self._place.execute("DROP TRIGGER wait ON lamina.events")

    def _write(self) -> None:
        self.kept = self._memory.remember_many([{"content": "one"}, {"content": "two"}])


def check_unheard(place: Place, held: Held, memory: lamina.Memory) -> None:
    assert [record.stored_in for record in held.kept] == ["failsafe"] * 2
    memory.remember("afterwards")
    assert [memory.get(record.id).content for record in held.kept] == ["one", "two"]
    check_all(place, ["before", "one", "two", "afterwards"])


def test_a_commit_whose_answer_is_lost(place: Place, line: Proxy) -> None:
    """B4, R1: a write that happened without our knowing is kept in the fail-safe as well, and is
    there once afterwards."""
    with place.open() as memory:
        memory.remember("before")
        with Held(place, memory) as held:
            line.stall(requests=False)
            held.let_go()
            line.cut()
            line.heal()
        check_unheard(place, held, memory)


def test_a_commit_that_comes_late(place: Place, line: Proxy) -> None:
    """B4, R1: a write that we gave up, and that the server finished afterwards, is
    there once, too."""
    with place.open() as memory:
        memory.remember("before")
        with Held(place, memory) as held:
            line.stall()
            until(lambda: held.kept)
            assert place.texts() == ["before"]
            held.let_go()
            line.heal()
        check_unheard(place, held, memory)


def test_a_commit_that_never_was(place: Place) -> None:
    """B4, R1: a write that ended in its COMMIT is brought by the fail-safe, even when others got
    its number and its ids."""
    with place.open() as memory, place.open() as other:
        memory.remember("before")
        with Held(place, memory) as held:
            place.execute(f"SELECT pg_terminate_backend(pid) FROM ({WAITING}) AS found")
            until(lambda: held.kept)
        assert other.remember("between").stored_in == "store"
        assert [record.stored_in for record in held.kept] == ["failsafe"] * 2
        memory.remember("afterwards")
    check_all(place, ["before", "between", "one", "two", "afterwards"])
