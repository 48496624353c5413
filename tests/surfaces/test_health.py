"""Promises of what a server tells of itself: whether it is well, and its numbers."""

from __future__ import annotations

import http.client
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcp import Client

from lamina.model.record import Role
from lamina.surfaces.http import metrics
from lamina.surfaces.http.metrics import Recalls
from lamina.surfaces.http.service import Visitor
from tests.conftest import Desk
from tests.surfaces.mcp_harness import over_http
from tests.surfaces.served import Served, filled


def numbers(text: str) -> dict[str, float]:
    """The samples of a text of Prometheus; every other line is a comment."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_health_needs_no_token_and_tells_nothing(desk: Desk) -> None:
    """H2: whoever watches over the server learns that the store can be read, or that it cannot, and
    nothing else; nothing of it is in the trail."""
    filled(desk)
    with Served(desk) as served:
        before = len(desk.operator().audit_reads(1000))
        answer = served.ask("/health")
        assert (answer.status, answer.json) == (200, {"status": "ok"})
        assert len(desk.operator().audit_reads(1000)) == before
    nobody = Visitor("nobody", None, Role.OPERATOR, "tester")
    with Served(desk, host=nobody) as served:
        answer = served.ask("/health")
        assert (answer.status, answer.json) == (503, {"status": "unavailable"})


def test_metrics_are_the_numbers_of_the_store(desk: Desk) -> None:
    """H2: with a token one gets counts, backlog, refusals, cache and latencies as Prometheus reads
    them; without one, nothing."""
    all_ = filled(desk)
    with Served(desk) as served:
        assert served.ask("/metrics").status == 401
        token = served.token(trail=True)
        assert served.ask("/search?query=reports", token).status == 200
        answer = served.ask("/metrics", token)
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        found = numbers(answer.body.decode())
    status = all_.op.status()
    for layer, states in status["records"].items():
        for state, number in states.items():
            assert found[f'lamina_records{{layer="{layer}",state="{state}"}}'] == number
    assert found["lamina_up"] == 1
    assert found["lamina_archived"] == status["archived"]
    assert found["lamina_review_backlog"] == len(all_.mem.proposals())
    assert found["lamina_refused"] == 1  # the request without a token
    assert found["lamina_recall_seconds_count"] == 1
    assert found["lamina_cache_budget_bytes"] > found["lamina_cache_bytes"] > 0
    assert found['lamina_job_overdue{job="expiry"}'] in (0, 1)


def test_labels_cannot_break_a_line() -> None:
    """H2: whatever a name holds, each sample stays one line."""
    job = {"job": 'a"b\\c\nd', "overdue": True, "failures": 0}
    status: dict[str, Any] = {
        "store": None,
        "records": {},
        "archived": 0,
        "waiting": {},
        "given": {},
        "problems": [],
        "jobs": [job],
    }
    text = metrics.text(status, Recalls(0, 0.0, None, None))
    assert 'lamina_job_overdue{job="a\\"b\\\\c\\nd"} 1' in text.splitlines()
    assert numbers(text)["lamina_up"] == 0


def test_tools_over_http_tell_the_same(tmp_path: Path) -> None:
    """H2: `lamina mcp --http` has both as well, the numbers for its token alone, with how long
    recalls took."""
    with over_http(tmp_path / "home") as server:

        async def recall(client: Client) -> None:
            await client.call_tool("search", {"query": "tea"})
            await client.call_tool("recall_context", {"goal": "make tea"})
            await client.call_tool("status", {})

        server.talk(recall)
        place = urlsplit(server.url).netloc

        def ask(path: str, **headers: str) -> tuple[int, str]:
            connection = http.client.HTTPConnection(place, timeout=30)
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read().decode()
            connection.close()
            return answer.status, body

        assert ask("/health") == (200, '{"status":"ok"}')
        assert ask("/health", Host="elsewhere")[0] == 421
        assert ask("/metrics")[0] == 401
        status, text = ask("/metrics", Authorization=f"Bearer {server.secret}")
        assert status == 200
        found = numbers(text)
        assert found["lamina_up"] == 1
        assert found["lamina_recall_seconds_count"] == 2
        assert found["lamina_recall_seconds_sum"] > 0
        assert ask("/mcp", Authorization=f"Bearer {server.secret}")[0] == 405
