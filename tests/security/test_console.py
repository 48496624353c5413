"""Promises of the console to whoever is afraid of what was remembered: text stays text, and nothing
is hidden in it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.model.record import Role
from lamina.surfaces.http.console.formatting import link_of
from lamina.surfaces.http.service import Visitor
from lamina.text.words import reveal
from tests.conftest import FULL, Desk
from tests.security.pages import harmless, poisoned
from tests.security.xss import TEXTS
from tests.surfaces.looked_at import Page
from tests.surfaces.served import ID, Served, filled, untouched

PAGES = (
    "/",
    "/search",
    "/records",
    "/archive",
    "/conversations",
    "/people",
    "/review",
    "/projects",
    "/audit",
    "/audit/verify",
)


@pytest.fixture
def records(desk: Desk) -> list[str]:
    return poisoned(desk)


@pytest.fixture
def served(records: list[str], desk: Desk) -> Iterator[Served]:
    with Served(desk) as running:
        yield running


def test_hostile_text_stays_text(served: Served, records: list[str]) -> None:
    """H2: a hundred texts that would run or load something, stored wherever text goes, add no
    element and no attribute."""
    token = served.token(trail=True)
    asked = [
        *PAGES,
        "/records?limit=500",
        "/records?state=constrained",
        "/audit?of=reads&limit=500",
        "/audit?limit=500",
    ]
    asked += [
        f"/people?subject={quote(TEXTS[0])}",
        "/archive?since=2020-01-01",
        "/records?state=superseded",
    ]
    asked += [f"/records/{one}" for one in records]
    for path in asked:
        found = served.ask(path, token)
        assert found.status == 200, (path, found.body)
        harmless(found.body)
    assert "pwned" in harmless(served.ask("/people", token).body).text
    assert len(harmless(served.ask("/review", token).body).all("dl", class_="commands")) == 20
    page = harmless(served.ask("/records?limit=500", token).body)
    for text in TEXTS[7:]:
        assert " ".join(reveal(text).split())[:60] in " ".join(page.text.split())


def test_hostile_questions_stay_text(served: Served) -> None:
    """H2: what is asked comes back as text too, on pages and on errors, whether or not somebody is
    signed in."""
    token = served.token(trail=True)
    for text in TEXTS if FULL else TEXTS[::3]:
        asked = quote(text, safe="")
        others = (f"/people?subject={asked}", f"/archive?query={asked}", f"/records?tag={asked}")
        for path in (f"/search?query={asked}", *(others if text in TEXTS[::7] else ())):
            found = served.ask(path, token)
            assert found.status in (200, 400), path
            harmless(found.body)
    for text in TEXTS[::7]:
        asked = quote(text, safe="")
        for path in (
            f"/records/{asked}",
            f"/?theme={asked}",
            f"/?{asked}=1",
            f"/review?cursor={asked}",
            f"/audit?of={asked}",
        ):
            for key in (token, None):
                found = served.ask(path, key)
                if found.headers["content-type"].startswith("text/html"):
                    harmless(found.body)
                assert found.status in (400, 401, 404), path


def test_pages_forbid_what_they_do_not_need(served: Served) -> None:
    """H2: no page may run a script but the one that it has, be framed, be cached, tell others where
    it is, or load anything from elsewhere; what is no page may run none."""
    token = served.token(trail=True)
    for path in (*PAGES, f"/records/{ID}", "/console/console.css", "/console/icon.svg"):
        found = served.ask(path, token)
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        allowed = [one.split()[1:] for one in policy.split("; ") if one.startswith("script-src")]
        if found.headers["content-type"].startswith("text/html"):
            script = "".join(Page(found.body.decode()).one("script").words)
            digest = b64encode(sha256(script.encode()).digest()).decode()
            assert allowed == [[f"'sha256-{digest}'"]]
        else:
            assert not allowed
        assert "frame-ancestors 'none'" in policy
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "no-referrer"
        assert found.headers["cache-control"] == "no-store"


def test_pages_show_nothing_to_strangers(served: Served, records: list[str]) -> None:
    """H2: without a session or a token every page is the same invitation to sign in; its looks are
    all that is public."""
    for path in (*PAGES, f"/records/{records[0]}", f"/records/{ID}"):
        for headers in (
            [],
            [("Authorization", "Bearer wrong")],
            [("Cookie", f"lamina_{served.port}=wrong")],
        ):
            found = served.ask(path, headers=headers)
            assert found.status == 401
            page = harmless(found.body)
            assert page.one("h1").text == "Sign in"
            assert "pwned" not in page.text
    assert (
        served.ask("/console/console.css").status == served.ask("/console/icon.svg").status == 200
    )


def test_pages_change_nothing(served: Served, records: list[str], desk: Desk) -> None:
    """H2: looking at everything, with any method, leaves every byte of the store as it was."""
    token = served.token(trail=True)
    before = untouched(desk.folder())
    for path in (*PAGES, f"/records/{records[0]}", "/search?query=script"):
        assert served.ask(path, token).status == 200
        assert served.ask(path, token, "HEAD").body == b""
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            assert served.ask(path, token, method).status == 405
    assert untouched(desk.folder()) == before


def test_a_page_is_for_one_agent_and_user(desk: Desk) -> None:
    """H2, P2, R12: another agent's memory and another user's are not there, and who has no trail
    sees none of it."""
    filled(desk)
    other = desk.agent("milton").remember("Milton owns a walrus")
    bens = desk.agent(user="ben").remember("Ben hides a drum")
    with Served(desk) as served:
        everybody = served.token(trail=True)
        anas = served.token(user="ana")
        for token in (everybody, anas):
            assert served.ask(f"/records/{other.id}", token).status == 404
            assert served.ask("/?agent=milton", token).status in (400, 403)
        assert served.ask(f"/records/{bens.id}", everybody).status == 200
        assert served.ask(f"/records/{bens.id}", anas).status == 404
        assert (
            b"hides a drum"
            not in served.ask("/records?limit=500", anas).body
            + served.ask("/search?query=drum", anas).body
        )
        for path in ("/audit", "/audit/verify"):
            refused = served.ask(path, anas)
            assert (refused.status, Page(refused.body.decode()).one("h1").text) == (
                403,
                "That did not work",
            )
        assert b"Review backlog" not in served.ask("/", anas).body
        assert any("audit trail" in line for line in desk.violations())


def test_an_operator_for_one_user_sees_no_trail(desk: Desk) -> None:
    """P4: the trail concerns everybody; a console that was started for one user shows that user's
    memory alone."""
    filled(desk)
    with Served(desk, host=Visitor("sky", "ben", Role.OPERATOR, "tester")) as served:
        signed_in = served.service.sessions.redeem(served.service.sessions.link())
        cookie = [("Cookie", f"lamina_{served.port}={signed_in}")]
        assert served.ask("/", headers=cookie).status == 200
        assert served.ask("/audit", headers=cookie).status == 403
        assert b"--user ben" in served.ask("/review", headers=cookie).body


def test_deep_and_wide_lineages_are_drawn_in_part(desk: Desk) -> None:
    """H2: a memory that rests on hundreds of others is a page of bounded size, which says what it
    leaves out."""
    made = [
        record.id
        for record in desk.agent().remember_many([{"content": f"source {n}"} for n in range(300)])
    ]
    wide = desk.agent().remember("it rests on many", evidence=made)
    with Served(desk) as served:
        found = served.ask(f"/records/{wide.id}", served.token())
        page = harmless(found.body)
        assert found.status == 200
        assert "more are in the table alone" in page.text
        assert len(page.all("rect", class_="node")) < 20


@given(
    st.text()
    | st.sampled_from(TEXTS)
    | st.text().map("https://a.example/".__add__)
    | st.text().map("http:".__add__)
)
def test_only_plain_addresses_become_links(reference: str) -> None:
    """H2: what is linked is a record of this store, or an address whose every character can be read
    and which names a host."""
    target = link_of(reference)
    if target is None or target.startswith("/records/"):
        return
    assert target == reference
    assert reference.isascii()
    assert reference.isprintable()
    assert reference.startswith(("http://", "https://"))
    assert urlsplit(reference).hostname
    assert not {*reference} & {*" \"'<>`\\"}


@pytest.mark.parametrize(
    ("reference", "is_linked"),
    [
        ("https://example.org/a?b=c#d", True),
        ("http://[::1]:80/", True),
        ("HTTPS://example.org", False),
        ("https://user@example.org/", False),
        ("https://", False),
        ("http://[::1/", False),
        ("ftp://example.org", False),
        ("//example.org", False),
        ("notes/today.md", False),
        ("https://exämple.org", False),
        ("https://example.org/a b", False),
    ],
)
def test_which_addresses_become_links(reference: str, is_linked: bool) -> None:
    """H2: no name or password, no other scheme, no letters that look like others."""
    assert (link_of(reference) is not None) is is_linked
