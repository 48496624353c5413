"""Promises of the console: everything that is remembered can be seen, followed and judged, without
a script."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.facts import Fact
from lamina.memory.browsing import Move
from lamina.model.record import Hit, Hits, Role, State
from lamina.surfaces.cli.main import run
from lamina.surfaces.cli.reviewer import comparison, texts
from lamina.surfaces.cli.reviewer.wording import because
from lamina.surfaces.http.console import (
    charts,
    difference,
    facts,
    formatting,
    overview,
    people,
    search,
    tree,
)
from lamina.surfaces.http.console.charts import HEIGHT, WIDTH, Series
from lamina.surfaces.http.console.timings import MOST, Timings, summary
from lamina.surfaces.http.service import Visitor
from tests.conftest import CONTRACTS, START, Desk, quietly
from tests.surfaces.looked_at import Page
from tests.surfaces.served import ID, Everything, Served, filled

PATHS = (
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


class Visit:
    """Somebody who looks at pages with a token that opens all of them."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._token = served.token(trail=True)

    def __call__(self, path: str, status: int = 200) -> Page:
        found = self._served.ask(path, self._token)
        assert found.status == status, found.body
        assert found.headers["content-type"] == "text/html; charset=utf-8"
        return Page(found.body.decode())


@pytest.fixture
def all_(desk: Desk) -> Everything:
    return filled(desk)


@pytest.fixture
def served(all_: Everything, desk: Desk) -> Iterator[Served]:
    with Served(desk) as running:
        yield running


@pytest.fixture
def visit(served: Served) -> Visit:
    return Visit(served)


def test_every_page_is_well_made(visit: Visit, all_: Everything) -> None:
    """H2: each page has a language, a title, one first heading, landmarks, names for all fields and
    plots, and one script at its end."""
    for path in (
        *PATHS,
        f"/records/{all_.corrected.id}",
        "/search?query=where+does+Ana+live",
        "/conversations?session=s1",
        "/people?subject=Ana",
        "/projects?project=garden",
        "/records?sort=importance",
        "/audit?of=reads",
        "/audit?of=violations",
    ):
        page = visit(path)
        assert page.one("html")["lang"] == "en"
        assert page.all("title")[0].text.endswith(" · Lamina")
        assert page.one("h1").text
        assert page.one("main")["id"] == page.one("a", class_="skip")["href"][1:]
        assert page.elements[-1] == page.one("script")
        assert not page.all("style")
        assert not [one for one in page.elements if "style" in one.attributes]
        names = [one["id"] for one in page.elements if "id" in one.attributes]
        assert len(names) == len(set(names))
        for one in page.elements:
            assert {*one.attributes.get("aria-labelledby", "").split()} <= {*names}, one
        fields = [
            one
            for one in page.all("input") + page.all("select")
            if one.attributes.get("type") != "hidden"
        ]
        assert len(page.all("label")) == len(fields)
        for plot in page.all("svg"):
            seen = plot.attributes.get("role") in ("img", "group")
            assert seen == ("aria-label" in plot.attributes or "aria-labelledby" in plot.attributes)


def test_a_link_signs_a_browser_in(served: Served) -> None:
    """H2: the link that `lamina serve` prints leads to the overview, and pages name whose
    memory it is."""
    link = served.service.sessions.link()
    answer = served.ask(f"/sign-in?link={link}")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = [("Cookie", answer.headers["set-cookie"].partition(";")[0])]
    page = Page(served.ask("/", headers=cookie).body.decode())
    assert page.one("h1").text == "Overview"
    assert "The memory of sky, seen by tester" in page.text
    assert served.ask("/sign-out", headers=cookie).status == 303
    stranger = Page(served.ask("/", headers=cookie).body.decode())
    assert stranger.one("h1").text == "Sign in"
    assert "lamina serve" in stranger.text


def test_a_browser_switches_between_agents(desk: Desk) -> None:
    """H2, V6: where the operator allowed it, a signed-in browser sees the agents of the home, each
    by itself; a token never does, and without that nobody."""
    desk.agent("sky").remember("sky drinks tea")
    desk.agent("milton").remember("milton drinks cocoa")

    def signed_in(served: Served) -> list[tuple[str, str]]:
        answer = served.ask(f"/sign-in?link={served.service.sessions.link()}")
        return [("Cookie", answer.headers["set-cookie"].partition(";")[0])]

    with Served(desk, all_agents=True) as served:
        cookie = signed_in(served)
        page = Page(served.ask("/records", headers=cookie).body.decode())
        assert "sky drinks tea" in page.text
        assert {"/?agent=milton", "/?agent=sky"} <= {*page.links("/?")}
        other = Page(served.ask("/records?agent=milton", headers=cookie).body.decode())
        assert "milton drinks cocoa" in other.text
        assert "sky drinks tea" not in other.text
        assert "The memory of milton" in other.text
        assert all("agent=milton" in one for one in other.links("/records/"))
        assert served.ask("/records?agent=nobody", headers=cookie).status == 403
        for one in (served.token("sky"), served.token("sky", name="tester", trail=True)):
            assert served.ask("/records?agent=milton", one).status == 403
    with Served(desk) as served:
        assert served.ask("/records?agent=milton", headers=signed_in(served)).status == 403
    ana = Visitor("sky", "ana", Role.OPERATOR, "tester")
    with Served(desk, host=ana, all_agents=True) as served:
        assert served.ask("/records?agent=milton", headers=signed_in(served)).status == 403


def test_a_theme_that_was_chosen_stays(visit: Visit) -> None:
    """H2: dark or light by what the system says, or by a choice that every link and form carries
    on, without a script."""
    assert "data-theme" not in visit("/search?query=reports").one("html").attributes
    for theme in ("light", "dark"):
        page = visit(f"/search?query=reports&theme={theme}")
        assert page.one("html")["data-theme"] == theme
        own = [one for one in page.links("/") if one not in ("/docs", "/sign-out")]
        assert own
        chosen = [one for one in own if f"theme={theme}" in one]
        assert len(own) - len(chosen) == 2  # the other two choices
        assert page.one("input", type="hidden")["value"] == theme
        assert "/search?query=reports" in own
    assert visit("/?theme=pink", 400).one("h1").text == "That did not work"


def test_the_overview_tells_a_burst_and_the_search_its_copies(visit: Visit, desk: Desk) -> None:
    """H2, V8: many memories that came from one source at once need attention, and of copies one hit
    is shown."""
    said = [
        {"content": f"the zeppelin lands on the roof {n}", "source": "web:<b>evil</b>"}
        for n in range(130)
    ]
    desk.agent().remember_many(said)
    notice = visit("/").one("section", class_="notice").text
    assert "130 memories from source web:<b>evil</b> within an hour" in notice
    assert "lamina revoke --source 'web:<b>evil</b>'" in notice
    page = visit("/search?query=the+zeppelin+lands+on+the+roof")
    assert "129 near-copies from outside are not shown." in page.text


def test_the_overview_counts(visit: Visit, all_: Everything, desk: Desk) -> None:
    """H2: numbers and plots are those of the store: active memories, what waits, and memories per
    layer and day."""
    page = visit("/")
    status = all_.op.status()
    active = sum(states.get("active", 0) for states in status["records"].values())
    numbers = [one.text for one in page.all("strong")]
    waiting = len(all_.mem.proposals())
    assert (numbers[0], numbers[3]) == (f"{active:,}", f"{waiting:,}")
    assert numbers[4] == str(status["archived"])
    since = desk.clock.now - timedelta(days=overview.DAYS - 1)
    every = ["short_term", "episodic", "semantic", "procedural", "profile", "world"]
    listed = all_.mem.list(
        layers=every, states=None, since=since.replace(hour=0, minute=0, second=0), limit=10_000
    )
    assert f"{len(listed)} memories in 30 days" in page.text
    drawn = [
        one for one in page.all("title") if ": " in one.text and one.text.endswith(" semantic")
    ]
    assert sum(int(one.text.split(": ")[1].split()[0]) for one in drawn) == sum(
        r.layer == "semantic" for r in listed
    )


def test_the_overview_says_what_needs_a_person(visit: Visit, all_: Everything) -> None:
    """H2: what waits and jobs that never ran come with the command that helps; the last recalls
    say what they found, and that they found nothing."""
    page = visit("/")
    commands = [one.text for one in page.all("code")]
    assert any(one.endswith(" review") for one in commands)
    assert any(one.endswith(" run --once") for one in commands)
    visit("/search?query=when+are+reports+due")
    visit("/search?query=zzzzqqq")
    asked = {one.text: one["href"] for one in visit("/").all("a") if "query=" in one["href"]}
    assert asked["zzzzqqq"] == "/search?query=zzzzqqq"
    assert "when are reports due" in asked
    assert "nothing relevant" in [one.text for one in visit("/").all("span", class_="state")]
    for one in all_.mem.proposals():
        all_.op.reject(one.record.id, "no")
    all_.op.orchestrator().tick()
    assert "No job has ever run" not in visit("/").text


def test_scales_have_whole_numbers() -> None:
    """H2: of what is counted the middle of a scale is a whole number, too."""
    for highest in range(1, 2000):
        assert charts.ceiling(highest) % 2 == 0


def test_a_page_that_is_not_there_looks_like_the_others(served: Served) -> None:
    """H2: a browser that asks for nothing we have gets a page; a program gets the error."""
    browser = [("Accept", "text/html,application/xhtml+xml")]
    found = served.ask("/nowhere", served.token(), headers=browser)
    assert found.status == 404
    page = Page(found.body.decode())
    assert page.one("h1").text == "There is nothing like that"
    assert "/nowhere" in page.text
    assert served.ask("/nowhere", headers=browser).status == 404
    assert served.ask("/nowhere").code == "not_found"


def test_recalls_are_timed(visit: Visit, served: Served) -> None:
    """H2: the overview draws how long the latest recalls took, over the API or on a page; other
    requests are none."""
    assert "nobody has searched" in visit("/").text
    visit("/search")
    assert "nobody has searched" in visit("/").text
    visit("/search?query=reports")
    visit("/search?query=nothing+like+it")
    assert served.ask("/search?query=reports").status == 401
    assert "half of the latest 2 within" in visit("/").text


def test_timings_are_bounded() -> None:
    """H2: only the latest recalls are kept; their middle and slow end are told as soon as
    there is one."""
    timings = Timings()
    assert summary(timings.latest) == {}
    timings.add(3.0)
    assert summary(timings.latest) == {"median": 3.0, "slow": 3.0}
    for value in range(3 * MOST):
        timings.add(float(value))
    assert len(timings.latest) == MOST
    assert summary(timings.latest)["slow"] >= summary(timings.latest)["median"]


def test_a_backlog_is_counted_back_from_now() -> None:
    """H2: how many waited at the end of each day follows from what waits now and
    the changes since."""
    moved = ((4, -1), (2, 1), (2, 1), (0, 0))
    newest_first = [Move(START + timedelta(days=day), 0, number) for day, number in moved]
    days = [(START + timedelta(days=day)).date() for day in range(6)]
    assert overview.backlog(1, newest_first, days) == [0, 0, 2, 2, 1, 1]
    assert overview.backlog(0, [], days) == [0] * 6


def test_hits_show_what_their_scores_are_made_of(visit: Visit, all_: Everything) -> None:
    """H2, Q6: each hit of the library is there in its order, with a bar of parts that add up
    to its score."""
    hits = all_.mem.search("when are reports due", limit=5)
    page = visit("/search?query=when+are+reports+due&limit=5")
    assert [
        one for one in page.links("/records/") if one[9:] in {hit.record.id for hit in hits}
    ] == [f"/records/{hit.record.id}" for hit in hits]
    whys = [one.text for one in page.all("summary") if one.text.startswith("Why")]
    assert whys == [f"Why: score {hit.score:.3f}" for hit in hits]
    parts = [float(one.text) for one in page.all("dd")]
    assert abs(sum(parts) - sum(hit.score for hit in hits)) < 0.05
    assert {*hits[0].parts} <= {one.text for one in page.all("dt")}


def test_what_is_taken_off_makes_no_bar_longer(all_: Everything) -> None:
    """H2, Q6: parts below zero lie over the end of their bar; what is left of it is as long
    as the score."""
    record = all_.mem.search("reports")[0].record
    hits = Hits(
        [
            Hit(record, 0.72, {"words": 0.5, "asks": -0.08, "meaning": 0.3}),
            Hit(record, 0.0, {"asks": -0.2}),
        ]
    )
    first, second = search.drawn(hits)
    added, less = [box for box in first.boxes if box.tone != "part-less"], first.boxes[-1]
    assert sum(box.width for box in added) == pytest.approx(charts.WIDTH)
    assert less.x + less.width == pytest.approx(charts.WIDTH)
    assert less.x / charts.WIDTH == pytest.approx(0.72 / 0.8)
    assert [box.width for box in second.boxes] == [0]


def test_a_reason_is_said_once() -> None:
    """H2: a reason that begins with "because" is not told so twice."""
    assert [because(one) for one in ("it rains", "Because it rains")] == [
        "because it rains",
        "Because it rains",
    ]


def test_the_archive_is_in_the_menu(visit: Visit) -> None:
    """H2: every page leads to the archive, which knows that it is the one."""
    assert "/archive" in visit("/").links("/archive")
    here = visit("/archive").all("a", aria_current="page", href="/archive")[0]
    assert here.text == "Archive"


def test_a_search_can_abstain_and_can_be_wrong(visit: Visit) -> None:
    """H2, Q7: nothing relevant is said so; fields left empty are not asked; what is not acceptable
    is told on a page."""
    assert "Nothing relevant" in visit("/search?query=zzzzqqq").text
    assert "Nothing relevant" not in visit("/search?query=&layer=&ranker=&as_of=&tag=").text
    assert (
        visit("/search?query=reports&layer=semantic&ranker=exact&as_of=2026-05-06&tag=")
        .one("h1")
        .text
        == "Search"
    )
    for asked in ("ranker=best", "limit=0", "as_of=soon", "layer=attic", "colour=red"):
        assert visit(f"/search?query=reports&{asked}", 400).one("h1").text == "That did not work"


def test_lists_go_on_from_page_to_page(visit: Visit, all_: Everything) -> None:
    """H2: following `Next page` shows each memory once, grouped by day, the newest first."""
    seen: list[str] = []
    path: str | None = "/records?limit=3"
    while path is not None:
        page = visit(path)
        seen += [one[9:35] for one in page.links("/records/")]
        path = next((one["href"] for one in page.all("a", rel="next")), None)
    assert seen == [record.id for record in all_.mem.list(limit=1000)]
    assert visit("/records?state=constrained&kind=preference").links("/records/")
    assert "No memory is like that" in visit("/records?tag=nobody-uses-this").text


def test_the_archive_is_found_by_its_text(visit: Visit) -> None:
    """H2, L4: what has left the store is found by a text that it holds, with its file and line."""
    page = visit("/archive?query=INVOICE")
    assert "An old invoice of the baker" in page.text
    assert ".jsonl:1" in page.text
    assert "Nothing in the archive contains that" in visit("/archive?query=walrus").text
    assert "in the archive" in visit("/archive").text


def test_a_record_tells_where_it_comes_from(visit: Visit, all_: Everything) -> None:
    """H2, P1: a record shows its text, evidence, history with reasons, and a lineage that can be
    walked in both directions."""
    page = visit(f"/records/{all_.corrected.id}")
    assert page.one("h1").text == "Reports are due at eight"
    assert "because she said so" in page.text
    before = all_.corrected.supersedes[0]
    drawn = page.one("svg", role="group")
    assert "Reports are due at seven" in [
        one["aria-label"][:24] for one in page.all("a") if "aria-label" in one.attributes
    ]
    assert "superseded" in drawn.text
    assert {f"/records/{before}", f"/records/{all_.told.id}"} <= {*page.links("/records/")}
    outside = page.all("a", href="https://example.org/note")
    assert outside
    assert all(one["rel"] == "noopener noreferrer" for one in outside)
    older = visit(f"/records/{before}")
    assert f"/records/{all_.corrected.id}" in older.links("/records/")
    assert older.one("span", class_="state").text == "superseded"
    assert (
        visit(f"/records/{all_.corrected.id.upper()}").one("h1").text == "Reports are due at eight"
    )


def test_what_is_not_there_is_told(visit: Visit, all_: Everything) -> None:
    """H2: an unknown record is a page that says so; an erased one is a stub with its history; an
    archived one is there."""
    for name in (ID, "nonsense", "01"):
        assert visit(f"/records/{name}", 404).one("h1").text == "There is nothing like that"
    gone = next(
        change.record
        for event in all_.op.audit_log(200)
        if event.action == "erase"
        for change in event.changes
    )
    assert "gone for good" not in visit(f"/records/{gone}").text
    kept = all_.mem.search_archive("invoice")[0]
    assert visit(f"/records/{kept.id}").one("h1").text == kept.content


def test_facts_are_intervals(visit: Visit, all_: Everything) -> None:
    """H2, S2: what held and what holds about somebody lies on one line of time, with a table
    of the same."""
    page = visit("/people?subject=Ana")
    known = all_.mem.timeline("Ana")
    assert len(page.all("li", class_="lane")) == len(known)
    bars = {one["aria-label"] for one in page.all("svg", role="img")}
    assert bars == {"holds", "held once"}
    assert [fact.value for fact in known if fact.attribute == "lives_in"] == ["Lisbon", "Porto"]
    assert "Lisbon" in page.one("table").text
    assert "Nothing is known about them" in visit("/people?subject=Nobody").text


def test_of_many_people_some_are_named(visit: Visit, desk: Desk) -> None:
    """H2: of many people the page names those of whom most is known, and asks for the others."""
    op = desk.operator()
    for place in range(people.NAMED + 3):
        claim = {"subject": f"Person {place}", "attribute": "likes", "value": "tea"}
        op.remember(
            f"Person {place} likes tea",
            layer="semantic",
            kind="fact",
            metadata={**CONTRACTS["semantic"], **claim},
        )
    page = visit("/people")
    named = page.links("/people?subject=Person")
    assert 0 < len(named) <= people.NAMED
    assert page.all("form", action="/people")
    left = next(f"Person {n}" for n in range(43) if f"/people?subject=Person+{n}" not in named)
    assert visit(f"/people?subject={quote(left)}").one("h1").text == left


@given(
    st.lists(
        st.tuples(st.integers(0, 1000), st.none() | st.integers(0, 500), st.booleans()), max_size=9
    )
)
def test_intervals_stay_on_the_line(spans: list[tuple[int, int | None, bool]]) -> None:
    """H2: whatever the facts, each bar lies on the line, and is wide enough to be seen."""
    now = START + timedelta(days=600)
    known = [
        _fact(begin, length, State.ACTIVE if active else State.SUPERSEDED)
        for begin, length, active in spans
    ]
    line = facts.line(known, now)
    assert sum(len(lanes) for _, lanes in line.groups) + line.left_out == len(known)
    assert len(line.rows) == len(known)
    assert all(len(lanes) <= facts.LANES for _, lanes in line.groups)
    for _, lanes in line.groups:
        for lane in lanes:
            assert lane.width >= facts.LEAST
            assert lane.x >= 0
            assert lane.x + lane.width <= WIDTH + 0.02


def _fact(begin: int, length: int | None, state: State) -> Fact:
    """A fact that holds from one day of the tests on, for some days or for ever; what else it says
    does not matter."""
    start = START + timedelta(days=begin)
    fields: dict[str, Any] = dict.fromkeys(Fact.__struct_fields__, ())
    fields |= {"attribute": "likes", "state": state, "valid_from": start}
    return Fact(
        **{**fields, "valid_to": None if length is None else start + timedelta(days=length)}
    )


def test_a_decision_is_a_command_to_copy(visit: Visit, all_: Everything, desk: Desk) -> None:
    """H2, V1: the command beside a proposal does exactly that when it is typed, and the proposal is
    gone from the queue."""
    page = visit("/review")
    commands = [one.text for one in page.all("code") if all_.proposal.id in one.text]
    assert [command.split(" review ")[1].split()[0] for command in commands] == [
        "confirm",
        "reject",
    ]
    assert run(shlex.split(commands[0])[1:]) == 0
    assert all_.mem.get(all_.proposal.id).state is State.ACTIVE
    assert all_.proposal.id not in str([one.text for one in visit("/review").all("code")])
    second = all_.mem.propose_profile("schedule.wake_up", "07:00", "later", [all_.told.id])
    reject = next(
        one.text
        for one in visit("/review").all("code")
        if second.id in one.text and "reject" in one.text
    )
    assert run(shlex.split(reject)[1:]) == 0
    assert all_.mem.get(second.id).state is State.TOMBSTONED


def test_a_proposal_shows_what_would_change(visit: Visit, all_: Everything) -> None:
    """H2, V5: what is now stands beside what would be with the words marked; problems and rivals
    are told, and no way to confirm is offered where there is none."""
    all_.op.confirm(all_.proposal.id)
    changed = all_.mem.propose_profile("schedule.wake_up", "06:45", "a bit later", [all_.told.id])
    asked = all_.mem.request_forget(all_.told.id, "it is old")
    page = visit("/review")
    assert [one.text for one in page.all("del")] == ["30"]
    assert [one.text for one in page.all("ins")] == ["45"]
    commands = [one.text for one in page.all("code")]
    assert any(one.endswith(f"review confirm {changed.id}") for one in commands)
    assert any(one.endswith(f"forget {all_.told.id}") for one in commands)
    assert not any(one.endswith(f"review confirm {asked.id}") for one in commands)


def test_the_queue_goes_on_from_page_to_page(visit: Visit, all_: Everything) -> None:
    """H2, V9: a long queue comes in pages, and none of it twice; an empty one says so."""
    op = all_.op
    for number in range(25):
        op.propose_profile(f"drink {number}", "tea", "said so", [all_.told.id])
    seen: list[str] = []
    path: str | None = "/review"
    while path is not None:
        page = visit(path)
        seen += [
            one["href"][9:35]
            for one in page.all("a")
            if one["href"].startswith("/records/") and "/" in one.text
        ]
        path = next((one["href"] for one in page.all("a", rel="next")), None)
    waiting = [one.record.id for one in all_.mem.proposals()]
    assert [one for one in seen if one in waiting] == seen
    assert len(seen) == len({*seen}) == len(waiting)
    for one in waiting:
        op.reject(one, "no")
    assert "Nothing waits for review" in visit("/review").text


def test_profile_and_projects_are_shown(visit: Visit, all_: Everything) -> None:
    """H2, R10: the profile and where each project stands, with what they rest on."""
    page = visit("/people")
    assert page.one("h1").text == "Ana"
    assert "Profile of Ana" in [one.text for one in page.all("h2")]
    known = all_.mem.user_profile().evidence_ids
    assert {f"/records/{one}" for one in known} <= {*page.links("/records/")}
    page = visit("/projects")
    assert "garden" in [one.text for one in page.all("h2")]
    assert "grow tomatoes" in page.text
    known = all_.mem.projects()[0].evidence_ids
    assert {f"/records/{one}" for one in known} <= {*page.links("/records/")}


def test_former_addresses_lead_on(served: Served) -> None:
    """H2: links to pages that have moved still arrive, with what they asked for."""
    for path, target in (
        ("/facts?subject=Ana", "/people?subject=Ana"),
        ("/facts", "/people"),
        ("/profile?theme=dark", "/people?theme=dark"),
    ):
        answer = served.ask(path)
        assert (answer.status, answer.headers["location"]) == (303, target)


def test_a_person_has_a_page(visit: Visit, all_: Everything) -> None:
    """H2: of somebody it shows what holds and held, what is open, and their conversations."""
    page = visit("/people?subject=Ana")
    assert "Lisbon" in page.text
    assert f"/records/{all_.told.id}" in page.links("/records/")  # a request without a result
    assert "/conversations?session=s1" in page.links("/conversations")


def test_a_project_has_a_page(visit: Visit, all_: Everything) -> None:
    """H2: of a project it shows where it stands, its memories and conversations."""
    made = all_.mem.remember("The beds need water", project="garden")
    turns = [{"speaker": "Ana", "text": "The tomatoes are red."}]
    all_.mem.remember_conversation(turns, session="beds", project="garden")
    page = visit("/projects?project=garden")
    assert "grow tomatoes" in page.text
    assert f"/records/{made.id}" in page.links("/records/")
    assert "/conversations?session=beds" in page.links("/conversations")
    assert visit("/projects?project=nothing", 404).one("h1").text == "There is nothing like that"


def test_what_holds_stands_above_what_was_said(visit: Visit, all_: Everything) -> None:
    """H2, Q2: a search shows the current fact first; the saying that it replaced names it, and
    since when."""
    page = visit("/search?query=where+does+Ana+live")
    titles = [one.text for one in page.all("h3")]
    assert titles.index("Ana lives in Porto") < titles.index("I live in Lisbon.")
    assert page.one("h2", id="current").text == "What holds now"
    (notice,) = [one.text for one in page.all("p", class_="notice") if "Out of date" in one.text]
    assert notice.endswith("Ana lives in Porto")
    porto = next(fact for fact in all_.mem.facts("Ana") if fact.value == "Porto")
    assert f"since {porto.valid_from:%Y-%m-%d}" in notice
    alone = visit("/search?query=where+does+Ana+live&layer=episodic")
    assert "Ana lives in Porto" in [one.text for one in alone.all("h3")]


def test_a_saying_names_what_was_rejected_of_it(visit: Visit, all_: Everything) -> None:
    """H2, C3: a search shows which fact of a saying was rejected."""
    (porto,) = (fact for fact in all_.mem.facts("Ana") if fact.value == "Porto")
    all_.op.forget(porto.record, "she does not")
    page = visit("/search?query=where+does+Ana+live")
    assert "Rejected: Porto" in [one.text for one in page.all("p", class_="notice")]


def test_facets_narrow_a_list(visit: Visit, all_: Everything) -> None:
    """H2: beside hits and lists stand their values with numbers; a link narrows to one, and the same
    link takes it back."""
    page = visit("/records?state=active")
    mine = [one for one in page.all("a") if one["href"] == "/records?state=active&speaker=Ana"]
    assert mine[0].text.split() == ["Ana", str(len(all_.mem.list(speaker="Ana", limit=100)))]
    narrowed = visit(mine[0]["href"])
    assert {one[9:] for one in narrowed.links("/records/")} == {
        record.id for record in all_.mem.list(speaker="Ana", limit=100)
    }
    chosen = [one for one in narrowed.all("a", aria_current="true") if "Ana" in one.text]
    assert chosen[0]["href"] == "/records?state=active"
    found = visit("/search?query=Ana")
    assert [one for one in found.links("/search?") if "layer=semantic" in one]
    # Only some hits are of a conversation, and all of these of one: that narrows, too.
    assert [one for one in found.links("/search?") if "session=s1" in one]
    month = next(one for one in found.links("/search?") if "since=" in one)
    assert visit(month).one("h1").text == "Search"


def test_a_conversation_is_read_as_a_chat(visit: Visit, all_: Everything) -> None:
    """H2, P1: conversations by day; each turn has beside it what was learned from it, and a fact
    leads back to its words."""
    assert "/conversations?session=s1" in visit("/conversations").links("/conversations")
    page = visit("/conversations?session=s1")
    words = [one.text for one in page.all("p", class_="words")]
    assert words == ["I live in Lisbon.", "I moved to Porto last week."]
    beside = page.all("ul", class_="learned")
    assert "Ana lives in Lisbon" in beside[0].text
    assert "now: Ana lives in Porto" in " ".join(beside[0].text.split())
    fact = next(fact for fact in all_.mem.facts("Ana") if fact.value == "Porto")
    back = visit(f"/records/{fact.record}").links("/conversations")
    assert f"/conversations?session=s1#turn-{fact.evidence[0]}" in back
    assert visit("/conversations?session=none", 404).one("h1").text == "There is nothing like that"


def test_what_is_shown_can_be_exported(visit: Visit, served: Served, all_: Everything) -> None:
    """H2: the list is there as JSON and as CSV, in its order and as narrow as it is; no cell is a
    formula."""
    all_.mem.remember("=1+2", tags=["sum"], importance=1.0)
    token = served.token()
    asked = served.ask("/records?sort=importance&limit=3&format=json", token)
    assert asked.headers["content-disposition"] == 'attachment; filename="memories.json"'
    best = all_.mem.browsing.browse(sort="importance", limit=3).records
    assert [one["id"] for one in asked.json] == [record.id for record in best]
    table = served.ask("/records?tag=sum&format=csv", token)
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    head, row = csv.reader(io.StringIO(table.body.decode()))
    assert dict(zip(head, row, strict=True))["content"] == "'=1+2"
    assert "/records?tag=sum&format=csv" in visit("/records?tag=sum").links("/records?")


def test_the_trail_can_be_read_and_checked(visit: Visit, all_: Everything, desk: Desk) -> None:
    """H2, P4: changes page by page, reads and violations; and whether the chain holds, checked on
    demand and remembered."""
    seen: list[int] = []
    path: str | None = "/audit?limit=7"
    while path is not None:
        page = visit(path)
        seen += [int(one.text) for one in page.all("th", scope="row")]
        path = next((one["href"] for one in page.all("a", rel="next")), None)
    assert seen == [event.seq for event in all_.op.audit_log(1000)]
    assert "not checked" in page.text
    assert "Every record is what the trail says" in visit("/audit/verify").text
    assert "whole" in visit("/audit").text
    visit("/search?query=reports+of+ana")
    assert "reports of ana" in visit("/audit?of=reads").text
    assert "Nobody tried" in visit("/audit?of=violations").text
    quietly(
        desk.folder() / "memory.db",
        f"UPDATE records SET content = 'forged' WHERE id = '{all_.told.id}'",
    )
    assert "Something is not as it was written" in visit("/audit/verify").text
    assert "broken" in visit("/audit").text


def test_an_empty_store_has_pages_too(desk: Desk) -> None:
    """H2: where nothing is remembered yet, every page says so instead of failing."""
    desk.agent()
    with Served(desk) as served:
        visit = Visit(served)
        for path in PATHS:
            assert visit(path).one("h1").text
        assert "Nothing to draw yet" in visit("/").text


def test_pages_are_described_for_people_only(served: Served) -> None:
    """H2: the description of the API is about the API; the console is not in it."""
    described = served.ask("/openapi.json").json["paths"]
    assert all(path.startswith("/memory/") for path in described)


@given(st.lists(st.lists(st.integers(0, 10_000), min_size=3, max_size=3), min_size=1, max_size=6))
def test_columns_fill_the_plot_and_no_more(values: list[list[int]]) -> None:
    """H2: in every plot the columns stay within the box, and are as high as their values."""
    series = [Series(f"s{place}", "t", row) for place, row in enumerate(values)]
    made = charts.bars("n", "t", "a", ["1", "2", "3"], series)
    assert made.top >= max(map(sum, zip(*values, strict=True)))
    for box in made.boxes:
        assert -0.02 <= box.y <= HEIGHT
        assert box.y + box.height <= HEIGHT + 0.02
        assert 0 <= box.x <= WIDTH - box.width + 0.02
    drawn = sum(box.height for box in made.boxes) * made.top / HEIGHT
    assert drawn == pytest.approx(sum(map(sum, values)), abs=made.top * 0.01)


@given(st.floats(0, 1e9))
def test_scales_are_round(highest: float) -> None:
    """H2: the number at the top of a scale is not below what is drawn, and not far above it."""
    top = charts.ceiling(highest)
    assert top >= highest
    assert top <= max(2, 2.5 * highest)


@given(st.integers(1, 30), st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=60))
def test_sources_are_drawn_to_the_left(number: int, pairs: list[tuple[int, int]]) -> None:
    """H2: whatever the lineage, each memory is drawn or counted, inside the drawing, to the right
    of what it rests on."""
    names = [f"n{place}" for place in range(number)]
    edges = [(max(pair), min(pair)) for pair in pairs if pair[0] != pair[1] and max(pair) < number]
    node: dict[str, Any] = {
        "is_record": True,
        "layer": "semantic",
        "state": "active",
        "occurred_at": "2026-05-01T00:00:00Z",
    }
    graph = {
        "record": names[-1],
        "nodes": [{"id": name, "content": name, **node} for name in names],
        "edges": [
            {"from": names[one], "to": names[other], "relation": "evidence"} for one, other in edges
        ],
    }
    made = tree.draw(graph)
    places = {one.id: one for one in made.nodes}
    assert len(places) + made.left_out == number
    assert places[names[-1]].is_here
    for one in made.nodes:
        assert 0 <= one.x <= made.width - tree.WIDTH
        assert 0 <= one.y <= made.height - tree.HEIGHT
    for later, earlier in edges:
        if names[later] in places and names[earlier] in places:
            assert places[names[later]].x > places[names[earlier]].x


def test_a_chain_is_drawn_as_one() -> None:
    """H2: what a corrected memory rests on is drawn once, at the first of the chain; the lines of
    the others, which say the same, are in the table alone."""
    names = ["source", "seven", "eight", "nine"]
    node: dict[str, Any] = {"is_record": True, "layer": "semantic", "state": "active"}
    at = {"occurred_at": "2026-05-01T00:00:00Z"}
    resting = [{"from": name, "to": "source", "relation": "evidence"} for name in names[1:]]
    chain = [
        {"from": later, "to": earlier, "relation": "supersedes"}
        for earlier, later in pairwise(names[1:])
    ]
    graph = {
        "record": "nine",
        "nodes": [{"id": name, "content": name, **node, **at} for name in names],
        "edges": [*resting, *chain],
    }
    made = tree.draw(graph)
    assert [edge.relation for edge in made.edges] == ["evidence", "supersedes", "supersedes"]
    assert made.height == tree.HEIGHT + 2 * tree.MARGIN  # no line has to pass a column


@given(st.lists(st.text(max_size=20), max_size=4), st.lists(st.text(max_size=20), max_size=4))
def test_a_comparison_loses_no_word(before: list[str], after: list[str]) -> None:
    """V5: the pieces of each line are that line, as the reviewer in the terminal shows it, with
    nothing hidden."""
    for left, right in comparison.aligned(before, after):
        for line in (left, right):
            pieces = difference.pieces(line)
            if line is not None:
                assert pieces is not None
                assert "".join(piece.text for piece in pieces) == line.plain
    hidden = difference.pieces(texts.safe("a\u200bb"))
    assert hidden is not None
    assert [piece.kind for piece in hidden] == [None, "hidden", None]


@given(st.text(max_size=200), st.integers(4, 30))
def test_two_lines_hold_the_beginning_of_a_text(text: str, room: int) -> None:
    """H2: a box has at most two lines, each within its columns; a short text is there as it is."""
    lines = formatting.wrapped(text, room)
    assert len(lines) <= 2
    assert all(len(line) <= room for line in lines)
    assert formatting.wrapped("Reports are due at eight", 20) == ("Reports are due at", "eight")
    assert formatting.wrapped("short", 20) == ("short",)
    assert formatting.wrapped("x" * 30, 20) == ("x" * 19, "x" * 11)


@given(st.text(max_size=60), st.integers(2, 30))
def test_a_line_fits_its_box(text: str, room: int) -> None:
    """H2: a text is cut to the columns of its box, and says that it was."""
    line = formatting.fitted(text, room)
    assert len(line) <= room
    assert formatting.fitted("明日の会議は十時から", 10) == "明日の会…"
    assert formatting.fitted("short", 10) == "short"


def test_commands_name_the_memory_that_is_meant(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H2: a command that is typed elsewhere means the same memory: its home, agent and user, quoted
    for a shell."""
    monkeypatch.setenv("LAMINA_HOME", str(desk.home))
    assert (
        formatting.command(desk.home, "default", None, "review", "confirm", ID)
        == f"lamina review confirm {ID}"
    )
    told = formatting.command(desk.home / "my home", "sky", "ana", "forget", ID)
    assert shlex.split(told) == [
        "lamina",
        "--home",
        f"{desk.home}/my home",
        "--agent",
        "sky",
        "--user",
        "ana",
        "forget",
        ID,
    ]
