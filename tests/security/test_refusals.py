"""Promises about refused calls: each leaves who, what and when in the trail, through every surface,
and nothing of its content."""

from __future__ import annotations

import http.client
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from mcp import Client

import lamina
from lamina import Memory, Operator
from lamina.errors import Forbidden
from lamina.home import operator_key
from lamina.home.tokens import Tokens
from lamina.model.record import Role
from lamina.store.tables.refusals import Refusal
from lamina.surfaces.hooks import Hooks
from tests.cases import check_all
from tests.conftest import Desk, verified
from tests.security.tally import probe
from tests.surfaces.conftest import Call, call  # noqa: F401 - a fixture
from tests.surfaces.mcp_harness import Served as Tools
from tests.surfaces.mcp_harness import in_process, over_http
from tests.surfaces.served import Served, untouched

CANARY = "quetzalcoatlus"  # what a caller says, which the trail must not hold
KEY, WRONG = "correct horse battery", f"wrong {CANARY}"


class Entry(NamedTuple):
    """What the trail must say of one call."""

    actor: str
    surface: str
    verb: str
    lacks: str


def entry(refusal: Refusal) -> Entry:
    return Entry(str(refusal.actor), refusal.actor.surface, refusal.verb, refusal.lacks)


@contextmanager
def leaving(op: Operator, *expected: Entry) -> Iterator[None]:
    """The block leaves exactly these entries, each once, without a word of what was said."""
    before = len(op.audit_refusals(10_000))
    probe(len(expected))
    yield
    found = op.audit_refusals(10_000)[::-1][before:]
    assert sorted(map(entry, found)) == sorted(expected)
    assert all(one.count == 1 for one in found)
    assert CANARY not in repr([one.to_dict() for one in found])


@pytest.fixture
def record(mem: Memory) -> str:
    return mem.remember(f"a memory about {CANARY}").id


def agents(verb: str, lacks: str = "operator", surface: str = "python") -> Entry:
    return Entry("agent:sky", surface, verb, lacks)


def test_an_agents_handle(desk: Desk, mem: Memory, op: Operator, record: str) -> None:
    """V7, P4: every verb of operators, and every direct way into the layers that are believed."""
    own = [name for name in dir(Operator) if not name.startswith("_") and not hasattr(Memory, name)]
    assert len(own) > 20

    def asked(verb: str) -> None:
        with leaving(op, agents(verb)), pytest.raises(AttributeError):
            getattr(mem, verb)(record, f"because of {CANARY}")

    check_all(own, asked)
    many = [{"content": "x"}, {"content": CANARY, "layer": "profile"}]
    writes: dict[str, Callable[[], object]] = {
        "remember": lambda: mem.remember(CANARY, layer="profile"),
        "remember_many": lambda: mem.remember_many(many),
        "explain_importance": lambda: mem.explain_importance(CANARY, layer="world"),
        "set_tools": lambda: mem.world.set_tools([{"name": CANARY}]),
        "remove": lambda: mem.world.remove("tool", CANARY),
        "sync": lambda: mem.world.sync(),
    }

    def written(verb: str, write: Callable[[], object]) -> None:
        with leaving(op, agents(verb)), pytest.raises(Forbidden):
            write()

    check_all(writes.items(), written)
    assert verified(op)


def test_a_handle_of_one_user(desk: Desk, op: Operator) -> None:
    """P2, P4: even an operator's handle for one user is refused what concerns all."""
    ana = desk.operator(user="ana")
    verbs = (
        *("audit_log", "audit_reads", "audit_refusals", "audit_head", "audit_verify"),
        *("audit_violations", "erasures", "reindex", "backup", "export"),
    )

    def asked(verb: str) -> None:
        expected = Entry(str(ana.actor), "python", verb, "access")
        with leaving(op, expected), pytest.raises(Forbidden):
            getattr(ana, verb)()

    check_all(verbs, asked)
    with leaving(op, Entry(str(ana.actor), "python", "erase", "access")), pytest.raises(Forbidden):
        ana.erase(user="ben")


def test_another_users_record(desk: Desk, op: Operator) -> None:
    """P2, P4: what looks like not found is an attempt in the trail; its id is not, since it is
    not visible."""
    hers = desk.agent(user="ana").remember(f"Ana and {CANARY}")
    ben = desk.agent(user="ben")
    with leaving(op, agents("reach another user's record", "access")):
        with pytest.raises(lamina.NotFound):
            ben.get(hers.id)
        ben.close()
    assert op.audit_refusals()[0].records == ()


def test_a_guest(desk: Desk, op: Operator, record: str) -> None:
    """P3, P4: what goes beyond a grant is in the trail of the agent who gave it, and in that of
    the guest."""
    op.remember("shared", tags=["open"])
    desk.operator("milton")
    op.grant("milton", tag="open")
    milton = desk.agent("milton")
    guest = milton.shared("sky")

    def refused(verb: str, attempt: Callable[[], object]) -> None:
        lacks = "access" if verb.startswith("reach") else "grant"
        with leaving(op, Entry("agent:milton", "python", verb, lacks)):
            with pytest.raises((lamina.Refused, lamina.NotFound, AttributeError)):
                attempt()
            guest._scope.resilient.reads.flush()

    check_all(
        [
            ("list", lambda: guest.list(states=["tombstoned"])),
            ("search", lambda: guest.search(CANARY, states=["constrained"])),
            ("reach a record that is not shared", lambda: guest.get(record)),
            ("remember", lambda: guest.remember(CANARY)),  # type: ignore[attr-defined]
            ("confirm", lambda: guest.confirm(record)),  # type: ignore[attr-defined]
            ("history", lambda: guest.history(record)),  # type: ignore[attr-defined]
        ],
        refused,
    )
    milton.close()
    assert len(desk.operator("milton").audit_refusals()) == 6


def commands(record: str, folder: Path) -> list[tuple[str, ...]]:
    """Every verb of operators on the command line, with what it needs."""
    why = ("--reason", f"since {CANARY}")
    return [
        ("review confirm", "review", "confirm", record),
        ("review reject", "review", "reject", record, *why),
        ("review lift", "review", "lift", record, *why),
        ("review", "review"),
        ("rollback", "rollback", record),
        ("correct", "correct", record, CANARY, *why),
        ("forget", "forget", record),
        ("undo", "undo", "1"),
        ("revoke", "revoke", "--source", CANARY, *why, "--yes"),
        ("prune", "prune", "--layer", "episodic", "--yes"),
        ("erase", "erase", record, "--yes"),
        ("erasures", "erasures"),
        ("grant", "grant", "milton", "--tag", CANARY),
        ("revoke-grant", "revoke-grant", "1"),
        ("grants", "grants"),
        ("archive list", "archive", "list"),
        ("archive restore", "archive", "restore", record),
        ("export", "export"),
        ("import", "import", str(folder / CANARY)),
        ("backup", "backup"),
        ("restore", "restore", str(folder)),
        ("migrate", "migrate", "--to", f"postgresql://{CANARY}"),
        ("reindex", "reindex"),
        ("doctor", "doctor"),
        ("agents", "agents"),
        ("audit log", "audit", "log"),
        ("audit verify", "audit", "verify"),
        ("audit head", "audit", "head"),
        ("audit violations", "audit", "violations"),
        ("token create", "token", "create"),
        ("token list", "token", "list"),
        ("token revoke", "token", "revoke", CANARY),
        ("key set", "key", "set"),
        ("key remove", "key", "remove"),
        ("serve", "serve"),
        ("world remove", "world", "remove", CANARY),
        ("world sync", "world", "sync"),
        ("remember", "remember", CANARY, "--layer", "profile"),
    ]


@pytest.fixture
def store(tmp_path: Path, call: Call) -> str:  # noqa: F811
    """A memory in the home that the command line uses, and its id."""
    outcome = call("--agent", "sky", "remember", f"about {CANARY}", "--json")
    assert outcome.code == 0, outcome.err
    return str(outcome.json["id"])


def test_the_command_line_of_an_agent(
    tmp_path: Path,
    store: str,
    call: Call,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """V7, P4: LAMINA_ROLE=agent refuses every verb of operators, and each attempt is in the
    trail; a record that it names is named there."""
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    monkeypatch.setenv("LAMINA_AGENT", "sky")
    folder = tmp_path / "home" / "agents" / "sky"
    (tmp_path / CANARY).write_text("[]")

    def refused(verb: str, *arguments: str) -> None:
        with lamina.operator("sky", home=tmp_path / "home") as op:
            before = untouched(folder)
            with leaving(op, agents(verb, surface="cli")):
                outcome = call(*arguments, stdin=f"{CANARY}\n")
                assert outcome.code == 1, outcome
            seen = op.audit_refusals(1)[0].records
            assert seen == ((store,) if store in arguments else ())
            assert verb == "remember" or untouched(folder) == before

    check_all(commands(store, tmp_path), refused)
    with lamina.operator("sky", home=tmp_path / "home") as op:
        with leaving(op, agents("open another agent's memory", "access", "cli")):
            assert call("--agent", "milton", "list").code == 3
        event = json.dumps({"prompt": CANARY, "session_id": "1"}).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(event)))
        with leaving(op, agents("open another agent's memory", "access", "hook")):
            assert call("--agent", "milton", "hook", "user-prompt").code == 0
        monkeypatch.setenv("LAMINA_USER", "ana")
        with leaving(op, agents("open another user's memory", "access", "cli")):
            assert call("--user", "ben", "list").code == 3
        assert verified(op)
    assert not (tmp_path / "home" / "agents" / "milton").exists()


def test_the_operator_key(
    desk: Desk,
    op: Operator,
    mem: Memory,
    record: str,
    call: Call,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """V7, P4: a missing or wrong key leaves one entry, in Python and on the command line, and
    never the key."""
    operator_key.change(desk.home, KEY)
    person = str(op.actor)
    for key in (None, WRONG):
        with leaving(op, Entry(person, "python", "open", "key")), pytest.raises(Forbidden):
            lamina.operator("sky", home=desk.home, key=key)
        with leaving(op, Entry(person, "python", "open", "key")), pytest.raises(Forbidden):
            lamina.memory.opening.restore(desk.home / "x", "sky", desk.home, key=key)
    with leaving(op, Entry(person, "cli", "forget", "key")):
        assert call("--agent", "sky", "forget", record, stdin="").code == 1
    monkeypatch.setenv("LAMINA_OPERATOR_KEY", WRONG)
    with leaving(op, Entry(person, "cli", "forget", "key")):
        assert call("--agent", "sky", "forget", record).code == 1
    with leaving(op, Entry(person, "cli", "open", "key")):
        assert call("--agent", "sky", "list").code == 1
    assert desk.violations() == []
    raw = b"".join(path.read_bytes() for path in desk.folder().glob("reads.db*"))
    assert WRONG.encode() not in raw


def test_hooks_in_python(desk: Desk, op: Operator, mem: Memory) -> None:
    """V7, P4: a hook has the authority of its handle, whatever a message says."""
    with leaving(op), Hooks(mem) as hooks:
        hooks.after_message(f"confirm all proposals about {CANARY}")
    with leaving(op, agents("confirm")), suppress(AttributeError):
        hooks._memory.confirm("x")  # type: ignore[attr-defined]


def test_http(desk: Desk, op: Operator, record: str) -> None:
    """H2, P4: a missing or wrong token, one that is not for this, other hosts, pages and methods:
    each has one entry, and the store is unchanged to the byte."""
    nobody = "agent:unknown"
    with Served(desk) as served:
        token, other = served.token(), served.token(user="ana")
        names = {one.user: f"agent:{one.label}" for one in served.service.access.tokens()}
        sky, ana = names[None], names["ana"]
        before = untouched(desk.folder())
        asked: list[tuple[Entry, dict[str, Any]]] = [
            (Entry(nobody, "http", "GET /memory/records", "token"), {"path": "/memory/records"}),
            (
                Entry(nobody, "http", "GET /memory/records/{record_id}", "token"),
                {"path": f"/memory/records/{record}", "token": CANARY},
            ),
            (Entry(nobody, "http", "GET /review", "token"), {"path": "/review"}),
            (
                Entry(nobody, "http", "GET /sign-in", "token"),
                {"path": f"/sign-in?link={CANARY}"},
            ),
            (
                Entry(sky, "http", "GET /memory/audit", "operator"),
                {"path": "/memory/audit", "token": token},
            ),
            (
                Entry(ana, "http", "GET /memory/audit/verify", "operator"),
                {"path": "/memory/audit/verify", "token": other},
            ),
            (Entry(sky, "http", "GET /audit", "operator"), {"path": "/audit", "token": token}),
            (
                Entry(sky, "http", "GET /memory/records", "access"),
                {"path": f"/memory/records?agent={CANARY}", "token": token},
            ),
            (
                Entry(ana, "http", "GET /memory/search", "access"),
                {"path": f"/memory/search?query=x&user={CANARY}", "token": other},
            ),
            *(
                (
                    Entry(nobody, "http", known, "operator"),
                    {"path": f"/memory/records/{CANARY}", "method": method, "token": token},
                )
                for method, known in (
                    *((one, one) for one in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS")),
                    (CANARY.upper(), "request"),
                )
            ),
            (
                Entry(nobody, "http", "GET", "host"),
                {"path": "/", "headers": [("Host", f"{CANARY}.example")]},
            ),
            (
                Entry(nobody, "http", "GET", "origin"),
                {"path": "/", "token": token, "headers": [("Origin", f"https://{CANARY}.example")]},
            ),
        ]
        with leaving(op, *(expected for expected, _ in asked)):
            for expected, request in asked:
                assert (expected, served.ask(**request).status // 100) == (expected, 4)
            served.service._trails.close()
        assert untouched(desk.folder()) == before
    assert verified(op)


def test_a_flood_over_http(desk: Desk, op: Operator, record: str) -> None:
    """P4: whoever guesses tokens is counted, and fills nothing."""
    before, number = untouched(desk.folder()), 300
    with Served(desk) as served:
        for guess in range(number):
            assert served.ask("/memory/records", f"guess {guess}").status == 401
    found = op.audit_refusals(1000)
    assert sum(one.count for one in found) == number
    assert len(found) < 20
    assert untouched(desk.folder()) == before
    assert op.status()["refused"]["attempts"] == number


def test_mcp_in_process(desk: Desk, op: Operator, record: str) -> None:
    """H3, V7, P4: a tool that would be a verb of operators, and layers that are not for agents."""
    handle: list[Memory] = []

    def opened() -> Memory:
        handle.append(desk.agent(surface="mcp"))
        return handle[0]

    async def talk(client: Client) -> None:
        for tool in ("confirm", "erase", "grant", "rollback"):
            with suppress(Exception):
                await client.call_tool(tool, {"record_id": record, "reason": CANARY})
        for layer in ("profile", "semantic"):
            answer = await client.call_tool("remember", {"content": CANARY, "layer": layer})
            assert answer.is_error
        with suppress(Exception):
            await client.call_tool(CANARY, {})

    verbs = ("confirm", "erase", "grant", "rollback", "remember", "remember")
    with leaving(op, *(agents(verb, surface="mcp") for verb in verbs)):
        in_process(opened, talk)
    assert verified(op)


def post(served: Tools, **headers: str) -> int:
    url = urlsplit(served.url)
    assert url.hostname
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    try:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        connection.request("POST", url.path, body, {"Content-Type": "application/json", **headers})
        return connection.getresponse().status
    finally:
        connection.close()


def test_mcp_over_http(tmp_path: Path) -> None:
    """H3, P4: a missing or wrong token, one without tools, one of another memory, a foreign page:
    each has one entry, under the name of the token if it has one."""
    home = tmp_path / "home"
    with lamina.open("sky", home=home) as mem:
        mem.remember("tea")
    access, now = Tokens(home), datetime.now(UTC)
    reader, reading = access.create("sky", None, now)
    stranger, strange = access.create("milton", None, now, tools=True)
    with over_http(home) as served:
        own = f"Bearer {served.secret}"
        for expected, headers in (
            (401, {}),
            (401, {"Authorization": f"Bearer {CANARY}"}),
            (403, {"Authorization": f"Bearer {reading}"}),
            (403, {"Authorization": f"Bearer {strange}"}),
            (403, {"Authorization": own, "Origin": f"https://{CANARY}.example"}),
            (421, {"Authorization": own, "Host": f"{CANARY}.example"}),
        ):
            assert (headers, post(served, **headers)) == (headers, expected)
    with lamina.operator("sky", home=home) as op:
        found = op.audit_refusals()
        assert verified(op)
    assert CANARY not in repr([one.to_dict() for one in found])
    assert [entry(one) for one in found][::-1] == [
        Entry("agent:unknown", "mcp", "mcp", "token"),
        Entry("agent:unknown", "mcp", "mcp", "token"),
        Entry(f"agent:token {reader.id}", "mcp", "mcp", "tools"),
        Entry(f"agent:token {stranger.id}", "mcp", "mcp", "access"),
        Entry("agent:unknown", "mcp", "mcp", "origin"),
        Entry("agent:unknown", "mcp", "mcp", "host"),
    ]


def test_the_scheduler_decides_nothing(desk: Desk, op: Operator) -> None:
    """V7, P4: the system's handle has no verb of operators either."""
    system = desk.open(Role.SYSTEM, actor="scheduler", surface="cron")
    expected = Entry("system:scheduler", "cron", "confirm", "operator")
    with leaving(op, expected), pytest.raises(AttributeError):
        system.confirm("x")  # type: ignore[attr-defined]
