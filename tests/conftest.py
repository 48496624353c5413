"""What the tests share: a clock that they set, and handles that are closed whatever happens."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import apsw
import pytest
from hypothesis import HealthCheck, settings

from lamina import Memory, Operator
from lamina.memory.lifecycle import Lifecycle
from lamina.memory.opening import connect
from lamina.model.record import Actor, Record, Role, State
from lamina.store.tables import records
from tests import surroundings
from tests.security.offline import sitecustomize as offline

START = datetime(2026, 5, 1, 8, 0, tzinfo=UTC)
STORE_ID = "5" * 32
FULL = os.environ.get("LAMINA_FAULTS") == "full"
ATTEMPTS = pytest.StashKey[tempfile.TemporaryDirectory[str]]()
TESTER = Actor(Role.OPERATOR, "tester", "test")

# Metadata that fulfils the contract of each layer (R7).
CONTRACTS: dict[str, dict[str, Any]] = {
    "short_term": {},
    "episodic": {"participants": ["Ana", "Ben"], "raw_hash": "ab12"},
    "semantic": {"origin": "sleep", "topic_tags": ["tea"], "source_episode": "e1"},
    "procedural": {"workflow": "morning-briefing", "canonical": True},
    "profile": {"profile_key": "drink", "value": "tea", "reason": "said so"},
    "world": {},
}

settings.register_profile(
    "lamina",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=500 if FULL else 20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("lamina")


offline.guard()


def pytest_configure(config: pytest.Config) -> None:
    """Children are guarded as well; what they try to reach is written to a file of this process."""
    surroundings.settle()
    folder = config.stash.setdefault(ATTEMPTS, tempfile.TemporaryDirectory(prefix="offline-"))
    os.environ[offline.TOLD] = str(Path(folder.name) / "attempts")
    os.environ["HOME"] = folder.name  # what a library keeps for its user goes with the run
    places = [str(Path(offline.__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(
        dict.fromkeys(os.pathsep.join(places).split(os.pathsep))
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[ATTEMPTS].cleanup()


def attempts() -> list[str]:
    """What somebody has tried to reach since the last look."""
    path = Path(os.environ[offline.TOLD])
    if not path.exists():
        return []
    found = path.read_text("utf-8").splitlines()
    path.unlink()
    return found


@pytest.fixture(autouse=True)
def _nobody_leaves_this_machine() -> Iterator[None]:
    """No test talks to anything but the loopback, also where the product would
    swallow the error."""
    yield
    assert attempts() == []


class Ticking:
    """A clock that moves on by a step with every look at it, and can be set to any time."""

    def __init__(self, start: datetime = START, step: timedelta = timedelta(seconds=1)) -> None:
        self.now = start
        self.step = step

    def __call__(self) -> datetime:
        now = self.now
        self.now += self.step
        return now

    def set(self, when: datetime) -> None:
        self.now = when

    def jump(self, by: timedelta) -> None:
        self.now += by


class Desk:
    """Opens handles on one home with one clock, and closes all of them at the end."""

    def __init__(self, home: Path, clock: Ticking | None = None) -> None:
        self.home = home
        self.clock = clock or Ticking()
        self._handles = ExitStack()

    def open(
        self, role: Role, agent: object = "sky", user: str | None = None, **more: Any
    ) -> Memory:
        more = {"home": self.home, "clock": self.clock, "store_id": STORE_ID, **more}
        return self._handles.enter_context(connect(role, cast(str, agent), user, **more))

    def agent(self, agent: object = "sky", user: str | None = None, **more: Any) -> Memory:
        return self.open(Role.AGENT, agent, user, **more)

    def operator(self, agent: object = "sky", user: str | None = None, **more: Any) -> Operator:
        return cast(Operator, self.open(Role.OPERATOR, agent, user, **more))

    def folder(self, agent: str = "sky") -> Path:
        return self.home / "agents" / agent

    def violations(self) -> list[str]:
        """The lines of the home's list of violations."""
        path = self.home / "violations.jsonl"
        return path.read_text("utf-8").split("\n")[:-1] if path.exists() else []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._handles.close()


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test begins in the same folder, wherever it was started."""
    monkeypatch.chdir(surroundings.ROOT)


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def desk(tmp_path: Path, clock: Ticking) -> Iterator[Desk]:
    with Desk(tmp_path / "home", clock) as opened:
        yield opened


@pytest.fixture
def mem(desk: Desk) -> Memory:
    """An agent's handle."""
    return desk.agent()


@pytest.fixture
def op(desk: Desk) -> Operator:
    """An operator's handle on the same store."""
    return desk.operator()


def move(handle: Memory, record_id: str, **fields: Any) -> Record:
    """Change open fields of a record in one transaction, as a later verb would."""
    with handle._scope.store.change(TESTER, "test", handle._scope.clock()) as transaction:
        row = records.by_id(transaction.db, record_id)
        assert row is not None
        return transaction.update(row, **fields)


def supersede(handle: Memory, old: str, new: str) -> Record:
    """The move that replaces one record by another."""
    return move(handle, old, state=State.SUPERSEDED, superseded_by=new)


def size(handle: Memory) -> tuple[int, int]:
    """How many records and events a store holds: what must not change when a call fails."""
    with handle._scope.store.read() as db:
        counts = records.counts(db, None)
    return sum(sum(states.values()) for states in counts.values()), handle._scope.store.head().seq


def contents(records: Any) -> list[str]:
    """The texts of records or hits, in their order."""
    return [getattr(item, "record", item).content for item in records]


def verified(handle: Operator) -> bool:
    """Whether both chains and every row agree."""
    return all(report.ok for report in handle.audit_verify().values())


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tamper(path: Path, *statements: str) -> None:
    """Change a database as somebody would who does not ask us."""
    with closing(apsw.Connection(str(path))) as connection:
        for statement in statements:
            connection.execute(statement)


def quietly(path: Path, statements: str) -> None:
    """Tamper with rows and leave the schema as it was, triggers and all."""
    with closing(apsw.Connection(str(path))) as connection:
        triggers = list(
            connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        )
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statements)
        for _, sql in triggers:
            connection.execute(str(sql))


def lifecycle(handle: Memory, duplicates: Callable[..., Mapping[str, str]]) -> Lifecycle:
    """Make the lifecycle of a handle that finds the given duplicates."""
    made: Any = Lifecycle(handle._scope)
    made._duplicates = duplicates
    return cast(Lifecycle, made)
