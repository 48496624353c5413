"""The document for people: readable, and nothing in a memory breaks out of its place."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from lamina import Operator
from lamina.formats import markdown
from lamina.text import words
from tests.cases import every, golden
from tests.conftest import CONTRACTS, Desk
from tests.unit.formats.samples import record
from tests.unit.strategies import TEXTS

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HARMLESS = {"text", "softbreak", "hardbreak", "text_special"}
HOSTILE = golden("formats/hostile_markdown.jsonl")


def flat(tokens: list[Token]) -> str:
    """The text that a reader sees of some inline tokens; every other kind of token is a fault."""
    seen = ""
    for token in tokens:
        assert token.type in HARMLESS, token
        seen += "\n" if token.type in ("softbreak", "hardbreak") else token.content
    return seen


def shown(value: str) -> str:
    """A text as it should be read: nothing hidden, no blank lines, no space at the end
    of a line."""
    return "\n".join(line.rstrip() for line in words.reveal(value).split("\n") if line.strip())


def bare(value: str) -> str:
    """Without spaces: how an indentation is drawn is of no account."""
    return "".join(value.replace("\u00a0", " ").split())


@every("hostile", HOSTILE)
def test_hostile_texts_stay_text(hostile: str) -> None:
    """H5: each of these is an item of a list with the same words in it, and nothing else."""
    check(hostile)


@given(TEXTS | st.text(st.sampled_from("#-=*_`~<>[]()!&|\\\n 1.+:@$ab\t"), max_size=30))
@example("0.")
@example("a\n 1)")
def test_no_text_breaks_out(value: str) -> None:
    """H5: whatever a memory says, a parser of Markdown sees one item with exactly that text."""
    if words.is_visible(value) and "\0" not in value:
        check(value)


def check(value: str) -> None:
    document = f"- {markdown.block(value)}\n- next\n"
    tokens = PARSER.parse(document)
    kinds = [
        token.type
        for token in tokens
        if token.type not in ("inline", "paragraph_open", "paragraph_close")
    ]
    expected = [
        "bullet_list_open",
        "list_item_open",
        "list_item_close",
        "list_item_open",
        "list_item_close",
        "bullet_list_close",
    ]
    assert kinds == expected
    inline = [token for token in tokens if token.type == "inline"]
    seen = "\n".join(flat(token.children or []) for token in inline[:-1])
    assert bare(seen) == bare(shown(value))
    assert inline[-1].content == "next"


@given(TEXTS)
def test_names_stay_on_their_line(value: str) -> None:
    """H5: a name in a heading or a label is one line of plain text."""
    tokens = PARSER.parse(f"## x {markdown.inline(value)}\n\nafter\n")
    heading, after = [token for token in tokens if token.type == "inline"]
    assert bare(flat(heading.children or [])) == "x" + bare(words.one_line(value))
    assert after.content == "after"


def test_a_document_has_its_sections(desk: Desk, tmp_path: Path) -> None:
    """H5: profile, facts, projects, procedures, days, world and what waits, each memory once and
    with its id."""
    op = desk.operator()
    ana = desk.operator(user="ana")
    tea = op.remember("prefers tea", kind="preference", tags=["project:kitchen", "goal"])
    op.remember("tea", layer="profile", metadata=CONTRACTS["profile"], evidence=[tea.id])
    ana.remember(
        "nuts",
        layer="profile",
        metadata={**CONTRACTS["profile"], "profile_key": "allergy"},
        evidence=[tea.id],
    )
    op.remember("water boils at 100 °C", layer="semantic", metadata=CONTRACTS["semantic"])
    op.remember("went out", layer="episodic", speaker="Ana", at="2026-04-01T07:00:00Z")
    op.export_as("markdown", tmp_path / "x.md")
    written = (tmp_path / "x.md").read_text("utf-8")
    assert written.startswith("# Memory of sky\n\n## Profile\n\n- **drink**: tea `")
    assert "\n### ana\n\n- **allergy**: nuts (for ana) `" in written
    assert "\n## Facts\n\n- water boils at 100 °C `" in written
    assert "\n### 2026-04-01\n\n- 07:00 **Ana**: went out `" in written
    for record_ in op.list(limit=100):
        assert written.count(f"`{record_.id}`") == 1


def test_projects_are_told_by_their_parts(op: Operator, tmp_path: Path) -> None:
    """R10, H5: a project has its goals, blockers and next steps."""
    op.remember(
        "a new stove", tags=["project:kitchen", "goal"], kind="project", at="2026-01-01T00:00:00Z"
    )
    op.remember(
        "no money", tags=["project:kitchen", "blocker"], kind="fact", at="2026-01-01T00:00:00Z"
    )
    op._scope.clock()
    op.compress_short_to_long(cutoff_hours=0)
    op.export_as("markdown", tmp_path / "x.md")
    written = (tmp_path / "x.md").read_text("utf-8")
    assert "## Projects\n\n### kitchen\n\n- goals: a new stove\n- blockers: no money" in written


def test_hostile_names_too(desk: Desk, tmp_path: Path) -> None:
    """H5: speakers, tags, users and keys are as harmless as texts."""
    op = desk.operator(user="a](x)<b>")
    bad = "[x](javascript:1)<script>`**"
    op.remember("x", speaker=bad, tags=[bad], layer="episodic")
    op.remember("y", layer="profile", metadata={**CONTRACTS["profile"], "profile_key": bad})
    whole = desk.operator()
    whole.export_as("markdown", tmp_path / "x.md")
    tokens = PARSER.parse((tmp_path / "x.md").read_text("utf-8"))
    children = [child for token in tokens for child in token.children or []]
    assert {child.type for child in children} <= HARMLESS | {
        "strong_open",
        "strong_close",
        "code_inline",
    }
    assert not [token for token in tokens if "html" in token.type]


def test_nothing_is_nothing() -> None:
    """H5: an empty store is a document without sections."""
    assert list(markdown.document("sky", [])) == ["# Memory of sky"]
    assert markdown.lost(record()) != []
