"""Promises of a review to whoever is afraid of what is proposed: on the page, on the full screen
and in plain questions a hostile text is seen, and does nothing."""

from __future__ import annotations

import shutil
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import click
import pytest

from lamina import Memory, Operator
from lamina.errors import LaminaError
from lamina.surfaces.cli.reviewer import plain
from lamina.surfaces.review.arrangement import GROUPINGS
from lamina.surfaces.review.browser import app
from lamina.surfaces.review.browser.serving import Serving
from lamina.text.words import reveal
from tests.conftest import CONTRACTS, Desk
from tests.security.tally import probe
from tests.security.test_unicode import ESCAPES
from tests.security.xss import TEXTS
from tests.surfaces.reviewing import reviewed

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


def hostile_queue(mem: Memory, op: Operator, texts: list[str]) -> int:
    """Proposals with a hostile text in each field that a review shows: value, key, reason,
    evidence, speaker, source, person, and what was there before."""
    made = 0
    for place, text in enumerate(texts):
        label = " ".join(reveal(text).split())[:90]
        said = mem.remember(text, speaker=label, session=label, source=label)
        metadata = {**CONTRACTS["semantic"], "subject": text, "attribute": "likes", "value": text}
        source = f"{place} {label}"
        with_source = {"layer": "semantic", "kind": "fact", "source": source, "metadata": metadata}
        for attempt in (
            lambda place=place, text=text, said=said: op.upsert_user_profile(
                {f"k{place} {text}"[:90]: f"before {text}"}, evidence_ids=[said.id]
            ),
            lambda place=place, text=text, said=said: mem.propose_profile(
                f"k{place} {text}"[:90], text, text, [said.id, "https://evil.example/" + text[:60]]
            ),
            lambda place=place, text=text, said=said: mem.propose_profile(
                f"plain{place}", text, text, [said.id]
            ),
            lambda said=said, text=text: mem.request_forget(said.id, text),
            lambda text=text, more=with_source: op.remember(text, **more),
            lambda source=source, text=text: op.revoke(source, text),
        ):
            try:
                attempt()
                made += 1
            except LaminaError:  # not everything is a key or a reference
                continue
    return made


@contextmanager
def on_a_page(op: Operator) -> Iterator[Serving]:
    """The page of `lamina review --browser` on a real port."""
    serving = Serving(op, lambda *_: None)
    thread = threading.Thread(target=serving.run)
    thread.start()
    try:
        yield serving
    finally:
        serving.end()
        thread.join()


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize(
    "without_policy", [False, True], ids=["as served", "without the security policy"]
)
def test_hostile_proposals_do_nothing_in_a_browser(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, without_policy: bool
) -> None:
    """V10: a hundred texts in every field that the page shows run and load nothing, however the
    queue is grouped, searched, decided and undone; not even if the browser knew no policy."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    mem, op = desk.agent(), desk.operator()
    assert hostile_queue(mem, op, TEXTS) > 3 * len(TEXTS)
    number = len(op.proposals())
    monkeypatch.setattr(app, "ON_A_PAGE", 10_000)
    with playwright.sync_playwright() as started, on_a_page(op) as serving:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(base_url=serving.url, bypass_csp=without_policy).new_page()
        page.set_default_timeout(30_000)
        asked: list[str] = []
        page.on("dialog", lambda dialog: asked.append(f"dialog {dialog.message}"))
        page.on("pageerror", lambda error: asked.append(f"error {error}"))
        page.on("request", lambda one: asked.append(f"{one.resource_type} {one.url}"))

        def check(cards: int | None = None) -> None:
            probe()
            assert page.evaluate("window.pwned") is None, page.url
            assert page.locator("main").count() == 1
            if cards is not None:
                assert page.locator("li.card").count() == cards, page.url

        page.goto(serving.link)
        check(number)
        page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        check()
        for grouping in GROUPINGS:
            page.goto(f"/?grouping={grouping}")
            check(number)
        for text in TEXTS[:: 1 if without_policy else 10]:
            page.goto(f"/?words={quote(text)}")
            check()
        page.goto("/")
        page.locator("button[value=agree]").first.click()
        check()
        page.locator("li.card input[name=typed]").first.fill(TEXTS[0])
        page.locator("button[value=reject]").first.click()
        check()
        page.get_by_role("button", name="Undo the last decision").click()
        check()
        page.get_by_role("button", name="Finish").click()
        check()
        browser.close()
    own = ("document", "stylesheet", "image", "other")
    foreign = [
        one
        for one in asked
        if one.split()[0] not in own or not one.split()[1].startswith(f"{serving.url}/")
    ]
    assert not foreign


def is_tame(text: str) -> bool:
    """Whether a terminal would show all of a text, and do nothing else."""
    return all(one == "\n" or unicodedata.category(one) not in ("Cc", "Cf") for one in text)


def test_escape_sequences_do_nothing_on_the_full_screen(desk: Desk) -> None:
    """V10: queue, details, history, edit, reject and help show what would steer a terminal, and
    nothing of it reaches the terminal."""
    mem, op = desk.agent(), desk.operator()
    for place, escape in enumerate(ESCAPES):
        said = mem.remember(f"Ana said {escape}", speaker="Ana")
        mem.propose_profile(f"k{place}", f"tea {escape}", f"because {escape}", [said.id])
    steps = ["h", "escape", "e", "escape", "r", "escape", "g", "g", "g", "g", "?", "escape"]
    seen = reviewed(op, *steps, *["down", "e", "escape"] * (len(ESCAPES) - 1), size=(100, 40))
    for screen in seen:
        probe()
        assert is_tame(screen), screen
    assert any("<U+001B>" in screen for screen in seen)


def test_escape_sequences_do_nothing_in_plain_questions(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """V10: neither what is shown nor what is asked holds a character that steers a terminal; the
    text that is offered for editing is shown, too."""
    mem, op = desk.agent(), desk.operator()
    for place, escape in enumerate(ESCAPES):
        said = mem.remember(f"Ana said {escape}", speaker="Ana")
        mem.propose_profile(f"k{place}", f"tea {escape}", f"because {escape}", [said.id])
    asked: list[str] = []

    def prompt(text: str, default: Any = None, show_default: bool = True, **_: Any) -> Any:
        asked.append(f"{text} [{default}]" if show_default else text)
        if text.startswith("decide"):
            return "e"
        assert default is not None
        return default

    monkeypatch.setattr(click, "prompt", prompt)
    summary = plain.Questions(op, op._scope.clock).run()
    told = capsys.readouterr().out
    probe(len(ESCAPES))
    assert is_tame("\n".join((summary, told, *asked)))
    assert "<U+001B>" in told
    assert not op.proposals()
