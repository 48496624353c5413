"""Promises of `lamina review --browser`: one operator decides, nobody else can, and it is gone
when it is closed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest

from lamina import Memory, Operator
from lamina.model.record import State
from lamina.surfaces.review.browser.serving import Serving
from tests.conftest import Desk, size, verified

TOKEN = re.compile(r'name="page" value="([^"]+)"')
XSS = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e"


@pytest.fixture
def op(desk: Desk) -> Operator:
    return desk.operator()


@pytest.fixture
def serving(op: Operator) -> Iterator[Serving]:
    made = Serving(op, lambda *_: None)
    yield made
    made._listening.close()


class Browser:
    """A browser that keeps cookies and follows redirects, as one that sends Origin does."""

    def __init__(self, serving: Serving) -> None:
        self.serving = serving
        transport = httpx.ASGITransport(app=serving.app)
        self.client = httpx.AsyncClient(
            transport=transport, base_url=serving.url, follow_redirects=True
        )

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.client.get(path, **more)

    async def post(self, path: str, shown: str, **fields: str) -> httpx.Response:
        found = TOKEN.search(shown)
        assert found is not None
        form = {"page": found[1], **fields}
        return await self.client.post(path, data=form, headers={"origin": self.serving.url})


def browse(serving: Serving, visit: Callable[[Browser], Awaitable[None]]) -> None:
    asyncio.run(visit(Browser(serving)))  # type: ignore[arg-type]


def proposed(handle: Memory, value: str, key: str = "drink") -> str:
    said = handle.remember(f"Ana said {value}", speaker="Ana")
    return handle.propose_profile(key, value, "she said so", [said.id]).id


def test_everything_can_be_decided_and_undone(mem: Memory, op: Operator, serving: Serving) -> None:
    """V10: confirm, edit, reject, forget, keep; each undone again; the trail names the surface."""
    confirmed, edited, rejected = (proposed(mem, "x", key) for key in ("a", "b", "c"))
    secret = mem.remember("the code is 4711")
    request = mem.request_forget(secret.id, "secret").id

    async def visit(browser: Browser) -> None:
        shown = (await browser.get(serving.link)).text
        assert "Ana said x" in shown, "the evidence is open"
        for fields in (
            {"id": confirmed, "verb": "agree"},
            {"id": edited, "verb": "edit", "content": "y"},
            {"id": rejected, "verb": "reject", "reason": "not true"},
            {"id": request, "verb": "agree"},
        ):
            shown = (await browser.post("/decide", shown, **fields)).text
        assert "Nothing waits for review" in shown
        assert op.user_profile().preferences == {"a": "x", "b": "y"}
        assert op.get(secret.id).state is State.TOMBSTONED
        assert op.history(rejected)[-1].reason == "not true"
        for _ in range(4):
            shown = (await browser.post("/undo", shown)).text
        assert "undone" in shown
        shown = (await browser.post("/undo", shown)).text
        assert "nothing was decided here" in shown

    browse(serving, visit)
    assert {one.record.id for one in op.proposals()} == {confirmed, edited, rejected, request}
    assert verified(op)


def test_the_link_works_once(mem: Memory, serving: Serving) -> None:
    """V10: whoever has the link later is refused, and whoever guesses, too."""
    proposed(mem, "tea")

    async def visit(browser: Browser) -> None:
        assert (await browser.get("/")).status_code == 403
        assert (await browser.get("/enter?key=guessed")).status_code == 403
        assert (await browser.get(serving.link)).status_code == 200
        again = await Browser(serving).get(serving.link)
        assert again.status_code == 403
        assert "was used already" in again.text
        assert (await Browser(serving).get("/")).status_code == 403

    browse(serving, visit)


def test_only_the_page_that_was_shown_last_decides(
    mem: Memory, op: Operator, serving: Serving
) -> None:
    """V10: a second tab makes the first one stale, a form is taken once, and a form of another site
    has no token: nothing is decided by any of them."""
    made = proposed(mem, "tea")

    async def visit(browser: Browser) -> None:
        first = (await browser.get(serving.link)).text
        await browser.get("/")
        before = size(op)
        stale = await browser.post("/decide", first, id=made, verb="agree")
        assert stale.status_code == 403
        assert "another page was opened since" in stale.text.lower()
        forged = {"id": made, "verb": "agree"}
        for headers in ({"origin": serving.url}, {"origin": "https://evil.example"}, {}):
            answer = await browser.client.post("/decide", data=forged, headers=headers)
            assert answer.status_code == 403
        shown = (await browser.get("/")).text
        foreign = await browser.client.post(
            "/decide",
            data={**forged, "page": TOKEN.search(shown)[1]},  # type: ignore[index]
            headers={"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
        )
        assert foreign.status_code == 403
        assert size(op) == before
        await browser.post("/decide", shown, id=made, verb="agree")
        assert op.get(made).state is State.ACTIVE
        twice = await browser.post("/decide", shown, id=made, verb="reject")
        assert twice.status_code == 403

    browse(serving, visit)


def test_another_host_is_refused(mem: Memory, serving: Serving) -> None:
    """V10: a name that leads here (DNS rebinding) does not open the page."""

    async def visit(browser: Browser) -> None:
        for host in ("evil.example", "127.0.0.1", "localhost:1"):
            answer = await browser.get(serving.link, headers={"host": host})
            assert answer.status_code == 403
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
            answer = await browser.client.request(method, "/")
            assert answer.status_code == 405

    browse(serving, visit)


def test_nothing_on_the_page_is_executed(mem: Memory, serving: Serving) -> None:
    """V10: hostile text is text, whatever field holds it, and no script may run at all."""
    proposed(mem, XSS, "<b>key</b>")

    async def visit(browser: Browser) -> None:
        answer = await browser.get(serving.link)
        assert "<script>" not in answer.text
        assert "<img src=x" not in answer.text
        assert "\u202e" not in answer.text
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert answer.headers["cache-control"] == "no-store"

    browse(serving, visit)


def test_a_wrong_form_decides_nothing(mem: Memory, op: Operator, serving: Serving) -> None:
    """V10: an unknown verb or record, an empty text, and too long a form say what is wrong."""
    made = proposed(mem, "tea")

    async def visit(browser: Browser) -> None:
        before = size(op)
        shown = (await browser.get(serving.link)).text
        assert (await browser.post("/decide", shown, id=made, verb="erase")).status_code == 400
        shown = (await browser.get("/")).text
        shown = (await browser.post("/decide", shown, id="0" * 26, verb="agree")).text
        assert "somebody else has decided it meanwhile" in shown
        shown = (await browser.post("/decide", shown, id=made, verb="edit", content=" ")).text
        assert 'class="notice problem"' in shown
        assert (await browser.get("/?order=random")).status_code == 400
        shown = (await browser.get("/?words=zebra")).text
        assert "Nothing matches" in shown
        long = await browser.client.post("/decide", content=b"x" * 3_000_000)
        assert long.status_code == 413
        assert size(op) == before

    browse(serving, visit)


def test_it_is_gone_when_it_is_finished(mem: Memory, serving: Serving) -> None:
    """V10: Finish ends the server after its answer."""
    proposed(mem, "tea")

    async def visit(browser: Browser) -> None:
        shown = (await browser.get(serving.link)).text
        assert "nothing was decided" in (await browser.post("/finish", shown)).text.lower()

    browse(serving, visit)
    assert serving._server.should_exit
