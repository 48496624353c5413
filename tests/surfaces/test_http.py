"""Promises of the HTTP API: what the library answers, as JSON, page by page, and never a change of
the store."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput, NotFound, Refused, StoreUnavailable
from lamina.memory import opening
from lamina.memory.agent import Memory
from lamina.memory.operator import Operator
from lamina.model import clock as clocks
from lamina.model.record import Layer, Record, Role, State, Trust, iso
from lamina.surfaces.cli.main import run
from lamina.surfaces.cli.serve import offer_links
from lamina.surfaces.http import guard, paging, server
from lamina.surfaces.http.service import Service
from lamina.surfaces.http.sessions import LIFE, LINK_LIFE, MOST, Sessions
from tests.conftest import START, Desk, Ticking
from tests.surfaces.served import HOST, ID, Everything, Served, filled, paths, untouched

AT_ONE_MOMENT = "2026-04-01T00:00:00Z"


@pytest.fixture
def all_(desk: Desk) -> Everything:
    return filled(desk)


@pytest.fixture
def served(all_: Everything, desk: Desk) -> Iterator[Served]:
    with Served(desk) as running:
        yield running


def as_json(value: object) -> Any:
    """A value as it looks after a journey."""
    return json.loads(msgspec.json.encode(value))


def test_a_record_is_what_the_library_gives(served: Served, all_: Everything) -> None:
    """H2: `GET /memory/records/{id}` is the record in the names of R1, whatever its state, with
    capitals or without."""
    token = served.token()
    for record in (all_.told, all_.corrected, all_.proposal, all_.mem.search_archive("invoice")[0]):
        found = served.ask(f"/memory/records/{record.id}", token)
        assert (found.status, found.json) == (200, all_.mem.get(record.id).to_dict())
        assert served.ask(f"/memory/records/{record.id.upper()}", token).json == found.json


def test_a_search_is_what_the_library_gives(served: Served, all_: Everything) -> None:
    """H2: `GET /memory/search` has the outcome and the hits with their scores and parts; nothing
    relevant is an answer."""
    token = served.token()
    served.desk.clock.step = timedelta()  # a score tells how long ago something was
    for path, options in (
        ("query=reports", {}),
        (
            "query=reports&layer=semantic&ranker=keyword",
            {"layers": ["semantic"], "ranker": "keyword"},
        ),
        (
            "query=reports&tag=reports&kind=request&limit=1",
            {"tags": ["reports"], "kinds": ["request"], "limit": 1},
        ),
        ("query=Porto&as_of=2026-05-01", {"as_of": "2026-05-01T00:00:00Z"}),
        ("query=reports&meta=origin%3Dsleep", {"metadata": {"origin": "sleep"}}),
    ):
        query = parse_qs(path)["query"][0]
        hits = all_.mem.search(query, **options)
        expected = {**hits.to_dict(), "confidence": hits.confidence}
        assert served.ask(f"/memory/search?{path}", token).json == as_json(expected)
    nothing = served.ask("/memory/search?query=zyxw", token).json
    assert (nothing["outcome"], nothing["hits"], nothing["confidence"] < 0) == (
        "nothing_relevant",
        [],
        True,
    )


def test_lists_and_reports_are_what_the_library_gives(served: Served, all_: Everything) -> None:
    """H2: lists, history, facts, timeline, profile, projects, proposals, pending and archive say
    what the handle says."""
    token, mem = served.token(), all_.mem
    expected: dict[str, Sequence[Any]] = {
        "/memory/records": mem.list(),
        "/memory/records?state=superseded&layer=semantic": mem.list(
            layers=["semantic"], states=["superseded"]
        ),
        f"/memory/records/{all_.corrected.id}/history": mem.history(all_.corrected.id),
        "/memory/facts": mem.facts(),
        "/memory/facts?subject=Ana&attribute=lives_in&as_of=2026-04-28": mem.facts(
            "Ana", "lives_in", "2026-04-28T00:00:00Z"
        ),
        "/memory/timeline?subject=Ana": mem.timeline("Ana"),
        "/memory/projects": mem.projects(),
        "/memory/proposals": mem.proposals(),
        "/memory/archive?query=invoice": mem.search_archive("invoice"),
    }
    for path, found in expected.items():
        assert found, path
        assert served.ask(path, token).json == as_json(
            {"items": [item.to_dict() for item in found], "next": None}
        ), path
    assert served.ask("/memory/pending", token).json == {"items": mem.pending(), "next": None}
    assert served.ask("/memory/profile", token).json == mem.user_profile().to_dict()
    status = served.ask("/memory/status", token).json
    assert status["records"] == mem.status()["records"]


def test_status_is_state_and_a_session_is_a_filter(served: Served, all_: Everything) -> None:
    """H2, H7, Q3: `status` means what `state` means, alone or beside it if both agree; `session`
    keeps to one conversation, in a list and in a search."""
    token, op = served.token(), all_.op
    kept = op.remember("the boiler hums", session="kitchen")
    old = op.remember("the boiler is old", session="cellar")
    op.correct(old.id, "the boiler is new", "misheard")

    def listed(asked: str) -> list[str]:
        items = served.ask(f"/memory/records?{asked}", token).json["items"]
        return [record["id"] for record in items]

    def found(asked: str) -> list[str]:
        hits = served.ask(f"/memory/search?query=boiler&{asked}", token).json["hits"]
        return [hit["record"]["id"] for hit in hits]

    for ids in (listed, found):
        by_state = ids("state=superseded")
        assert old.id in by_state
        assert ids("status=superseded") == by_state
        assert ids("state=superseded&status=superseded") == by_state
        assert ids("session=kitchen") == [kept.id]


def test_the_queue_is_paged(served: Served, all_: Everything) -> None:
    """H2: pages of the queue follow each other, also when what ended a page was decided about
    before the next."""
    token, op = served.token(), all_.op
    said = op.remember("she told me much").id
    for number in range(4):
        op.propose_profile(f"key {number}", "tea", "said so", [said])
    whole = [one.record.id for one in op.proposals()]

    def page(cursor: str = "") -> tuple[list[str], str | None]:
        told = served.ask(f"/memory/proposals?limit=2{cursor and f'&cursor={cursor}'}", token).json
        return [item["record"]["id"] for item in told["items"]], told["next"]

    first, following = page()
    assert following is not None
    second, _ = page(following)
    assert [*first, *second] == whole[:4]
    op.reject(first[-1], "not so")
    assert page(following)[0] == second
    last, end = page(served.ask(f"/memory/proposals?limit={len(whole) - 2}", token).json["next"])
    assert (last, end) == (whole[-1:], None)


def test_a_context_is_fenced(served: Served) -> None:
    """H2, Q9: what a model may read is fenced as data, and bounded."""
    found = served.ask(
        "/memory/context?goal=when+are+reports+due&max_chars=220", served.token()
    ).json
    assert found["text"].startswith("<<<lamina memory")
    assert len(found["text"]) <= 220
    assert [hit["record"]["content"] for hit in found["items"]] == ["Reports are due at eight"]


def test_lineage_is_a_graph(served: Served, all_: Everything) -> None:
    """H2: what a record rests on, what it replaced, and addresses that are no records; from either
    end of a correction."""
    (old,) = all_.corrected.supersedes
    found = served.ask(f"/memory/records/{all_.corrected.id}/lineage", served.token()).json
    edges = {(edge["from"], edge["to"], edge["relation"]) for edge in found["edges"]}
    assert (all_.corrected.id, old, "supersedes") in edges
    assert (old, all_.told.id, "evidence") in edges
    assert (old, "https://example.org/note", "evidence") in edges
    nodes = {node["id"]: node for node in found["nodes"]}
    assert nodes[old]["state"] == "superseded"
    assert nodes["https://example.org/note"] == {
        "id": "https://example.org/note",
        "is_record": False,
    }
    assert found["complete"]
    other = served.ask(f"/memory/records/{old}/lineage", served.token()).json
    assert {node["id"] for node in other["nodes"]} == set(nodes)
    source = served.ask(f"/memory/records/{all_.told.id}/lineage", served.token()).json
    assert {"from": old, "to": all_.told.id, "relation": "evidence"} in source["edges"]
    replaced = {"from": all_.corrected.id, "to": old, "relation": "supersedes"}
    assert replaced in source["edges"]  # what rests on it is a chain there, too


def test_following_evidence_of_another_user_is_no_trespass(desk: Desk) -> None:
    """P2: a record whose evidence is another's shows the id alone, and nobody is accused."""
    secret = desk.agent(user="ben").remember("Ben has a secret")
    shown = desk.operator().remember("Somebody has one", evidence=[secret.id])
    with Served(desk) as served:
        found = served.ask(f"/memory/records/{shown.id}/lineage", served.token(user="ana")).json
    assert found["nodes"][1] == {"id": secret.id, "is_record": False}
    assert desk.violations() == []


def test_the_trail_is_for_tokens_that_say_so(served: Served, all_: Everything) -> None:
    """H2, P4: with `trail` the events, reads, head and verification can be read; without, that is
    refused and noted."""
    token = served.token(trail=True)
    assert served.ask("/memory/audit", token).json["items"] == [
        event.to_dict() for event in all_.op.audit_log()
    ]
    assert served.ask("/memory/audit/head", token).json["events"] == all_.op.audit_head()["events"]
    assert served.ask("/memory/audit/verify", token).json["events"]["ok"]
    plain = served.token()
    for path in (
        "/memory/audit",
        "/memory/audit/reads",
        "/memory/audit/head",
        "/memory/audit/verify",
    ):
        refused = served.ask(path, plain)
        assert (refused.status, refused.code) == (403, "refused")
    assert len(served.desk.violations()) == 4


def test_reads_are_in_the_trail_with_their_token(served: Served, all_: Everything) -> None:
    """P4, H2: who asked over HTTP, and for what, is in the trail of reads."""
    made, secret = served.service.access.create("sky", None, served.desk.clock())
    assert served.ask("/memory/search?query=daily+reports", secret).status == 200
    served.ask("/memory/status", served.token())
    served.__exit__(None, None, None)  # what is buffered is written at the end
    mine = [read for read in all_.op.audit_reads() if str(read.actor) == f"agent:token {made.id}"]
    assert [(read.action, read.actor.surface, read.note["query"]) for read in mine] == [
        ("search", "http", "daily reports")
    ]


def test_pages_join_to_the_whole_list(desk: Desk) -> None:
    """H2: page after page gives every record once, in order, also of one moment, while
    new ones come."""
    mem = desk.agent()
    many = [
        {"content": f"note {place}", "at": AT_ONE_MOMENT if place % 3 else None}
        for place in range(60)
    ]
    mem.remember_many(many)
    expected = [record.id for record in mem.list(limit=100)]
    with Served(desk) as served:
        token = served.token()
        seen, cursor = [], ""
        while True:
            page = served.ask(f"/memory/records?limit=7{cursor}", token).json
            seen += [item["id"] for item in page["items"]]
            mem.remember("something new")
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
    assert seen == expected


def test_pages_reach_the_end_of_time(desk: Desk) -> None:
    """H2: a page that ends on the last moment that can be told is followed by others
    like any page."""
    mem = desk.agent()
    last = clocks.LATEST - clocks.MICROSECOND
    mem.remember_many(
        [{"content": f"note {place}", "at": last if place < 3 else None} for place in range(5)]
    )
    seen, cursor = [], None
    while True:
        page = paging.of_records(
            lambda until, number: mem.list(until=until, limit=number), None, cursor, 1
        )
        seen += [item["id"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [record.id for record in mem.list()]


@given(st.lists(st.integers(0, 3), max_size=30), st.integers(1, 7), st.none() | st.integers(0, 4))
def test_pages_of_any_list_join_to_it(moments: list[int], limit: int, bound: int | None) -> None:
    """H2: for any times, any size of pages and any `until`, the pages are the list."""
    made = [
        _record(seq, START + timedelta(seconds=moment)) for seq, moment in enumerate(moments, 1)
    ]
    ordered = sorted(made, key=lambda one: (one.occurred_at, one.seq), reverse=True)

    def listed(until: datetime | str | None, number: int) -> list[Record]:
        end = None if until is None else clocks.moment(until)
        return [one for one in ordered if end is None or one.occurred_at < end][:number]

    until = None if bound is None else iso(START + timedelta(seconds=bound))
    seen: list[str] = []
    cursor = None
    while True:
        page = paging.of_records(listed, until, cursor, limit)
        seen += [item["id"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [one.id for one in listed(until, 100)]
    of_all = paging.of_records(listed, None, None, limit)["next"]
    if of_all is not None:  # a cursor of another list does not widen this one
        page = paging.of_records(listed, until, of_all, limit)
        assert {item["id"] for item in page["items"]} <= {*seen}


def _record(seq: int, at: datetime) -> Record:
    place: dict[str, Any] = {
        "layer": Layer.SHORT_TERM,
        "state": State.ACTIVE,
        "kind": "crumb",
        "content": "x",
        "trust": Trust.AGENT,
    }
    more: dict[str, Any] = dict.fromkeys(("user", "source", "speaker", "session", "run_id"))
    more |= dict.fromkeys(("tags", "evidence"), ()) | dict.fromkeys(
        ("occurred_at", "created_at", "updated_at"), at
    )
    return Record(
        id=f"r{seq}",
        seq=seq,
        agent="sky",
        importance=0.5,
        confidence=1.0,
        metadata={},
        **place,
        **more,
    )


def test_pages_of_other_lists_go_on_after_what_is_gone(served: Served, all_: Everything) -> None:
    """H2: history, facts and the trail are read in pages too, and a cursor survives the end
    of its item."""
    token = served.token(trail=True)
    for path in (
        "/memory/audit",
        "/memory/timeline?subject=Ana",
        f"/memory/records/{all_.told.id}/history",
    ):
        whole = served.ask(path, token).json["items"]
        seen, cursor, sign = [], "", "&" if "?" in path else "?"
        while True:
            page = served.ask(f"{path}{sign}limit=1{cursor}", token).json
            seen += page["items"]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
        assert seen == whole, path
    items = ["a", "b", "c", "d"]
    first = paging.of_items([{"id": one} for one in items], lambda item: str(item["id"]), None, 2)
    without = [{"id": one} for one in items if one != "b"]
    assert paging.of_items(without, lambda item: str(item["id"]), first["next"], 2)["items"] == [
        {"id": "d"}
    ]


@given(st.text() | st.binary().map(lambda some: some.decode("latin-1")))
def test_a_foreign_cursor_is_refused(text: str) -> None:
    """H2: whatever is not a cursor of ours is an error that says so."""
    for kind in (paging.RecordCursor, paging.TrailCursor, paging.ItemCursor):
        with contextlib.suppress(InvalidInput):
            paging.read(text, kind)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        (f"/memory/records/{ID}", 404, "there is no record"),
        ("/memory/records/x", 404, "there is no record 'x'; list or search memories"),
        ("/memory/records/..%2f..%2fetc%2fpasswd", 404, "nothing at"),
        ("/nothing", 404, "nothing at '/nothing'"),
        ("/memory/search/", 404, "nothing at"),
        ("/memory/search", 400, "query is missing"),
        ("/memory/search?query=x&limit=0", 400, "limit"),
        ("/memory/search?query=x&state=active&status=superseded", 400, "active and status super"),
        ("/memory/records?state=active&status=active&status=superseded", 400, "state active and"),
        ("/memory/records?status=alive", 400, "status"),
        ("/memory/records?session=", 400, "session"),
        ("/memory/search?query=x&limit=ten", 400, "limit 'ten'"),
        ("/memory/search?query=x&ranker=best", 400, "ranker"),
        ("/memory/search?query=x&layer=attic", 400, "layer"),
        ("/memory/search?query=x&kind=nonsense", 400, "kind"),
        ("/memory/search?query=x&meta=room", 400, "K=V"),
        ("/memory/search?query=x&as_of=tomorrow", 400, "as_of 'tomorrow'"),
        ("/memory/search?query=x&since=2026-13-01", 400, "since"),
        ("/memory/search?query=x&colour=red", 400, "unknown parameter 'colour'"),
        ("/memory/records?limit=501", 400, "limit"),
        ("/memory/records?cursor=abc", 400, "cursor 'abc'"),
        ("/memory/records?cursor=eyJzZXEiOjF9", 400, "cursor"),
        ("/memory/records?cursor=eyJhdCI6OTIyMzM3MjAzNjg1NDc3NTgwNywic2VxIjoxfQ", 400, "cursor"),
        ("/memory/context?goal=x&max_chars=1", 400, "max_chars"),
        ("/memory/archive", 400, "the query is empty"),
        ("/memory/timeline?subject=", 400, "subject"),
    ],
)
def test_errors_have_one_shape(served: Served, path: str, status: int, words: str) -> None:
    """H2, I: `{"error": {"code", "message"}}` with the right status, and a message that names what
    was wrong."""
    found = served.ask(path, served.token())
    assert (found.status, found.code) == (status, {400: "invalid_input", 404: "not_found"}[status])
    assert words in found.json["error"]["message"]


def test_head_is_get_without_a_body(served: Served, all_: Everything) -> None:
    """H2: HEAD has the status and the headers of GET on every route, and no body."""
    token = served.token(trail=True)
    served.desk.clock.step = timedelta()
    for path in (*paths(all_.told.id), "/docs", "/openapi.json", "/nothing"):
        head, get = served.ask(path, token, "HEAD"), served.ask(path, token)
        assert (head.status, head.body) == (get.status, b""), path
        assert head.headers["content-type"] == get.headers["content-type"]


def test_the_description_shows_what_is_really_answered(served: Served, all_: Everything) -> None:
    """H2: every route is in openapi.json, needs a token there, and its example has the names of a
    real answer."""
    token = served.token(trail=True)
    described = served.ask("/openapi.json").json["paths"]
    asked = {
        urlsplit(path).path.replace(all_.corrected.id, "{record_id}"): path
        for path in paths(all_.corrected.id)
    }
    assert set(described) == set(asked)
    for path, methods in described.items():
        assert [*methods] == ["get"]
        assert methods["get"]["security"] == [{"HTTPBearer": []}]
        example = methods["get"]["responses"]["200"]["content"]["application/json"]["example"]
        real = served.ask(asked[path], token).json
        assert set(example) <= set(real), path
        if "items" in example:
            assert set(example["items"][0]) <= set(real["items"][0]), path
            assert set(real["items"][0]) - set(example["items"][0]) <= {"archived"}, path
        elif path not in ("/memory/status", "/memory/search"):
            assert set(real) == set(example), path


def test_the_description_for_people_needs_nothing_from_elsewhere(served: Served) -> None:
    """H2: /docs lists every route on a page without scripts, in which nothing is loaded from
    another place."""
    page = served.ask("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    text = page.body.decode()
    for path in served.ask("/openapi.json").json["paths"]:
        assert f"GET {path}" in text
    assert "<script" not in text
    assert 'href="http' not in text
    assert served.ask("/docs.css").headers["content-type"].startswith("text/css")


def test_a_link_signs_one_browser_in_once(served: Served) -> None:
    """H2: a one-time link sets a cookie that scripts cannot read and other sites cannot use;
    looking at it does not count."""
    link = served.service.sessions.link()
    assert served.ask(f"/sign-in?link={link}", method="HEAD").status == 401
    found = served.ask(f"/sign-in?link={link}")
    assert (found.status, found.headers["location"]) == (303, "/")
    cookie = found.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/", f"lamina_{served.port}="):
        assert part in cookie
    own = ("Cookie", cookie.partition(";")[0])
    assert served.ask("/memory/audit", headers=[own]).status == 200
    assert served.ask(f"/sign-in?link={link}").status == 401
    again = served.ask(f"/sign-in?link={link}", headers=[own])
    assert (again.status, again.headers["location"]) == (
        303,
        "/",
    )  # who is in already need not sign in
    assert (
        served.ask("/memory/audit", "wrong", headers=[own]).status == 401
    )  # a token that is given decides
    assert served.ask("/sign-out", headers=[own]).status == 303
    assert served.ask("/memory/audit", headers=[own]).status == 401
    assert served.ask(f"/sign-in?link={link}", headers=[own]).status == 401


def test_links_and_sessions_end(clock: Ticking) -> None:
    """H2: a link that was not used in time opens nothing, and a session ends by itself; there are
    never many of either."""
    clock.step = timedelta()
    sessions = Sessions(clock)
    late = sessions.link()
    clock.jump(LINK_LIFE)
    assert sessions.redeem(late) is None
    session = sessions.redeem(sessions.link())
    assert session is not None
    assert sessions.is_open(session)
    clock.jump(LIFE)
    assert not sessions.is_open(session)
    links = [sessions.link() for _ in range(MOST + 1)]
    assert sessions.redeem(links[0]) is None
    assert sessions.redeem(links[1]) is not None
    assert not sessions.is_open("\ud800")


WRITES: dict[str, Callable[[Any, Everything], object]] = {
    "remember": lambda handle, all_: handle.remember("new"),
    "remember_many": lambda handle, all_: handle.remember_many([{"content": "new"}]),
    "remember_conversation": lambda handle, all_: handle.remember_conversation(
        [{"speaker": "Ana", "text": "new"}], session="s9", participants=["Ana"]
    ),
    "run": lambda handle, all_: handle.run("task").__enter__(),
    "run_once": lambda handle, all_: handle.run_once(),
    "sleep": lambda handle, all_: handle.sleep(),
    "compress_short_to_long": lambda handle, all_: handle.compress_short_to_long(0),
    "upsert_user_profile": lambda handle, all_: handle.upsert_user_profile(
        {"name": "Eve"}, [all_.told.id]
    ),
    "propose_profile": lambda handle, all_: handle.propose_profile(
        "name", "Eve", "because", [all_.told.id]
    ),
    "confirm": lambda handle, all_: handle.confirm(all_.proposal.id),
    "reject": lambda handle, all_: handle.reject(all_.proposal.id, "no"),
    "rollback": lambda handle, all_: handle.rollback(all_.corrected.id),
    "correct": lambda handle, all_: handle.correct(all_.told.id, "other", "no"),
    "forget": lambda handle, all_: handle.forget(all_.told.id),
    "erase": lambda handle, all_: handle.erase(all_.told.id),
    "prune": lambda handle, all_: handle.prune(tags=["reports"]),
    "grant": lambda handle, all_: handle.grant("milton", tag="reports"),
    "reindex": lambda handle, all_: handle.reindex(),
}


@pytest.mark.parametrize("verb", WRITES)
def test_a_handle_that_looks_cannot_write(desk: Desk, all_: Everything, verb: str) -> None:
    """H2: a handle that only reads is so by construction: every verb that writes is refused, and no
    byte changes."""
    desk.agent("milton")
    before = untouched(desk.folder())
    with opening.look(
        "sky", None, desk.home, "test", role=Role.OPERATOR, clock=desk.clock
    ) as handle:
        assert isinstance(handle, Operator)
        with pytest.raises(Refused, match="only reads"):
            WRITES[verb](handle, all_)
        assert handle.search("reports")
    assert untouched(desk.folder()) == before


def test_a_handle_that_looks_has_every_verb_that_reads(desk: Desk, all_: Everything) -> None:
    """H2, P4: it reads like any other, sees new memories at once, and leaves its reads
    in the trail."""
    with opening.look("sky", None, desk.home, "test", clock=desk.clock) as handle:
        assert type(handle) is Memory
        assert handle.get(all_.told.id) == all_.told
        new = all_.mem.remember("seen at once, a zebra")
        assert [hit.record for hit in handle.search("zebra")] == [new]
    assert [read.action for read in all_.op.audit_reads(2)] == ["search", "get"]


def test_a_log_that_a_crash_left_is_read_as_it_is(
    desk: Desk, all_: Everything, tmp_path: Path
) -> None:
    """H2: what a process left in its log is seen by a look, which folds nothing into the file; nor
    does its end."""
    all_.mem.remember("the last words, a heron")
    shutil.copytree(desk.home, tmp_path / "after")
    folder = tmp_path / "after" / "agents" / "sky"
    (folder / "memory.db-shm").unlink()
    before = untouched(folder)
    assert before[1]
    with opening.look("sky", None, tmp_path / "after", "test", clock=desk.clock) as handle:
        assert handle.search("heron")
    assert untouched(folder) == before


def test_the_manual_names_every_route(served: Served) -> None:
    """H2: a route that docs/http.md does not mention is not finished."""
    manual = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")
    missing = [
        path for path in served.ask("/openapi.json").json["paths"] if f"`{path}`" not in manual
    ]
    assert missing == []


def test_nothing_is_made_for_a_look(desk: Desk, tmp_path: Path) -> None:
    """H2: an agent without a memory has none after somebody looked, and a store of another time is
    left as it is."""
    with pytest.raises(NotFound, match="has no memory"):
        opening.look("nobody", None, desk.home, "test")
    assert not (desk.home / "agents" / "nobody").exists()
    with pytest.raises(InvalidInput):
        opening.look("../sky", None, desk.home, "test")
    mem = desk.agent()
    with mem._scope.store.database.atomic() as transaction:
        transaction.cursor.execute("UPDATE meta SET value = 0 WHERE name = 'analyser'")
    with pytest.raises(StoreUnavailable, match="older than this Lamina"):
        opening.look("sky", None, desk.home, "test")


def test_a_token_for_an_agent_without_memory_finds_nothing(served: Served) -> None:
    """H2: that is a 404 in the one shape, and the agent is not made."""
    found = served.ask("/memory/status", served.token("milton"))
    assert (found.status, found.code) == (404, "not_found")
    assert not served.desk.folder("milton").exists()


def call(home: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = run(["--home", str(home), *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_tokens_are_made_listed_and_revoked_by_commands(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """H1, H2: `lamina token create` prints the secret once, `list` never does, `revoke` ends it."""
    code, out, err = call(
        desk.home,
        "token",
        "create",
        "--agent",
        "sky",
        "--expires",
        "30d",
        "--name",
        "wall",
        capsys=capsys,
    )
    assert (code, len(out.split())) == (0, 1)
    assert "the memory of sky until" in err
    code, listed, _ = call(desk.home, "token", "list", capsys=capsys)
    assert code == 0
    assert "wall" in listed
    assert out.strip() not in listed
    (token,) = json.loads(call(desk.home, "token", "list", "--json", capsys=capsys)[1])
    assert set(token) == {"id", "agent", "user", "name", "trail", "tools", "created", "expires"}
    assert call(desk.home, "token", "revoke", token["id"], capsys=capsys)[0] == 0
    assert call(desk.home, "token", "revoke", token["id"], capsys=capsys)[0] == 3
    assert call(desk.home, "token", "create", "--expires", "soon", capsys=capsys)[0] == 2
    assert call(desk.home, "token", "create", "--agent", "A b", capsys=capsys)[0] == 2


def test_tokens_of_one_agent_or_user_are_listed(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """H1, H2: --agent and --user choose whose tokens are listed, and the others are counted;
    without them, all are listed."""
    for agent, user in (("sky", None), ("sky", "ana"), ("milton", "ana")):
        whose = ["--agent", agent, *(["--user", user] if user else [])]
        assert call(desk.home, "token", "create", *whose, capsys=capsys)[0] == 0

    def listed(*whose: str) -> list[tuple[str, str | None]]:
        return [
            (one["agent"], one["user"])
            for one in json.loads(
                call(desk.home, *whose, "token", "list", "--json", capsys=capsys)[1]
            )
        ]

    assert listed() == [("sky", None), ("sky", "ana"), ("milton", "ana")]
    assert listed("--agent", "sky") == [("sky", None), ("sky", "ana")]
    assert listed("--user", "ana") == [("sky", "ana"), ("milton", "ana")]
    assert listed("--agent", "milton", "--user", "ana") == [("milton", "ana")]
    code, out, err = call(desk.home, "--agent", "milton", "token", "list", capsys=capsys)
    assert (code, "the memory of milton for ana" in out, "sky" in out) == (0, True, False)
    assert err == "2 other tokens in this home; `lamina token list` shows all\n"
    code, out, err = call(desk.home, "--agent", "aegis", "token", "list", capsys=capsys)
    assert out.startswith("there are no tokens for the memory of aegis;")


def test_a_token_has_the_scope_of_the_shell(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """H2: without options of its own, agent and user are those of the program
    and its environment."""
    monkeypatch.setenv("LAMINA_USER", "ana")
    monkeypatch.setenv("LAMINA_AGENT", "milton")
    made = json.loads(call(desk.home, "token", "create", "--json", capsys=capsys)[1])
    assert (made["agent"], made["user"]) == ("milton", "ana")
    made = json.loads(
        call(
            desk.home,
            "--user",
            "ben",
            "token",
            "create",
            "--json",
            "--expires",
            "never",
            capsys=capsys,
        )[1]
    )
    assert (made["user"], made["expires"]) == ("ben", None)


@pytest.mark.parametrize(
    "arguments", [("serve",), ("token", "create"), ("token", "list"), ("token", "revoke", "x")]
)
def test_agents_neither_serve_nor_make_tokens(
    desk: Desk,
    arguments: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """H2: opening a memory to others is for operators."""
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    assert call(desk.home, *arguments, capsys=capsys)[0] == 1


def test_binding_beyond_the_loopback_must_be_asked_for(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """H2: an address that others can reach needs a flag with the name they use."""
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        code, _, err = call(desk.home, "serve", "--host", host, capsys=capsys)
        assert (code, "--allow-remote" in err) == (1, True)
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        assert guard.is_loopback(host)


def test_small_answers_do_not_wait_for_acknowledgements() -> None:
    """H2: the socket says that it is of TCP, without which every answer would take 40 ms longer."""
    with server.listen("localhost", 0) as made:
        assert made.proto == socket.IPPROTO_TCP
    with pytest.raises(InvalidInput, match="cannot be used"):
        server.listen("no.such.host.invalid", 0, ["x"])


def test_ipv6_is_served_too(desk: Desk) -> None:
    """H2: on `::1` the host is `[::1]` with its port, and no other spelling of it."""
    if not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    desk.agent().remember("x")
    with Served(desk, at="::1") as served:
        token = served.token()
        for host, status in (
            (f"[::1]:{served.port}", 200),
            (f"[0::1]:{served.port}", 403),
            ("[::1]", 403),
        ):
            assert served.ask("/memory/status", token, headers=[("Host", host)]).status == status


def _has_ipv6() -> bool:
    try:
        server.listen("::1", 0).close()
    except InvalidInput:
        return False
    return True


def test_from_elsewhere_the_cookie_needs_tls(desk: Desk) -> None:
    """H2: a browser that signs in by another name than this machine's own keeps its cookie for
    encrypted connections."""
    with Served(desk, remote=["memory.example"]) as served:
        for host, secure in ((f"localhost:{served.port}", False), ("memory.example", True)):
            link = served.service.sessions.link()
            found = served.ask(f"/sign-in?link={link}", headers=[("Host", host)])
            assert ("Secure" in found.headers["set-cookie"]) is secure


def test_an_occupied_port_is_told(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """H2: another program at the port is a plain error; so is a port that is none."""
    with server.listen("127.0.0.1", 0) as taken:
        code, _, err = call(
            desk.home, "serve", "--port", str(taken.getsockname()[1]), capsys=capsys
        )
    assert (code, "in use" in err, "--port" in err) == (2, True, True)
    assert call(desk.home, "serve", "--port", "70000", capsys=capsys)[0] == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_program_serves_until_it_is_told_to_end(desk: Desk, number: int) -> None:
    """H2: `lamina serve` prints its address and a link, answers, and ends cleanly on a signal with
    its reads written."""
    told = desk.agent().remember("a walrus")
    command = [
        sys.executable,
        "-m",
        "lamina.surfaces.cli.main",
        "--home",
        str(desk.home),
        "--agent",
        "sky",
        "serve",
        "--port",
        "0",
    ]
    with subprocess.Popen(
        [*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ}
    ) as running:
        assert running.stdout is not None
        lines: list[bytes] = []
        while not lines or lines[-1] != b"}\n":
            lines.append(running.stdout.readline())
        greeted = json.loads(b"".join(lines))
        at = urlsplit(greeted["url"])
        with_address = Served.__new__(Served)
        with_address.port = at.port or 0
        link = urlsplit(greeted["sign_in"])
        signed = with_address.ask(f"{link.path}?{link.query}")
        cookie = ("Cookie", signed.headers["set-cookie"].partition(";")[0])
        assert (
            with_address.ask(f"/memory/records/{told.id}", headers=[cookie]).json["content"]
            == "a walrus"
        )
        running.send_signal(number)
        assert running.wait(30) == 0
        assert running.stderr is not None
        assert running.stderr.read() == b""
    assert any(
        read.actor.surface == "http" and read.records == (told.id,)
        for read in desk.operator().audit_reads()
    )


def test_enter_prints_another_link(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """H2: whoever runs the server gets a new link whenever one is needed."""
    service = Service(desk.home, HOST, desk.clock)
    offer_links(["\n", "\n"], service, "http://127.0.0.1:1")
    links = [line.rpartition("link=")[2] for line in capsys.readouterr().out.splitlines()]
    assert len({*links}) == 2
    assert all(service.sessions.redeem(link) for link in links)


def test_no_function_of_the_api_knows_how_to_write(all_: Everything) -> None:
    """H2: the routes name no verb that writes."""
    from lamina.surfaces.http import routes

    source = inspect.getsource(routes)
    assert not [verb for verb in WRITES if f".{verb}(" in source]
