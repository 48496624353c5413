"""Promises of the HTTP surface to whoever is afraid of it: who may ask, from where, how much, and
that nothing changes."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from starlette.responses import Response

from lamina.errors import Corrupt, EmbedderFailed, StoreUnavailable
from lamina.memory.agent import Memory
from lamina.memory.pool import MOST_OPEN, HandlePool
from lamina.model.record import Role
from lamina.surfaces.http.dependencies import CurrentCaller
from lamina.surfaces.http.errors import discreet
from lamina.surfaces.http.guard import Limits
from lamina.surfaces.http.service import Service, Visitor
from tests.conftest import FULL, Desk
from tests.surfaces.served import (
    HOST,
    PATIENCE,
    Answer,
    Everything,
    Served,
    filled,
    paths,
    untouched,
)

EXAMPLES = 100 if FULL else 4
METHODS = (
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "PROPFIND",
    "PURGE",
    "get",
    "GETT",
    "QUERY",
)
PAGES = ("/", "/docs", "/docs.css", "/openapi.json", "/sign-in?link=x", "/sign-out", "/nothing")


@pytest.fixture
def all_(desk: Desk) -> Everything:
    return filled(desk)


@pytest.fixture
def served(all_: Everything, desk: Desk) -> Iterator[Served]:
    with Served(desk) as running:
        yield running


def test_without_a_token_that_opens_there_is_nothing(served: Served, all_: Everything) -> None:
    """H2: missing, wrong, expired, revoked, of another scheme or given twice: 401 on every route,
    in the one shape."""
    clock, access = served.desk.clock, served.service.access
    expired = served.token(expires=clock() + timedelta(seconds=5))
    made, revoked = access.create("sky", None, clock())
    good = served.token(trail=True)
    assert served.ask("/memory/status", revoked).status == 200
    access.revoke(made.id)
    clock.jump(timedelta(seconds=5))
    tried: list[list[tuple[str, str]]] = [
        [],
        *(
            [("Authorization", value)]
            for value in ("", "Bearer", "Bearer ", f"Bearer {good}x", f"Bearer {good[:-1]}")
        ),
        *(
            [("Authorization", f"{scheme} {good}")]
            for scheme in ("Basic", "Token", "Bearer Bearer", "")
        ),
        [("Authorization", f"Bearer {expired}")],
        [("Authorization", f"Bearer {revoked}")],
        [("Authorization", f"Bearer {good}"), ("Authorization", "Bearer wrong")],
        [("Authorization", "Bearer wrong"), ("Authorization", f"Bearer {good}")],
        [("Cookie", f"lamina_{served.port}={good}")],
        [("Cookie", f"lamina_{served.port}=")],
        [("X-Authorization", f"Bearer {good}")],
    ]
    for path in paths(all_.told.id):
        for headers in tried if path == "/memory/status" else tried[:2]:
            found = served.ask(path, headers=headers)
            assert (found.status, found.code) == (401, "refused"), (path, headers)
            assert found.headers["www-authenticate"] == "Bearer"
        assert served.ask(f"{path}{'&' if '?' in path else '?'}token={good}").status == 401
        assert served.ask(path, good).status == 200
    assert (
        served.ask("/memory/status", headers=[("Authorization", f"bearer  {good}")]).status == 200
    )


def test_a_token_is_for_one_agent(served: Served, desk: Desk, all_: Everything) -> None:
    """H2, P2: another agent's records look as if they did not exist, whatever is asked, and the
    attempt is noted."""
    other = desk.agent("milton").remember("Milton owns a walrus")
    token = served.token()
    for path in ("", "/history", "/lineage"):
        found = served.ask(f"/memory/records/{other.id}{path}", token)
        assert (found.status, found.code) == (404, "not_found")
        assert served.ask(f"/memory/records/{other.id}{path}", served.token("milton")).status == 200
    assert len(desk.violations()) == 3
    assert served.ask("/memory/search?query=walrus", token).json["hits"] == []
    assert "walrus" not in str([served.ask(path, token).body for path in paths(all_.told.id)])


def test_a_token_is_for_one_user(served: Served, desk: Desk) -> None:
    """H2, P2: of a store with several users, a token shows its own user's memories and those of
    nobody in particular."""
    bens = desk.agent(user="ben").remember("Ben keeps a falcon")
    anas, everyones = served.token(user="ana"), served.token()
    assert served.ask(f"/memory/records/{bens.id}", anas).code == "not_found"
    assert len(desk.violations()) == 1
    assert served.ask("/memory/search?query=falcon", anas).json["hits"] == []
    for path in paths(bens.id):
        assert b"falcon" not in served.ask(path, anas).body
    for token in (served.token(user="ben"), everyones):
        assert (
            served.ask("/memory/search?query=falcon", token).json["hits"][0]["record"]["id"]
            == bens.id
        )


@pytest.mark.parametrize("name", ["agent", "user"])
def test_no_parameter_widens_a_token(
    served: Served, desk: Desk, all_: Everything, name: str
) -> None:
    """H2, P2: asking for another agent or user is refused on every route, and noted."""
    token = served.token(user="ana")
    for path in paths(all_.told.id):
        found = served.ask(f"{path}{'&' if '?' in path else '?'}{name}=milton", token)
        assert (found.status, found.code) == (403, "refused")
    assert len(desk.violations()) == len(paths())
    assert "milton" in desk.violations()[0]
    for header in ("X-Agent", "X-Lamina-Agent", "X-User"):
        assert (
            served.ask("/memory/status", token, headers=[(header, "milton")]).json["user"] == "ana"
        )


def test_the_owner_of_a_session_is_whoever_started_the_server(desk: Desk) -> None:
    """H2: a browser that signed in sees the agent and user of the command, and the trail only of a
    whole store."""
    desk.agent(user="ben").remember("Ben keeps a falcon")
    with Served(desk, host=Visitor("sky", "ana", Role.OPERATOR, "tester")) as served:
        session = served.service.sessions.redeem(served.service.sessions.link())
        cookie = ("Cookie", f"lamina_{served.port}={session}")
        assert served.ask("/memory/search?query=falcon", headers=[cookie]).json["hits"] == []
        assert served.ask("/memory/audit", headers=[cookie]).status == 403


def own_hosts(port: int) -> list[str]:
    return [f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"]


def foreign_hosts(port: int) -> list[str]:
    names: tuple[str, ...] = (
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "0.0.0.0",
        "[::]",
        "::1",
        "127.1",
        "LOCALHOST",
    )
    names += (
        "2130706433",
        "0x7f000001",
        "[::ffff:127.0.0.1]",
        "localhost.",
        "user@127.0.0.1",
        "127.0.0.2",
        "[0:0:0:0:0:0:0:1]",
    )
    more = (
        "127.0.0.1",
        "localhost",
        "[::1]",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1:0{port}",
        f"127.0.0.1:{port}, evil.example",
        "",
    )
    return [*(f"{name}:{port}" for name in names), *more]


def foreign_origins(port: int) -> list[str]:
    whole = (
        "null",
        "",
        "file://",
        "http://evil.example",
        "http://127.0.0.1",
        "http://localhost",
        f"127.0.0.1:{port}",
    )
    ours = (
        f"https://127.0.0.1:{port}",
        f"http://127.0.0.1:{port}/",
        f"http://LOCALHOST:{port}",
        f"ws://127.0.0.1:{port}",
    )
    return [
        *whole,
        *ours,
        f"http://127.0.0.1:{port}.evil.example",
        f"http://evil.example:{port}",
        f"http://127.0.0.1:{port + 1}",
    ]


def test_only_our_own_hosts_and_origins_pass(served: Served) -> None:
    """H2: of more than forty combinations of Host and Origin only the exact local ones pass, and
    none without a token."""
    token, port = served.token(), served.port
    tried = 0

    def status(*headers: tuple[str, str]) -> int:
        nonlocal tried
        tried += 1
        return served.ask("/memory/status", token, headers=headers).status

    for host in own_hosts(port):
        assert status(("Host", host)) == 200
        for origin in own_hosts(port):
            assert status(("Host", host), ("Origin", f"http://{origin}")) == 200
        assert status(("Host", host), ("Origin", "http://evil.example")) == 403
    for host in foreign_hosts(port):
        assert status(("Host", host)) in (400, 403), host
        assert served.ask("/docs", headers=[("Host", host)]).status in (400, 403), host
    for origin in foreign_origins(port):
        assert status(("Host", own_hosts(port)[0]), ("Origin", origin)) == 403, origin
    own = ("Host", own_hosts(port)[0])
    assert (
        status(own, ("Origin", f"http://127.0.0.1:{port}"), ("Origin", "http://evil.example"))
        == 403
    )
    assert status(own, ("Host", "evil.example")) == 400
    for site, expected in (
        ("none", 200),
        ("same-origin", 200),
        ("same-site", 403),
        ("cross-site", 403),
        ("", 403),
    ):
        assert status(own, ("Sec-Fetch-Site", site)) == expected
    assert tried >= 40


def test_with_remote_access_the_given_name_passes_too(desk: Desk) -> None:
    """H2: a name that was allowed is a host and an origin, exactly, with and without the port;
    others still are not."""
    desk.agent().remember("x")
    with Served(desk, remote=["memory.example"]) as served:
        token = served.token()
        for host in ("memory.example", f"memory.example:{served.port}"):
            assert served.ask("/memory/status", token, headers=[("Host", host)]).status == 200
            for scheme in ("http", "https"):
                headers = [("Host", host), ("Origin", f"{scheme}://{host}")]
                assert served.ask("/memory/status", token, headers=headers).status == 200
        for host in ("memory.example:1", "evil.memory.example", "MEMORY.example"):
            assert served.ask("/memory/status", token, headers=[("Host", host)]).status == 403


def test_every_answer_carries_the_headers_of_caution(served: Served, all_: Everything) -> None:
    """H2: a strict policy, no sniffing, no referrer, no store and no framing on every answer;
    nothing for other origins."""
    token = served.token(trail=True)
    answers = [served.ask(path, token) for path in (*paths(all_.told.id), *PAGES)]
    answers += [served.ask("/memory/status"), served.ask("/memory/status", token, "POST")]
    preflight = [
        ("Origin", f"http://127.0.0.1:{served.port}"),
        ("Access-Control-Request-Method", "GET"),
    ]
    answers.append(served.ask("/memory/status", token, "OPTIONS", preflight))
    answers.append(served.ask("/memory/status", token, headers=[("Host", "evil.example")]))
    for found in answers:
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "no-referrer"
        assert found.headers["cache-control"] == "no-store"
        assert not [name for name in found.headers if name.startswith("access-control")]
        assert "server" not in found.headers


def test_every_other_method_is_refused_everywhere(
    served: Served, desk: Desk, all_: Everything
) -> None:
    """H2: anything but GET and HEAD is a 405 in the one shape, with and without a body, and
    no byte changes."""
    token, before = served.token(trail=True), untouched(desk.folder())
    for path in (*paths(all_.told.id), *PAGES):
        for method in METHODS:
            found = served.ask(path, token, method)
            assert (found.status, found.code, found.headers["allow"]) == (
                405,
                "refused",
                "GET, HEAD",
            )
    body = b'{"content": "let me in"}'
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert (
            served.ask(
                "/memory/records", token, method, [("Content-Length", str(len(body)))], body
            ).status
            == 405
        )
    assert untouched(desk.folder()) == before


def test_fuzzed_requests_fail_well_and_change_nothing(
    served: Served, desk: Desk, all_: Everything
) -> None:
    """H2: whatever schemathesis asks of any route, right or wrong: no 5xx, one shape of errors, no
    byte and no event more."""
    import schemathesis

    token, before, head = (
        served.token(trail=True),
        untouched(desk.folder()),
        all_.op.audit_head()["events"],
    )
    schema = schemathesis.openapi.from_dict(served.ask("/openapi.json").json)
    schema.config.update(base_url=f"http://127.0.0.1:{served.port}")
    quick = settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    for found_operation in schema.get_all_operations():
        operation: Any = found_operation.ok()  # type: ignore[union-attr]
        for mode in schemathesis.GenerationMode:

            @quick
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: Any) -> None:
                if (
                    "record_id" in case.path_parameters
                    and len(str(case.path_parameters["record_id"])) % 2
                ):
                    case.path_parameters["record_id"] = all_.told.id
                found = case.call(headers={"Authorization": f"Bearer {token}"})
                assert found.status_code < 500, found.text
                if found.status_code >= 400:
                    assert [*found.json()] == ["error"]

            ask()
    assert untouched(desk.folder()) == before
    assert all_.op.audit_head()["events"] == head


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=EXAMPLES * 5)
@given(
    data=st.binary(min_size=1, max_size=300)
    | st.text(max_size=60).map(lambda text: f"GET {text} HTTP/1.1\r\n\r\n".encode())
)
def test_garbage_is_answered_or_dropped(running: Served, data: bytes) -> None:
    """H2: bytes that are no request of HTTP get a 400 or an end, and the server goes on."""
    with socket.create_connection(running.address, timeout=PATIENCE) as client:
        client.sendall(data + b"\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        answer = drained(client)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert running.ask("/docs.css").status == 200


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for many examples."""
    with Desk(tmp_path_factory.mktemp("running") / "home") as desk:
        desk.agent().remember("x")
        with Served(desk) as served:
            yield served


def drained(client: socket.socket) -> bytes:
    """Everything until the other side ends."""
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize("sent", [b"", b"GET /docs HT", b"GET /docs HTTP/1.1\r\nHost: x\r\nX: "])
def test_a_slow_client_is_not_waited_for(desk: Desk, sent: bytes) -> None:
    """H2: a request that does not arrive in its time ends the connection."""
    limits = Limits(arrival_seconds=0.1)
    with (
        Served(desk, limits) as served,
        socket.create_connection(served.address, timeout=PATIENCE) as client,
    ):
        client.sendall(sent)
        assert drained(client) == b""


SLOW = "/memory/slow"


class Slow(Served):
    """A server with one more route, whose question to the memory ends when a gate opens."""

    def __init__(self, desk: Desk, limits: Limits | None = None) -> None:
        super().__init__(desk, limits)
        self.gate = threading.Event()
        self._begun = threading.Semaphore(0)

        async def slow(who: CurrentCaller) -> Response:
            return await who.json(self._wait)

        self.app._app.add_api_route(SLOW, slow)  # type: ignore[attr-defined]

    def _wait(self, memory: Memory) -> int:
        self._begun.release()
        assert self.gate.wait(PATIENCE)
        return len(memory.list())

    def wait_for(self, number: int) -> None:
        """Wait until so many of these questions are being answered."""
        for _ in range(number):
            assert self._begun.acquire(timeout=PATIENCE)


@contextmanager
def held_open(
    address: tuple[str, int], number: int, sent: bytes = b""
) -> Iterator[list[socket.socket]]:
    """Connections that begin a request, or not even that, and wait."""
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            for _ in range(number)
        ]
        for client in clients:
            client.sendall(sent)
        yield clients


@pytest.mark.parametrize("sent", [b"", b"GET /docs HTTP/1.1\r\nHost: x\r\nX: "])
def test_idle_connections_make_room_for_a_token(desk: Desk, sent: bytes) -> None:
    """H2: as many idle connections as there may be keep nobody with a token out; the oldest of them
    is let go of first."""
    desk.agent().remember("x")
    limits = Limits(arrival_seconds=20 * PATIENCE)  # so that it is not their time that ends them
    with (
        Served(desk, limits) as served,
        held_open(served.address, limits.connections, sent) as idle,
    ):
        token = served.token()
        assert [served.ask("/memory/status", token).status for _ in range(3)] == [200] * 3
        assert drained(idle[0]) == b""
        idle[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            idle[-1].recv(1)


def test_a_connection_with_a_token_stays(desk: Desk) -> None:
    """H2: who has shown a token keeps the connection, however many come after that; whoever asked
    without one does not."""
    desk.agent().remember("x")
    limits = Limits(arrival_seconds=20 * PATIENCE, connections=8)
    with Served(desk, limits) as served:
        known, stranger = (
            http.client.HTTPConnection(*served.address, timeout=PATIENCE) for _ in range(2)
        )

        def ask(connection: http.client.HTTPConnection, **headers: str) -> int:
            connection.request("GET", "/memory/status", headers=headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status

        token = f"Bearer {served.token()}"
        assert (ask(stranger), ask(known, Authorization=token)) == (401, 200)
        with held_open(served.address, 3 * limits.connections) as idle:
            assert drained(idle[0]) == b""
            assert ask(known, Authorization=token) == 200
            assert stranger.sock is not None
            assert drained(stranger.sock) == b""
        for connection in (known, stranger):
            connection.close()


def test_when_all_are_needed_who_comes_is_told_so(desk: Desk) -> None:
    """H2: a connection whose question is being answered is never let go of; who comes then hears
    that it is full."""
    desk.agent().remember("x")
    with Slow(desk, Limits(connections=2)) as served, ThreadPoolExecutor(2) as threads:
        token = served.token()
        busy = [threads.submit(served.ask, SLOW, token) for _ in range(2)]
        served.wait_for(2)
        refused = served.ask("/memory/status", token)
        assert (refused.status, refused.code, refused.headers["connection"]) == (
            503,
            "store_unavailable",
            "close",
        )
        served.gate.set()
        assert [one.result().status for one in busy] == [200, 200]
        assert served.ask("/memory/status", token).status == 200


def test_a_head_without_end_is_not_read(running: Served) -> None:
    """H2: headers and addresses that are too long are refused, and what has no end is cut off."""
    token = running.token()
    assert running.ask(f"/memory/search?query={'x' * 17_000}", token).status == 414
    assert running.ask("/memory/status", token, headers=[("X", "x" * 33_000)]).status == 431
    with socket.create_connection(running.address, timeout=PATIENCE) as client:
        client.sendall(b"GET /docs HTTP/1.1\r\n")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            client.sendall((b"X: " + b"x" * 1000 + b"\r\n") * 100_000)


@pytest.mark.parametrize(
    "headers",
    [("Content-Length", "100000000000"), ("Transfer-Encoding", "chunked"), ("Content-Length", "5")],
)
def test_a_body_is_not_read(running: Served, headers: tuple[str, str]) -> None:
    """H2: a request that announces a body is refused before any of it has come, and
    the connection ends."""
    for method, status in (("GET", 413), ("POST", 405)):
        found = running.ask("/memory/status", running.token(), method, [headers])
        assert (found.status, found.headers["connection"]) == (status, "close")


def test_one_connection_serves_many_requests(running: Served) -> None:
    """H2: a connection is kept between requests, for different tokens too, and each
    is judged alone."""
    connection = http.client.HTTPConnection(*running.address, timeout=PATIENCE)
    token = running.token()
    for given_, expected in ((token, 200), (None, 401), ("wrong", 401), (token, 200)):
        connection.request(
            "GET",
            "/memory/status",
            headers={} if given_ is None else {"Authorization": f"Bearer {given_}"},
        )
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (expected, True)
    connection.close()


def test_many_ask_at_once_while_memories_come(served: Served, all_: Everything) -> None:
    """H2: clients at the same time all get right answers, on every route, while the
    store is written."""
    token, routes = served.token(trail=True), paths(all_.told.id)
    search = "/memory/search?query=daily+reports+at+7am&limit=1&ranker=keyword"

    def ask(number: int) -> tuple[Answer, Answer]:
        if number % 10 == 0:
            all_.mem.remember(f"note {number}")
        return served.ask(search, token), served.ask(routes[number % len(routes)], token)

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, range(80)))
    assert {answer.status for both in answers for answer in both} == {200}
    assert {found.json["hits"][0]["record"]["id"] for found, _ in answers} == {all_.told.id}


def test_a_long_question_does_not_hold_up_others(desk: Desk) -> None:
    """H2: questions are answered on threads of their own; the second one here lets the
    first one end."""
    desk.agent().remember("x")
    service, gate = Service(desk.home, HOST, desk.clock), threading.Event()

    async def both() -> tuple[bool, None]:
        return await asyncio.gather(
            service.ask(HOST, lambda _: gate.wait(PATIENCE)),
            service.ask(HOST, lambda _: gate.set()),
        )

    assert [*asyncio.run(both())] == [True, None]
    service.close()


def test_slow_questions_of_one_token_leave_a_thread_for_others(desk: Desk) -> None:
    """H2: however many slow questions a token asks, another route answers whoever
    has another one."""
    desk.agent().remember("x")
    threads = Limits().threads
    with Slow(desk) as served, ThreadPoolExecutor(2 * threads) as clients:
        token, other = served.token(), served.token()
        busy = [clients.submit(served.ask, SLOW, token) for _ in range(2 * threads)]
        served.wait_for(threads - 1)
        assert [
            served.ask(path, other).status
            for path in ("/memory/status", "/review", "/memory/proposals")
        ] == [200] * 3
        served.gate.set()
        assert {one.result().status for one in busy} == {200}


def test_a_store_that_is_slow_to_open_holds_up_nobody_else(desk: Desk) -> None:
    """H2: opening the handle of one visitor, and closing that of another, keeps no
    third one waiting."""
    desk.agent().remember("x")
    gate, begun = threading.Event(), threading.Event()
    first, *others = visitors(3)
    host = Service(desk.home, HOST, desk.clock)

    def opened(visitor: Visitor) -> Memory:
        if visitor == first:
            begun.set()
            assert gate.wait(PATIENCE)
        return host._open_handle(visitor)

    pool = HandlePool(opened, most=1)

    def number(visitor: Visitor) -> int:
        with pool.borrow(visitor) as memory:
            return len(memory.list())

    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(number, first)
        assert begun.wait(PATIENCE)
        assert [number(one) for one in others] == [1, 1]
        gate.set()
        assert slow.result(PATIENCE) == 1
    pool.close()
    host.close()


def test_who_asks_too_much_is_told_so(desk: Desk) -> None:
    """H2: beyond a number of waiting questions, and beyond a time, the answer is an error and
    not a queue."""
    desk.agent().remember("x")
    gate = threading.Event()

    def wait(_: Memory) -> bool:
        return gate.wait(PATIENCE)

    async def crowd() -> None:
        limits = Limits(threads=1, waiting=0, answer_seconds=0.01)
        service = Service(desk.home, HOST, desk.clock, limits)
        with pytest.raises(StoreUnavailable, match=r"longer than 0\.01 seconds"):
            await service.ask(HOST, wait)
        with pytest.raises(StoreUnavailable, match="too many"):
            await service.ask(HOST, wait)
        gate.set()
        await asyncio.to_thread(service.close)

    asyncio.run(crowd())


def visitors(number: int) -> list[Visitor]:
    return [Visitor("sky", None, Role.AGENT, f"token {place}") for place in range(number)]


def test_handles_are_bounded_and_never_closed_in_use(desk: Desk) -> None:
    """H2: the handles used last stay open, up to a bound; one that is used stays too, and a closed
    one is opened anew."""
    desk.agent().remember("x")
    service, everyone = Service(desk.home, HOST, desk.clock), visitors(MOST_OPEN + 5)
    pool = service._pool
    with pool.borrow(everyone[0]) as busy:
        for visitor in everyone[1:]:
            with pool.borrow(visitor) as memory:
                assert len(memory.list()) == 1
        assert pool.keys == [everyone[0], *everyone[-MOST_OPEN + 1 :]]
        pool.end({everyone[0]})
        assert len(busy.list()) == 1
    assert everyone[0] not in pool.keys
    with pool.borrow(everyone[0]) as memory:
        assert len(memory.list()) == 1
    service.close()
    assert pool.keys == []


def test_many_tokens_leave_no_files_open(served: Served, all_: Everything) -> None:
    """H2: the handle of a token that was revoked or has expired is closed, and whoever else
    asks is answered."""
    clock, access = served.desk.clock, served.service.access
    stays = served.token()
    assert served.ask("/memory/status", stays).status == 200
    for _ in range(MOST_OPEN + 10):
        made, secret = access.create("sky", None, clock())
        assert served.ask("/memory/search?query=tea", secret).status == 200
        access.revoke(made.id)
        assert served.ask("/memory/status", secret).status == 401
    expired = served.token(expires=clock() + timedelta(seconds=5))
    assert served.ask("/memory/status", expired).status == 200
    clock.jump(timedelta(seconds=5))
    assert served.ask("/memory/status", expired).status == 401
    assert served.ask("/memory/status", stays).status == 200
    served.service._threads.shutdown(wait=True)
    assert len(served.service._pool.keys) == 1
    seen = {str(read.actor) for read in all_.op.audit_reads(1000)}
    assert len(seen) >= MOST_OPEN + 10  # each token under its own name


@pytest.mark.parametrize("path", ["/memory/status", "/records"])
def test_an_error_does_not_tell_where_files_lie(desk: Desk, path: str) -> None:
    """H2, P1: that a store cannot be read is told; the paths of the machine are for whoever runs
    the server."""
    desk.agent().remember("x")
    desk.agent("milton").close()
    (desk.folder("milton") / "memory.db").write_bytes(b"not a database" * 1000)
    with Served(desk) as served:
        found = served.ask(path, served.token("milton"))
    assert found.status == 500
    assert str(desk.home) not in found.body.decode()
    for error in (StoreUnavailable, EmbedderFailed, Corrupt):
        assert "/srv" not in str(
            discreet(error("/srv/ana/memory.db cannot be read", file="/srv/ana")).to_dict()
        )
    plain = StoreUnavailable("too many requests at once; try again")
    assert discreet(plain) is plain


def test_a_damaged_store_is_an_error_in_the_one_shape(desk: Desk) -> None:
    """H2, B4: damage is told without a trace of the program."""
    desk.agent().remember("x")
    desk.agent("milton").close()
    (desk.folder("milton") / "memory.db").write_bytes(b"not a database" * 1000)
    with Served(desk) as served:
        found = served.ask("/memory/status", served.token("milton"))
    assert (found.status, found.code) == (500, "corrupt")
    assert "Traceback" not in found.body.decode()


def test_a_damaged_list_of_tokens_lets_nobody_in(served: Served, desk: Desk) -> None:
    """H2: without a list that can be read there are no tokens; where it lies is told to whoever
    runs the server alone."""
    token = served.token()
    (desk.home / "tokens.json").write_bytes(b"{")
    found = served.ask("/memory/status", token)
    assert (found.status, found.code) == (503, "store_unavailable")
    assert "tokens.json" not in found.body.decode()
