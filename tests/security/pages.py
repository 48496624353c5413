"""Pages of the console that hold hostile texts."""

from __future__ import annotations

import unicodedata
from urllib.parse import urlsplit

from lamina.errors import LaminaError
from lamina.surfaces.http.console.copying import SCRIPT
from lamina.text.words import is_invisible, reveal
from tests.conftest import CONTRACTS, Desk
from tests.security.xss import TEXTS
from tests.surfaces.looked_at import Page

TAGS = frozenset(
    "html head meta title link body br a header footer main nav ul ol li svg path g rect "
    "line text desc h1 h2 h3 h4 p strong"
    " span code section article figure figcaption div details summary table caption thead "
    "tbody tr th td dl dt dd form label"
    " input select option button time bdi del ins mark meter script".split()
)
ATTRIBUTES = frozenset(
    "action aria-current aria-hidden aria-label aria-labelledby autocomplete charset class "
    "aria-sort content d data-copy data-theme datetime dir"
    " focusable height href id lang max method min name open preserveaspectratio "
    "referrerpolicy rel role rx scope selected"
    " tabindex type value viewbox width x x1 x2 y y1 y2".split()
)
ACTIONS = ("/search", "/records", "/archive", "/conversations", "/people")


def poisoned(desk: Desk) -> list[str]:
    """A store with hostile text wherever text can be; the ids of records that hold some of it."""
    mem, op = desk.agent(), desk.operator()
    fields = ("source", "speaker", "session")
    items = []
    for place, text in enumerate(TEXTS):
        label = " ".join(reveal(text).split())[:100]
        item = {
            "content": text,
            "tags": [label],
            "metadata": {label: text, "status": text},
            fields[place % 3]: label,
        }
        items.append({**item, "kind": ("crumb", "request", "escalation")[place % 3]})
    made = [record.id for record in mem.remember_many(items)]
    evidence = [made[0], *(text for text in TEXTS if text.isprintable())]
    semantic = {
        **CONTRACTS["semantic"],
        "subject": TEXTS[0],
        "attribute": "likes",
        "value": TEXTS[1],
    }
    known = op.remember(
        TEXTS[2], layer="semantic", kind="fact", metadata=semantic, evidence=evidence
    )
    last = op.correct(known.id, TEXTS[3], TEXTS[4])
    op.remember(
        "a project", kind="project", layer="semantic", tags=["x"], metadata=CONTRACTS["semantic"]
    )
    for place, text in enumerate(TEXTS):
        try:
            if place % 2:
                op.upsert_user_profile({f"key {place} {text}"[:100]: text}, evidence_ids=[made[0]])
            mem.propose_profile(f"key {place} {text}"[:100], f"{text} anew", text, [made[0]])
        except LaminaError:  # not everything is a key
            continue
    mem.remember(TEXTS[5], kind="project", tags=["project:<script>top.pwned=1</script>", "goal"])
    op.prune(tags=[" ".join(reveal(TEXTS[6]).split())[:100]])
    return [*made, known.id, last.id]


def harmless(body: bytes) -> Page:
    """A page, after a look at every element: only ours, only what they need, the one script, and
    addresses of our own or spelled out."""
    page = Page(body.decode())
    assert page.one("script").attributes == {}
    assert "".join(page.one("script").words) == SCRIPT
    for element in page.elements:
        assert element.tag in TAGS, element
        assert {*element.attributes} <= ATTRIBUTES, element
        if element.tag == "form":
            assert element["action"] in ACTIONS
            assert element["method"] == "get"
        target = element.attributes.get("href", "/")
        if element.tag == "link" or not target.startswith(("/", "#")):
            own = element.tag == "link" and target.startswith("/console/")
            assert own or (
                urlsplit(target).scheme in ("http", "https")
                and element["rel"] == "noopener noreferrer"
            ), element
        assert not target.startswith("//")
    found = {c for c in body.decode() if is_invisible(c) and c not in "\u200d\ufe0f"}
    assert not found
    assert all(c == "\n" or unicodedata.category(c) != "Cc" for c in body.decode())
    return page
