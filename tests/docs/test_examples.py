"""Promises about the examples in the documents: they run, and print what the page shows; fragments
name what is there."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import lamina
from lamina.memory.agent import Memory
from lamina.memory.operator import Operator
from lamina.memory.runs import Run
from lamina.memory.shared import Guest
from lamina.surfaces.cli.main import cli
from lamina.surfaces.cli.sections import SECTIONS
from lamina.surfaces.hooks import Hooks
from tests.cases import every

from .pages import DOCS, Story, blocks, commands, exported, is_as_shown, pages, piped, prose

# Pages whose blocks run from top to bottom in an empty home. Those of other pages are fragments,
# and only looked at.
STORIES = {
    "tutorial.md": ("python", "console"),
    "python.md": ("python",),
    "cli.md": ("console",),
    "hooks.md": ("console", "python"),
    "sharing.md": ("console",),
}
# What the names in examples stand for.
NAMES: dict[str, Any] = {
    "lamina": lamina,
    "mem": Memory,
    "memory": Memory,
    "op": Operator,
    "run": Run,
    "sky": Guest,
    "hooks": Hooks,
}
PYTHON = [(page, block) for page in pages() for block in blocks(page) if block.language == "python"]
COMMAND = re.compile(r"`lamina ([^`]+)`")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home as a reader has it, with jobs in the background; and patience, as a hook that
    is late says nothing."""
    monkeypatch.delenv("LAMINA_MAINTENANCE")
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path))
    monkeypatch.setenv("LAMINA_MEMORY_TIMEOUT_MS", "600000")
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", STORIES)
def test_what_a_page_shows_is_what_happens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of a page run in their order in an empty home, and print what stands below them
    (H1, H4, I). What the page has its readers export is set, but for the home."""
    for variable, value in exported(DOCS / name).items():
        if variable != "LAMINA_HOME":
            monkeypatch.setenv(variable, value)
    assert Story(DOCS / name).live(*STORIES[name]) > 1


def test_a_page_that_shows_something_else_is_noticed() -> None:
    """The comparison can fail: other words, a missing line and an extra one are differences; ids
    and times are not."""
    shown = "remembered 01m7j3mv5y61zrymgyps7c03wb\nat 2026-11-16 11:59\n"
    assert is_as_shown(shown, "remembered 01m7j3mv5y61zrymgyps7c03wc\nat 2027-01-01 00:00")
    for other in (
        "remembered",
        "forgot 01m7j3mv5y61zrymgyps7c03wb\nat 2026-11-16 11:59",
        shown + "and more",
    ):
        assert not is_as_shown(shown, other)
    assert is_as_shown("a\n…\nb", "a\nx\ny\nb")
    assert not is_as_shown("a\n…\nb", "a\nx\ny\nc")


@every(("page", "block"), PYTHON)
def test_python_examples_call_what_there_is(page: Path, block: Any) -> None:
    """Every verb that an example calls exists, and takes the arguments that the
    example gives (I)."""
    for call in calls(block.text):
        owner = NAMES[call.func.value.id]  # type: ignore[attr-defined]
        verb = getattr(owner, call.func.attr)  # type: ignore[attr-defined]
        values = [None] * (len(call.args) + (owner is not lamina))
        inspect.signature(verb).bind(
            *values, **{word.arg: None for word in call.keywords if word.arg}
        )


def calls(text: str) -> Iterator[ast.Call]:
    """The calls of verbs on names that we know."""
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in NAMES
        ):
            yield node


@every("page", pages())
def test_commands_on_a_page_exist(page: Path) -> None:
    """Every command that a page names is one, and every option of those in its blocks too (H1)."""
    for block in blocks(page):
        if block.language == "console":
            for command, _ in commands(block):
                understood(piped(command)[1], whole=True)
        elif block.language == "sh":
            for line in block.text.splitlines():
                for found in re.findall(r"(?:^|\$\(|\| )lamina ([^)]*)", line):
                    understood(shlex.split(found.rstrip(" &"), comments=True), whole=True)
    for found in COMMAND.findall(prose(page)):
        understood(found.split(), whole=False)


def test_the_page_about_commands_has_the_sections_of_the_help() -> None:
    """H1: `lamina --help` and docs/cli.md put each command into the same section, in its order."""
    page = (DOCS / "cli.md").read_text("utf-8").partition("## Which command")[2]
    rows = re.findall(r"^\| ([a-z ]+) \| (`lamina .*) \|$", page, re.M)
    told = {
        title: [*dict.fromkeys(re.findall(r"`lamina ([a-z-]+)", commands))]
        for title, commands in rows
    }
    assert told == {
        title.lower(): [name for name in commands if name != "memory"]
        for title, commands in SECTIONS.items()
    }


def test_a_command_that_is_none_is_noticed() -> None:
    """The check above can fail: at a wrong command, a wrong one in a group, and a wrong option."""
    understood(["--agent", "sky", "review", "confirm", "ID"], whole=True)
    understood(["COMMAND", "--help"], whole=False)
    for wrong in (["recall", "x"], ["review", "accept"], ["search", "x", "--loud"]):
        with pytest.raises(AssertionError):
            understood(wrong, whole=True)


def understood(words: list[str], *, whole: bool) -> None:
    """Follow the words of a command through the program; whole ones are parsed to the end, and
    never run."""
    command: click.Command = cli
    context = click.Context(cli, info_name="lamina")
    rest = options_cut(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        named = next(
            (found for name in rest[0].split("|") if (found := command.get_command(context, name))),
            None,
        )
        if named is None and (rest[0].isupper() or rest[0] in ("…", "...")):
            return
        assert named is not None, f"`lamina {' '.join(words)}`: {rest[0]} is no command"
        command, rest = named, rest[1:]
        context = click.Context(command, context, info_name=command.name)
    if whole:
        known = {
            name
            for parameter in command.params
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
        given = [word.partition("=")[0] for word in rest if word.startswith("--")]
        assert known | {"--help"} >= set(given), (
            f"`lamina {' '.join(words)}`: it takes {sorted(known)}"
        )


def options_cut(words: list[str]) -> list[str]:
    """Without the options that stand before a command."""
    rest = list(words)
    while rest and rest[0].startswith("--"):
        rest = rest[1:] if rest[0] in ("--json", "--help", "--version") else rest[2:]
    return rest
