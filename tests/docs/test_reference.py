"""Promises about the documents: what they say is what the program does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import lamina
from lamina import config

ROOT = Path(__file__).parents[2]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_is_current() -> None:
    """docs/reference.md is what `make docs` would write now: every command, setting and error is in it (H1)."""
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
    for setting in config.SETTINGS:
        assert setting.help
        assert isinstance(setting.default, (bool, int, str, tuple))


def test_links_between_documents_resolve() -> None:
    """Every relative link in the documents leads to a file."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_decisions_are_short() -> None:
    """A decision record is under 40 lines."""
    for page in (ROOT / "docs" / "decisions").glob("*.md"):
        assert len(page.read_text("utf-8").splitlines()) < 40, page.name
