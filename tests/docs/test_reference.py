"""Promises about the documents: what they say is what the program does."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from fastapi.routing import APIRoute
from msgspec import structs

import lamina
from lamina import errors
from lamina.home import settings
from lamina.model import rules
from lamina.model.record import Layer
from lamina.surfaces.hooks import Switches, protocol, switches
from lamina.surfaces.http import routes
from lamina.surfaces.http.console import PAGES
from lamina.surfaces.mcp import tools

from .pages import DOCS, GENERATED, ROOT, blocks, pages, prose

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_is_current() -> None:
    """docs/reference.md is what `make docs` would write now: commands, verbs, routes, tools,
    settings, errors (H1, H2, H3)."""
    assert (ROOT / "docs" / "reference.md").read_text("utf-8") == generator().reference()


def test_every_command_has_help_and_an_example() -> None:
    """Every command says what it does and shows an example (H1)."""
    module = generator()
    for path, command in module.walk(module.cli, "lamina"):
        assert command.help, path
        if not hasattr(command, "commands"):
            assert "Example:" in (command.epilog or ""), path


def test_every_public_name_exists_and_has_a_sentence() -> None:
    """What `lamina` exports is there and says what it is."""
    for name in lamina.__all__:
        assert getattr(lamina, name).__doc__, name


def test_settings_are_a_table_with_help() -> None:
    """Every setting has a help text and a default of a type that the environment can express."""
    for setting in settings.SETTINGS:
        assert setting.help
        assert isinstance(setting.default, (bool, int, float, str, tuple))


def test_every_error_is_in_the_reference() -> None:
    """The reference has every exception that errors.py has, narrower ones too."""
    page = (DOCS / GENERATED).read_text("utf-8")
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.LaminaError)
    ]
    assert len(kinds) > 7
    assert [
        kind.__name__ for kind in kinds if f"| `{kind.__name__}` | `{kind.code}` |" not in page
    ] == []


def console_paths() -> Iterator[str]:
    for page in PAGES:
        yield from (route.path for route in page.router.routes if isinstance(route, APIRoute))


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("http.md", [route.path for route in routes.router.routes if isinstance(route, APIRoute)]),
        ("console.md", list(console_paths())),
        ("mcp.md", [tool.name for tool in tools.EVERY]),
        ("hooks.md", list(protocol.EVENTS)),
        (
            "hooks.md",
            [
                switches.PREFIXES[0] + name.upper()
                for name in structs.asdict(Switches())
                if name not in ("problems", "project")
            ],
        ),
    ],
)
def test_what_a_surface_has_is_on_its_page(page: str, names: list[str]) -> None:
    """Every route, page, tool, hook event and switch is explained where people read about that
    surface (H2, H3, H4)."""
    text = (DOCS / page).read_text("utf-8")
    assert len(names) > 4
    assert [name for name in names if f"`{name}`" not in text] == []


def test_every_command_is_on_a_page_that_somebody_wrote() -> None:
    """No command is in the reference alone: some page says what it is good for (H1)."""
    words = " ".join(page.read_text("utf-8") for page in pages() if page.name != "CHANGELOG.md")
    module = generator()
    for path, command in module.walk(module.cli, "lamina"):
        if not hasattr(command, "commands"):
            own = path.removeprefix("lamina ")
            assert re.search(rf"(?:lamina (?:--\S+ \S+ )*|`){re.escape(own)}\b", words), path


def test_links_between_documents_resolve() -> None:
    """Every relative link in the documents leads to a file, and to a heading that is in it."""
    for page in [*pages(), DOCS / GENERATED]:
        for target, anchor in LINK.findall(page.read_text("utf-8")):
            found = page.parent / target if target else page
            assert found.exists(), f"{page.name}: {target}"
            if anchor:
                assert anchor in set(anchors(found)), f"{page.name}: {target}#{anchor}"


def anchors(page: Path) -> Iterator[str]:
    """How headings are called in links."""
    for heading in HEADING.findall(page.read_text("utf-8")):
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_the_index_leads_to_every_page() -> None:
    """docs/README.md links to every page in docs/, and so does the README to it (H1)."""
    linked = {target for target, _ in LINK.findall((DOCS / "README.md").read_text("utf-8"))}
    assert {page.name for page in DOCS.glob("*.md")} - linked - {"README.md"} == set()
    assert "(docs/README.md)" in (ROOT / "README.md").read_text("utf-8")


def test_the_drawings_are_true() -> None:
    """The drawing of states has exactly the legal moves as arrows, that of layers every
    layer (R2, R3)."""
    states, layers = ((DOCS / f"{name}.svg").read_text("utf-8") for name in ("states", "layers"))
    assert set(re.findall(r'<g id="(\w+-\w+)">', states)) == {
        f"{before}-{after}" for before, after in rules.MOVES
    }
    assert set(re.findall(r'<g id="(\w+)">', layers)) == {layer.value for layer in Layer}


def test_concepts_name_what_there_is() -> None:
    """The tables of the concepts have every layer, state and level of trust, in the order of the
    documents (R2, R3, V8)."""
    text = prose(DOCS / "concepts.md")
    for values in (Layer, lamina.State, lamina.Trust):
        places = [text.find(f"\n| `{value.value}` |") for value in values]
        assert -1 not in places, values
        assert values is lamina.State or all(one < other for one, other in pairwise(places)), values


def test_pages_have_one_title() -> None:
    """Every page begins with its title, so that links and lists of pages can show it."""
    for page in pages():
        text = page.read_text("utf-8")
        assert text.startswith("# "), page.name
        for block in blocks(page):
            text = text.replace(block.text, "")
        assert len(re.findall(r"^# ", text, re.M)) == 1, page.name


def test_decisions_are_short() -> None:
    """A decision record is under 40 lines."""
    for page in (ROOT / "docs" / "decisions").glob("*.md"):
        assert len(page.read_text("utf-8").splitlines()) < 40, page.name
