"""A real server on a free port of the loopback, with a store in which everything can be found, and
a client for both."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from lamina.memory.agent import Memory
from lamina.memory.operator import Operator
from lamina.model.record import Record, Role
from lamina.surfaces.http import app, server
from lamina.surfaces.http.guard import Limits
from lamina.surfaces.http.service import Service, Visitor
from tests.conftest import CONTRACTS, Desk, digest

PATIENCE = 30
HOST = Visitor("sky", None, Role.OPERATOR, "tester")
ID = "01kqg7r3h0c5m2v8w1x4z6t9d3"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error, which has the one shape."""
        assert [*self.json] == ["error"]
        assert self.json["error"]["message"]
        assert self.headers["content-type"] == "application/json"
        return str(self.json["error"]["code"])


class Served:
    """A server of a desk's home, with the desk's clock."""

    host = "127.0.0.1"

    def __init__(
        self,
        desk: Desk,
        limits: Limits | None = None,
        remote: Sequence[str] = (),
        host: Visitor = HOST,
        at: str = "127.0.0.1",
        all_agents: bool = False,
    ) -> None:
        self.desk = desk
        self.service = Service(desk.home, host, desk.clock, limits, all_agents=all_agents)
        self._listening = server.listen(at, 0)
        self.host = at
        self.port: int = self._listening.getsockname()[1]
        self.app = app.create(self.service, self.port, remote)
        self._server = server.server(self.app, self.service.limits)
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    def token(self, agent: str = "sky", user: str | None = None, **more: Any) -> str:
        return self.service.access.create(agent, user, self.desk.clock(), **more)[1]

    def ask(
        self,
        path: str,
        token: str | None = None,
        method: str = "GET",
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
    ) -> Answer:
        """One request on a connection of its own. `Host` is ours unless it is among the headers."""
        given = list(headers)
        if token is not None:
            given.append(("Authorization", f"Bearer {token}"))
        if not any(name == "Host" for name, _ in given):
            given.append(("Host", f"127.0.0.1:{self.port}"))
        connection = http.client.HTTPConnection(*self.address, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given:
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read(),
            )
        finally:
            connection.close()


class Everything(NamedTuple):
    """Handles on a store, and records in it of which each has something to show."""

    mem: Memory
    op: Operator
    told: Record
    corrected: Record
    proposal: Record
    at: datetime


def filled(desk: Desk) -> Everything:
    """A store with turns, facts, a profile, a project, proposals, corrections, an archive
    and an erasure."""
    mem, op = desk.agent(), desk.operator()
    mem.remember("grow tomatoes", kind="project", tags=["project:garden"])
    desk.clock.jump(timedelta(hours=60))
    op.compress_short_to_long()
    at = desk.clock.now
    turns = [
        {"speaker": "Ana", "text": "I live in Lisbon.", "at": at - timedelta(days=9)},
        {"speaker": "Ana", "text": "I moved to Porto last week.", "at": at - timedelta(days=2)},
    ]
    mem.remember_conversation(turns, session="s1", participants=["Ana", "Ben"])
    mem.sleep()
    told = mem.remember(
        "Ana wants daily reports at 7am", kind="request", tags=["reports"], speaker="Ana"
    )
    known = op.remember(
        "Reports are due at seven",
        layer="semantic",
        kind="fact",
        metadata=CONTRACTS["semantic"],
        evidence=[told.id, "https://example.org/note"],
    )
    corrected = op.correct(known.id, "Reports are due at eight", "she said so")
    op.upsert_user_profile({"name": "Ana"}, evidence_ids=[told.id])
    proposal = mem.propose_profile("schedule.wake_up", "06:30", "said so", [told.id])
    mem.remember("An old invoice of the baker", tags=["old"])
    op.prune(tags=["old"])
    gone = mem.remember("gone for good")
    op.erase(gone.id)
    mem.remember("only for Ben", tags=["ben"])
    desk.agent(user="ben").remember("Ben likes tea")
    return Everything(mem, op, told, corrected, proposal, at)


def paths(record_id: str = ID) -> list[str]:
    """Every route of the API, with what it needs."""
    one = f"/memory/records/{record_id}"
    plain = ("records", "facts", "profile", "projects", "proposals", "pending", "status")
    audit = ("/memory/audit", "/memory/audit/reads", "/memory/audit/head", "/memory/audit/verify")
    asked = (
        "search?query=reports",
        "context?goal=reports",
        "archive?query=invoice",
        "timeline?subject=Ana",
    )
    return [
        *(f"/memory/{name}" for name in (*plain, *asked)),
        one,
        f"{one}/history",
        f"{one}/lineage",
        *audit,
    ]


def untouched(folder: Path) -> tuple[str, ...]:
    """What no read may change: the bytes of the store and of the log beside it."""
    found = [folder / name for name in ("memory.db", "memory.db-wal")]
    return tuple(digest(path) if path.exists() else "" for path in found)
