"""Promises of the console in a real browser: it works, it can be used by everybody, and hostile
text does nothing."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import pytest

from lamina.surfaces.review.browser.serving import Serving
from tests.conftest import FULL, Desk
from tests.security.pages import poisoned
from tests.surfaces.served import Everything, Served, filled

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
)
CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

THEMES = ("light", "dark")
LOOKS = [*product((1440, 390), THEMES)] if FULL else [(1440, "light"), (390, "dark")]
PAGES = (
    "/",
    "/search",
    "/records",
    "/archive?query=invoice",
    "/conversations",
    "/conversations?session=s1",
    "/people",
    "/people?subject=Ana",
    "/review",
    "/projects",
    "/projects?project=garden",
    "/audit",
    "/audit/verify",
)
# What is looked at for its looks alone.
FURTHER = (
    "/search?query=reports",
    "/search?query=quantum+chromodynamics",
    "/records?sort=importance",
    "/records?tag=nothing",
    "/records/nothing",
    "/records?limit=many",
    "/conversations?speaker=Nobody",
    "/audit?of=reads",
    "/audit?of=refused",
    "/audit?of=violations",
    "/docs",
    "/nowhere",
)
# A stranger's ways to run something in a page that he could write into.
ATTEMPTS = """() => {
  const add = (name, fill) => {
    const one = document.createElement(name); fill(one); document.body.append(one); return one; };
  add("script", one => { one.textContent = "window.pwned = 1"; });
  add("script", one => { one.src = "data:text/javascript,window.pwned = 2"; });
  add("script", one => { one.src = "/console/icon.svg"; });
  add("button", one => { one.setAttribute("onclick", "window.pwned = 3"); }).click();
  add("a", one => { one.href = "javascript:window.pwned = 4"; }).click();
  add("iframe", one => { one.srcdoc = "<script>parent.pwned = 5</script>"; });
  add("div", one => { one.innerHTML = "<img src=x onerror='window.pwned = 6'>"; });
  setTimeout("window.pwned = 7");
}"""
OWN = frozenset({"document", "stylesheet", "image", "other"})


class Seen(NamedTuple):
    """What happened in a page that nobody asked for."""

    dialogs: list[str]
    requests: list[str]
    errors: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def all_(desk: Desk) -> Everything:
    return filled(desk)


@pytest.fixture
def served(all_: Everything, desk: Desk) -> Iterator[Served]:
    with Served(desk) as running:
        yield running


def signed_in(browser: Any, served: Served, **options: Any) -> tuple[Any, Seen]:
    """A page of a browser that has used a link for signing in, and what it does on its own."""
    page = browser.new_context(base_url=f"http://127.0.0.1:{served.port}", **options).new_page()
    page.set_default_timeout(10_000)
    seen = Seen([], [], [])
    page.on("dialog", lambda dialog: seen.dialogs.append(dialog.message))
    page.on("request", lambda asked: seen.requests.append(f"{asked.resource_type} {asked.url}"))
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.goto(f"/sign-in?link={served.service.sessions.link()}")
    return page, seen


def quiet(seen: Seen, served: Served) -> bool:
    """Whether nothing ran, and nothing was asked for but our own pages and what they look like."""
    own = f"http://127.0.0.1:{served.port}/"
    foreign = [
        one
        for one in seen.requests
        if one.split()[0] not in OWN or not one.split()[1].startswith(own)
    ]
    assert not foreign
    return not seen.dialogs and not seen.errors


def test_a_person_finds_their_way(browser: Any, served: Served, all_: Everything) -> None:
    """H2: sign in, search, open a record, walk its lineage to the source and back, and see what
    waits; with no script."""
    page, seen = signed_in(browser, served, java_script_enabled=False)
    assert page.title() == "Overview · Lamina"
    page.get_by_role("link", name="Search", exact=True).click()
    page.get_by_label("What to look for").fill("when are reports due")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="Reports are due at eight").click()
    assert page.get_by_role("heading", level=1).inner_text() == "Reports are due at eight"
    page.get_by_role("group", name="Lineage of this memory").get_by_role(
        "link", name="Ana wants daily reports"
    ).click()
    assert page.url.endswith(all_.told.id)
    page.go_back()
    page.get_by_role("group", name="Lineage of this memory").get_by_role(
        "link", name="Reports are due at seven"
    ).click()
    assert page.url.endswith(all_.corrected.supersedes[0])
    page.get_by_role("group", name="Lineage of this memory").get_by_role(
        "link", name="Reports are due at eight"
    ).click()
    assert page.url.endswith(all_.corrected.id)
    page.get_by_role("link", name="Review", exact=True).click()
    assert page.get_by_text(f"review confirm {all_.proposal.id}").is_visible()
    page.get_by_role("link", name="Dark", exact=True).click()
    page.get_by_role("link", name="Audit", exact=True).click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.get_by_role("link", name="Check every record now").click()
    assert page.get_by_text("Every record is what the trail says").is_visible()
    assert quiet(seen, served)


def test_everybody_can_use_it(browser: Any, served: Served, all_: Everything) -> None:
    """H2: axe-core finds nothing wrong on any page, wide or narrow, dark or light; and no page is
    wider than its screen."""
    page, seen = signed_in(browser, served)
    for path in (*PAGES, *FURTHER, f"/records/{all_.corrected.id}"):
        for width, theme in LOOKS:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{path}{'&' if '?' in path else '?'}theme={theme}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            found = axe.Axe().run(page).response["violations"]
            assert not found, (
                path,
                width,
                theme,
                [(one["id"], one["nodes"][0]["html"]) for one in found],
            )
    assert quiet(seen, served)


def test_the_page_for_deciding_can_be_used(browser: Any, all_: Everything) -> None:
    """H2: axe-core finds nothing wrong on the page of `lamina review --browser`, wide or narrow, dark
    or light; and it is no wider than its screen."""
    serving = Serving(all_.op, lambda *_: None)
    thread = threading.Thread(target=serving._server.run, args=([serving._listening],))
    thread.start()
    try:
        page = browser.new_page()
        page.goto(serving.link)
        for width, theme in LOOKS:
            page.emulate_media(color_scheme=theme)
            page.set_viewport_size({"width": width, "height": 900})
            assert page.get_by_role("button", name="Confirm").first.is_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert not axe.Axe().run(page).response["violations"], (width, theme)
    finally:
        serving.end()
        thread.join()


def test_an_empty_store_says_what_to_do(browser: Any, desk: Desk) -> None:
    """H2: axe-core finds nothing wrong on pages with nothing to show, and each of those that list
    something has a command that fills it."""
    desk.agent()
    with Served(desk) as served:
        page, seen = signed_in(browser, served)
        for path in PAGES:
            if "session=" in path or "project=" in path:
                continue
            for width, theme in LOOKS:
                page.set_viewport_size({"width": width, "height": 900})
                page.goto(f"{path}{'&' if '?' in path else '?'}theme={theme}")
                assert page.evaluate("document.documentElement.scrollWidth") <= width, path
                found = axe.Axe().run(page).response["violations"]
                assert not found, (path, width, theme, found)
            if path in ("/records", "/conversations", "/people", "/projects", "/review"):
                assert page.locator("main code[data-copy]").count(), path
        assert quiet(seen, served)


def test_commands_and_ids_are_copied(browser: Any, served: Served, all_: Everything) -> None:
    """H2: a button beside each command and id copies it as it is shown; without a script there is
    no button, and the rest of the page is the same."""
    allowed = ["clipboard-read", "clipboard-write"]
    page, seen = signed_in(browser, served, permissions=allowed)
    plain, _ = signed_in(browser, served, java_script_enabled=False)
    for path in ("/", "/review", "/audit", "/audit/verify", f"/records/{all_.told.id}"):
        page.goto(path)
        texts = page.locator("[data-copy]").all_inner_texts()
        assert texts, path
        buttons = page.locator("button.copy")
        assert buttons.count() == len(texts)
        assert buttons.last.get_attribute("aria-label") == f"Copy {texts[-1]}"
        buttons.last.click()
        page.get_by_text("Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == texts[-1], path
        plain.goto(path)
        assert plain.locator("button.copy").count() == 0
        assert plain.locator("[data-copy]").all_inner_texts() == texts
    assert quiet(seen, served)


def test_no_other_script_runs(browser: Any, served: Served) -> None:
    """H2: where somebody could write into a page, its policy would still let nothing run: no inline
    script, no file, no handler of an event, no address and no text."""
    page, _ = signed_in(browser, served)
    for path in ("/", "/review", "/nowhere", "/docs"):
        page.goto(path)
        page.evaluate(ATTEMPTS)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.pwned") is None, path
    page.goto("/review")
    assert page.locator("button.copy").count()


def test_the_keyboard_is_enough(browser: Any, served: Served) -> None:
    """H2: the first stop of the Tab key leads past the navigation; every stop is visible and
    has a name."""
    page, _ = signed_in(browser, served)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.goto("/search")
    for _ in range(16):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "(() => { const one = document.activeElement, look = getComputedStyle(one);"
            " return [one.tagName, look.outlineStyle, look.outlineWidth]; })()"
        )
        assert focused[0] == "BODY" or (focused[1] != "none" and focused[2] != "0px"), focused


def test_the_system_chooses_the_theme(browser: Any, served: Served) -> None:
    """H2: without a choice the page is as dark as the system is; a choice wins over it."""
    colour = "getComputedStyle(document.body).backgroundColor"
    for system in THEMES:
        page, _ = signed_in(browser, served, color_scheme=system)
        unchosen = page.evaluate(colour)
        page.goto(f"/?theme={system}")
        assert page.evaluate(colour) == unchosen
        page.goto(f"/?theme={'dark' if system == 'light' else 'light'}")
        assert page.evaluate(colour) != unchosen


@pytest.mark.parametrize(
    "without_policy", [False, True], ids=["as served", "without the security policy"]
)
def test_hostile_text_does_nothing(browser: Any, desk: Desk, without_policy: bool) -> None:
    """H2: a hundred stored texts that would run or load something do neither, on any page; not even
    if the browser knew no content security policy."""
    records = poisoned(desk)
    opened = records if without_policy or FULL else records[::5]
    with Served(desk) as served:
        page, seen = signed_in(browser, served, bypass_csp=without_policy)
        for path in (
            *PAGES,
            "/records?limit=500",
            "/audit?limit=500",
            *(f"/records/{one}" for one in opened),
        ):
            page.goto(path)
            assert page.evaluate("window.pwned") is None, path
            assert page.locator("main").count() == 1
        assert quiet(seen, served)
